//! How background jobs make room for queries: at each step they ask whether one needs their core, and if so they pause.
//!
//! ```text
//!   queries   ───███─██─███──────────────      █ on both of two cores
//!   job       ████░░█░░░░░░░█████████████      ░ pauses: at most 7 times what it worked before, until 1 ms is quiet
//!
//!   queries   ───▄▄▄─▄▄─▄▄▄──────────────      ▄ on one of two cores
//!   job       ██████████████████                 no pauses: a core is idle
//!
//!   row memory   up to 1/4 of its limit   3/8     from 1/2 on, or a checkpoint waits for jobs
//!   pauses       7 times                  3.5     none
//! ```
//!
//! 1. Beside queries without end a job still gets one part in eight of its time, so it ends.
//! 2. A job pauses only where it holds no lock: nobody waits for who sleeps. (A lower priority of the thread would stop
//!    it anywhere, also while committers wait for it.)
//! 3. Debt shortens the pauses, and ends them before it slows writers down, which begins at half of the limit.
//! 4. With more jobs than idle cores those in the higher seats pause.
//!
//! Concurrency: a few atomics and the list of queries. Crash: nothing here survives.
//!
//! Source: DESIGN section 7, SynchroStore section 3.3 (jobs go where idle cores are expected). The paper decides when a
//! job starts; that it makes room after that is ours, and it is what short queries feel.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use super::load::Load;

/// How many times as long as it worked a job pauses.
const PAUSE_TIMES: f64 = 7.0;
/// At most this much of the work before a pause counts, nanoseconds.
const WORK_NANOS_MAX: u64 = 4_000_000;
/// How often a pausing job looks around.
const NAP: Duration = Duration::from_micros(200);

thread_local! {
    /// The seat of the job that this thread runs, and how long it paused, nanoseconds.
    static JOB: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

/// A job begins in this thread.
pub(super) fn take_seat(seat: u32) {
    JOB.set((seat, 0));
}

/// How long the job in this thread has paused, nanoseconds.
pub(super) fn paused_nanos() -> u64 {
    JOB.get().1
}

/// The pace of one job.
pub struct Pacer {
    load: Arc<Load>,
    seat: u32,
    /// When it began or its last pause ended, monotonic nanoseconds.
    resumed_nanos: u64,
}

impl Pacer {
    /// The pace of the job that runs in this thread, from now on.
    pub fn new(load: Arc<Load>) -> Pacer {
        let resumed_nanos = load.clock().monotonic_nanos();
        Pacer { load, seat: JOB.get().0, resumed_nanos }
    }

    /// A place where the job can pause: every millisecond or so, with no lock held (pacer 2).
    pub fn step(&mut self) {
        if self.load.pause_share(self.seat) == 0.0 {
            return;
        }
        let clock = Arc::clone(self.load.clock());
        let begun = clock.monotonic_nanos();
        let worked = begun.saturating_sub(self.resumed_nanos).min(WORK_NANOS_MAX) as f64;
        loop {
            let pause_nanos = worked * PAUSE_TIMES * self.load.pause_share(self.seat);
            if (clock.monotonic_nanos() - begun) as f64 >= pause_nanos {
                break;
            }
            clock.sleep(NAP);
        }
        self.resumed_nanos = clock.monotonic_nanos();
        let (seat, paused) = JOB.get();
        JOB.set((seat, paused + (self.resumed_nanos - begun)));
    }
}

#[cfg(test)]
mod tests;
