//! Reads an expression.

use weft_format::{ArrayValue, CompareOp, DataType, Interval, Result, Value};

use super::limits::{EXPR_DEPTH_MAX, FORMAT_VERSION, damaged, kind};
use crate::arithmetic::ArithmeticOp;
use crate::functions::Function;
use crate::tree::{Expr, Node};

pub(super) fn read(bytes: &[u8]) -> Result<Expr> {
    let mut input = Input { bytes };
    if input.u8()? != FORMAT_VERSION {
        return Err(damaged("its format version is unknown"));
    }
    let expr = input.expr(EXPR_DEPTH_MAX)?;
    if input.bytes.is_empty() { Ok(expr) } else { Err(damaged("bytes are left over")) }
}

struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else { return Err(damaged("it ends too early")) };
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A count of items of at least one byte each.
    fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.bytes.len() { Err(damaged("it has fewer items than it says")) } else { Ok(count) }
    }

    fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged("a flag is neither 0 nor 1")),
        }
    }

    fn expr(&mut self, depth: usize) -> Result<Expr> {
        let Some(depth) = depth.checked_sub(1) else { return Err(damaged("it is too deep")) };
        let mut pending = self.kind()?;
        let data_type = self.data_type()?;
        match &mut pending {
            Node::Literal(value) => *value = self.value()?,
            Node::Column(position) => *position = self.u32()? as usize,
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
                let count = self.count()?;
                **expr = self.expr(depth)?;
                *list = (0..count).map(|_| self.expr(depth)).collect::<Result<_>>()?;
            }
            Node::Case { branches, otherwise } => {
                for _ in 0..self.count()? {
                    branches.push((self.expr(depth)?, self.expr(depth)?));
                }
                if let Some(otherwise) = otherwise {
                    **otherwise = self.expr(depth)?;
                }
            }
            Node::Call(_, args) => {
                let count = self.count()?;
                *args = (0..count).map(|_| self.expr(depth)).collect::<Result<_>>()?;
            }
            Node::Param(_) | Node::Now | Node::Assign(..) | Node::Routine(..) => {
                unreachable!("no kind stands for {pending:?}")
            }
        }
        Ok(Expr::new(pending, data_type))
    }

    /// A node of the kind that is next, with what belongs to it; its operands are still to be read.
    fn kind(&mut self) -> Result<Node> {
        let open = || Box::new(Expr::literal(Value::Null, DataType::Boolean));
        Ok(match self.u8()? {
            kind::LITERAL => Node::Literal(Value::Null),
            kind::COLUMN => Node::Column(0),
            kind::ARITHMETIC => Node::Arithmetic(self.arithmetic()?, open(), open()),
            kind::NEGATE => Node::Negate(open()),
            kind::COMPARE => Node::Compare(self.comparison()?, open(), open()),
            kind::AND => Node::And(open(), open()),
            kind::OR => Node::Or(open(), open()),
            kind::NOT => Node::Not(open()),
            kind::IS_NULL => Node::IsNull { expr: open(), negated: self.flag()? },
            kind::IS_BOOL => Node::IsBool { expr: open(), expected: self.flag()?, negated: self.flag()? },
            kind::IS_DISTINCT => Node::IsDistinct { left: open(), right: open(), negated: self.flag()? },
            kind::IN_LIST => Node::InList { expr: open(), list: Vec::new(), negated: self.flag()? },
            kind::CALL => Node::Call(self.function()?, Vec::new()),
            kind::LIKE => {
                let (insensitive, negated) = (self.flag()?, self.flag()?);
                let escape = match self.u32()? {
                    0 => None,
                    code => Some(char::from_u32(code).ok_or_else(|| damaged("an escape character is none"))?),
                };
                Node::Like { expr: open(), pattern: open(), escape, insensitive, negated }
            }
            kind::CASE => Node::Case { branches: Vec::new(), otherwise: self.flag()?.then(open) },
            kind::CAST => Node::Cast(open()),
            kind::CONCAT => Node::Concat(open(), open()),
            _ => return Err(damaged("a node is of no known kind")),
        })
    }

    fn data_type(&mut self) -> Result<DataType> {
        Ok(match self.u8()? {
            1 => DataType::Boolean,
            2 => DataType::SmallInt,
            3 => DataType::Integer,
            4 => DataType::BigInt,
            5 => DataType::Real,
            6 => DataType::DoublePrecision,
            7 => DataType::Numeric { precision: self.u8()?, scale: self.u8()? },
            8 => DataType::Text,
            9 => DataType::Varchar(self.u32()?),
            10 => DataType::Date,
            11 => DataType::Timestamp,
            12 => DataType::TimestampTz,
            tag => {
                let [a, b, c, d, e, f, g] = self.array()?;
                let code = [tag, a, b, c, d, e, f, g];
                DataType::from_code(code).map_err(|_| damaged("a type is not known"))?
            }
        })
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.u8()? {
            0 => Value::Null,
            1 => Value::Bool(self.flag()?),
            2 => Value::Int(i64::from_le_bytes(self.array()?)),
            3 => Value::Float(f64::from_bits(u64::from_le_bytes(self.array()?))),
            4 => Value::Decimal(i128::from_le_bytes(self.array()?)),
            5 => {
                let count = self.count()?;
                let text = std::str::from_utf8(self.take(count)?).map_err(|_| damaged("a text is not UTF-8"))?;
                Value::Text(text.into())
            }
            6 => {
                let count = self.count()?;
                Value::Bytes(self.take(count)?.into())
            }
            7 => Value::Uuid(u128::from_le_bytes(self.array()?)),
            8 => Value::Interval(Interval::from_bits(u128::from_le_bytes(self.array()?))),
            9 => {
                let count = self.count()?;
                Value::Array(ArrayValue::from_bytes(self.take(count)?))
            }
            _ => return Err(damaged("a constant is of no known kind")),
        })
    }

    fn arithmetic(&mut self) -> Result<ArithmeticOp> {
        Ok(match self.u8()? {
            1 => ArithmeticOp::Add,
            2 => ArithmeticOp::Subtract,
            3 => ArithmeticOp::Multiply,
            4 => ArithmeticOp::Divide,
            5 => ArithmeticOp::Modulo,
            _ => return Err(damaged("an operator is not known")),
        })
    }

    fn comparison(&mut self) -> Result<CompareOp> {
        Ok(match self.u8()? {
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
        Ok(match self.u8()? {
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
