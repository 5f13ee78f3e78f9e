//! Values to bytes.

use weft_format::{DataType, ValueRef};

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

/// Appends the bytes of a value of a type; NULL has none.
pub fn write(out: &mut Vec<u8>, value: ValueRef<'_>, data_type: DataType) {
    match (data_type, value) {
        (_, ValueRef::Null) => {}
        (_, ValueRef::Bool(value)) => out.push(u8::from(value)),
        (_, ValueRef::Text(value)) => out.extend_from_slice(value.as_bytes()),
        (DataType::SmallInt, ValueRef::Int(value)) => out.extend_from_slice(&(value as i16).to_be_bytes()),
        (DataType::Integer, ValueRef::Int(value)) => out.extend_from_slice(&(value as i32).to_be_bytes()),
        (DataType::Date, ValueRef::Int(days)) => out.extend_from_slice(&((days - EPOCH_DAYS) as i32).to_be_bytes()),
        (DataType::Timestamp | DataType::TimestampTz, ValueRef::Int(micros)) => {
            out.extend_from_slice(&(micros - EPOCH_MICROS).to_be_bytes());
        }
        (_, ValueRef::Int(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (DataType::Real, ValueRef::Float(value)) => out.extend_from_slice(&(value as f32).to_be_bytes()),
        (_, ValueRef::Float(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (DataType::Numeric { scale, .. }, ValueRef::Decimal(value)) => numeric::write(out, value, scale),
        (other, value) => unreachable!("a column of {other} has no value {value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::read;

    #[test]
    fn values_have_postgresqls_bytes() {
        let binary = |value, data_type| {
            let mut out = Vec::new();
            write(&mut out, value, data_type);
            out
        };
        assert_eq!(binary(ValueRef::Int(42), DataType::Integer), [0, 0, 0, 42]);
        assert_eq!(binary(ValueRef::Int(15_706), DataType::Date), [0, 0, 0x12, 0x8d]);
        assert_eq!(binary(ValueRef::Int(EPOCH_MICROS + 1), DataType::Timestamp), [0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(binary(ValueRef::Bool(true), DataType::Boolean), [1]);
        assert_eq!(binary(ValueRef::Text("ab"), DataType::Text), *b"ab");
        assert_eq!(binary(ValueRef::Float(1.0), DataType::Real), [0x3f, 0x80, 0, 0]);
    }

    #[test]
    fn what_is_written_reads_back() {
        let values = [
            (ValueRef::Bool(true), DataType::Boolean),
            (ValueRef::Int(-3), DataType::SmallInt),
            (ValueRef::Int(i32::MIN.into()), DataType::Integer),
            (ValueRef::Int(i64::MAX), DataType::BigInt),
            (ValueRef::Float(0.5), DataType::Real),
            (ValueRef::Float(-1e300), DataType::DoublePrecision),
            (ValueRef::Decimal(-12_345), DataType::Numeric { precision: 10, scale: 3 }),
            (ValueRef::Text("a b"), DataType::Varchar(9)),
            (ValueRef::Int(-1), DataType::Date),
            (ValueRef::Int(17), DataType::Timestamp),
            (ValueRef::Int(-17), DataType::TimestampTz),
        ];
        for (value, data_type) in values {
            let mut bytes = Vec::new();
            write(&mut bytes, value, data_type);
            assert_eq!(read(&bytes, data_type).unwrap(), value.to_value(), "{data_type}");
            if !data_type.is_text() {
                bytes.push(0);
                assert!(read(&bytes, data_type).is_err(), "{data_type}");
                bytes.truncate(bytes.len() - 2);
                assert!(read(&bytes, data_type).is_err(), "{data_type}");
            }
        }
    }
}
