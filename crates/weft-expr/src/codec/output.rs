//! Writes an expression.

use weft_format::wire::{put_count, put_type, put_value};
use weft_format::{CompareOp, Result};

use super::limits::{kind, too_complex};
use crate::arithmetic::ArithmeticOp;
use crate::functions::Function;
use crate::routines::Routine;
use crate::tree::{Expr, Node};

pub(super) fn put(bytes: &mut Vec<u8>, expr: &Expr, depth: usize) -> Result<()> {
    let Some(depth) = depth.checked_sub(1) else { return Err(too_complex()) };
    put_node(bytes, expr);
    let mut result = Ok(());
    expr.for_each_operand(&mut |operand| {
        if result.is_ok() {
            result = put(bytes, operand, depth);
        }
    });
    result
}

/// The kind, what belongs to it, and the type.
fn put_node(bytes: &mut Vec<u8>, expr: &Expr) {
    match &expr.node {
        Node::Literal(_) => bytes.push(kind::LITERAL),
        Node::Column(_) => bytes.push(kind::COLUMN),
        Node::Arithmetic(op, ..) => bytes.extend([kind::ARITHMETIC, arithmetic_byte(*op)]),
        Node::Negate(_) => bytes.push(kind::NEGATE),
        Node::Compare(op, ..) => bytes.extend([kind::COMPARE, compare_byte(*op)]),
        Node::And(..) => bytes.push(kind::AND),
        Node::Or(..) => bytes.push(kind::OR),
        Node::Not(_) => bytes.push(kind::NOT),
        Node::IsNull { negated, .. } => bytes.extend([kind::IS_NULL, u8::from(*negated)]),
        Node::IsBool { expected, negated, .. } => {
            bytes.extend([kind::IS_BOOL, u8::from(*expected), u8::from(*negated)]);
        }
        Node::IsDistinct { negated, .. } => bytes.extend([kind::IS_DISTINCT, u8::from(*negated)]),
        Node::InList { negated, .. } => bytes.extend([kind::IN_LIST, u8::from(*negated)]),
        Node::Call(function, _) => bytes.extend([kind::CALL, function_byte(*function)]),
        Node::Like { escape, insensitive, negated, .. } => {
            bytes.extend([kind::LIKE, u8::from(*insensitive), u8::from(*negated)]);
            // NUL is no character of a text, so it stands for none.
            bytes.extend(escape.map_or(0, u32::from).to_le_bytes());
        }
        Node::Case { otherwise, .. } => bytes.extend([kind::CASE, u8::from(otherwise.is_some())]),
        Node::Cast(_) => bytes.push(kind::CAST),
        Node::Concat(..) => bytes.push(kind::CONCAT),
        Node::Routine(Routine::Builtin(builtin), _) => {
            bytes.push(kind::BUILTIN);
            bytes.extend(builtin.0.oid.to_le_bytes());
        }
        Node::Param(_) | Node::Now | Node::Assign(..) | Node::Routine(..) => {
            unreachable!("an immutable expression has no {:?}", expr.node)
        }
    }
    put_type(bytes, expr.data_type);
    match &expr.node {
        Node::Literal(value) => put_value(bytes, value.as_ref()),
        Node::Column(position) => put_count(bytes, *position),
        Node::InList { list, .. } => put_count(bytes, list.len()),
        Node::Call(_, args) | Node::Routine(_, args) => put_count(bytes, args.len()),
        Node::Case { branches, .. } => put_count(bytes, branches.len()),
        _ => {}
    }
}

fn arithmetic_byte(op: ArithmeticOp) -> u8 {
    match op {
        ArithmeticOp::Add => 1,
        ArithmeticOp::Subtract => 2,
        ArithmeticOp::Multiply => 3,
        ArithmeticOp::Divide => 4,
        ArithmeticOp::Modulo => 5,
    }
}

fn compare_byte(op: CompareOp) -> u8 {
    match op {
        CompareOp::Eq => 1,
        CompareOp::NotEq => 2,
        CompareOp::Lt => 3,
        CompareOp::LtEq => 4,
        CompareOp::Gt => 5,
        CompareOp::GtEq => 6,
    }
}

fn function_byte(function: Function) -> u8 {
    match function {
        Function::Coalesce => 1,
        Function::NullIf => 2,
        Function::Greatest => 3,
        Function::Least => 4,
        Function::Abs => 5,
        Function::Round => 6,
        Function::Lower => 7,
        Function::Upper => 8,
        Function::Length => 9,
        Function::Substring => 10,
    }
}
