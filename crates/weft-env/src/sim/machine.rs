//! The simulated machine as an [`Env`]: what its threads see as files, time, randomness and threads.
//!
//! ```text
//!   write_at ── operate: scheduling point ── operation 17 ── Perform | Crash | Fail, as the faults say
//!   read_at ─── enter: scheduling point
//! ```
//!
//! 1. Every operation of a simulated thread on the disk is a scheduling point and happens at one instant.
//! 2. After a stop no operation has an effect: it unwinds, or fails when the thread is unwinding already.
//! 3. Threads outside the simulation may use files between runs; their operations are not counted and cannot crash.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::baton::Wait;
use super::current::{is_current_of, with_current};
use super::disk::Disk;
use super::faults::Verdict;
use super::op::Op;
use super::random::Prng;
use super::scheduler::{POINT_NANOS, Scheduler};
use crate::{Clock, Env, JoinHandle, Rng, Spawn};

/// 2026-01-01 00:00:00 UTC: wall time when virtual time is zero.
const WALL_START_MICROS: i64 = 1_767_225_600_000_000;

/// A simulated machine.
pub(crate) struct Machine {
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) disk: Mutex<Disk>,
    pub(crate) rng: Mutex<Prng>,
    pub(crate) cores: usize,
    /// How long a sync takes on average.
    pub(crate) sync_nanos: u64,
    /// The operation during which the machine crashed.
    pub(crate) crash: Mutex<Option<(u64, String)>>,
    /// The operating system threads of this run.
    pub(crate) os_threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Machine {
    /// The environment of this machine's processes.
    pub(crate) fn env(self: &Arc<Machine>) -> Env {
        let part = || SimPart(Arc::clone(self));
        Env { fs: Arc::new(part()), clock: Arc::new(part()), rng: Arc::new(part()), spawn: Arc::new(part()) }
    }

    /// Performs a counted operation (machine 1, 2, 3).
    pub(super) fn operate<R>(&self, op: Op<'_>, perform: impl FnOnce(&mut Disk) -> io::Result<R>) -> io::Result<R> {
        if !is_current_of(&self.scheduler) {
            return perform(&mut self.disk.lock());
        }
        self.enter(op)?;
        let mut disk = self.disk.lock();
        match disk.count_operation() {
            Verdict::Perform => perform(&mut disk),
            Verdict::Fail => Err(io::Error::other(format!("injected fault: {op} failed"))),
            Verdict::Crash => {
                // The operation is under way: the disk may keep all, a part or nothing of it, though it never returns.
                drop(perform(&mut disk));
                let number = disk.operations;
                drop(disk);
                self.crash.lock().get_or_insert((number, op.to_string()));
                with_current(|current| self.scheduler.crash(&current.seat));
                Err(stopped())
            }
        }
    }

    /// Passes the scheduling point of an operation; an error when the simulation stopped and the thread unwinds.
    pub(super) fn enter(&self, op: Op<'_>) -> io::Result<()> {
        let simulated = is_current_of(&self.scheduler);
        if simulated {
            with_current(|current| current.point(op));
        }
        if simulated && self.scheduler.is_stopping() { Err(stopped()) } else { Ok(()) }
    }

    /// Lets the time pass that a sync takes.
    pub(super) fn wait_for_disk(&self) -> io::Result<()> {
        if !is_current_of(&self.scheduler) {
            return Ok(());
        }
        let nanos = self.sync_nanos / 2 + self.disk.lock().random_below(self.sync_nanos + 1);
        if self.sync_nanos > 0 {
            with_current(|current| current.block(Wait::Disk, Some(Duration::from_nanos(nanos))));
        }
        if self.scheduler.is_stopping() { Err(stopped()) } else { Ok(()) }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the simulated process was stopped")
}

/// The machine, as each part of an environment.
pub(super) struct SimPart(pub(super) Arc<Machine>);

impl Clock for SimPart {
    fn wall_micros(&self) -> i64 {
        WALL_START_MICROS + (self.monotonic_nanos() / 1_000) as i64
    }

    fn monotonic_nanos(&self) -> u64 {
        // Looking at the clock takes time too: a loop that waits for it comes to an end.
        let mut state = self.0.scheduler.state();
        state.threads.now_nanos += POINT_NANOS;
        state.threads.now_nanos
    }

    fn sleep(&self, duration: Duration) {
        if !is_current_of(&self.0.scheduler) {
            self.0.scheduler.state().threads.now_nanos += duration.as_nanos() as u64;
            return;
        }
        with_current(|current| {
            current.point(Op { name: "sleep", detail: "", a: duration.as_nanos() as u64, b: 0 });
            if !self.0.scheduler.is_stopping() {
                current.block(Wait::Sleep, Some(duration));
            }
        });
    }
}

impl Rng for SimPart {
    fn next_u64(&self) -> u64 {
        self.0.rng.lock().next_u64()
    }
}

impl Spawn for SimPart {
    fn spawn(&self, name: &str, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle> {
        self.0.enter(Op::on("spawn", name))?;
        if !is_current_of(&self.0.scheduler) {
            return Err(io::Error::other("only threads of a simulation start simulated threads; use Simulation::run"));
        }
        self.0.start_thread(name, body)
    }

    fn parallelism(&self) -> usize {
        self.0.cores
    }
}
