//! A readers-writer lock; see [the module](crate::sync) for what it does on simulated threads.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use crate::sim::baton::Wait;
use crate::sim::current::{Current, is_simulated, with_current};
use crate::sim::op::Op;

/// A lock held by many readers or by one writer, without poisoning.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    inner: parking_lot::RwLock<T>,
}

/// A [`RwLock`] held for reading; dropping it releases.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    inner: ManuallyDrop<parking_lot::RwLockReadGuard<'a, T>>,
}

/// A [`RwLock`] held for writing; dropping it releases.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    inner: ManuallyDrop<parking_lot::RwLockWriteGuard<'a, T>>,
}

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { inner: parking_lot::RwLock::new(value) }
    }

    /// The value, of a lock that nobody shares any more.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no writer holds or awaits the lock and takes it for reading.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let inner = if is_simulated() { self.read_simulated(Location::caller()) } else { self.inner.read() };
        RwLockReadGuard { lock: self, inner: ManuallyDrop::new(inner) }
    }

    /// Waits until nobody holds the lock and takes it for writing.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let inner = if is_simulated() { self.write_simulated(Location::caller()) } else { self.inner.write() };
        RwLockWriteGuard { lock: self, inner: ManuallyDrop::new(inner) }
    }

    /// Takes the lock for reading when no writer holds it.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        with_current(|current| current.point(Op::plain("try_read")));
        self.inner.try_read().map(|inner| RwLockReadGuard { lock: self, inner: ManuallyDrop::new(inner) })
    }

    /// Takes the lock for writing when nobody holds it.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        with_current(|current| current.point(Op::plain("try_write")));
        self.inner.try_write().map(|inner| RwLockWriteGuard { lock: self, inner: ManuallyDrop::new(inner) })
    }

    /// The value, of a lock that nobody else can reach.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[cold]
    fn read_simulated(&self, at: &'static Location<'static>) -> parking_lot::RwLockReadGuard<'_, T> {
        self.acquire(
            Op::plain("read lock"),
            Wait::Lock { address: self.address(), writes: false, what: "read lock", at },
            || self.inner.try_read(),
        )
    }

    #[cold]
    fn write_simulated(&self, at: &'static Location<'static>) -> parking_lot::RwLockWriteGuard<'_, T> {
        self.acquire(
            Op::plain("write lock"),
            Wait::Lock { address: self.address(), writes: true, what: "write lock", at },
            || self.inner.try_write(),
        )
    }

    fn acquire<G>(&self, op: Op<'_>, wait: Wait, mut attempt: impl FnMut() -> Option<G>) -> G {
        with_current(|current: &Current| {
            current.point(op);
            loop {
                // Readers queue behind a writer that waits (sync 4).
                let behind_writer =
                    matches!(wait, Wait::Lock { address, writes: false, .. } if current.writer_waits(address));
                if !behind_writer && let Some(guard) = attempt() {
                    return guard;
                }
                current.block(wait, None);
            }
        })
        .expect("the caller saw a simulated thread")
    }

    /// The key under which threads wait; compared for equality only, so it cannot influence a schedule.
    fn address(&self) -> usize {
        (&raw const self.inner).cast::<()>() as usize
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `inner` is dropped here and nowhere else, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
        with_current(|current| current.lock_released(self.lock.address()));
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `inner` is dropped here and nowhere else, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.inner) };
        with_current(|current| current.lock_released(self.lock.address()));
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
