//! Whether two answers are one.
//!
//! 1. Rows are compared as a multiset, and as a sequence where the statement orders them totally.
//! 2. Values are compared as text, numerics without the zeros at their end: a numeric without a precision is shown
//!    without them (docs/differences.md).
//! 3. Of errors the SQLSTATE counts. An error of class XX, or a panic, is never right.

use crate::case::{Case, Kind};

/// A row as text; none is NULL.
pub type Row = Vec<Option<String>>;

/// What an engine said.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Rows, and those of the tables behind a change.
    Rows {
        /// The types of the columns.
        types: Vec<&'static str>,
        /// The rows.
        rows: Vec<Row>,
        /// What the tables have afterwards, in order of `id`; of changes only.
        tables: Vec<Vec<Row>>,
    },
    /// An error.
    Error {
        /// Its SQLSTATE.
        code: String,
        /// Its message.
        message: String,
    },
}

/// What a comparison finds.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The same rows.
    Equal,
    /// The same error.
    EqualError,
    /// Weft says that it cannot (0A000), and why.
    Refused(String),
    /// One of them took too long.
    Slow,
    /// Another answer, in words that equal ones share.
    Differs(String),
}

/// Compares Weft's answer with PostgreSQL's.
pub fn compare(case: &Case, expected: &Answer, found: &Answer) -> Verdict {
    match (expected, found) {
        (Answer::Error { code, .. }, _) if code == "57014" => Verdict::Slow,
        (_, Answer::Error { code, message }) if code == "57014" => Verdict::Differs(format!("slow: {message}")),
        (_, Answer::Error { code, message }) if code == "0A000" => Verdict::Refused(summary(message)),
        (_, Answer::Error { code, message }) if lacks_function(code, message) && !is_lacking(expected) => {
            Verdict::Refused("a function that is not there".into())
        }
        (_, Answer::Error { code, message }) if code.starts_with("XX") => {
            Verdict::Differs(format!("{code} {}", summary(message)))
        }
        (Answer::Error { code: expected, message }, Answer::Error { code, message: other }) => {
            if code == expected || (case.kind == Kind::Failing && code[..2] == expected[..2]) {
                return Verdict::EqualError;
            }
            let (message, other) = (summary(message), summary(other));
            Verdict::Differs(format!("another error: {code} {other}, expected {expected} {message}"))
        }
        (Answer::Error { code, message }, Answer::Rows { .. }) => {
            Verdict::Differs(format!("an answer, expected {code} {}", summary(message)))
        }
        (Answer::Rows { .. }, Answer::Error { code, message }) => {
            Verdict::Differs(format!("{code} {}", summary(message)))
        }
        (Answer::Rows { types, rows, tables }, Answer::Rows { types: t, rows: r, tables: after }) => {
            if types != t {
                let mut pairs = types.iter().zip(t).filter(|(expected, found)| expected != found);
                let (expected, found) = pairs.next().unwrap_or((&"fewer columns", &"more"));
                return Verdict::Differs(format!("types {found}, expected {expected}"));
            }
            let ordered = case.statement.is_ordered();
            match () {
                () if !same(types, rows, r, false) => Verdict::Differs("other rows".into()),
                () if ordered && !same(types, rows, r, true) => Verdict::Differs("another order".into()),
                () if tables.len() != after.len() => Verdict::Differs("tables are missing".into()),
                () if tables.iter().zip(after).any(|(a, b)| a != b) => Verdict::Differs("other rows afterwards".into()),
                () => Verdict::Equal,
            }
        }
    }
}

/// Whether PostgreSQL has no function either.
fn is_lacking(expected: &Answer) -> bool {
    matches!(expected, Answer::Error { code, .. } if code == "42883")
}

/// Whether Weft says that it has no function of a name.
fn lacks_function(code: &str, message: &str) -> bool {
    code == "42883"
        && message.starts_with("function ")
        && message.ends_with(" does not exist")
        && !message.contains('(')
}

fn same(types: &[&str], expected: &[Row], found: &[Row], ordered: bool) -> bool {
    let shown = |rows: &[Row]| {
        let row = |row: &Row| -> Row {
            row.iter().zip(types).map(|(value, data_type)| value.as_ref().map(|text| shown(data_type, text))).collect()
        };
        let mut rows: Vec<Row> = rows.iter().map(row).collect();
        if !ordered {
            rows.sort();
        }
        rows
    };
    expected.len() == found.len() && shown(expected) == shown(found)
}

