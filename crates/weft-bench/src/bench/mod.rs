//! `weft bench`: the workloads of docs/benchmarks, one JSON line per result.
//!
//! ```text
//!   $ weft bench --rows 1000000 --only load,sum
//!   {"name": "load", "value": 2.113, "unit": "s"}
//!   {"name": "sum", "value": 0.871, "unit": "ms"}
//! ```
//!
//! The table: 1 M rows of 31 columns (bigint key, 15 integers, 15 short strings), computed by formula so that other
//! systems get the same. Everything is durable. `bench/compare.py` runs this beside DuckDB and SQLite.
//! `weft bench transactions` and `weft bench xbench` are suites of their own; [`numbers`] is their randomness.

mod data;
mod median;
mod numbers;
mod transactions;
mod work;
mod xbench;

use std::path::PathBuf;

use weft::{Database, Options};

use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// One workload: its name and what it measures.
type Work = (&'static str, fn(&mut Bench) -> Result<(), Failure>);

/// The workloads in the order in which they run; later ones find what earlier ones left.
const WORKS: &[Work] = &[
    ("load", work::load),
    ("sum", work::sum_clean),
    ("point", work::point_select),
    ("insert", work::insert),
    ("update", work::update),
    ("upsert", work::upsert),
    ("writers", work::writers),
    ("batch", work::batches),
    ("dirty", work::dirty),
];

/// What the workloads share.
struct Bench {
    database: Database,
    dir: PathBuf,
    rows: u64,
    /// The lowest key that no workload has used.
    next_id: u64,
}

/// Runs all workloads, or those named with `--only` (`load` always runs); those of [`transactions`] or [`xbench`] when
/// that is the first word.
pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.first_is("transactions") {
        return transactions::run(arguments);
    }
    if arguments.first_is("xbench") {
        return xbench::run(arguments);
    }
    let rows = arguments.number("--rows", 1_000_000)?;
    let only = arguments.option("--only")?;
    let named = arguments.option("--dir")?;
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    if let Some(unknown) = only.iter().flatten().find(|name| !WORKS.iter().any(|work| work.0 == **name)) {
        return Err(Failure::Usage(format!("there is no workload {unknown}")));
    }
    let dir = named.clone().map_or_else(|| directory::temporary("bench"), PathBuf::from);
    let database = Database::open_with(&dir, Options::default())?;
    let mut bench = Bench { database, dir: dir.clone(), rows, next_id: rows };
    for (name, work) in WORKS {
        if *name == "load" || only.as_ref().is_none_or(|only| only.contains(name)) {
            work(&mut bench)?;
        }
    }
    bench.database.close()?;
    if named.is_none() {
        directory::remove(&dir);
    }
    Ok(())
}

impl Bench {
    /// Prints one result.
    fn report(&self, name: &str, value: f64, unit: &str) {
        println!("{{\"name\": \"{name}\", \"value\": {value:.6}, \"unit\": \"{unit}\"}}");
    }

    /// Keys that no row has.
    fn fresh_ids(&mut self, count: u64) -> std::ops::Range<u64> {
        let first = self.next_id;
        self.next_id += count;
        first..self.next_id
    }
}
