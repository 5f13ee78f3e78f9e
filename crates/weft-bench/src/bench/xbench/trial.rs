//! One database of one configuration, from its tables to its last sum.
//!
//! ```text
//!   start ── CREATE TABLE, SET scheduler, rows in batches of 16 MB, checkpoint
//!   update ── single-row statements, timed ── time is over ── the rest in transactions of 1,000
//!   settle ── until the process is idle: no conversion or compaction is left
//!   finish ── count(*) and sum(col_1) are what they must be; close; the directory goes
//! ```

use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use weft::{Database, Outcome, Session, Value};

use super::configuration::Configuration;
use super::consumed::consumed;
use super::lines::Lines;
use super::process;
use super::settings::Settings;
use super::table::{self, Shape};
use crate::bench::data;
use crate::directory;
use crate::latency::Latencies;
use crate::subcommand::Failure;

/// Rows of a transaction whose updates nobody measures.
const BATCH_ROWS: u64 = 1_000;

/// Idle is less than a tenth of a core over this time.
const IDLE_TIME: Duration = Duration::from_millis(300);

/// How long background work may take at most before a query is measured.
const SETTLE_TIME_MAX: Duration = Duration::from_secs(120);

/// The column of the formula that updates take their values from.
pub(super) const UPDATED: u64 = 20;

/// An opened database with its tables.
pub(super) struct Trial {
    pub(super) database: Database,
    pub(super) dir: PathBuf,
    pub(super) shape: Shape,
    /// Rows of `table_1` as loaded.
    pub(super) rows: u64,
    /// The sum of col_1 that the table must have.
    pub(super) sum: i64,
}

/// How long updates took.
#[derive(Default)]
pub(super) struct Updates {
    /// Those that were timed one by one.
    pub(super) latencies: Latencies,
    /// Their time together.
    pub(super) time: Duration,
}

impl Trial {
    /// Makes the tables and loads `rows` rows into `table_1`.
    pub(super) fn start(
        settings: &Settings,
        lines: Lines,
        configuration: &Configuration,
        shape: Shape,
    ) -> Result<Trial, Failure> {
        let parent = &settings.dir;
        std::fs::create_dir_all(parent)
            .map_err(|error| Failure::io(format!("cannot make {}", parent.display()), &error))?;
        let dir = parent.join(format!("{}-{}", lines.experiment, configuration.name));
        let database = Database::open_with(&dir, settings.options(configuration))?;
        let mut session = database.session()?;
        if let Some(scheduler) = &configuration.scheduler {
            session.execute(&format!("SET scheduler = '{scheduler}'"))?;
        }
        for table in ["table_1", "table_2"] {
            session.execute(&table::create(table, &configuration.with_clause()))?;
        }
        let rows = lines.rows;
        let time = load(&mut session, "table_1", shape, rows)?;
        lines.put(0, "load_s", time.as_secs_f64(), "s");
        let sum = (0..rows).map(|row| data::integer(row, 1)).sum();
        Ok(Trial { database, dir, shape, rows, sum })
    }

    /// Loads a tenth of the rows into `table_2`, for SQL5.
    pub(super) fn load_second(&self) -> Result<(), Failure> {
        load(&mut self.database.session()?, "table_2", self.shape, self.rows / 10).map(|_| ())
    }

    /// Sets col_1 of the rows at these scattered places, one statement and one commit each, for `time_max` at most;
    /// then the rest in large transactions.
    pub(super) fn update(&mut self, sql: &str, places: Range<u64>, time_max: Duration) -> Result<Updates, Failure> {
        let mut session = self.database.session()?;
        let prepared = session.prepare(sql)?;
        let mut updates = Updates::default();
        let mut places = places;
        while updates.time < time_max
            && let Some(at) = places.next()
        {
            let params = self.change(at);
            let begun = Instant::now();
            session.execute_prepared(&prepared, &params)?;
            let time = begun.elapsed();
            updates.latencies.add(time.as_nanos() as u64);
            updates.time += time;
        }
        while !places.is_empty() {
            session.execute("BEGIN")?;
            for at in places.by_ref().take(BATCH_ROWS as usize) {
                session.execute_prepared(&prepared, &self.change(at))?;
            }
            session.execute("COMMIT")?;
        }
        Ok(updates)
    }

