//! A table that was given up: a file of it could not be read when a commit was installed.
//!
//! ```text
//!   published 40   commit 41 ends k1, looks for k2 in t12-9.data: EIO, and again for half a second
//!                  given up from 41 on   readers as of 40: whole; as of 41, and writers: "table ... cannot be used"
//!                  commit 42             published, and in the log only
//!   next open      redo from the cut: 41 and 42 are there
//! ```
//!
//! 1. The part of 41 that was installed is seen by nobody: its timestamp is published after the table was given up.
//! 2. No job carries timestamps to files that reach it: whoever finds these published finds the table given up.
//! 3. The cut stays, so the log stays.
//!
//! Concurrency: set while writers are kept out; read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_format::{Error, Result, Timestamp};
use weft_kernel::fault::{Fault, active};

/// No commit has this timestamp.
const NEVER: u64 = u64::MAX;

/// Whether a table was given up, and since when.
pub(crate) struct GivenUp {
    from: AtomicU64,
    error: OnceLock<Error>,
    /// Planted, nothing has been given up.
    forgotten_by: Fault,
}

impl GivenUp {
    /// A table that is whole; `forgotten_by` is the method's fault of forgetting when it is not.
    pub(crate) fn new(forgotten_by: Fault) -> GivenUp {
        GivenUp { from: AtomicU64::new(NEVER), error: OnceLock::new(), forgotten_by }
    }

    /// From `ts` on nothing is answered; an earlier commit may come after a later one.
    pub(crate) fn set(&self, ts: Timestamp, error: &Error) {
        self.error.get_or_init(|| error.clone());
        self.from.fetch_min(ts.0, Ordering::AcqRel);
    }

    /// Why, once it is.
    pub(crate) fn error(&self) -> Option<&Error> {
        self.error.get().filter(|_| !active(self.forgotten_by))
    }

    /// Whether what happens at `ts` is not in the table.
    #[inline]
    pub(crate) fn covers(&self, ts: Timestamp) -> bool {
        ts.0 >= self.from.load(Ordering::Acquire) && !active(self.forgotten_by)
    }

    /// Fails for who reads as of `ts`.
    #[inline]
    pub(crate) fn check(&self, ts: Timestamp) -> Result<()> {
        if self.covers(ts)
            && let Some(error) = self.error.get()
        {
            Err(error.clone())
        } else {
            Ok(())
        }
    }
}
