//! Advisory locks, as expressions ask their session for them.
//!
//! ```text
//!   pg_advisory_lock(7)                  class 0, object 7, kind 1
//!   pg_advisory_lock(3, -1)              class 3, object 4294967295, kind 2: another lock than any of one number
//! ```

use weft_format::Result;

/// What an advisory lock is of, in the words of `pg_locks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdvisoryKey {
    /// `classid`: the upper half of one number, or the first of two.
    pub class: u32,
    /// `objid`: the lower half, or the second one.
    pub object: u32,
    /// `objsubid`: how many numbers there are.
    pub kind: u8,
}

/// How an advisory lock is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvisoryRequest {
    /// Beside others who ask so.
    pub shared: bool,
    /// Until the session gives it back, not until the transaction ends.
    pub of_session: bool,
    /// It is waited for.
    pub waits: bool,
}

/// The advisory locks of a session.
pub trait AdvisoryLocks: Send + Sync {
    /// Takes a lock once more; false when it is not waited for, and another session has it.
    fn lock(&self, key: AdvisoryKey, request: AdvisoryRequest) -> Result<bool>;

    /// Gives a lock of the session back that was taken once; false when it has none such.
    fn unlock(&self, key: AdvisoryKey, shared: bool) -> bool;

    /// Gives all locks of the session back.
    fn unlock_all(&self);
}
