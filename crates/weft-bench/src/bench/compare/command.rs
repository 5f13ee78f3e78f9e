//! The words after `weft bench`, and the workloads in their order.

use std::path::PathBuf;

use weft::{Database, Options};

use super::table::Table;
use super::work;
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// One workload: its name and what it measures.
type Work = (&'static str, fn(&mut Table) -> Result<(), Failure>);

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

/// Runs all workloads, or those named with `--only` (`load` always runs).
pub(in crate::bench) fn run(mut arguments: Arguments) -> Result<(), Failure> {
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
    let mut table = Table::new(database, dir.clone(), rows);
    for (name, work) in WORKS {
        if *name == "load" || only.as_ref().is_none_or(|only| only.contains(name)) {
            work(&mut table)?;
        }
    }
    table.database.close()?;
    if named.is_none() {
        directory::remove(&dir);
    }
    Ok(())
}
