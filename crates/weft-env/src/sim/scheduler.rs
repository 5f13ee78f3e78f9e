//! The scheduler: real threads of which exactly one, the holder of the baton, runs at a time.
//!
//! ```text
//!   thread 0 ═══lock══╗                  ╔═══ unlock ═══        ═ runs (has the baton)
//!   thread 1          ╚═write══lock(held)╝                      ╗ a scheduling point: the seed chose another thread
//!   clock       0  1   2     3      4                           each point advances virtual time by one microsecond
//! ```
//!
//! 1. Only the holder of the baton changes the state; the mutex around it is there for the compiler and is never
//!    contended.
//! 2. A thread waits in the operating system only in [`Baton::wait`](super::baton::Baton::wait).
//! 3. When no thread can run, virtual time jumps to the next deadline; when there is none, that is a deadlock.
//! 4. After a stop (crash, panic, deadlock) every thread unwinds at its next scheduling point with a private payload,
//!    unless it is unwinding already: then the point returns, and waiting still waits. A thread that could wait for
//!    ever in that state, or does not come to an end, is abandoned: it never runs again and its memory is leaked.
//!
//! Concurrency: the baton goes from thread to thread by unpark/park; its atomics order all memory of the threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::baton::{Seat, Wait, Wake};
use super::op::Op;
use super::random::Prng;
use super::steps::Steps;
use super::threads::{End, Stop, Threads};
use super::trace::Trace;

/// Virtual nanoseconds that a scheduling point takes.
pub(crate) const POINT_NANOS: u64 = 1_000;
/// Scheduling points a thread may still pass after a stop before it is abandoned (scheduler 4).
const STOPPED_POINTS_MAX: u32 = 20_000;

/// The payload with which threads unwind after a stop; no panic hook sees it.
struct Stopped;

/// How the seed chooses among threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// How often, in a thousand scheduling points, the thread may change.
    pub(crate) switch_permille: u32,
    /// Scheduling points of one run after which it counts as stuck.
    pub(crate) points_max: u64,
    /// Whether the first panic of a thread stops the run.
    pub(crate) stop_on_panic: bool,
}

/// The state that the holder of the baton works on.
pub(crate) struct State {
    pub(crate) threads: Threads,
    pub(crate) trace: Trace,
    pub(crate) policy: Policy,
    pub(crate) steps: Steps,
    /// Scheduling points of this run.
    points: u64,
}

/// The scheduler of one simulation.
pub(crate) struct Scheduler {
    state: Mutex<State>,
    all_ended: Condvar,
    stopping: AtomicBool,
}

impl Scheduler {
    /// A scheduler without threads.
    pub(crate) fn new(prng: Prng, policy: Policy, record_trace: bool) -> Scheduler {
        let state = State {
            threads: Threads::new(prng),
            trace: Trace::new(record_trace),
            policy,
            steps: Steps::default(),
            points: 0,
        };
        Scheduler { state: Mutex::new(state), all_ended: Condvar::new(), stopping: AtomicBool::new(false) }
    }

    /// The state, for what is no scheduling point.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Whether threads are being stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Notes `op` and lets the seed choose which thread continues. Unwinds after a stop (scheduler 4).
    pub(crate) fn point(&self, me: &Seat, op: Op<'_>) {
        let mut guard = self.state.lock();
        self.count_point(&mut guard, me, op);
        if self.is_stopping() {
            self.leave(me, guard);
            guard = self.state.lock();
        }
        guard.threads.fire_timers();
        let switch_permille = guard.policy.switch_permille;
        let next = guard.threads.choose(me.id, switch_permille);
        if next != me.id {
            self.hand_over(me, guard, next);
            if self.is_stopping() {
                self.leave(me, self.state.lock());
            }
        }
    }

    /// Waits for an event, or at most `timeout` of virtual time. Unwinds after a stop (scheduler 4).
    pub(crate) fn block(&self, me: &Seat, wait: Wait, timeout: Option<Duration>) -> Wake {
        let mut guard = self.state.lock();
        if self.is_stopping() {
            self.leave(me, guard);
            guard = self.state.lock();
        }
        let deadline = timeout.map(|timeout| guard.threads.now_nanos.saturating_add(timeout.as_nanos() as u64));
        guard.threads.set_blocked(me.id, wait, deadline);
        let next = self.next(&mut guard, me.id);
        match next {
            Some(next) if next == me.id => drop(guard),
            Some(next) => self.hand_over(me, guard, next),
            None => {
                drop(guard);
                park_for_ever();
            }
        }
        if self.is_stopping() {
            self.leave(me, self.state.lock());
        }
        me.baton.wake()
    }

