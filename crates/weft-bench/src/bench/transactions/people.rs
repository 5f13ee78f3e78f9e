//! The experiments of the SG-ColBase paper (section 8): a table of names and ages with an index on the age.
//!
//! ```text
//!   people     id = 0..N   name = 'name-00000000042'   age = id · 514,229 % N   (each age once, neighbours far)
//!   lookups    random ages of 0..N·10/9: every tenth finds nothing
//!   inserts    100 rows per transaction, as one statement with 200 parameters; age = id · 514,229 % 1,000,003
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use weft::Value;

use super::clients;
use super::suite::Suite;
use crate::bench::line;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

/// Spreads ids over ages; a prime.
const SPREAD: u64 = 514_229;

/// Rows of a transaction that inserts, and how many ages these rows have.
const INSERT_ROWS: u64 = 100;
const INSERT_AGES: u64 = 1_000_003;

/// Ids of different clients never meet.
const CLIENT_IDS: u64 = 1_000_000_000;

/// Rows of a batch that is appended.
const BATCH_ROWS: u64 = 65_536;

fn name(number: u64) -> String {
    format!("name-{number:011}")
}

/// Transactions of 100 new rows.
pub(super) fn insert(suite: &Suite) -> Result<(), Failure> {
    suite.make("inserted")?;
    let rows = (0..INSERT_ROWS).map(|row| format!("(${}, '{}', ${})", 2 * row + 1, name(row), 2 * row + 2));
    let sql = format!("INSERT INTO inserted VALUES {}", rows.collect::<Vec<_>>().join(", "));
    let mut done = 0;
    for (round, threads) in [1u64, 4, 16].into_iter().enumerate() {
        let first = round as u64 * 20 * CLIENT_IDS;
        let ran = clients::run(
            &suite.database,
            threads,
            suite.time,
            &|client, session| {
                let prepared = session.prepare(&sql)?;
                let mut next = first + client * CLIENT_IDS;
                Ok(Box::new(move |session| {
                    let ids = next..next + INSERT_ROWS;
                    let params: Vec<Value> = ids
                        .flat_map(|id| [Value::Int(id as i64), Value::Int((id * SPREAD % INSERT_AGES) as i64)])
                        .collect();
                    next += INSERT_ROWS;
                    session.execute_prepared(&prepared, &params).map(|_| ())
                }))
            },
            None,
        )?;
        line::put(&format!("insert_{threads}"), ran.rate, "tx/s");
        done += ran.done;
    }
    suite.expect("SELECT count(*) FROM inserted", (done * INSERT_ROWS) as i64)?;
    suite.expect("SELECT count(*) FROM inserted WHERE age <> id * 514229 % 1000003", 0)?;
    let ages = suite.number("SELECT count(*) FROM inserted WHERE age BETWEEN 1000 AND 1999")?;
    suite.expect("SELECT count(*) FROM inserted WHERE age + 0 BETWEEN 1000 AND 1999", ages)
}

/// Rows `first..end` of `people` with `count` rows.
fn batches(count: u64) -> Vec<RecordBatch> {
    let starts = (0..count).step_by(BATCH_ROWS as usize);
    let batch = |from: u64| {
        let rows = from..count.min(from + BATCH_ROWS);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|id| id as i64)));
        let names: ArrayRef = Arc::new(StringViewArray::from_iter_values(rows.clone().map(name)));
        let ages: ArrayRef = Arc::new(Int32Array::from_iter_values(rows.map(|id| (id * SPREAD % count) as i32)));
        RecordBatch::try_from_iter([("id", ids), ("name", names), ("age", ages)]).expect("columns of one length")
    };
    starts.map(batch).collect()
}

/// Rows in bulk into an empty table that has its index: from Arrow, and from a CSV file if there is one.
pub(super) fn bulk(suite: &Suite) -> Result<(), Failure> {
    for &rows in &suite.bulk {
        suite.make("people")?;
        let loaded = batches(rows);
        let begun = Instant::now();
        suite.database.session()?.append("people", &loaded)?;
        line::put(&format!("bulk_arrow_{rows}"), begun.elapsed().as_secs_f64(), "s");
        drop(loaded);
        check_people(suite, rows)?;
        if let Some(csv) = &suite.csv {
            suite.make("people")?;
            let file = csv.join(format!("bulk-{rows}.csv"));
            let sql = format!("COPY people FROM '{}' (FORMAT csv)", file.display());
            let begun = Instant::now();
            suite.database.session()?.execute(&sql)?;
            line::put(&format!("bulk_{rows}"), begun.elapsed().as_secs_f64(), "s");
            check_people(suite, rows)?;
        }
    }
    Ok(())
}

/// Tests the table of `rows` people against its formula, by the index and without, and drops it.
fn check_people(suite: &Suite, rows: u64) -> Result<(), Failure> {
    suite.expect("SELECT count(*) FROM people", rows as i64)?;
    suite.expect("SELECT sum(age) FROM people", (rows * (rows - 1) / 2) as i64)?;
    suite.expect(&format!("SELECT id FROM people WHERE age = {}", SPREAD % rows), 1)?;
    suite.database.session()?.execute("DROP TABLE people")?;
    Ok(())
}

/// Random lookups by age.
pub(super) fn lookup(suite: &Suite) -> Result<(), Failure> {
    let rows = suite.people;
    suite.make("people")?;
    suite.database.session()?.append("people", &batches(rows))?;
    suite.database.checkpoint()?;
    for threads in [1u64, 4, 16] {
        let (found, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
        let ran = clients::run(
            &suite.database,
            threads,
            suite.time,
            &|client, session| {
                let prepared = session.prepare("SELECT id FROM people WHERE age = $1 AND name >= 'name'")?;
                let mut numbers = Numbers::new(client);
                let (found, wrong) = (&found, &wrong);
                Ok(Box::new(move |session| {
                    let age = numbers.below(rows / 9 * 10);
                    let outcome = session.execute_prepared(&prepared, &[Value::Int(age as i64)])?;
                    match outcome.single() {
                        Some(Value::Int(id)) if id as u64 * SPREAD % rows == age => {
                            found.fetch_add(1, Ordering::Relaxed)
                        }
                        None if age >= rows => 0,
                        _ => wrong.fetch_add(1, Ordering::Relaxed),
                    };
                    Ok(())
                }))
            },
            None,
        )?;
        line::put(&format!("lookup_{threads}"), ran.rate, "1/s");
        if wrong.into_inner() > 0 || (found.into_inner() == 0 && ran.done > 100) {
            return Err(Failure::Other("lookups by age found wrong rows".to_owned()));
        }
    }
    check_people(suite, rows)
}
