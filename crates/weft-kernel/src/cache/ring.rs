//! The ring: which partition a slot belongs to, by consistent hashing.
//!
//! ```text
//!   points       . . B . . . A . . . C . .        a slot belongs to the next point at or behind it
//!   slots        B B B A A A A C C C C B B
//!   D is added   B B B A D D A C C C C B B        D takes the slots before its points, from whoever had them
//! ```
//!
//! 1. Every slot has an owner, and an owner changes only to the partition that is being added.
//! 2. The points depend on nothing but the partitions' numbers: two pools of as many partitions have the same ring.
//!
//! Concurrency: slots are read without a lock; one at a time may add a partition.
//!
//! Source: Karger et al., STOC 1997; SG-ColBase section 6.2. Positions are rounded to slots, so that a lookup reads one
//! byte where the paper searches.

use std::sync::atomic::{AtomicU8, Ordering};

use super::place::{SLOT_COUNT, mix};

/// Points of each partition. All points of all partitions fill half of the slots.
const POINT_COUNT: usize = 64;
/// Partitions there can be.
pub(super) const PARTITION_COUNT_MAX: usize = SLOT_COUNT / POINT_COUNT / 2;

/// Owners of slots.
pub(super) struct Ring {
    owners: Box<[AtomicU8]>,
}

/// What a new partition takes from an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) from: usize,
    /// Slots taken.
    pub(super) slots: usize,
    /// Slots it had before.
    pub(super) of_slots: usize,
}

impl Ring {
    /// The ring of the partitions 0 to `count` - 1.
    pub(super) fn new(count: usize) -> Ring {
        Ring { owners: owners(count).into_iter().map(AtomicU8::new).collect() }
    }

    /// The partition of a slot.
    #[inline]
    pub(super) fn owner(&self, slot: usize) -> usize {
        usize::from(self.owners[slot].load(Ordering::Acquire))
    }

    /// How many slots belong to each of the first `count` partitions.
    pub(super) fn slot_counts(&self, count: usize) -> Vec<usize> {
        let mut counts = vec![0; count];
        (0..SLOT_COUNT).for_each(|slot| counts[self.owner(slot)] += 1);
        counts
    }

    /// Adds the partition `number`, the first that is not there yet; says from whom it took slots.
    pub(super) fn add(&self, number: usize) -> Vec<Taken> {
        let had = self.slot_counts(number);
        let mut taken = vec![0; number];
        for (slot, owner) in owners(number + 1).into_iter().enumerate() {
            let old = self.owner(slot);
            if usize::from(owner) != old {
                assert_eq!(usize::from(owner), number, "only the new partition takes slots (ring 1)");
                taken[old] += 1;
                self.owners[slot].store(owner, Ordering::Release);
            }
        }
        let taken = taken.into_iter().zip(had).enumerate();
        taken
            .filter(|(_, (slots, _))| *slots > 0)
            .map(|(from, (slots, of_slots))| Taken { from, slots, of_slots })
            .collect()
    }
}

/// The owner of each slot when there are `count` partitions.
fn owners(count: usize) -> Vec<u8> {
    assert!((1..=PARTITION_COUNT_MAX).contains(&count), "there are 1 to {PARTITION_COUNT_MAX} partitions");
    let mut points = vec![None; SLOT_COUNT];
    for number in 0..count {
        let mut hash = mix(0, number as u64);
        for point in 0..POINT_COUNT {
            // A taken position stays with the older partition; the younger draws again.
            loop {
                hash = mix(hash, point as u64);
                let at = &mut points[(hash >> 32) as usize % SLOT_COUNT];
                if at.is_none() {
                    *at = Some(u8::try_from(number).expect("there are fewer partitions than 256"));
                    break;
                }
            }
        }
    }
    let first = points.iter().find_map(|point| *point).expect("a partition has points");
    let mut next = first;
    let mut owners = vec![0; SLOT_COUNT];
    for slot in (0..SLOT_COUNT).rev() {
        next = points[slot].unwrap_or(next);
        owners[slot] = next;
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_ring_are_balanced() {
        for count in [2, 8, 16, 32, PARTITION_COUNT_MAX] {
            let counts = Ring::new(count).slot_counts(count);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert_eq!(counts.iter().sum::<usize>(), SLOT_COUNT);
            assert!(*most <= least * 2, "{count} partitions have {least} to {most} slots");
        }
    }

    #[test]
    fn a_partition_that_is_added_takes_its_part_and_nothing_else_moves() {
        let ring = Ring::new(1);
        for number in 1..PARTITION_COUNT_MAX {
            let before: Vec<usize> = (0..SLOT_COUNT).map(|slot| ring.owner(slot)).collect();
            let had = ring.slot_counts(number);
            let taken = ring.add(number);
            let moved = (0..SLOT_COUNT).filter(|&slot| ring.owner(slot) != before[slot]);
            assert!(moved.clone().all(|slot| ring.owner(slot) == number));
            let (moved, fair) = (moved.count(), SLOT_COUNT / (number + 1));
            assert!(
                (fair / 2..=fair * 3 / 2).contains(&moved),
                "partition {number} took {moved} slots, {fair} are fair"
            );
            assert_eq!(taken.iter().map(|taken| taken.slots).sum::<usize>(), moved);
            assert!(taken.iter().all(|taken| taken.of_slots == had[taken.from]));
            assert_eq!(owners(number + 1), (0..SLOT_COUNT).map(|slot| ring.owner(slot) as u8).collect::<Vec<_>>());
        }
    }
}
