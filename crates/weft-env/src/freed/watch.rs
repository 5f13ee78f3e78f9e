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
//! 1. Below `above` bytes nothing is returned: the sum of the bounds of all who watch, for memory is the process's.
//! 2. Above, it is returned when there are `step` bytes more than there were at some time since the last return, and
//!    else from time to time.
//! 3. What gave little is not tried again soon: after a second, and twice as long after each time in a row, up to a
//!    minute, for want of a better reason; growth is one, after 50 ms, and twice as long, up to a second.
//! 4. Between two times there is at least fifty times what the first one took.
//!
//! Concurrency: one thread for all of the process, there while somebody watches.

use std::sync::Arc;
use std::time::Duration;

use super::return_freed_memory;
use crate::sync::{Condvar, Mutex};
use crate::{Env, JoinHandle};

/// How often is looked while memory changes near the bound, and else.
const LOOKS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(500)];
/// Invariant 3: the first waits, and the longest, for want of a reason and after growth.
const WAITS_NANOS: [[u64; 2]; 2] = [[1_000_000_000, 60_000_000_000], [50_000_000, 1_000_000_000]];
/// Invariant 4.
const REST: u64 = 50;
/// Steps to a bound.
const STEPS: u64 = 4;

/// Who watches, and their thread.
#[derive(Default)]
struct Watchers {
    count: usize,
    /// Invariant 1.
    above: u64,
    thread: Option<(Arc<Ending>, JoinHandle)>,
}

#[derive(Default)]
struct Ending {
    is_over: Mutex<bool>,
    changed: Condvar,
}

fn watchers() -> &'static Mutex<Watchers> {
    static WATCHERS: std::sync::OnceLock<Mutex<Watchers>> = std::sync::OnceLock::new();
    WATCHERS.get_or_init(Mutex::default)
}

/// While it lives, what is freed goes back to the system; all of it when it is dropped.
pub struct FreedMemory {
    /// What it adds to the bound, when it watches.
    above: Option<u64>,
}

impl FreedMemory {
    /// Returns all when it is dropped, nothing before.
    pub fn at_the_end() -> FreedMemory {
        FreedMemory { above: None }
    }

    /// Returns what is free also while the process has more than so many bytes of its own in memory, and those of
    /// others who watch, by a thread. Where nobody tells what it has, the C library is another one, or no thread can be
    /// started, it is [`FreedMemory::at_the_end`].
    pub fn above(env: &Env, bytes: u64) -> FreedMemory {
        if !super::is_ours() || resident_bytes().is_none() {
            return FreedMemory::at_the_end();
        }
        let mut watchers = watchers().lock();
        if watchers.thread.is_none() {
            let ending = Arc::<Ending>::default();
            let (env_of_thread, ending_of_thread) = (env.clone(), ending.clone());
            let body = move || watch(&env_of_thread, &ending_of_thread);
            match env.spawn.spawn("weft-freed", Box::new(body)) {
                Ok(thread) => watchers.thread = Some((ending, thread)),
                Err(_) => return FreedMemory::at_the_end(),
            }
        }
        watchers.count += 1;
        watchers.above = watchers.above.saturating_add(bytes);
        FreedMemory { above: Some(bytes) }
    }
}

impl Drop for FreedMemory {
    fn drop(&mut self) {
        let ended = self.above.and_then(|bytes| {
            let mut watchers = watchers().lock();
            watchers.count -= 1;
            watchers.above = watchers.above.saturating_sub(bytes);
            if watchers.count == 0 { watchers.thread.take() } else { None }
        });
        if let Some((ending, thread)) = ended {
            *ending.is_over.lock() = true;
            ending.changed.notify_all();
            // It does nothing that could panic; what it would have returned is returned here.
            let _ = thread.join();
        }
        return_freed_memory();
    }
}

fn watch(env: &Env, ending: &Ending) {
    let mut policy = Policy::default();
    let mut guard = ending.is_over.lock();
    let (mut pause, mut before) = (LOOKS[1], 0);
    loop {
        ending.changed.wait_timeout(&mut guard, pause);
        if *guard {
            return;
        }
        let Some(resident) = resident_bytes() else { return };
        let begun = env.clock.monotonic_nanos();
        policy.above = watchers().lock().above;
        if policy.is_due(begun, resident) {
            return_freed_memory();
            let left = resident_bytes().unwrap_or(resident);
            policy.returned([begun, env.clock.monotonic_nanos()], [resident, left]);
        }
        let is_far = resident < policy.above / 2;
        pause = LOOKS[usize::from(is_far || resident == before)];
        before = resident;
    }
}

