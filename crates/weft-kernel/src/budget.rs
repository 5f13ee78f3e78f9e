//! The memory of row tables and staged writes, and how writers slow down before it is used up.
//!
//! ```text
//!   used of 256 MiB     a writer's delay per step
//!   0 .. 128 MiB        none
//!   192 MiB (75 %)      2.5 ms          ((used - half) / half)² × 10 ms
//!   255 MiB             9.9 ms
//!   256 MiB and more    until jobs have freed memory; after 10 s: out of memory
//! ```
//!
//! The delay grows smoothly, so throughput glides down to what conversion can carry off, without a cliff.
//!
//! Concurrency: charging is one atomic addition; whoever waits holds row locks of its transaction but no mutex.
//!
//! Source: DESIGN section 3 (Memory).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Error, Result};

/// The longest delay of a writer below the limit.
const DELAY_MAX: Duration = Duration::from_millis(10);
/// Delays shorter than this are not worth a sleep.
const DELAY_MIN: Duration = Duration::from_micros(50);
/// How long a writer waits above the limit.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How long it waits before it tries to help again.
const WAIT_STEP: Duration = Duration::from_millis(50);

/// What a waiting writer's own effort brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// A job was run: memory may be free now.
    Ran,
    /// Jobs are under way or were asked for: wait for them.
    UnderWay,
    /// Nothing can be freed.
    Nothing,
}

/// Bytes in use against a limit.
#[derive(Debug)]
pub struct RowBudget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
    waiters: Mutex<u32>,
    freed: Condvar,
}

impl RowBudget {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: u64) -> RowBudget {
        let used_bytes = AtomicU64::new(0);
        RowBudget { limit_bytes: limit_bytes.max(1), used_bytes, waiters: Mutex::new(0), freed: Condvar::new() }
    }

    /// Counts bytes that are in use from now on. Never waits: the writer was admitted before.
    pub fn charge(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that are free again.
    pub fn release(&self, bytes: u64) {
        let before = self.used_bytes.fetch_sub(bytes, Ordering::AcqRel);
        assert!(before >= bytes, "{bytes} bytes are released, {before} were charged");
        if before >= self.limit_bytes && *self.waiters.lock() > 0 {
            self.freed.notify_all();
        }
    }

    /// Bytes in use.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// The limit.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Whether writers are being slowed down.
    pub fn is_short(&self) -> bool {
        self.used_bytes() > self.limit_bytes / 2
    }

    /// How long a writer pauses at this use: none at half, growing with the square to `DELAY_MAX` at the limit.
    pub fn delay(&self, used_bytes: u64) -> Duration {
        let half = self.limit_bytes as f64 / 2.0;
        let share = ((used_bytes as f64 - half) / half).clamp(0.0, 1.0);
        DELAY_MAX.mul_f64(share * share)
    }

    /// Lets a writer on, late when memory is short. `help` runs or asks for jobs that free memory.
    #[inline]
    pub(crate) fn admit(&self, clock: &dyn Clock, own_bytes: u64, help: impl FnMut() -> Result<Help>) -> Result<()> {
        if self.is_short() { self.admit_late(clock, own_bytes, help) } else { Ok(()) }
    }

    #[cold]
    fn admit_late(&self, clock: &dyn Clock, own_bytes: u64, mut help: impl FnMut() -> Result<Help>) -> Result<()> {
        let start = clock.monotonic_nanos();
        loop {
            let used = self.used_bytes();
            if used < self.limit_bytes {
                let delay = self.delay(used);
                if delay >= DELAY_MIN {
                    clock.sleep(delay);
                }
                return Ok(());
            }
            let helped = help()?;
            if helped == Help::Ran {
                continue;
            }
            let waited = Duration::from_nanos(clock.monotonic_nanos() - start);
            let hopeless = helped == Help::Nothing && own_bytes > self.limit_bytes / 2;
            if hopeless || waited >= WAIT_MAX {
                return Err(self.exhausted(used, own_bytes));
            }
            let mut waiters = self.waiters.lock();
            *waiters += 1;
            if self.used_bytes() >= self.limit_bytes {
                self.freed.wait_timeout(&mut waiters, WAIT_STEP);
            }
            *waiters -= 1;
        }
    }

    fn exhausted(&self, used_bytes: u64, own_bytes: u64) -> Error {
        let message = format!(
            "row memory is used up: {used_bytes} of {} bytes, {own_bytes} of them staged by this transaction",
            self.limit_bytes
        );
        Error::new(Code::OutOfMemory, message)
            .hint("commit more often, end old transactions, or raise row_memory_bytes")
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests run on real threads")]
mod tests {
    use super::*;
    use weft_env::Env;

    #[test]
    fn the_delay_grows_smoothly() {
        let budget = RowBudget::new(256 << 20);
        let micros: Vec<u128> = [0, 128, 160, 192, 224, 256, 999].map(|mib| budget.delay(mib << 20).as_micros()).into();
        assert_eq!(micros, [0, 0, 625, 2500, 5625, 10_000, 10_000]);
    }

    #[test]
    fn a_writer_above_the_limit_helps_until_there_is_room() {
        let budget = RowBudget::new(1000);
        budget.charge(1200);
        let mut runs = 0;
        let clock = Env::real().clock;
        budget
            .admit(&*clock, 100, || {
                runs += 1;
                budget.release(150);
                Ok(Help::Ran)
            })
            .unwrap();
        assert_eq!((runs, budget.used_bytes()), (2, 900));
    }

    #[test]
    fn a_transaction_that_is_too_big_itself_fails_at_once() {
        let budget = RowBudget::new(1000);
        budget.charge(1200);
        let clock = Env::real().clock;
        let error = budget.admit(&*clock, 1100, || Ok(Help::Nothing)).unwrap_err();
        assert_eq!(error.code(), Code::OutOfMemory);
    }

    #[test]
    fn a_waiting_writer_goes_on_when_memory_is_released() {
        let budget = RowBudget::new(1000);
        budget.charge(1500);
        let clock = Env::real().clock;
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| budget.admit(&*clock, 0, || Ok(Help::UnderWay)));
            budget.release(1400);
            waiting.join().unwrap().unwrap();
        });
    }
}
