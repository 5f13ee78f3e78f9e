//! The words after `weft bench transactions`, and the workloads in their order.

use std::path::PathBuf;
use std::time::Duration;

use weft::{Database, Options};

use super::suite::Suite;
use super::{commits, micro, orders, people, points};
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// One workload: its name and what it measures.
type Work = (&'static str, fn(&Suite) -> Result<(), Failure>);

const WORKS: &[Work] = &[
    ("insert", people::insert),
    ("bulk", people::bulk),
    ("lookup", people::lookup),
    ("micro", micro::run),
    ("commits", commits::rows),
    ("columns", commits::columns),
    ("hot", commits::hot),
    ("orders", orders::run),
    ("points", points::run),
];

/// Runs all workloads, or those named with `--only`.
pub(in crate::bench) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let only = arguments.option("--only")?;
    let named = arguments.option("--dir")?;
    let seconds = arguments.number("--seconds", 2)?;
    let people = arguments.number("--people", 1_000_000)?;
    let bulk = arguments.numbers("--bulk", &[150_000])?;
    let records = arguments.number("--records", 1_000_000)?;
    let active = arguments.numbers("--active", &[1_000_000, 100_000, 10_000])?;
    let warehouses = arguments.number("--warehouses", 2)?;
    let csv = arguments.option("--csv")?.map(PathBuf::from);
    let method = arguments.option("--method")?;
    let cache_mb = arguments.option("--cache-mb")?;
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    if let Some(unknown) = only.iter().flatten().find(|name| !WORKS.iter().any(|work| work.0 == **name)) {
        return Err(Failure::Usage(format!("there is no workload {unknown}")));
    }
    if let Some(active) = active.iter().find(|active| **active == 0 || **active > records) {
        return Err(Failure::Usage(format!("--active {active} needs as many --records")));
    }
    let dir = named.clone().map_or_else(|| directory::temporary("bench"), PathBuf::from);
    let mut options = Options::default();
    if let Some(text) = &cache_mb {
        let size: u64 = text.parse().map_err(|_| Failure::Usage(format!("--cache-mb is a number, not {text}")))?;
        options = Options { cache_bytes: size << 20, lend_row_memory: false, ..options };
    }
    let database = Database::open_with(&dir, options)?;
    let time = Duration::from_secs(seconds);
    let suite = Suite { database, time, people, bulk, records, active, warehouses, csv, method };
    for (name, work) in WORKS {
        if only.as_ref().is_none_or(|only| only.contains(name)) {
            work(&suite)?;
        }
    }
    suite.database.close()?;
    if named.is_none() {
        directory::remove(&dir);
    }
    Ok(())
}
