//! All pairs of connected sets that an edge connects, each once: DPhyp.
//!
//! ```text
//!   from relation 3 down to 0:     {3}   {2} {2,3}   {1} {1,2} {1,2,3} ...     sets that begin with the relation
//!   for each, its complements:     sets of relations above its lowest one that an edge leads to
//! ```
//!
//! 1. A set is offered only after both sides have a plan: sets come by falling lowest relation, and within one by
//!    growing size.
//! 2. Relations that were a beginning before are left out, so that no pair comes twice; among the neighbours of a set,
//!    those below the one that a complement begins with are left out, too.
//! 3. An edge to several relations is followed through the lowest of them; whether the set that grows from it has a
//!    plan, and whether the edge is whole, is tested.
//!
//! Source: Moerkotte and Neumann (SIGMOD 2008), section 3; for the second half of 2, what other systems found missing
//! there.

use crate::plans::Plans;
use crate::set::Set;

/// For each pair that may be looked at so many sets may be.
const STEPS_PER_PAIR: usize = 32;

impl Plans<'_> {
    /// Offers all pairs within a connected set; false as soon as there were more than `pairs_max` in all.
    pub(crate) fn all_pairs(&mut self, component: Set, pairs_max: usize) -> bool {
        let mut relations: Vec<usize> = component.iter().collect();
        relations.reverse();
        for relation in relations {
            let set = Set::of(relation);
            let is_done = self.complements(set, pairs_max) && self.grow(set, set.up_to_lowest(), pairs_max);
            if !is_done {
                return false;
            }
        }
        true
    }

    /// Sets that are larger by neighbours.
    fn grow(&mut self, set: Set, left_out: Set, pairs_max: usize) -> bool {
        let neighbours = self.graph.neighbours_of(set, left_out);
        for more in neighbours.subsets() {
            let grown = set.with(more);
            if !self.step(pairs_max) || self.has(grown) && !self.complements(grown, pairs_max) {
                return false;
            }
        }
        let left_out = left_out.with(neighbours);
        neighbours.subsets().all(|more| self.grow(set.with(more), left_out, pairs_max))
    }

    /// The sets that a set is joined with.
    fn complements(&mut self, set: Set, pairs_max: usize) -> bool {
        let left_out = set.with(set.up_to_lowest());
        let neighbours = self.graph.neighbours_of(set, left_out);
        let mut beginnings: Vec<usize> = neighbours.iter().collect();
        beginnings.reverse();
        for beginning in beginnings {
            let other = Set::of(beginning);
            if self.graph.is_connected(set, other) && !self.pair(set, other, pairs_max) {
                return false;
            }
            let below = Set(neighbours.0 & other.up_to_lowest().0);
            if !self.grow_complement(set, other, left_out.with(below), pairs_max) {
                return false;
            }
        }
        true
    }

    fn grow_complement(&mut self, set: Set, other: Set, left_out: Set, pairs_max: usize) -> bool {
        let neighbours = self.graph.neighbours_of(other, left_out.with(set));
        for more in neighbours.subsets() {
            let grown = other.with(more);
            let is_one = self.has(grown) && self.graph.is_connected(set, grown);
            if !self.step(pairs_max) || is_one && !self.pair(set, grown, pairs_max) {
                return false;
            }
        }
        let left_out = left_out.with(neighbours);
        neighbours.subsets().all(|more| self.grow_complement(set, other.with(more), left_out, pairs_max))
    }

    /// Counts a set that was looked at: among edges to several relations there may be many, and no pair.
    fn step(&mut self, pairs_max: usize) -> bool {
        self.steps += 1;
        self.steps <= pairs_max.saturating_mul(STEPS_PER_PAIR)
    }

    fn pair(&mut self, a: Set, b: Set, pairs_max: usize) -> bool {
        if self.pairs >= pairs_max {
            return false;
        }
        self.offer(a, b);
        true
    }
}
