//! The replay: writer threads apply events in transactions while reader threads ask analytic queries.
//!
//! ```text
//!   writer 0: events of flights 0, 4, 8, ...   ── BEGIN? INSERT / UPDATE ... COMMIT ──▶ live_flights
//!   reader 0: query 0, 1, 2, ..., 5, 0, 1, ... ◀── a snapshot each ──────────────────┘
//! ```
//!
//! 1. A transaction is counted after its commit was acknowledged; its latency includes retries.
//! 2. Readers stop when the last writer has, after the query that runs.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use weft::{Database, Error, Prepared, Session, Value};

use super::events::{Event, Step, columns_of, events_per_writer};
use super::plan::Plan;
use super::progress::Progress;
use super::queries::{QUERIES, SNAPSHOT_QUERY};
use super::source::{FLIGHT_COLUMNS, FLIGHT_KEY, flight_column};
use super::view::View;
use crate::latency::Latencies;
use crate::subcommand::Failure;

/// What happened.
pub(super) struct Replay {
    /// Each writer's events.
    pub(super) lists: Vec<Vec<Event>>,
    /// How many of its events each writer has applied.
    pub(super) applied: Vec<usize>,
    /// Wall time.
    pub(super) elapsed: Duration,
    /// One per transaction.
    pub(super) writes: Latencies,
    /// One per execution, for each query.
    pub(super) reads: Vec<Latencies>,
    /// Transactions that were run again after a conflict.
    pub(super) retries: u64,
    /// Snapshots in which a flight had arrived without having departed.
    pub(super) bad_snapshots: u64,
}

/// Runs all writers and readers to the end of the year, or of `--seconds`.
pub(super) fn run(database: &Database, plan: &Plan, flights: &[Vec<Value>]) -> Result<Replay, Failure> {
    let lists = events_per_writer(flights, plan.writers);
    let total: usize = lists.iter().map(Vec::len).sum();
    let progress = Progress::default();
    progress.writers_left.store(plan.writers, Ordering::Relaxed);
    *progress.reads.lock().expect("no holder panics") = vec![Latencies::default(); QUERIES.len()];
    println!("replaying {total} events with {} writers and {} readers", plan.writers, plan.readers);
    let begun = Instant::now();
    let applied = thread::scope(|scope| {
        let writers: Vec<_> =
            lists.iter().map(|list| scope.spawn(|| write(database, plan, flights, list, &progress))).collect();
        let readers: Vec<_> = (0..plan.readers)
            .map(|number| {
                scope.spawn({
                    let p = &progress;
                    move || read(database, p, number)
                })
            })
            .collect();
        let mut view = View::new(plan.plain, total as u64);
        while progress.writers_left.load(Ordering::Acquire) > 0 {
            thread::sleep(Duration::from_millis(50));
            view.show(&progress, begun.elapsed());
            if plan.seconds.is_some_and(|seconds| begun.elapsed() >= seconds) {
                progress.stop.store(true, Ordering::Relaxed);
            }
        }
        view.finish(&progress, begun.elapsed());
        let applied: Result<Vec<usize>, Error> = writers.into_iter().map(|writer| joined(writer.join())).collect();
        let elapsed = begun.elapsed();
        for reader in readers {
            joined(reader.join())?;
        }
        Ok::<_, Error>((applied?, elapsed))
    });
    let (applied, elapsed) = applied?;
    Ok(Replay {
        lists,
        applied,
        elapsed,
        writes: progress.writes.into_inner().expect("no holder panics"),
        reads: progress.reads.into_inner().expect("no holder panics"),
        retries: progress.retries.into_inner(),
        bad_snapshots: progress.bad_snapshots.into_inner(),
    })
}

