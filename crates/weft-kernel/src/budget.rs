//! The memory of row tables and staged writes, and how writers slow down before it is used up.
//!
//! ```text
//!   used of 256 MiB     share   a writer's delay per step
//!   0 .. 128 MiB        0       none
//!   192 MiB             0.5     5 ms             share² / (1 - share) × 10 ms
//!   240 MiB             0.88    61 ms
//!   254 MiB             0.98    500 ms           and no longer
//!   256 MiB and more            until jobs have freed memory; after 10 s: out of memory
//! ```
//!
//! The delay grows smoothly and without bound, so there is a use below the limit at which writers, however many and
//! with however large steps, bring as much as conversion carries off: throughput glides down to it, and nobody runs
//! into the limit, where all would stand until a conversion has ended. Who waits looks around: memory that is freed
//! meanwhile ends the delay. What a transaction itself has staged does not delay it: waiting would free nothing.
//!
//! Concurrency: charging is one atomic addition; whoever waits holds row locks of its transaction but no mutex.
//!
//! Source: DESIGN section 3 (Memory).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Error, Result};

/// The delay of a writer at two thirds of the way from half of the limit to the limit is about this.
const DELAY: Duration = Duration::from_millis(10);
/// The longest delay of a writer below the limit.
const DELAY_MAX: Duration = Duration::from_millis(500);
/// How long a delayed writer sleeps before it looks around.
const NAP_MAX: Duration = Duration::from_millis(5);
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

    /// How long a writer pauses at this use: none at half, growing without a step to `DELAY_MAX` near the limit.
    pub fn delay(&self, used_bytes: u64) -> Duration {
        let half = self.limit_bytes as f64 / 2.0;
        let share = ((used_bytes as f64 - half) / half).clamp(0.0, 1.0);
        let times = share * share / (1.0 - share).max(1e-9);
        DELAY.mul_f64(times.min(DELAY_MAX.as_secs_f64() / DELAY.as_secs_f64()))
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
                let waited = Duration::from_nanos(clock.monotonic_nanos() - start);
                // Waiting frees nothing of what the writer itself has staged.
                let others = 1.0 - (own_bytes as f64 / used.max(1) as f64).min(1.0);
                let left = self.delay(used).mul_f64(others).saturating_sub(waited);
                if left < DELAY_MIN {
                    return Ok(());
                }
                clock.sleep(left.min(NAP_MAX));
                continue;
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
        assert_eq!(micros, [0, 0, 833, 5000, 22_500, 500_000, 500_000]);
    }

    /// Time passes in sleeps only; every so often memory is freed, as conversions do.
    struct Converting {
        nanos: AtomicU64,
        budget: std::sync::Arc<RowBudget>,
        /// How long a conversion takes, and how much it frees.
        every_nanos: u64,
        bytes: u64,
    }

    impl Clock for Converting {
        fn wall_micros(&self) -> i64 {
            0
        }

        fn monotonic_nanos(&self) -> u64 {
            self.nanos.load(Ordering::Relaxed)
        }

        fn sleep(&self, duration: Duration) {
            let before = self.nanos.fetch_add(duration.as_nanos() as u64, Ordering::Relaxed);
            let ended = (before + duration.as_nanos() as u64) / self.every_nanos - before / self.every_nanos;
            let bytes = (ended * self.bytes).min(self.budget.used_bytes());
            self.budget.release(bytes);
        }
    }

    /// Slow conversions, 4 MiB each half a second: how long the longest of a writer's steps takes, whatever its size.
    #[test]
    fn slow_conversions_slow_writers_down_and_do_not_stop_them() {
        for step_bytes in [1 << 10, 32 << 10, 512 << 10] {
            let budget = std::sync::Arc::new(RowBudget::new(256 << 20));
            let (nanos, every_nanos) = (AtomicU64::new(0), 500_000_000);
            let clock = Converting { nanos, budget: budget.clone(), every_nanos, bytes: 4 << 20 };
            let (mut longest, mut begun_late, mut written) = (0, 0, 0u64);
            while clock.monotonic_nanos() < 60_000_000_000 {
                let begun = clock.monotonic_nanos();
                budget.admit(&clock, 0, || panic!("the limit is never reached")).unwrap();
                longest = longest.max(clock.monotonic_nanos() - begun);
                budget.charge(step_bytes);
                written += step_bytes;
                // A step takes some time, too.
                clock.sleep(Duration::from_micros(20));
                begun_late = begun;
            }
            let fair = step_bytes as f64 / 8.0 / 1.048_576; // microseconds that a step takes at 8 MiB/s
            assert!(longest < 50_000_000 + 3000 * fair as u64, "{step_bytes}: {} us", longest / 1000);
            let rate = (written - (200 << 20)) as f64 / (begun_late as f64 / 1e9) / f64::from(1 << 20);
            assert!((6.0..10.0).contains(&rate), "as much as conversions carry off: {rate} MiB/s");
        }
    }

    #[test]
    fn what_a_writer_has_staged_itself_does_not_delay_it() {
        let budget = std::sync::Arc::new(RowBudget::new(1000));
        budget.charge(980);
        let waited = |own_bytes: u64| {
            let nanos = AtomicU64::new(0);
            let clock = Converting { nanos, budget: budget.clone(), every_nanos: u64::MAX, bytes: 0 };
            budget.admit(&clock, own_bytes, || panic!("the limit is not reached")).unwrap();
            clock.monotonic_nanos() / 1_000_000
        };
        assert_eq!([0, 490, 980].map(waited), [230, 115, 0]);
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
