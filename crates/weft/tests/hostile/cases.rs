//! The listings of `tests/hostile`: cases with a name, what is expected, directives and a content.
//!
//! ```text
//!   === a sum of three            Case { name: "a sum of three", expected: ["ok"], directives: [("value", "3")],
//!   ! ok                                 content: b"SELECT 1 + 1 + 1" }
//!   % value 3
//!   SELECT 1@{2| + 1}
//! ```

use std::path::{Path, PathBuf};

/// One case of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    /// Unique in its listing.
    pub(crate) name: String,
    /// The words behind `!`.
    pub(crate) expected: Vec<String>,
    /// The lines behind `%`: first word and the rest.
    pub(crate) directives: Vec<(String, String)>,
    /// What follows, macros expanded.
    pub(crate) content: Vec<u8>,
    /// Whether `@{cut}` ends it.
    pub(crate) content_is_cut: bool,
}

impl Case {
    /// What a directive says.
    pub(crate) fn directive(&self, name: &str) -> Option<&str> {
        self.directives.iter().find(|(word, _)| word == name).map(|(_, rest)| rest.as_str())
    }

    /// Whether a word is expected.
    pub(crate) fn expects(&self, word: &str) -> bool {
        self.expected.iter().any(|expected| expected == word)
    }

    /// The content as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.content.clone()).expect("statements are UTF-8")
    }
}

/// The folder of the listings.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hostile")
}

/// The cases of a listing; `dir` stands for `@{dir}`. `WEFT_HOSTILE=words` takes only those whose names hold the words.
pub(crate) fn read(listing: &str, dir: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(folder().join(listing)).unwrap();
    let cases: Vec<Case> = text.split("\n=== ").skip(1).map(|part| parse(part, dir)).collect();
    for (index, case) in cases.iter().enumerate() {
        assert!(!case.expected.is_empty(), "{:?} of {listing} expects nothing", case.name);
        assert!(cases[..index].iter().all(|other| other.name != case.name), "{:?} comes twice in {listing}", case.name);
    }
    assert!(cases.len() >= 100, "{listing} has {} cases, 100 were promised", cases.len());
    let only = std::env::var("WEFT_HOSTILE").unwrap_or_default();
    cases.into_iter().filter(|case| case.name.contains(&only)).collect()
}

fn parse(part: &str, dir: &Path) -> Case {
    let (name, mut rest) = part.split_once('\n').expect("a case has more than its name");
    let mut case = Case { name: name.into(), ..Case::default() };
    while let Some((mark @ ('!' | '%'), line)) = rest.chars().next().zip(rest.lines().next()) {
        rest = &rest[(line.len() + 1).min(rest.len())..];
        let line = line[1..].trim();
        match mark {
            '!' => case.expected.extend(line.split(' ').map(String::from)),
            _ => {
                let (word, value) = line.split_once(' ').unwrap_or((line, ""));
                let value = String::from_utf8(expand(value, dir)).expect("directives are UTF-8");
                case.directives.push((word.into(), value));
            }
        }
    }
    // One empty line parts the cases.
    let content = rest.strip_suffix('\n').unwrap_or(rest);
    case.content_is_cut = content.ends_with("@{cut}");
    case.content = expand(content, dir);
    case
}

/// Expands the macros `@{...}`; see the head of a listing.
fn expand(text: &str, dir: &Path) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("@{") {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let length = closing(&rest[at..]);
        let inner = &rest[at + 2..at + length - 1];
        rest = &rest[at + length..];
        match inner.split_once('|') {
            Some((count, body)) if count.parse::<usize>().is_ok() => {
                repeat(&mut out, count.parse().unwrap(), &expand(body, dir));
            }
            _ if inner == "dir" => out.extend_from_slice(dir.to_str().unwrap().as_bytes()),
            _ if inner == "cut" => {}
            _ if inner.starts_with('x') => out.push(u8::from_str_radix(&inner[1..], 16).unwrap()),
            _ if inner.starts_with('u') => {
                let c = char::from_u32(u32::from_str_radix(&inner[1..], 16).unwrap()).unwrap();
                out.extend_from_slice(c.to_string().as_bytes());
            }
            _ => panic!("@{{{inner}}} is no macro"),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Bytes of the macro that the text begins with; macros nest.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        match &bytes[at..] {
            [b'@', b'{', ..] => {
                depth += 1;
                at += 1;
            }
            [b'}', ..] => depth -= 1,
            [] => panic!("a macro does not close: {text:.40}"),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
}

fn repeat(out: &mut Vec<u8>, count: usize, body: &[u8]) {
    let pieces: Vec<&[u8]> = body.split(|byte| *byte == b'#').collect();
    for number in 0..count {
        out.extend_from_slice(pieces[0]);
        for piece in &pieces[1..] {
            out.extend_from_slice(number.to_string().as_bytes());
            out.extend_from_slice(piece);
        }
    }
}
