//! Some columns of a table, as a filter: one word, whatever columns there are.
//!
//! 1. A column is one bit, which those that are 64 apart share: one that is in is always found, one that is not may be.
//! 2. All is more than every column: that a row comes or goes is of interest to who reads none, as a count does.

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns(pub(super) u64);

impl Columns {
    /// See columns 2.
    pub(super) const ALL: Columns = Columns(u64::MAX);

    /// Those of one filter and of another.
    pub(super) fn and(self, other: Columns) -> Columns {
        Columns(self.0 | other.0)
    }

    /// Whether some column may be in both, or one is all.
    pub(super) fn meets(self, other: Columns) -> bool {
        self.0 & other.0 != 0 || self == Columns::ALL || other == Columns::ALL
    }
}

impl FromIterator<usize> for Columns {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Columns {
        Columns(columns.into_iter().fold(0, |bits, column| bits | 1 << (column % 64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_is_found() {
        let some: Columns = [3, 70].into_iter().collect();
        let meets = |column: usize| some.meets([column].into_iter().collect());
        assert_eq!([3, 6, 70, 67, 4].map(meets), [true, true, true, true, false]);
        assert!(some.meets(Columns::ALL) && !some.meets(Columns::default()));
        assert!(Columns::ALL.meets(Columns::default()), "columns 2");
        assert_eq!(some.and(Columns::ALL), Columns::ALL);
    }
}