/// When memory is returned. Bytes; times in nanoseconds.
#[derive(Default)]
struct Policy {
    above: u64,
    /// The least that there was since the last time.
    least: u64,
    /// Invariant 3: when it is time again, for want of a reason and after growth.
    again: [u64; 2],
    /// How often in a row it gave little.
    useless: u32,
}

impl Policy {
    fn step(&self) -> u64 {
        self.above / STEPS
    }

    fn is_due(&mut self, now: u64, resident: u64) -> bool {
        self.least = self.least.min(resident);
        let has_grown = resident >= self.least.saturating_add(self.step());
        resident > self.above && now >= self.again[usize::from(has_grown)]
    }

    fn returned(&mut self, [begun, ended]: [u64; 2], [before, after]: [u64; 2]) {
        let was_worth_it = before.saturating_sub(after) >= self.step() / 2;
        self.useless = if was_worth_it { 0 } else { self.useless + 1 };
        self.least = after;
        let rest = REST * (ended - begun);
        self.again = WAITS_NANOS.map(|[first, most]| {
            let wait = first.checked_shl(self.useless.min(16)).map_or(most, |wait| wait.min(most));
            ended + wait.max(rest)
        });
    }
}

/// What the process has in memory that is not of files, bytes; none where nobody tells.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').skip(1).map(|field| field.parse::<u64>().ok());
    let (resident, of_files) = (pages.next()??, pages.next()??);
    Some(resident.saturating_sub(of_files) * page_bytes()?)
}

#[cfg(unix)]
fn page_bytes() -> Option<u64> {
    // SAFETY: the call reads a constant of the system.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

#[cfg(not(unix))]
fn page_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MILLIS: u64 = 1_000_000;

    fn policy() -> Policy {
        Policy { above: 64 * MIB, ..Policy::default() }
    }

    /// How long after now it is due with so much in memory, milliseconds.
    fn due_after(policy: &mut Policy, now: u64, resident: u64) -> u64 {
        let mut ticks = (0u64..).map(|tick| tick * 50 * MILLIS);
        ticks.find(|after| policy.is_due(now + after, resident)).expect("it is due in the end") / MILLIS
    }

    #[test]
    fn nothing_is_returned_below_the_bound() {
        let mut policy = policy();
        assert!((0..1_000).all(|second| !policy.is_due(second * 1_000 * MILLIS, 64 * MIB)));
        assert!(policy.is_due(0, 65 * MIB));
    }

    #[test]
    fn growth_is_a_reason_and_so_is_time() {
        let mut policy = policy();
        policy.returned([0, 0], [100 * MIB, 70 * MIB]);
        assert!(!policy.is_due(60 * MILLIS, 85 * MIB), "15 MiB of a step of 16");
        assert!(policy.is_due(60 * MILLIS, 86 * MIB));
        assert!(!policy.is_due(70 * MILLIS, 66 * MIB));
        assert!(policy.is_due(80 * MILLIS, 82 * MIB), "it is compared with the least that there was");
        assert!(policy.is_due(1_000 * MILLIS, 66 * MIB), "a second later");
    }

    #[test]
    fn what_gives_little_is_tried_more_rarely() {
        let mut waits = [Vec::new(), Vec::new()];
        // Memory that stays as it is, and a sawtooth of what is mapped and freed again.
        for (waits, peak) in waits.iter_mut().zip([100, 130]) {
            let (mut policy, mut now) = (policy(), 0);
            for _ in 0..8 {
                policy.returned([now, now], [100 * MIB, 100 * MIB]);
                let after = due_after(&mut policy, now, peak * MIB);
                waits.push(after);
                now += after * MILLIS;
            }
            policy.returned([now, now], [100 * MIB, 80 * MIB]);
            assert_eq!(due_after(&mut policy, now, 80 * MIB), 1_000);
        }
        let [seconds, growth] = waits;
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60].map(|seconds| seconds * 1_000));
        assert_eq!(growth, [100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
    }

    #[test]
    fn a_slow_return_is_followed_by_a_rest() {
        let mut policy = policy();
        policy.returned([0, 30 * MILLIS], [100 * MIB, 70 * MIB]);
        assert!(!policy.is_due(1_529 * MILLIS, 200 * MIB));
        assert!(policy.is_due(1_530 * MILLIS, 200 * MIB));
    }
}
