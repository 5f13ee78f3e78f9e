//! Many seeds, many rounds, a crash in each.
//!
//! ```text
//!   seed 7   round 0  no crash: how many operations does a round have?     612
//!            round 1  crash in operation 288 from here                      Crashed { "write db/log-0 9216 4096" }
//!            round 2  crash in operation 9 from here (in recovery)          Crashed { "rename db/log-2.tmp ..." }
//!            round 3  crash after "convert: edit durable", 3rd time
//! ```
//!
//! Seeds run side by side on real threads; each is deterministic by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::step::Step;

use crate::history::{Counts, History};
use crate::methods::all_steps;
use crate::random::Random;
use crate::round::round;
use crate::scenario::Scenario;

/// What to run.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The scenario of a seed.
    pub scenario: fn(u64) -> Scenario,
    /// The first seed.
    pub first_seed: u64,
    /// How many seeds.
    pub seeds: u64,
    /// Crashes per seed.
    pub crashes_per_seed: u64,
    /// Simulations side by side.
    pub threads: usize,
    /// Names of steps that crashes come after where a scenario reaches one of them, instead of any step.
    pub aims: Vec<&'static str>,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Seeds that ended.
    pub seeds: u64,
    /// Runs of the process.
    pub rounds: u64,
    /// Crashes in the middle of a run.
    pub crashes: u64,
    /// Of these, before the database was open and verified again.
    pub nested_crashes: u64,
    /// Power failures after a run had ended.
    pub power_failures: u64,
    /// Sums over all seeds.
    pub counts: Counts,
    /// How often each step was reached.
    pub steps: BTreeMap<&'static str, u64>,
    /// Crashes right after each step.
    pub crashes_after: BTreeMap<&'static str, u64>,
    /// Different operations (without their numbers) that a crash happened in.
    pub crashed_operations: BTreeSet<String>,
    /// By seed: the hash of the trace.
    pub hashes: BTreeMap<u64, u64>,
    /// What was violated: the seed and what to do about it.
    pub failures: Vec<String>,
}

impl Campaign {
    /// Runs all seeds; stops early after a few failures.
    pub fn run(&self) -> Report {
        let next = AtomicU64::new(self.first_seed);
        let end = self.first_seed + self.seeds;
        let failures = AtomicU64::new(0);
        let mut total = Report::default();
        // Simulations run side by side on threads outside of them.
        #[allow(clippy::disallowed_methods)]
        std::thread::scope(|scope| {
            let run = || {
                let mut report = Report::default();
                while failures.load(Ordering::Relaxed) < 3 {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let one = run_aimed((self.scenario)(seed), self.crashes_per_seed, false, &self.aims);
                    failures.fetch_add(one.failures.len() as u64, Ordering::Relaxed);
                    report.add(one);
                }
                report
            };
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(run)).collect();
            for thread in threads {
                total.add(thread.join().expect("a run catches the panics of its simulation"));
            }
        });
        total
    }
}

/// Runs one seed until the machine crashed `crashes` times and the state was verified after the last.
pub fn run_seed(seed: u64, crashes: u64, record_trace: bool) -> Report {
    run_scenario(Scenario::seeded(seed), crashes, record_trace)
}

/// Runs a scenario as [`run_seed`] does.
pub fn run_scenario(scenario: Scenario, crashes: u64, record_trace: bool) -> Report {
    run_aimed(scenario, crashes, record_trace, &[])
}

