//! One simulated machine: its options, its runs, its crashes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::cores::OneCore;
use super::disk::Disk;
use super::machine::Machine;
use super::random::Prng;
use super::scheduler::{Policy, Scheduler};
use super::sim_faults::SimFaults;
use crate::Env;

/// How often, in a thousand scheduling points, the seed lets the thread change, when the options leave it to the seed.
const SWITCH_PERMILLE_CHOICES: [u32; 4] = [30, 100, 300, 1000];

/// What a simulation is made of.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Decides the schedule, what a crash leaves, and the environment's random numbers.
    pub seed: u64,
    /// What the environment says about parallelism; the simulation runs one thread at a time all the same.
    pub cores: usize,
    /// Bytes the disk holds, in whole pages of 4096; `None`: no limit.
    pub disk_capacity_bytes: Option<u64>,
    /// Keep the trace's lines besides its hash.
    pub record_trace: bool,
    /// How often, in a thousand scheduling points, the thread may change (1000: the seed chooses anew at each point);
    /// `None`: the seed takes one of 30, 100, 300 and 1000, so that a range of seeds has them all. Low is faster.
    pub switch_permille: Option<u32>,
    /// How long a sync takes on average in virtual time; zero: no time, and nobody runs meanwhile.
    pub sync_duration: Duration,
    /// Scheduling points of one run after which it ends as [`RunEnd::Panicked`] ("livelock").
    pub points_max: u64,
    /// Whether the first panic of a thread stops the run (else its joiner deals with it and the run goes on).
    pub stop_on_panic: bool,
}

