//! What can be said of an expression without a row: whether it is well-typed, always gives the same, can fail.
//!
//! ```text
//!                       well-typed on (a integer, b text)   immutable   can fail
//!   lower(b)            yes                                 yes         no
//!   10 / a              yes                                 yes         yes: a = 0
//!   b::date             yes                                 no: PostgreSQL's depends on settings
//!   lower(a)            no
//! ```
//!
//! An index keeps values that were computed once, so its expression must be immutable. The bytes of a stored expression
//! come from a disk, so that they are well-typed is tested, not assumed.

use weft_format::array::elements;
use weft_format::{DataType, Value};

use crate::arithmetic::ArithmeticOp;
use crate::builtins::Volatility;
use crate::cast::is_castable;
use crate::cast::is_immutable_cast;
use crate::functions::Function;
use crate::routines::Routine;
use crate::text::{fits_integer, pow10};
use crate::tree::{Expr, Node};
use crate::types::{is_integer, is_number};

/// What is wrong with an expression.
type Wrong = String;

impl Expr {
    /// Tests that the expression can be evaluated on rows of these types without a panic (expr 4). Parameters are taken
    /// to be of their types.
    pub fn check_types(&self, columns: &[DataType]) -> Result<(), Wrong> {
        let mut wrong = None;
        self.for_each_operand(&mut |operand| {
            if wrong.is_none() {
                wrong = operand.check_types(columns).err();
            }
        });
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if is_type(self.data_type) && self.is_typed(columns) {
            return Ok(());
        }
        Err(format!("{:?} does not give {}", self.node, self.data_type))
    }

    /// Whether the operands, which are well-typed, fit the node, and the result is of the expression's type.
    fn is_typed(&self, columns: &[DataType]) -> bool {
        let boolean = |expr: &Expr| expr.data_type == DataType::Boolean;
        let gives_boolean = boolean(self);
        match &self.node {
            Node::Literal(value) => is_of_type(value, self.data_type),
            Node::Column(position) => columns.get(*position) == Some(&self.data_type),
            Node::Param(_) | Node::Now => true,
            Node::Arithmetic(op, left, right) => is_arithmetic(*op, left.data_type, right.data_type, self.data_type),
            Node::Negate(expr) => is_number(self.data_type) && expr.data_type == self.data_type,
            Node::Compare(_, left, right) | Node::IsDistinct { left, right, .. } => {
                gives_boolean && are_comparable(left, right)
            }
            Node::And(left, right) | Node::Or(left, right) => gives_boolean && boolean(left) && boolean(right),
            Node::Not(expr) | Node::IsBool { expr, .. } => gives_boolean && boolean(expr),
            Node::IsNull { .. } => gives_boolean,
            Node::InList { expr, list, .. } => gives_boolean && list.iter().all(|item| are_comparable(expr, item)),
            Node::Like { expr, pattern, .. } => {
                gives_boolean && expr.data_type.is_text() && pattern.data_type.is_text()
            }
            Node::Case { branches, otherwise } => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                branches.iter().all(|(condition, _)| boolean(condition)) && results.into_iter().all(|r| r.is_like(self))
            }
            Node::Cast(expr) | Node::Assign(expr, _) => is_castable(expr.data_type, self.data_type),
            Node::Concat(left, right) => {
                [left, right].iter().all(|side| side.is_like(self)) && self.data_type.is_text()
            }
            Node::Call(function, args) => self.is_call(*function, args),
            Node::Routine(Routine::Builtin(builtin), args) => {
                let types: Vec<DataType> = args.iter().map(|arg| arg.data_type).collect();
                builtin.0.is_call(&types, self.data_type)
            }
            Node::Routine(..) => false,
        }
    }

    fn is_like(&self, other: &Expr) -> bool {
        self.data_type == other.data_type
    }

    fn is_call(&self, function: Function, args: &[Expr]) -> bool {
        let Some(first) = args.first() else { return false };
        let (given, gives) = (first.data_type, self.data_type);
        match function {
            Function::Coalesce | Function::Greatest | Function::Least => args.iter().all(|arg| arg.is_like(self)),
            Function::NullIf => args.len() == 2 && args.iter().all(|arg| arg.is_like(self)),
            Function::Abs => args.len() == 1 && is_number(given) && given == gives,
            Function::Round => match given {
                DataType::DoublePrecision => args.len() == 1 && given == gives,
                DataType::Numeric { precision, .. } => {
                    args.len() == 1 && gives == DataType::Numeric { precision, scale: 0 }
                }
                _ => false,
            },
            Function::Lower | Function::Upper => args.len() == 1 && given.is_text() && gives == DataType::Text,
            Function::Length => args.len() == 1 && given.is_text() && gives == DataType::Integer,
            Function::Substring => {
                (2..=3).contains(&args.len())
                    && given.is_text()
                    && args[1..].iter().all(|arg| is_integer(arg.data_type))
                    && gives == DataType::Text
            }
        }
    }

    /// Whether it gives the same for the same row at any time, under any settings that PostgreSQL has: no parameter, no
    /// clock, and no cast between text and dates or across time zones.
    pub fn is_immutable(&self) -> bool {
        let mut immutable = match &self.node {
            Node::Routine(Routine::Builtin(builtin), _) => builtin.0.volatility == Volatility::Immutable,
            Node::Param(_) | Node::Now | Node::Assign(..) | Node::Routine(..) => false,
            Node::Cast(expr) => is_immutable_cast(expr.data_type, self.data_type),
            _ => true,
        };
        self.for_each_operand(&mut |operand| immutable &= operand.is_immutable());
        immutable
    }

    /// As [`Expr::is_immutable`], with functions and operators that indexes do not know (of json, arrays, intervals).
    pub fn is_immutable_anywhere(&self) -> bool {
        let mut immutable = match &self.node {
            Node::Routine(routine, args) => {
                let types: Vec<DataType> = args.iter().map(|arg| arg.data_type).collect();
                !routine.depends_on_session(&types) && !routine.is_volatile()
            }
            Node::Param(_) | Node::Now | Node::Assign(..) => false,
            Node::Cast(expr) => is_immutable_cast(expr.data_type, self.data_type),
            _ => true,
        };
        self.for_each_operand(&mut |operand| immutable &= operand.is_immutable_anywhere());
        immutable
    }

    /// Whether there may be a row for which the evaluation is an error; false only when there is none.
    pub fn can_fail(&self) -> bool {
        let mut fails = match &self.node {
            Node::Param(_) | Node::Now | Node::Assign(..) | Node::Arithmetic(..) | Node::Routine(..) => true,
            Node::Negate(_) | Node::Call(Function::Abs, _) => is_integer(self.data_type),
            Node::Cast(expr) => !is_safe_cast(expr.data_type, self.data_type),
            // A pattern may end with its escape character.
            Node::Like { pattern, escape, .. } => match (&pattern.node, escape) {
                (_, None) => false,
                (Node::Literal(Value::Text(pattern)), Some(escape)) => pattern.contains(*escape),
                _ => true,
            },
            Node::Call(Function::Length, _) => true,
            Node::Call(Function::Substring, args) => args.len() > 2,
            _ => false,
        };
        self.for_each_operand(&mut |operand| fails |= operand.can_fail());
        fails
    }
}

