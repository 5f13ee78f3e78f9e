//! Sets of characters: what one step of a regular expression takes.
//!
//! ```text
//!   [a-c_]          0x5f-0x5f, 0x61-0x63
//!   [^a-c_]         0x00-0x5e, 0x60-0x60, 0x64-0x10ffff, without the surrogates, which are no characters
//!   [[:upper:]]     what glibc's towupper tables say of the locale C.UTF-8, by Unicode's properties
//! ```

use std::fmt::Write;
use std::sync::OnceLock;

use regex::Regex;

/// Characters as ranges, in order, apart from each other and without surrogates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
    ascii: u128,
}

const SURROGATES: (u32, u32) = (0xd800, 0xdfff);
const LAST: u32 = char::MAX as u32;

impl CharSet {
    /// The characters of any ranges; numbers that no character has are left out.
    pub(super) fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> CharSet {
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for (from, to) in ranges {
            parts.push((from, to.min(SURROGATES.0 - 1)));
            parts.push((from.max(SURROGATES.1 + 1), to.min(LAST)));
        }
        parts.retain(|(from, to)| from <= to);
        parts.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(parts.len());
        for (from, to) in parts {
            match merged.last_mut() {
                Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        let ascii = (0..128).filter(|code| is_in(&merged, *code)).fold(0, |bits, code| bits | 1 << code);
        CharSet { ranges: merged, ascii }
    }

    /// One character.
    pub(super) fn one(code: u32) -> CharSet {
        CharSet::of([(code, code)])
    }

    /// Every other character.
    pub(super) fn complement(&self) -> CharSet {
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for (from, to) in &self.ranges {
            if next < *from {
                gaps.push((next, from - 1));
            }
            next = to + 1;
        }
        gaps.push((next, LAST));
        CharSet::of(gaps.into_iter().filter(|(from, to)| from <= to))
    }

    /// The ranges.
    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Whether a character is in it.
    pub(super) fn contains(&self, c: char) -> bool {
        let code = u32::from(c);
        if code < 128 { (self.ascii >> code) & 1 == 1 } else { is_in(&self.ranges, code) }
    }

    /// Writes it as the `regex` crate reads it.
    pub(super) fn write(&self, out: &mut String) {
        let hex = |out: &mut String, code: u32| write!(out, "\\x{{{code:x}}}").expect("a String takes everything");
        match self.ranges[..] {
            [] => out.push_str("[a&&b]"),
            [(from, to)] if from == to => hex(out, from),
            _ => {
                out.push('[');
                for (from, to) in &self.ranges {
                    hex(out, *from);
                    if from < to {
                        out.push('-');
                        hex(out, *to);
                    }
                }
                out.push(']');
            }
        }
    }
}

fn is_in(ranges: &[(u32, u32)], code: u32) -> bool {
    let at = ranges.partition_point(|(_, to)| *to < code);
    ranges.get(at).is_some_and(|(from, _)| *from <= code)
}

/// The two cases of a character that a pattern without regard to case takes for it.
pub(super) fn cases(code: u32) -> [u32; 2] {
    let Some(c) = char::from_u32(code) else { return [code, code] };
    let single = |mut mapped: Box<dyn Iterator<Item = char>>| match (mapped.next(), mapped.next()) {
        (Some(one), None) => u32::from(one),
        _ => code,
    };
    match c {
        'İ' => [u32::from('i'), code],
        _ => [single(Box::new(c.to_lowercase())), single(Box::new(c.to_uppercase()))],
    }
}

/// No character at or above this has cases.
const CASES_END: u32 = 0x1_f000;

/// A range, and the cases of its characters.
pub(super) fn any_case(from: u32, to: u32) -> Vec<(u32, u32)> {
    let mut ranges = vec![(from, to)];
    for code in from..=to.min(CASES_END) {
        let others = cases(code).into_iter().filter(|other| *other < from || *other > to);
        ranges.extend(others.map(|other| (other, other)));
    }
    ranges
}

/// A class by its name between `[:` and `:]`.
pub(super) fn class(name: &str) -> Option<&'static CharSet> {
    let at = CLASSES.iter().position(|(known, _)| *known == name)?;
    Some(SETS[at].get_or_init(|| of_class(at)))
}

/// The classes in Unicode's properties. Digits are those of ASCII, other digits are letters, and what has a shape but
/// is no letter is punctuation: so glibc has it.
const CLASSES: [(&str, &str); 14] = [
    ("alnum", r"[\p{Alphabetic}\p{Nd}]"),
    ("alpha", r"[[\p{Alphabetic}\p{Nd}]--[0-9]]"),
    ("ascii", r"[\x00-\x7f]"),
    ("blank", r"[\t ]"),
    ("cntrl", r"\p{Cc}"),
    ("digit", r"[0-9]"),
    ("graph", r"[^\p{Cn}\p{Cc}\s]"),
    ("lower", r"[\p{Lowercase}\x{1c5}\x{1c8}\x{1cb}\x{1f2}]"),
    ("print", r"[^\p{Cn}\p{Cc}\p{Zl}\p{Zp}]"),
    ("punct", r"[^\p{Cn}\p{Cc}\s\p{Alphabetic}\p{Nd}]"),
    ("space", r"[\s--[\x{85}\x{a0}\x{2007}\x{202f}]]"),
    ("upper", r"[\p{Uppercase}\p{Lt}]"),
    ("xdigit", r"[0-9a-fA-F]"),
    ("word", r"[\p{Alphabetic}\p{Nd}_]"),
];

/// Spaces that break no line: they have a shape, says glibc.
const SHAPED_SPACES: [(u32, u32); 3] = [(0xa0, 0xa0), (0x2007, 0x2007), (0x202f, 0x202f)];

static SETS: [OnceLock<CharSet>; CLASSES.len()] = [const { OnceLock::new() }; CLASSES.len()];

/// The characters of a class: all of Unicode is read once with it.
fn of_class(at: usize) -> CharSet {
    let (name, class) = CLASSES[at];
    let all: String = ('\0'..=char::MAX).collect();
    let runs = Regex::new(&format!("{class}+")).expect("the classes are fixed and tested");
    let ends = |run: &str| Some((u32::from(run.chars().next()?), u32::from(run.chars().next_back()?)));
    let shaped = SHAPED_SPACES.into_iter().filter(|_| matches!(name, "graph" | "punct"));
    CharSet::of(runs.find_iter(&all).filter_map(|run| ends(run.as_str())).chain(shaped))
}
