//! How many cores running queries keep busy over the next moments: a pure function of their plans.
//!
//! ```text
//!   q1, 3 ms old    scan 8 ms x φ 1.5 / 2 cores   sort 10 ms x φ 1 / 1 core
//!                   |███████░░░|██████████|         6 ms on 2 cores, 3 of them done, then 10 ms on 1
//!   q2, new         scan 4 ms / 1 core
//!
//!   busy of 4 cores   0 ms  3      3 = 2 (q1) + 1 (q2)
//!                     3 ms  2      1 (q1) + 1 (q2)
//!                     4 ms  1
//!                    13 ms  0 and on: nothing is known to run
//! ```
//!
//! 1. Stages follow one another; a stage lasts cost × φ / parallelism. Operators of one pipeline take turns on the same
//!    cores, so they are stages one after the other, too: the sum is the same.
//! 2. A query that takes longer than expected is expected to go on for as long as it is late, at the parallelism of its
//!    last stage.
//! 3. Queries that are not here yet: those that began in the last half second are taken together as at least as many
//!    busy cores as queries of a tenth of a second had lately ([`Load`](super::Load) measures it), now and later. Its
//!    running mean remembers a query for about so long, which is not to be counted twice.
//! 4. What else the process does, statements of the point engine and its clients, is expected to go on as lately.
//! 5. No more cores are busy than there are.
//!
//! Source: SynchroStore section 3.3, figure 5 and formula 5. Invariants 3 and 4 are ours: the paper's monitor only sees
//! new queries when they are there, and queries of a millisecond are over before it looks.

use super::phi::{OperatorKind, PhiSet};
use crate::fault::{Fault, active};

/// How far a forecast looks, microseconds.
pub const HORIZON_US: f64 = 500_000.0;
/// Queries below this age are young, microseconds: the time between two looks of the monitor.
pub(crate) const YOUNG_US: f64 = 100_000.0;
/// Up to this age what a query used when it was young is in the running mean, microseconds.
const REMEMBERED_US: f64 = 5.0 * YOUNG_US;
/// The least that a query which is late is expected to go on, microseconds.
const LATE_US_MIN: f64 = 500.0;

/// One operator of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// What it does.
    pub kind: OperatorKind,
    /// Its estimated time on one core, microseconds, before the correction by φ.
    pub cost_us: f64,
    /// On how many cores it runs at once; at least 1.
    pub parallelism: u32,
}

/// What a plan is expected to do, in the order in which it does it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanForecast {
    stages: Vec<Stage>,
}

impl PlanForecast {
    /// A plan of these stages, the first one first.
    pub fn new(stages: Vec<Stage>) -> PlanForecast {
        assert!(stages.iter().all(|stage| stage.parallelism > 0 && stage.cost_us >= 0.0), "a stage runs somewhere");
        PlanForecast { stages }
    }

    /// Its stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The most cores that it uses at once.
    pub fn parallelism_max(&self) -> u32 {
        self.stages.iter().map(|stage| stage.parallelism).max().unwrap_or(1)
    }

    /// How long it takes alone, microseconds (formula 5).
    pub fn duration_us(&self, phis: &PhiSet) -> f64 {
        self.stages.iter().map(|stage| duration_us(stage, phis)).sum()
    }

    /// For how much longer it is expected to run when it has run for so long, microseconds (forecast 2).
    pub(super) fn left_us(&self, ran_us: f64, phis: &PhiSet) -> f64 {
        (self.duration_us(phis) - ran_us).abs()
    }

    /// How many cores it uses when it has run for so long; 0 is never the answer.
    pub(super) fn busy_at(&self, ran_us: f64, phis: &PhiSet) -> u32 {
        let mut begun_us = 0.0;
        for stage in &self.stages {
            begun_us += duration_us(stage, phis);
            if ran_us < begun_us {
                return stage.parallelism;
            }
        }
        self.last_parallelism()
    }

    /// The core time that it has used when it has run for so long, microseconds.
    pub(super) fn core_us(&self, ran_us: f64, phis: &PhiSet) -> f64 {
        let (mut left_us, mut used_us) = (ran_us, 0.0);
        for stage in &self.stages {
            let taken_us = duration_us(stage, phis).min(left_us);
            used_us += taken_us * f64::from(stage.parallelism);
            left_us -= taken_us;
        }
        used_us + left_us * f64::from(self.last_parallelism())
    }

    fn last_parallelism(&self) -> u32 {
        self.stages.last().map_or(1, |stage| stage.parallelism)
    }
}

fn duration_us(stage: &Stage, phis: &PhiSet) -> f64 {
    stage.cost_us * phis.of(stage.kind).mean / f64::from(stage.parallelism)
}

/// A query that runs.
#[derive(Clone, Copy, Debug)]
pub struct RunningPlan<'a> {
    /// Its plan.
    pub plan: &'a PlanForecast,
    /// How long it has run, microseconds; times when its client did not wait are not counted.
    pub ran_us: f64,
    /// When it began, microseconds ago.
    pub age_us: f64,
}

