//! The queries of the mix, one after the other.
//!
//! ```text
//!   SQL3 of keys 4,711..14,711 · SQL4 of 90,210..100,210 · SQL5 of col_2 in 310,000..320,000 · SQL3 ...
//!   sql3_beside_jobs      jobs worked while it ran                sql3_without_jobs      none did
//! ```
//!
//! 1. SQL3 gives a row for each key of its range as long as nothing is deleted: less is an error.

use std::sync::Arc;
use std::time::Instant;

use weft::{Database, Prepared, Session, Value};

use super::consumed::consumed;
use super::timings::Step;
use super::writer::Keys;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

/// All values of col_2 are below this.
const FILTERED: u64 = 1_000_000;

/// One kind of query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// SQL3.
    Sum,
    /// SQL4.
    Max,
    /// SQL5.
    Join,
}

impl Read {
    pub(super) const ALL: [Read; 3] = [Read::Sum, Read::Max, Read::Join];

    /// How results are named.
    pub(super) fn name(self) -> &'static str {
        match self {
            Read::Sum => "sql3",
            Read::Max => "sql4",
            Read::Join => "sql5",
        }
    }

    /// How results of those are named beside which jobs worked.
    pub(super) fn beside_jobs_name(self) -> &'static str {
        match self {
            Read::Sum => "sql3_beside_jobs",
            Read::Max => "sql4_beside_jobs",
            Read::Join => "sql5_beside_jobs",
        }
    }

    /// How results of the others are named.
    pub(super) fn without_jobs_name(self) -> &'static str {
        match self {
            Read::Sum => "sql3_without_jobs",
            Read::Max => "sql4_without_jobs",
            Read::Join => "sql5_without_jobs",
        }
    }
}

/// Asks queries.
pub(super) struct Reader {
    database: Database,
    keys: Arc<Keys>,
    numbers: Numbers,
    range: u64,
    width: u64,
    /// Whether rows go while it reads.
    pub(super) deletes: bool,
    prepared: Vec<(Read, Arc<Prepared>)>,
}

impl Reader {
    /// Asks these queries in turn: SQL3 and SQL4 of `range` keys, SQL5 of `width` values of col_2.
    pub(super) fn new(
        database: Database,
        keys: Arc<Keys>,
        range: u64,
        width: u64,
        prepared: Vec<(Read, Arc<Prepared>)>,
    ) -> Reader {
        Reader { database, keys, numbers: Numbers::new(2), range, width, deletes: false, prepared }
    }

    /// One query.
    pub(super) fn read(&mut self, session: &mut Session, number: usize) -> Result<Step, Failure> {
        let (read, prepared) = &self.prepared[number % self.prepared.len()];
        let (low, next) = self.keys.bounds();
        let (from, count) = match read {
            Read::Join => (self.numbers.below(FILTERED - self.width.min(FILTERED - 1)), self.width),
            Read::Sum | Read::Max => (low + self.numbers.below(next - low - self.range + 1), self.range),
        };
        let params = [Value::Int(from as i64), Value::Int((from + count) as i64)];
        let worked_nanos = self.database.status().jobs_worked_nanos;
        let begun = Instant::now();
        let outcome = session.execute_prepared(prepared, &params)?;
        let found = consumed(&outcome.rows);
        let time = begun.elapsed();
        if *read == Read::Sum && !self.deletes && found != count {
            return Err(Failure::Other(format!("SQL3 from key {from} gave {found} rows instead of {count}")));
        }
        let jobs_worked = self.database.status().jobs_worked_nanos > worked_nanos;
        let met = if jobs_worked { read.beside_jobs_name() } else { read.without_jobs_name() };
        Ok(Step { names: vec![read.name(), "reads", met], time })
    }
}
