//! Lines and columns of tokens to characters from the start of the text.

use sqlparser::tokenizer::Span;
use weft_format::Error;

/// Characters from the start of `source`, counted from 1, of a line and column counted from 1.
pub fn position_of(source: &str, line: u64, column: u64) -> Option<usize> {
    if line == 0 || column == 0 {
        return None;
    }
    let mut position = 1;
    for (index, text) in source.split('\n').enumerate() {
        if index as u64 + 1 == line {
            return Some(position + column as usize - 1);
        }
        position += text.chars().count() + 1;
    }
    None
}

/// The position of the start of a span, if it has one.
pub fn span_position(source: &str, span: Span) -> Option<usize> {
    position_of(source, span.start.line, span.start.column)
}

/// Adds the position of a span to an error, if the span has one.
pub(crate) fn place(error: Error, source: &str, span: Span) -> Error {
    match span_position(source, span) {
        Some(position) => error.at(position),
        None => error,
    }
}

/// Splits `... at Line: 3, Column: 7` off a parser's message.
pub(super) fn split_location(message: &str) -> (&str, Option<(u64, u64)>) {
    let Some(at) = message.rfind(" at Line: ") else { return (message, None) };
    let numbers = &message[at + " at Line: ".len()..];
    let location = numbers.split_once(", Column: ").and_then(|(line, column)| {
        let digits = column.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((line.parse().ok()?, digits.parse().ok()?))
    });
    match location {
        Some(location) => (&message[..at], Some(location)),
        None => (message, None),
    }
}
