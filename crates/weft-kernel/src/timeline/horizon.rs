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
//! 3. A promise keeps the floor from rising beyond it, snapshots or not.
//!
//! Source: DESIGN section 4 (the horizon is one number per table).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::{Code, Error, Result, Timestamp};

use super::Timeline;
use crate::fault::{Fault, active};

/// See above; the catalog has one, too.
pub struct Horizon {
    timeline: Arc<Timeline>,
    floor: AtomicU64,
    /// [`Timestamp::MAX`]: nothing is promised.
    promised: AtomicU64,
}

impl Horizon {
    /// Nothing was dropped yet.
    pub fn new(timeline: Arc<Timeline>) -> Horizon {
        Horizon { timeline, floor: AtomicU64::new(0), promised: AtomicU64::new(Timestamp::MAX.0) }
    }

    /// Moves the floor as far as it may, and needs to: not beyond `at_most`, such as the table's durable cut. What ended
    /// at or before the timestamp that is returned can go.
    pub fn advance(&self, at_most: Timestamp) -> Timestamp {
        let floor = self.timeline.advance(|oldest_from| {
            let floor = self.floor.load(Ordering::Acquire);
            let to = self.reach(oldest_from).min(at_most.0).max(floor);
            self.floor.store(to, Ordering::Release);
            to
        });
        floor.min(at_most)
    }

    /// How far [`Horizon::advance`] could move the floor now: for who asks whether that is worth it.
    pub fn peek(&self) -> Timestamp {
        self.timeline.advance(|oldest_from| self.reach(oldest_from))
    }

    fn reach(&self, oldest_from: &dyn Fn(u64) -> u64) -> u64 {
        let [floor, promised] = [&self.floor, &self.promised].map(|at| at.load(Ordering::Acquire));
        let promised = if active(Fault::FORGET_PROMISE) { u64::MAX } else { promised };
        oldest_from(floor).min(promised).max(floor)
    }

    /// The oldest timestamp that can be read.
    pub fn floor(&self) -> Timestamp {
        Timestamp(self.floor.load(Ordering::Acquire))
    }

    /// Promises to keep what snapshots from `ts` on see, until another promise; [`Timestamp::MAX`] promises nothing.
    /// Returns from where on that holds: what is gone does not come back.
    pub fn keep_from(&self, ts: Timestamp) -> Timestamp {
        self.timeline.advance(|_| {
            self.promised.store(ts.0, Ordering::Release);
            ts.0.max(self.floor.load(Ordering::Acquire))
        })
    }

    /// Tests that a registered snapshot can be read; `what` is a table, or the catalog.
    pub(crate) fn check(&self, ts: Timestamp, what: impl FnOnce() -> String) -> Result<()> {
        let floor = self.floor();
        if floor <= ts || active(Fault::READ_BELOW_FLOOR) {
            return Ok(());
        }
        let message = format!("{} as of commit {ts} is not kept any more", what());
        Err(Error::new(Code::SnapshotTooOld, message).hint(format!("the oldest that can be read is commit {floor}")))
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
    fn only_what_happened_since_the_opening_is_registered() {
        let timeline = Timeline::new(Timestamp(41));
        let code = |ts| timeline.register_past(Timestamp(ts)).map_err(|error| error.code());
        assert_eq!((code(40), code(42)), (Err(Code::SnapshotTooOld), Err(Code::InvalidParameterValue)));
        assert_eq!(code(41), Ok(()));
        timeline.recover_to(Timestamp(44));
        assert_eq!(code(43), Err(Code::SnapshotTooOld));
    }
}
