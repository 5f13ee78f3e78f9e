//! Freed memory goes back while a database works, and not only when it is closed.
//!
//! ```text
//!   resident ▲          ╭─╮ queries' blocks, mapped
//!            │    ╭─────╯ ╰──╮ ← returned: it is `step` above what was left after the last return,
//!            │ ╭──╯          │    or it is time to look again
//!    `above` │┄╯┄┄┄┄┄┄┄┄┄┄┄┄┄╰───
//!            └──────────────────▶ time
//! ```
//!
//! Blocks below the size from which malloc maps them come from heaps, and what one phase of work has freed there lies
//! between what the next one holds: 190 of 240 MiB, with 40 in use, after some minutes of large statements. The system
//! is asked what the process has, which costs microseconds; malloc is asked to give back only when that has grown,
//! since it holds its heaps' locks meanwhile.
//!
//! 1. Below `above` bytes nothing is returned.
//! 2. Above, it is returned when there are `step` bytes more than after the last time, and else from time to time:
//!    after a second, and twice as long after each time that gave little, up to a minute.
//! 3. Between two times there is at least fifty times what the first one took.

use std::sync::Arc;
use std::time::Duration;

use super::return_freed_memory;
use crate::sync::{Condvar, Mutex};
use crate::{Env, JoinHandle};

/// How often is looked, near the bound and far below it.
const LOOKS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];
/// Invariant 2.
const AGAIN_MIN_NANOS: u64 = 1_000_000_000;
const AGAIN_MAX_NANOS: u64 = 60_000_000_000;
/// Invariant 3.
const REST: u64 = 50;
/// Steps to a bound.
const STEPS: u64 = 4;

/// While it lives, what is freed goes back to the system; all of it when it is dropped.
pub struct FreedMemory {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<JoinHandle>>,
}

impl FreedMemory {
    /// Returns all when it is dropped, nothing before.
    pub fn at_the_end() -> FreedMemory {
        FreedMemory { ended: Arc::default(), thread: Mutex::default() }
    }

    /// Returns what is free also while the process has more than so many bytes of its own in memory, by a thread. On a
    /// system where nobody tells that, or whose C library is another one, there is no thread.
    ///
    /// # Errors
    /// Of starting the thread.
    pub fn above(env: &Env, bytes: u64) -> std::io::Result<FreedMemory> {
        let freed = FreedMemory::at_the_end();
        if super::is_ours() && resident_bytes().is_some() {
            let (ended, env_of_thread) = (Arc::clone(&freed.ended), env.clone());
            let body = move || watch(&env_of_thread, &ended, Policy::new(bytes));
            *freed.thread.lock() = Some(env.spawn.spawn("weft-freed", Box::new(body))?);
        }
        Ok(freed)
    }
}

impl Drop for FreedMemory {
    fn drop(&mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.get_mut().take() {
            // It does nothing that could panic; what it would have returned is returned here.
            let _ = thread.join();
        }
        return_freed_memory();
    }
}

fn watch(env: &Env, (ended, changed): &(Mutex<bool>, Condvar), mut policy: Policy) {
    let mut guard = ended.lock();
    let mut pause = LOOKS[1];
    loop {
        changed.wait_timeout(&mut guard, pause);
        if *guard {
            return;
        }
        let Some(resident) = resident_bytes() else { return };
        let begun = env.clock.monotonic_nanos();
        if policy.is_due(begun, resident) {
            return_freed_memory();
            let left = resident_bytes().unwrap_or(resident);
            policy.returned([begun, env.clock.monotonic_nanos()], [resident, left]);
        }
        pause = LOOKS[usize::from(resident < policy.above / 2)];
    }
}

/// When memory is returned. Bytes; times in nanoseconds.
struct Policy {
    above: u64,
    /// The least that there was since the last time.
    least: u64,
    /// When it is looked again for what is free, and how long after the last time that is.
    again: u64,
    wait: u64,
    /// Not before (invariant 3).
    rest: u64,
}

impl Policy {
    fn new(above: u64) -> Policy {
        Policy { above, least: 0, again: 0, wait: AGAIN_MIN_NANOS, rest: 0 }
    }

    fn step(&self) -> u64 {
        self.above / STEPS
    }

    fn is_due(&mut self, now: u64, resident: u64) -> bool {
        self.least = self.least.min(resident);
        let has_grown = resident >= self.least + self.step();
        resident > self.above && now >= self.rest && (has_grown || now >= self.again)
    }

    fn returned(&mut self, [begun, ended]: [u64; 2], [before, after]: [u64; 2]) {
        let was_worth_it = before.saturating_sub(after) >= self.step() / 2;
        self.wait = if was_worth_it { AGAIN_MIN_NANOS } else { (2 * self.wait).min(AGAIN_MAX_NANOS) };
        self.least = after;
        self.again = ended + self.wait;
        self.rest = ended + REST * (ended - begun);
    }
}

/// What the process has in memory that is not of files, bytes; none where nobody tells.
fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, of_files) = (pages.next()??, pages.next()??);
    Some(resident.saturating_sub(of_files) * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MILLIS: u64 = 1_000_000;

    #[test]
    fn nothing_is_returned_below_the_bound() {
        let mut policy = Policy::new(64 * MIB);
        assert!((0..1_000).all(|second| !policy.is_due(second * 1_000 * MILLIS, 64 * MIB)));
        assert!(policy.is_due(0, 65 * MIB));
    }

    #[test]
    fn growth_is_a_reason_and_so_is_time() {
        let mut policy = Policy::new(64 * MIB);
        policy.returned([0, 0], [100 * MIB, 70 * MIB]);
        assert!(!policy.is_due(MILLIS, 85 * MIB), "15 MiB of a step of 16");
        assert!(policy.is_due(2 * MILLIS, 86 * MIB));
        assert!(!policy.is_due(3 * MILLIS, 66 * MIB));
        assert!(policy.is_due(4 * MILLIS, 82 * MIB), "it is compared with the least that there was");
        assert!(policy.is_due(1_000 * MILLIS, 70 * MIB), "a second later");
    }

    #[test]
    fn what_gives_little_is_tried_more_rarely() {
        let mut policy = Policy::new(64 * MIB);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..8 {
            policy.returned([now, now], [100 * MIB, 100 * MIB]);
            let first = (0..).map(|tick| now + tick * 50 * MILLIS).find(|at| policy.is_due(*at, 100 * MIB)).unwrap();
            waits.push((first - now) / MILLIS / 1_000);
            now = first;
        }
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
        policy.returned([now, now], [100 * MIB, 80 * MIB]);
        assert!(policy.is_due(now + 1_000 * MILLIS, 80 * MIB));
    }

    #[test]
    fn a_slow_return_is_followed_by_a_rest() {
        let mut policy = Policy::new(64 * MIB);
        policy.returned([0, 20 * MILLIS], [100 * MIB, 70 * MIB]);
        assert!(!policy.is_due(1_019 * MILLIS, 200 * MIB));
        assert!(policy.is_due(1_020 * MILLIS, 200 * MIB));
    }
}
