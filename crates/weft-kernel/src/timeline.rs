//! Timestamps: handed out in log order, published in that order; snapshots registered.
//!
//! ```text
//!   published 41      sequenced 44      42 installing   43 installed   44 in the log
//!   42 is done  →  published 43         43 was waiting for 42 and goes on
//!   44 failed in the log → void: published 44, and nothing is to be seen of it
//! ```
//!
//! Who waits for a timestamp is woken when that is published, not each time something is: of a thousand commits of one
//! log block each wakes the next.

mod horizon;
mod said;
mod walls;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sync::{Mutex, MutexGuard};
use weft_format::{Code, Error, Result, Timestamp};

pub use horizon::Horizon;
pub(crate) use horizon::Look;
pub(crate) use said::said;
pub(crate) use walls::{WallImage, put_walls, read_walls};

use walls::Walls;

use crate::sleeper::Sleeper;

/// The clock of one engine.
pub struct Timeline {
    last_sequenced: AtomicU64,
    published: AtomicU64,
    publication: Mutex<Publication>,
    registered: Mutex<Registered>,
    /// What was published when the engine was opened: nothing older can be registered, or is kept by anybody.
    opened_at: AtomicU64,
    /// The oldest that anything on disk knows of.
    known_from: AtomicU64,
    /// When commits were made.
    pub(crate) walls: Walls,
}

#[derive(Default)]
struct Publication {
    /// Timestamps above `published` that are installed or void.
    done: BTreeSet<u64>,
    /// Publication has stopped for good: an installation failed.
    halted: bool,
    /// Who waits, by the timestamp that each waits for.
    sleepers: BTreeMap<u64, Vec<Arc<Sleeper>>>,
}

/// Registered timestamps with their counts, ascending: those of what is published come at the end.
#[derive(Default)]
struct Registered {
    counts: VecDeque<(u64, u32)>,
    /// Entries of `counts` that are zero.
    empty: usize,
    /// From where on tables have promised to keep their versions, and how many promise it.
    promises: BTreeMap<u64, u32>,
    /// How far the catalog has forgotten.
    catalog_floor: u64,
}

impl Registered {
    fn register(&mut self, ts: u64) {
        match self.counts.back_mut() {
            Some((last, count)) if *last == ts => {
                self.empty -= usize::from(*count == 0);
                *count += 1;
            }
            last => {
                assert!(last.is_none_or(|(last, _)| *last < ts), "published went back (txn 4)");
                self.counts.push_back((ts, 1));
            }
        }
    }

    /// Registers a timestamp that may lie in the past.
    fn register_past(&mut self, ts: u64) {
        let at = self.counts.partition_point(|&(other, _)| other < ts);
        match self.counts.get_mut(at) {
            Some((found, count)) if *found == ts => {
                self.empty -= usize::from(*count == 0);
                *count += 1;
            }
            _ => self.counts.insert(at, (ts, 1)),
        }
    }

    /// The oldest registered timestamp from `ts` on.
    fn oldest_from(&self, ts: u64) -> Option<u64> {
        let at = self.counts.partition_point(|&(other, _)| other < ts);
        self.counts.range(at..).find(|&&(_, count)| count > 0).map(|&(ts, _)| ts)
    }

    fn release(&mut self, ts: u64) {
        let at = self.counts.partition_point(|&(other, _)| other < ts);
        let entry = self.counts.get_mut(at).filter(|entry| entry.0 == ts && entry.1 > 0);
        let entry = entry.expect("a snapshot is released once");
        entry.1 -= 1;
        self.empty += usize::from(entry.1 == 0);
        while let Some((_, 0)) = self.counts.front() {
            self.counts.pop_front();
            self.empty -= 1;
        }
        // Behind one old snapshot many short ones come and go.
        if self.empty > 64 && self.empty > self.counts.len() / 2 {
            self.counts.retain(|&(_, count)| count > 0);
            self.empty = 0;
        }
        debug_assert!(
            self.counts.iter().filter(|(_, count)| *count == 0).count() == self.empty,
            "each entry without a snapshot is counted as empty"
        );
        assert!(self.empty < self.counts.len().max(1), "the oldest entry is that of a registered snapshot (txn 1)");
    }
}

impl Timeline {
    /// A timeline that goes on behind `last`.
    pub fn new(last: Timestamp) -> Timeline {
        Timeline {
            last_sequenced: AtomicU64::new(last.0),
            published: AtomicU64::new(last.0),
            publication: Mutex::default(),
            registered: Mutex::default(),
            opened_at: AtomicU64::new(last.0),
            known_from: AtomicU64::new(u64::MAX),
            walls: Walls::default(),
        }
    }

    /// The last timestamp handed out, published or not.
    pub fn last_sequenced(&self) -> Timestamp {
        Timestamp(self.last_sequenced.load(Ordering::Acquire))
    }

