//! How many committers a writer waits for, and how long: learned from the batches before.
//!
//! ```text
//!   4 threads commit all the time, one sync takes 110 us
//!   without    [2 commits][2][2][2]                 each batch has who came while the other was written: 2 per 110 us
//!   with       [4 commits] ~50 us [4 commits]       the writer lets the 4 of the last batch come back: 4 per 160 us
//! ```
//!
//! 1. Who commits alone never waits: only who was there during the last write is waited for.
//! 2. The wait is no longer than half of what one write took lately. After waiting in vain the next batch does not
//!    wait, after the second time the next 2, then 4, ... 64; a wait that paid takes back one vain one.

/// A writer never waits longer than this, however slow the disk.
const PATIENCE_NS_MAX: u64 = 1_000_000;
/// After so many vain waits the pauses stop growing: 64 batches.
const PAUSE_SHIFT_MAX: u32 = 6;

/// What was learned.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// Committers present at the end of the last write: in the batch or waiting for the next.
    expected: u32,
    /// Committers the writer waits for now; 0 when it does not wait.
    target: u32,
    /// How long a write takes, a running mean.
    write_ns: u64,
    /// Vain waits, less those that paid.
    vain: u32,
    /// Batches that will not wait.
    pause: u32,
}

impl Gather {
    /// Whether to wait, given who is there; the answer is the patience.
    pub(crate) fn begin(&mut self, waiters: u32) -> Option<u64> {
        if waiters >= self.expected {
            return None;
        }
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        assert!(self.target == 0, "one writer at a time waits for committers (writer 1)");
        self.target = self.expected;
        Some((self.write_ns / 2).min(PATIENCE_NS_MAX))
    }

    /// Whether the writer waits no longer for more than these.
    pub(crate) fn is_complete(&self, waiters: u32) -> bool {
        self.target > 0 && waiters >= self.target
    }

    /// The wait is over.
    pub(crate) fn end(&mut self, waiters: u32) {
        assert!(self.target > 0, "a wait for committers that ends has begun");
        if self.is_complete(waiters) {
            self.vain = self.vain.saturating_sub(1);
        } else {
            self.pause = 1 << self.vain;
            self.vain = (self.vain + 1).min(PAUSE_SHIFT_MAX);
        }
        self.target = 0;
    }

    /// A write ended after so long, with so many committers present.
    pub(crate) fn learn(&mut self, present: u32, elapsed_ns: u64) {
        self.expected = present;
        self.write_ns = (self.write_ns * 7 + elapsed_ns) / 8;
    }
}
