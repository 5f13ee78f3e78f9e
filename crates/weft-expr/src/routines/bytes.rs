//! Routines of bytea.

use weft_format::{Code, Error, Result, Value};

use super::routine::Routine;
use crate::text::{decode, encode};

pub(super) fn call(routine: Routine, args: &[Value]) -> Result<Value> {
    Ok(match (routine, args) {
        (Routine::Encode, [Value::Bytes(bytes), Value::Text(format)]) => Value::Text(encode(bytes, format)?.into()),
        (Routine::Decode, [Value::Text(text), Value::Text(format)]) => Value::Bytes(decode(text, format)?.into()),
        (Routine::BytesLength, [Value::Bytes(bytes)]) => Value::Int(bytes.len() as i64),
        (Routine::BytesConcat, [Value::Bytes(a), Value::Bytes(b)]) => Value::Bytes([&**a, &**b].concat().into()),
        (Routine::BytesSubstring, [Value::Bytes(bytes), Value::Int(start), rest @ ..]) => {
            let end = match rest {
                [Value::Int(length)] if *length < 0 => {
                    return Err(Error::new(Code::InvalidParameterValue, "negative substring length not allowed"));
                }
                [Value::Int(length)] => start.saturating_add(*length),
                _ => i64::MAX,
            };
            let place = |at: i64| usize::try_from((at - 1).max(0)).unwrap_or(usize::MAX).min(bytes.len());
            let (from, to) = (place(*start), place(end));
            Value::Bytes(bytes[from..to.max(from)].into())
        }
        (routine, args) => unreachable!("{routine:?} was found for its types, not {args:?}"),
    })
}
