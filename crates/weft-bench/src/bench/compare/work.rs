//! The workloads.
//!
//! ```text
//!   load      append, checkpoint          load 2.1 s · disk 61 MB
//!   insert    2,000 prepared statements   the median time of one
//!   writers   3 s with 1 and 4 threads    rows per second
//!   dirty     a fifth of the rows updated; sum(col_1) before and after these were converted
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use weft::{Error, Session, Value};

use super::table::Table;
use crate::bench::data::{self, BATCH_ROWS};
use crate::bench::line;
use crate::bench::median::median;
use crate::directory;
use crate::subcommand::Failure;

/// Executions of a statement whose median is reported.
const RUNS: u64 = 2_000;

/// How long writers write for a rate.
const RATE_TIME: Duration = Duration::from_secs(3);

/// Rows of a large transaction, and how many of these are measured.
const BATCH: u64 = 1_000;
const BATCHES: u64 = 30;

/// Load from Arrow batches; bytes on disk.
pub(super) fn load(table: &mut Table) -> Result<(), Failure> {
    let starts = (0..table.rows).step_by(BATCH_ROWS as usize);
    let batches: Vec<_> = starts.map(|from| data::batch(from..table.rows.min(from + BATCH_ROWS))).collect();
    let mut session = table.database.session()?;
    session.execute(&data::create())?;
    let begun = Instant::now();
    session.append("t", &batches)?;
    line::put("load", begun.elapsed().as_secs_f64(), "s");
    table.database.checkpoint()?;
    line::put("disk", directory::bytes(&table.dir)? as f64 / 1e6, "MB");
    Ok(())
}

/// `SELECT sum(col_1)` on the loaded table.
pub(super) fn sum_clean(table: &mut Table) -> Result<(), Failure> {
    let ms = sum(table)?;
    line::put("sum", ms, "ms");
    Ok(())
}

fn sum(table: &Table) -> Result<f64, Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare("SELECT sum(col_1) FROM t")?;
    let mut times = Vec::new();
    for _ in 0..51 {
        let begun = Instant::now();
        session.execute_prepared(&prepared, &[])?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

/// A prepared SELECT of one column by key.
pub(super) fn point_select(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare("SELECT col_1 FROM t WHERE id = $1")?;
    let rows = table.rows;
    let mut number = 0;
    let us = timed(20_000, 1e6, || {
        number += 1;
        let id = number * 7_919 % rows;
        let found = session.execute_prepared(&prepared, &[Value::Int(id as i64)])?.single();
        assert_eq!(found, Some(Value::Int(data::integer(id, 1))), "a point select finds its row");
        Ok(())
    })?;
    line::put("point", us, "us");
    Ok(())
}

/// Runs `work` some times; the median time in `scale` parts of a second.
fn timed(runs: u64, scale: f64, mut work: impl FnMut() -> Result<(), Error>) -> Result<f64, Failure> {
    let mut times = Vec::with_capacity(runs as usize);
    for _ in 0..runs {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed().as_secs_f64() * scale);
    }
    Ok(median(times))
}

fn insert_sql(rows: u64, conflict: bool) -> String {
    let width = data::names().len() as u64;
    let row = |at: u64| {
        let marks: Vec<String> = (1..=width).map(|j| format!("${}", at * width + j)).collect();
        format!("({})", marks.join(", "))
    };
    let values: Vec<String> = (0..rows).map(row).collect();
    let set: Vec<String> = data::names().iter().skip(1).map(|name| format!("{name} = excluded.{name}")).collect();
    let tail = format!(" ON CONFLICT (id) DO UPDATE SET {}", set.join(", "));
    format!("INSERT INTO t VALUES {}{}", values.join(", "), if conflict { &tail } else { "" })
}

/// A prepared INSERT of one row.
pub(super) fn insert(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare(&insert_sql(1, false))?;
    let mut ids = table.fresh_ids(RUNS);
    let ms = timed(RUNS, 1e3, || {
        let id = ids.next().expect("there is one key per run");
        session.execute_prepared(&prepared, &data::row(id, id)).map(|_| ())
    })?;
    line::put("insert", ms, "ms");
    Ok(())
}

/// A prepared UPDATE of three columns by key.
pub(super) fn update(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare("UPDATE t SET col_1 = $1, col_2 = $2, str_1 = $3 WHERE id = $4")?;
    let rows = table.rows;
    let mut number = 0;
    let ms = timed(RUNS, 1e3, || {
        number += 1;
        let id = number * 104_729 % rows;
        let params = [
            Value::Int(data::integer(number, 1)),
            Value::Int(data::integer(number, 2)),
            Value::Text(data::string(number, 1).into()),
            Value::Int(id as i64),
        ];
        session.execute_prepared(&prepared, &params).map(|_| ())
    })?;
    line::put("update", ms, "ms");
    Ok(())
}

/// A prepared upsert of one row; half of the keys are there already.
pub(super) fn upsert(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare(&insert_sql(1, true))?;
    let fresh = table.fresh_ids(RUNS / 2 + 1);
    let rows = table.rows;
    let mut number = 0;
    let ms = timed(RUNS, 1e3, || {
        number += 1;
        let id = if number % 2 == 0 { number * 15_485_863 % rows } else { fresh.start + number / 2 };
        session.execute_prepared(&prepared, &data::row(id, number)).map(|_| ())
    })?;
    line::put("upsert", ms, "ms");
    Ok(())
}

