//! Patterns ready to be searched for, and the ones of late.
//!
//! ```text
//!   a|ab over 'xab'      the regex crate says that a match begins at 1; the longest of those that begin there ends
//!                        at 3 (sweep), where the crate itself would take the first branch
//! ```
//!
//! 1. Whether there is a match, and where the leftmost begins, does not depend on what parts prefer: the `regex` crate
//!    says it. Where it ends, and what groups take, does: [`Sweep`] and [`dissect`](fn@dissect) say it.
//! 2. The crate's words have marks and joiners that PostgreSQL's have not: in texts beyond ASCII, a pattern that asks
//!    for the edges of words is searched for by [`Sweep`] alone.
//! 3. Threads share no patterns: a cache belongs to one.
//! 4. All quantifiers are written as those that take little: the crate then reads no further than to where it knows
//!    that there is a match, and what it says of the beginning is the same.

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use weft_format::Result;

use super::are::{Alternation, Atom, Named, SHORTER, parse};
use super::dissect::{Groups, dissect};
use super::options::{Options, too_complex};
use super::program::Program;
use super::sweep::{Places, Sweep};
use super::tokens::Assertion;

/// The most bytes of what the `regex` crate makes of a pattern.
const REGEX_BYTES_MAX: usize = 4 << 20;

/// How many groups, repetitions, branches and pieces the crate takes within each other; the parser bounds the groups.
const NEST_MAX: u32 = 1000;

/// The longest pattern, bytes: what is made of one is bounded before it is made.
const PATTERN_BYTES_MAX: usize = 32 << 10;

/// How many patterns a thread keeps, and the longest of them.
const CACHED_MAX: usize = 32;
const CACHED_BYTES_MAX: usize = 1 << 10;

/// A pattern ready to be searched for.
pub(super) struct Pattern {
    regex: Regex,
    program: Program,
    has_words: bool,
}

type Cached = (String, Options, Rc<Pattern>);

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

impl Pattern {
    /// A pattern, of the cache if it is there.
    pub(super) fn of(pattern: &str, options: Options) -> Result<Rc<Pattern>> {
        let cached = CACHE.with_borrow_mut(|cache| {
            let at = cache.iter().position(|(text, with, _)| *with == options && text == pattern)?;
            cache[..=at].rotate_right(1);
            Some(Rc::clone(&cache[0].2))
        });
        if let Some(cached) = cached {
            return Ok(cached);
        }
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(too_complex());
        }
        let made = Rc::new(Pattern::new(pattern, options)?);
        if pattern.len() > CACHED_BYTES_MAX {
            return Ok(made);
        }
        CACHE.with_borrow_mut(|cache| {
            cache.truncate(CACHED_MAX - 1);
            cache.insert(0, (pattern.to_owned(), options, Rc::clone(&made)));
        });
        Ok(made)
    }

    fn new(pattern: &str, options: Options) -> Result<Pattern> {
        let parsed = parse(pattern, options)?;
        let mut text = String::new();
        let mut has_words = false;
        write_alternation(&mut text, &parsed.all, &parsed.sets, &mut has_words);
        let program = Program::new(parsed)?;
        let regex = RegexBuilder::new(&text).size_limit(REGEX_BYTES_MAX).nest_limit(NEST_MAX).build();
        Ok(Pattern { regex: regex.map_err(|_| too_complex())?, program, has_words })
    }

    /// How many groups it keeps.
    pub(super) fn groups(&self) -> usize {
        self.program.groups
    }

    /// A search for it in a text.
    pub(super) fn search<'a>(&'a self, text: &'a str) -> Search<'a> {
        Search { pattern: self, text, sweep: None, begins: None }
    }
}

/// A search for a pattern in a text.
pub(super) struct Search<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    sweep: Option<Sweep<'a>>,
    begins: Option<Places>,
}

