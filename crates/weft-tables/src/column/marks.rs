//! The delete marks of one part: which rows are dead, and for the young marks since when.
//!
//! ```text
//!   mark(3)@11  mark(0)@12  mark(5)@15          part of 8 rows
//!   dead   1 0 0 1 0 1 0 0                      every mark, folded into one bitmap at once
//!   young  [(11, 3), (12, 0), (15, 5)]          by timestamp: what a reader of the past takes back out
//!
//!   reader at 20:  the bitmap as it is          reader at 12:  the bitmap without the tail after 12 = {0, 3}
//!   horizon passes 12:  young = [(15, 5)]
//! ```
//!
//! 1. A position is marked once; marking it again with the same timestamp changes nothing.
//! 2. `young` holds every mark later than `forgotten`; nobody asks for a state before that (the horizon and the table's
//!    durable cut are both at or behind it).
//! 3. While a job carries over, every mark that is set is in its list too: both change under one lock, so a mark is
//!    either in the snapshot that the job took or in the list (DESIGN invariant 3).
//!
//! Concurrency: writers hold the table's mark lock; readers copy words under a short read lock.
//!
//! Source: SynchroStore section 3.1 ("Multi-Version Delete"). The paper appends a bitmap per delete and keeps single
//! marks in front of the chain; here there is one bitmap, the newest, and the chain leads back in time from it, because
//! almost every reader wants the newest state: it copies words and walks no chain.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_env::sync::RwLock;
use weft_format::Timestamp;
use weft_kernel::account::{Account, Charge, Kept};

/// Room for so many young marks is kept although few are left.
const YOUNG_ROOM_MIN: usize = 1024;

/// A mark: position and the timestamp from which the row is dead.
pub(crate) type Mark = (u32, Timestamp);

/// The marks of one part.
#[derive(Debug)]
pub(crate) struct Marks {
    row_count: usize,
    count: AtomicU32,
    inner: RwLock<Inner>,
    /// Set under `inner`'s lock.
    charge: Charge,
}

#[derive(Debug, Default)]
struct Inner {
    /// Every mark; empty until the first one.
    dead: Vec<u64>,
    /// The latest timestamp of any mark.
    latest: Timestamp,
    /// Marks later than `forgotten`, by timestamp.
    young: Vec<(Timestamp, u32)>,
    /// The same by position.
    young_at: HashMap<u32, Timestamp>,
    forgotten: Timestamp,
    carry: Option<Vec<Mark>>,
}

impl Marks {
    /// No marks on a part of this many rows. Their memory is charged to an account.
    pub(crate) fn new(row_count: usize, account: &Arc<Account>) -> Marks {
        let charge = account.charge(Kept::Marks, 0);
        Marks { row_count, count: AtomicU32::new(0), inner: RwLock::new(Inner::default()), charge }
    }

    /// Marks a row dead from `ts` on; false when it was marked already. The caller holds the mark lock.
    pub(crate) fn set(&self, position: u32, ts: Timestamp) -> bool {
        assert!((position as usize) < self.row_count, "mark {position} lies beyond the part's {} rows", self.row_count);
        let mut inner = self.inner.write();
        if inner.dead.is_empty() {
            inner.dead = vec![0; self.row_count.div_ceil(64)];
        }
        let (word, bit) = (position as usize / 64, 1u64 << (position % 64));
        if inner.dead[word] & bit != 0 {
            let known = inner.young_at.get(&position).copied();
            assert!(
                known.is_none_or(|known| known == ts),
                "row {position} died at {known:?} and again at {ts} (marks 1)"
            );
            return false;
        }
        inner.dead[word] |= bit;
        inner.latest = inner.latest.max(ts);
        if ts > inner.forgotten {
            let at = inner.young.iter().rposition(|&(other, _)| other <= ts).map_or(0, |at| at + 1);
            inner.young.insert(at, (ts, position));
            inner.young_at.insert(position, ts);
        }
        if let Some(carry) = &mut inner.carry {
            carry.push((position, ts));
        }
        inner.check();
        self.charge.set(inner.memory_bytes());
        let before = self.count.fetch_add(1, Ordering::Release);
        assert!((before as usize) < self.row_count, "a part has no more marks than rows (marks 1)");
        true
    }

