//! Tests against PostgreSQL 15's answers: `golden` has them, line by line.

use weft_format::DataType;

use super::super::testing::{answer, answer_in};
use crate::style::{Local, Style};
use crate::text::NUMERIC_DEFAULT;
use crate::zone::Zone;

fn local(zone: &str) -> Local {
    let zone = Zone::find(zone).expect("the zone is in the database");
    Local { style: Style { zone, ..Style::default() }, ..Local::fixed().clone() }
}

fn data_type(name: &str) -> DataType {
    match name {
        "integer" => DataType::Integer,
        "bigint" => DataType::BigInt,
        "real" => DataType::Real,
        "double precision" => DataType::DoublePrecision,
        "numeric(38,10)" => DataType::Numeric { precision: 38, scale: 10 },
        "numeric(10,2)" => DataType::Numeric { precision: 10, scale: 2 },
        "text" => DataType::Text,
        "date" => DataType::Date,
        "time" => DataType::Time,
        "timestamp" => DataType::Timestamp,
        "timestamptz" => DataType::TimestampTz,
        "interval" => DataType::Interval,
        other => panic!("no type {other}"),
    }
}

/// Compares the answers of a golden file; `same` tells whether an answer is PostgreSQL's.
fn compare(golden: &str, same: fn(&str, &str) -> bool) {
    let mut wrong = Vec::new();
    for line in golden.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('|').collect();
        let [function, zone, name, value, pattern, wanted] = fields[..] else { panic!("{line:?}") };
        let args = [(data_type(name), Some(value)), (DataType::Text, Some(pattern))];
        let mut got = answer_in(&local(zone), function, &args);
        if got != "NULL" && !got.starts_with("ERROR: ") {
            got = format!("[{got}]");
        }
        if !same(&got, wanted) {
            wrong.push(format!("{function} {zone} {name} {value:?} {pattern:?}\n  {got}\n  {wanted}, says PostgreSQL"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn times_are_written_as_postgresql_does() {
    compare(include_str!("golden/times.txt"), |got, wanted| got == wanted);
}

#[test]
fn numbers_are_written_as_postgresql_does() {
    compare(include_str!("golden/numbers.txt"), |got, wanted| got == wanted);
}

#[test]
fn times_are_read_as_postgresql_does() {
    compare(include_str!("golden/reads.txt"), |got, wanted| {
        // Dates lie in the years 0001 to 9999 here.
        let year = wanted.trim_start_matches('[').split('-').next().unwrap_or_default();
        let is_far = wanted.ends_with(" BC]") || wanted.starts_with('[') && year.len() > 4;
        got == wanted || is_far && got.contains("out of range")
    });
}

#[test]
fn numbers_are_read_as_postgresql_does() {
    compare(include_str!("golden/number_reads.txt"), |got, wanted| {
        let trimmed = |text: &str| match text.contains('.') {
            true => text.trim_end_matches(']').trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text.trim_end_matches(']').to_owned(),
        };
        // The scale is ten here, and the whole part has 28 digits.
        let places = wanted.trim_end_matches(']').split_once('.').map_or(0, |(_, places)| places.len());
        let is_far = wanted.starts_with('[') && (places > 10 || wanted.len() - places > 30);
        is_far || trimmed(got) == trimmed(wanted)
    });
}

#[test]
fn numbers_beyond_the_scale_are_rounded() {
    let read = |value, pattern| answer("to_number", &[(DataType::Text, Some(value)), (DataType::Text, Some(pattern))]);
    assert_eq!(read("1.123456789051", "9.999999999999"), "1.1234567891");
    assert!(read("12345678901234567890123456789", &"9".repeat(29)).starts_with("ERROR: numeric without a precision"));
}

#[test]
fn null_gives_null() {
    let text = |value| (DataType::Text, value);
    for (function, first) in [
        ("to_char", (DataType::Timestamp, Some("2024-03-09"))),
        ("to_char", (DataType::Integer, Some("1"))),
        ("to_date", text(Some("2024"))),
        ("to_timestamp", text(Some("2024"))),
        ("to_number", text(Some("2024"))),
    ] {
        assert_eq!(answer(function, &[first, text(None)]), "NULL");
        assert_eq!(answer(function, &[(first.0, None), text(Some("YYYY"))]), "NULL");
    }
}

/// The template is kept from call to call: another one, and one with an error, take its place.
#[test]
fn templates_take_turns() {
    let number = |pattern| answer("to_char", &[(DataType::Integer, Some("7")), (DataType::Text, Some(pattern))]);
    let date = |pattern: &str| {
        answer("to_char", &[(DataType::Timestamp, Some("2024-03-09")), (DataType::Text, Some(pattern))])
    };
    for _ in 0..2 {
        assert_eq!(number("009"), " 007");
        assert_eq!(number("9.9.9"), "ERROR: multiple decimal points");
        assert_eq!(number(""), "");
        assert_eq!(number("9.9.9"), "ERROR: multiple decimal points");
        assert_eq!(number("9"), " 7");
        assert_eq!(date("YYYY"), "2024");
        assert_eq!(date(&"YYYY".repeat(1000)), "2024".repeat(1000));
        assert_eq!(date("MM"), "03");
    }
}

#[test]
fn extreme_arguments_give_answers() {
    let long = "9".repeat(100_000);
    let decimal = format!("9D{long}");
    let exponent = format!("9D{long}EEEE");
    let shift = format!("9V{long}");
    let huge = "9".repeat((16 << 20) + 1);
    let text = |value| (DataType::Text, Some(value));
    for (data_type, value) in [
        (DataType::Integer, "-2147483648"),
        (DataType::BigInt, "-9223372036854775808"),
        (NUMERIC_DEFAULT, "-9999999999999999999999999999.9999999999"),
        (DataType::Numeric { precision: 38, scale: 38 }, "0.99999999999999999999999999999999999999"),
        (DataType::DoublePrecision, "-1.7976931348623157e308"),
        (DataType::DoublePrecision, "NaN"),
        (DataType::DoublePrecision, "5e-324"),
        (DataType::Real, "Infinity"),
    ] {
        for pattern in [&*long, &*decimal, &*exponent, &*shift, "RN", "9V9", "9EEEE", "TH", "é", "SG"] {
            assert!(answer("to_char", &[(data_type, Some(value)), text(pattern)]).len() <= 100_400);
        }
        assert!(answer("to_char", &[(data_type, Some(value)), text(&huge)]).starts_with("ERROR: a template of"));
    }
    for pattern in [&*long, &*decimal, &*shift, "V", "é9", "L", "TH"] {
        for value in [&*long, "é1é2", "", ".", "-.", "é"] {
            answer("to_number", &[text(value), text(pattern)]);
        }
    }
    for pattern in ["YYYY", "Y,YYY", "J", "FMSSSS", "CC YY", "IYYYIWID", "YYYYDDD", "TZHTZM", "MON", "RM", "é", "FXéMM"]
    {
        for value in [&*long, "é1é2", "", "-", "-1", "2147483647", "2147483647 2147483647", "1é", "2147483647,999"] {
            answer("to_date", &[text(value), text(pattern)]);
            answer("to_timestamp", &[text(value), text(pattern)]);
        }
    }
}
