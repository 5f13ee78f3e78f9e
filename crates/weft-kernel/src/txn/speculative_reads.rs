//! What a transaction does with [speculation](super::speculation): turns it on, takes snapshots with it, and validates
//! what it has read.

#[cfg(doc)]
use weft_format::Code;
use weft_format::{Result, Timestamp};

use super::level::IsolationLevel;
use super::speculation::{PendingWatch, Speculation};
use super::transaction::Transaction;

impl Transaction {
    /// Turns speculative reads on or off, and takes a new snapshot. With them, reads see commits that wait for their
    /// place in the log to become durable; taking the first lock, and committing, waits until those that were seen are
    /// published, and fails with [`Code::SerializationFailure`] when one of them failed. Only before anything was
    /// locked or staged.
    pub fn set_speculative_reads(&mut self, on: bool) -> Result<()> {
        if on == self.speculation.is_some() {
            return Ok(());
        }
        assert!(self.is_read_only(), "speculative reads are set before anything is staged");
        if on {
            self.speculation = Some(Speculation::new(PendingWatch::new(self.engine.clone())));
        } else {
            self.settle_reads()?;
            self.speculation = None;
        }
        self.move_snapshot(self.level)
    }

    /// Whether reads are speculative: then even a transaction that has only read must commit, for its answers to count.
    pub fn is_speculative(&self) -> bool {
        self.speculation.is_some()
    }

    /// Ends the snapshot's speculation, for the next one; what was noted stays to be validated.
    pub(super) fn end_speculative_snapshot(&mut self) -> Result<()> {
        let Some(speculation) = &mut self.speculation else { return Ok(()) };
        speculation.end_snapshot();
        // Restarts of a statement would find it again and again.
        speculation.check_void()
    }

    /// Registers a snapshot, and shows what is pending behind it when the transaction speculates.
    pub(super) fn register_speculative(&mut self, level: IsolationLevel) -> Result<Timestamp> {
        let engine = self.engine.clone();
        let core = &engine.core;
        let speculates = self.is_read_only() && self.locks.count() == 0;
        loop {
            let (read_ts, pending) = core.recent.register_pending(level, &core.timeline, &core.sequencer)?;
            let Some(speculation) = self.speculation.as_mut().filter(|_| speculates) else { return Ok(read_ts) };
            let is_behind = pending.first().is_none_or(|commit| commit.ts > read_ts);
            assert!(is_behind, "what is shown beside a snapshot is right behind it (speculation 1)");
            // What an earlier statement has seen is seen by the next one, too.
            let last = pending.last().map_or(read_ts, |commit| commit.ts);
            match speculation.last_earlier().filter(|&earlier| earlier > last) {
                Some(earlier) => {
                    core.recent.release_of(level, read_ts, &core.timeline);
                    core.timeline.wait_published(earlier)?;
                    speculation.check_void()?;
                }
                None => {
                    speculation.show(pending);
                    return Ok(read_ts);
                }
            }
        }
    }

    /// Waits until every commit that was noted is published, and fails when one is void (speculation 3).
    pub(super) fn settle_reads(&mut self) -> Result<()> {
        let Some(speculation) = &mut self.speculation else { return Ok(()) };
        let last = speculation.end_snapshot();
        if let Some(earlier) = speculation.last_earlier() {
            self.engine.core.timeline.wait_published(earlier)?;
            speculation.check_void()?;
            speculation.settled();
        }
        assert!(last.is_none_or(|last| last > self.read_ts), "what was noted is behind the snapshot (speculation 1)");
        // Still registered as what it was, which keeps what is visible from there on.
        self.read_ts = last.unwrap_or(self.read_ts);
        Ok(())
    }
}
