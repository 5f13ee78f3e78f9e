//! The threads of one run: who can run, who waits for what, and until when.
//!
//! ```text
//!   0 main       Blocked(Join(1))
//!   1 writer     Runnable
//!   2 committer  Blocked(Condvar, deadline 5_000_000)       next_deadline = 5_000_000
//! ```
//!
//! 1. Every choice goes over the threads in the order of their numbers and asks the seed's stream, nothing else.
//! 2. `next_deadline` is at most the earliest deadline of a blocked thread.

use std::fmt::Write;
use std::sync::Arc;

use super::baton::{Baton, Wait, Wake};
use super::random::Prng;

/// What a thread is doing.
#[derive(Debug)]
pub(crate) enum Status {
    Runnable,
    Blocked { wait: Wait, deadline_nanos: Option<u64> },
    Ended(End),
}

impl Status {
    /// Whether the thread can be chosen.
    fn is_runnable(&self) -> bool {
        matches!(self, Status::Runnable)
    }
}

/// How a thread ended.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Returned,
    Panicked(String),
    Stopped,
}

/// Why all threads are stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Crashed,
    Failed(String),
}

struct Thread {
    name: String,
    baton: Arc<Baton>,
    status: Status,
    stopped_points: u32,
    abandoned: bool,
    /// Whether it was unwinding from a panic at its last scheduling point before a stop.
    unwinding: bool,
}

/// All threads of a run, and virtual time.
pub(crate) struct Threads {
    threads: Vec<Thread>,
    live: usize,
    next_deadline_nanos: u64,
    /// Virtual time since the simulation was made.
    pub(crate) now_nanos: u64,
    prng: Prng,
    crashed: bool,
    /// The thread and the text of the first panic, deadlock or livelock.
    failure: Option<(String, String)>,
    /// How often the simulation ran.
    pub(crate) run: u64,
}

impl Threads {
    pub(crate) fn new(prng: Prng) -> Threads {
        Threads {
            threads: Vec::new(),
            live: 0,
            next_deadline_nanos: u64::MAX,
            now_nanos: 0,
            prng,
            crashed: false,
            failure: None,
            run: 0,
        }
    }

    /// Forgets the threads of the run before.
    pub(crate) fn begin_run(&mut self) {
        assert_eq!(self.live, 0, "a simulation runs once at a time");
        self.threads.clear();
        self.next_deadline_nanos = u64::MAX;
        self.crashed = false;
        self.failure = None;
        self.run += 1;
    }

    /// The number of the next thread to be added.
    pub(crate) fn next_id(&self) -> usize {
        self.threads.len()
    }

    /// Adds a runnable thread.
    pub(crate) fn add(&mut self, name: &str, baton: Arc<Baton>) {
        let name = name.to_owned();
        self.threads.push(Thread {
            name,
            baton,
            status: Status::Runnable,
            stopped_points: 0,
            abandoned: false,
            unwinding: false,
        });
        self.live += 1;
    }

    pub(crate) fn name(&self, id: usize) -> &str {
        &self.threads[id].name
    }

    pub(crate) fn baton(&self, id: usize) -> Arc<Baton> {
        Arc::clone(&self.threads[id].baton)
    }

    /// How many threads have not ended.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// How a thread ended; none while it has not.
    pub(crate) fn end_of(&self, id: usize) -> Option<End> {
        if let Status::Ended(end) = &self.threads[id].status { Some(end.clone()) } else { None }
    }

    pub(crate) fn is_abandoned(&self, id: usize) -> bool {
        self.threads[id].abandoned
    }

    pub(crate) fn set_abandoned(&mut self, id: usize) {
        self.threads[id].abandoned = true;
    }

    pub(crate) fn set_unwinding(&mut self, id: usize, unwinding: bool) {
        self.threads[id].unwinding = unwinding;
    }

    /// Whether a panic of this thread began before the stop.
    pub(crate) fn was_unwinding(&self, id: usize) -> bool {
        self.threads[id].unwinding
    }

    /// Whether the run was stopped by a crash, and its first failure (thread, text).
    pub(crate) fn outcome(&mut self) -> (bool, Option<(String, String)>) {
        (self.crashed, self.failure.take())
    }

    pub(crate) fn note_failure(&mut self, id: usize, message: String) {
        let name = self.threads[id].name.clone();
        self.failure.get_or_insert((name, message));
    }

    pub(crate) fn set_blocked(&mut self, id: usize, wait: Wait, deadline_nanos: Option<u64>) {
        self.threads[id].status = Status::Blocked { wait, deadline_nanos };
        self.next_deadline_nanos = self.next_deadline_nanos.min(deadline_nanos.unwrap_or(u64::MAX));
    }

    /// Ends a thread and wakes those that join it.
    pub(crate) fn set_ended(&mut self, id: usize, end: End) {
        self.threads[id].status = Status::Ended(end);
        self.live -= 1;
        self.wake_where(|wait| matches!(wait, Wait::Join(other) if *other == id));
    }