/// A value as it is compared.
pub fn shown(data_type: &str, text: &str) -> String {
    if data_type == "numeric" && text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    // A float is what its text reads as; -0 is 0 to DISTINCT and GROUP BY, and either is shown.
    match (data_type, text.parse::<f64>()) {
        ("float8", Ok(value)) => format!("{:?}", value + 0.0),
        ("float4", Ok(value)) => format!("{:?}", value as f32 + 0.0),
        _ => text.to_owned(),
    }
}

/// A message without what differs from one statement to the next: numbers, names with numbers, quoted text.
pub fn summary(message: &str) -> String {
    let mut summary = String::new();
    let mut quote = None;
    let mut word = String::new();
    for letter in message.lines().next().unwrap_or_default().chars().chain([' ']) {
        if let Some(end) = quote {
            if letter == end {
                quote = None;
                summary.push('…');
                summary.push(letter);
            }
        } else if letter.is_alphanumeric() || letter == '_' || letter == '.' {
            word.push(letter);
        } else {
            let numbered =
                word.chars().any(|c| c.is_ascii_digit()) && !word.starts_with("Int") && !word.starts_with("Dec");
            summary.push_str(if numbered { "#" } else { &word });
            word.clear();
            if matches!(letter, '"' | '\'' | '`') && !summary.ends_with(char::is_alphanumeric) {
                quote = Some(letter);
            }
            summary.push(letter);
        }
    }
    summary.chars().take(140).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts;
    use crate::tree::{Node, Role};
    use crate::types::Type;

    fn case(ordered: bool) -> Case {
        let order = if ordered { Node::new(Role::Order, parts![" ORDER BY 1"]) } else { Node::nothing() };
        let statement = Node::new(Role::Query(vec![Type::Int4]), parts!["SELECT 1", order]);
        Case { tables: Vec::new(), kind: Kind::Query, columns: false, statement }
    }

    fn rows(data_type: &'static str, values: &[&str]) -> Answer {
        let rows = values.iter().map(|value| vec![(*value != "-").then(|| (*value).to_owned())]).collect();
        Answer::Rows { types: vec![data_type], rows, tables: Vec::new() }
    }

    fn error(code: &str) -> Answer {
        Answer::Error { code: code.into(), message: "column \"x\" of t7".into() }
    }

    #[test]
    fn rows_are_a_multiset_unless_they_are_ordered() {
        let (a, b) = (rows("int4", &["1", "-", "1"]), rows("int4", &["1", "1", "-"]));
        assert_eq!(compare(&case(false), &a, &b), Verdict::Equal);
        assert_eq!(compare(&case(true), &a, &b), Verdict::Differs("another order".into()));
        let fewer = rows("int4", &["1", "-"]);
        assert_eq!(compare(&case(false), &a, &fewer), Verdict::Differs("other rows".into()));
        let wider = rows("int8", &["1", "1", "-"]);
        assert_eq!(compare(&case(false), &a, &wider), Verdict::Differs("types int8, expected int4".into()));
    }

    #[test]
    fn zeros_count_in_texts_only() {
        let compare = |data_type, a, b| compare(&case(false), &rows(data_type, &[a]), &rows(data_type, &[b]));
        assert_eq!(compare("numeric", "1.500", "1.5"), Verdict::Equal);
        assert_eq!(compare("numeric", "100", "1"), Verdict::Differs("other rows".into()));
        assert_eq!(compare("text", "1.50", "1.5"), Verdict::Differs("other rows".into()));
    }

    #[test]
    fn errors_are_compared_by_code_and_refusals_told_apart() {
        assert_eq!(compare(&case(false), &error("22012"), &error("22012")), Verdict::EqualError);
        assert!(matches!(compare(&case(false), &error("22012"), &error("22003")), Verdict::Differs(_)));
        assert_eq!(
            compare(&case(false), &rows("int4", &[]), &error("0A000")),
            Verdict::Refused("column \"…\" of #".into())
        );
        assert!(matches!(compare(&case(false), &error("XX000"), &error("XX000")), Verdict::Differs(_)));
        assert!(matches!(compare(&case(false), &error("42803"), &rows("int4", &["1"])), Verdict::Differs(_)));
    }
}
