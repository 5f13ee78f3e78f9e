//! Answers of a PostgreSQL 15 server in UTC, and bounds of time and space.
//!
//! A line of answers.tsv is a call and its answer: the function, its arguments (the document, the path, the variables,
//! whether it is silent), `=` and what it gave, rows with ` ; ` between them. A backslash is doubled, `\0` is NULL.

use weft_format::{DataType, Result, Value};

use super::canonical;
use crate::builtins::find;
use crate::routines::call;
use crate::style::Local;
use crate::text::{parse, print_as};

const ANSWERS: &str = include_str!("answers.tsv");
const TYPES: [DataType; 4] = [DataType::Jsonb, DataType::JsonPath, DataType::Jsonb, DataType::Boolean];

fn given(name: &str, args: &[String]) -> Result<String> {
    let local = Local::fixed();
    let types = &TYPES[..args.len()];
    let given: Vec<Option<DataType>> = types.iter().copied().map(Some).collect();
    let signature = find(name, &given).unwrap_or_else(|| panic!("no {name} of {given:?}"));
    let values: Vec<Value> =
        args.iter().zip(types).map(|(arg, data_type)| parse(arg, *data_type, local)).collect::<Result<_>>()?;
    Ok(match call(&signature, &values, local, &|| 0)? {
        Value::Null => "NULL".to_owned(),
        Value::Array(rows) => {
            let shown = |row: &Value| print_as(row.as_ref(), DataType::Jsonb, &local.style);
            rows.values(DataType::Jsonb).iter().map(shown).collect::<Vec<_>>().join(" ; ")
        }
        value => print_as(value.as_ref(), signature.result, &local.style),
    })
}

fn answer(name: &str, args: &[String]) -> String {
    given(name, args).unwrap_or_else(|error| format!("ERROR: {} {}", error.code().sqlstate(), error.message()))
}

fn unescaped(field: &str) -> String {
    field.replace("\\\\", "\u{1}").replace("\\n", "\n").replace("\\t", "\t").replace('\u{1}', "\\")
}

#[test]
fn answers_are_those_of_postgresql() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in ANSWERS.lines() {
        count += 1;
        let mut fields: Vec<String> = line.split('\t').map(unescaped).collect();
        let expected = fields.pop().and_then(|last| last.strip_prefix("= ").map(str::to_owned));
        let expected = expected.expect("a line has an answer");
        let got = answer(&fields[0], &fields[1..]);
        if got != expected {
            wrong.push(format!("{line}\n    is {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Paths, each with its canonical text or what is wrong with it.
const PRINTED: &str = include_str!("printed.tsv");

#[test]
fn paths_are_printed_as_postgresql_prints_them() {
    let mut wrong = Vec::new();
    for line in PRINTED.lines() {
        let (path, expected) = line.split_once('\t').expect("a line is a path and its text");
        let got = match canonical(path) {
            Ok(text) => {
                assert_eq!(canonical(&text).ok().as_ref(), Some(&text), "of {path}");
                text
            }
            Err(error) => format!("ERROR: {} {}", error.code().sqlstate(), error.message()),
        };
        if got != expected {
            wrong.push(format!("{path}\n    is {got}\n   not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), PRINTED.lines().count(), wrong.join("\n"));
}

fn query(target: &str, path: &str) -> String {
    answer("jsonb_path_query", &[target.to_owned(), path.to_owned()])
}

#[test]
fn deep_paths_and_documents_are_refused() {
    let nested = |count: usize| "(".repeat(count) + "$" + &")".repeat(count);
    assert_eq!(query("1", &nested(100)), "1");
    assert!(query("1", &nested(10_000)).starts_with("ERROR: 54001"));
    assert!(query("1", &("-".repeat(10_000) + "$")).starts_with("ERROR: 54001"));
    assert!(query("1", &("$".to_owned() + &".type()".repeat(10_000))).starts_with("ERROR: 54001"));
    assert!(query("1", &("$".to_owned() + &"[$".repeat(5000))).starts_with("ERROR: 54001"));
    assert!(query("1", &("$ ? ".to_owned() + &"(!".repeat(5000))).starts_with("ERROR: 54001"));
    // Each operator of a row stands in the parentheses of the next.
    let sums = |count: usize| "1".to_owned() + &" + 1".repeat(count);
    assert_eq!(query("1", &sums(390)), "391");
    assert!(query("1", &sums(20_000)).starts_with("ERROR: 54001"));
    let conditions = |count: usize| "$ == 2".to_owned() + &" || $ == 1".repeat(count);
    assert_eq!(query("1", &conditions(390)), "true");
    assert!(query("1", &conditions(20_000)).starts_with("ERROR: 54001"));
    let document = "[".repeat(512) + &"]".repeat(512);
    assert_eq!(query(&document, "$.**{511}"), "[]");
    assert_eq!(query(&document, "$.**{last}.**{last}"), "");
    let chain = "$".to_owned() + &"[0]".repeat(511);
    assert_eq!(query(&document, &chain), "[]");
}

#[test]
fn what_would_take_ages_fails() {
    let document = "[".to_owned() + &"[1, 2, 3], ".repeat(20_000) + "0]";
    let deep = "[".repeat(300) + &"]".repeat(300);
    for (document, path) in
        [(&document, "$[*] ? (@ == $[*])"), (&document, "$[*] ? ($.size() > 1)"), (&deep, "$.**.**.**.**.**.**")]
    {
        assert!(query(document, path).starts_with("ERROR: 54"), "{path}");
    }
    let long = "9".repeat(100_000);
    assert!(query(&long, "$ * $").starts_with("ERROR: 54000"));
    assert!(query(&long, "$ / 7").len() > 99_000);
}
