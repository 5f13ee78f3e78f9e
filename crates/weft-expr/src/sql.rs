//! An expression as SQL, in PostgreSQL's manner: what views, EXPLAIN and messages show of an index.
//!
//! ```text
//!   lower(b)     (a + 1)     (b || 'x'::text)     COALESCE(a, 0)     ((a)::text)     (CASE WHEN (a > 1) THEN 1 END)
//! ```

use std::fmt::Write as _;

use weft_format::{CompareOp, DataType, Value};

use crate::arithmetic::ArithmeticOp;
use crate::functions::Function;
use crate::routines::Routine;
use crate::text::print;
use crate::tree::{Expr, Node};
use crate::types::literal_number_type;
use crate::words::quoted;

impl Expr {
    /// The expression as the list of an index's columns has it: calls bare, anything else in parentheses. `names` are
    /// those of the columns by position.
    pub fn key_sql(&self, names: &[&str]) -> String {
        let mut out = String::new();
        self.put_sql(names, &mut out);
        match self.node {
            Node::Cast(_) | Node::Case { .. } | Node::Literal(_) | Node::Column(_) => format!("({out})"),
            _ => out,
        }
    }

    fn put_sql(&self, names: &[&str], out: &mut String) {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match &self.node {
            Node::Literal(value) => put_literal(value, self.data_type, out),
            Node::Param(index) => push(out, format_args!("${}", index + 1)),
            Node::Column(position) => out.push_str(&quoted(names.get(*position).copied().unwrap_or("?"))),
            Node::Now => out.push_str("now()"),
            Node::Arithmetic(op, left, right) => put_infix(left, arithmetic_sign(*op), right, names, out),
            Node::Compare(op, left, right) => put_infix(left, compare_sign(*op), right, names, out),
            Node::And(left, right) => put_infix(left, "AND", right, names, out),
            Node::Or(left, right) => put_infix(left, "OR", right, names, out),
            Node::Concat(left, right) => put_infix(left, "||", right, names, out),
            Node::IsDistinct { left, right, negated } => {
                put_infix(left, &format!("IS {}DISTINCT FROM", not(negated)), right, names, out);
            }
            Node::Negate(expr) => put_prefix("- ", expr, names, out),
            Node::Not(expr) => put_prefix("NOT ", expr, names, out),
            Node::IsNull { expr, negated } => put_suffix(expr, &format!("IS {}NULL", not(negated)), names, out),
            Node::IsBool { expr, expected, negated } => {
                let truth = if *expected { "TRUE" } else { "FALSE" };
                put_suffix(expr, &format!("IS {}{truth}", not(negated)), names, out);
            }
            Node::InList { expr, list, negated } => {
                out.push('(');
                expr.put_sql(names, out);
                push(out, format_args!(" {}IN (", not(negated)));
                put_list(list, names, out);
                out.push_str("))");
            }
            Node::Like { expr, pattern, escape, insensitive, negated } => {
                out.push('(');
                expr.put_sql(names, out);
                push(out, format_args!(" {}{} ", not(negated), if *insensitive { "ILIKE" } else { "LIKE" }));
                pattern.put_sql(names, out);
                if *escape != Some('\\') {
                    out.push_str(" ESCAPE ");
                    put_quoted(&escape.map_or(String::new(), String::from), out);
                }
                out.push(')');
            }
            Node::Case { branches, otherwise } => put_case(branches, otherwise.as_deref(), names, out),
            Node::Cast(expr) | Node::Assign(expr, _) => {
                out.push('(');
                expr.put_sql(names, out);
                push(out, format_args!(")::{}", self.data_type));
            }
            Node::Routine(routine, args) => {
                match routine {
                    Routine::Builtin(builtin) => out.push_str(builtin.0.name),
                    routine => push(out, format_args!("{routine:?}")),
                }
                out.push('(');
                put_list(args, names, out);
                out.push(')');
            }
            Node::Call(function, args) => {
                push(out, format_args!("{}(", function_name(*function)));
                put_list(args, names, out);
                out.push(')');
            }
        }
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String cannot fail");
}

fn put_infix(left: &Expr, sign: &str, right: &Expr, names: &[&str], out: &mut String) {
    out.push('(');
    left.put_sql(names, out);
    push(out, format_args!(" {sign} "));
    right.put_sql(names, out);
    out.push(')');
}

fn put_prefix(sign: &str, expr: &Expr, names: &[&str], out: &mut String) {
    push(out, format_args!("({sign}"));
    expr.put_sql(names, out);
    out.push(')');
}

fn put_suffix(expr: &Expr, test: &str, names: &[&str], out: &mut String) {
    out.push('(');
    expr.put_sql(names, out);
    push(out, format_args!(" {test})"));
}

fn put_list(list: &[Expr], names: &[&str], out: &mut String) {
    for (at, item) in list.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        item.put_sql(names, out);
    }
}

fn put_case(branches: &[(Expr, Expr)], otherwise: Option<&Expr>, names: &[&str], out: &mut String) {
    out.push_str("CASE");
    for (condition, result) in branches {
        out.push_str(" WHEN ");
        condition.put_sql(names, out);
        out.push_str(" THEN ");
        result.put_sql(names, out);
    }
    if let Some(otherwise) = otherwise {
        out.push_str(" ELSE ");
        otherwise.put_sql(names, out);
    }
    out.push_str(" END");
}

fn put_quoted(text: &str, out: &mut String) {
    push(out, format_args!("'{}'", text.replace('\'', "''")));
}

/// A constant; bare when its digits alone have its type.
fn put_literal(value: &Value, data_type: DataType, out: &mut String) {
    let printed = print(value.as_ref(), data_type);
    match value {
        Value::Null => push(out, format_args!("NULL::{data_type}")),
        Value::Bool(v) => push(out, format_args!("{v}")),
        Value::Int(_) | Value::Decimal(_) if literal_number_type(&printed) == Some(data_type) => out.push_str(&printed),
        _ => {
            put_quoted(&printed, out);
            push(out, format_args!("::{data_type}"));
        }
    }
}

fn arithmetic_sign(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Modulo => "%",
    }
}

fn compare_sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
    }
}

fn function_name(function: Function) -> &'static str {
    match function {
        Function::Coalesce => "COALESCE",
        Function::NullIf => "NULLIF",
        Function::Greatest => "GREATEST",
        Function::Least => "LEAST",
        Function::Abs => "abs",
        Function::Round => "round",
        Function::Lower => "lower",
        Function::Upper => "upper",
        Function::Length => "length",
        Function::Substring => "substr",
    }
}