    /// Marks rows dead from `ts` on, none of which is marked. The caller holds the mark lock.
    pub(crate) fn set_all(&self, positions: &[u32], ts: Timestamp) {
        let mut guard = self.inner.write();
        let inner = &mut *guard;
        if inner.dead.is_empty() {
            inner.dead = vec![0; self.row_count.div_ceil(64)];
        }
        for &position in positions {
            assert!((position as usize) < self.row_count, "mark {position} lies beyond {} rows", self.row_count);
            let (word, bit) = (position as usize / 64, 1u64 << (position % 64));
            assert!(inner.dead[word] & bit == 0, "row {position} died before and again at {ts} (marks 1)");
            inner.dead[word] |= bit;
        }
        inner.latest = inner.latest.max(ts);
        if ts > inner.forgotten {
            let at = inner.young.partition_point(|&(other, _)| other <= ts);
            inner.young.splice(at..at, positions.iter().map(|&position| (ts, position)));
            inner.young_at.extend(positions.iter().map(|&position| (position, ts)));
        }
        if let Some(carry) = &mut inner.carry {
            carry.extend(positions.iter().map(|&position| (position, ts)));
        }
        inner.check();
        self.charge.set(inner.memory_bytes());
        let before = self.count.fetch_add(positions.len() as u32, Ordering::Release);
        assert!(before as usize + positions.len() <= self.row_count, "a part has no more marks than rows (marks 1)");
    }

    /// Sets many marks on a part that nobody else can reach yet.
    pub(crate) fn load(&self, marks: impl IntoIterator<Item = Mark>) {
        let mut marks: Vec<Mark> = marks.into_iter().collect();
        marks.sort_unstable_by_key(|&(position, ts)| (ts, position));
        for (position, ts) in marks {
            self.set(position, ts);
        }
    }

    /// How many rows are marked, at whatever timestamp.
    pub(crate) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// How many rows are dead at `ts`.
    pub(crate) fn count_at(&self, ts: Timestamp) -> u32 {
        if self.count() == 0 {
            return 0;
        }
        let inner = self.inner.read();
        self.count() - (inner.young.len() - inner.up_to(ts)) as u32
    }

    /// The timestamp of the latest mark.
    pub(crate) fn latest(&self) -> Timestamp {
        if self.count() == 0 { Timestamp(0) } else { self.inner.read().latest }
    }

    /// How many marks are kept with their timestamps.
    pub(crate) fn young_count(&self) -> usize {
        self.inner.read().young.len()
    }

