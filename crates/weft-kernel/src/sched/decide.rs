//! Which jobs start now: a pure function of what is offered, what runs, what is owed and what is forecast.
//!
//! ```text
//!   cores 2       busy  2 for 30 ms, then 1 (a query that sorts what it read)
//!   offers        convert t3 #2  70 ms      to-baseline t3 #5  12 ms
//!   running       nothing
//!   decide  →     nothing starts: 0.7 of 2 cores are expected to be idle for the 70 ms of convert t3 #2,
//!                 0 for the 12 ms of to-baseline t3 #5; look again in 30 ms
//!   30 ms later → convert t3 #2  "memory first; ...; 1.0 of 2 cores are expected to be idle for its 70 ms"
//! ```
//!
//! 1. Order: as [`pick`](super::pick()): what frees memory first, then by worth; what has waited very long before
//!    all. A job for which there is no room does not keep a shorter one, for which there is, from starting.
//! 2. Cost: a job starts when most of a core is expected to be idle for as long as it takes (its price, corrected by
//!    what such jobs took before). Running jobs and those chosen before it count as busy cores. One that is an edit
//!    alone starts in any case: it needs no core worth mentioning.
//! 3. Debt: memory or log above a part of its limit, many dead rows, or an offer that has waited long start a job
//!    whatever is forecast: so there is progress under any load.
//! 4. When nothing runs or starts and no room is foreseen for anything, the first in order starts: waiting would only
//!    let scans read its rows longer, and it makes room for queries as it runs ([`Pacer`](super::Pacer)). What frees
//!    memory does so beside a merge, too, which then makes room for it: every query scans the rows that wait.
//! 5. Greedy: everything starts that can run beside the rest. Off: only what debts of memory and log demand.
//!
//! Source: SynchroStore section 3.3; the debts are ours.

use weft_contract::{JobOffer, Price};

use super::forecast::{Forecast, HORIZON_US};
use super::mode::SchedulerMode;
use super::pick::{Choice, Running, compare, explain, fits_beside};

/// So much of a core has to be idle for a job to start.
const IDLE_CORES_MIN: f64 = 0.75;
/// Row memory above this part of its limit starts jobs that free some. Writers are slowed down from a half on.
const MEMORY_SHARE: f64 = 0.25;
/// Log above this part of its limit starts jobs that release some.
const LOG_SHARE: f64 = 0.5;
/// The same two, when the scheduler is off.
const OFF_MEMORY_SHARE: f64 = 0.5;
const OFF_LOG_SHARE: f64 = 1.0;
/// So many dead rows in what waits start a job.
const DEAD_ROWS_MAX: u64 = 1_000_000;
/// So long waits what frees memory, and other jobs, microseconds. Rows that wait for conversion slow every scan down,
/// and a job that is started beside queries makes room for them: so not for long.
const WAIT_US_MAX: [f64; 2] = [250e3, 2e6];
/// An edit alone takes less of a core than this, microseconds.
const EDIT_US_MAX: u64 = 500;
/// What has waited so many times as long comes before everything else.
const STARVING: f64 = 10.0;

/// An offer and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// The offer.
    pub offer: &'a JobOffer,
    /// Since when its table offers jobs of this kind without one being started, microseconds.
    pub waited_us: f64,
    /// How long it is expected to take, microseconds.
    pub expected_us: f64,
}

/// A job that runs.
#[derive(Clone, Copy, Debug)]
pub struct Occupied {
    /// The job.
    pub job: Running,
    /// How long it is expected to go on, microseconds.
    pub left_us: f64,
}

/// What is owed, each as a part of its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Debts {
    /// Row memory.
    pub memory: f64,
    /// Log that is kept.
    pub log: f64,
}

impl Debts {
    /// How far jobs are to give up their pauses for it, besides what memory asks for: 0 not at all, 1 quite.
    pub(crate) fn urgency(&self) -> f64 {
        (self.log - LOG_SHARE) / (1.0 - LOG_SHARE)
    }
}

/// All that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The switch.
    pub mode: SchedulerMode,
    /// What is offered.
    pub offers: &'a [Offered<'a>],
    /// What runs.
    pub running: &'a [Occupied],
    /// What is owed.
    pub debts: Debts,
    /// Busy cores without those of jobs.
    pub forecast: &'a Forecast,
}

/// What to start, and what waits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The offers to start now, the first one first; indexes in [`Situation::offers`].
    pub start: Vec<Choice>,
    /// Those that wait for room and why. What cannot run beside what runs, or rests, is in neither.
    pub wait: Vec<Choice>,
    /// When there will be room for one of those, microseconds from now, if that is foreseen.
    pub again_us: Option<f64>,
}

/// Decides.
pub fn decide(situation: &Situation<'_>) -> Decision {
    let offers = situation.offers;
    let mut order: Vec<usize> = (0..offers.len()).collect();
    let starves = |index: &usize| waited_share(&offers[*index]) > STARVING;
    order.sort_by(|one, other| {
        let order = compare(offers[*one].offer, offers[*other].offer);
        starves(other).cmp(&starves(one)).then(order)
    });
    let mut occupied = situation.running.to_vec();
    let mut beside: Vec<Running> = occupied.iter().map(|running| running.job).collect();
    let mut decision = Decision::default();
    for index in order {
        let Offered { offer, expected_us, .. } = offers[index];
        if !fits_beside(offer, &beside) {
            continue;
        }
        match judge(situation, &offers[index], &occupied) {
            Ok(why) => {
                let reason = format!("{}; {why}", explain(offer, offers.len()));
                decision.start.push(Choice { index, reason });
                let job = Running::of(offer);
                beside.push(job);
                occupied.push(Occupied { job, left_us: expected_us });
            }
            Err((why, again_us)) => {
                decision.wait.push(Choice { index, reason: why });
                decision.again_us = match (decision.again_us, again_us) {
                    (Some(one), Some(other)) => Some(f64::min(one, other)),
                    (one, other) => one.or(other),
                };
            }
        }
    }
    if situation.mode == SchedulerMode::Cost && decision.again_us.is_none() {
        start_first(&mut decision, offers, &occupied);
    }
    if cfg!(debug_assertions) {
        check(situation, &decision);
    }
    decision
}