    /// Everything up to this timestamp is installed.
    pub fn published(&self) -> Timestamp {
        Timestamp(self.published.load(Ordering::Acquire))
    }

    /// Below the oldest registered snapshot and below every future one of what is published.
    pub fn oldest(&self) -> Timestamp {
        Timestamp(self.oldest_from(&self.registered.lock(), 0))
    }

    /// The oldest registered snapshot from a timestamp on; what is published when there is none.
    fn oldest_from(&self, registered: &Registered, from: u64) -> u64 {
        let published = self.published.load(Ordering::Acquire);
        let newest = registered.counts.back().map(|&(ts, _)| ts);
        assert!(newest.is_none_or(|newest| newest <= published), "a snapshot is of what was published (txn 1)");
        registered.oldest_from(from).unwrap_or(published)
    }

    /// Something has kept its past from `ts` on.
    fn knows_from(&self, ts: u64) {
        self.known_from.fetch_min(ts, Ordering::AcqRel);
    }

    /// The oldest commit that anything can be read as of.
    fn known_from(&self) -> Timestamp {
        Timestamp(self.opened_at.load(Ordering::Acquire).min(self.known_from.load(Ordering::Acquire)))
    }

    /// A commit that cannot be read, in an error's text.
    fn missed(&self, ts: Timestamp) -> String {
        self.walls.of(ts).map_or_else(|| ts.to_string(), |wall| format!("{ts}, of {}", said(wall)))
    }

    /// A commit in an error's text: its number, and the moment from which it is seen.
    fn named(&self, ts: Timestamp) -> String {
        self.walls.since(ts).map_or_else(|| ts.to_string(), |wall| format!("{ts}, of {}", said(wall)))
    }

    /// The engine is open: what was before is past for good.
    pub(crate) fn opened(&self) {
        self.opened_at.store(self.published.load(Ordering::Acquire), Ordering::Release);
    }

    /// Takes the published timestamp and registers it, in one step (txn 1).
    pub fn register(&self) -> Timestamp {
        let mut registered = self.registered.lock();
        let ts = self.published.load(Ordering::Acquire);
        registered.register(ts);
        Timestamp(ts)
    }

    /// Registers a snapshot of the past. What is left of it each table knows ([`Horizon`]).
    ///
    /// # Errors
    /// [`Code::SnapshotTooOld`] before everything that is known, [`Code::InvalidParameterValue`] beyond what is
    /// published.
    pub(crate) fn register_past(&self, ts: Timestamp) -> Result<()> {
        let mut registered = self.registered.lock();
        let published = self.published.load(Ordering::Acquire);
        let oldest = self.known_from();
        if ts.0 > published {
            let message = format!("commit {ts} has not happened");
            return Err(Error::new(Code::InvalidParameterValue, message).hint(format!("the last one is {published}")));
        }
        if ts < oldest {
            let message = format!("commit {} is not kept any more", self.missed(ts));
            let hint = format!("the oldest that can be read is commit {}", self.named(oldest));
            return Err(Error::new(Code::SnapshotTooOld, message).hint(hint));
        }
        registered.register_past(ts.0);
        Ok(())
    }

    /// Registers a published timestamp that is kept already: another snapshot is registered at it, or before it.
    pub(crate) fn register_kept(&self, ts: Timestamp) {
        let mut registered = self.registered.lock();
        let is_kept = registered.oldest_from(0).is_some_and(|oldest| oldest <= ts.0);
        assert!(is_kept && ts <= self.published(), "what is kept is registered, and published");
        registered.register_past(ts.0);
    }

    /// Ends a registration.
    pub fn release(&self, ts: Timestamp) {
        self.registered.lock().release(ts.0);
    }

    /// How many snapshots are registered.
    pub fn snapshot_count(&self) -> u64 {
        self.registered.lock().counts.iter().map(|&(_, count)| u64::from(count)).sum()
    }

    /// The last timestamp handed out becomes `ts`. The caller holds the sequencing latch.
    pub(crate) fn sequence(&self, ts: Timestamp) {
        assert_eq!(ts, self.last_sequenced().next(), "timestamps are handed out one by one (txn 2)");
        self.last_sequenced.store(ts.0, Ordering::Release);
    }

