//! `weft bench transactions`: what many clients write and look up at once, one JSON line per result.
//!
//! ```text
//!   $ weft bench transactions --seconds 1 --only commits
//!   {"name": "commits_1", "value": 6903.0, "unit": "tx/s"}
//!   {"name": "commits_16", "value": 31250.0, "unit": "tx/s"}
//!
//!   people     SG-ColBase's three: 100-row inserts, lookups by an indexed column, bulk rows into an indexed table
//!   micro      L-Store's: 8 reads and 2 writes per transaction, with and without a scan beside them
//!   commits    one row per commit: group commit, SERIALIZABLE, different columns of the same rows
//!   orders     TPC-C-like new-order and payment
//! ```
//!
//! Every workload ends with the sums and counts that its committed transactions leave; a wrong one is an error. Tables
//! and rows are those of `schema.sql`, from which `bench/transactions.py` makes the same in PostgreSQL and SQLite.
//!
//! Modules: [`clients`] runs statements in threads for a time.

mod clients;
mod commits;
mod micro;
mod orders;
mod people;

use std::path::PathBuf;
use std::time::Duration;

use weft::{Database, Options, Value};

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
];

/// What the workloads share: the database and the sizes.
struct Suite {
    database: Database,
    /// How long each rate is measured.
    time: Duration,
    /// Rows of the table that is looked up.
    people: u64,
    /// Numbers of rows that are loaded in bulk.
    bulk: Vec<u64>,
    /// Rows of the micro benchmark, and how many of these its clients use.
    records: u64,
    active: Vec<u64>,
    warehouses: u64,
    /// Where CSV files `bulk-<rows>.csv` are, if they are to be loaded.
    csv: Option<PathBuf>,
}

/// Runs all workloads, or those named with `--only`.
pub(super) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let only = arguments.option("--only")?;
    let named = arguments.option("--dir")?;
    let seconds = arguments.number("--seconds", 2)?;
    let people = arguments.number("--people", 1_000_000)?;
    let bulk = arguments.numbers("--bulk", &[150_000])?;
    let records = arguments.number("--records", 1_000_000)?;
    let active = arguments.numbers("--active", &[1_000_000, 100_000, 10_000])?;
    let warehouses = arguments.number("--warehouses", 2)?;
    let csv = arguments.option("--csv")?.map(PathBuf::from);
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    if let Some(unknown) = only.iter().flatten().find(|name| !WORKS.iter().any(|work| work.0 == **name)) {
        return Err(Failure::Usage(format!("there is no workload {unknown}")));
    }
    if let Some(active) = active.iter().find(|active| **active == 0 || **active > records) {
        return Err(Failure::Usage(format!("--active {active} needs as many --records")));
    }
    let dir = named.clone().map_or_else(|| directory::temporary("bench"), PathBuf::from);
    let database = Database::open_with(&dir, Options::default())?;
    let time = Duration::from_secs(seconds);
    let suite = Suite { database, time, people, bulk, records, active, warehouses, csv };
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

impl Suite {
    /// Prints one result.
    fn report(&self, name: &str, value: f64, unit: &str) {
        println!("{{\"name\": \"{name}\", \"value\": {value:.6}, \"unit\": \"{unit}\"}}");
    }

    /// Runs a section of `schema.sql`.
    fn make(&self, section: &str) -> Result<(), Failure> {
        let mut session = self.database.session()?;
        session.execute(&self.section(section))?;
        Ok(())
    }

    fn section(&self, name: &str) -> String {
        let sections = include_str!("schema.sql").split("-- section: ");
        let mut bodies = sections.filter_map(|section| section.strip_prefix(name)?.strip_prefix('\n'));
        let body = bodies.next().expect("schema.sql has a section for each workload");
        body.replace("{records}", &self.records.to_string())
            .replace("{people}", &self.people.to_string())
            .replace("{warehouses}", &self.warehouses.to_string())
    }

    /// The single number that a query yields; 0 when that is NULL.
    fn number(&self, sql: &str) -> Result<i64, Failure> {
        match self.database.session()?.execute(sql)?.last().and_then(weft::Outcome::single) {
            Some(Value::Int(number)) => Ok(number),
            Some(Value::Null) => Ok(0),
            other => Err(Failure::Other(format!("{sql}: {other:?} is not an integer"))),
        }
    }

    /// Fails unless a query yields this number.
    fn expect(&self, sql: &str, expected: i64) -> Result<(), Failure> {
        let found = self.number(sql)?;
        if found == expected {
            return Ok(());
        }
        Err(Failure::Other(format!("the benchmark left wrong data: {sql} is {found} and must be {expected}")))
    }
}
