//! Table 1 and figure 9: latencies under the mix, by scheduler.
//!
//! ```text
//!   table1   INSERT, UPDATE beside SQL3, SQL4, SQL5 until SQL3 ran 20,000 times: its quantiles
//!            cost 5 s · greedy 5 s · off 5 s · cost 5 s · ...        each on its own database, the others rest
//!   paced    the same, both clients with pauses: so many writes and reads in a second
//!   fig9     the same turns for a time: the quantiles of each statement, writes/s and reads/s at once;
//!            then upserts beside the same queries: their quantiles and rates
//! ```
//!
//! 1. What a turn starts it pays for: the mix goes on until no job runs.
//! 2. Nobody saves pauses up while others have their turn (`weft_kernel::sched`'s patience).
//!
//! `--writes` and `--reads` choose among these (`--writes none --reads sql4`: SQL4 alone).

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::configuration::Configuration;
use super::lines::Lines;
use super::met::{self, Met};
use super::mix::{Mix, Plan, Ran};
use super::pauses::Rates;
use super::reader::Read;
use super::settings::Settings;
use super::table::Shape;
use super::trial::Trial;
use super::writer::Write;
use crate::latency::Latencies;
use crate::subcommand::Failure;

/// Longer than any run: all latencies are in one window.
const WINDOW: Duration = Duration::from_secs(1 << 30);

/// Nobody asks here how much memory the latencies take.
static OWN_BYTES: AtomicU64 = AtomicU64::new(0);

/// SQL3 under the mix with each scheduler.
pub(super) fn table1(settings: &Settings) -> Result<(), Failure> {
    tails(settings, "table1", Rates::default())
}

/// The same, both clients with pauses.
pub(super) fn paced(settings: &Settings) -> Result<(), Failure> {
    tails(settings, "paced", settings.rates)
}

/// SQL3 under the mix with each scheduler, in turns.
fn tails(settings: &Settings, experiment: &str, rates: Rates) -> Result<(), Failure> {
    let configurations = settings.schedulers()?;
    let mut turns = Turn::all(settings, experiment, configurations.iter(), settings.mix_shape())?;
    let queries = if settings.reads.contains(&Read::Sum) { settings.queries } else { 0 };
    let is_over = |ran: &Ran| ran.time >= settings.time && ran.count(Read::Sum.name()) >= queries;
    take_turns(&mut turns, &Plan { rates, ..plan(settings) }, is_over)?;
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

/// Every statement under the mix with the scheduler as it is, and without the forecast, in turns.
pub(super) fn fig9(settings: &Settings) -> Result<(), Failure> {
    let schedulers = settings.schedulers()?;
    let compared = schedulers.iter().filter(|one| one.name != "off");
    let mut turns = Turn::all(settings, "fig9", compared, Shape::SHORT)?;
    let is_over = |ran: &Ran| ran.time >= settings.time;
    take_turns(&mut turns, &plan(settings), is_over)?;
    for turn in &mut turns {
        turn.met.put(turn.lines, &turn.trial.database);
        put(turn.lines, &turn.ran, &["insert", "update", "sql3", "sql4", "sql5"]);
        put_rates(turn.lines, &turn.ran, "mix");
        turn.ran = Ran::default();
    }
    take_turns(&mut turns, &Plan { writes: &[Write::Upsert], ..plan(settings) }, is_over)?;
    for Turn { lines, trial, mix, ran, .. } in turns {
        put(lines, &ran, &["upsert"]);
        put_rates(lines, &ran, "upserts");
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

impl<'a> Turn<'a> {
    /// One for each configuration, loaded and at rest.
    fn all(
        settings: &Settings,
        experiment: &'a str,
        configurations: impl Iterator<Item = &'a Configuration>,
        shape: Shape,
    ) -> Result<Vec<Turn<'a>>, Failure> {
        let one = |configuration: &'a Configuration| {
            let lines = Lines { experiment, configuration: &configuration.name, rows: settings.rows };
            let (trial, mix) = started(settings, lines, configuration, shape)?;
            trial.rest()?;
            let met = Met::new(&trial.database);
            Ok(Turn { configuration, lines, met, trial, mix, ran: Ran::default() })
        };
        configurations.map(one).collect()
    }

    /// Runs the mix for one turn. No job runs before it; those that were started end within it, beside the mix.
    fn run(&mut self, plan: &Plan) -> Result<(), Failure> {
        let Turn { configuration, trial, mix, met, ran, .. } = self;
        trial.go_on(configuration)?;
        let sample = |_| {
            met.sample(&trial.database);
            Ok(())
        };
        ran.take(mix.run(plan, sample, || trial.rests())?);
        Ok(())
    }
}

/// All schedulers in turns, each on a database of its own, until each has had enough: what the machine does meanwhile
/// meets all of them.
fn take_turns(turns: &mut [Turn], plan: &Plan, is_over: impl Fn(&Ran) -> bool) -> Result<(), Failure> {
    while !turns.iter().all(|turn| is_over(&turn.ran)) {
        for turn in turns.iter_mut() {
            turn.run(plan)?;
        }
    }
    Ok(())
}

/// One turn.
fn plan(settings: &Settings) -> Plan<'_> {
    Plan {
        writes: &settings.writes,
        rates: Rates::default(),
        time: settings.turn,
        queries: 0,
        window: WINDOW,
        sample: met::SAMPLE,
        own_bytes: &OWN_BYTES,
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
