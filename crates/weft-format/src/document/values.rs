//! Collects the values of a field in the Arrow type that they are wanted in.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder, StringViewBuilder};

use crate::document::cursor::Cursor;
use crate::document::decimal::{Decimal, Number};
use crate::document::follow::follow;
use crate::document::front::damaged;
use crate::document::levels::Tag;
use crate::document::path::{FieldPath, FieldStep};
use crate::document::text::unescaped;
use crate::error::{Error, Result};
use crate::types::DataType;

/// Values of a field.
#[derive(Debug)]
pub struct FieldValues {
    /// In the Arrow type of the path's type.
    pub array: ArrayRef,
    /// How many values are NULL because they are of another kind than the path's type.
    pub others: usize,
}

/// Takes values one by one.
enum Sink {
    Jsonb(LargeStringBuilder),
    Text(StringViewBuilder),
    /// Texts of what is not of a type.
    Rest(StringViewBuilder, DataType),
    /// What is no array.
    NoArray(LargeStringBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
}

/// A value without its document.
pub(crate) enum Found<'a> {
    Missing,
    Number(Decimal),
    /// Canonical text.
    Text(&'a str),
}

/// Collects the values of a field.
pub(crate) struct FieldBuilder {
    sink: Sink,
    others: usize,
    /// Of the texts among its values.
    bytes: usize,
}

/// Takes what is found of a field, row by row.
pub(crate) trait Take {
    /// Nothing is there.
    fn missing(&mut self);
    /// A value without parts, whose level was just taken.
    fn plain(&mut self, cursor: &mut Cursor<'_>, tag: Tag, scratch: &mut Vec<u8>) -> Result<()>;
    /// What steps lead to within a text; whether they lead anywhere.
    fn text(&mut self, text: &str, steps: &[FieldStep]) -> bool;
    /// Bytes of texts that were taken.
    fn bytes(&self) -> usize;
}

impl Take for FieldBuilder {
    fn missing(&mut self) {
        self.push(Found::Missing);
    }

    fn plain(&mut self, cursor: &mut Cursor<'_>, tag: Tag, scratch: &mut Vec<u8>) -> Result<()> {
        self.push_plain(cursor, tag, scratch)
    }

