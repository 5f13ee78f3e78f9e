//! Runs picked jobs and remembers what is running, paused and done.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Result, TableId, Timestamp};

use super::decide::{Debts, Decision, Occupied, Offered, Situation, decide};
use super::jobs::{History, JobRecord, JobState};
use super::mode::SchedulerMode;
use super::pacer::{paused_nanos, take_seat};
use super::phi::Phi;
use super::pick::{Choice, Running, cost_us, pick};
use crate::engine::Core;
use crate::table::{JobKind, JobOffer};

/// How long a table rests after a job found the disk full, in nanoseconds.
const PAUSE_NANOS: u64 = 100_000_000;
/// The slices that jobs ask for; the system's own are a few milliseconds.
const JOB_SLICE: Duration = Duration::from_millis(50);

/// What a call of [`Runner::run_one`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// A job.
    Job,
    /// Nothing: the offers cannot run beside what is running, or are paused.
    Busy,
    /// Nothing: the scheduler lets all offers that could run wait, for so long if it knows.
    Waits(Option<Duration>),
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
    running: Vec<Started>,
    /// Tables that rest, and until when (monotonic nanoseconds).
    paused: BTreeMap<TableId, u64>,
    /// Since when a table offers jobs of a kind without one being started (monotonic nanoseconds).
    waiting: BTreeMap<(TableId, JobKind), u64>,
    /// What the scheduler last said of offers that wait.
    told: Vec<JobRecord>,
    history: History,
    jobs_run: u64,
    jobs_failed: u64,
    /// Jobs that ended and the time they took, nanoseconds.
    by_kind: BTreeMap<JobKind, (u64, u64)>,
    /// How much longer jobs take than their price says.
    phis: BTreeMap<JobKind, Phi>,
}

/// A job that runs.
#[derive(Clone, Copy, Debug)]
struct Started {
    job: Running,
    begun_nanos: u64,
    /// Its price, corrected, microseconds.
    expected_us: f64,
    /// Which of the idle cores is its own; lower ones are taken.
    seat: u32,
}

impl State {
    fn jobs(&self) -> Vec<Running> {
        self.running.iter().map(|started| started.job).collect()
    }

    fn expected_us(&self, offer: &JobOffer) -> f64 {
        cost_us(&offer.price) * self.phis.get(&offer.kind).map_or(1.0, |phi| phi.mean)
    }

    fn paused(&mut self, now_nanos: u64) -> Vec<TableId> {
        self.paused.retain(|_, until| *until > now_nanos);
        self.paused.keys().copied().collect()
    }

    /// Notes what is offered since when; offers that are gone are forgotten.
    fn note_offers(&mut self, offers: &[JobOffer], now_nanos: u64) {
        self.waiting.retain(|&(table, kind), _| offers.iter().any(|offer| (offer.table, offer.kind) == (table, kind)));
        for offer in offers {
            self.waiting.entry((offer.table, offer.kind)).or_insert(now_nanos);
        }
    }

    /// Notes that a job runs.
    fn start(&mut self, core: &Core, offer: &JobOffer, reason: String) -> Started {
        let begun_nanos = core.env.clock.monotonic_nanos();
        let taken = |seat: &u32| self.running.iter().any(|started| started.seat == *seat);
        let seat = (0..).find(|seat| !taken(seat)).expect("there are more numbers than jobs");
        let started = Started { job: Running::of(offer), begun_nanos, expected_us: self.expected_us(offer), seat };
        self.running.push(started);
        self.waiting.remove(&(offer.table, offer.kind));
        self.history.start(offer, reason, core.env.clock.wall_micros(), begun_nanos);
        started
    }
}

/// While this lives its thread asks for long slices, so that queries that wake up come before it (pacer 6).
struct LongSlices<'a> {
    core: &'a Core,
}

impl LongSlices<'_> {
    fn ask(core: &Core) -> LongSlices<'_> {
        core.env.spawn.ask_for_slices(Some(JOB_SLICE));
        LongSlices { core }
    }
}

impl Drop for LongSlices<'_> {
    fn drop(&mut self) {
        self.core.env.spawn.ask_for_slices(None);
    }
}

