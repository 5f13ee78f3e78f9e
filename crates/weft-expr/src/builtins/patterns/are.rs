//! A pattern as a tree, and what PostgreSQL's rules of preference say of each part.
//!
//! ```text
//!   a*(b|c+?)d     branch: a* LONGER, then the group, which captures and is MIXED, then d
//!                  segments: [a*] [(b|c+?)] [d]      what lies in a segment is found as one (dissect)
//! ```
//!
//! 1. A branch prefers what its first part with a preference prefers; more than one branch prefers the longest.
//! 2. A part that captures, or whose parts' preferences clash, is a segment of its own; what is between two of them is
//!    one segment, the longest or shortest as a whole.
//!
//! Source: PostgreSQL's documentation, sections 9.7.3.1 to 9.7.3.7, and the order of decisions in its regcomp.c.

use std::ops::Range;

use weft_format::{Code, Error, Result};

use super::brackets;
use super::charset::{CharSet, cases, class};
use super::options::{Options, invalid, too_complex};
use super::tokens::{Assertion, Token, Tokens};

/// Prefers the longest.
pub(super) const LONGER: u8 = 1;
/// Prefers the shortest.
pub(super) const SHORTER: u8 = 2;
/// Has parts of both kinds.
pub(super) const MIXED: u8 = 4;
/// Has a group that is kept.
pub(super) const CAPTURES: u8 = 8;

const PREFERENCE: u8 = LONGER | SHORTER;

/// The most repetitions of a quantifier.
const REPEATS_MAX: u32 = 255;

/// So many sets of characters are looked through for one that is there.
const SETS_COMPARED: usize = 16;

/// The most groups in each other.
const DEPTH_MAX: u32 = 100;

/// Branches between bars.
pub(super) struct Alternation {
    pub(super) branches: Vec<Branch>,
    pub(super) flags: u8,
}

/// Pieces one after the other.
pub(super) struct Branch {
    pub(super) pieces: Vec<Piece>,
    pub(super) segments: Vec<Segment>,
    pub(super) flags: u8,
}

/// Pieces that are found as one, or one piece that has parts to find.
pub(super) struct Segment {
    pub(super) pieces: Range<usize>,
    pub(super) flags: u8,
    /// Whether it is one piece that has parts to find, or that clashes with what is before it.
    pub(super) is_atom: bool,
}

/// An atom and how often it stands.
pub(super) struct Piece {
    pub(super) atom: Atom,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    /// What its quantifier prefers, if it says.
    pub(super) prefers: u8,
}

/// What a quantifier may follow, and what must hold between characters.
pub(super) enum Atom {
    /// A character of a set, by the set's number.
    Set(usize),
    Assert(Assertion),
    /// A group, with its number if it is kept.
    Group(Option<usize>, Alternation),
}

/// A pattern.
pub(super) struct Parsed {
    pub(super) all: Alternation,
    pub(super) sets: Vec<Named>,
    /// How many groups are kept.
    pub(super) groups: usize,
}

/// A set of characters, and what the `regex` crate calls it where that is shorter than its ranges.
pub(super) struct Named {
    pub(super) set: CharSet,
    pub(super) written: Option<&'static str>,
}

/// What is left of flags around the part that has them.
fn around(flags: u8) -> u8 {
    let clash = if flags & PREFERENCE == PREFERENCE { MIXED } else { 0 };
    (flags & !PREFERENCE) | clash
}

/// The flags of one part and then another.
pub(super) fn combined(first: u8, second: u8) -> u8 {
    let preferred = if first & PREFERENCE == 0 { second } else { first };
    around(first | second) | (preferred & PREFERENCE)
}

fn is_messy(flags: u8) -> bool {
    flags & (MIXED | CAPTURES) != 0
}

impl Piece {
    /// The flags of its atom.
    pub(super) fn atom_flags(&self) -> u8 {
        match &self.atom {
            Atom::Group(None, inner) => inner.flags,
            Atom::Group(Some(_), inner) => inner.flags | CAPTURES,
            Atom::Set(_) | Atom::Assert(_) => 0,
        }
    }

    /// Whether it stands once, and its quantifier changes nothing of what the atom prefers.
    pub(super) fn is_plain(&self) -> bool {
        let inner = self.atom_flags() & (PREFERENCE | MIXED);
        let keeps = self.prefers == 0 || inner == 0 || inner == self.prefers;
        (self.min, self.max) == (1, Some(1)) && keeps
    }

