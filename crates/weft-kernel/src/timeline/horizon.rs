//! How far back a table can be read.
//!
//! ```text
//!   published 50      registered 31, 44      floor of t: 40      floor of u: 20
//!   t  ── 40 ═══ 44 ─────── 50     44 keeps its horizon; 31 reads u alone, and is told so when it asks for t
//!   u  ── 20 ══ 31 ──────── 50     31 keeps its horizon
//! ```
//!
//! A job asks for the horizon and drops what ended at or before it; from then on that is the table's floor.
//!
//! 1. The floor never goes back, and no registered snapshot from it on is behind it: both change under the lock under
//!    which snapshots are registered. So who has registered a timestamp and finds the floor at or below it can read
//!    the table for as long as it likes.
//! 2. A snapshot of what is published is at or above every floor.
//! 3. A promise keeps the floor from rising beyond it, snapshots or not, and the catalog's with it.
//! 4. The floor is never before the opening, unless the method says from where on its files know more
//!    ([`Horizon::known_from`]).
//!
//! Source: DESIGN section 4 (the horizon is one number per table).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::{Code, Error, Result, Timestamp};

use super::{Registered, Timeline};
use crate::fault::{Fault, active};

/// See above; the catalog has one, too.
pub struct Horizon {
    timeline: Arc<Timeline>,
    floor: AtomicU64,
    /// What is on disk knows the past from here on; [`Timestamp::MAX`]: from the opening.
    known_from: AtomicU64,
    /// [`Timestamp::MAX`]: nothing is promised.
    promised: AtomicU64,
    /// It is the catalog's: what any table promises binds it.
    is_catalogs: bool,
}

/// A snapshot that is registered for as long as this lives.
pub(crate) struct Look {
    timeline: Arc<Timeline>,
    pub(crate) read_ts: Timestamp,
}

impl Drop for Look {
    fn drop(&mut self) {
        self.timeline.release(self.read_ts);
    }
}

impl Horizon {
    /// That of a table which has dropped nothing since the engine was opened.
    pub fn new(timeline: Arc<Timeline>) -> Horizon {
        Horizon::of(timeline, false)
    }

    /// That of the catalog.
    pub(crate) fn of_catalog(timeline: Arc<Timeline>) -> Horizon {
        Horizon::of(timeline, true)
    }

    fn of(timeline: Arc<Timeline>, is_catalogs: bool) -> Horizon {
        let promised = AtomicU64::new(Timestamp::MAX.0);
        let known_from = AtomicU64::new(Timestamp::MAX.0);
        Horizon { timeline, floor: AtomicU64::new(0), known_from, promised, is_catalogs }
    }

    /// Moves the floor as far as it may, and needs to: not beyond `at_most`, such as the table's durable cut. What
    /// ended at or before the timestamp that is returned can go.
    pub fn advance(&self, at_most: Timestamp) -> Timestamp {
        let mut registered = self.timeline.registered.lock();
        let floor = self.floor().0;
        let to = self.reach(&registered).min(at_most.0).max(floor);
        self.floor.store(to, Ordering::Release);
        if self.is_catalogs {
            registered.catalog_floor = to;
        }
        Timestamp(to).min(at_most)
    }

    /// How far [`Horizon::advance`] could move the floor now: for who asks whether that is worth it.
    pub fn peek(&self) -> Timestamp {
        Timestamp(self.reach(&self.timeline.registered.lock()))
    }

    /// Registers a snapshot of what is published, for who looks at rows beside any transaction.
    pub(crate) fn look(&self) -> Look {
        Look { read_ts: self.timeline.register(), timeline: self.timeline.clone() }
    }

    fn reach(&self, registered: &Registered) -> u64 {
        let floor = self.floor().0;
        let promised = match registered.promises.keys().next() {
            _ if active(Fault::FORGET_PROMISE) => u64::MAX,
            Some(first) if self.is_catalogs => *first,
            _ => self.promised.load(Ordering::Acquire),
        };
        self.timeline.oldest_from(registered, floor).min(promised).max(floor)
    }

    /// The oldest timestamp that can be read.
    pub fn floor(&self) -> Timestamp {
        let opened_at = self.timeline.opened_at.load(Ordering::Acquire);
        let known_from = self.known_from.load(Ordering::Acquire).min(opened_at);
        Timestamp(self.floor.load(Ordering::Acquire).max(known_from))
    }

