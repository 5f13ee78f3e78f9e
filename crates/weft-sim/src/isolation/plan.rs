//! A plan, its lives, its verdict.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::{Durability, Engine, EngineOptions};

use super::beside::check_tags;
use super::client::{Client, Pen};
use super::database;
use crate::checker::{Generator, History, Level, Report, Rules, Sequence, Status, Workload, check};
use crate::random::Random;
use crate::scenario::Scenario;
use crate::tables::DIR;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides the transactions; in the simulation also the schedule and the crashes.
    pub seed: u64,
    /// The level of all transactions; none: each draws one.
    pub level: Option<Level>,
    /// What the transactions do, and how many clients there are.
    pub workload: Workload,
    /// How often the process is started; all lives but the last may end by a crash.
    pub lives: u64,
    /// Of a hundred transactions, how many read speculatively.
    pub speculative_percent: u64,
    /// Transactions of each client in each life.
    pub transactions: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The checker's report.
    pub report: Report,
    /// Transactions begun.
    pub transactions: u64,
    /// Of these, refused or given up.
    pub aborted: u64,
    /// Of these, cut off by a crash.
    pub unknown: u64,
    /// Lives that a crash ended.
    pub crashes: u64,
    /// Tags that were refused, for another register had them.
    pub tags_refused: u64,
    /// Bulk statements.
    pub in_bulk: u64,
}

/// What outlives the process.
struct Run {
    plan: Plan,
    pens: Vec<Arc<Pen>>,
}

impl Plan {
    /// A plan of four clients and small tables.
    pub fn new(seed: u64, level: Option<Level>) -> Plan {
        let workload = Workload { clients: 5, cold_keys: 1000, ..Workload::default() };
        Plan { seed, level, workload, lives: 4, speculative_percent: 0, transactions: 40 }
    }

    /// The same with shorter lives, where most transactions read speculatively: what they have seen and a crash undoes
    /// shows in the next life.
    pub fn speculative(seed: u64, level: Option<Level>) -> Plan {
        Plan { speculative_percent: 70, lives: 16, transactions: 10, ..Plan::new(seed, level) }
    }

    /// Runs in the deterministic simulation, with crashes. The error is a violation other than an anomaly.
    pub fn simulate(&self) -> Result<Outcome, String> {
        let simulation = Simulation::new(SimOptions::seeded(self.seed));
        let options = Scenario::seeded(self.seed).options;
        let run = Arc::new(self.start());
        let mut random = Random::new(self.seed, 21);
        let mut life_operations = 300;
        let mut crashes = 0;
        for life in 0..self.lives {
            let is_last = life + 1 == self.lives;
            if life > 0 && !is_last && random.chance(80) {
                simulation.crash_after(1 + random.below(life_operations + 20));
            }
            let before = simulation.operation_count();
            let (shared, options) = (Arc::clone(&run), options.clone());
            let end = simulation.run(move |env| shared.live(&env, Path::new(DIR), options, is_last));
            simulation.cancel_crash();
            match end {
                RunEnd::Finished => {
                    life_operations = simulation.operation_count() - before;
                    if !is_last && random.chance(50) {
                        simulation.power_off();
                    }
                }
                RunEnd::Crashed { .. } => {
                    crashes += 1;
                    run.pens.iter().for_each(|pen| {
                        let mut recorder = pen.recorder();
                        if recorder.is_open() {
                            recorder.unknown();
                        }
                    });
                }
                RunEnd::Panicked { thread, message } => {
                    return Err(format!("seed {}, life {life}, thread {thread}: {message}", self.seed));
                }
            }
        }
        let run = Arc::into_inner(run).ok_or("a thread of the simulation is still there")?;
        run.finish(crashes)
    }