    /// The key at a place and its new value of col_1; the sum follows.
    fn change(&mut self, at: u64) -> [Value; 2] {
        let key = table::scattered(at, self.rows);
        let value = data::integer(at, UPDATED);
        self.sum += value - data::integer(key, 1);
        [Value::Int(key as i64), Value::Int(value)]
    }

    /// Times of a query in milliseconds, ascending; each run must give `count` rows.
    pub(super) fn query(&self, sql: &str, runs: u64, count: u64) -> Result<Vec<f64>, Failure> {
        let mut session = self.database.session()?;
        let prepared = session.prepare(sql)?;
        let mut times = Vec::new();
        for _ in 0..runs {
            let begun = Instant::now();
            let outcome = session.execute_prepared(&prepared, &[])?;
            let found = consumed(&outcome.rows);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if found != count {
                return Err(Failure::Other(format!("{sql} gave {found} rows instead of {count}")));
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        Ok(times)
    }

    /// Waits until nothing runs in the background; how long that took. Gives up after two minutes.
    pub(super) fn settle(&self) -> Result<Duration, Failure> {
        let begun = Instant::now();
        let mut before = (self.database.status().jobs_run, process::processor_time()?);
        while begun.elapsed() < SETTLE_TIME_MAX {
            std::thread::sleep(IDLE_TIME);
            let now = (self.database.status().jobs_run, process::processor_time()?);
            if now.0 == before.0 && now.1.saturating_sub(before.1) < IDLE_TIME / 10 {
                break;
            }
            before = now;
        }
        Ok(begun.elapsed())
    }

    /// Starts no more jobs and waits until none runs.
    pub(super) fn rest(&self) -> Result<(), Failure> {
        while !self.rests()? {
            std::thread::sleep(IDLE_TIME / 100);
        }
        Ok(())
    }

    /// Starts no more jobs; whether none runs.
    pub(super) fn rests(&self) -> Result<bool, Failure> {
        self.database.session()?.execute("SET scheduler = 'off'")?;
        Ok(self.number("SELECT count(*) FROM weft_jobs WHERE state = 'running'")? == 0)
    }

    /// Lets the configuration's scheduler start jobs again.
    pub(super) fn go_on(&self, configuration: &Configuration) -> Result<(), Failure> {
        let scheduler = configuration.scheduler.as_ref().map_or("DEFAULT".into(), |name| format!("'{name}'"));
        self.database.session()?.execute(&format!("SET scheduler = {scheduler}"))?;
        Ok(())
    }

    /// The number that a query yields; 0 when that is NULL.
    pub(super) fn number(&self, sql: &str) -> Result<i64, Failure> {
        match self.database.session()?.execute(sql)?.last().and_then(Outcome::single) {
            Some(Value::Int(number)) => Ok(number),
            Some(Value::Null) => Ok(0),
            other => Err(Failure::Other(format!("{sql}: {other:?} is not an integer"))),
        }
    }

    /// Fails unless the table has this many rows and this sum of col_1.
    pub(super) fn expect(&self, count: u64, sum: i64) -> Result<(), Failure> {
        for (sql, expected) in [("SELECT count(*) FROM table_1", count as i64), ("SELECT sum(col_1) FROM table_1", sum)]
        {
            let found = self.number(sql)?;
            if found != expected {
                return Err(Failure::Other(format!(
                    "the benchmark left wrong data: {sql} is {found} and must be {expected}"
                )));
            }
        }
        Ok(())
    }

    /// Prints the sum for the comparison with other systems, once the table has it.
    pub(super) fn put_sum(&self, lines: Lines, x: u64) -> Result<(), Failure> {
        self.expect(self.rows, self.sum)?;
        lines.put(x, "sum", self.sum as f64, "check");
        Ok(())
    }

    /// Closes the database and removes it.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.database.close()?;
        directory::remove(&self.dir);
        Ok(())
    }
}

/// Appends rows; the time of the appends alone.
fn load(session: &mut Session, table: &str, shape: Shape, rows: u64) -> Result<Duration, Failure> {
    let mut time = Duration::ZERO;
    let step = shape.batch_rows();
    for from in (0..rows).step_by(step as usize) {
        let batch = shape.batch(from..rows.min(from + step));
        let begun = Instant::now();
        session.append(table, &[batch])?;
        time += begun.elapsed();
    }
    Ok(time)
}