    /// What is on disk knows the past from `ts` on: a method says so when it opens a table, before anybody reads it.
    pub fn known_from(&self, ts: Timestamp) {
        assert!(ts < Timestamp::MAX, "who knows nothing of the past says nothing");
        self.known_from.store(ts.0, Ordering::Release);
        self.timeline.knows_from(ts.0);
    }

    /// Nothing before `ts` can be read: the rows are stored anew from there on, under another table or with other
    /// values.
    pub fn begins_at(&self, ts: Timestamp) {
        let registered = self.timeline.registered.lock();
        self.floor.fetch_max(ts.0, Ordering::AcqRel);
        drop(registered);
    }

    /// Promises to keep what snapshots from `ts` on see, until another promise; [`Timestamp::MAX`] promises nothing.
    /// Returns from where on that holds: what is gone, of the table or of the definitions, does not come back.
    pub fn keep_from(&self, ts: Timestamp) -> Timestamp {
        let mut registered = self.timeline.registered.lock();
        let kept = ts.max(self.floor()).0.max(registered.catalog_floor);
        self.promise(&mut registered, kept);
        Timestamp(kept)
    }

    /// From where on is promised; [`Timestamp::MAX`]: nothing.
    pub(crate) fn promised(&self) -> Timestamp {
        Timestamp(self.promised.load(Ordering::Acquire))
    }

    fn promise(&self, registered: &mut Registered, kept: u64) {
        let before = self.promised.swap(kept, Ordering::AcqRel);
        if before != Timestamp::MAX.0 {
            let count = registered.promises.get_mut(&before).expect("a promise is counted while it holds");
            *count -= 1;
            if *count == 0 {
                registered.promises.remove(&before);
            }
        }
        if kept != Timestamp::MAX.0 {
            *registered.promises.entry(kept).or_default() += 1;
        }
    }

    /// Tests that a registered snapshot can be read; `what` is a table, or the catalog.
    pub(crate) fn check(&self, ts: Timestamp, what: impl FnOnce() -> String) -> Result<()> {
        let floor = self.floor();
        if floor <= ts || active(Fault::READ_BELOW_FLOOR) {
            return Ok(());
        }
        let (what, timeline) = (what(), &self.timeline);
        let message = format!("{what} as of commit {} is not kept any more", timeline.missed(ts));
        let hint = format!("the oldest that can be read is commit {}", timeline.named(floor));
        Err(Error::new(Code::SnapshotTooOld, message).hint(hint))
    }
}

