//! Commands about the scheduler: made up queries and what they are expected to use, and which made up jobs start.
//!
//! ```text
//!   phi scan=1.5                              scans take 1.5 times their cost
//!   query scan:8/2 sort:10/1 ran=3            8 ms of one core on two, then 10 on one; it has run for 3 ms
//!   forecast cores=4
//!   offer convert t3 #2 cpu=70000
//!   running to-baseline t1 #1 left=20             goes on for 20 ms
//!   decide cores=2 mode=cost memory=30 log=10 waited=100 young=0.5 others=0.2
//! ```

use weft_kernel::sched::{
    Debts, Forecast, Lately, Occupied, Offered, OperatorKind, PlanForecast, RunningPlan, SchedulerMode, Situation,
    Stage, decide, forecast,
};
use weft_kernel::table::JobOffer;

use super::command::Command;
use super::jobs::show_job;
use super::made_up::{MadeUp, Query};
use super::printed::Printed;
use super::process::Process;

pub(super) fn execute(process: &mut Process, command: &Command) -> Printed {
    match command.name.as_str() {
        "phi" => {
            for (name, ratio) in &command.options {
                let ratio: f64 = ratio.parse().map_err(|_| format!("bad command: {ratio} is no number"))?;
                process.made_up.phis.update(kind(name)?, 1000.0, 1000.0 * ratio);
            }
            Ok(Vec::new())
        }
        "query" => {
            let ran_us = command.number("ran", 0.0)? * 1e3;
            let age_us = command.number("age", 1000.0)? * 1e3;
            let stages = command.words.iter().map(|word| stage(word)).collect::<Result<Vec<_>, _>>()?;
            process.made_up.queries.push(Query { plan: PlanForecast::new(stages), ran_us, age_us });
            Ok(Vec::new())
        }
        "forecast" => {
            let made_up = std::mem::take(&mut process.made_up);
            let step = |&(at_us, busy): &(f64, f64)| format!("from {:.1} ms: {busy:.1} busy", at_us / 1e3);
            Ok(expected(&made_up, command)?.steps().iter().map(step).collect())
        }
        _ => decided(process, command),
    }
}

fn expected(made_up: &MadeUp, command: &Command) -> Result<Forecast, String> {
    let running: Vec<RunningPlan<'_>> = made_up
        .queries
        .iter()
        .map(|query| RunningPlan { plan: &query.plan, ran_us: query.ran_us, age_us: query.age_us })
        .collect();
    let lately = Lately { young_cores: command.number("young", 0.0)?, other_cores: command.number("others", 0.0)? };
    Ok(forecast(&running, lately, &made_up.phis, command.number("cores", 2)?))
}

fn decided(process: &mut Process, command: &Command) -> Printed {
    let made_up = std::mem::take(&mut process.made_up);
    let mut offers: Vec<JobOffer> = std::mem::take(&mut process.offers);
    let (running, paused) = (std::mem::take(&mut process.running), std::mem::take(&mut process.paused));
    // Tables that rest offer nothing to the scheduler.
    offers.retain(|offer| !paused.contains(&offer.table));
    let waited_us = command.number("waited", 0.0)? * 1e3;
    let cost_us = |offer: &JobOffer| offer.price.cpu_us as f64;
    let offered: Vec<Offered<'_>> =
        offers.iter().map(|offer| Offered { offer, waited_us, expected_us: cost_us(offer) }).collect();
    let occupied: Vec<Occupied> =
        running.iter().zip(&made_up.left_us).map(|(&job, &left_us)| Occupied { job, left_us }).collect();
    let mode = command.options.get("mode").map_or("cost", String::as_str);
    let decision = decide(&Situation {
        mode: SchedulerMode::from_name(mode).ok_or_else(|| format!("bad command: there is no mode {mode}"))?,
        offers: &offered,
        running: &occupied,
        debts: Debts { memory: command.number("memory", 0.0)? / 100.0, log: command.number("log", 0.0)? / 100.0 },
        forecast: &expected(&made_up, command)?,
    });
    let line = |what: &str, choice: &weft_kernel::sched::Choice| {
        format!("{what} {}: {}", show_job(&offers[choice.index]), choice.reason)
    };
    let mut lines: Vec<String> = decision.start.iter().map(|choice| line("start", choice)).collect();
    lines.extend(decision.wait.iter().map(|choice| line("wait ", choice)));
    lines.extend(decision.again_us.map(|us| format!("again in {:.1} ms", us / 1e3)));
    if lines.is_empty() {
        lines.push("nothing".into());
    }
    Ok(lines)
}

fn kind(name: &str) -> Result<OperatorKind, String> {
    let known = OperatorKind::ALL.into_iter().find(|kind| kind.name() == name);
    known.ok_or_else(|| format!("bad command: there is no operator {name}"))
}

/// `scan:8/2`
fn stage(word: &str) -> Result<Stage, String> {
    let bad = || format!("bad command: {word} is no stage, such as scan:8/2");
    let (name, rest) = word.split_once(':').ok_or_else(bad)?;
    let (cost, cores) = rest.split_once('/').unwrap_or((rest, "1"));
    let cost_us = cost.parse::<f64>().map_err(|_| bad())? * 1e3;
    Ok(Stage { kind: kind(name)?, cost_us, parallelism: cores.parse().map_err(|_| bad())? })
}
