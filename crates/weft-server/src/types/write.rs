//! Values of a result.

use weft::{DataType, Style, ValueRef};

/// How a column is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// The code that stands in messages.
    pub(crate) fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }
}

/// Appends a value as DataRow has it: its length, then its bytes; -1 for NULL. `text` is a buffer to print into.
pub(crate) fn write_value(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    data_type: DataType,
    (format, style): (Format, &Style),
    text: &mut String,
) {
    if value.is_null() {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return;
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match (format, value) {
        (Format::Text, ValueRef::Text(value)) if !matches!(data_type, DataType::Char(_)) => {
            out.extend_from_slice(value.as_bytes());
        }
        (Format::Text, ValueRef::Int(number)) if is_plain_integer(data_type) => write_integer(out, number),
        (Format::Text, value) => {
            text.clear();
            weft_sql::text::write_as(text, value, data_type, style);
            out.extend_from_slice(text.as_bytes());
        }
        (Format::Binary, value) => weft_sql::binary::write(out, value, data_type),
    }
    let length = i32::try_from(out.len() - start - 4).expect("a value is shorter than 2 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn is_plain_integer(data_type: DataType) -> bool {
    matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
}

/// The digits of a number, without the machinery of formatting: most columns of most results.
fn write_integer(out: &mut Vec<u8>, number: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: ValueRef<'_>, data_type: DataType, format: Format) -> Vec<u8> {
        let mut out = Vec::new();
        write_value(&mut out, value, data_type, (format, &Style::default()), &mut String::new());
        out
    }

    #[test]
    fn integers_are_printed() {
        for number in [0, 7, -7, 10, 99, -100, i64::MAX, i64::MIN] {
            let out = written(ValueRef::Int(number), DataType::BigInt, Format::Text);
            assert_eq!(std::str::from_utf8(&out[4..]).unwrap(), number.to_string());
        }
    }

    #[test]
    fn a_value_has_its_length_before_it() {
        assert_eq!(written(ValueRef::Int(42), DataType::Integer, Format::Binary), [0, 0, 0, 4, 0, 0, 0, 42]);
        assert_eq!(written(ValueRef::Null, DataType::Text, Format::Binary), [255; 4]);
        assert_eq!(written(ValueRef::Text("ab"), DataType::Text, Format::Text), [0, 0, 0, 2, b'a', b'b']);
        assert_eq!(written(ValueRef::Bool(true), DataType::Boolean, Format::Text), [0, 0, 0, 1, b't']);
    }
}
