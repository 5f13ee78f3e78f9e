//! Blocking that the simulation can drive: [`Mutex`], [`RwLock`], [`Condvar`] and [`yield_point`].
//!
//! On a real thread each is parking_lot's, after one thread-local load that says the thread is not simulated. On a
//! thread of a [`Simulation`](crate::sim::Simulation) every blocking goes through its scheduler:
//!
//! ```text
//!   real thread        lock() ── parking_lot::Mutex::lock
//!   simulated thread   lock() ── scheduling point ── try_lock ──▶ got it
//!                                       ▲               └ held: descheduled until a guard of this mutex is dropped ┐
//!                                       └──────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! 1. There is no poisoning: a panic that passes a guard releases the lock.
//! 2. A simulated thread never blocks in the operating system while it has the baton.
//! 3. Releasing a lock is no scheduling point (guards are dropped while unwinding); what follows it is one. Code that
//!    shares atomics says where another thread may come between with [`yield_point`].
//! 4. As in parking_lot, a reader waits behind a waiting writer, so a thread that takes a read lock twice can deadlock.
//!
//! Concurrency: a lock belongs either to real threads or to the threads of one simulation at a time; a `static` lock
//! must not be shared by simulations that run side by side.

mod condvar;
mod mutex;
mod rwlock;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use crate::sim::current::yield_point;

#[cfg(test)]
mod tests;
