//! Values to bytes.

use weft_expr::text::{self, NUMERIC_DEFAULT};
use weft_format::array::elements;
use weft_format::{DataType, Value, ValueRef};

use super::{EPOCH_DAYS, EPOCH_MICROS, JSONB_VERSION, bits, numeric};
use crate::oids;

/// Appends the bytes of a value of a type; NULL has none.
pub fn write(out: &mut Vec<u8>, value: ValueRef<'_>, data_type: DataType) {
    match (data_type, value) {
        (_, ValueRef::Null) => {}
        (_, ValueRef::Bool(value)) => out.push(u8::from(value)),
        (DataType::Char(_), value @ ValueRef::Text(_)) => {
            out.extend_from_slice(text::print(value, data_type).as_bytes())
        }
        (DataType::Bit(_) | DataType::VarBit(_), ValueRef::Text(digits)) => bits::write(out, digits),
        (DataType::Jsonb | DataType::JsonPath, ValueRef::Text(value)) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(value.as_bytes());
        }
        (_, ValueRef::Text(value)) => out.extend_from_slice(value.as_bytes()),
        (_, ValueRef::Uuid(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (_, ValueRef::Interval(value)) => {
            out.extend_from_slice(&value.micros.to_be_bytes());
            out.extend_from_slice(&value.days.to_be_bytes());
            out.extend_from_slice(&value.months.to_be_bytes());
        }
        (DataType::Array(element), ValueRef::Array(bytes) | ValueRef::Bytes(bytes)) => {
            write_array(out, bytes, element.data_type());
        }
        (_, ValueRef::Bytes(bytes)) => out.extend_from_slice(bytes),
        (DataType::Enum(_), value @ ValueRef::Int(_)) => {
            out.extend_from_slice(text::print(value, data_type).as_bytes());
        }
        (DataType::Oid, ValueRef::Int(value)) => out.extend_from_slice(&(value as u32).to_be_bytes()),
        (DataType::SmallInt, ValueRef::Int(value)) => out.extend_from_slice(&(value as i16).to_be_bytes()),
        (DataType::Integer, ValueRef::Int(value)) => out.extend_from_slice(&(value as i32).to_be_bytes()),
        (DataType::Date, ValueRef::Int(days)) => out.extend_from_slice(&((days - EPOCH_DAYS) as i32).to_be_bytes()),
        (DataType::Timestamp | DataType::TimestampTz, ValueRef::Int(micros)) => {
            out.extend_from_slice(&(micros - EPOCH_MICROS).to_be_bytes());
        }
        (_, ValueRef::Int(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (DataType::Real, ValueRef::Float(value)) => out.extend_from_slice(&(value as f32).to_be_bytes()),
        (_, ValueRef::Float(value)) => out.extend_from_slice(&value.to_be_bytes()),
        (NUMERIC_DEFAULT, ValueRef::Decimal(value)) => write_plain(out, value),
        (DataType::Numeric { scale, .. }, ValueRef::Decimal(value)) => numeric::write(out, value, scale),
        (other, value) => unreachable!("a column of {other} has no value {value:?}"),
    }
}

/// A numeric without a precision shows only digits that are not zero.
fn write_plain(out: &mut Vec<u8>, mut value: i128) {
    let DataType::Numeric { mut scale, .. } = NUMERIC_DEFAULT else { unreachable!("it is a numeric") };
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    numeric::write(out, value, scale);
}

/// An array: dimensions, whether there are NULLs, the type of the elements, their number, the first one's index, and
/// each with its length before it.
fn write_array(out: &mut Vec<u8>, bytes: &[u8], element: DataType) {
    let values = elements(bytes, element).expect("arrays in memory were checked when they were read");
    let numbers = |out: &mut Vec<u8>, numbers: &[i32]| {
        numbers.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    };
    let has_nulls = i32::from(values.iter().any(Value::is_null));
    numbers(out, &[i32::from(!values.is_empty()), has_nulls, oids::oid_of(element) as i32]);
    if !values.is_empty() {
        numbers(out, &[values.len() as i32, 1]);
    }
    for value in &values {
        if value.is_null() {
            numbers(out, &[-1]);
            continue;
        }
        let start = out.len();
        numbers(out, &[0]);
        write(out, value.as_ref(), element);
        let length = i32::try_from(out.len() - start - 4).expect("a value is shorter than 2 GiB");
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use weft_format::{ArrayValue, Interval};

    use super::*;
    use crate::binary::read;

    #[test]
    fn arrays_have_postgresqls_bytes_and_read_back() {
        let values = [Value::Int(7), Value::Null];
        let array = Value::Array(ArrayValue::new(DataType::Integer, values.iter().map(Value::as_ref)));
        let data_type = DataType::Integer.array().unwrap();
        let mut out = Vec::new();
        write(&mut out, array.as_ref(), data_type);
        let wanted: Vec<u8> = [1, 1, 23, 2, 1, 4, 7, -1].iter().flat_map(|number: &i32| number.to_be_bytes()).collect();
        assert_eq!(out, wanted);
        assert_eq!(read(&out, data_type).unwrap(), array);
        let empty = Value::Array(ArrayValue::new(DataType::Integer, []));
        out.clear();
        write(&mut out, empty.as_ref(), data_type);
        assert_eq!((out.len(), read(&out, data_type).unwrap()), (12, empty));
        for wrong in [&wanted[..20], &[0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 23][..], &wanted[..wanted.len() - 1]] {
            assert!(read(wrong, data_type).is_err(), "{wrong:?}");
        }
        let mut json = Vec::new();
        write(&mut json, ValueRef::Text("{}"), DataType::Jsonb);
        assert_eq!(json, *b"\x01{}");
        assert_eq!(
            read(b"\x01{\"b\": 1, \"a\": 2}", DataType::Jsonb).unwrap(),
            Value::Text("{\"a\": 2, \"b\": 1}".into())
        );
        assert!(read(b"\x02{}", DataType::Jsonb).is_err());
        let mut path = Vec::new();
        write(&mut path, ValueRef::Text("$"), DataType::JsonPath);
        assert_eq!(path, *b"\x01$");
        assert_eq!(read(b"\x01$.a", DataType::JsonPath).unwrap(), Value::Text("$.\"a\"".into()));
    }

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
            (ValueRef::Int(86_399_999_999), DataType::Time),
            (ValueRef::Int(u32::MAX.into()), DataType::Oid),
            (ValueRef::Uuid(0xa0ee << 112 | 7), DataType::Uuid),
            (ValueRef::Interval(Interval::new(14, -3, 17)), DataType::Interval),
            (ValueRef::Decimal(15_000_000_000), NUMERIC_DEFAULT),
            (ValueRef::Text("100111001"), DataType::VarBit(0)),
            (ValueRef::Text("10011100"), DataType::Bit(8)),
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
