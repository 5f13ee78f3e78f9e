//! Runs picked jobs and remembers what is running, paused and done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weft_contract::{JobKind, JobOffer};
use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, catch_panic};
use weft_format::{Code, Error, Result, TableId};

use crate::catalog::Catalog;
use crate::fault::{Fault, active};
use crate::log::Log;
use crate::sched::{
    Choice, Debts, Decision, Forecast, History, JobRecord, JobState, JobTotal, Meter, Occupied, Offered, Phi, Rests,
    Running, SchedulerMode, Situation, Trouble, cost_us, decide, fits_beside, pick, take_seat,
};
use crate::services::Services;

/// The slices that jobs ask for; the system's own are a few milliseconds.
const JOB_SLICE: Duration = Duration::from_millis(50);

/// What a call of [`Runner::run_one`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    /// A job.
    Job,
    /// Nothing: the offers cannot run beside what is running, or rest.
    Busy,
    /// Nothing: the scheduler lets all offers that could run wait, for so long if it knows.
    Waits(Option<Duration>),
    /// Nothing: there are no offers.
    Nothing,
}

/// The jobs of one engine.
pub(crate) struct Runner {
    env: Env,
    pub(super) services: Arc<Services>,
    catalog: Arc<Catalog>,
    log: Arc<Log>,
    state: Mutex<State>,
    /// Signalled when a job ends.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    running: Vec<Started>,
    /// Jobs that failed.
    rests: Rests,
    /// Since when a table offers jobs of a kind without one being started (monotonic nanoseconds).
    waiting: BTreeMap<(TableId, JobKind), u64>,
    /// What the scheduler last said of offers that wait.
    told: Vec<JobRecord>,
    history: History,
    jobs_run: u64,
    jobs_failed: u64,
    /// Jobs that ended.
    by_kind: BTreeMap<JobKind, JobTotal>,
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

    /// Notes what is offered since when; offers that are gone are forgotten.
    fn note_offers(&mut self, offers: &[JobOffer], now_nanos: u64) {
        self.waiting.retain(|&(table, kind), _| offers.iter().any(|offer| (offer.table, offer.kind) == (table, kind)));
        for offer in offers {
            self.waiting.entry((offer.table, offer.kind)).or_insert(now_nanos);
        }
    }

    fn check(&self) {
        let count_ended = || self.by_kind.values().map(|total| total.count).sum::<u64>();
        debug_assert_eq!(self.jobs_run + self.jobs_failed, count_ended(), "a job ended well or it did not");
    }

    /// Notes that a job runs.
    fn start(&mut self, env: &Env, offer: &JobOffer, reason: String) -> Started {
        assert!(fits_beside(offer, &self.jobs()), "one job of a kind that frees memory per table (sched 1)");
        let begun_nanos = env.clock.monotonic_nanos();
        let taken = |seat: &u32| self.running.iter().any(|started| started.seat == *seat);
        let seat = (0..).find(|seat| !taken(seat)).expect("there are more numbers than jobs");
        debug_assert!(seat as usize <= self.running.len(), "the lowest seat that is free is taken");
        let started = Started { job: Running::of(offer), begun_nanos, expected_us: self.expected_us(offer), seat };
        self.running.push(started);
        self.waiting.remove(&(offer.table, offer.kind));
        self.history.start(offer, reason, env.clock.wall_micros(), begun_nanos);
        started
    }
}

/// While this lives its thread asks for long slices, so that queries that wake up come before it (pacer 6).
struct LongSlices<'a> {
    env: &'a Env,
}

impl LongSlices<'_> {
    fn ask(env: &Env) -> LongSlices<'_> {
        env.spawn.ask_for_slices(Some(JOB_SLICE));
        LongSlices { env }
    }
}

impl Drop for LongSlices<'_> {
    fn drop(&mut self) {
        self.env.spawn.ask_for_slices(None);
    }
}