impl Runner {
    /// Picks and runs one job in this thread, the best, whatever is forecast: somebody waits for it.
    pub(crate) fn run_one(&self, core: &Core) -> Result<Ran> {
        let offers = offers(core);
        self.run_best(core, &offers)
    }

    /// As [`Runner::run_one`], only what carries memory to files.
    pub(crate) fn run_conversion(&self, core: &Core) -> Result<Ran> {
        let mut offers = offers(core);
        offers.retain(|offer| offer.kind.frees_memory());
        self.run_best(core, &offers)
    }

    fn run_best(&self, core: &Core, offers: &[JobOffer]) -> Result<Ran> {
        if offers.is_empty() {
            return Ok(if self.state.lock().running.is_empty() { Ran::Nothing } else { Ran::Busy });
        }
        core.poison.check()?;
        let mut state = self.state.lock();
        let Some(Choice { index, reason }) = pick(offers, &state.jobs(), &[]) else { return Ok(Ran::Busy) };
        let started = state.start(core, &offers[index], reason);
        drop(state);
        self.run(core, &offers[index], started).map(|()| Ran::Job)
    }

    /// Runs one job in this thread if the scheduler lets one start now.
    pub(crate) fn run_scheduled(&self, core: &Core) -> Result<Ran> {
        let offers = offers(core);
        if offers.is_empty() {
            let mut state = self.state.lock();
            state.told.clear();
            return Ok(if state.running.is_empty() { Ran::Nothing } else { Ran::Busy });
        }
        core.poison.check()?;
        let forecast = core.services.load.forecast();
        let mut state = self.state.lock();
        let mut decision = self.decide(core, &mut state, &offers, &forecast);
        if decision.start.is_empty() {
            return Ok(if decision.wait.is_empty() {
                Ran::Busy
            } else {
                Ran::Waits(decision.again_us.map(|us| Duration::from_micros(us as u64 + 1)))
            });
        }
        let has_more = decision.start.len() > 1;
        let Choice { index, reason } = decision.start.swap_remove(0);
        let started = state.start(core, &offers[index], reason);
        drop(state);
        if has_more {
            core.services.wake_jobs();
        }
        // A thread of the engine; jobs that are run by hand have their caller's, who waits for them.
        let _slices = (core.services.load.mode() == SchedulerMode::Cost).then(|| LongSlices::ask(core));
        self.run(core, &offers[index], started).map(|()| Ran::Job)
    }

    /// Whether the scheduler would let a job start now.
    pub(super) fn would_start(&self, core: &Core) -> bool {
        let offers = offers(core);
        if offers.is_empty() {
            return false;
        }
        let forecast = core.services.load.forecast();
        let mut state = self.state.lock();
        !self.decide(core, &mut state, &offers, &forecast).start.is_empty()
    }

    /// Asks the scheduler, and remembers what it says of those that wait.
    fn decide(
        &self,
        core: &Core,
        state: &mut State,
        offers: &[JobOffer],
        forecast: &super::forecast::Forecast,
    ) -> Decision {
        let now_nanos = core.env.clock.monotonic_nanos();
        state.note_offers(offers, now_nanos);
        let paused = state.paused(now_nanos);
        let since = |nanos: u64| now_nanos.saturating_sub(nanos) as f64 / 1e3;
        let offered: Vec<Offered<'_>> = offers
            .iter()
            .map(|offer| Offered {
                offer,
                waited_us: since(state.waiting[&(offer.table, offer.kind)]),
                expected_us: state.expected_us(offer),
            })
            .collect();
        let occupied = |started: &Started| {
            // One that is late goes on for as long as it is late.
            let ran_us = since(started.begun_nanos);
            Occupied { job: started.job, left_us: (started.expected_us - ran_us).abs() }
        };
        let running: Vec<Occupied> = state.running.iter().map(occupied).collect();
        let decision = decide(&Situation {
            mode: core.services.load.mode(),
            offers: &offered,
            running: &running,
            paused: &paused,
            debts: debts(core),
            forecast,
        });
        let told = decision.wait.iter().map(|wait| {
            let Offered { offer, waited_us, .. } = offered[wait.index];
            JobRecord {
                table: offer.table,
                kind: offer.kind,
                number: offer.number,
                state: JobState::Waiting,
                started_micros: None,
                duration_nanos: (waited_us * 1e3) as u64,
                paused_nanos: 0,
                price: offer.price,
                reason: wait.reason.clone(),
            }
        });
        state.told = told.collect();
        decision
    }

