//! Table 1 and figure 9: latencies under the mix, by scheduler.
//!
//! ```text
//!   table1   INSERT, UPDATE beside SQL3, SQL4, SQL5 until SQL3 ran 20,000 times: its quantiles
//!            cost 5 s · greedy 5 s · off 5 s · cost 5 s · ...        each on its own database, the others rest
//!   paced    the same, both clients with pauses: so many writes and reads in a second
//!   fig9     as table1 for a time: the quantiles of each statement, writes/s and reads/s at once;
//!            then upserts beside the same queries: their quantiles and rates
//! ```
//!
//! `--writes` and `--reads` choose among these (`--writes none --reads sql4`: SQL4 alone).

use std::time::Duration;

use super::Settings;
use super::configuration::Configuration;
use super::lines::Lines;
use super::met::{self, Met};
use super::mix::{Mix, Plan, Ran, Rates, Read};
use super::table::Shape;
use super::trial::Trial;
use super::writer::Write;
use crate::failure::Failure;
use crate::latency::Latencies;

/// Longer than any run: all latencies are in one window.
const WINDOW: Duration = Duration::from_secs(1 << 30);

/// SQL3 under the mix with each scheduler.
pub(super) fn table1(settings: &Settings) -> Result<(), Failure> {
    tails(settings, "table1", Rates::default())
}

/// The same, both clients with pauses.
pub(super) fn paced(settings: &Settings) -> Result<(), Failure> {
    tails(settings, "paced", settings.rates)
}

/// All schedulers in turns, each on a database of its own, until each has run for its time and its number of queries:
/// what the machine does meanwhile meets all of them.
fn tails(settings: &Settings, experiment: &str, rates: Rates) -> Result<(), Failure> {
    let configurations = settings.schedulers()?;
    let mut turns = Vec::new();
    for configuration in &configurations {
        let lines = Lines { experiment, configuration: &configuration.name, rows: settings.rows };
        let (trial, mix) = started(settings, lines, configuration, settings.mix_shape())?;
        trial.rest()?;
        turns.push(Turn { configuration, lines, met: Met::new(&trial.database), trial, mix, ran: Ran::default() });
    }
    let queries = if settings.reads.contains(&Read::Sum) { settings.queries } else { 0 };
    let plan = Plan { rates, time: settings.turn, ..plan(settings) };
    let is_over = |ran: &Ran| ran.time >= settings.time && ran.count(Read::Sum.name()) >= queries;
    while !turns.iter().all(|turn| is_over(&turn.ran)) {
        for turn in &mut turns {
            turn.run(&plan)?;
        }
    }
    for Turn { lines, met, trial, mix, ran, .. } in turns {
        met.put(lines, &trial.database);
        put(lines, &ran, &Read::ALL.map(Read::name));
        put(lines, &ran, &Read::ALL.map(Read::beside_jobs_name));
        put(lines, &ran, &Read::ALL.map(Read::without_jobs_name));
        put_rates(lines, &ran, "mix");
        finish(trial, &mix)?;
    }
    Ok(())
}

/// A scheduler with its database, and what was seen in its turns.
struct Turn<'a> {
    configuration: &'a Configuration,
    lines: Lines<'a>,
    trial: Trial,
    mix: Mix,
    met: Met,
    ran: Ran,
}

impl Turn<'_> {
    /// Runs the mix for one turn; no job runs before or after it.
    fn run(&mut self, plan: &Plan) -> Result<(), Failure> {
        let Turn { configuration, trial, mix, met, ran, .. } = self;
        trial.go_on(configuration)?;
        ran.take(mix.run(plan, |_| {
            met.sample(&trial.database);
            Ok(())
        })?);
        trial.rest()
    }
}

/// Every statement under the mix with the scheduler as it is, and without the forecast.
pub(super) fn fig9(settings: &Settings) -> Result<(), Failure> {
    for configuration in settings.schedulers()?.iter().filter(|one| one.name != "off") {
        let lines = Lines { experiment: "fig9", configuration: &configuration.name, rows: settings.rows };
        let (trial, mut mix) = started(settings, lines, configuration, Shape::SHORT)?;
        let plan = plan(settings);
        let ran = run(&mut mix, &plan, lines, &trial)?;
        put(lines, &ran, &["insert", "update", "sql3", "sql4", "sql5"]);
        put_rates(lines, &ran, "mix");
        let ran = mix.run(&Plan { writes: &[Write::Upsert], ..plan }, |_| Ok(()))?;
        put(lines, &ran, &["upsert"]);
        put_rates(lines, &ran, "upserts");
        finish(trial, &mix)?;
    }
    Ok(())
}

fn plan(settings: &Settings) -> Plan<'_> {
    Plan {
        writes: &settings.writes,
        rates: Rates::default(),
        time: settings.time,
        queries: 0,
        window: WINDOW,
        sample: met::SAMPLE,
    }
}

fn started(
    settings: &Settings,
    lines: Lines,
    configuration: &Configuration,
    shape: Shape,
) -> Result<(Trial, Mix), Failure> {
    let trial = Trial::start(settings, lines, configuration, shape)?;
    trial.load_second()?;
    trial.settle()?;
    let mix = Mix::new(settings, &trial)?;
    Ok((trial, mix))
}

/// Runs the mix and prints what its queries met.
fn run(mix: &mut Mix, plan: &Plan, lines: Lines, trial: &Trial) -> Result<Ran, Failure> {
    let mut met = Met::new(&trial.database);
    let ran = mix.run(plan, |_| {
        met.sample(&trial.database);
        Ok(())
    })?;
    met.put(lines, &trial.database);
    Ok(ran)
}

fn finish(trial: Trial, mix: &Mix) -> Result<(), Failure> {
    let (count, sum) = mix.expected();
    trial.expect(count, sum)?;
    trial.finish()
}

/// Prints the quantiles of some statements.
fn put(lines: Lines, ran: &Ran, statements: &[&'static str]) {
    for (statement, latencies) in statements.iter().filter_map(|name| ran.windows.first()?.get_key_value(name)) {
        lines.put_quantiles(statement, latencies);
    }
}

/// Prints how many statements of both clients ran in a second.
fn put_rates(lines: Lines, ran: &Ran, name: &str) {
    for kind in ["writes", "reads"] {
        let count = ran.windows.first().and_then(|timings| timings.get(kind)).map_or(0, Latencies::count);
        lines.put(name, &format!("{kind}_per_s"), count as f64 / ran.time.as_secs_f64(), "1/s");
    }
}