/// Upserts per second with one writer and with four.
pub(super) fn writers(table: &mut Table) -> Result<(), Failure> {
    for writers in [1u64, 4] {
        let stop = AtomicBool::new(false);
        let done = AtomicU64::new(0);
        let rows = table.rows;
        let mut sessions: Vec<Session> =
            (0..writers).map(|_| table.database.session()).collect::<Result<_, Error>>()?;
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = sessions
                .iter_mut()
                .enumerate()
                .map(|(at, session)| {
                    let (stop, done) = (&stop, &done);
                    scope.spawn(move || upsert_until(session, at as u64, writers, rows, stop, done))
                })
                .collect();
            std::thread::sleep(RATE_TIME);
            stop.store(true, Ordering::Relaxed);
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        let rate = done.into_inner() as f64 / begun.elapsed().as_secs_f64();
        line::put(&format!("upserts_{writers}"), rate, "rows/s");
    }
    Ok(())
}

/// Each writer has its own keys, so that nobody waits for a lock.
fn upsert_until(
    session: &mut Session,
    writer: u64,
    writers: u64,
    rows: u64,
    stop: &AtomicBool,
    done: &AtomicU64,
) -> Result<(), Error> {
    let prepared = session.prepare(&insert_sql(1, true))?;
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let id = number * 7_919 % (rows / writers) * writers + writer;
        session.execute_prepared(&prepared, &data::row(id, number))?;
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// 1,000 rows per transaction: new rows and upserts as one statement of literals, upserts as 1,000 prepared ones, new
/// rows from Arrow.
pub(super) fn batches(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let rows = table.rows;
    let ids = table.fresh_ids(BATCH * BATCHES);
    let mut texts = ids
        .step_by(BATCH as usize)
        .map(|from| literals((from..from + BATCH).map(|id| (id, id)), ""))
        .collect::<Vec<_>>();
    let ms = timed(BATCHES, 1e3, || session.execute(&texts.pop().expect("there is one per run")).map(|_| ()))?;
    line::put("insert_literals", BATCH as f64 / ms * 1e3, "rows/s");

    let upserted = |batch: u64| (0..BATCH).map(move |at| ((batch * BATCH + at) * 6_007 % rows, batch * BATCH + at));

    let set: Vec<String> = data::names().iter().skip(1).map(|name| format!("{name} = excluded.{name}")).collect();
    let tail = format!(" ON CONFLICT (id) DO UPDATE SET {}", set.join(", "));
    let mut texts = (0..BATCHES).map(|batch| literals(upserted(batch), &tail)).collect::<Vec<_>>().into_iter();
    let ms = timed(BATCHES, 1e3, || session.execute(&texts.next().expect("there is one per run")).map(|_| ()))?;
    line::put("batch_literals", BATCH as f64 / ms * 1e3, "rows/s");

    let prepared = session.prepare(&insert_sql(1, true))?;
    let mut batch = BATCHES;
    let ms = timed(BATCHES, 1e3, || {
        session.execute("BEGIN")?;
        for (id, of) in upserted(batch) {
            session.execute_prepared(&prepared, &data::row(id, of))?;
        }
        batch += 1;
        session.execute("COMMIT").map(|_| ())
    })?;
    line::put("batch_prepared", BATCH as f64 / ms * 1e3, "rows/s");

    let ids = table.fresh_ids(BATCH * BATCHES);
    let mut appended: Vec<_> =
        ids.step_by(BATCH as usize).map(|from| data::batch(from..from + BATCH)).collect::<Vec<_>>();
    let ms = timed(BATCHES, 1e3, || {
        let batch = appended.pop().expect("there is one per run");
        session.append("t", &[batch]).map(|_| ())
    })?;
    line::put("batch_arrow", BATCH as f64 / ms * 1e3, "rows/s");
    Ok(())
}

fn literals(rows: impl Iterator<Item = (u64, u64)>, tail: &str) -> String {
    let row = |(id, of): (u64, u64)| {
        let integers = (1..=data::COLUMNS_EACH).map(|j| data::integer(of, j).to_string());
        let strings = (1..=data::COLUMNS_EACH).map(|j| format!("'{}'", data::string(of, j)));
        let values: Vec<String> = std::iter::once(id.to_string()).chain(integers).chain(strings).collect();
        format!("({})", values.join(","))
    };
    let values: Vec<String> = rows.map(row).collect();
    format!("INSERT INTO t VALUES {}{tail}", values.join(","))
}

/// `SELECT sum(col_1)` after a fifth of the rows was updated one by one, before and after conversion.
pub(super) fn dirty(table: &mut Table) -> Result<(), Failure> {
    let mut session = table.database.session()?;
    let prepared = session.prepare("UPDATE t SET col_1 = $1 WHERE id = $2")?;
    let begun = Instant::now();
    for chunk in 0..table.rows / 5 / 100 {
        session.execute("BEGIN")?;
        for number in chunk * 100..(chunk + 1) * 100 {
            // 999,983 is prime to every number of rows that is not its multiple: each row at most once.
            let id = number * 999_983 % table.rows;
            let value = data::integer(number, 20);
            session.execute_prepared(&prepared, &[Value::Int(value), Value::Int(id as i64)])?;
        }
        session.execute("COMMIT")?;
    }
    let updates = (table.rows / 5 / 100 * 100) as f64;
    line::put("updates_in_hundreds", updates / begun.elapsed().as_secs_f64(), "rows/s");
    let ms = sum(table)?;
    line::put("sum_dirty", ms, "ms");
    // To the end of all conversions and compactions.
    session.execute("VACUUM")?;
    table.database.checkpoint()?;
    let ms = sum(table)?;
    line::put("sum_converted", ms, "ms");
    line::put("disk_after", directory::bytes(&table.dir)? as f64 / 1e6, "MB");
    Ok(())
}
