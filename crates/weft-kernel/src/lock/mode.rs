//! What a holder of a lock does with the thing it locks: which columns it reads, which it writes.
//!
//! ```text
//!   SET a = a + 1           reads {a}      writes {a}
//!   SET b = 1 WHERE c > 0   reads {c}      writes {b}       beside the first: neither writes what the other touches
//!   DELETE                  reads {all}    writes {all}     beside nobody
//! ```
//!
//! Source: field-level locks, SG-ColBase section 3.2.

use std::fmt;

/// Columns of one table, by ordinal modulo 64. Two columns of a wide table may share a place: then they are locked
/// together, which makes transactions wait for no good reason but never lets two in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnSet(u64);

impl ColumnSet {
    /// No column.
    pub const NONE: ColumnSet = ColumnSet(0);
    /// Every column.
    pub const ALL: ColumnSet = ColumnSet(u64::MAX);

    /// Whether a column may be in the set.
    pub fn contains(self, ordinal: usize) -> bool {
        self.0 & (1 << (ordinal % 64)) != 0
    }

    /// Adds a column.
    pub fn insert(&mut self, ordinal: usize) {
        self.0 |= 1 << (ordinal % 64);
    }

    /// Columns of either set.
    pub fn union(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 | other.0)
    }

    /// Columns of both sets.
    pub fn intersection(self, other: ColumnSet) -> ColumnSet {
        ColumnSet(self.0 & other.0)
    }

    /// Whether a column may be in both sets.
    pub fn meets(self, other: ColumnSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is no column in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(ordinals: I) -> ColumnSet {
        let mut set = ColumnSet::NONE;
        ordinals.into_iter().for_each(|ordinal| set.insert(ordinal));
        set
    }
}

/// What a holder reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockMode {
    /// What others must not write meanwhile.
    pub reads: ColumnSet,
    /// What others must neither read under a lock nor write meanwhile.
    pub writes: ColumnSet,
}

impl fmt::Display for LockMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            LockMode::SHARED => "shared",
            LockMode::EXCLUSIVE => "exclusive",
            LockMode { writes, .. } if writes.is_empty() => "columns shared",
            _ => "columns exclusive",
        })
    }
}

impl LockMode {
    /// Beside other shared holders: row writers of one table (IX), FOR SHARE of a row.
    pub const SHARED: LockMode = LockMode { reads: ColumnSet::ALL, writes: ColumnSet::NONE };
    /// Beside nobody: who inserts or deletes a row, FOR UPDATE, a bulk build, a drop (X).
    pub const EXCLUSIVE: LockMode = LockMode { reads: ColumnSet::ALL, writes: ColumnSet::ALL };

    /// A writer of some columns that has read some.
    pub fn columns(reads: ColumnSet, writes: ColumnSet) -> LockMode {
        LockMode { reads, writes }
    }

    /// Whether two transactions may hold the lock in these modes at once.
    pub fn compatible(self, other: LockMode) -> bool {
        !self.writes.meets(other.writes) && !self.writes.meets(other.reads) && !self.reads.meets(other.writes)
    }

    /// Whether who holds this mode needs no other to do what `other` allows.
    pub fn covers(self, other: LockMode) -> bool {
        self.union(other) == self
    }

    /// What both do. Who is in the way of that is in the way of either.
    pub fn intersection(self, other: LockMode) -> LockMode {
        LockMode { reads: self.reads.intersection(other.reads), writes: self.writes.intersection(other.writes) }
    }

    /// What both together do.
    pub fn union(self, other: LockMode) -> LockMode {
        LockMode { reads: self.reads.union(other.reads), writes: self.writes.union(other.writes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_compatible_when_neither_writes_what_the_other_touches() {
        let mode = |reads: &[usize], writes: &[usize]| {
            LockMode::columns(reads.iter().copied().collect(), writes.iter().copied().collect())
        };
        let cases = [
            (mode(&[], &[1]), mode(&[], &[2]), true),
            (mode(&[1], &[1]), mode(&[3], &[2]), true),
            (mode(&[2], &[1]), mode(&[], &[2]), false),
            (mode(&[], &[1]), mode(&[], &[1]), false),
            (mode(&[1], &[]), mode(&[1], &[]), true),
            (LockMode::SHARED, LockMode::SHARED, true),
            (LockMode::SHARED, mode(&[], &[1]), false),
            (LockMode::EXCLUSIVE, LockMode::SHARED, false),
            // Ordinals 64 apart share a place.
            (mode(&[], &[1]), mode(&[], &[65]), false),
        ];
        for (a, b, compatible) in cases {
            assert_eq!((a.compatible(b), b.compatible(a)), (compatible, compatible), "{a:?} beside {b:?}");
        }
        assert!(LockMode::EXCLUSIVE.covers(LockMode::SHARED) && !LockMode::SHARED.covers(LockMode::EXCLUSIVE));
    }
}
