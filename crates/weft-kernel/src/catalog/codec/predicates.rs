//! The predicate of a partial index as bytes.
//!
//! ```text
//!   WHERE a > 7 AND b IS NULL     02 00 00 00                                       two conditions
//!                                 01  01 00 00 00  05  02 07 00 00 00 00 00 00 00   column 1 > integer 7
//!                                 03  02 00 00 00                                   column 2 IS NULL
//! ```
//!
//! Whether the columns exist and the constants are of their kind is for who knows the table: the index, when it is
//! opened.

use weft_format::{ArrayValue, CompareOp, Interval, Predicate, Result, Value};

use super::bytes::{Input, damaged, put_count, put_text};

pub(super) fn put_predicates(bytes: &mut Vec<u8>, predicates: &[Predicate]) {
    put_count(bytes, predicates.len());
    for predicate in predicates {
        bytes.push(match predicate {
            Predicate::Compare { .. } => 1,
            Predicate::In { .. } => 2,
            Predicate::IsNull { .. } => 3,
            Predicate::IsNotNull { .. } => 4,
        });
        put_count(bytes, predicate.column());
        match predicate {
            Predicate::Compare { op, value, .. } => {
                bytes.push(op_byte(*op));
                put_value(bytes, value);
            }
            Predicate::In { values, .. } => {
                put_count(bytes, values.len());
                values.iter().for_each(|value| put_value(bytes, value));
            }
            Predicate::IsNull { .. } | Predicate::IsNotNull { .. } => {}
        }
    }
}

pub(super) fn read_predicates(input: &mut Input<'_>) -> Result<Vec<Predicate>> {
    let mut predicates = Vec::new();
    for _ in 0..input.count()? {
        let kind = input.u8()?;
        let column = input.u32()? as usize;
        predicates.push(match kind {
            1 => Predicate::Compare { column, op: read_op(input)?, value: read_value(input)? },
            2 => {
                let mut values = Vec::new();
                for _ in 0..input.count()? {
                    values.push(read_value(input)?);
                }
                Predicate::In { column, values }
            }
            3 => Predicate::IsNull { column },
            4 => Predicate::IsNotNull { column },
            other => return Err(damaged(format!("a condition of an index is of kind {other}"))),
        });
    }
    Ok(predicates)
}

fn op_byte(op: CompareOp) -> u8 {
    match op {
        CompareOp::Eq => 1,
        CompareOp::NotEq => 2,
        CompareOp::Lt => 3,
        CompareOp::LtEq => 4,
        CompareOp::Gt => 5,
        CompareOp::GtEq => 6,
    }
}

fn read_op(input: &mut Input<'_>) -> Result<CompareOp> {
    Ok(match input.u8()? {
        1 => CompareOp::Eq,
        2 => CompareOp::NotEq,
        3 => CompareOp::Lt,
        4 => CompareOp::LtEq,
        5 => CompareOp::Gt,
        6 => CompareOp::GtEq,
        other => return Err(damaged(format!("a comparison of an index is {other}"))),
    })
}

fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => bytes.push(0),
        Value::Bool(v) => bytes.extend([1, u8::from(*v)]),
        Value::Int(v) => {
            bytes.push(2);
            bytes.extend(v.to_le_bytes());
        }
        Value::Float(v) => {
            bytes.push(3);
            bytes.extend(v.to_bits().to_le_bytes());
        }
        Value::Decimal(v) => {
            bytes.push(4);
            bytes.extend(v.to_le_bytes());
        }
        Value::Text(v) => {
            bytes.push(5);
            put_text(bytes, v);
        }
        Value::Bytes(v) => {
            bytes.push(6);
            put_count(bytes, v.len());
            bytes.extend(v.iter());
        }
        Value::Uuid(v) => {
            bytes.push(7);
            bytes.extend(v.to_le_bytes());
        }
        Value::Interval(v) => {
            bytes.push(8);
            bytes.extend(v.to_bits().to_le_bytes());
        }
        Value::Array(v) => {
            bytes.push(9);
            put_count(bytes, v.as_bytes().len());
            bytes.extend(v.as_bytes());
        }
    }
}

fn read_value(input: &mut Input<'_>) -> Result<Value> {
    Ok(match input.u8()? {
        0 => Value::Null,
        1 => Value::Bool(input.flag()?),
        2 => Value::Int(i64::from_le_bytes(input.array()?)),
        3 => Value::Float(f64::from_bits(u64::from_le_bytes(input.array()?))),
        4 => Value::Decimal(i128::from_le_bytes(input.array()?)),
        5 => Value::Text(input.text()?.into()),
        6 => {
            let count = input.count()?;
            Value::Bytes(input.take(count)?.into())
        }
        7 => Value::Uuid(u128::from_le_bytes(input.array()?)),
        8 => Value::Interval(Interval::from_bits(u128::from_le_bytes(input.array()?))),
        9 => {
            let count = input.count()?;
            Value::Array(ArrayValue::from_bytes(input.take(count)?))
        }
        other => return Err(damaged(format!("a constant of an index is of kind {other}"))),
    })
}
