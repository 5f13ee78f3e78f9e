//! Evicted blocks that wait to be freed.
//!
//! ```text
//!   evicting thread   [x 64 KB] ──▶ waiting [x][y][z]   above a quarter of the bound: rings
//!   job               takes all, frees x and z; a reader holds y: back to the waiting ones, looked at again next time
//! ```
//!
//! 1. The bytes waiting are at most the bound. What does not fit under it is freed by the evicting thread.
//! 2. No lock is held while a block is freed.
//! 3. Without a job nothing waits.
//!
//! Concurrency: one mutex, held for moments. Crash: nothing to find.
//!
//! Source: SG-ColBase section 6.3. Counted references stand in for the paper's lock per block, so nobody waits.

use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};

use super::blocks::Evicted;

/// Where evicted blocks wait.
pub(super) struct Freeing {
    waiting: Mutex<Waiting>,
    rung: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct Waiting {
    blocks: Vec<Evicted>,
    /// Bytes of the blocks, also of those the job looks at just now.
    bytes: usize,
    /// Bytes that came since the job looked.
    bytes_new: usize,
    /// Whether there is a job.
    served: bool,
    /// Whether the job is to look up now.
    rung: bool,
}

impl Freeing {
    pub(super) fn new(bytes_max: usize) -> Freeing {
        Freeing { waiting: Mutex::default(), rung: Condvar::new(), bytes_max }
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.waiting.lock().bytes
    }

    #[cfg(test)]
    pub(super) fn is_served(&self) -> bool {
        self.waiting.lock().served
    }

    /// Takes over what a thread evicted; the caller holds no lock.
    pub(super) fn hand_over(&self, mut evicted: Vec<Evicted>) {
        if evicted.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        while waiting.served
            && let Some(last) = evicted.last()
            && waiting.bytes + last.bytes <= self.bytes_max
        {
            waiting.bytes += last.bytes;
            waiting.bytes_new += last.bytes;
            waiting.blocks.extend(evicted.pop());
        }
        assert!(waiting.bytes <= self.bytes_max, "what waits is bounded (freeing 1)");
        if waiting.bytes_new > self.bytes_max / 4 && !waiting.rung {
            waiting.rung = true;
            self.rung.notify_all();
        }
        drop(waiting);
        drop(evicted);
    }

    /// The job: frees until `stop`, looking around at least so often.
    pub(super) fn serve(&self, stop: impl Fn() -> bool, look_around: Duration) {
        let was_served = std::mem::replace(&mut self.waiting.lock().served, true);
        assert!(!was_served, "one job frees what waits: it counts the bytes of what it looks at");
        while !stop() {
            let mut waiting = self.waiting.lock();
            if !waiting.rung {
                self.rung.wait_timeout(&mut waiting, look_around);
            }
            waiting.rung = false;
            drop(waiting);
            self.free();
        }
        let mut waiting = self.waiting.lock();
        let rest = std::mem::take(&mut *waiting);
        drop(waiting);
        drop(rest);
    }

    /// Makes the job look up.
    pub(super) fn ring(&self) {
        self.waiting.lock().rung = true;
        self.rung.notify_all();
    }

    /// Frees what nobody holds.
    fn free(&self) {
        let mut waiting = self.waiting.lock();
        waiting.bytes_new = 0;
        let mut blocks = std::mem::take(&mut waiting.blocks);
        drop(waiting);
        let mut freed_bytes = 0;
        blocks.retain(|evicted| {
            let held = evicted.block.is_held();
            freed_bytes += if held { 0 } else { evicted.bytes };
            held
        });
        let mut waiting = self.waiting.lock();
        assert!(waiting.bytes >= freed_bytes, "the blocks that the job looks at count as waiting (freeing 1)");
        waiting.bytes -= freed_bytes;
        waiting.blocks.append(&mut blocks);
    }
}