    /// Makes all blocked threads runnable whose wait is `wanted`.
    pub(crate) fn wake_where(&mut self, wanted: impl Fn(&Wait) -> bool) {
        for thread in &mut self.threads {
            if matches!(&thread.status, Status::Blocked { wait, .. } if wanted(wait)) {
                thread.wake(Wake::Event);
            }
        }
    }

    /// Makes one blocked thread runnable whose wait is `wanted`; the seed decides which.
    pub(crate) fn wake_one_where(&mut self, wanted: impl Fn(&Wait) -> bool) {
        let waits = |thread: &&mut Thread| matches!(&thread.status, Status::Blocked { wait, .. } if wanted(wait));
        let count = self.threads.iter_mut().filter(waits).count();
        if count > 0 {
            let chosen = self.prng.below(count as u64) as usize;
            self.threads.iter_mut().filter(waits).nth(chosen).expect("there are `count`").wake(Wake::Event);
        }
    }

    pub(crate) fn any_blocked(&self, wanted: impl Fn(&Wait) -> bool) -> bool {
        self.threads.iter().any(|thread| matches!(&thread.status, Status::Blocked { wait, .. } if wanted(wait)))
    }

    /// Makes the threads runnable whose deadline has come.
    pub(crate) fn fire_timers(&mut self) {
        if self.now_nanos < self.next_deadline_nanos {
            return;
        }
        let now_nanos = self.now_nanos;
        let mut next_nanos = u64::MAX;
        for thread in &mut self.threads {
            if let Status::Blocked { deadline_nanos: Some(deadline), .. } = thread.status {
                if deadline <= now_nanos {
                    thread.wake(Wake::TimedOut);
                } else {
                    next_nanos = next_nanos.min(deadline);
                }
            }
        }
        self.next_deadline_nanos = next_nanos;
    }

    /// Which thread continues at a scheduling point of the runnable thread `me`.
    pub(crate) fn choose(&mut self, me: usize, switch_permille: u32) -> usize {
        if self.prng.chance(switch_permille) { self.random_runnable().expect("`me` can run") } else { me }
    }

    /// A thread that can run, moving time forward when that makes one (scheduler 3).
    pub(crate) fn next_runnable(&mut self) -> Option<usize> {
        loop {
            self.fire_timers();
            if let Some(next) = self.random_runnable() {
                return Some(next);
            }
            if self.next_deadline_nanos == u64::MAX {
                return None;
            }
            self.now_nanos = self.now_nanos.max(self.next_deadline_nanos);
        }
    }

    fn random_runnable(&mut self) -> Option<usize> {
        let count = self.threads.iter().filter(|thread| thread.status.is_runnable()).count();
        if count == 0 {
            return None;
        }
        let chosen = if count == 1 { 0 } else { self.prng.below(count as u64) as usize };
        let mut runnable = self.threads.iter().enumerate().filter(|(_, thread)| thread.status.is_runnable());
        runnable.nth(chosen).map(|(id, _)| id)
    }

    /// Makes all threads runnable so that they unwind (scheduler 4).
    pub(crate) fn stop(&mut self, me: usize, stop: Stop) {
        match stop {
            Stop::Crashed => self.crashed = true,
            Stop::Failed(message) => self.note_failure(me, message),
        }
        self.wake_where(|_| true);
    }

    /// Counts a scheduling point of a thread after a stop.
    pub(crate) fn count_stopped_point(&mut self, id: usize) -> u32 {
        self.threads[id].stopped_points += 1;
        self.threads[id].stopped_points
    }

    /// Gives up the threads that are blocked after a stop: nobody is left to wake them.
    pub(crate) fn abandon_blocked(&mut self) {
        for thread in &mut self.threads {
            if matches!(thread.status, Status::Blocked { .. }) {
                thread.status = Status::Ended(End::Stopped);
                thread.abandoned = true;
                self.live -= 1;
            }
        }
    }

    /// The threads and what each waits for.
    pub(crate) fn describe_deadlock(&self) -> String {
        let mut text = "deadlock: no thread can run".to_owned();
        for thread in &self.threads {
            let Status::Blocked { wait, .. } = &thread.status else { continue };
            let name = &thread.name;
            let what = match wait {
                Wait::Lock { what, at, .. } => format!("waits for the {what} at {at}"),
                Wait::Condvar { at, .. } => format!("waits to be notified at {at}"),
                Wait::Join(other) => format!("joins {}", self.threads[*other].name),
                Wait::Sleep => "sleeps".to_owned(),
                Wait::Disk => "waits for the disk".to_owned(),
            };
            write!(text, "; {name} {what}").expect("a String takes all text");
        }
        text
    }
}

impl Thread {
    fn wake(&mut self, wake: Wake) {
        self.status = Status::Runnable;
        self.baton.set_wake(wake);
    }
}