impl Runner {
    /// Runs the jobs of a catalog's tables and indexes.
    pub(crate) fn new(env: &Env, services: &Arc<Services>, catalog: &Arc<Catalog>, log: &Arc<Log>) -> Runner {
        let (services, catalog, log) = (services.clone(), catalog.clone(), log.clone());
        Runner { env: env.clone(), services, catalog, log, state: Mutex::default(), ended: Condvar::new() }
    }

    /// Picks and runs one job in this thread, the best, whatever is forecast and whatever rests: somebody waits for it.
    /// One that failed is left out from then on.
    pub(crate) fn run_one(&self, failed: &mut Failed) -> Result<Ran> {
        let mut offers = self.offers();
        offers.retain(|offer| !failed.has(offer));
        self.run_best(&offers, failed)
    }

    /// As [`Runner::run_one`], only what carries memory to files.
    pub(crate) fn run_conversion(&self, failed: &mut Failed) -> Result<Ran> {
        let mut offers = self.offers();
        offers.retain(|offer| offer.kind.frees_memory() && !failed.has(offer));
        self.run_best(&offers, failed)
    }

    fn run_best(&self, offers: &[JobOffer], failed: &mut Failed) -> Result<Ran> {
        if offers.is_empty() {
            return Ok(if self.state.lock().running.is_empty() { Ran::Nothing } else { Ran::Busy });
        }
        self.services.poison.check()?;
        let mut state = self.state.lock();
        let Some(Choice { index, reason }) = pick(offers, &state.jobs()) else { return Ok(Ran::Busy) };
        let started = state.start(&self.env, &offers[index], reason);
        drop(state);
        match self.run(&offers[index], started) {
            Err(error) if error.code() != Code::Poisoned => failed.add(&offers[index], error),
            ran => ran?,
        }
        Ok(Ran::Job)
    }

    /// Runs one job in this thread if the scheduler lets one start now.
    pub(crate) fn run_scheduled(&self) -> Result<Ran> {
        let offers = self.ready_offers();
        if offers.is_empty() {
            let mut state = self.state.lock();
            state.told.clear();
            return Ok(if state.running.is_empty() { Ran::Nothing } else { Ran::Busy });
        }
        self.services.poison.check()?;
        let forecast = self.services.load.forecast();
        let mut state = self.state.lock();
        let mut decision = self.decide(&mut state, &offers, &forecast);
        if decision.start.is_empty() {
            return Ok(if decision.wait.is_empty() {
                Ran::Busy
            } else {
                Ran::Waits(decision.again_us.map(|us| Duration::from_micros(us as u64 + 1)))
            });
        }
        let has_more = decision.start.len() > 1;
        let Choice { index, reason } = decision.start.swap_remove(0);
        let started = state.start(&self.env, &offers[index], reason);
        drop(state);
        if has_more {
            self.services.wake_jobs();
        }
        // A thread of the engine; jobs that are run by hand have their caller's, who waits for them.
        let _slices = (self.services.load.mode() == SchedulerMode::Cost).then(|| LongSlices::ask(&self.env));
        self.run(&offers[index], started).map(|()| Ran::Job)
    }

    /// The offers that do not rest.
    fn ready_offers(&self) -> Vec<JobOffer> {
        let mut offers = self.offers();
        let now_nanos = self.env.clock.monotonic_nanos();
        let state = self.state.lock();
        offers.retain(|offer| !state.rests.keeps(offer, now_nanos));
        offers
    }

    /// Whether the scheduler would let a job start now.
    pub(super) fn would_start(&self) -> bool {
        let offers = self.ready_offers();
        if offers.is_empty() {
            return false;
        }
        let forecast = self.services.load.forecast();
        let mut state = self.state.lock();
        !self.decide(&mut state, &offers, &forecast).start.is_empty()
    }

