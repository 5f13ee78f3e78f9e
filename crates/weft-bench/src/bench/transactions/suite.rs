//! What the workloads share: the database, the sizes, the tables of `schema.sql`, and the sums that must be left.
//!
//! ```text
//!   make("commits")   what stands under "-- section: commits", with the numbers of rows filled in
//!   expect("SELECT CAST(sum(v) AS bigint) FROM counters", 6903)     or else: the benchmark left wrong data
//! ```

use std::path::PathBuf;
use std::time::Duration;

use weft::{Database, Value};

use crate::subcommand::Failure;

/// A database and the sizes.
pub(super) struct Suite {
    pub(super) database: Database,
    /// How long each rate is measured.
    pub(super) time: Duration,
    /// Rows of the table that is looked up.
    pub(super) people: u64,
    /// Numbers of rows that are loaded in bulk.
    pub(super) bulk: Vec<u64>,
    /// Rows of the micro benchmark, and how many of these its clients use.
    pub(super) records: u64,
    pub(super) active: Vec<u64>,
    pub(super) warehouses: u64,
    /// Where CSV files `bulk-<rows>.csv` are, if they are to be loaded.
    pub(super) csv: Option<PathBuf>,
    /// How tables are stored; none: as the database has it.
    pub(super) method: Option<String>,
}

impl Suite {
    /// Runs a section of `schema.sql`.
    pub(super) fn make(&self, section: &str) -> Result<(), Failure> {
        let mut session = self.database.session()?;
        if let Some(method) = &self.method {
            session.set("default_table_access_method", method)?;
        }
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
    pub(super) fn number(&self, sql: &str) -> Result<i64, Failure> {
        match self.database.session()?.execute(sql)?.last().and_then(weft::Outcome::single) {
            Some(Value::Int(number)) => Ok(number),
            Some(Value::Null) => Ok(0),
            other => Err(Failure::Other(format!("{sql}: {other:?} is not an integer"))),
        }
    }

    /// Fails unless a query yields this number.
    pub(super) fn expect(&self, sql: &str, expected: i64) -> Result<(), Failure> {
        let found = self.number(sql)?;
        if found == expected {
            return Ok(());
        }
        Err(Failure::Other(format!("the benchmark left wrong data: {sql} is {found} and must be {expected}")))
    }
}
