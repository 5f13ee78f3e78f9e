//! Waits for locks, counted: how often somebody had to wait, and for how long. Who gets a lock at once pays for one
//! attempt more, and for no clock.
//!
//! ```text
//!   read(lock, waits, clock)   free ──▶ the guard
//!                              held ──▶ clock · wait · the guard · clock ──▶ count + 1, nanos + 1,350
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::Clock;
use weft_env::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Waits of one kind so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// How many there were.
    pub count: u64,
    /// How long all of them took together, nanoseconds.
    pub nanos: u64,
}

/// Counts waits of one kind.
#[derive(Debug, Default)]
pub struct Waits {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Waits {
    /// Those that have ended.
    pub fn so_far(&self) -> Waited {
        Waited { count: self.count.load(Ordering::Relaxed), nanos: self.nanos.load(Ordering::Relaxed) }
    }

    /// Counts one wait: the time that `wait` takes.
    pub fn during<R>(&self, clock: &dyn Clock, wait: impl FnOnce() -> R) -> R {
        let begun = clock.monotonic_nanos();
        let result = wait();
        self.nanos.fetch_add(clock.monotonic_nanos() - begun, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        result
    }
}

/// Takes a lock with others that only read; a wait is counted.
pub fn read<'a, T>(lock: &'a RwLock<T>, waits: &Waits, clock: &dyn Clock) -> RwLockReadGuard<'a, T> {
    lock.try_read().unwrap_or_else(|| waits.during(clock, || lock.read()))
}

/// Takes a lock alone; a wait is counted.
pub fn write<'a, T>(lock: &'a RwLock<T>, waits: &Waits, clock: &dyn Clock) -> RwLockWriteGuard<'a, T> {
    lock.try_write().unwrap_or_else(|| waits.during(clock, || lock.write()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use weft_env::sim::{RunEnd, SimOptions, Simulation};

    use super::*;

    #[test]
    fn only_those_who_wait_are_counted() {
        let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
            let shared = Arc::new((RwLock::new(0), Waits::default()));
            drop(read(&shared.0, &shared.1, &*env.clock));
            drop(write(&shared.0, &shared.1, &*env.clock));
            assert_eq!(shared.1.so_far(), Waited::default());
            let held = shared.0.write();
            let (other, clock) = (shared.clone(), env.clock.clone());
            let wait = move || drop(read(&other.0, &other.1, &*clock));
            let waiting = env.spawn.spawn("waits", Box::new(wait)).expect("spawns");
            env.clock.sleep(std::time::Duration::from_millis(5));
            drop(held);
            waiting.join().expect("it ends");
            let waited = shared.1.so_far();
            assert_eq!((waited.count, waited.nanos >= 4_000_000), (1, true), "{waited:?}");
        });
        assert_eq!(end, RunEnd::Finished);
    }
}