    /// Asks the scheduler, and remembers what it says of those that wait.
    fn decide(&self, state: &mut State, offers: &[JobOffer], forecast: &Forecast) -> Decision {
        let now_nanos = self.env.clock.monotonic_nanos();
        state.note_offers(offers, now_nanos);
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
            mode: self.services.load.mode(),
            offers: &offered,
            running: &running,
            debts: self.debts(),
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
                spent: None,
                price: offer.price,
                reason: wait.reason.clone(),
                trouble: None,
            }
        });
        state.told = told.collect();
        decision
    }

    fn run(&self, offer: &JobOffer, started: Started) -> Result<()> {
        let frees = offer.kind.frees_memory();
        take_seat(started.seat, frees, &*self.env.clock);
        let _freeing = frees.then(|| self.services.load.freeing());
        let meter = Meter::start(&*self.env.clock);
        let mut ending = Ending { runner: self, started, meter, cost_us: cost_us(&offer.price), outcome: None };
        // Looked at after the job counts as running: who removes a dropped table waits for it or is seen here.
        let result = self.catalog.maintained_by_id(offer.table).map_or(Ok(()), |relation| {
            let ran = catch_panic(|| relation.upkeep().run(offer));
            let ran = ran.unwrap_or_else(|panic| Err(Error::internal(format!("it panicked: {panic}"))));
            ran.map_err(|error| job_failure(offer, &relation.def().name, &error))
        });
        ending.outcome = Some((offer.clone(), result.clone()));
        drop(ending);
        // A panic between a durable change and the memory that follows it has stopped the engine (sched 2).
        self.services.poison.check()?;
        result.map_err(|error| match error.code() {
            Code::DiskFull => error,
            Code::Poisoned => self.services.poison.set(error.message()),
            _ if active(Fault::POISON_ON_JOB_ERROR) => self.services.poison.set(error.message()),
            _ => error,
        })
    }

    /// Whether a job is running or could run.
    pub(crate) fn has_work(&self) -> bool {
        !self.state.lock().running.is_empty() || !self.offers().is_empty()
    }

    /// Whether a job that frees memory is running or could run now.
    pub(crate) fn has_conversion(&self) -> bool {
        self.state.lock().running.iter().any(|started| started.job.kind.frees_memory())
            || self.ready_offers().iter().any(|offer| offer.kind.frees_memory())
    }

    /// The error of a table's, or index's, jobs that free memory, while they fail.
    pub(crate) fn memory_trouble(&self, table: TableId) -> Option<Error> {
        self.state.lock().rests.of_memory(table).cloned()
    }

    /// Whether the work between jobs must wait, since it failed.
    pub(crate) fn house_rests(&self) -> bool {
        self.state.lock().rests.keeps_house(self.env.clock.monotonic_nanos())
    }

    /// Notes how the work between jobs ended.
    pub(crate) fn note_house(&self, error: Option<&Error>) {
        self.state.lock().rests.note_house(error, self.env.clock.monotonic_nanos());
    }

    /// Why the work between jobs (removing dropped tables, cutting the log) waits, if it failed.
    pub(crate) fn house_trouble(&self) -> Option<Trouble> {
        self.state.lock().rests.house(self.env.clock.monotonic_nanos())
    }

    /// How many jobs failed and are not done since.
    pub(crate) fn resting_count(&self) -> usize {
        self.state.lock().rests.all().count()
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

    /// By kind: the jobs that ended.
    pub(crate) fn by_kind(&self) -> Vec<(JobKind, JobTotal)> {
        self.state.lock().by_kind.iter().map(|(kind, total)| (*kind, *total)).collect()
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
    pub(crate) fn jobs(&self) -> Vec<JobRecord> {
        let offers = self.offers();
        // What was told to wait may have been run since, by who waits for jobs.
        let still = |told: &&JobRecord| {
            offers.iter().any(|offer| (offer.table, offer.kind, offer.number) == (told.table, told.kind, told.number))
        };
        let now_nanos = self.env.clock.monotonic_nanos();
        let mut state = self.state.lock();
        state.rests.prune(now_nanos, |table| self.catalog.maintained_by_id(table).is_some());
        let mut jobs = state.history.all(now_nanos);
        jobs.extend(state.rests.all().map(|(job, rest)| JobRecord::resting(*job, rest, now_nanos)));
        jobs.extend(state.told.iter().filter(still).cloned());
        jobs
    }

    /// The offers of all tables that are alive, and of indexes under construction.
    fn offers(&self) -> Vec<JobOffer> {
        let able = self.catalog.maintained().into_iter().filter(|relation| !self.catalog.is_unavailable(relation));
        able.flat_map(|relation| relation.upkeep().jobs()).collect()
    }

    /// What the engine owes.
    pub(super) fn debts(&self) -> Debts {
        let budget = &self.services.row_budget;
        Debts {
            memory: budget.used_bytes() as f64 / budget.limit_bytes() as f64,
            log: self.log.bytes() as f64 / self.services.options.checkpoint_log_bytes.max(1) as f64,
        }
    }

    /// How many jobs run.
    pub(crate) fn running_count(&self) -> usize {
        self.state.lock().running.len()
    }
}

/// Takes a job off the running ones, however it ends.
struct Ending<'a> {
    runner: &'a Runner,
    started: Started,
    meter: Meter,
    cost_us: f64,
    /// None while it runs, and when the machine stops under it.
    outcome: Option<(JobOffer, Result<()>)>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut state = self.runner.state.lock();
        let job = self.started.job;
        let at = state.running.iter().position(|started| started.job == job);
        let gone = state.running.swap_remove(at.expect("a job is running until it ends"));
        debug_assert_eq!(gone.seat, self.started.seat, "a job has one seat from its start to its end");
        let now_nanos = self.runner.env.clock.monotonic_nanos();
        let nanos = now_nanos.saturating_sub(self.started.begun_nanos);
        let spent = self.meter.spent(&*self.runner.env.clock);
        let total = state.by_kind.entry(job.kind).or_default();
        total.count += 1;
        total.nanos += nanos;
        total.spent += spent;
        match &self.outcome {
            Some((_, Ok(()))) => {
                state.rests.succeed(job);
                state.jobs_run += 1;
                state.history.end(job, JobState::Done, now_nanos, spent);
                let worked_us = nanos.saturating_sub(spent.paused_nanos) as f64 / 1e3;
                state.phis.entry(job.kind).or_default().update(self.cost_us, worked_us);
            }
            Some((offer, Err(error))) => {
                state.jobs_failed += 1;
                state.history.end(job, JobState::Failed, now_nanos, spent);
                state.rests.fail(offer, error, now_nanos);
            }
            None => {
                state.jobs_failed += 1;
                state.history.end(job, JobState::Failed, now_nanos, spent);
                let Running { table, kind, number } = job;
                self.runner.services.poison.set(&format!("job {kind:?} #{number} of table {table} was torn off"));
            }
        }
        state.check();
        drop(state);
        self.runner.ended.notify_all();
    }
}

