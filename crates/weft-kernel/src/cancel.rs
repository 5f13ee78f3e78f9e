//! What tells a running statement to stop: a request, or its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_format::{Code, Error, Result};

/// Shared between a statement and whoever may cancel it. Cheap to clone; every clone is the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    requested: AtomicBool,
    /// Monotonic nanoseconds; `u64::MAX` when there is none.
    deadline_nanos: AtomicU64,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { requested: AtomicBool::new(false), deadline_nanos: AtomicU64::new(u64::MAX) }
    }
}

impl CancelToken {
    /// A token that nobody has used, without a deadline.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks the statement to stop; it does at its next [`CancelToken::check`].
    pub fn cancel(&self) {
        self.0.requested.store(true, Ordering::Relaxed);
    }

    /// Forgets a request, and sets the deadline of the next statement: monotonic nanoseconds of the environment's
    /// clock, `u64::MAX` for none.
    pub fn start(&self, deadline_nanos: u64) {
        self.0.requested.store(false, Ordering::Relaxed);
        self.0.deadline_nanos.store(deadline_nanos, Ordering::Relaxed);
    }

    /// Whether the statement was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// An error with [`Code::QueryCanceled`] when the statement was asked to stop, or when its time is over at
    /// `now_nanos()`, which is asked only when there is a deadline.
    pub fn check(&self, now_nanos: impl FnOnce() -> u64) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(Code::QueryCanceled, "canceling statement due to user request"));
        }
        let deadline = self.0.deadline_nanos.load(Ordering::Relaxed);
        if deadline != u64::MAX && now_nanos() >= deadline {
            return Err(Error::new(Code::QueryCanceled, "canceling statement due to statement timeout")
                .hint("raise it with SET statement_timeout"));
        }
        Ok(())
    }
}
