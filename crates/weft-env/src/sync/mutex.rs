//! A mutual exclusion lock; see [the module](crate::sync) for what it does on simulated threads.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use crate::sim::baton::Wait;
use crate::sim::current::{Current, is_simulated, with_current};
use crate::sim::op::Op;

/// A mutual exclusion lock without poisoning.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    inner: parking_lot::Mutex<T>,
}

/// A held [`Mutex`]; dropping it releases.
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// None only while [`Condvar::wait`](crate::sync::Condvar::wait) has released the mutex on a simulated thread.
    inner: Option<parking_lot::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { inner: parking_lot::Mutex::new(value) }
    }

    /// The value, of a mutex that nobody shares any more.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free and takes it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let inner = if is_simulated() { self.lock_simulated(Location::caller()) } else { self.inner.lock() };
        MutexGuard { mutex: self, inner: Some(inner) }
    }

    /// Takes the mutex when it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        with_current(|current| current.point(Op::plain("try_lock")));
        self.inner.try_lock().map(|inner| MutexGuard { mutex: self, inner: Some(inner) })
    }

    /// The value, of a mutex that nobody else can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[cold]
    fn lock_simulated(&self, at: &'static Location<'static>) -> parking_lot::MutexGuard<'_, T> {
        with_current(|current| {
            current.point(Op::plain("lock"));
            self.acquire(current, at)
        })
        .expect("the caller saw a simulated thread")
    }

    fn acquire(&self, current: &Current, at: &'static Location<'static>) -> parking_lot::MutexGuard<'_, T> {
        loop {
            if let Some(guard) = self.inner.try_lock() {
                return guard;
            }
            current.block(Wait::Lock { address: self.address(), writes: true, what: "mutex", at }, None);
        }
    }

    /// The key under which threads wait; compared for equality only, so it cannot influence a schedule.
    fn address(&self) -> usize {
        (&raw const self.inner).cast::<()>() as usize
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// parking_lot's guard, for a real thread's condition variable.
    #[inline]
    pub(super) fn real(&mut self) -> &mut parking_lot::MutexGuard<'a, T> {
        self.inner.as_mut().expect("a guard is empty only inside a simulated wait")
    }

    /// Releases the mutex, runs `wait`, takes the mutex again. When `wait` unwinds the guard stays released.
    pub(super) fn released<R>(
        &mut self,
        current: &Current,
        at: &'static Location<'static>,
        wait: impl FnOnce() -> R,
    ) -> R {
        self.inner = None;
        current.lock_released(self.mutex.address());
        let result = wait();
        self.inner = Some(self.mutex.acquire(current, at));
        result
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.inner.as_ref().expect("a guard is empty only inside a simulated wait")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("a guard is empty only inside a simulated wait")
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.inner.take().is_some() {
            with_current(|current| current.lock_released(self.mutex.address()));
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
