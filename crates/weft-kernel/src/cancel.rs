//! What tells a running statement to stop: a request, or its time.
//!
//! ```text
//!   closed ── open ──▶ open ── cancel ──▶ requested        cancel of a closed token does nothing
//!     ▲                 │                     │
//!     └───── close ─────┴────── close ────────┘            a request ends with what it was for
//! ```
//!
//! Work that computes asks now and then ([`CancelToken::check`]); work that sleeps is woken by the request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

/// Shared between a statement and whoever may cancel it. Cheap to clone; every clone is the same token.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

struct Inner {
    /// [`CLOSED`], [`OPEN`] or [`REQUESTED`].
    state: AtomicU8,
    /// Monotonic nanoseconds; `u64::MAX` when there is none.
    deadline_nanos: AtomicU64,
    /// Who sleeps in this work: the thread of its statement, and none but that as a rule.
    sleepers: Mutex<Vec<Arc<dyn Stirred>>>,
}

impl Default for Inner {
    fn default() -> Inner {
        let (state, deadline_nanos) = (AtomicU8::new(OPEN), AtomicU64::new(u64::MAX));
        Inner { state, deadline_nanos, sleepers: Mutex::default() }
    }
}

/// What sleeps, and looks at its token when it is stirred.
pub(crate) trait Stirred: Send + Sync {
    /// Makes it look.
    fn stir(&self);
}

/// While this lives, a request to stop wakes a sleeper.
pub(crate) struct Wakes<'a> {
    token: &'a CancelToken,
    sleeper: Arc<dyn Stirred>,
}

impl Drop for Wakes<'_> {
    fn drop(&mut self) {
        let mut sleepers = self.token.0.sleepers.lock();
        let before = sleepers.len();
        sleepers.retain(|other| !Arc::ptr_eq(other, &self.sleeper));
        debug_assert_eq!(sleepers.len() + 1, before, "a sleeper listens once at a time");
    }
}

const CLOSED: u8 = 0;
const OPEN: u8 = 1;
const REQUESTED: u8 = 2;

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelToken({})", if self.is_cancelled() { "requested" } else { "not requested" })
    }
}

impl CancelToken {
    /// An open token that nobody has used, without a deadline.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Asks the work to stop; it does at its next [`CancelToken::check`]. Nothing happens when none is going on.
    pub fn cancel(&self) {
        if self.0.state.compare_exchange(OPEN, REQUESTED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            let sleepers = self.0.sleepers.lock().clone();
            sleepers.iter().for_each(|sleeper| sleeper.stir());
        }
    }

    /// A thread is about to sleep: a request wakes it while the guard lives. One that came before is seen by who looks
    /// from here on.
    pub(crate) fn wakes(&self, sleeper: Arc<dyn Stirred>) -> Wakes<'_> {
        self.0.sleepers.lock().push(Arc::clone(&sleeper));
        Wakes { token: self, sleeper }
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

    /// When the time is over; `u64::MAX` for never.
    pub(crate) fn deadline_nanos(&self) -> u64 {
        self.0.deadline_nanos.load(Ordering::Relaxed)
    }

    /// Whether work goes on that hears requests, one that was made included.
    pub fn is_open(&self) -> bool {
        self.0.state.load(Ordering::SeqCst) != CLOSED
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
        let deadline = self.deadline_nanos();
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
