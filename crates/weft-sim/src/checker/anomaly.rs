//! The anomalies, which level forbids which, and the list of those found.
//!
//! ```text
//!                       G0 G1a G1b G1c   lost update, fuzzy read, G-single, G-nonadjacent   G2-item G2
//!   READ COMMITTED      forbidden        permitted                                          permitted
//!   REPEATABLE READ     forbidden        forbidden                                          permitted
//!   SERIALIZABLE        forbidden        forbidden                                          forbidden
//! ```
//!
//! What no level excuses: an own write not seen, forked lists, elements twice or from nowhere, acknowledged writes lost
//! or not seen by a transaction that began after them, lists out of the order of timestamps.
//!
//! A cycle between transactions of different levels counts when each reader that was overtaken (each source of an rw
//! edge) is at a level that promises against it. Under first-committer-wins this is exact for G-single and
//! G-nonadjacent: along ww and wr edges commits only get later, whatever the levels, and only the reader's snapshot can
//! make an rw edge lead back. For G2 see [`Mixing`].
//!
//! Source: Adya, Weak Consistency (1999), sections 3.1, 4.2 and 5.5 (mixing); Cerone and Gotsman, Analysing Snapshot
//! Isolation (PODC 2016), theorem 9: snapshot isolation is exactly that each cycle has two rw edges in a row.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use super::history::Level;

/// What can be wrong with a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A cycle of writes: two transactions wrote over each other, each once first.
    G0,
    /// Saw a write of a transaction that aborted (or rolled it back to a savepoint).
    G1a,
    /// Saw a write that its transaction itself followed with another.
    G1b,
    /// A cycle of writes and reads: information flowed in a circle.
    G1c,
    /// Wrote what it had read before, over a version that it had not read.
    LostUpdate,
    /// Read one thing twice and saw two committed versions.
    NonRepeatableRead,
    /// Read skew: a cycle with exactly one reader overtaken.
    GSingle,
    /// A cycle with several readers overtaken, none of which overtook another directly: long fork.
    GNonadjacent,
    /// Write skew: a cycle with two readers overtaken in a row, all by changes of what they read.
    G2Item,
    /// The same with a phantom: a reader was overtaken by a row that its range did not hold yet.
    G2,
    /// Did not see its own write, or saw it too early.
    Internal,
    /// Two reads of a list, neither of which is the beginning of the other.
    IncompatibleOrder,
    /// An element was in a list twice.
    DuplicateElement,
    /// Read a value that nobody wrote.
    GarbageRead,
    /// An acknowledged write is not in the last read.
    LostWrite,
    /// A write acknowledged before the reader began was not seen by it, but by a later reader.
    StaleRead,
    /// The order in a list is not the order of commit timestamps.
    TimestampOrder,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 17] = [
        Kind::G0,
        Kind::G1a,
        Kind::G1b,
        Kind::G1c,
        Kind::LostUpdate,
        Kind::NonRepeatableRead,
        Kind::GSingle,
        Kind::GNonadjacent,
        Kind::G2Item,
        Kind::G2,
        Kind::Internal,
        Kind::IncompatibleOrder,
        Kind::DuplicateElement,
        Kind::GarbageRead,
        Kind::LostWrite,
        Kind::StaleRead,
        Kind::TimestampOrder,
    ];

    /// The name in the literature.
    pub fn name(self) -> &'static str {
        match self {
            Kind::G0 => "G0",
            Kind::G1a => "G1a",
            Kind::G1b => "G1b",
            Kind::G1c => "G1c",
            Kind::LostUpdate => "lost update",
            Kind::NonRepeatableRead => "non-repeatable read",
            Kind::GSingle => "G-single",
            Kind::GNonadjacent => "G-nonadjacent",
            Kind::G2Item => "G2-item",
            Kind::G2 => "G2",
            Kind::Internal => "internal inconsistency",
            Kind::IncompatibleOrder => "incompatible order",
            Kind::DuplicateElement => "duplicate element",
            Kind::GarbageRead => "garbage read",
            Kind::LostWrite => "lost write",
            Kind::StaleRead => "stale read",
            Kind::TimestampOrder => "timestamp order",
        }
    }

    /// The weakest level that forbids it.
    pub fn forbidden_from(self) -> Level {
        match self {
            Kind::LostUpdate | Kind::NonRepeatableRead | Kind::GSingle | Kind::GNonadjacent => Level::RepeatableRead,
            Kind::G2Item | Kind::G2 => Level::Serializable,
            _ => Level::ReadCommitted,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The anomalies that a level forbids.
pub fn forbidden(level: Level) -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.forbidden_from() <= level).collect()
}