    /// Runs on real threads and a real disk, with restarts in place of crashes. `dir` is made and must be empty.
    pub fn run(&self, dir: &Path) -> Result<Outcome, String> {
        let options = EngineOptions {
            row_table_bytes: 256 << 10,
            checkpoint_log_bytes: 16 << 20,
            durability: Durability::Async,
            ..EngineOptions::default()
        };
        let run = Arc::new(self.start());
        for life in 0..self.lives {
            let (dir, is_last): (PathBuf, bool) = (dir.into(), life + 1 == self.lives);
            Arc::clone(&run).live(&Env::real(), &dir, options.clone(), is_last);
        }
        let run = Arc::into_inner(run).ok_or("a client's thread is still there")?;
        run.finish(0)
    }

    fn start(&self) -> Run {
        let sequence = Sequence::default();
        let pen = |client: u32| {
            let generator = Generator::new(self.seed, client, self.workload);
            Arc::new(Pen::new(sequence.recorder(client), generator))
        };
        Run { plan: self.clone(), pens: (0..self.workload.clients as u32).map(pen).collect() }
    }
}

impl Run {
    fn live(self: Arc<Self>, env: &Env, dir: &Path, options: EngineOptions, is_last: bool) {
        let engine = Engine::open(env.clone(), dir, crate::methods(), options)
            .unwrap_or_else(|error| panic!("violation: open failed: {error}"));
        let columns = self.plan.workload.columns;
        let set_up = || {
            let mut txn = engine.begin()?;
            database::set_up(&mut txn, columns)?;
            txn.commit()
        };
        set_up().unwrap_or_else(|error| panic!("violation: making the tables failed: {error}"));
        let client = |pen: &Arc<Pen>| Client {
            env: env.clone(),
            engine: Arc::clone(&engine),
            pen: Arc::clone(pen),
            level: self.plan.level,
            speculative_percent: self.plan.speculative_percent,
            transactions: self.plan.transactions,
            columns,
        };
        let watch = (self.plan.speculative_percent > 0).then(|| engine.watch_pending());
        let mut threads = Vec::new();
        for pen in &self.pens {
            let client = client(pen);
            let thread = env.spawn.spawn("client", Box::new(move || client.run()));
            threads.push(thread.unwrap_or_else(|error| panic!("violation: a thread did not start: {error}")));
        }
        for thread in threads {
            thread.join().unwrap_or_else(|text| panic!("{text}"));
        }
        drop(watch);
        let tags = engine.begin().and_then(|txn| check_tags(&txn));
        tags.unwrap_or_else(|error| panic!("violation: reading tags failed: {error}"));
        if is_last {
            client(&self.pens[0]).read_all(columns);
            let findings = engine.check().unwrap_or_else(|error| panic!("violation: check failed: {error}"));
            assert!(findings.is_empty(), "violation: check found: {findings:?}");
        }
        engine.close().unwrap_or_else(|error| panic!("violation: close failed: {error}"));
    }

    fn finish(self, crashes: u64) -> Result<Outcome, String> {
        let seed = self.plan.seed;
        let sum = |field: fn(&Pen) -> &AtomicU64| self.pens.iter().map(|pen| field(pen).load(Ordering::Relaxed)).sum();
        let (tags_refused, in_bulk) = (sum(|pen| &pen.tags_refused), sum(|pen| &pen.in_bulk));
        let pens = self.pens.into_iter().map(|pen| Arc::into_inner(pen).map(Pen::into_recorder));
        let recorders: Vec<_> = pens.collect::<Option<_>>().ok_or("a client still holds its pen")?;
        let history: History = Sequence::merge(recorders);
        let count = |status| history.transactions().iter().filter(|one| one.status == status).count() as u64;
        let (aborted, unknown) = (count(Status::Aborted), count(Status::Unknown));
        let report = check(&history, Rules::default()).map_err(|error| format!("seed {seed}: {error}"))?;
        Ok(Outcome {
            report,
            transactions: history.transactions().len() as u64,
            aborted,
            unknown,
            crashes,
            tags_refused,
            in_bulk,
        })
    }
}

impl Outcome {
    /// The first anomaly that a level forbids.
    pub fn first_violation(&self) -> Option<String> {
        self.report.forbidden.first().map(|anomaly| anomaly.to_string())
    }
}
