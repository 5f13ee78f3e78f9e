//! How background jobs make room for queries: at each step they ask whether one needs their core, and if so they pause.
//!
//! ```text
//!   queries   ▄─▄─█████████████─▄─▄─█████████     short ones on one core, long ones on both of two
//!   job       ░░░░█░█░█░█░█░█░█░░░░░█░█░█░█      ░ pauses: while short ones run, and half of the time beside long ones
//!
//!   queries   ─█──█──█──█──█──█──█──█──█──█──     short ones without end
//!   job       ░░░░░░░░░░░░░█░░░█░░░█░░░█████     20 ms once, then 3 times as long as it works, while patience lasts
//!
//!   queries   ───▄▄▄─▄▄─▄▄▄──────────────         one of two cores
//!   job       ███████████████████████████         no pauses: a core is idle
//!
//!   row memory   up to 1/4 of its limit   3/8     from 1/2 on, or a checkpoint waits for jobs
//!   pauses       whole                    half    none
//! ```
//!
//! 1. Beside queries without end a job gets a quarter of its time, as long as its patience lasts; one that frees
//!    memory half. Beside one of these the others work a quarter, too, unless a core is left.
//! 2. A job pauses only where it holds no lock: nobody waits for who sleeps. (A lower priority of the thread would stop
//!    it anywhere, also while committers wait for it.)
//! 3. Debt shortens the pauses, and ends them before it slows writers down, which begins at half of the limit.
//! 4. With more jobs than idle cores those in the higher seats pause. A part of a core that is missing makes that part
//!    of a pause.
//! 5. Only time on a core counts as work: who waits for a disk takes no core from anybody.
//! 6. Where cores are never idle all jobs together pause an eighth of the time at most ([`super::patience`]); what is
//!    left to do then is the system's: cost-based jobs ask it for long slices, so that who wakes up comes first.
//! 7. What a job takes from a query is the same whenever it takes it, but a short query feels a slice of work most: so
//!    work goes beside queries of which much is left, as their forecasts say.
//!
//! Concurrency: a few atomics and the list of queries. Crash: nothing here survives.
//!
//! Source: DESIGN section 7, SynchroStore section 3.3 (jobs go where idle cores are expected). The paper decides when a
//! job starts; that it makes room after that is ours, and it is what short queries feel.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use weft_env::Clock;

use super::load::Load;

/// How many times as long as it worked a job pauses beside short queries: what frees memory, and other jobs. The rows
/// that wait for the first slow every query down.
const PAUSE_TIMES: [f64; 2] = [1.0, 3.0];
/// The same beside long ones.
const LONG_PAUSE_TIMES: f64 = 1.0;
/// So much work goes on beside long ones without a pause, nanoseconds.
const SLICE_NANOS: f64 = 500e3;
/// A query of which so many slices are left is a long one.
const LONG_SLICES: f64 = 4.0;
/// How much longer than it has to a job pauses for short queries, nanoseconds.
const PATIENCE_NANOS: f64 = 20e6;
/// How long a pausing job sleeps before it looks around: each look takes a core from a query for a moment.
const NAP_MIN: Duration = Duration::from_micros(200);
const NAP_MAX: Duration = Duration::from_millis(1);

thread_local! {
    static PACE: Cell<Pace> = const { Cell::new(Pace::new(0, false, 0)) };
}

/// The pace of the job that this thread runs.
#[derive(Clone, Copy)]
struct Pace {
    seat: u32,
    /// Whether it frees memory.
    frees: bool,
    /// How long it paused, nanoseconds.
    paused_nanos: u64,
    /// What [`work_clock`] said when it began, or its last step ended, nanoseconds.
    resumed_nanos: u64,
    /// What it worked since it paused last, nanoseconds.
    slice_nanos: f64,
    /// Pauses that are due beside short queries; negative: those that it made too many.
    due_nanos: f64,
}

impl Pace {
    const fn new(seat: u32, frees: bool, resumed_nanos: u64) -> Pace {
        Pace { seat, frees, paused_nanos: 0, resumed_nanos, slice_nanos: 0.0, due_nanos: 0.0 }
    }
}

/// A job begins in this thread; whether it frees memory.
pub(crate) fn take_seat(seat: u32, frees: bool, clock: &dyn Clock) {
    PACE.set(Pace::new(seat, frees, work_clock(clock)));
}

