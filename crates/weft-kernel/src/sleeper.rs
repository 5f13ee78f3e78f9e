//! One thread that sleeps until it is told to go on, asked to stop, or late.
//!
//! ```text
//!   T9 queues for a lock     sleep: until released, cancelled, or 10 s are over
//!   T7 releases the lock     T9's sleeper is released: T9 wakes up, nobody else does
//!   a client cancels         the token wakes the sleeper; it finds the request and gives up
//! ```
//!
//! 1. Who waits is woken for a reason of its own only: nothing polls, and nobody else's turn wakes it.
//! 2. A release is never lost, whether it comes before the sleep, in it, or together with a request to stop: who gives
//!    up asks whoever would release it.
//!
//! Concurrency: the sleeper's mutex is the last one taken. Who holds it calls nothing but the clock and the token.
//! Crash: nothing of this outlives the process.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::Result;

use crate::cancel::{CancelToken, Stirred};

/// Where one thread sleeps.
#[derive(Default)]
pub(crate) struct Sleeper {
    released: Mutex<bool>,
    wakeup: Condvar,
}

impl Sleeper {
    /// Lets the thread go on, now or when it comes to sleep.
    pub(crate) fn release(&self) {
        *self.released.lock() = true;
        self.wakeup.notify_one();
    }

    /// Sleeps until released; false when that takes longer than `limit` (zero: there is no limit), an error when the
    /// token says stop.
    pub(crate) fn sleep(
        self: &Arc<Self>,
        limit: Duration,
        cancel: Option<&CancelToken>,
        clock: &dyn Clock,
    ) -> Result<bool> {
        let _listening = cancel.map(|cancel| cancel.wakes(self.clone()));
        let start = clock.monotonic_nanos();
        let late_at = if limit.is_zero() { u64::MAX } else { start.saturating_add(nanos(limit)) };
        let mut released = self.released.lock();
        loop {
            if *released {
                return Ok(true);
            }
            let now = clock.monotonic_nanos();
            if let Some(cancel) = cancel {
                cancel.check(|| now)?;
            }
            if now >= late_at {
                return Ok(false);
            }
            let until = cancel.map_or(late_at, |cancel| late_at.min(cancel.deadline_nanos()));
            if until == u64::MAX {
                self.wakeup.wait(&mut released);
            } else {
                self.wakeup.wait_timeout(&mut released, Duration::from_nanos(until - now));
            }
        }
    }

    /// Sleeps until released, however long that takes.
    pub(crate) fn sleep_soundly(&self) {
        let mut released = self.released.lock();
        while !*released {
            self.wakeup.wait(&mut released);
        }
    }
}

impl Stirred for Sleeper {
    fn stir(&self) {
        // Through the mutex: the thread has either not looked yet or sleeps already.
        drop(self.released.lock());
        self.wakeup.notify_one();
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
