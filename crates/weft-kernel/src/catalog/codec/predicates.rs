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

use weft_format::wire::{ByteReader, put_count, put_value};
use weft_format::{CompareOp, Predicate, Result};

use super::bytes::damaged;

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
                put_value(bytes, value.as_ref());
            }
            Predicate::In { values, .. } => {
                put_count(bytes, values.len());
                values.iter().for_each(|value| put_value(bytes, value.as_ref()));
            }
            Predicate::IsNull { .. } | Predicate::IsNotNull { .. } => {}
        }
    }
}

pub(super) fn read_predicates(input: &mut ByteReader<'_>) -> Result<Vec<Predicate>> {
    let mut predicates = Vec::new();
    for _ in 0..input.count()? {
        let kind = input.u8()?;
        let column = input.u32()? as usize;
        predicates.push(match kind {
            1 => Predicate::Compare { column, op: read_op(input)?, value: input.value()? },
            2 => {
                let mut values = Vec::new();
                for _ in 0..input.count()? {
                    values.push(input.value()?);
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

fn read_op(input: &mut ByteReader<'_>) -> Result<CompareOp> {
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