    fn text(&mut self, text: &str, steps: &[FieldStep]) -> bool {
        follow(text, steps).map(|found| self.push(Found::Text(found))).is_some()
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl FieldBuilder {
    /// For values of a type.
    pub(crate) fn new(path: &FieldPath) -> Result<FieldBuilder> {
        let sink = match (path.data_type, path.unless) {
            (DataType::Jsonb, None) => Sink::Jsonb(LargeStringBuilder::new()),
            (DataType::Text, None) => Sink::Text(StringViewBuilder::new()),
            (DataType::Text, Some(unless @ (DataType::BigInt | DataType::DoublePrecision))) => {
                Sink::Rest(StringViewBuilder::new(), unless)
            }
            (DataType::Jsonb, Some(DataType::Array(_))) => Sink::NoArray(LargeStringBuilder::new()),
            (DataType::BigInt, None) => Sink::Int(Int64Builder::new()),
            (DataType::DoublePrecision, None) => Sink::Float(Float64Builder::new()),
            (DataType::Boolean, None) => Sink::Bool(BooleanBuilder::new()),
            _ => return Err(Error::internal(format!("fields of documents are not read as {path}"))),
        };
        Ok(FieldBuilder { sink, others: 0, bytes: 0 })
    }

    /// Adds a value without parts, whose level was just taken.
    pub(crate) fn push_plain(&mut self, cursor: &mut Cursor<'_>, tag: Tag, scratch: &mut Vec<u8>) -> Result<()> {
        let word = match tag {
            Tag::Number => {
                self.push(Found::Number(cursor.number()?));
                return Ok(());
            }
            Tag::String => {
                return cursor.text(tag, scratch, |text| match &mut self.sink {
                    Sink::Text(builder) | Sink::Rest(builder, _) => {
                        self.bytes += text.len();
                        builder.append_value(text);
                    }
                    Sink::Int(builder) => {
                        self.others += 1;
                        builder.append_null();
                    }
                    Sink::Float(builder) => {
                        self.others += 1;
                        builder.append_null();
                    }
                    _ => {
                        let mut quoted = Vec::with_capacity(text.len() + 2);
                        super::text::quote(text, &mut quoted);
                        self.push(std::str::from_utf8(&quoted).map_or(Found::Missing, Found::Text));
                    }
                });
            }
            Tag::Numeral | Tag::Raw => return cursor.text(tag, scratch, |text| self.push(Found::Text(text))),
            Tag::Null => "null",
            Tag::False => "false",
            Tag::True => "true",
            Tag::EmptyObject => "{}",
            Tag::EmptyArray => "[]",
            Tag::Object | Tag::Array => return Err(damaged("a path without parts has a value with parts")),
        };
        self.push(Found::Text(word));
        Ok(())
    }

    /// Adds a value.
    pub(crate) fn push(&mut self, found: Found<'_>) {
        let mut written = Vec::new();
        let (text, number) = match found {
            Found::Missing => (None, None),
            Found::Number(number) => {
                if matches!(self.sink, Sink::Jsonb(_) | Sink::Text(_) | Sink::Rest(..) | Sink::NoArray(_)) {
                    number.write(&mut written);
                }
                (std::str::from_utf8(&written).ok(), Some(number))
            }
            Found::Text(text) => (Some(text), small_number(text)),
        };
        self.bytes += text.map_or(0, str::len);
        let is_other = match &mut self.sink {
            Sink::Jsonb(builder) => {
                builder.append_option(text);
                false
            }
            Sink::NoArray(builder) => {
                builder.append_option(text.filter(|text| !text.starts_with('[')));
                false
            }
            Sink::Text(builder) => {
                builder.append_option(text.and_then(plain).as_deref());
                false
            }
            Sink::Rest(builder, unless) => {
                let is_apart = match unless {
                    DataType::BigInt => whole(text, number).is_some(),
                    _ => double(text, number).is_some(),
                };
                builder.append_option(text.filter(|_| !is_apart).and_then(plain).as_deref());
                false
            }
            Sink::Int(builder) => {
                let whole = whole(text, number);
                builder.append_option(whole);
                whole.is_none()
            }
            Sink::Float(builder) => {
                let float = double(text, number);
                builder.append_option(float);
                float.is_none()
            }
            Sink::Bool(builder) => {
                let is_true = text.filter(|text| matches!(*text, "true" | "false")).map(|text| text == "true");
                builder.append_option(is_true);
                is_true.is_none()
            }
        };
        let is_there = number.is_some() || text.is_some_and(|text| text != "null");
        self.others += usize::from(is_other && is_there);
    }

    pub(crate) fn finish(self) -> FieldValues {
        let array: ArrayRef = match self.sink {
            Sink::Jsonb(mut builder) | Sink::NoArray(mut builder) => Arc::new(builder.finish()),
            Sink::Text(mut builder) | Sink::Rest(mut builder, _) => Arc::new(builder.finish()),
            Sink::Int(mut builder) => Arc::new(builder.finish()),
            Sink::Float(mut builder) => Arc::new(builder.finish()),
            Sink::Bool(mut builder) => Arc::new(builder.finish()),
        };
        FieldValues { array, others: self.others }
    }
}

/// A value as a bigint: a number without a fraction that fits.
fn whole(text: Option<&str>, number: Option<Decimal>) -> Option<i64> {
    let small = number.filter(|number| number.scale == 0).map(|number| number.mantissa);
    small.or_else(|| text.and_then(|text| text.parse().ok()))
}

/// A value as a double: a number, unless it is beyond all doubles, or is not zero and rounds to it.
fn double(text: Option<&str>, number: Option<Decimal>) -> Option<f64> {
    let numeral = || text.filter(|text| starts_number(text)).and_then(|text| text.parse().ok());
    let is_double = |float: &f64| {
        let is_zero = || text.is_none_or(|text| !text.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
        float.is_finite() && (*float != 0.0 || is_zero())
    };
    number.map(Decimal::to_f64).or_else(|| numeral().filter(is_double))
}

fn starts_number(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'))
}

fn small_number(text: &str) -> Option<Decimal> {
    match Number::parse(text) {
        Some(Number::Small(decimal)) => Some(decimal),
        _ => None,
    }
}

/// What `->>` makes of a value.
fn plain(text: &str) -> Option<std::borrow::Cow<'_, str>> {
    match text.as_bytes().first()? {
        b'n' => None,
        b'"' => unescaped(text.get(1..text.len() - 1)?),
        _ => Some(text.into()),
    }
}