/// Whether the parameters of a type are possible.
fn is_type(data_type: DataType) -> bool {
    match data_type {
        DataType::Numeric { precision, scale } => (1..=38).contains(&precision) && scale <= precision,
        _ => true,
    }
}

fn is_of_type(value: &Value, data_type: DataType) -> bool {
    match (value, data_type) {
        (Value::Null, _) | (Value::Bool(_), DataType::Boolean) | (Value::Float(_), DataType::DoublePrecision) => true,
        (Value::Int(v), DataType::SmallInt | DataType::Integer | DataType::BigInt) => fits_integer(*v, data_type),
        (Value::Int(v), DataType::Date) => i32::try_from(*v).is_ok(),
        (Value::Int(_), DataType::Timestamp | DataType::TimestampTz | DataType::Enum(_)) => true,
        (Value::Float(v), DataType::Real) => v.is_nan() || f64::from(*v as f32) == *v,
        (Value::Decimal(v), DataType::Numeric { precision, .. }) => v.unsigned_abs() < pow10(precision).unsigned_abs(),
        (Value::Text(_), data_type) => data_type.is_utf8(),
        (Value::Int(v), DataType::Oid) => u32::try_from(*v).is_ok(),
        (Value::Int(v), DataType::Time) => (0..=86_400_000_000).contains(v),
        (Value::Bytes(_), DataType::Bytea) | (Value::Uuid(_), DataType::Uuid) => true,
        (Value::Interval(_), DataType::Interval) => true,
        (Value::Array(v), DataType::Array(element)) => elements(v.as_bytes(), element.data_type()).is_ok(),
        _ => false,
    }
}

/// Whether values of both can be compared with each other.
fn are_comparable(left: &Expr, right: &Expr) -> bool {
    let (a, b) = (left.data_type, right.data_type);
    a == b || (is_integer(a) && is_integer(b)) || (a.is_text() && b.is_text()) || (a.is_bits() && b.is_bits())
}

/// Whether an operation is defined on operands that were cast to its types.
fn is_arithmetic(op: ArithmeticOp, left: DataType, right: DataType, result: DataType) -> bool {
    let is_small = |data_type| matches!(data_type, DataType::SmallInt | DataType::Integer);
    match (left, right, result) {
        (DataType::Date, DataType::Date, DataType::Integer) => op == ArithmeticOp::Subtract,
        (DataType::Date, days, DataType::Date) if is_small(days) => {
            matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract)
        }
        (days, DataType::Date, DataType::Date) if is_small(days) => op == ArithmeticOp::Add,
        (
            DataType::Numeric { scale: left, .. },
            DataType::Numeric { scale: right, .. },
            DataType::Numeric { scale, .. },
        ) => match op {
            ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Modulo => scale >= left.max(right),
            ArithmeticOp::Multiply => scale <= left + right,
            ArithmeticOp::Divide => scale + right >= left,
        },
        (DataType::Numeric { .. }, ..) => false,
        (left, right, result) => {
            left == right && left == result && is_number(left) && (is_integer(left) || op != ArithmeticOp::Modulo)
        }
    }
}

/// Whether a cast between two types depends on the session's zone or styles.
pub fn crosses_session(from: DataType, to: DataType) -> bool {
    !is_immutable_cast(from, to)
}

/// Whether a cast gives a value for every value.
fn is_safe_cast(from: DataType, to: DataType) -> bool {
    match to {
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => true,
        DataType::SmallInt | DataType::Integer | DataType::BigInt => {
            is_integer(from) && from.slot_bytes() <= to.slot_bytes()
        }
        DataType::DoublePrecision => is_number(from),
        _ => from == to,
    }
}