/// A thread's result; its panic goes on here.
fn joined<T>(result: thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Applies a writer's events in transactions; gives how many were applied.
fn write(
    database: &Database,
    plan: &Plan,
    flights: &[Vec<Value>],
    list: &[Event],
    progress: &Progress,
) -> Result<usize, Error> {
    let result = write_until_stopped(database, plan, flights, list, progress);
    progress.writers_left.fetch_sub(1, Ordering::Release);
    result
}

fn write_until_stopped(
    database: &Database,
    plan: &Plan,
    flights: &[Vec<Value>],
    list: &[Event],
    progress: &Progress,
) -> Result<usize, Error> {
    let mut writer = Writer::new(database)?;
    let mut applied = 0;
    for chunk in list.chunks(plan.batch) {
        if progress.stop.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let retries = writer.transaction(flights, chunk)?;
        progress.writes.lock().expect("no holder panics").add(begun.elapsed().as_nanos() as u64);
        applied += chunk.len();
        progress.transactions.fetch_add(1, Ordering::Relaxed);
        progress.events.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        progress.retries.fetch_add(retries, Ordering::Relaxed);
        progress.minute.fetch_max(chunk[chunk.len() - 1].minute, Ordering::Relaxed);
    }
    Ok(applied)
}

/// A session with the three statements of a flight's life.
pub(super) struct Writer {
    session: Session,
    statements: [(std::sync::Arc<Prepared>, Vec<usize>); 3],
}

impl Writer {
    /// Prepares the statements.
    pub(super) fn new(database: &Database) -> Result<Writer, Error> {
        let mut session = database.session()?;
        let mut prepare = |step: Step| {
            let (sql, columns) = statement(step);
            session.prepare(&sql).map(|prepared| (prepared, columns))
        };
        let statements = [prepare(Step::Scheduled)?, prepare(Step::Departed)?, prepare(Step::Arrived)?];
        Ok(Writer { session, statements })
    }

    /// Applies some events in one transaction, again when it lost against another; gives how often.
    pub(super) fn transaction(&mut self, flights: &[Vec<Value>], events: &[Event]) -> Result<u64, Error> {
        let mut retries = 0;
        loop {
            match self.attempt(flights, events) {
                Ok(()) => return Ok(retries),
                Err(error) if error.is_retryable() && retries < 100 => retries += 1,
                Err(error) => return Err(error),
            }
            if self.session.in_transaction() {
                self.session.execute("ROLLBACK")?;
            }
        }
    }

    fn attempt(&mut self, flights: &[Vec<Value>], events: &[Event]) -> Result<(), Error> {
        let alone = events.len() == 1;
        if !alone {
            self.session.execute("BEGIN")?;
        }
        for event in events {
            let (statement, columns) = &self.statements[event.step as usize];
            let row = &flights[event.flight as usize];
            let params: Vec<Value> = columns.iter().map(|&at| row[at].clone()).collect();
            let touched = self.session.execute_prepared(statement, &params)?.tag.row_count();
            if touched != 1 {
                return Err(Error::internal(format!("{event:?} touched {touched} rows of live_flights, not one")));
            }
        }
        if !alone {
            self.session.execute("COMMIT")?;
        }
        Ok(())
    }
}

/// A step's statement, and the columns of the source that its parameters take.
fn statement(step: Step) -> (String, Vec<usize>) {
    let columns = columns_of(step);
    if step == Step::Scheduled {
        let marks: Vec<String> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        let sql = format!("INSERT INTO live_flights ({}) VALUES ({})", columns.join(", "), marks.join(", "));
        return (sql, columns.iter().map(|name| flight_column(name)).collect());
    }
    let numbered = |(at, name): (usize, &&str)| format!("{name} = ${}", at + 1);
    let set: Vec<String> = columns.iter().enumerate().map(numbered).collect();
    let key: Vec<String> = FLIGHT_KEY.iter().enumerate().map(|(at, n)| numbered((at + columns.len(), n))).collect();
    let sql = format!("UPDATE live_flights SET {} WHERE {}", set.join(", "), key.join(" AND "));
    (sql, columns.iter().chain(FLIGHT_KEY).map(|name| flight_column(name)).collect())
}

/// Asks the queries in turn until the writers are done.
fn read(database: &Database, progress: &Progress, number: usize) -> Result<(), Error> {
    let mut session = database.session()?;
    let prepared: Result<Vec<_>, Error> = QUERIES.iter().map(|query| session.prepare(query.sql)).collect();
    let prepared = prepared?;
    for turn in number.. {
        if progress.writers_left.load(Ordering::Acquire) == 0 {
            break;
        }
        let query = turn % QUERIES.len();
        let begun = Instant::now();
        let outcome = session.execute_prepared(&prepared[query], &[])?;
        let elapsed = begun.elapsed().as_nanos() as u64;
        progress.reads.lock().expect("no holder panics")[query].add(elapsed);
        let wrong = query == SNAPSHOT_QUERY && !matches!(outcome.rows.value(0, 1), Value::Int(0) | Value::Null);
        progress.bad_snapshots.fetch_add(u64::from(wrong), Ordering::Relaxed);
    }
    Ok(())
}

const _: () = assert!(FLIGHT_COLUMNS.len() == 19, "the steps' columns were chosen for these");
