//! How long the jobs of an engine may pause for queries, all together.
//!
//! ```text
//!   left     1 s ▔▔╲        ╱▔▔▔▔▔▔▔╲▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁     spent by pauses, an eighth of the time comes back
//!   queries      ███████▁▁▁▁▁▁▁▁▁▁▁▁█████████████████
//!   job            ░░█░░█  █         ░░█░░█░████░████░      ░ pauses
//! ```
//!
//! Pauses move work to where cores are idle. Where none become idle for seconds they move nothing: the same work goes
//! beside more queries, and what waits for it slows every query down. So their time is limited.
//!
//! 1. In any time t jobs pause at most for [`PATIENCE_MAX_NANOS`] + t × [`COMES_BACK`], and a nap each.
//! 2. Only time in which the scheduler lets jobs pause comes back: who takes turns with another scheduler, or rests,
//!    saves nothing up meanwhile.
//!
//! Concurrency: a lock, for some instructions. Crash: nothing here survives.

use weft_env::sync::Mutex;

/// Most that is saved up, nanoseconds.
const PATIENCE_MAX_NANOS: f64 = 1e9;
/// So much of the time that passes comes back. Beside statements with pauses between them jobs spent 8 % of the time.
const COMES_BACK: f64 = 0.125;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Patience {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    left_nanos: f64,
    /// When it was looked at last, monotonic nanoseconds.
    looked_nanos: u64,
}

impl Patience {
    /// All of it.
    pub(super) fn new() -> Patience {
        Patience { state: Mutex::new(State { left_nanos: PATIENCE_MAX_NANOS, looked_nanos: 0 }) }
    }

    /// Whether a job may pause now.
    pub(super) fn is_left(&self, now_nanos: u64) -> bool {
        let mut state = self.state.lock();
        let passed_nanos = now_nanos.saturating_sub(state.looked_nanos);
        state.looked_nanos = state.looked_nanos.max(now_nanos);
        state.left_nanos = (state.left_nanos + passed_nanos as f64 * COMES_BACK).min(PATIENCE_MAX_NANOS);
        state.left_nanos > 0.0
    }

    /// The time since it was looked at last does not count: no job could pause (2).
    pub(super) fn skip(&self, now_nanos: u64) {
        let mut state = self.state.lock();
        state.looked_nanos = state.looked_nanos.max(now_nanos);
    }

    /// A job has paused for so long.
    pub(super) fn spend(&self, nanos: u64) {
        self.state.lock().left_nanos -= nanos as f64;
    }
}