    /// Memory of the bitmap and of the young marks, about.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.inner.read().memory_bytes()
    }

    /// Whether the row is marked at all.
    pub(crate) fn is_marked(&self, position: u32) -> bool {
        if self.count() == 0 {
            return false;
        }
        bit(&self.inner.read().dead, position)
    }

    /// Whether the row is dead for a reader at `ts`.
    pub(crate) fn is_dead_at(&self, position: u32, ts: Timestamp) -> bool {
        if self.count() == 0 {
            return false;
        }
        let inner = self.inner.read();
        if !bit(&inner.dead, position) {
            return false;
        }
        ts >= inner.latest || inner.young_at.get(&position).is_none_or(|&death| death <= ts)
    }

    /// The rows dead for a reader at `ts`, 64 per word; none when no row is.
    pub(crate) fn dead_at(&self, ts: Timestamp) -> Option<Vec<u64>> {
        if self.count() == 0 {
            return None;
        }
        let inner = self.inner.read();
        let tail = &inner.young[inner.up_to(ts)..];
        assert!(tail.len() <= self.count() as usize, "young marks are among all marks (marks 2)");
        if tail.len() == self.count() as usize {
            return None;
        }
        let mut dead = inner.dead.clone();
        for &(_, position) in tail {
            dead[position as usize / 64] &= !(1 << (position % 64));
        }
        Some(dead)
    }

    /// Positions marked after `after` and at or before `up_to`, ascending. `after` is not before what is forgotten.
    pub(crate) fn between(&self, after: Timestamp, up_to: Timestamp) -> Vec<u32> {
        if self.count() == 0 {
            return Vec::new();
        }
        let inner = self.inner.read();
        let later = inner.later_than(after).iter();
        let mut positions: Vec<u32> =
            later.take_while(|&&(ts, _)| ts <= up_to).map(|&(_, position)| position).collect();
        positions.sort_unstable();
        positions
    }

    /// The marks later than `after`, which is not before what is forgotten, by position.
    pub(crate) fn later_than(&self, after: Timestamp) -> Vec<Mark> {
        if self.count() == 0 {
            return Vec::new();
        }
        let inner = self.inner.read();
        let mut marks: Vec<Mark> = inner.later_than(after).iter().map(|&(ts, position)| (position, ts)).collect();
        marks.sort_unstable();
        marks
    }

    /// Drops the timestamps of marks at or before `ts`: no snapshot, now or later, tells them apart.
    pub(crate) fn forget(&self, ts: Timestamp) {
        if self.count() == 0 {
            return;
        }
        let mut guard = self.inner.write();
        let inner = &mut *guard;
        if ts <= inner.forgotten {
            return;
        }
        let end = inner.up_to(ts);
        for (_, position) in inner.young.drain(..end) {
            inner.young_at.remove(&position);
        }
        inner.forgotten = ts;
        if inner.young.capacity() > YOUNG_ROOM_MIN.max(4 * inner.young.len()) {
            inner.young.shrink_to(2 * inner.young.len());
            inner.young_at.shrink_to(2 * inner.young_at.len());
        }
        inner.check();
        self.charge.set(inner.memory_bytes());
    }

    /// All marks now, by position (timestamp 0 where it is forgotten), and from here on a list of the new ones.
    pub(crate) fn begin_carry(&self) -> Vec<Mark> {
        let mut guard = self.inner.write();
        let inner = &mut *guard;
        let before = inner.carry.replace(Vec::new());
        assert!(before.is_none(), "a part is in one job at a time (merge 3)");
        let mut marks = Vec::with_capacity(self.count() as usize);
        for (index, &word) in inner.dead.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let position = (index * 64) as u32 + rest.trailing_zeros();
                rest &= rest - 1;
                marks.push((position, inner.young_at.get(&position).copied().unwrap_or_default()));
            }
        }
        assert!(marks.len() == self.count() as usize, "a job takes every mark that was set before its list (marks 3)");
        marks
    }

    /// The marks set since [`Marks::begin_carry`] or the last call.
    pub(crate) fn drain_carry(&self) -> Vec<Mark> {
        self.inner.write().carry.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Ends the list of new marks.
    pub(crate) fn end_carry(&self) {
        self.inner.write().carry = None;
    }
}

impl Inner {
    fn check(&self) {
        assert!(self.young.len() == self.young_at.len(), "young marks are listed by timestamp and by position");
        assert!(
            self.young.first().is_none_or(|(ts, _)| *ts > self.forgotten),
            "what is forgotten is no longer among the young marks (marks 2)"
        );
        assert!(self.young.last().is_none_or(|(ts, _)| *ts <= self.latest), "no mark is later than the latest");
    }

    fn memory_bytes(&self) -> u64 {
        let young = self.young.capacity() * size_of::<(Timestamp, u32)>();
        // A hash map has a byte for each place, and an eighth of them stays free.
        let young_at = self.young_at.capacity() / 7 * 8 * (size_of::<(u32, Timestamp)>() + 1);
        let carry = self.carry.as_ref().map_or(0, |carry| carry.capacity() * size_of::<Mark>());
        (self.dead.capacity() * 8 + young + young_at + carry) as u64
    }

    /// The marks later than `after`, by timestamp (marks 2).
    fn later_than(&self, after: Timestamp) -> &[(Timestamp, u32)] {
        assert!(after >= self.forgotten, "marks up to {} are forgotten, asked from {after} (marks 2)", self.forgotten);
        &self.young[self.up_to(after)..]
    }

