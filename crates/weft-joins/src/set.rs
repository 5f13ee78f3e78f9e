//! Sets of relations, as bits.

/// The most relations of a graph.
pub(crate) const RELATIONS_MAX: usize = 64;

/// A set of relations by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Set(pub u64);

impl Set {
    /// No relation.
    pub const NONE: Set = Set(0);

    /// One relation.
    pub fn of(relation: usize) -> Set {
        Set(1 << relation)
    }

    /// The relations of both.
    pub fn with(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// Those that are not in the other.
    pub fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    /// Whether all are in the other.
    pub fn is_in(self, other: Set) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether one is in the other, too.
    pub fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether it has a relation.
    pub fn has(self, relation: usize) -> bool {
        self.0 >> relation & 1 == 1
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The one with the lowest number, as a set.
    pub fn lowest(self) -> Set {
        Set(self.0 & self.0.wrapping_neg())
    }

    /// All up to the lowest one of it.
    pub(crate) fn up_to_lowest(self) -> Set {
        let lowest = self.lowest().0;
        Set(lowest | lowest.wrapping_sub(1))
    }

    /// The numbers, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let next = left.trailing_zeros() as usize;
                left &= left - 1;
                next
            })
        })
    }

    /// All subsets but the empty one, ascending.
    pub(crate) fn subsets(self) -> impl Iterator<Item = Set> {
        let all = self.0;
        let mut last = 0_u64;
        std::iter::from_fn(move || {
            last = last.wrapping_sub(all) & all;
            (last != 0).then_some(Set(last))
        })
    }
}
