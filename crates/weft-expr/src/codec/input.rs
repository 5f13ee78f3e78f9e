//! Reads an expression.

use weft_format::wire::ByteReader;
use weft_format::{CompareOp, DataType, Result, Value};

use super::limits::{EXPR_DEPTH_MAX, FORMAT_VERSION, FORMAT_WITH_BUILTINS, damaged, kind};
use crate::arithmetic::ArithmeticOp;
use crate::builtins::{BuiltinRef, by_oid};
use crate::functions::Function;
use crate::routines::Routine;
use crate::tree::{Expr, Node};

pub(super) fn read(bytes: &[u8]) -> Result<Expr> {
    let mut input = Input { reader: ByteReader::new(bytes, damaged) };
    if !matches!(input.reader.u8()?, FORMAT_VERSION | FORMAT_WITH_BUILTINS) {
        return Err(damaged("its format version is unknown"));
    }
    let expr = input.expr(EXPR_DEPTH_MAX)?;
    input.reader.end().map(|()| expr)
}

struct Input<'a> {
    reader: ByteReader<'a>,
}

impl Input<'_> {
    fn expr(&mut self, depth: usize) -> Result<Expr> {
        let Some(depth) = depth.checked_sub(1) else { return Err(damaged("it is too deep")) };
        let mut pending = self.kind()?;
        let data_type = self.reader.data_type()?;
        match &mut pending {
            Node::Literal(value) => *value = self.reader.value()?,
            Node::Column(position) => *position = self.reader.u32()? as usize,
            Node::Arithmetic(_, left, right)
            | Node::Compare(_, left, right)
            | Node::And(left, right)
            | Node::Or(left, right)
            | Node::Concat(left, right)
            | Node::IsDistinct { left, right, .. }
            | Node::Like { expr: left, pattern: right, .. } => {
                **left = self.expr(depth)?;
                **right = self.expr(depth)?;
            }
            Node::Negate(expr)
            | Node::Not(expr)
            | Node::Cast(expr)
            | Node::IsNull { expr, .. }
            | Node::IsBool { expr, .. } => **expr = self.expr(depth)?,
            Node::InList { expr, list, .. } => {
                let count = self.reader.count()?;
                **expr = self.expr(depth)?;
                *list = (0..count).map(|_| self.expr(depth)).collect::<Result<_>>()?;
            }
            Node::Case { branches, otherwise } => {
                for _ in 0..self.reader.count()? {
                    branches.push((self.expr(depth)?, self.expr(depth)?));
                }
                if let Some(otherwise) = otherwise {
                    **otherwise = self.expr(depth)?;
                }
            }
            Node::Call(_, args) | Node::Routine(_, args) => {
                let count = self.reader.count()?;
                *args = (0..count).map(|_| self.expr(depth)).collect::<Result<_>>()?;
            }
            Node::Param(_) | Node::Now | Node::Assign(..) => {
                unreachable!("no kind stands for {pending:?}")
            }
        }
        Ok(Expr::new(pending, data_type))
    }

    /// A node of the kind that is next, with what belongs to it; its operands are still to be read.
    fn kind(&mut self) -> Result<Node> {
        let open = || Box::new(Expr::literal(Value::Null, DataType::Boolean));
        Ok(match self.reader.u8()? {
            kind::LITERAL => Node::Literal(Value::Null),
            kind::COLUMN => Node::Column(0),
            kind::ARITHMETIC => Node::Arithmetic(self.arithmetic()?, open(), open()),
            kind::NEGATE => Node::Negate(open()),
            kind::COMPARE => Node::Compare(self.comparison()?, open(), open()),
            kind::AND => Node::And(open(), open()),
            kind::OR => Node::Or(open(), open()),
            kind::NOT => Node::Not(open()),
            kind::IS_NULL => Node::IsNull { expr: open(), negated: self.reader.flag()? },
            kind::IS_BOOL => Node::IsBool { expr: open(), expected: self.reader.flag()?, negated: self.reader.flag()? },
            kind::IS_DISTINCT => Node::IsDistinct { left: open(), right: open(), negated: self.reader.flag()? },
            kind::IN_LIST => Node::InList { expr: open(), list: Vec::new(), negated: self.reader.flag()? },
            kind::CALL => Node::Call(self.function()?, Vec::new()),
            kind::LIKE => {
                let (insensitive, negated) = (self.reader.flag()?, self.reader.flag()?);
                let escape = match self.reader.u32()? {
                    0 => None,
                    code => Some(char::from_u32(code).ok_or_else(|| damaged("an escape character is none"))?),
                };
                Node::Like { expr: open(), pattern: open(), escape, insensitive, negated }
            }
            kind::CASE => Node::Case { branches: Vec::new(), otherwise: self.reader.flag()?.then(open) },
            kind::CAST => Node::Cast(open()),
            kind::CONCAT => Node::Concat(open(), open()),
            kind::BUILTIN => {
                let builtin = by_oid(self.reader.u32()?).ok_or_else(|| damaged("a function is not known"))?;
                Node::Routine(Routine::Builtin(BuiltinRef(builtin)), Vec::new())
            }
            _ => return Err(damaged("a node is of no known kind")),
        })
    }

    fn arithmetic(&mut self) -> Result<ArithmeticOp> {
        Ok(match self.reader.u8()? {
            1 => ArithmeticOp::Add,
            2 => ArithmeticOp::Subtract,
            3 => ArithmeticOp::Multiply,
            4 => ArithmeticOp::Divide,
            5 => ArithmeticOp::Modulo,
            _ => return Err(damaged("an operator is not known")),
        })
    }

    fn comparison(&mut self) -> Result<CompareOp> {
        Ok(match self.reader.u8()? {
            1 => CompareOp::Eq,
            2 => CompareOp::NotEq,
            3 => CompareOp::Lt,
            4 => CompareOp::LtEq,
            5 => CompareOp::Gt,
            6 => CompareOp::GtEq,
            _ => return Err(damaged("a comparison is not known")),
        })
    }

    fn function(&mut self) -> Result<Function> {
        Ok(match self.reader.u8()? {
            1 => Function::Coalesce,
            2 => Function::NullIf,
            3 => Function::Greatest,
            4 => Function::Least,
            5 => Function::Abs,
            6 => Function::Round,
            7 => Function::Lower,
            8 => Function::Upper,
            9 => Function::Length,
            10 => Function::Substring,
            _ => return Err(damaged("a function is not known")),
        })
    }
}
