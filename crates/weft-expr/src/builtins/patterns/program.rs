//! A pattern as states and steps between them, and which states belong to which of its parts.
//!
//! ```text
//!   a(b|c)*        0 -a-> 1   2 -> 3   3 -b-> 4, 3 -c-> 5   4 -> 6, 5 -> 6   6 -> 2   2 -> 7    1 -> 2
//!                  parts: all 0..8; [a] 0..2; the iteration 2..8 and within it the group 3..7
//! ```
//!
//! 1. A part's states are one range; a step out of the range, from the part's exit, is none of the part's steps.

use weft_format::Result;

use super::are::{Alternation, Atom, CAPTURES, Parsed, Piece, Segment, combined};
use super::are::{LONGER, SHORTER};
use super::charset::CharSet;
use super::options::too_complex;
use super::tokens::Assertion;

/// The most states of a pattern.
const STATES_MAX: usize = 40_000;

/// What a step needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    Nothing,
    Assert(Assertion),
    /// A character of the set of this number.
    Set(usize),
}

/// The states of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) lo: usize,
    pub(super) hi: usize,
    pub(super) entry: usize,
    pub(super) exit: usize,
}

/// A part with the parts in it that have to be found.
pub(super) struct Node {
    pub(super) part: Part,
    pub(super) flags: u8,
    /// The number of the group that it is.
    pub(super) capture: Option<usize>,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// There is nothing to find in it.
    Plain,
    Concatenation(Vec<Node>),
    Alternation(Vec<Node>),
    /// Any number of times, or up to a number.
    Iteration(Box<Node>, Option<u32>),
}

/// A pattern's states.
pub(super) struct Program {
    pub(super) sets: Vec<CharSet>,
    pub(super) root: Node,
    pub(super) groups: usize,
    steps: Steps,
    steps_back: Steps,
}

/// The steps from each state.
struct Steps {
    begins: Vec<usize>,
    steps: Vec<(Label, usize)>,
}

impl Steps {
    fn new(states: usize, edges: impl Iterator<Item = (usize, Label, usize)> + Clone) -> Steps {
        let mut begins = vec![0; states + 1];
        for (from, _, _) in edges.clone() {
            begins[from + 1] += 1;
        }
        for state in 0..states {
            begins[state + 1] += begins[state];
        }
        let mut next = begins.clone();
        let mut steps = vec![(Label::Nothing, 0); begins[states]];
        for (from, label, to) in edges {
            steps[next[from]] = (label, to);
            next[from] += 1;
        }
        Steps { begins, steps }
    }

    fn of(&self, state: usize) -> &[(Label, usize)] {
        &self.steps[self.begins[state]..self.begins[state + 1]]
    }
}

impl Program {
    /// The states of a pattern.
    pub(super) fn new(parsed: Parsed) -> Result<Program> {
        let mut builder = Builder { states: 0, edges: Vec::new() };
        let root = builder.alternation(&parsed.all)?;
        let Builder { states, edges } = builder;
        Ok(Program {
            sets: parsed.sets.into_iter().map(|named| named.set).collect(),
            root,
            groups: parsed.groups,
            steps: Steps::new(states, edges.iter().copied()),
            steps_back: Steps::new(states, edges.iter().map(|(from, label, to)| (*to, *label, *from))),
        })
    }

    /// The steps from a state.
    pub(super) fn steps(&self, state: usize) -> &[(Label, usize)] {
        self.steps.of(state)
    }

    /// The steps to a state.
    pub(super) fn steps_back(&self, state: usize) -> &[(Label, usize)] {
        self.steps_back.of(state)
    }
}

struct Builder {
    states: usize,
    edges: Vec<(usize, Label, usize)>,
}

impl Builder {
    fn state(&mut self) -> Result<usize> {
        if self.states == STATES_MAX {
            return Err(too_complex());
        }
        self.states += 1;
        Ok(self.states - 1)
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.edges.push((from, Label::Nothing, to));
    }

    fn node(&self, entry: usize, exit: usize, flags: u8, kind: Kind) -> Node {
        Node { part: Part { lo: entry, hi: self.states, entry, exit }, flags, capture: None, kind }
    }

    fn alternation(&mut self, all: &Alternation) -> Result<Node> {
        let entry = self.state()?;
        if all.flags & CAPTURES == 0 {
            let exit = self.bare_alternation(entry, all)?;
            return Ok(self.node(entry, exit, all.flags, Kind::Plain));
        }
        let mut nodes = Vec::with_capacity(all.branches.len());
        for branch in &all.branches {
            nodes.push(self.branch(&branch.pieces, &branch.segments, branch.flags)?);
        }
        let exit = self.state()?;
        for node in &nodes {
            self.edge(entry, node.part.entry);
            self.edge(node.part.exit, exit);
        }
        let kind = if nodes.len() == 1 { Kind::Concatenation(nodes) } else { Kind::Alternation(nodes) };
        Ok(self.node(entry, exit, all.flags, kind))
    }

