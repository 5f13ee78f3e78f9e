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
//! 5. But for a pattern that is single characters one after the other, each as often as it can be, with groups or not
//!    ([`is_single`]): there the first way of the crate, which takes as much as it can from the left, is the longest,
//!    and what its groups take is what PostgreSQL's take. For of two ways to match, the one that is further behind in
//!    the pattern where they part can go on as the other one does once that one is behind; so the way that is furthest
//!    behind at each character is as long as any. The crate then says all.

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use regex::{CaptureLocations, Regex, RegexBuilder};
use weft_format::Result;

use super::are::{Alternation, Atom, Named, SHORTER, parse};
use super::dissect::{Groups, dissect};
use super::options::{Options, too_complex};
use super::program::Program;
use super::sweep::{Places, States, Sweep};
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
    /// Whether the crate says all of a match (compiled 5).
    is_single: bool,
    /// Where the crate's groups are, and the states of sweeps: for the next search.
    places: RefCell<CaptureLocations>,
    states: RefCell<Option<(States, States)>>,
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
        let is_single = is_single(&parsed.all);
        let mut writer = Writer { out: String::new(), sets: &parsed.sets, has_words: false, is_single };
        writer.alternation(&parsed.all);
        let (text, has_words) = (writer.out, writer.has_words);
        let program = Program::new(parsed)?;
        let regex = RegexBuilder::new(&text).size_limit(REGEX_BYTES_MAX).nest_limit(NEST_MAX).build();
        let regex = regex.map_err(|_| too_complex())?;
        let places = RefCell::new(regex.capture_locations());
        Ok(Pattern { regex, program, has_words, is_single, places, states: RefCell::default() })
    }

    /// The same, with sweeps for all but the beginning.
    #[cfg(test)]
    pub(super) fn swept(pattern: &str) -> Result<Pattern> {
        Ok(Pattern { is_single: false, ..Pattern::new(pattern, Options::ADVANCED)? })
    }

    /// Whether the crate says all of a match.
    #[cfg(test)]
    pub(super) fn is_single(&self) -> bool {
        self.is_single
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
        self.sweep.get_or_insert_with(|| Sweep::new(&pattern.program, text, pattern.states.take()))
    }

    /// Whether there is a match.
    pub(super) fn is_match(&mut self) -> Result<bool> {
        if self.goes_alone() { Ok(self.begin(0)?.is_some()) } else { Ok(self.pattern.regex.is_match(self.text)) }
    }

    /// The first match that begins at a place or behind it.
    pub(super) fn next(&mut self, from: usize) -> Result<Option<(usize, usize)>> {
        if self.pattern.is_single && !self.goes_alone() {
            return Ok(self.pattern.regex.find_at(self.text, from).map(|found| (found.start(), found.end())));
        }
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
        if self.pattern.is_single && !self.goes_alone() {
            let mut places = self.pattern.places.borrow_mut();
            self.pattern.regex.captures_read_at(&mut places, self.text, found.0);
            for (at, group) in groups.iter_mut().enumerate() {
                *group = places.get(at + 1);
            }
        } else if !groups.is_empty() {
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

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if let Some(sweep) = self.sweep.take() {
            self.pattern.states.replace(Some(sweep.into_states()));
        }
    }
}

/// Whether a pattern is single characters one after the other, as often as they can be, and groups of such that stand
/// once.
fn is_single(all: &Alternation) -> bool {
    let [branch] = &all.branches[..] else { return false };
    branch.pieces.iter().all(|piece| match &piece.atom {
        Atom::Set(_) => piece.prefers != SHORTER,
        Atom::Assert(_) => (piece.min, piece.max) == (1, Some(1)),
        Atom::Group(_, inner) => (piece.min, piece.max) == (1, Some(1)) && piece.prefers != SHORTER && is_single(inner),
    })
}

/// Writes a pattern as the `regex` crate reads it.
struct Writer<'a> {
    out: String,
    sets: &'a [Named],
    has_words: bool,
    is_single: bool,
}

impl Writer<'_> {
    fn alternation(&mut self, all: &Alternation) {
        for (at, branch) in all.branches.iter().enumerate() {
            if at > 0 {
                self.out.push('|');
            }
            for piece in &branch.pieces {
                if piece.max == Some(0) {
                    continue;
                }
                self.atom(&piece.atom);
                let prefers = if self.is_single { "" } else { "?" };
                let written = match (piece.min, piece.max) {
                    (1, Some(1)) => Ok(()),
                    (min, None) => write!(self.out, "{{{min},}}{prefers}"),
                    (min, Some(max)) => write!(self.out, "{{{min},{max}}}{prefers}"),
                };
                written.expect("a String takes everything");
            }
        }
    }

    fn atom(&mut self, atom: &Atom) {
        match atom {
            Atom::Set(set) => match self.sets[*set].written {
                Some(written) => self.out.push_str(written),
                None => self.sets[*set].set.write(&mut self.out),
            },
            Atom::Group(number, inner) => {
                self.out.push_str(if self.is_single && number.is_some() { "(" } else { "(?:" });
                self.alternation(inner);
                self.out.push(')');
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
                self.has_words |= is_word;
                self.out.push_str(written);
            }
        }
    }
}