/// Busy cores of the last moments that no running plan tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lately {
    /// What queries used that were just begun.
    pub young_cores: f64,
    /// What everything else used but jobs.
    pub other_cores: f64,
}

/// The busy cores of the next [`HORIZON_US`] microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    cores: f64,
    /// From when on (microseconds from now) how many cores are busy; the first begins at 0, they are in order.
    steps: Vec<(f64, f64)>,
}

/// What these queries and the rest keep busy, of so many cores.
pub fn forecast(running: &[RunningPlan<'_>], lately: Lately, phis: &PhiSet, cores: usize) -> Forecast {
    let cores = cores as f64;
    let Lately { young_cores, other_cores } = lately;
    if active(Fault::CONSTANT_FORECAST) {
        return Forecast { cores, steps: vec![(0.0, cores / 2.0)] };
    }
    // Where the use of cores changes: when, by how many of young and of other queries.
    let mut changes: Vec<(f64, f64, f64)> = Vec::new();
    for query in running {
        let is_young = query.age_us < REMEMBERED_US;
        let mut change = |at_us: f64, cores: f64| {
            changes.push(if is_young { (at_us, cores, 0.0) } else { (at_us, 0.0, cores) });
        };
        for (from_us, until_us, busy) in ahead(query, phis) {
            change(from_us, busy);
            change(until_us, -busy);
        }
    }
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (mut young, mut old) = (0.0, 0.0);
    let mut steps: Vec<(f64, f64)> = vec![(0.0, (young_cores + other_cores).clamp(0.0, cores))];
    for (at_us, of_young, of_old) in changes {
        if at_us >= HORIZON_US {
            break;
        }
        young += of_young;
        old += of_old;
        let busy = (f64::max(young, young_cores) + old + other_cores).clamp(0.0, cores);
        match steps.last_mut() {
            Some(last) if last.0 >= at_us => last.1 = busy,
            _ => steps.push((at_us, busy)),
        }
    }
    debug_assert!(steps.is_sorted_by(|one, other| one.0 < other.0), "the steps of a forecast are in order");
    steps.dedup_by(|next, last| (next.1 - last.1).abs() < 1e-9);
    Forecast { cores, steps }
}

/// What is left of a query: from when, until when (microseconds from now), on how many cores.
fn ahead<'a>(query: &RunningPlan<'a>, phis: &'a PhiSet) -> impl Iterator<Item = (f64, f64, f64)> + use<'a> {
    let (plan, ran_us) = (query.plan, query.ran_us);
    let total_us = plan.duration_us(phis);
    let late_us = ran_us - total_us;
    let late = (late_us >= 0.0).then(|| (0.0, late_us.max(LATE_US_MIN), f64::from(plan.last_parallelism())));
    let mut at_us = -ran_us;
    let stages = plan.stages.iter().filter_map(move |stage| {
        let from_us = at_us;
        at_us += duration_us(stage, phis);
        (at_us > 0.0).then(|| (from_us.max(0.0), at_us, f64::from(stage.parallelism)))
    });
    stages.chain(late)
}

impl Forecast {
    /// Nothing runs.
    pub fn idle(cores: usize) -> Forecast {
        Forecast { cores: cores as f64, steps: vec![(0.0, 0.0)] }
    }

    /// How many cores there are.
    pub fn cores(&self) -> f64 {
        self.cores
    }

    /// From when on (microseconds from now) how many cores are busy.
    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }

    /// The mean of the busy cores between two moments, microseconds from now.
    pub fn busy_mean(&self, from_us: f64, until_us: f64) -> f64 {
        debug_assert!(from_us >= 0.0, "a forecast begins now");
        if until_us <= from_us {
            let at = self.steps.partition_point(|step| step.0 <= from_us);
            return self.steps[at.saturating_sub(1)].1;
        }
        let ends = self.steps.iter().skip(1).map(|step| step.0).chain([f64::INFINITY]);
        let spans = self.steps.iter().zip(ends);
        let used = |(&(begun_us, busy), ended_us): (&(f64, f64), f64)| {
            busy * (ended_us.min(until_us) - begun_us.max(from_us)).max(0.0)
        };
        let mean = spans.map(used).sum::<f64>() / (until_us - from_us);
        let is_within = |mean: f64| (-1e-6..=self.cores + 1e-6).contains(&mean);
        debug_assert!(!until_us.is_finite() || is_within(mean), "no more cores are busy than there are (5)");
        mean
    }

    /// The mean of the idle cores between two moments, microseconds from now.
    pub fn idle_mean(&self, from_us: f64, until_us: f64) -> f64 {
        self.cores - self.busy_mean(from_us, until_us)
    }

    /// The first moment within the horizon from which on so many cores are idle for so long, on average; microseconds
    /// from now.
    pub fn next_idle(&self, cores: f64, for_us: f64) -> Option<f64> {
        let moments = self.steps.iter().map(|step| step.0);
        moments.into_iter().find(|&at_us| self.idle_mean(at_us, at_us + for_us) >= cores)
    }
}

#[cfg(test)]
mod tests;