/// Which cycles of G2 count when levels are mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixing {
    /// All transactions that were overtaken while reading are SERIALIZABLE, those between them may have any level:
    /// Adya's mixing-correctness, which holds where reads are validated against the commits of every level, as in Weft.
    #[default]
    Readers,
    /// All transactions of the cycle are SERIALIZABLE: what PostgreSQL promises, which tracks only those.
    Everyone,
}

/// What counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Which cycles of G2 count when levels are mixed.
    pub mixing: Mixing,
    /// Whether a read has to show what was acknowledged before its transaction began. Off for reads of the past.
    pub real_time: bool,
    /// Whether anomalies that the levels permit are looked for as well.
    pub permitted: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { mixing: Mixing::Readers, real_time: true, permitted: true }
    }
}

/// One anomaly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// What it is.
    pub kind: Kind,
    /// Numbers of the transactions in it; of a cycle in its order.
    pub transactions: Vec<u32>,
    /// Who did what, with keys and elements.
    pub explanation: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.explanation)
    }
}

/// Anomalies kept of one kind; more are only counted.
const KEPT_MAX: usize = 20;

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Anomalies that the levels forbid, at most 20 of a kind.
    pub forbidden: Vec<Anomaly>,
    /// Anomalies that the levels permit, at most 20 of a kind.
    pub permitted: Vec<Anomaly>,
    /// How many of each kind were found that are forbidden. Of cycles that share transactions only some are looked for.
    pub forbidden_counts: BTreeMap<Kind, u64>,
    /// The same of those permitted.
    pub permitted_counts: BTreeMap<Kind, u64>,
    /// Transactions that count as committed.
    pub committed: u64,
    /// Dependencies between them.
    pub edges: u64,
    seen: HashSet<(Kind, Vec<u32>)>,
}

impl Report {
    /// Whether nothing is there that a level forbids.
    pub fn is_clean(&self) -> bool {
        self.forbidden_counts.is_empty()
    }

    /// Whether the kind was found, forbidden or not.
    pub fn has(&self, kind: Kind) -> bool {
        self.forbidden_counts.contains_key(&kind) || self.permitted_counts.contains_key(&kind)
    }

    /// Adds an anomaly, unless it is known; whether it was not.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        is_forbidden: bool,
        transactions: &[u32],
        explain: impl FnOnce() -> String,
    ) -> bool {
        let mut sorted = transactions.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if !self.seen.insert((kind, sorted)) {
            return false;
        }
        let (counts, kept) = if is_forbidden {
            (&mut self.forbidden_counts, &mut self.forbidden)
        } else {
            (&mut self.permitted_counts, &mut self.permitted)
        };
        let count = counts.entry(kind).or_default();
        *count += 1;
        if *count <= KEPT_MAX as u64 {
            kept.push(Anomaly { kind, transactions: transactions.to_vec(), explanation: explain() });
        }
        true
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} committed transactions, {} dependencies", self.committed, self.edges)?;
        for (title, counts) in [("forbidden", &self.forbidden_counts), ("permitted", &self.permitted_counts)] {
            let list: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            writeln!(f, "{title}: {}", if list.is_empty() { "none".to_owned() } else { list.join(", ") })?;
        }
        self.forbidden.iter().try_for_each(|anomaly| writeln!(f, "  {anomaly}"))
    }
}
