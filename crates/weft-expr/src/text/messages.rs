//! Texts and types in messages.

use std::borrow::Cow;

use weft_format::{Code, DataType, Error, enums};

/// `invalid input syntax for type integer: "x"`.
pub(super) fn invalid_text(text: &str, data_type: DataType) -> Error {
    let name = type_name(data_type);
    Error::new(Code::InvalidText, format!("invalid input syntax for type {name}: \"{}\"", shorten(text)))
}

/// The name of a type in messages, without its arguments.
pub fn type_name(data_type: DataType) -> Cow<'static, str> {
    let name = match data_type {
        DataType::Enum(id) => return Cow::Owned(enums::name_of(id)),
        DataType::Array(element) => return Cow::Owned(format!("{}[]", type_name(element.data_type()))),
        DataType::Boolean => "boolean",
        DataType::SmallInt => "smallint",
        DataType::Integer => "integer",
        DataType::BigInt => "bigint",
        DataType::Real => "real",
        DataType::DoublePrecision => "double precision",
        DataType::Numeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "character varying",
        DataType::Date => "date",
        DataType::Timestamp => "timestamp without time zone",
        DataType::TimestampTz => "timestamp with time zone",
        DataType::Char(_) => "character",
        DataType::Oid => "oid",
        DataType::Bytea => "bytea",
        DataType::Uuid => "uuid",
        DataType::Time => "time without time zone",
        DataType::Interval => "interval",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
        DataType::JsonPath => "jsonpath",
        DataType::Bit(_) => "bit",
        DataType::VarBit(_) => "bit varying",
    };
    Cow::Borrowed(name)
}

/// At most 100 characters of an offending text, for messages.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn date_out_of_range(text: &str) -> Error {
    Error::new(Code::DatetimeOverflow, format!("date/time field value out of range: \"{}\"", shorten(text)))
        .hint("dates lie in the years 0001 to 9999")
}
