//! Runs picked jobs and remembers what is running, paused and done.

use std::collections::{BTreeMap, VecDeque};

use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Result, TableId, Timestamp};

use super::pick::{Running, pick};
use crate::engine::Core;
use crate::table::{JobKind, JobOffer};

/// How long a table rests after a job found the disk full, in nanoseconds.
const PAUSE_NANOS: u64 = 100_000_000;
/// How many choices are remembered.
const HISTORY_COUNT: usize = 100;

/// What a call of [`Runner::run_one`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// A job.
    Job,
    /// Nothing: the offers cannot run beside what is running, or are paused.
    Busy,
    /// Nothing: there are no offers.
    Nothing,
}

/// The jobs of one engine.
#[derive(Default)]
pub(crate) struct Runner {
    state: Mutex<State>,
    /// Signalled when a job ends.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    /// Tables that rest, and until when (monotonic nanoseconds).
    paused: BTreeMap<TableId, u64>,
    history: VecDeque<String>,
    jobs_run: u64,
    jobs_failed: u64,
    /// Jobs that ended and the time they took, nanoseconds.
    by_kind: BTreeMap<JobKind, (u64, u64)>,
}

impl Runner {
    /// Picks and runs one job in this thread. `pauses` are observed by workers; who runs jobs by hand tries at once.
    pub(crate) fn run_one(&self, core: &Core, pauses: bool) -> Result<Ran> {
        let offers = offers(core);
        self.run_best(core, &offers, pauses)
    }

    /// As [`Runner::run_one`], only what carries memory to files.
    pub(crate) fn run_conversion(&self, core: &Core) -> Result<Ran> {
        let mut offers = offers(core);
        offers.retain(|offer| offer.kind.frees_memory());
        self.run_best(core, &offers, false)
    }

    fn run_best(&self, core: &Core, offers: &[JobOffer], pauses: bool) -> Result<Ran> {
        if offers.is_empty() {
            return Ok(if self.state.lock().running.is_empty() { Ran::Nothing } else { Ran::Busy });
        }
        core.poison.check()?;
        let mut state = self.state.lock();
        let now = core.env.clock.monotonic_nanos();
        state.paused.retain(|_, until| *until > now);
        let paused: Vec<TableId> = if pauses { state.paused.keys().copied().collect() } else { Vec::new() };
        let Some(choice) = pick(offers, &state.running, &paused) else { return Ok(Ran::Busy) };
        let offer = &offers[choice.index];
        state.running.push(Running::of(offer));
        if state.history.len() == HISTORY_COUNT {
            state.history.pop_front();
        }
        let (table, number) = (offer.table, offer.number);
        state.history.push_back(format!("{:?} t{table} #{number}: {}", offer.kind, choice.reason));
        drop(state);
        self.run(core, offer).map(|()| Ran::Job)
    }

    fn run(&self, core: &Core, offer: &JobOffer) -> Result<()> {
        let begun_nanos = core.env.clock.monotonic_nanos();
        let mut ending = Ending { runner: self, core, job: Running::of(offer), begun_nanos, outcome: None };
        let result = match core.catalog.by_id(offer.table) {
            // Looked at after the job counts as running: who removes a dropped table waits for it or is seen here.
            Some(entry) if entry.table.drop_ts() == Timestamp::MAX => entry.table.table.run(offer),
            _ => Ok(()),
        };
        ending.outcome = Some(result.clone());
        drop(ending);
        result.map_err(|error| match error.code() {
            Code::DiskFull => error,
            _ => core.poison.set(&job_failure(offer, error.message())),
        })
    }

    /// Whether a job is running or could run.
    pub(crate) fn has_work(&self, core: &Core) -> bool {
        !self.state.lock().running.is_empty() || !offers(core).is_empty()
    }

    /// Whether a job of the table is running.
    pub(crate) fn is_running(&self, table: TableId) -> bool {
        self.state.lock().running.iter().any(|job| job.table == table)
    }

    /// Waits until a running job ends; returns at once when none runs.
    pub(crate) fn wait_for_end(&self) {
        let mut state = self.state.lock();
        let ended = state.jobs_run + state.jobs_failed;
        while !state.running.is_empty() && state.jobs_run + state.jobs_failed == ended {
            self.ended.wait(&mut state);
        }
    }

    /// Jobs that ended well and those that did not.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.jobs_run, state.jobs_failed)
    }

    /// By kind: jobs that ended, and the time they took, nanoseconds.
    pub(crate) fn by_kind(&self) -> Vec<(JobKind, u64, u64)> {
        self.state.lock().by_kind.iter().map(|(kind, (count, nanos))| (*kind, *count, *nanos)).collect()
    }

    /// The last choices and their reasons, oldest first.
    pub(crate) fn history(&self) -> Vec<String> {
        self.state.lock().history.iter().cloned().collect()
    }
}

/// Takes a job off the running ones, however it ends; a panic poisons the engine.
struct Ending<'a> {
    runner: &'a Runner,
    core: &'a Core,
    job: Running,
    begun_nanos: u64,
    outcome: Option<Result<()>>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut state = self.runner.state.lock();
        let at = state.running.iter().position(|job| *job == self.job).expect("a job is running until it ends");
        state.running.swap_remove(at);
        let nanos = self.core.env.clock.monotonic_nanos().saturating_sub(self.begun_nanos);
        let (count, total_nanos) = state.by_kind.entry(self.job.kind).or_default();
        *count += 1;
        *total_nanos += nanos;
        match &self.outcome {
            Some(Ok(())) => state.jobs_run += 1,
            Some(Err(error)) => {
                state.jobs_failed += 1;
                if error.code() == Code::DiskFull {
                    let until = self.core.env.clock.monotonic_nanos() + PAUSE_NANOS;
                    state.paused.insert(self.job.table, until);
                }
            }
            None => {
                state.jobs_failed += 1;
                let Running { table, kind, number } = self.job;
                self.core.poison.set(&format!("job {kind:?} #{number} of table {table} panicked"));
            }
        }
        drop(state);
        self.runner.ended.notify_all();
    }
}

/// The offers of all tables that are alive.
fn offers(core: &Core) -> Vec<JobOffer> {
    let tables = core.catalog.all();
    let alive = tables.iter().filter(|table| table.drop_ts() == Timestamp::MAX);
    alive.flat_map(|table| table.table.jobs()).collect()
}

fn job_failure(offer: &JobOffer, cause: &str) -> String {
    format!("job {:?} #{} of table {} failed: {cause}", offer.kind, offer.number, offer.table)
}