    /// How many young marks have a timestamp of at most `ts`.
    fn up_to(&self, ts: Timestamp) -> usize {
        if ts >= self.latest { self.young.len() } else { self.young.partition_point(|&(death, _)| death <= ts) }
    }
}

fn bit(words: &[u64], position: u32) -> bool {
    words.get(position as usize / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ts(n: u64) -> Timestamp {
        Timestamp(n)
    }

    #[test]
    fn a_reader_of_the_past_sees_fewer_marks() {
        let marks = Marks::new(70, &Arc::default());
        assert!(marks.dead_at(ts(100)).is_none());
        for (position, at) in [(3, 11), (69, 15), (0, 12)] {
            assert!(marks.set(position, ts(at)));
        }
        assert!(!marks.set(3, ts(11)), "marks 1");
        assert_eq!(marks.dead_at(ts(12)), Some(vec![0b1001, 0]));
        assert_eq!(marks.dead_at(ts(15)), Some(vec![0b1001, 1 << 5]));
        assert_eq!(marks.dead_at(ts(10)), None);
        assert!(marks.is_dead_at(0, ts(12)) && !marks.is_dead_at(69, ts(14)) && !marks.is_dead_at(1, ts(99)));
        assert_eq!(marks.between(ts(11), ts(15)), vec![0, 69]);
        assert_eq!(marks.later_than(ts(11)), vec![(0, ts(12)), (69, ts(15))]);
        assert_eq!((marks.count_at(ts(11)), marks.count()), (1, 3));
        marks.forget(ts(12));
        assert_eq!(marks.young_count(), 1);
        assert_eq!(marks.dead_at(ts(12)), Some(vec![0b1001, 0]));
        assert_eq!(marks.between(ts(12), ts(20)), vec![69]);
    }

    #[test]
    fn a_mark_is_in_the_snapshot_or_in_the_carry_list() {
        let marks = Marks::new(10, &Arc::default());
        marks.set(1, ts(5));
        assert_eq!(marks.begin_carry(), vec![(1, ts(5))]);
        marks.set(7, ts(6));
        marks.set(7, ts(6));
        assert_eq!(marks.drain_carry(), vec![(7, ts(6))]);
        marks.set(8, ts(7));
        assert_eq!(marks.drain_carry(), vec![(8, ts(7))]);
        marks.end_carry();
        marks.set(9, ts(8));
        assert!(marks.drain_carry().is_empty());
    }

    #[test]
    fn random_marks_agree_with_a_list() {
        let mut state = 3u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..50 {
            let marks = Marks::new(200, &Arc::default());
            let mut list: Vec<Mark> = Vec::new();
            let mut forgotten = 0;
            for step in 1..150u64 {
                let position = random(200) as u32;
                if random(15) == 0 {
                    let free = (0..200).filter(|&p| random(9) == 0 && list.iter().all(|&(other, _)| other != p));
                    let positions: Vec<u32> = free.collect();
                    let at = ts(step.max(forgotten + 1));
                    marks.set_all(&positions, at);
                    list.extend(positions.into_iter().map(|position| (position, at)));
                } else if list.iter().all(|&(other, _)| other != position) {
                    // Installs come nearly in order of timestamps, not quite.
                    let at = ts((step + random(4)).max(forgotten + 1));
                    marks.set(position, at);
                    list.push((position, at));
                }
                if random(20) == 0 {
                    forgotten = forgotten.max(step.saturating_sub(random(30)));
                    marks.forget(ts(forgotten));
                }
                let at = ts(forgotten + random(40));
                let dead = marks.dead_at(at).unwrap_or_else(|| vec![0; 4]);
                for position in 0..200 {
                    let expected = list.iter().any(|&(other, death)| other == position && death <= at);
                    assert_eq!(bit(&dead, position), expected);
                    assert_eq!(marks.is_dead_at(position, at), expected);
                }
                assert_eq!(marks.count_at(at) as usize, list.iter().filter(|mark| mark.1 <= at).count());
            }
        }
    }
}
