//! Answers of a PostgreSQL 15 server in the locale C.UTF-8, and bounds of time and space.
//!
//! A line of answers.tsv is a call and its answer: the function, its arguments, `=` and what it gave. `'` begins a
//! text, `#` an integer, `\0` is NULL.

use weft_format::DataType;

use super::charset::CharSet;
use super::charset::class;
use super::compiled::Pattern;
use super::options::Options;
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

/// A pattern of single characters with quantifiers and groups.
fn single_pattern(random: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
    let mut pattern = String::new();
    for _ in 0..1 + random(4) {
        let atoms = ["a", "b", "[ab]", "[^a]", ".", "c", "[bc]", "\\w"];
        match random(9) {
            0 if depth < 3 => pattern += &format!("({})", single_pattern(random, depth + 1)),
            1 if depth < 3 => pattern += &format!("(?:{})", single_pattern(random, depth + 1)),
            2 => pattern += ["^", "$", "\\y", "\\Y", "\\m", "\\M"][random(6)],
            _ => {
                pattern += atoms[random(atoms.len())];
                pattern += ["", "", "?", "*", "+", "{2}", "{1,2}", "{0,3}", "{2,}"][random(9)];
            }
        }
    }
    pattern
}

#[test]
fn single_characters_are_matched_as_by_sweeps() {
    let mut state = 20_261_126_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..1000 {
        let pattern = single_pattern(&mut random, 0);
        let (fast, swept) = (Pattern::of(&pattern, Options::ADVANCED).unwrap(), Pattern::swept(&pattern).unwrap());
        assert!(fast.is_single(), "{pattern}");
        for _ in 0..6 {
            let text: String = (0..random(9)).map(|_| ['a', 'b', 'c', ' ', 'a', 'b'][random(6)]).collect();
            let (mut a, mut b) = (fast.search(&text), swept.search(&text));
            let mut from = Some(0);
            while let Some(at) = from {
                let found = a.next(at).unwrap();
                assert_eq!(found, b.next(at).unwrap(), "{pattern} in {text:?} from {at}");
                let Some(found) = found else { break };
                assert_eq!(a.groups(found).unwrap(), b.groups(found).unwrap(), "{pattern} in {text:?} at {found:?}");
                from = a.behind(found);
            }
        }
    }
}

#[test]
fn which_patterns_are_single_characters() {
    for (pattern, is_single) in [
        ("[0-9]+", true),
        ("^(a+)(?:b*c)$", true),
        ("a{0}b", true),
        ("a|b", false),
        ("a+?b", false),
        ("(ab)?", false),
        ("(ab)*", false),
        ("(a|b)c", false),
        ("(?:a+?)b", false),
    ] {
        assert_eq!(Pattern::of(pattern, Options::ADVANCED).unwrap().is_single(), is_single, "{pattern}");
    }
}
