//! Moments: which commit was the last one then, and how far back tables keep what they had.
//!
//! ```text
//!   commit_at 10:00:02      42: it is published before the answer is given, and nothing comes before 10:00:02 any more
//!   every second            table t, history '1 hour': promises to keep what snapshots since 09:00:02 see
//! ```
//!
//! 1. A moment has one answer for ever (walls 2).

use std::sync::atomic::Ordering;

use weft_format::{Code, Error, Result, Timestamp};

use crate::txn::{Core, Engine};

/// How often promises follow the clock.
const PROMISE_NANOS: u64 = 1_000_000_000;

impl Engine {
    /// The last commit at or before a moment, microseconds since 1970-01-01 UTC. Waits until it can be seen; no later
    /// commit counts as made at or before the moment.
    ///
    /// # Errors
    /// [`Code::InvalidParameterValue`] of a moment that is to come; [`Code::SnapshotTooOld`] where commits are not told
    /// apart any more.
    pub fn commit_at(&self, micros: i64) -> Result<Timestamp> {
        let core = &self.core;
        if core.follows {
            return core.timeline.walls.at_known(micros);
        }
        let ts = core.timeline.walls.at(micros, core.env.clock.wall_micros())?;
        core.timeline.wait_published(ts)?;
        Ok(ts)
    }

    /// The same of a moment that may be to come: the last commit that is published.
    ///
    /// # Errors
    /// [`Code::SnapshotTooOld`] where commits are not told apart any more.
    pub fn commit_by(&self, micros: i64) -> Result<Timestamp> {
        match self.commit_at(micros) {
            // No other moment is refused so.
            Err(error) if error.code() == Code::InvalidParameterValue => Ok(self.core.timeline.published()),
            found => found,
        }
    }

    /// When a commit was made, as far as that is known, microseconds since 1970-01-01 UTC: of one that is not told
    /// apart any more the wall of the next that is, which is in the same second, minute or hour.
    pub fn commit_time_about(&self, ts: Timestamp) -> Option<i64> {
        self.core.timeline.walls.since(ts)
    }

    /// When a commit was made, microseconds since 1970-01-01 UTC; none when that is not known, or not any more.
    pub fn commit_time(&self, ts: Timestamp) -> Option<i64> {
        self.core.timeline.walls.of(ts)
    }

    /// A commit that somebody names, once it can be seen.
    ///
    /// # Errors
    /// [`Code::InvalidParameterValue`] when it has not happened.
    pub fn commit_named(&self, ts: Timestamp) -> Result<Timestamp> {
        let timeline = &self.core.timeline;
        if ts > timeline.last_sequenced() {
            let error = Error::new(Code::InvalidParameterValue, format!("commit {ts} has not happened"));
            return Err(error.hint(format!("the last one is {}", timeline.published())));
        }
        timeline.wait_published(ts)?;
        Ok(ts)
    }
}

impl Core {
    /// [`Core::keep_promises`], once a second.
    pub(super) fn keep_promises_now_and_then(&self) {
        let now = self.env.clock.monotonic_nanos();
        let last = self.promised_nanos.load(Ordering::Relaxed);
        if now.saturating_sub(last) >= PROMISE_NANOS {
            self.promised_nanos.store(now, Ordering::Relaxed);
            self.keep_promises();
        }
    }
}

#[cfg(test)]
mod tests;