    /// The flags of the atom as often as it stands.
    pub(super) fn flags(&self) -> u8 {
        if self.is_plain() { self.atom_flags() } else { combined(self.prefers, self.atom_flags()) }
    }

    fn is_nothing(&self) -> bool {
        matches!(self.atom, Atom::Assert(_)) || self.max == Some(0)
    }
}

impl Branch {
    fn new(pieces: Vec<Piece>) -> Branch {
        let mut segments = Vec::new();
        let (mut begin, mut flags) = (0, 0);
        for (at, piece) in pieces.iter().enumerate() {
            if piece.is_nothing() {
                continue;
            }
            let together = flags | piece.prefers | piece.atom_flags();
            if !matches!(piece.atom, Atom::Group(Some(_), _)) && !is_messy(around(together)) {
                flags = together;
                continue;
            }
            if begin < at {
                segments.push(Segment { pieces: begin..at, flags, is_atom: false });
            }
            segments.push(Segment { pieces: at..at + 1, flags: piece.flags(), is_atom: true });
            (begin, flags) = (at + 1, 0);
        }
        if begin < pieces.len() || segments.is_empty() {
            segments.push(Segment { pieces: begin..pieces.len(), flags, is_atom: false });
        }
        let flags = segments.iter().rev().fold(None, |behind, segment| {
            let own = segment.flags;
            Some(match behind {
                None => own,
                Some(behind) if segment.is_atom => {
                    let piece = &pieces[segment.pieces.start];
                    let own = combined(piece.prefers, piece.atom_flags());
                    own | combined(own, behind)
                }
                Some(behind) => own | combined(own, behind),
            })
        });
        Branch { pieces, segments, flags: flags.unwrap_or(0) }
    }
}

/// The tree of a pattern.
pub(super) fn parse(pattern: &str, options: Options) -> Result<Parsed> {
    let mut parser = Parser { tokens: Tokens::new(pattern, options)?, sets: Vec::new(), closed: vec![true], depth: 0 };
    let all = parser.alternation(false)?;
    Ok(Parsed { all, sets: parser.sets, groups: parser.closed.len() - 1 })
}

struct Parser {
    tokens: Tokens,
    sets: Vec<Named>,
    /// By the numbers of groups whether they ended; 0 is no group.
    closed: Vec<bool>,
    depth: u32,
}

impl Parser {
    fn alternation(&mut self, in_group: bool) -> Result<Alternation> {
        let mut branches = vec![self.branch(in_group)?];
        while self.tokens.now == Token::Bar {
            self.tokens.next()?;
            branches.push(self.branch(in_group)?);
        }
        let flags = match &branches[..] {
            [only] => only.flags,
            all => all.iter().fold(LONGER, |flags, branch| flags | around(flags | branch.flags)),
        };
        Ok(Alternation { branches, flags })
    }

    fn branch(&mut self, in_group: bool) -> Result<Branch> {
        let mut pieces = Vec::new();
        loop {
            match self.tokens.now {
                Token::Bar | Token::End => break,
                Token::Close if in_group => break,
                _ => pieces.push(self.piece()?),
            }
        }
        Ok(Branch::new(pieces))
    }

    fn piece(&mut self) -> Result<Piece> {
        let atom = match self.tokens.now {
            Token::Assert(assertion) => {
                self.tokens.next()?;
                return Ok(Piece { atom: Atom::Assert(assertion), min: 1, max: Some(1), prefers: 0 });
            }
            Token::Char(code) => self.set(self.one(code), None),
            Token::Class(name, is_other) => self.class(name, is_other)?,
            Token::Dot if self.tokens.options.stops_at_newline => {
                self.set(CharSet::one(u32::from('\n')).complement(), Some(r"[^\n]"))
            }
            Token::Dot => self.set(CharSet::of([(0, u32::from(char::MAX))]), Some("(?s:.)")),
            Token::Bracket(is_other) => {
                let set = brackets::parse(&mut self.tokens, is_other)?;
                self.set(set, None)
            }
            Token::Open(is_kept) => return self.group(is_kept),
            Token::Close if self.tokens.options.extended && !self.tokens.options.advanced => {
                self.set(CharSet::one(u32::from(')')), None)
            }
            Token::Close => return Err(invalid("parentheses () not balanced")),
            Token::BackReference(number) => return Err(self.back_reference(number)),
            Token::Quantifier(..) | Token::Bound => return Err(invalid("quantifier operand invalid")),
            Token::Start | Token::Bar | Token::End => unreachable!("a branch ends there"),
        };
        self.tokens.next()?;
        self.quantified(atom)
    }

