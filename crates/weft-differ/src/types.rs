//! The types of expressions, and the few values that each is tried with.
//!
//! Domains are small, so that rows meet: equal values, NULLs beside them, the edges of each type. What is listed in
//! docs/differences.md stays out: `1 mon` beside `30 days`, `1.0` within jsonb, `-0`.

use crate::random::Random;

/// The type of an expression. `varchar(n)` and `numeric(p,s)` are types of columns; their values are text and numeric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is PostgreSQL's type of that name")]
pub enum Type {
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float8,
    Text,
    Date,
    Timestamp,
    Timestamptz,
    Interval,
    Uuid,
    Bytea,
    Jsonb,
    Int4Array,
    TextArray,
}

impl Type {
    /// Every type.
    pub const ALL: [Type; 16] = [
        Type::Bool,
        Type::Int2,
        Type::Int4,
        Type::Int8,
        Type::Numeric,
        Type::Float8,
        Type::Text,
        Type::Date,
        Type::Timestamp,
        Type::Timestamptz,
        Type::Interval,
        Type::Uuid,
        Type::Bytea,
        Type::Jsonb,
        Type::Int4Array,
        Type::TextArray,
    ];

    /// The types of what queries mostly give.
    pub const COMMON: [Type; 12] = [
        Type::Bool,
        Type::Int4,
        Type::Int4,
        Type::Int4,
        Type::Int8,
        Type::Int2,
        Type::Numeric,
        Type::Float8,
        Type::Text,
        Type::Text,
        Type::Date,
        Type::Timestamp,
    ];

    /// Its name in a cast.
    pub fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Int2 => "int2",
            Type::Int4 => "int4",
            Type::Int8 => "int8",
            Type::Numeric => "numeric",
            Type::Float8 => "float8",
            Type::Text => "text",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
            Type::Timestamptz => "timestamptz",
            Type::Interval => "interval",
            Type::Uuid => "uuid",
            Type::Bytea => "bytea",
            Type::Jsonb => "jsonb",
            Type::Int4Array => "int4[]",
            Type::TextArray => "text[]",
        }
    }

    /// A short name for columns of it.
    pub fn column_name(self) -> &'static str {
        match self {
            Type::Bool => "b",
            Type::Int2 => "i2",
            Type::Int4 => "i4",
            Type::Int8 => "i8",
            Type::Numeric => "n",
            Type::Float8 => "f",
            Type::Text => "t",
            Type::Date => "d",
            Type::Timestamp => "ts",
            Type::Timestamptz => "tz",
            Type::Interval => "iv",
            Type::Uuid => "u",
            Type::Bytea => "by",
            Type::Jsonb => "j",
            Type::Int4Array => "ia",
            Type::TextArray => "ta",
        }
    }

    /// Whether it is an integer.
    pub fn is_integer(self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8)
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Type::Numeric | Type::Float8)
    }

    /// Whether ORDER BY of it is PostgreSQL's; jsonb's is listed as different.
    pub fn is_ordered(self) -> bool {
        self != Type::Jsonb
    }

    /// The largest magnitude of an integer type that every sign of a number can have.
    pub fn magnitude_max(self) -> f64 {
        match self {
            Type::Int2 => 32767.0,
            Type::Int4 => 2_147_483_647.0,
            Type::Int8 => 9.0e18,
            Type::Numeric => 1.0e15,
            _ => 1.0e100,
        }
    }

    /// The usual values, as text that the type reads.
    pub fn domain(self) -> &'static [&'static str] {
        match self {
            Type::Bool => &["true", "false"],
            Type::Int2 | Type::Int4 | Type::Int8 => &["0", "1", "2", "3", "-1", "5", "10", "7"],
            Type::Numeric => &["0", "1", "1.5", "-2.25", "0.01", "2", "10", "99.99", "-1"],
            Type::Float8 => &["0", "1", "1.5", "-2.25", "0.5", "2", "10", "-1"],
            Type::Text => &["", "a", "A", "ab", "b", "abc", " a", "a ", "é", "10", "x_y", "50%", "null"],
            Type::Date => &["2024-01-01", "2024-02-29", "1999-12-31", "1970-01-01", "2023-03-31", "2024-12-30"],
            Type::Timestamp | Type::Timestamptz => &[
                "2024-01-01 00:00:00",
                "2024-02-29 23:59:59.999999",
                "1999-12-31 12:30:00",
                "1970-01-01 00:00:00",
                "1969-12-31 23:59:59.5",
                "2024-02-29 10:00:00",
            ],
            Type::Interval => &["0", "1 day", "-1 day", "1 mon", "1 year 2 mons", "03:04:05", "2 days 00:00:01.5"],
            Type::Uuid => &[
                "00000000-0000-0000-0000-000000000000",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
            Type::Bytea => &["\\x", "\\x00", "\\x616263", "\\xff00"],
            Type::Jsonb => &["null", "1", "\"a\"", "[1, 2]", "{\"a\": 1}", "{\"a\": {\"b\": [true, null]}}", "[]"],
            Type::Int4Array => &["{}", "{1}", "{1,2,3}", "{NULL,2}", "{3,1}"],
            Type::TextArray => &["{}", "{a}", "{a,b}", "{NULL}", "{\"\",A}"],
        }
    }

    /// Values at the edges, which arithmetic may not survive.
    pub fn edges(self) -> &'static [&'static str] {
        match self {
            Type::Int2 => &["32767", "-32768"],
            Type::Int4 => &["2147483647", "-2147483648"],
            Type::Int8 => &["9223372036854775807", "-9223372036854775808", "2147483648"],
            Type::Numeric => &["99999999.99", "-99999999.99"],
            Type::Float8 => &["NaN", "Infinity", "-Infinity", "1e15"],
            Type::Text => &["a longer text, with 'quotes' and \\ in it", "日本語", "\ttab"],
            Type::Date => &["0001-01-01", "9999-12-31"],
            Type::Timestamp | Type::Timestamptz => &["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"],
            _ => &[],
        }
    }

    /// One of its usual values.
    pub fn sample(self, random: &mut Random) -> String {
        random.word(self.domain()).to_owned()
    }

    /// The literal of a value; `typed` says whether it tells its type.
    pub fn literal(self, text: &str, typed: bool) -> String {
        let quoted = format!("'{}'", text.replace('\'', "''"));
        match self {
            Type::Bool if matches!(text, "true" | "false") => text.to_owned(),
            Type::Int4 if text.starts_with('-') => format!("({text})"),
            Type::Int4 => text.to_owned(),
            Type::Int2 | Type::Int8 | Type::Numeric | Type::Float8 if !typed && !text.contains(['N', 'I']) => {
                if text.starts_with('-') { format!("({text})") } else { text.to_owned() }
            }
            _ if typed => format!("{quoted}::{}", self.name()),
            _ => quoted,
        }
    }
}
