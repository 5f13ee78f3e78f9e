//! What the release before wrote into the log, which is read and not written.
//!
//! ```text
//!   record   without a number: kind u8 | txn u64 | ...
//!   value    tag u8 | 0 null  1 false  2 true  3 int i64  4 float bits u64  5 decimal i128  6 text  7 bytes
//!            8 uuid u128  9 interval u128  10 array bytes
//! ```

use weft_format::wire::ByteReader;
use weft_format::{ArrayValue, Error, Interval, Result, Value};

/// A value of an update, as the release before wrote it.
pub(super) fn value_before(reader: &mut ByteReader<'_>) -> Result<Value> {
    Ok(match reader.u8()? {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => Value::Int(i64::from_le_bytes(reader.array()?)),
        4 => Value::Float(f64::from_bits(u64::from_le_bytes(reader.array()?))),
        5 => Value::Decimal(i128::from_le_bytes(reader.array()?)),
        6 => Value::Text(reader.text()?.into()),
        7 => Value::Bytes(reader.byte_string()?.into()),
        8 => Value::Uuid(u128::from_le_bytes(reader.array()?)),
        9 => Value::Interval(Interval::from_bits(u128::from_le_bytes(reader.array()?))),
        10 => Value::Array(ArrayValue::from_bytes(reader.byte_string()?)),
        tag => return Err(Error::corrupt(format!("a logged value has the unknown tag {tag}"))),
    })
}
