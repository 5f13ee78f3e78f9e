//! Formatting by templates: `to_char`, `to_date`, `to_timestamp`, `to_number`.
//!
//! ```text
//!   to_char(timestamp '2024-03-09 14:30', 'FMDay, DDth "of" Month YYYY')   Saturday, 09th of March     2024
//!     pattern    FMDay | , | ' ' | DDth | ' ' | o | f | ...                 fields and literals, kept for the next row
//!     moments    Saturday , 09th of March     2024
//!   to_timestamp('9 Mar 2024 2:30 PM', 'DD Mon YYYY HH:MI AM')
//!     read       day 9, month 3, year 2024, hour 2, PM                       what the text says
//!     settle     2024-03-09 14:30 in the session's zone                      what that means
//!   to_char(-1234.5, '9G999D99PR')                                           <1,234.50>
//!     number_pattern   4 digits before the point, 2 behind it, brackets      numbers: digits into their places
//! ```
//!
//! 1. Names and signs are English, as with PostgreSQL's locale `C`: D is a point, G a comma, L a blank.
//! 2. A template is taken apart once for a run of rows that share it.
//! 3. A text is at most some times as long as its template, which [`pattern::check_length`] bounds.
//!
//! Source: PostgreSQL's documentation, section 9.8; what that leaves open is as PostgreSQL 15 answers.

mod moments;
mod number_pattern;
mod numbers;
mod pattern;
mod read;
mod read_number;
mod roman;
mod settle;
mod standard;
mod weeks;

pub(super) use standard::Template;

use weft_format::DataType;

use super::builtin::{Arg, Builtin, builtin};
use crate::text::NUMERIC_DEFAULT;

const TEXT: Arg = Arg::Of(DataType::Text);

pub(super) static ROWS: &[Builtin] = &[
    builtin(1768, "to_char", &[Arg::Of(DataType::Interval), TEXT], DataType::Text, moments::interval).stable(),
    builtin(1770, "to_char", &[Arg::Of(DataType::TimestampTz), TEXT], DataType::Text, moments::timestamptz).stable(),
    builtin(274, "timeofday", &[], DataType::Text, moments::time_of_day).volatile(),
    builtin(2049, "to_char", &[Arg::Of(DataType::Timestamp), TEXT], DataType::Text, moments::timestamp).stable(),
    builtin(1772, "to_char", &[Arg::Numeric, TEXT], DataType::Text, numbers::numeric).stable(),
    builtin(1773, "to_char", &[Arg::Of(DataType::Integer), TEXT], DataType::Text, numbers::integer).stable(),
    builtin(1774, "to_char", &[Arg::Of(DataType::BigInt), TEXT], DataType::Text, numbers::bigint).stable(),
    builtin(1775, "to_char", &[Arg::Of(DataType::Real), TEXT], DataType::Text, numbers::real).stable(),
    builtin(1776, "to_char", &[Arg::Of(DataType::DoublePrecision), TEXT], DataType::Text, numbers::double).stable(),
    builtin(1777, "to_number", &[TEXT, TEXT], NUMERIC_DEFAULT, read_number::to_number).stable(),
    builtin(1778, "to_timestamp", &[TEXT, TEXT], DataType::TimestampTz, settle::to_timestamp).stable(),
    builtin(1780, "to_date", &[TEXT, TEXT], DataType::Date, settle::to_date).stable(),
];

#[cfg(test)]
mod tests;
