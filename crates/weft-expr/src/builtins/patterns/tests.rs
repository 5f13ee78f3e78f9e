//! Answers of a PostgreSQL 15 server in the locale C.UTF-8, and bounds of time and space.
//!
//! A line of answers.tsv is a call and its answer: the function, its arguments, `=` and what it gave. `'` begins a
//! text, `#` an integer, `\0` is NULL.

use weft_format::DataType;

use super::charset::CharSet;
use super::charset::class;
use crate::builtins::testing::answer;

const ANSWERS: &str = include_str!("answers.tsv");

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(c) => c,
                None => panic!("a backslash ends {text}"),
            },
            c => c,
        });
    }
    out
}

#[test]
fn answers_are_those_of_postgresql() {
    let mut wrong = Vec::new();
    for line in ANSWERS.lines() {
        let mut fields: Vec<&str> = line.split('\t').collect();
        let expected = unescaped(fields.pop().and_then(|last| last.strip_prefix("= ")).expect("a line has an answer"));
        let texts: Vec<String> = fields[1..].iter().map(|field| unescaped(&field[1..])).collect();
        let args: Vec<(DataType, Option<&str>)> = fields[1..]
            .iter()
            .zip(&texts)
            .map(|(field, text)| match field.as_bytes()[0] {
                b'\'' => (DataType::Text, Some(text.as_str())),
                b'#' => (DataType::Integer, Some(text.as_str())),
                _ => (DataType::Text, None),
            })
            .collect();
        let got = answer(fields[0], &args);
        if got != expected {
            wrong.push(format!("{}\n    is {got:?}", line));
        }
    }
    let shown = wrong.len().min(40);
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong[..shown].join("\n"));
}

const TEXT: DataType = DataType::Text;

fn regexp(name: &str, text: &str, pattern: &str) -> String {
    answer(name, &[(TEXT, Some(text)), (TEXT, Some(pattern))])
}

#[test]
fn what_the_engine_cannot_run_is_refused() {
    for pattern in ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b"] {
        let error = "ERROR: lookahead and lookbehind constraints in regular expressions are not supported";
        assert_eq!(regexp("regexp_like", "ab", pattern), error, "{pattern}");
    }
    assert_eq!(
        regexp("regexp_like", "aa", r"(a)\1"),
        "ERROR: back references in regular expressions are not supported"
    );
}

// These take no time to speak of; if they did, nobody would wait for them.
#[test]
fn large_patterns_fail_at_once() {
    let many = "(a|".repeat(5000);
    let deep = "(".repeat(90) + "a{0,9}" + &"){0,9}".repeat(90);
    let bars = "(?:".repeat(9) + &"|".repeat(1000) + &"){255}".repeat(9);
    for pattern in [
        "(?:a{255}){255}",
        r"(?:\w{255}){200}",
        r"(?:\w{100}){100}",
        "(((a{0,100}){0,100}){0,100})",
        &many,
        &deep,
        &bars,
    ] {
        let error = "ERROR: invalid regular expression: regular expression is too complex";
        assert_eq!(regexp("regexp_like", "a", pattern), error, "{}", &pattern[..10]);
    }
}

#[test]
fn long_texts_take_time_by_their_length() {
    let long = "a".repeat(100_000);
    for pattern in
        ["(a*)*b", "(a|aa)*$", "((a*)(a*))*", "(a|b|ab)*(c|)", "(.*)(a+)(.*)", "(a{1,3}){0,20}", "(a*?){1,9}$"]
    {
        regexp("regexp_match", &long, pattern);
    }
}

#[test]
fn what_would_take_ages_fails() {
    let long = "a".repeat(200_000);
    let args = [(TEXT, Some(long.as_str())), (TEXT, Some("a|a.*z")), (TEXT, Some("x")), (TEXT, Some("g"))];
    assert_eq!(answer("regexp_replace", &args), "ERROR: matching the regular expression takes too long");
}

#[test]
fn results_are_bounded() {
    let long = "x".repeat(20_000);
    let template = r"\&".repeat(20_000);
    let args = [(TEXT, Some(long.as_str())), (TEXT, Some(".*")), (TEXT, Some(template.as_str()))];
    assert_eq!(answer("regexp_replace", &args), "ERROR: regexp_replace() would make more than 268435456 bytes of text");
}

#[test]
fn classes_have_as_many_characters_as_in_glibc() {
    let count = |set: &CharSet| set.ranges().iter().map(|(from, to)| to - from + 1).sum::<u32>();
    for (name, exact) in [("digit", 10), ("space", 21), ("blank", 2), ("xdigit", 22), ("cntrl", 65), ("ascii", 128)] {
        assert_eq!(class(name).map(count), Some(exact), "{name}");
    }
    // Unicode grows from version to version.
    for (name, about) in [
        ("alpha", 134_046),
        ("alnum", 134_056),
        ("upper", 1982),
        ("lower", 2475),
        ("punct", 148_093),
        ("graph", 282_149),
    ] {
        let got = class(name).map_or(0, count);
        assert!(got >= about && got < about + about / 10, "{name}: {got}");
    }
}

#[test]
fn sets_have_complements() {
    let set = CharSet::of([(0x61, 0x63), (0x5f, 0x5f), (0xd700, 0xe001), (0x62, 0x70)]);
    assert_eq!(set.ranges(), [(0x5f, 0x5f), (0x61, 0x70), (0xd700, 0xd7ff), (0xe000, 0xe001)]);
    assert_eq!(set.complement().complement(), set);
    assert_eq!(CharSet::of([]).complement().ranges(), [(0, 0xd7ff), (0xe000, 0x10_ffff)]);
}