fn check(situation: &Situation<'_>, decision: &Decision) {
    let is_waiting = |choice: &Choice| decision.wait.iter().any(|wait| wait.index == choice.index);
    debug_assert!(!decision.start.iter().any(is_waiting), "an offer starts or waits");
    let mut beside: Vec<Running> = situation.running.iter().map(|running| running.job).collect();
    let fits = |choice: &Choice| {
        let offer = situation.offers[choice.index].offer;
        let fits = fits_beside(offer, &beside);
        beside.push(Running::of(offer));
        fits
    };
    debug_assert!(decision.start.iter().all(fits), "what starts can run beside the rest (sched 1)");
    debug_assert!(decision.again_us.is_none_or(|at_us| at_us > 0.0), "room that is foreseen is still to come");
}

/// Starts the first that waits and need not: there is no room for anything, now or later (decide 4).
fn start_first(decision: &mut Decision, offers: &[Offered<'_>], occupied: &[Occupied]) {
    let frees = |index: usize| offers[index].offer.kind.frees_memory();
    if occupied.iter().any(|running| running.job.kind.frees_memory()) {
        return;
    }
    let first = decision.wait.iter().position(|wait| occupied.is_empty() || frees(wait.index));
    let Some(first) = first else { return };
    let Choice { index, reason } = decision.wait.remove(first);
    let first = explain(offers[index].offer, offers.len());
    let reason = format!("{first}; {reason}, nor later: waiting would bring nothing");
    decision.start.push(Choice { index, reason });
}

/// Why an offer starts, or why not and when to look again.
fn judge(
    situation: &Situation<'_>,
    offered: &Offered<'_>,
    occupied: &[Occupied],
) -> Result<String, (String, Option<f64>)> {
    if situation.mode == SchedulerMode::Greedy {
        return Ok("greedy".into());
    }
    if let Some(debt) = demand(situation, offered, occupied) {
        return Ok(debt);
    }
    if situation.mode == SchedulerMode::Off {
        return Err(("the scheduler is off".into(), None));
    }
    if is_edit(&offered.offer.price) {
        return Ok("it needs no core worth mentioning".into());
    }
    let forecast = situation.forecast;
    let for_us = offered.expected_us.clamp(1.0, HORIZON_US);
    let of_jobs: f64 = occupied.iter().map(|job| job.left_us.clamp(0.0, for_us) / for_us).sum();
    let idle = (forecast.idle_mean(0.0, for_us) - of_jobs).max(0.0);
    let seen = format!(
        "{idle:.1} of {} cores are expected to be idle for its {}",
        forecast.cores(),
        time_text(offered.expected_us)
    );
    if idle >= IDLE_CORES_MIN {
        return Ok(seen);
    }
    // Jobs that run end meanwhile: when they do, this is looked at again in any case.
    let again_us = forecast.next_idle(IDLE_CORES_MIN + of_jobs, for_us).filter(|&at_us| at_us > 0.0);
    Err((seen, again_us))
}

/// Whether a job reads and writes no rows: an edit alone.
fn is_edit(price: &Price) -> bool {
    price.read_bytes + price.write_bytes == 0 && price.cpu_us < EDIT_US_MAX
}

/// Why a job starts whatever is forecast (decide 3).
fn demand(situation: &Situation<'_>, offered: &Offered<'_>, occupied: &[Occupied]) -> Option<String> {
    let frees = offered.offer.kind.frees_memory();
    let Debts { memory, log } = situation.debts;
    let is_off = situation.mode == SchedulerMode::Off;
    let (memory_share, log_share) = if is_off { (OFF_MEMORY_SHARE, OFF_LOG_SHARE) } else { (MEMORY_SHARE, LOG_SHARE) };
    // More jobs than cores do not end sooner.
    if frees && occupied.len() < (situation.forecast.cores() as usize).max(1) {
        if memory > memory_share {
            return Some(format!("debt: {:.0} % of row memory are used", memory * 100.0));
        }
        if log > log_share {
            return Some(format!("debt: the log has {:.0} % of its limit", log * 100.0));
        }
    }
    if is_off || !occupied.is_empty() {
        return None;
    }
    let dead_rows: u64 = situation.offers.iter().map(|offered| offered.offer.price.dead_rows).sum();
    if dead_rows > DEAD_ROWS_MAX && offered.offer.price.dead_rows > 0 {
        return Some(format!("debt: {dead_rows} dead rows wait"));
    }
    (waited_share(offered) > 1.0).then(|| format!("debt: it has waited for {}", time_text(offered.waited_us)))
}

/// How long an offer has waited, as a part of how long it may.
fn waited_share(offered: &Offered<'_>) -> f64 {
    offered.waited_us / WAIT_US_MAX[usize::from(!offered.offer.kind.frees_memory())]
}

/// Microseconds for people.
fn time_text(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.1} s", us / 1e6),
        us if us >= 10_000.0 => format!("{:.0} ms", us / 1e3),
        us if us >= 1000.0 => format!("{:.1} ms", us / 1e3),
        us => format!("{us:.0} us"),
    }
}

#[cfg(test)]
mod tests;