    fn set(&mut self, set: CharSet, written: Option<&'static str>) -> Atom {
        // The sets of late are looked through: a pattern often has one again.
        let first = self.sets.len().saturating_sub(SETS_COMPARED);
        if let Some(at) = self.sets[first..].iter().position(|known| known.set == set && known.written == written) {
            return Atom::Set(first + at);
        }
        self.sets.push(Named { set, written });
        Atom::Set(self.sets.len() - 1)
    }

    fn one(&self, code: u32) -> CharSet {
        if self.tokens.options.any_case {
            CharSet::of(cases(code).map(|code| (code, code)))
        } else {
            CharSet::one(code)
        }
    }

    fn class(&mut self, name: &'static str, is_other: bool) -> Result<Atom> {
        let set = class(name).ok_or_else(|| invalid("invalid character class"))?;
        let written = match (name, is_other) {
            ("digit", false) => Some("[0-9]"),
            ("digit", true) => Some("[^0-9]"),
            ("word", false) => Some(r"[\p{Alphabetic}\p{Nd}_]"),
            ("word", true) => Some(r"[^\p{Alphabetic}\p{Nd}_]"),
            _ => None,
        };
        Ok(self.set(if is_other { set.complement() } else { set.clone() }, written))
    }

    fn group(&mut self, is_kept: bool) -> Result<Piece> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(too_complex());
        }
        let number = is_kept.then_some(self.closed.len());
        if is_kept {
            self.closed.push(false);
            self.tokens.groups += 1;
        }
        self.tokens.next()?;
        let inner = self.alternation(true)?;
        if self.tokens.now != Token::Close {
            return Err(invalid("parentheses () not balanced"));
        }
        self.depth -= 1;
        if let Some(number) = number {
            self.closed[number] = true;
        }
        self.tokens.next()?;
        self.quantified(Atom::Group(number, inner))
    }

    fn back_reference(&self, number: u32) -> Error {
        let is_closed = usize::try_from(number).ok().and_then(|number| self.closed.get(number)).copied();
        if number == 0 || is_closed != Some(true) {
            return invalid("invalid backreference number");
        }
        Error::new(Code::FeatureNotSupported, "back references in regular expressions are not supported")
    }

    /// An atom with the quantifier behind it, if there is one.
    fn quantified(&mut self, atom: Atom) -> Result<Piece> {
        let (min, max, prefers) = match self.tokens.now {
            Token::Quantifier(min, max, is_longest) => (min, max, if is_longest { LONGER } else { SHORTER }),
            Token::Bound => self.bound()?,
            _ => return Ok(Piece { atom, min: 1, max: Some(1), prefers: 0 }),
        };
        self.tokens.next()?;
        Ok(Piece { atom, min, max, prefers })
    }

    /// What stands between braces, and the closing one.
    fn bound(&mut self) -> Result<(u32, Option<u32>, u8)> {
        let min = self.bound_number()?.0;
        let (max, is_range) = if self.tokens.eat(",") {
            let (max, has_digits) = self.bound_number()?;
            (has_digits.then_some(max), true)
        } else {
            (Some(min), false)
        };
        if max.is_some_and(|max| min > max) {
            return Err(invalid("invalid repetition count(s)"));
        }
        let close = if self.tokens.options.extended { "}" } else { "\\}" };
        if !self.tokens.eat(close) {
            return Err(self.bad_bound());
        }
        let is_longest = self.tokens.prefers_longest();
        Ok((
            min,
            max,
            if !is_range {
                0
            } else if is_longest {
                LONGER
            } else {
                SHORTER
            },
        ))
    }

    /// A number, and whether there is one.
    fn bound_number(&mut self) -> Result<(u32, bool)> {
        let (mut number, mut has_digits) = (0, false);
        self.tokens.skip_space();
        while let Some(digit) = self.tokens.peek(0).and_then(|c| c.to_digit(10)) {
            number = number * 10 + digit;
            has_digits = true;
            if number > REPEATS_MAX {
                return Err(invalid("invalid repetition count(s)"));
            }
            self.tokens.take();
            self.tokens.skip_space();
        }
        if self.tokens.peek(0).is_none() { Err(self.bad_bound()) } else { Ok((number, has_digits)) }
    }

    fn bad_bound(&self) -> Error {
        let is_over = self.tokens.peek(0).is_none();
        invalid(if is_over { "braces {} not balanced" } else { "invalid repetition count(s)" })
    }
}
