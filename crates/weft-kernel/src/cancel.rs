//! What tells a running statement to stop: a request, or its time.
//!
//! ```text
//!   closed ── open ──▶ open ── cancel ──▶ requested        cancel of a closed token does nothing
//!     ▲                 │                     │
//!     └───── close ─────┴────── close ────────┘            a request ends with what it was for
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use weft_format::{Code, Error, Result};

/// Shared between a statement and whoever may cancel it. Cheap to clone; every clone is the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// [`CLOSED`], [`OPEN`] or [`REQUESTED`].
    state: AtomicU8,
    /// Monotonic nanoseconds; `u64::MAX` when there is none.
    deadline_nanos: AtomicU64,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { state: AtomicU8::new(OPEN), deadline_nanos: AtomicU64::new(u64::MAX) }
    }
}

const CLOSED: u8 = 0;
const OPEN: u8 = 1;
const REQUESTED: u8 = 2;

impl CancelToken {
    /// An open token that nobody has used, without a deadline.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks the work to stop; it does at its next [`CancelToken::check`]. Nothing happens when none is going on.
    pub fn cancel(&self) {
        let _ = self.0.state.compare_exchange(OPEN, REQUESTED, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Work begins: requests are heard from here on. False when they are already, for work that this is a part of.
    /// Sequentially consistent, like [`CancelToken::cancel`]: who sets a flag and cancels, and who opens and then reads
    /// the flag, cannot both miss the other.
    pub fn open(&self) -> bool {
        self.0.state.compare_exchange(CLOSED, OPEN, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The work is over: forgets a request and the deadline, and hears no others.
    pub fn close(&self) {
        self.0.state.store(CLOSED, Ordering::SeqCst);
        self.set_deadline(u64::MAX);
    }

    /// Sets when the time is over: monotonic nanoseconds of the environment's clock, `u64::MAX` for never.
    pub fn set_deadline(&self, deadline_nanos: u64) {
        self.0.deadline_nanos.store(deadline_nanos, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.load(Ordering::Relaxed) == REQUESTED
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_for_the_work_that_goes_on() {
        let token = CancelToken::new();
        token.close();
        token.cancel();
        assert!(token.open() && !token.is_cancelled(), "nothing went on");
        token.cancel();
        assert!(!token.open(), "a part of the work");
        assert_eq!(token.check(|| 0).unwrap_err().code(), Code::QueryCanceled);
        token.close();
        assert!(token.open() && !token.is_cancelled(), "other work");
        token.set_deadline(5);
        assert!(token.check(|| 4).is_ok() && token.check(|| 5).is_err());
        token.close();
        assert!(token.check(|| 5).is_ok());
    }
}
