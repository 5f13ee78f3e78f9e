//! Which simulated thread, if any, the calling operating system thread is.
//!
//! ```text
//!   CURRENT (thread local) ── null: a real thread
//!                          └─ Current { scheduler, seat 2 }: thread 2 of a simulation
//! ```
//!
//! 1. The pointer is set while [`Current::enter`] runs and points into that frame, so it is valid whenever it is not
//!    null.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use super::baton::{Seat, Wait, Wake};
use super::op::Op;
use super::scheduler::Scheduler;

thread_local! {
    static CURRENT: Cell<*const Current> = const { Cell::new(ptr::null()) };
}

/// A simulated thread as it sees itself.
pub(crate) struct Current {
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) seat: Seat,
}

/// Whether the calling thread belongs to a simulation.
#[inline]
pub(crate) fn is_simulated() -> bool {
    !CURRENT.get().is_null()
}

/// Runs `f` when the calling thread belongs to a simulation.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&Current) -> R) -> Option<R> {
    let current = CURRENT.get();
    if current.is_null() {
        return None;
    }
    // SAFETY: current 1.
    Some(f(unsafe { &*current }))
}

/// Whether the calling thread belongs to the simulation of `scheduler`.
pub(crate) fn is_current_of(scheduler: &Arc<Scheduler>) -> bool {
    with_current(|current| Arc::ptr_eq(&current.scheduler, scheduler)).unwrap_or(false)
}

/// Says that another thread may come between here. Nothing on a real thread.
#[inline]
pub fn yield_point() {
    with_current(|current| current.point(Op::plain("yield")));
}

/// Says that a named step of a job or of a commit is done. In a simulation it is counted, another thread may come, and
/// the machine may crash right here ([`Simulation::crash_at_step`](super::Simulation::crash_at_step)). Nothing on a
/// real thread.
#[inline]
pub fn step(name: &'static str) {
    with_current(|current| current.scheduler.step(&current.seat, name));
}

/// Clears the thread local even when the body unwinds.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

impl Current {
    /// Runs `body` as this simulated thread.
    pub(crate) fn enter<R>(&self, body: impl FnOnce() -> R) -> R {
        assert!(!is_simulated(), "a thread belongs to one simulation");
        CURRENT.set(ptr::from_ref(self));
        let _leave = Leave;
        body()
    }

    /// A scheduling point: see [`Scheduler::point`].
    pub(crate) fn point(&self, op: Op<'_>) {
        self.scheduler.point(&self.seat, op);
    }

    /// Waits for an event: see [`Scheduler::block`].
    pub(crate) fn block(&self, wait: Wait, timeout: Option<Duration>) -> Wake {
        self.scheduler.block(&self.seat, wait, timeout)
    }

    /// Lets the threads that wait for the lock at `address` try again.
    #[cold]
    pub(crate) fn lock_released(&self, address: usize) {
        self.scheduler.wake_lock(address);
    }

    /// Whether a thread waits to write under the lock at `address`.
    pub(crate) fn writer_waits(&self, address: usize) -> bool {
        self.scheduler.writer_waits(address)
    }

    /// Notifies one or all of the threads that wait on the condition variable at `address`.
    #[cold]
    pub(crate) fn notify(&self, address: usize, all: bool) {
        self.point(Op::plain("notify"));
        self.scheduler.wake_condvar(address, all);
    }
}