    /// Ends the thread `me` and passes the baton on.
    pub(crate) fn end(&self, me: &Seat, end: End) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        state.trace.note(me.id, state.threads.name(me.id), state.threads.now_nanos, Op::plain("end"));
        let panic = if let End::Panicked(message) = &end { Some(message.clone()) } else { None };
        state.threads.set_ended(me.id, end);
        if let Some(message) = panic {
            // A panic that began after a stop is a consequence of it (a caught unwinding that an `expect` did not
            // expect).
            if !self.is_stopping() && state.policy.stop_on_panic {
                self.stop(state, me.id, Stop::Failed(message));
            } else if !self.is_stopping() || state.threads.was_unwinding(me.id) {
                state.threads.note_failure(me.id, message);
            }
        }
        if let Some(next) = self.next(&mut guard, me.id) {
            let baton = guard.threads.baton(next);
            drop(guard);
            baton.pass();
        }
    }

    /// Stops the run because the machine crashed, and unwinds.
    pub(crate) fn crash(&self, me: &Seat) {
        let mut guard = self.state.lock();
        if !self.is_stopping() {
            self.stop(&mut guard, me.id, Stop::Crashed);
        }
        self.leave(me, guard);
    }

    /// Counts a named step and crashes there when that is planned; else it is a scheduling point.
    pub(crate) fn step(&self, me: &Seat, name: &'static str) {
        if !self.is_stopping() && self.state.lock().steps.pass(name) {
            self.crash(me);
        }
        self.point(me, Op::on("step", name));
    }

    /// Makes the threads that wait for the lock at `address` runnable.
    pub(crate) fn wake_lock(&self, address: usize) {
        self.state.lock().threads.wake_where(|wait| matches!(wait, Wait::Lock { address: a, .. } if *a == address));
    }

    /// Makes one or all of the threads that wait on the condition variable at `address` runnable.
    pub(crate) fn wake_condvar(&self, address: usize, all: bool) {
        let waits = |wait: &Wait| matches!(wait, Wait::Condvar { address: a, .. } if *a == address);
        let mut state = self.state.lock();
        if all {
            state.threads.wake_where(waits);
        } else {
            state.threads.wake_one_where(waits);
        }
    }

    /// Whether a thread waits to write under the lock at `address`.
    pub(crate) fn writer_waits(&self, address: usize) -> bool {
        let waits = |wait: &Wait| matches!(wait, Wait::Lock { address: a, writes: true, .. } if *a == address);
        self.state.lock().threads.any_blocked(waits)
    }

    /// Makes the scheduler ready for a run.
    pub(crate) fn begin_run(&self) {
        let mut state = self.state.lock();
        state.threads.begin_run();
        state.points = 0;
        self.stopping.store(false, Ordering::Relaxed);
    }

    /// Gives the baton to the first thread and waits until no thread is left.
    pub(crate) fn run_to_end(&self) {
        let mut state = self.state.lock();
        let first = state.threads.baton(0);
        first.pass();
        while state.threads.live() > 0 {
            self.all_ended.wait(&mut state);
        }
    }

    fn count_point(&self, state: &mut State, me: &Seat, op: Op<'_>) {
        state.trace.note(me.id, state.threads.name(me.id), state.threads.now_nanos, op);
        state.threads.now_nanos += POINT_NANOS;
        state.points += 1;
        if !self.is_stopping() {
            state.threads.set_unwinding(me.id, std::thread::panicking());
        }
        if state.points > state.policy.points_max && !self.is_stopping() {
            let message = format!("livelock: more than {} scheduling points in one run", state.policy.points_max);
            self.stop(state, me.id, Stop::Failed(message));
        }
    }

    /// The thread that runs after `me` blocked or ended; none when no thread is left.
    fn next(&self, state: &mut State, me: usize) -> Option<usize> {
        loop {
            if let Some(next) = state.threads.next_runnable() {
                return Some(next);
            }
            if state.threads.live() == 0 {
                self.all_ended.notify_all();
                return None;
            }
            if self.is_stopping() {
                state.threads.abandon_blocked();
            } else {
                let message = state.threads.describe_deadlock();
                self.stop(state, me, Stop::Failed(message));
            }
        }
    }

    fn stop(&self, state: &mut State, me: usize, stop: Stop) {
        state.threads.stop(me, stop);
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn hand_over(&self, me: &Seat, state: MutexGuard<'_, State>, next: usize) {
        let baton = state.threads.baton(next);
        drop(state);
        baton.pass();
        me.baton.wait();
    }

    /// What a thread does at a scheduling point after a stop (scheduler 4).
    fn leave(&self, me: &Seat, mut state: MutexGuard<'_, State>) {
        if state.threads.count_stopped_point(me.id) > STOPPED_POINTS_MAX {
            state.threads.set_ended(me.id, End::Stopped);
            state.threads.set_abandoned(me.id);
            if let Some(next) = self.next(&mut state, me.id) {
                let baton = state.threads.baton(next);
                drop(state);
                baton.pass();
            } else {
                drop(state);
            }
            park_for_ever();
        }
        drop(state);
        if !std::thread::panicking() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// Whether a panic's payload is that of a stop.
pub(crate) fn is_stop(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.is::<Stopped>()
}

fn park_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}
