//! `weft demo`: the main job on real data.
//!
//! ```text
//!   data/nycflights13 ── load ──▶ airlines, airports, planes, weather, flights
//!        └─ events in the order of time ── N writers, small transactions ──▶ live_flights
//!                                          M readers, six analytic queries ──┘ (at the same time, same tables)
//!   then: live_flights = flights, row by row; every checksum; a table of what was measured
//! ```
//!
//! 1. Writers wait for durability before they count a transaction (unless `--async`).
//! 2. The exit code is 0 only when the final state equals the source and nothing is damaged.

mod events;
mod kill;
mod load;
mod queries;
mod replay;
mod report;
mod source;
mod verify;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use weft::{Database, Durability, Options};

use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// Flights of `--quick`: about the first three weeks of January.
const QUICK_FLIGHTS: u64 = 18_000;

/// What the command line says.
struct Plan {
    data: PathBuf,
    dir: Option<PathBuf>,
    writers: usize,
    readers: usize,
    flights: usize,
    batch: usize,
    seconds: Option<Duration>,
    durability: Durability,
    plain: bool,
}

/// Runs the demo, or one of its two other forms: the parent or the child of the kill test.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let kills = arguments.number("--kill-test", 0)?;
    let child = arguments.option("--kill-child")?;
    let seed = arguments.number("--seed", u64::from(std::process::id()))?;
    let plan = Plan::new(&mut arguments)?;
    arguments.finish()?;
    if let Some(starts) = child {
        return kill::run_child(&plan, &starts);
    }
    let dir = plan.dir.clone().unwrap_or_else(|| directory::temporary("demo"));
    if dir.join("CURRENT").exists() {
        return Err(Failure::Other(format!("{} holds a database already; name another directory", dir.display())));
    }
    let result = if kills > 0 { kill::run_parent(&plan, &dir, kills, seed) } else { main_job(&plan, &dir) };
    if plan.dir.is_none() {
        directory::remove(&dir);
    } else {
        println!("The database is in {0}; look at it with `weft {0}`.", dir.display());
    }
    result
}

impl Plan {
    fn new(arguments: &mut Arguments) -> Result<Plan, Failure> {
        let quick = arguments.flag("--quick");
        let flights = arguments.number("--flights", if quick { QUICK_FLIGHTS } else { u64::MAX })?;
        let seconds = arguments.number("--seconds", 0)?;
        Ok(Plan {
            data: source::find_data(arguments.option("--data")?)?,
            dir: arguments.option("--dir")?.map(PathBuf::from),
            writers: arguments.number("--writers", 4)?.clamp(1, 64) as usize,
            readers: arguments.number("--readers", 1)?.min(64) as usize,
            flights: usize::try_from(flights).unwrap_or(usize::MAX),
            batch: arguments.number("--batch", 1)?.clamp(1, 10_000) as usize,
            seconds: (seconds > 0).then(|| Duration::from_secs(seconds)),
            durability: if arguments.flag("--async") { Durability::Async } else { Durability::Full },
            plain: arguments.flag("--plain"),
        })
    }
}

fn main_job(plan: &Plan, dir: &std::path::Path) -> Result<(), Failure> {
    let options = Options { durability: plan.durability, ..Options::default() };
    let database = Database::open_with(dir, options)?;
    let flights = load::load(&database, plan)?;
    let replay = replay::run(&database, plan, &flights)?;
    report::print(&database, plan, &replay)?;
    let good = verify::run(&database, &flights, &replay)?;
    database.close()?;
    if good { Ok(()) } else { Err(Failure::Reported) }
}