impl SimOptions {
    /// The usual options with a seed: 4 cores, no limit on the disk, no recorded trace.
    pub fn seeded(seed: u64) -> SimOptions {
        SimOptions {
            seed,
            cores: 4,
            disk_capacity_bytes: None,
            record_trace: false,
            switch_permille: None,
            sync_duration: Duration::from_micros(120),
            points_max: 50_000_000,
            stop_on_panic: true,
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// All threads returned.
    Finished,
    /// The machine crashed.
    Crashed {
        /// The operation's number; see [`Simulation::operation_count`].
        number: u64,
        /// What it was: name, path, numbers ("write db/log/1 4096 512": 512 bytes at offset 4096).
        operation: String,
    },
    /// A thread panicked, or no thread could run (a deadlock), or the run did not end (a livelock).
    Panicked {
        /// The thread's name.
        thread: String,
        /// The panic's text; for a deadlock what each thread waits for.
        message: String,
    },
}

/// One simulated machine. Its disk survives crashes; see [the module](crate::sim) for what it does.
pub struct Simulation {
    machine: Arc<Machine>,
    faults: SimFaults,
}

impl Simulation {
    /// A machine with an empty disk.
    pub fn new(options: SimOptions) -> Simulation {
        let seed = options.seed;
        let mut schedule = Prng::new(seed, 1);
        let policy = Policy {
            switch_permille: options.switch_permille.unwrap_or_else(|| schedule.pick(&SWITCH_PERMILLE_CHOICES)),
            points_max: options.points_max,
            stop_on_panic: options.stop_on_panic,
        };
        let machine = Arc::new(Machine {
            scheduler: Arc::new(Scheduler::new(schedule, policy, options.record_trace)),
            disk: Mutex::new(Disk::new(Prng::new(seed, 2), options.disk_capacity_bytes)),
            rng: Mutex::new(Prng::new(seed, 3)),
            cores: options.cores,
            sync_nanos: options.sync_duration.as_nanos() as u64,
            crash: Mutex::new(None),
            os_threads: Mutex::new(Vec::new()),
        });
        Simulation { faults: SimFaults { machine: Arc::clone(&machine) }, machine }
    }

    /// The machine's environment, for looking at the disk between runs; [`Simulation::run`] gives `main` the same.
    pub fn env(&self) -> Env {
        self.machine.env()
    }

    /// Runs `main` as the thread "main" of a new process until all threads ended or the machine crashed. Afterwards the
    /// process is gone (locks are free, handles are dead) and the disk is what the end left.
    pub fn run(&self, main: impl FnOnce(Env) + Send + 'static) -> RunEnd {
        let machine = &self.machine;
        assert!(!super::current::is_simulated(), "a simulation is run from outside of simulations");
        let _core = OneCore::take();
        machine.scheduler.begin_run();
        let env = machine.env();
        let started = machine.start_thread("main", Box::new(move || main(env)));
        drop(started.expect("the system lets the simulation start its first thread"));
        machine.scheduler.run_to_end();
        self.join_threads();
        let (crashed, failure) = machine.scheduler.state().threads.outcome();
        let crash = machine.crash.lock().take();
        let step = machine.scheduler.state().steps.take_crashed();
        let mut disk = machine.disk.lock();
        if crashed {
            disk.crash();
        } else {
            disk.end_process();
        }
        match (failure, crash) {
            (Some((thread, message)), _) => RunEnd::Panicked { thread, message },
            (None, Some((number, operation))) => RunEnd::Crashed { number, operation },
            (None, None) => match step {
                Some(step) => RunEnd::Crashed { number: disk.operations, operation: format!("step {step}") },
                None => RunEnd::Finished,
            },
        }
    }

    /// Lets the machine crash in the `operations`-th (from 1) operation from now, in this run or a later one; replaces
    /// a crash planned before.
    pub fn crash_after(&self, operations: u64) {
        assert!(operations > 0, "operations count from 1");
        let mut disk = self.machine.disk.lock();
        disk.faults.crash_at = Some(disk.operations + operations);
    }

    /// Lets the machine crash right after the `nth` (from 1) time from now that a thread passes the step `name`
    /// ([`step`](crate::sim::step)); replaces a step planned before, not [`Simulation::crash_after`].
    pub fn crash_at_step(&self, name: &str, nth: u64) {
        assert!(nth > 0, "steps count from 1");
        self.machine.scheduler.state().steps.plan_crash(Some((name.to_owned(), nth)));
    }

    /// How often each named step was passed so far.
    pub fn step_counts(&self) -> BTreeMap<&'static str, u64> {
        self.machine.scheduler.state().steps.counts().clone()
    }

    /// Takes back the crashes that are planned.
    pub fn cancel_crash(&self) {
        self.machine.disk.lock().faults.crash_at = None;
        self.machine.scheduler.state().steps.plan_crash(None);
    }

    /// Fails the power between runs: what was not synced is kept, torn or lost as the seed says.
    pub fn power_off(&self) {
        assert_eq!(self.machine.scheduler.state().threads.live(), 0, "in a run, use crash_after");
        self.machine.disk.lock().crash();
    }

    /// How many operations on the disk there were: write, set_len, sync_data, create, rename, remove, create_dir_all,
    /// sync_dir and lock, of all runs.
    pub fn operation_count(&self) -> u64 {
        self.machine.disk.lock().operations
    }

    /// The faults of the disk.
    pub fn faults(&self) -> &SimFaults {
        &self.faults
    }

    /// A hash of everything the threads did so far; the same for the same seed and program.
    pub fn trace_hash(&self) -> u64 {
        self.machine.scheduler.state().trace.hash()
    }

    /// The trace's lines ("virtual nanoseconds, thread, operation, path, numbers"); empty unless
    /// [`SimOptions::record_trace`] is set.
    pub fn trace(&self) -> Vec<String> {
        self.machine.scheduler.state().trace.lines()
    }

    /// Waits until the operating system's threads are gone, except those that were abandoned.
    fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.machine.os_threads.lock());
        for (id, thread) in threads.into_iter().enumerate() {
            let abandoned = self.machine.scheduler.state().threads.is_abandoned(id);
            if !abandoned {
                thread.join().expect("a simulated thread catches its panics");
            }
        }
    }
}