/// The jobs that failed while somebody waited for all of them.
#[derive(Default)]
pub(crate) struct Failed {
    jobs: Vec<Running>,
    /// The first error.
    pub(crate) error: Option<Error>,
}

impl Failed {
    fn has(&self, offer: &JobOffer) -> bool {
        self.jobs.contains(&Running::of(offer))
    }

    /// Whether a job of the table, or index, failed.
    pub(crate) fn has_table(&self, table: TableId) -> bool {
        self.jobs.iter().any(|job| job.table == table)
    }

    fn add(&mut self, offer: &JobOffer, error: Error) {
        debug_assert!(!self.has(offer), "a job that failed is left out from then on");
        self.jobs.push(Running::of(offer));
        self.error.get_or_insert(error);
    }

    /// The first error, if there was one.
    pub(crate) fn result(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}

/// The error of a job, with its name and what to do.
fn job_failure(offer: &JobOffer, name: &str, error: &Error) -> Error {
    let message = format!("job {:?} #{} of {name:?} failed: {}", offer.kind, offer.number, error.message());
    let hint = error.hint_text().unwrap_or(match error.code() {
        Code::DataCorrupted => "go on without the file by `weft check --quarantine`, or restore it from a backup",
        Code::Internal => "it is tried again; report it, with the log of the server",
        _ => "see to the disk, its space and the rights of the directory; it is tried again",
    });
    Error::new(error.code(), message).hint(hint)
}