impl Drop for Horizon {
    fn drop(&mut self) {
        let timeline = Arc::clone(&self.timeline);
        self.promise(&mut timeline.registered.lock(), Timestamp::MAX.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is published, and the horizon of a table.
    fn at(published: u64) -> (Arc<Timeline>, Horizon) {
        let timeline = Arc::new(Timeline::new(Timestamp(0)));
        for ts in 1..=published {
            timeline.sequence(Timestamp(ts));
            timeline.publish(Timestamp(ts)).unwrap();
        }
        (timeline.clone(), Horizon::new(timeline))
    }

    const END: Timestamp = Timestamp::MAX;

    #[test]
    fn a_snapshot_of_the_past_keeps_the_horizons_that_are_not_beyond_it() {
        let (timeline, t) = at(50);
        let u = Horizon::new(timeline.clone());
        assert_eq!((t.advance(Timestamp(40)), t.floor()), (Timestamp(40), Timestamp(40)));
        timeline.register_past(Timestamp(31)).unwrap();
        assert_eq!(t.check(Timestamp(31), || "t".into()).unwrap_err().code(), Code::SnapshotTooOld);
        assert!(u.check(Timestamp(31), || "u".into()).is_ok());
        assert_eq!((t.advance(END), u.advance(END)), (Timestamp(50), Timestamp(31)), "31 does not read t");
        timeline.release(Timestamp(31));
        assert_eq!(u.advance(END), Timestamp(50));
    }

    #[test]
    fn the_floor_rises_as_far_as_needed_and_never_sinks() {
        let (timeline, t) = at(50);
        let now = timeline.register();
        timeline.register_past(Timestamp(44)).unwrap();
        timeline.register_past(Timestamp(44)).unwrap();
        assert_eq!((t.peek(), t.floor()), (Timestamp(44), Timestamp(0)), "a look changes nothing");
        assert_eq!(t.advance(Timestamp(12)), Timestamp(12));
        assert_eq!((t.advance(END), t.floor()), (Timestamp(44), Timestamp(44)));
        assert_eq!(t.advance(Timestamp(12)), Timestamp(12), "no more is given up than was asked for");
        assert_eq!(t.floor(), Timestamp(44));
        timeline.release(Timestamp(44));
        assert_eq!(t.advance(END), Timestamp(44), "another has it");
        timeline.release(Timestamp(44));
        assert_eq!(t.advance(END), now);
        timeline.release(now);
    }

    #[test]
    fn what_is_promised_stays_and_what_is_gone_does_not_come_back() {
        let (_, t) = at(50);
        assert_eq!(t.keep_from(Timestamp(20)), Timestamp(20));
        assert_eq!(t.advance(END), Timestamp(20));
        assert_eq!(t.keep_from(Timestamp(30)), Timestamp(30));
        assert_eq!(t.advance(END), Timestamp(30));
        assert_eq!(t.keep_from(Timestamp(10)), Timestamp(30));
        assert_eq!(t.keep_from(Timestamp::MAX), Timestamp::MAX);
        assert_eq!(t.advance(END), Timestamp(50));
    }

    #[test]
    fn a_promise_binds_the_catalog_for_as_long_as_the_table_is_there() {
        let (timeline, t) = at(50);
        let (u, catalog) = (Horizon::new(timeline.clone()), Horizon::of_catalog(timeline));
        assert_eq!(catalog.advance(Timestamp(10)), Timestamp(10));
        assert_eq!((t.keep_from(Timestamp(5)), u.keep_from(Timestamp(30))), (Timestamp(10), Timestamp(30)));
        assert_eq!((t.advance(END), catalog.advance(END)), (Timestamp(10), Timestamp(10)));
        drop(t);
        assert_eq!(catalog.advance(END), Timestamp(30));
        u.keep_from(Timestamp::MAX);
        assert_eq!(catalog.advance(END), Timestamp(50));
    }

    #[test]
    fn nothing_before_the_opening_is_kept_or_promised() {
        let (timeline, t) = at(50);
        timeline.opened();
        assert_eq!((t.floor(), t.keep_from(Timestamp(20))), (Timestamp(50), Timestamp(50)));
        assert_eq!(t.check(Timestamp(49), || "t".into()).unwrap_err().code(), Code::SnapshotTooOld);
    }

    #[test]
    fn what_is_known_from_before_the_opening_is_read_and_promised() {
        let (timeline, t) = at(50);
        let u = Horizon::new(timeline.clone());
        t.known_from(Timestamp(20));
        timeline.opened();
        assert_eq!((t.floor(), u.floor()), (Timestamp(20), Timestamp(50)));
        assert_eq!(timeline.register_past(Timestamp(19)).unwrap_err().code(), Code::SnapshotTooOld);
        timeline.register_past(Timestamp(20)).unwrap();
        assert!(t.check(Timestamp(20), || "t".into()).is_ok());
        assert_eq!(u.check(Timestamp(20), || "u".into()).unwrap_err().code(), Code::SnapshotTooOld);
        assert_eq!(t.keep_from(Timestamp(10)), Timestamp(20));
        timeline.release(Timestamp(20));
        assert_eq!(t.keep_from(Timestamp(30)), Timestamp(30));
        assert_eq!((t.advance(END), t.floor()), (Timestamp(30), Timestamp(30)));
        u.begins_at(Timestamp(50));
        assert_eq!(u.floor(), Timestamp(50));
    }

    #[test]
    fn only_what_happened_since_the_opening_is_registered() {
        let timeline = Timeline::new(Timestamp(41));
        let code = |ts| timeline.register_past(Timestamp(ts)).map_err(|error| error.code());
        assert_eq!((code(40), code(42)), (Err(Code::SnapshotTooOld), Err(Code::InvalidParameterValue)));
        assert_eq!(code(41), Ok(()));
        timeline.recover_to(Timestamp(44));
        assert_eq!(code(43), Ok(()), "who follows goes on, and its past is there");
        timeline.opened();
        assert_eq!(code(43), Err(Code::SnapshotTooOld));
    }
}
