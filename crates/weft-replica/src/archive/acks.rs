//! Commits that wait until the archive has them.
//!
//! ```text
//!   commit 41, 42     durable, published ─▶ wait; the shipper is hurried
//!   round             pieces with 41 and 42, no later fence: they count ─▶ acknowledged
//!   commit 43         waits already: the next round begins at once
//! ```
//!
//! 1. A commit is acknowledged when everything up to it counts in the archive, behind a base: who restores after that
//!    has it.
//! 2. Nobody waits for longer than was said. Who gives up, or whose archive is lost, is told that the commit is made
//!    here.
//!
//! Concurrency: one mutex, held for memory work only.

use std::time::Duration;

use weft_env::Env;
use weft_env::sync::{Condvar, Mutex, MutexGuard};
use weft_format::{Code, Error, Result, Timestamp};
use weft_kernel::fault::active;

use crate::bell::Bell;
use crate::faults;

#[derive(Default)]
struct State {
    /// The archive has everything up to here.
    has: Timestamp,
    /// Why nothing more gets there.
    ended: Option<Error>,
    waiting: usize,
}

/// Who waits, and for what.
#[derive(Default)]
pub(super) struct Acks {
    state: Mutex<State>,
    changed: Condvar,
}

impl Acks {
    /// The archive has everything up to a commit (acks 1).
    pub(super) fn note(&self, commit: Timestamp) {
        let mut state = self.state.lock();
        if commit > state.has {
            state.has = commit;
            self.changed.notify_all();
        }
    }

    /// Nothing more gets there.
    pub(super) fn end(&self, why: &Error) {
        self.state.lock().ended.get_or_insert_with(|| why.clone());
        self.changed.notify_all();
    }

    /// Waits for a commit that is durable here.
    pub(super) fn wait(&self, env: &Env, bell: &Bell, commit: Timestamp, limit: Duration) -> Result<()> {
        if active(faults::ACKNOWLEDGE_UNSHIPPED) {
            return Ok(());
        }
        bell.hurry();
        let mut state = self.state.lock();
        state.waiting += 1;
        let waited = self.wait_within(env, &mut state, commit, limit);
        state.waiting -= 1;
        waited
    }

    /// Whether somebody waits.
    pub(super) fn is_waited_for(&self) -> bool {
        self.state.lock().waiting > 0
    }

    fn wait_within(
        &self,
        env: &Env,
        state: &mut MutexGuard<'_, State>,
        commit: Timestamp,
        limit: Duration,
    ) -> Result<()> {
        let begun = env.clock.monotonic_nanos();
        loop {
            if state.has >= commit {
                return Ok(());
            }
            if let Some(why) = &state.ended {
                let what =
                    format!("commit {commit} is made and durable here, and not in the archive: {}", why.message());
                return Err(Error::new(why.code(), what).hint("who restores the archive does not have it"));
            }
            let waited = Duration::from_nanos(env.clock.monotonic_nanos().saturating_sub(begun));
            let Some(left) = limit.checked_sub(waited).filter(|left| !left.is_zero()) else {
                let what =
                    format!("commit {commit} is made and durable here, and was not in the archive within {limit:?}");
                let hint =
                    "do not repeat it: it is shipped when the store can be asked; weft_archive says what is wrong";
                return Err(Error::new(Code::Io, what).hint(hint));
            };
            self.changed.wait_timeout(state, left);
        }
    }
}
