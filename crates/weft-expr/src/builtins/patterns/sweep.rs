//! Runs a part of a pattern over a text, forwards from where it begins or backwards from where it may end.
//!
//! ```text
//!   (a|ab)(c|bcd)     over 'abcd': forwards, the first group ends at 1 and 2
//!                     backwards from 4, the second may begin at 1: only there bcd is left
//! ```
//!
//! 1. One pass takes time by the characters and the states, whatever the pattern; together the passes of a call stay
//!    within [`WORK_MAX`].
//! 2. Assertions see the whole text, also before the first and behind the last character of the pass.

use std::cell::Cell;

use weft_format::{Code, Error, Result};

use super::charset::class;
use super::program::{Label, Part, Program};
use super::tokens::Assertion;

/// The most states that a call visits: some seconds.
pub(super) const WORK_MAX: u64 = 1 << 29;

/// Places between the characters of a part of a text.
#[derive(Clone)]
pub(super) struct Places {
    base: usize,
    bits: Vec<u64>,
}

impl Places {
    /// None of the places from one to another.
    pub(super) fn none(from: usize, to: usize) -> Places {
        Places { base: from, bits: vec![0; (to - from) / 64 + 1] }
    }

    pub(super) fn insert(&mut self, at: usize) {
        let at = at - self.base;
        self.bits[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn contains(&self, at: usize) -> bool {
        let at = at - self.base;
        (self.bits[at / 64] >> (at % 64)) & 1 == 1
    }

    /// Adds the places of another; whether any was new.
    pub(super) fn add(&mut self, other: &Places) -> bool {
        let mut is_new = false;
        for (bits, more) in self.bits.iter_mut().zip(&other.bits) {
            is_new |= (more & !*bits) != 0;
            *bits |= more;
        }
        is_new
    }

    /// The first place from one on.
    pub(super) fn first_from(&self, at: usize) -> Option<usize> {
        let at = at - self.base;
        let mut word = at / 64;
        let mut bits = *self.bits.get(word)? & (u64::MAX << (at % 64));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(self.base + word * 64 + bits.trailing_zeros() as usize)
    }
}

/// States, each once, in the order in which they were reached.
pub(super) struct States {
    list: Vec<usize>,
    reached: Vec<u32>,
    round: u32,
}

impl States {
    fn new(count: usize) -> States {
        States { list: Vec::new(), reached: vec![0; count], round: 0 }
    }

    fn clear(&mut self) {
        self.list.clear();
        if self.round == u32::MAX {
            self.reached.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    fn add(&mut self, state: usize) {
        if self.reached[state] != self.round {
            self.reached[state] = self.round;
            self.list.push(state);
        }
    }

    fn has(&self, state: usize) -> bool {
        self.reached[state] == self.round
    }
}

/// A pattern's states over one text.
pub(super) struct Sweep<'a> {
    program: &'a Program,
    text: &'a str,
    now: States,
    next: States,
    work: Cell<u64>,
}

impl<'a> Sweep<'a> {
    /// The states of an earlier sweep of the program are used again.
    pub(super) fn new(program: &'a Program, text: &'a str, states: Option<(States, States)>) -> Sweep<'a> {
        let count = program.root.part.hi;
        let (now, next) = states.unwrap_or_else(|| (States::new(count), States::new(count)));
        debug_assert!(now.reached.len() == count && next.reached.len() == count, "the states are the program's");
        Sweep { program, text, now, next, work: Cell::new(0) }
    }

    pub(super) fn into_states(self) -> (States, States) {
        (self.now, self.next)
    }

    /// How many steps are looked at of these states, there and back.
    fn steps_of(&self, states: &[usize]) -> usize {
        let steps = |state: &usize| self.program.steps(*state).len() + self.program.steps_back(*state).len();
        1 + states.iter().map(steps).sum::<usize>()
    }

    fn spend(&self, steps: usize) -> Result<()> {
        let work = self.work.get() + steps as u64;
        self.work.set(work);
        if work > WORK_MAX {
            let message = "matching the regular expression takes too long";
            return Err(Error::new(Code::StatementTooComplex, message).hint("use a simpler pattern, or shorter text"));
        }
        Ok(())
    }

    /// Where a part that begins at `from` ends, at `to` at most and only where it `may`: the first place or the last.
    pub(super) fn end(
        &mut self,
        part: Part,
        (from, to): (usize, usize),
        is_shortest: bool,
        may: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>> {
        let text = self.text;
        let mut found = None;
        let mut at = from;
        self.now.clear();
        self.now.add(part.entry);
        loop {
            self.close(part, at);
            self.spend(self.steps_of(&self.now.list))?;
            if self.now.has(part.exit) && may(at) {
                found = Some(at);
                if is_shortest {
                    break;
                }
            }
            let Some(c) = text[at..to].chars().next() else { break };
            self.next.clear();
            for state in &self.now.list {
                for (label, target) in self.program.steps(*state) {
                    if let Label::Set(set) = label
                        && (part.lo..part.hi).contains(target)
                        && self.program.sets[*set].contains(c)
                    {
                        self.next.add(*target);
                    }
                }
            }
            std::mem::swap(&mut self.now, &mut self.next);
            at += c.len_utf8();
            if self.now.list.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Adds what is reached without a character.
    fn close(&mut self, part: Part, at: usize) {
        let mut done = 0;
        while done < self.now.list.len() {
            let state = self.now.list[done];
            done += 1;
            for (label, target) in self.program.steps(state) {
                let passes = match label {
                    Label::Nothing => true,
                    Label::Assert(assertion) => holds(*assertion, self.text, at),
                    Label::Set(_) => false,
                };
                if passes && (part.lo..part.hi).contains(target) {
                    self.now.add(*target);
                }
            }
        }
    }

    /// The places from which a part ends where it `may`, between two; if `repeated`, the part any number of times.
    pub(super) fn begins(
        &mut self,
        part: Part,
        (from, to): (usize, usize),
        repeated: bool,
        may: impl Fn(usize) -> bool,
    ) -> Result<Places> {
        let text = self.text;
        let mut places = Places::none(from, to);
        let mut at = to;
        self.now.clear();
        loop {
            if may(at) {
                self.now.add(part.exit);
            }
            self.close_back(part, at, repeated);
            self.spend(self.steps_of(&self.now.list))?;
            if self.now.has(part.entry) {
                places.insert(at);
            }
            let Some(c) = text[from..at].chars().next_back() else { break };
            self.next.clear();
            for state in &self.now.list {
                for (label, source) in self.program.steps_back(*state) {
                    if let Label::Set(set) = label
                        && (part.lo..part.hi).contains(source)
                        && self.program.sets[*set].contains(c)
                    {
                        self.next.add(*source);
                    }
                }
            }
            std::mem::swap(&mut self.now, &mut self.next);
            at -= c.len_utf8();
        }
        Ok(places)
    }

    fn close_back(&mut self, part: Part, at: usize, repeated: bool) {
        let mut done = 0;
        while done < self.now.list.len() {
            let state = self.now.list[done];
            done += 1;
            if repeated && state == part.entry {
                self.now.add(part.exit);
            }
            for (label, source) in self.program.steps_back(state) {
                let passes = match label {
                    Label::Nothing => true,
                    Label::Assert(assertion) => holds(*assertion, self.text, at),
                    Label::Set(_) => false,
                };
                if passes && (part.lo..part.hi).contains(source) {
                    self.now.add(*source);
                }
            }
        }
    }
}

/// Whether an assertion holds at a place.
fn holds(assertion: Assertion, text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let behind = text[at..].chars().next();
    let is_word = |c: Option<char>| c.is_some_and(|c| class("word").is_some_and(|word| word.contains(c)));
    match assertion {
        Assertion::TextStart => before.is_none(),
        Assertion::TextEnd => behind.is_none(),
        Assertion::LineStart => before.is_none_or(|c| c == '\n'),
        Assertion::LineEnd => behind.is_none_or(|c| c == '\n'),
        Assertion::WordStart => !is_word(before) && is_word(behind),
        Assertion::WordEnd => is_word(before) && !is_word(behind),
        Assertion::WordEdge => is_word(before) != is_word(behind),
        Assertion::NoWordEdge => is_word(before) == is_word(behind),
    }
}