impl<'a> Search<'a> {
    fn sweep(&mut self) -> &mut Sweep<'a> {
        let (pattern, text) = (self.pattern, self.text);
        self.sweep.get_or_insert_with(|| Sweep::new(&pattern.program, text))
    }

    /// Whether there is a match.
    pub(super) fn is_match(&mut self) -> Result<bool> {
        if self.goes_alone() { Ok(self.begin(0)?.is_some()) } else { Ok(self.pattern.regex.is_match(self.text)) }
    }

    /// The first match that begins at a place or behind it.
    pub(super) fn next(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        let Some(begin) = self.begin(from)? else { return Ok(None) };
        let pattern = self.pattern;
        let (root, to) = (&pattern.program.root, self.text.len());
        let end = self.sweep().end(root.part, (begin, to), root.flags & SHORTER != 0, |_| true)?;
        debug_assert!(end.is_some(), "the regex crate and the states agree on where a match begins");
        Ok(end.map(|end| (begin, end)))
    }

    /// Whether the `regex` crate is not asked (compiled 2).
    fn goes_alone(&self) -> bool {
        self.pattern.has_words && !self.text.is_ascii()
    }

    fn begin(&mut self, from: usize) -> Result<Option<usize>> {
        if !self.goes_alone() {
            return Ok(self.pattern.regex.find_at(self.text, from).map(|found| found.start()));
        }
        if self.begins.is_none() {
            let (part, to) = (self.pattern.program.root.part, self.text.len());
            self.begins = Some(self.sweep().begins(part, (0, to), false, |_| true)?);
        }
        Ok(self.begins.as_ref().and_then(|begins| begins.first_from(from)))
    }

    /// What the groups took of a match.
    pub(super) fn groups(&mut self, found: (usize, usize)) -> Result<Groups> {
        let mut groups = vec![None; self.pattern.groups()];
        if !groups.is_empty() {
            let pattern = self.pattern;
            dissect(self.sweep(), &pattern.program.root, found, &mut groups)?;
        }
        Ok(groups)
    }

    /// Where the search goes on behind a match; None when that was at the end.
    pub(super) fn behind(&self, (begin, end): (usize, usize)) -> Option<usize> {
        if begin < end {
            return Some(end);
        }
        self.text[end..].chars().next().map(|c| end + c.len_utf8())
    }
}

/// Writes branches as the `regex` crate reads them.
fn write_alternation(out: &mut String, all: &Alternation, sets: &[Named], has_words: &mut bool) {
    for (at, branch) in all.branches.iter().enumerate() {
        if at > 0 {
            out.push('|');
        }
        for piece in &branch.pieces {
            if piece.max == Some(0) {
                continue;
            }
            write_atom(out, &piece.atom, sets, has_words);
            let written = match (piece.min, piece.max) {
                (1, Some(1)) => Ok(()),
                (min, None) => write!(out, "{{{min},}}?"),
                (min, Some(max)) => write!(out, "{{{min},{max}}}?"),
            };
            written.expect("a String takes everything");
        }
    }
}

fn write_atom(out: &mut String, atom: &Atom, sets: &[Named], has_words: &mut bool) {
    match atom {
        Atom::Set(set) => match sets[*set].written {
            Some(written) => out.push_str(written),
            None => sets[*set].set.write(out),
        },
        Atom::Group(_, inner) => {
            out.push_str("(?:");
            write_alternation(out, inner, sets, has_words);
            out.push(')');
        }
        Atom::Assert(assertion) => {
            let (written, is_word) = match assertion {
                Assertion::TextStart => (r"\A", false),
                Assertion::TextEnd => (r"\z", false),
                Assertion::LineStart => ("(?m:^)", false),
                Assertion::LineEnd => ("(?m:$)", false),
                Assertion::WordStart => (r"\b{start}", true),
                Assertion::WordEnd => (r"\b{end}", true),
                Assertion::WordEdge => (r"\b", true),
                Assertion::NoWordEdge => (r"\B", true),
            };
            *has_words |= is_word;
            out.push_str(written);
        }
    }
}