/// A clock that goes while this thread works, nanoseconds: while it waits for a disk or a core, others have its core.
/// Where that is unknown, it goes always.
pub(crate) fn work_clock(clock: &dyn Clock) -> u64 {
    clock.thread_processor_nanos().unwrap_or_else(|| clock.monotonic_nanos())
}

/// How long the job in this thread has paused, nanoseconds.
pub(crate) fn paused_nanos() -> u64 {
    PACE.get().paused_nanos
}

/// Where a job makes room.
pub struct Pacer {
    load: Arc<Load>,
}

impl Pacer {
    /// For the job that runs in this thread; all that are made in it keep one pace.
    pub fn new(load: Arc<Load>) -> Pacer {
        Pacer { load }
    }

    /// A place where the job can pause: several times in a millisecond of work, with no lock held (pacer 2).
    pub fn step(&mut self) {
        let mut pace = PACE.get();
        let clock = self.load.clock();
        let begun_nanos = clock.monotonic_nanos();
        let worked_nanos = work_clock(&**clock).saturating_sub(pace.resumed_nanos);
        self.load.note_work(worked_nanos);
        let times = PAUSE_TIMES[usize::from(!pace.frees)];
        pace.slice_nanos += worked_nanos as f64;
        pace.due_nanos = (pace.due_nanos + worked_nanos as f64 * times).min(PATIENCE_NANOS);
        let mut now_nanos = begun_nanos;
        loop {
            let has_patience = self.load.patience.is_left(now_nanos);
            let share = if has_patience { self.load.pause_share(self.seat_now(&pace)) } else { 0.0 };
            let paused_nanos = (now_nanos - begun_nanos) as f64;
            let left_nanos = self.left_nanos(&pace, share, paused_nanos);
            if left_nanos <= 0.0 {
                if share == 0.0 {
                    // What was worked beside idle cores, or without patience, is not held against it.
                    (pace.slice_nanos, pace.due_nanos) = (0.0, pace.due_nanos.min(0.0));
                } else if paused_nanos > 0.0 {
                    pace.slice_nanos = 0.0;
                    pace.due_nanos = (pace.due_nanos - paused_nanos / share).max(-PATIENCE_NANOS);
                }
                break;
            }
            clock.sleep(Duration::from_nanos(left_nanos as u64).clamp(NAP_MIN, NAP_MAX));
            let slept_nanos = clock.monotonic_nanos() - now_nanos;
            self.load.patience.spend(slept_nanos);
            now_nanos += slept_nanos;
        }
        debug_assert!(pace.slice_nanos >= 0.0, "work is not taken back");
        debug_assert!(pace.due_nanos.abs() <= PATIENCE_NANOS, "pauses are saved up to the patience for short queries");
        pace.resumed_nanos = work_clock(&**clock);
        pace.paused_nanos += now_nanos - begun_nanos;
        PACE.set(pace);
    }

    /// The job's seat when those that free memory have the first ones.
    fn seat_now(&self, pace: &Pace) -> u32 {
        let freeing = self.load.freeing_count();
        if pace.frees { pace.seat.min(freeing.saturating_sub(1)) } else { pace.seat.max(freeing) }
    }

    /// For how much longer the job pauses when it has paused for so long, nanoseconds; not beyond the end of a short
    /// query, when the next may be a long one.
    fn left_nanos(&self, pace: &Pace, share: f64, paused_nanos: f64) -> f64 {
        if share == 0.0 {
            return 0.0;
        }
        if !pace.frees && self.load.freeing_count() > 0 {
            // As beside short queries without end.
            return (pace.due_nanos + PATIENCE_NANOS) * share - paused_nanos;
        }
        let query_nanos = self.load.shortest_left_us().map_or(0.0, |left_us| left_us * 1e3);
        if query_nanos < SLICE_NANOS * LONG_SLICES {
            let left_nanos = (pace.due_nanos + PATIENCE_NANOS) * share - paused_nanos;
            return left_nanos.min(query_nanos.max(1.0));
        }
        let is_due = pace.slice_nanos >= SLICE_NANOS;
        if is_due { pace.slice_nanos * LONG_PAUSE_TIMES * share - paused_nanos } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