    fn run(&self, core: &Core, offer: &JobOffer, started: Started) -> Result<()> {
        let frees = offer.kind.frees_memory();
        take_seat(started.seat, frees, &*core.env.clock);
        let _freeing = frees.then(|| core.services.load.freeing());
        let mut ending = Ending { runner: self, core, started, cost_us: cost_us(&offer.price), outcome: None };
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

    /// Whether a job that frees memory is running or could run.
    pub(crate) fn has_conversion(&self, core: &Core) -> bool {
        self.state.lock().running.iter().any(|started| started.job.kind.frees_memory())
            || offers(core).iter().any(|offer| offer.kind.frees_memory())
    }

    /// Whether a job of the table is running.
    pub(crate) fn is_running(&self, table: TableId) -> bool {
        self.state.lock().running.iter().any(|started| started.job.table == table)
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

    /// By kind: how much longer jobs take than their price says.
    pub(crate) fn phis(&self) -> Vec<(JobKind, Phi)> {
        self.state.lock().phis.iter().map(|(kind, phi)| (*kind, *phi)).collect()
    }

    /// The last choices and their reasons, oldest first.
    pub(crate) fn history(&self) -> Vec<String> {
        self.state.lock().history.lines()
    }

    /// The jobs that were started last, oldest first, then those that wait.
    pub(crate) fn jobs(&self, core: &Core) -> Vec<JobRecord> {
        let offers = offers(core);
        // What was told to wait may have been run since, by who waits for jobs.
        let still = |told: &&JobRecord| {
            offers.iter().any(|offer| (offer.table, offer.kind, offer.number) == (told.table, told.kind, told.number))
        };
        let state = self.state.lock();
        let mut jobs = state.history.all(core.env.clock.monotonic_nanos());
        jobs.extend(state.told.iter().filter(still).cloned());
        jobs
    }

    /// How many jobs run.
    pub(crate) fn running_count(&self) -> usize {
        self.state.lock().running.len()
    }
}

/// Takes a job off the running ones, however it ends; a panic poisons the engine.
struct Ending<'a> {
    runner: &'a Runner,
    core: &'a Core,
    started: Started,
    cost_us: f64,
    outcome: Option<Result<()>>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut state = self.runner.state.lock();
        let job = self.started.job;
        let at = state.running.iter().position(|started| started.job == job);
        state.running.swap_remove(at.expect("a job is running until it ends"));
        let now_nanos = self.core.env.clock.monotonic_nanos();
        let nanos = now_nanos.saturating_sub(self.started.begun_nanos);
        let (count, total_nanos) = state.by_kind.entry(job.kind).or_default();
        *count += 1;
        *total_nanos += nanos;
        match &self.outcome {
            Some(Ok(())) => {
                state.jobs_run += 1;
                state.history.end(job, JobState::Done, now_nanos, paused_nanos());
                let worked_us = nanos.saturating_sub(paused_nanos()) as f64 / 1e3;
                state.phis.entry(job.kind).or_default().update(self.cost_us, worked_us);
            }
            Some(Err(error)) => {
                state.jobs_failed += 1;
                state.history.end(job, JobState::Failed, now_nanos, paused_nanos());
                if error.code() == Code::DiskFull {
                    state.paused.insert(job.table, now_nanos + PAUSE_NANOS);
                }
            }
            None => {
                state.jobs_failed += 1;
                state.history.end(job, JobState::Failed, now_nanos, paused_nanos());
                let Running { table, kind, number } = job;
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

/// What the engine owes.
pub(super) fn debts(core: &Core) -> Debts {
    let budget = &core.services.row_budget;
    Debts {
        memory: budget.used_bytes() as f64 / budget.limit_bytes() as f64,
        log: core.log.bytes() as f64 / core.options.checkpoint_log_bytes.max(1) as f64,
    }
}

fn job_failure(offer: &JobOffer, cause: &str) -> String {
    format!("job {:?} #{} of table {} failed: {cause}", offer.kind, offer.number, offer.table)
}
