//! Differences that are known and have a reason: each is a line of docs/differences.md, or of its section on errors.

use crate::case::Case;
use crate::compare::{Answer, Row, shown};

/// A known difference.
pub struct Explained {
    /// In a few words.
    pub name: &'static str,
    /// Where docs/differences.md tells it.
    pub told: &'static str,
    /// Whether it explains why Weft's answer (the second) is another.
    pub applies: fn(&Case, &Answer, &Answer) -> bool,
}

/// Every known difference that random statements meet.
pub const EXPLAINED: &[Explained] = &[
    Explained {
        name: "varchar is text",
        told: "the type of a result column that is varchar",
        applies: |_, expected, found| {
            let both = types_of(expected).zip(types_of(found));
            rows_are_equal(&as_numbers(expected), &as_numbers(found))
                && both.is_some_and(|(expected, found)| {
                    expected.iter().zip(found).all(|pair| {
                        matches!(pair, (a, b) if a == b)
                            || matches!(pair, (&"varchar", &"text") | (&"_varchar", &"_text"))
                    })
                })
        },
    },
    Explained {
        name: "arrays of varchar are arrays of text",
        told: "the type of a result column that is varchar",
        applies: |_, expected, found| {
            let is_operator = |message: &str| {
                message.starts_with("operator does not exist: ")
                    && message.contains("character varying[]")
                    && message.contains("text[]")
            };
            matches!(expected, Answer::Error { code, message } if code == "42883" && is_operator(message))
                && matches!(found, Answer::Rows { .. })
        },
    },
    Explained {
        name: "parts of dates",
        told: "`extract` and `date_part`",
        applies: |case, expected, found| {
            let script = case.script();
            let is_part = script.contains("extract(") || script.contains("date_part(");
            let is_number = |name: &&str| matches!(*name, "int4" | "numeric" | "float8" | "int8");
            let both = types_of(expected).zip(types_of(found));
            is_part
                && rows_are_equal(&as_numbers(expected), &as_numbers(found))
                && both.is_some_and(|(expected, found)| {
                    let is_same = |(a, b): (&&str, &&str)| a == b || (is_number(a) && is_number(b));
                    expected.len() == found.len() && expected.iter().zip(found).all(is_same)
                })
        },
    },
    Explained {
        name: "constants that no row computes",
        told: "an error of a constant expression that no row needs",
        applies: |case, expected, found| {
            let is_error = matches!(expected, Answer::Error { code, .. } if code.starts_with("22") || code == "54000");
            let needs_none = |row: &Row| case.script().contains("NULL") && row.iter().any(Option::is_none);
            is_error && matches!(found, Answer::Rows { rows, .. } if rows.iter().all(needs_none))
        },
    },
    Explained {
        name: "conditions in another order",
        told: "an error of a condition beside another that is false",
        applies: |case, expected, found| {
            let is_error = matches!(found, Answer::Error { code, .. } if matches!(code.as_str(), "22003" | "22012"));
            is_error && matches!(expected, Answer::Rows { .. }) && case.script().contains(" AND ")
        },
    },
    Explained {
        name: "years before 1 and after 9999",
        told: "dates and timestamps before the year 1 and after the year 9999",
        applies: |case, expected, found| {
            let is_range = matches!(found, Answer::Error { code, .. } if matches!(code.as_str(), "22008" | "22003"));
            let script = case.script();
            let is_beyond = script.contains("9999-12-") || script.contains("0001-01-01");
            is_range && (is_beyond || is_far(&script) || cells(expected).any(is_far))
        },
    },
    Explained {
        name: "digits of quotients",
        told: "numeric without a precision",
        applies: |case, expected, found| {
            let is_near = |a: &Option<String>, b: &Option<String>| match (a, b) {
                (Some(a), Some(b)) if a != b => match (a.parse::<f64>(), b.parse::<f64>()) {
                    (Ok(a), Ok(b)) => (a - b).abs() <= 1e-4 * a.abs().max(1.0),
                    _ => false,
                },
                (a, b) => a == b,
            };
            let (Answer::Rows { types, rows, .. }, Answer::Rows { types: other, rows: made, .. }) = (expected, found)
            else {
                return false;
            };
            types == other
                && types.contains(&"numeric")
                && (case.script().contains(" / ") || case.script().contains("avg("))
                && is_each_near(rows, made, is_near)
        },
    },
];

/// Whether each row has another of its own that is near it; their orders count where values do.
fn is_each_near(rows: &[Row], others: &[Row], is_near: impl Fn(&Option<String>, &Option<String>) -> bool) -> bool {
    let near = |row: &Row, other: &Row| row.iter().zip(other).all(|(a, b)| is_near(a, b));
    let mut left: Vec<&Row> = others.iter().collect();
    rows.len() == others.len()
        && rows.iter().all(|row| match left.iter().position(|other| near(row, other)) {
            Some(place) => {
                left.remove(place);
                true
            }
            None => false,
        })
}

/// What explains a difference; none is a failure.
pub fn explanation(case: &Case, expected: &Answer, found: &Answer) -> Option<&'static Explained> {
    EXPLAINED.iter().find(|explained| (explained.applies)(case, expected, found))
}

fn types_of(answer: &Answer) -> Option<&[&'static str]> {
    match answer {
        Answer::Rows { types, .. } => Some(types),
        Answer::Error { .. } => None,
    }
}

fn rows_are_equal(a: &Answer, b: &Answer) -> bool {
    let (Answer::Rows { rows: a, tables: s, .. }, Answer::Rows { rows: b, tables: t, .. }) = (a, b) else {
        return false;
    };
    let sorted = |rows: &[Row]| {
        let mut rows = rows.to_vec();
        rows.sort();
        rows
    };
    sorted(a) == sorted(b) && s == t
}

/// An answer whose numbers have no zeros at their end.
fn as_numbers(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    if let Answer::Rows { rows, .. } = &mut answer {
        for text in rows.iter_mut().flatten().flatten().filter(|text| text.parse::<f64>().is_ok()) {
            *text = if text.parse() == Ok(0.0) { "0".to_owned() } else { shown("numeric", text) };
        }
    }
    answer
}

fn cells(answer: &Answer) -> impl Iterator<Item = &str> {
    let rows = match answer {
        Answer::Rows { rows, .. } => rows.as_slice(),
        Answer::Error { .. } => &[],
    };
    rows.iter().flatten().flatten().map(String::as_str)
}

/// Whether a text has a date before the year 1 or after the year 9999.
fn is_far(text: &str) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let has_long_year = bytes.windows(6).any(|part| part[..5].iter().all(is_digit) && part[5] == b'-');
    text.contains(" BC") || has_long_year
}