    /// Recovery has come to a commit, or a follower has applied one.
    pub(crate) fn recover_to(&self, ts: Timestamp) {
        self.last_sequenced.fetch_max(ts.0, Ordering::AcqRel);
        self.published.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// A follower has come to a commit of the log, which is sequenced there; published is what it has applied before.
    pub(crate) fn follow_to(&self, ts: Timestamp) {
        assert!(ts > self.published(), "commits are followed in their order: {ts} after {}", self.published());
        self.last_sequenced.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// A timestamp is installed: waits until it and all lower ones are published.
    pub(crate) fn publish(&self, ts: Timestamp) -> Result<()> {
        if crate::fault::active(crate::fault::Fault::PUBLISH_OUT_OF_ORDER) {
            self.published.fetch_max(ts.0, Ordering::AcqRel);
            return Ok(());
        }
        let mut publication = self.publication.lock();
        self.done(&mut publication, ts);
        if self.wait(publication, ts) {
            return Ok(());
        }
        let message = format!("commit {ts} is in the log but an earlier one could not be installed");
        Err(Error::new(Code::Poisoned, message).hint("reopen the database; the commit will be there"))
    }

    /// A timestamp will never be installed: later ones need not wait for it.
    pub(crate) fn void(&self, ts: Timestamp) {
        self.done(&mut self.publication.lock(), ts);
    }

    /// Publication stops for good; those who wait are told.
    pub(crate) fn halt(&self) {
        let mut publication = self.publication.lock();
        publication.halted = true;
        let all = std::mem::take(&mut publication.sleepers);
        drop(publication);
        all.values().flatten().for_each(|sleeper| sleeper.release());
    }

    /// Waits until everything handed out so far is published or void.
    pub(crate) fn settle(&self) -> Result<()> {
        self.wait_published(self.last_sequenced())
    }

    /// Waits until a timestamp that was handed out, and all before it, are published or void.
    pub(crate) fn wait_published(&self, target: Timestamp) -> Result<()> {
        if self.published() >= target {
            return Ok(());
        }
        if self.wait(self.publication.lock(), target) {
            return Ok(());
        }
        Err(Error::new(Code::Poisoned, "a commit could not be installed").hint("reopen the database"))
    }

    /// Waits until a timestamp is published; false when publication has stopped before it.
    fn wait(&self, mut publication: MutexGuard<'_, Publication>, ts: Timestamp) -> bool {
        if self.published() < ts && !publication.halted {
            let sleeper = Arc::<Sleeper>::default();
            publication.sleepers.entry(ts.0).or_default().push(sleeper.clone());
            drop(publication);
            sleeper.sleep_soundly();
        }
        self.published() >= ts
    }

    fn done(&self, publication: &mut Publication, ts: Timestamp) {
        assert!(ts <= self.last_sequenced(), "what is published or void was handed out (txn 2)");
        let before = self.published.load(Ordering::Acquire);
        let mut published = before;
        if published + 1 == ts.0 {
            published = ts.0;
        } else {
            assert!(publication.done.insert(ts.0) && ts.0 > published, "timestamp {ts} is done twice (txn 4)");
        }
        while publication.done.first() == Some(&(published + 1)) {
            publication.done.pop_first();
            published += 1;
        }
        if published != before {
            self.published.store(published, Ordering::Release);
            while let Some(first) = publication.sleepers.first_entry()
                && *first.key() <= published
            {
                first.remove().iter().for_each(|sleeper| sleeper.release());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let timeline = Timeline::new(Timestamp(41));
        (42..=45).for_each(|ts| timeline.sequence(Timestamp(ts)));
        timeline
    }

    #[test]
    fn publication_is_in_order_and_skips_void_timestamps() {
        let timeline = timeline();
        timeline.void(Timestamp(44));
        timeline.void(Timestamp(43));
        assert_eq!(timeline.published(), Timestamp(41));
        timeline.publish(Timestamp(42)).unwrap();
        assert_eq!(timeline.published(), Timestamp(44));
    }

    #[test]
    fn a_halt_tells_those_who_wait() {
        let timeline = timeline();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| timeline.publish(Timestamp(43)));
            timeline.halt();
            assert_eq!(waiting.join().unwrap().unwrap_err().code(), Code::Poisoned);
        });
        assert_eq!(timeline.published(), Timestamp(41));
    }

    #[test]
    fn the_horizon_is_the_oldest_registered_snapshot() {
        let timeline = timeline();
        assert_eq!(timeline.oldest(), Timestamp(41));
        let old = timeline.register();
        timeline.publish(Timestamp(42)).unwrap();
        let new = timeline.register();
        assert_eq!((old, new, timeline.oldest()), (Timestamp(41), Timestamp(42), Timestamp(41)));
        timeline.release(old);
        assert_eq!(timeline.oldest(), Timestamp(42));
        timeline.release(new);
        timeline.publish(Timestamp(43)).unwrap();
        assert_eq!((timeline.oldest(), timeline.snapshot_count()), (Timestamp(43), 0));
    }

    #[test]
    fn one_old_snapshot_does_not_keep_the_others_entries() {
        let timeline = Timeline::new(Timestamp(0));
        let old = timeline.register();
        for ts in 1..10_000 {
            timeline.sequence(Timestamp(ts));
            timeline.publish(Timestamp(ts)).unwrap();
            let short = timeline.register();
            timeline.release(short);
        }
        assert!(timeline.registered.lock().counts.len() < 200);
        assert_eq!(timeline.oldest(), old);
    }
}