fn run_aimed(scenario: Scenario, crashes: u64, record_trace: bool, aims: &[&'static str]) -> Report {
    let seed = scenario.seed;
    let simulation = Simulation::new(SimOptions { record_trace, ..SimOptions::seeded(seed) });
    let mut seed_run = SeedRun {
        scenario,
        history: Arc::new(History::default()),
        random: Random::new(seed, 11),
        round_operations: 300,
        step_counts: BTreeMap::new(),
        report: Report { seeds: 1, ..Report::default() },
        aims: aims.to_vec(),
        simulation,
    };
    while seed_run.report.crashes < crashes && seed_run.report.failures.is_empty() {
        seed_run.one_round(true);
    }
    if seed_run.report.failures.is_empty() {
        seed_run.one_round(false);
    }
    seed_run.finish(record_trace)
}

struct SeedRun {
    simulation: Simulation,
    scenario: Scenario,
    history: Arc<History>,
    random: Random,
    /// Operations of the last whole round.
    round_operations: u64,
    /// Steps of the last whole round.
    step_counts: BTreeMap<&'static str, u64>,
    report: Report,
    /// Steps to crash after before any other.
    aims: Vec<&'static str>,
}

impl SeedRun {
    fn one_round(&mut self, crash: bool) {
        let number = self.report.rounds;
        self.report.rounds += 1;
        if crash && number > 0 {
            self.plan_crash(number);
        }
        let operations_before = self.simulation.operation_count();
        let steps_before = self.simulation.step_counts();
        let verified_before = self.history.counts().verified;
        let (scenario, history) = (self.scenario.clone(), Arc::clone(&self.history));
        let end = self.simulation.run(move |env| round(&env, &scenario, &history, number, |_, _| ()));
        self.simulation.cancel_crash();
        match end {
            RunEnd::Finished => {
                self.round_operations = self.simulation.operation_count() - operations_before;
                self.step_counts = self.simulation.step_counts();
                for (name, count) in &mut self.step_counts {
                    *count -= steps_before.get(name).copied().unwrap_or_default();
                }
                if crash && self.random.chance(50) {
                    self.simulation.power_off();
                    self.report.power_failures += 1;
                }
            }
            RunEnd::Crashed { operation, .. } => {
                self.report.crashes += 1;
                self.report.nested_crashes += u64::from(self.history.counts().verified == verified_before);
                self.note_crash(&operation);
            }
            RunEnd::Panicked { thread, message } => {
                let seed = self.scenario.seed;
                self.report.failures.push(format!("seed {seed}, round {number}, thread {thread}: {message}"));
            }
        }
    }

    fn plan_crash(&mut self, number: u64) {
        match self.random.below(20) {
            0 => {}
            1..=4 => self.simulation.crash_after(1 + self.random.below(40)),
            5..=10 => self.simulation.crash_after(1 + self.random.below(self.round_operations + 20)),
            _ => {
                // Of those that this scenario comes to, once that is known.
                let is_usual = |step: &Step| self.step_counts.get(step.name()).is_some_and(|&count| count > 0);
                let usual: Vec<Step> = all_steps().into_iter().filter(is_usual).collect();
                let aimed: Vec<Step> = usual.iter().filter(|step| self.aims.contains(&step.name())).copied().collect();
                let steps = [aimed, usual].into_iter().find(|steps| !steps.is_empty()).unwrap_or_else(all_steps);
                let step = steps[(self.scenario.seed * 13 + number) as usize % steps.len()].name();
                let usual = self.step_counts.get(step).copied().unwrap_or_default();
                self.simulation.crash_at_step(step, 1 + self.random.below(usual.max(1)));
            }
        }
    }

    fn note_crash(&mut self, operation: &str) {
        let step =
            operation.strip_prefix("step ").and_then(|name| all_steps().into_iter().find(|step| step.name() == name));
        if let Some(step) = step {
            *self.report.crashes_after.entry(step.name()).or_default() += 1;
            return;
        }
        // "write db/log-00ff 4096 512" becomes "write db/log".
        let kind: String = operation.chars().take_while(|c| !c.is_ascii_digit() && *c != '-').collect();
        self.report.crashed_operations.insert(kind.trim_end().to_owned());
    }

    fn finish(mut self, record_trace: bool) -> Report {
        let seed = self.scenario.seed;
        if record_trace && !self.report.failures.is_empty() {
            let lines = self.simulation.trace();
            let tail = lines[lines.len().saturating_sub(200)..].join("\n  ");
            self.report.failures.push(format!("the end of the trace of seed {seed}:\n  {tail}"));
        }
        self.report.counts = self.history.counts();
        self.report.steps = self.simulation.step_counts();
        self.report.hashes.insert(seed, self.simulation.trace_hash());
        self.report
    }
}

impl Report {
    /// Adds another report.
    pub fn add(&mut self, other: Report) {
        self.seeds += other.seeds;
        self.rounds += other.rounds;
        self.crashes += other.crashes;
        self.nested_crashes += other.nested_crashes;
        self.power_failures += other.power_failures;
        let (sum, more) = (&mut self.counts, other.counts);
        sum.committed += more.committed;
        sum.acknowledged += more.acknowledged;
        sum.recovered_in_flight += more.recovered_in_flight;
        sum.lost_in_flight += more.lost_in_flight;
        sum.lost_async += more.lost_async;
        sum.rolled_back += more.rolled_back;
        sum.conflicts += more.conflicts;
        sum.faulted += more.faulted;
        sum.values_refused += more.values_refused;
        sum.upserts_updated += more.upserts_updated;
        sum.upserts_inserted += more.upserts_inserted;
        sum.members_in_bulk += more.members_in_bulk;
        sum.snapshots += more.snapshots;
        sum.verified += more.verified;
        sum.past += more.past;
        for (name, count) in other.steps {
            *self.steps.entry(name).or_default() += count;
        }
        for (name, count) in other.crashes_after {
            *self.crashes_after.entry(name).or_default() += count;
        }
        self.crashed_operations.extend(other.crashed_operations);
        self.hashes.extend(other.hashes);
        self.failures.extend(other.failures);
    }

    /// Steps that were never reached, or never crashed after.
    pub fn missed_steps(&self) -> Vec<&'static str> {
        let missed = |step: &Step| {
            let name = step.name();
            !self.steps.contains_key(name) || !self.crashes_after.contains_key(name)
        };
        all_steps().into_iter().filter(missed).map(Step::name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { committed, acknowledged, recovered_in_flight, lost_in_flight, lost_async, .. } = self.counts;
        let Counts { rolled_back, conflicts, faulted, snapshots, verified, past, .. } = self.counts;
        let rows = [
            ("seeds", self.seeds),
            ("runs of the process", self.rounds),
            ("crash points", self.crashes),
            ("  of these during recovery", self.nested_crashes),
            ("  of these right after a named step", self.crashes_after.values().sum()),
            ("power failures after a run", self.power_failures),
            ("reopened states equal to the model", verified),
            ("snapshots equal to the model while writers ran", snapshots),
            ("tables as of a moment before equal to what they were", past),
            ("transactions that called commit", committed),
            ("  acknowledged", acknowledged),
            ("  in flight at a crash, recovered", recovered_in_flight),
            ("  in flight at a crash, gone", lost_in_flight),
            ("  asynchronous, acknowledged and lost", lost_async),
            ("rolled back", rolled_back),
            ("conflicts", conflicts),
            ("failed by an injected fault", faulted),
            ("statements refused for a value that is there", self.counts.values_refused),
            ("upserts by a unique value that updated", self.counts.upserts_updated),
            ("upserts by a unique value that inserted", self.counts.upserts_inserted),
            ("bulk statements beside them", self.counts.members_in_bulk),
            ("different operations crashed in", self.crashed_operations.len() as u64),
            ("steps reached", self.steps.len() as u64),
            ("steps crashed after", self.crashes_after.len() as u64),
        ];
        for (name, value) in rows {
            writeln!(f, "{name:<48} {value:>10}")?;
        }
        writeln!(f, "\n{:<36} {:>10} {:>10}", "step", "reached", "crashes")?;
        for step in all_steps() {
            let count = |counts: &BTreeMap<&str, u64>| counts.get(step.name()).copied().unwrap_or_default();
            writeln!(f, "{:<36} {:>10} {:>10}", step.name(), count(&self.steps), count(&self.crashes_after))?;
        }
        Ok(())
    }
}
