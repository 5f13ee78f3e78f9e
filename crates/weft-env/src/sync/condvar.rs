//! A condition variable; see [the module](crate::sync) for what it does on simulated threads.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::MutexGuard;
use crate::sim::baton::{Wait, Wake};
use crate::sim::current::{is_simulated, with_current};
use crate::sim::op::Op;

/// A condition variable. Callers wait in a loop that checks their condition.
#[derive(Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
}

impl Condvar {
    /// A condition variable nobody waits on.
    pub const fn new() -> Condvar {
        Condvar { inner: parking_lot::Condvar::new() }
    }

    /// Releases the mutex, waits to be notified and takes the mutex again.
    #[inline]
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        if is_simulated() {
            self.wait_simulated(guard, None, Location::caller());
        } else {
            self.inner.wait(guard.real());
        }
    }

    /// As [`Condvar::wait`], for at most `timeout`; true when the time ran out without a notification.
    #[inline]
    #[track_caller]
    pub fn wait_timeout<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        if is_simulated() {
            self.wait_simulated(guard, Some(timeout), Location::caller())
        } else {
            self.inner.wait_for(guard.real(), timeout).timed_out()
        }
    }

    /// Wakes one waiting thread (in a simulation the seed decides which).
    #[inline]
    pub fn notify_one(&self) {
        if with_current(|current| current.notify(self.address(), false)).is_none() {
            self.inner.notify_one();
        }
    }

    /// Wakes all waiting threads.
    #[inline]
    pub fn notify_all(&self) {
        if with_current(|current| current.notify(self.address(), true)).is_none() {
            self.inner.notify_all();
        }
    }

    #[cold]
    fn wait_simulated<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Option<Duration>,
        at: &'static Location<'static>,
    ) -> bool {
        with_current(|current| {
            current.point(Op::plain("wait"));
            // From here to `block` is no scheduling point: releasing and starting to wait are one step.
            let wait = Wait::Condvar { address: self.address(), at };
            guard.released(current, at, || current.block(wait, timeout)) == Wake::TimedOut
        })
        .expect("the caller saw a simulated thread")
    }

    /// The key under which threads wait; compared for equality only, so it cannot influence a schedule.
    fn address(&self) -> usize {
        &raw const *self as usize
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}

const _: () = assert!(size_of::<Condvar>() > 0, "waiters are keyed by the address");