    fn branch(&mut self, pieces: &[Piece], segments: &[Segment], flags: u8) -> Result<Node> {
        let entry = self.state()?;
        let mut last = entry;
        let mut nodes = Vec::with_capacity(segments.len());
        for segment in segments {
            let pieces = &pieces[segment.pieces.clone()];
            let node = match pieces {
                [piece] if segment.is_atom => self.piece(piece)?,
                _ => self.run(pieces, segment.flags)?,
            };
            self.edge(last, node.part.entry);
            last = node.part.exit;
            nodes.push(node);
        }
        Ok(self.node(entry, last, flags, Kind::Concatenation(nodes)))
    }

    fn run(&mut self, pieces: &[Piece], flags: u8) -> Result<Node> {
        let entry = self.state()?;
        let exit = self.bare_pieces(entry, pieces)?;
        Ok(self.node(entry, exit, flags, Kind::Plain))
    }

    /// A piece with parts to find.
    fn piece(&mut self, piece: &Piece) -> Result<Node> {
        let Atom::Group(capture, inner) = &piece.atom else {
            return self.run(std::slice::from_ref(piece), piece.flags());
        };
        if piece.atom_flags() & CAPTURES == 0 {
            return self.run(std::slice::from_ref(piece), piece.flags());
        }
        if piece.is_plain() {
            return self.group(*capture, inner, piece.atom_flags());
        }
        let flags = combined(piece.prefers, piece.atom_flags());
        let entry = self.state()?;
        if piece.min > 0 {
            let before = self.state()?;
            self.edge(entry, before);
            let end = self.bare_repeated(before, &piece.atom, piece.min - 1, piece.max.map(|max| max - 1))?;
            let before = self.node(before, end, flags & (LONGER | SHORTER), Kind::Plain);
            let last = self.group(*capture, inner, piece.atom_flags())?;
            self.edge(end, last.part.entry);
            let exit = last.part.exit;
            return Ok(self.node(entry, exit, flags, Kind::Concatenation(vec![before, last])));
        }
        let each = self.group(*capture, inner, piece.atom_flags())?;
        self.edge(entry, each.part.entry);
        let mut last = each.part.exit;
        let exit = match piece.max {
            None => {
                self.edge(last, entry);
                self.state()?
            }
            Some(max) => {
                let mut ends = Vec::new();
                for _ in 1..max {
                    ends.push(last);
                    last = self.bare_atom(last, &piece.atom)?;
                }
                ends.push(last);
                let exit = self.state()?;
                for end in ends {
                    self.edge(end, exit);
                }
                exit
            }
        };
        self.edge(entry, exit);
        Ok(self.node(entry, exit, flags, Kind::Iteration(Box::new(each), piece.max)))
    }

    fn group(&mut self, capture: Option<usize>, inner: &Alternation, flags: u8) -> Result<Node> {
        let node = self.alternation(inner)?;
        Ok(Node { capture, flags, ..node })
    }

    /// Adds the states of branches behind a state; what is behind them.
    fn bare_alternation(&mut self, from: usize, all: &Alternation) -> Result<usize> {
        if let [only] = &all.branches[..] {
            return self.bare_pieces(from, &only.pieces);
        }
        let mut ends = Vec::with_capacity(all.branches.len());
        for branch in &all.branches {
            ends.push(self.bare_pieces(from, &branch.pieces)?);
        }
        ends.dedup();
        let exit = self.state()?;
        for end in ends {
            self.edge(end, exit);
        }
        Ok(exit)
    }

    fn bare_pieces(&mut self, from: usize, pieces: &[Piece]) -> Result<usize> {
        pieces.iter().try_fold(from, |from, piece| self.bare_repeated(from, &piece.atom, piece.min, piece.max))
    }

    fn bare_repeated(&mut self, from: usize, atom: &Atom, min: u32, max: Option<u32>) -> Result<usize> {
        let mut last = from;
        for _ in 0..min {
            last = self.bare_atom(last, atom)?;
        }
        let Some(max) = max else {
            let begin = self.state()?;
            self.edge(last, begin);
            let end = self.bare_atom(begin, atom)?;
            self.edge(end, begin);
            let exit = self.state()?;
            self.edge(begin, exit);
            return Ok(exit);
        };
        if max == min {
            return Ok(last);
        }
        let mut ends = vec![last];
        for _ in min..max {
            last = self.bare_atom(last, atom)?;
            ends.push(last);
        }
        let exit = self.state()?;
        for end in ends {
            self.edge(end, exit);
        }
        Ok(exit)
    }

    fn bare_atom(&mut self, from: usize, atom: &Atom) -> Result<usize> {
        let label = match atom {
            Atom::Set(set) => Label::Set(*set),
            Atom::Assert(assertion) => Label::Assert(*assertion),
            Atom::Group(_, inner) => {
                // A state of its own, also for a group without any: the states bound the work.
                let begin = self.state()?;
                self.edge(from, begin);
                return self.bare_alternation(begin, inner);
            }
        };
        let to = self.state()?;
        self.edges.push((from, label, to));
        Ok(to)
    }
}
