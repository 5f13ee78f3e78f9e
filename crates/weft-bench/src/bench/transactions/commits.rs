//! One row per commit: what group commit gives, what SERIALIZABLE costs, what column locks save.
//!
//! ```text
//!   rows       160,000 counters, 10,000 for each client: UPDATE counters SET v = v + 1 WHERE id = ..., autocommit
//!   columns    4 rows of 16 columns, all clients on all rows, client k on column k
//!   hot        one row, 10 and 1,000 clients: what a long queue for one lock costs
//! ```

use weft::Value;

use super::clients;
use super::suite::Suite;
use crate::bench::line;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

const THREADS: [u64; 5] = [1, 2, 4, 8, 16];
/// The second has as many as there are transaction slots for, by default.
const HOT_THREADS: [u64; 2] = [10, 1000];
const CLIENT_ROWS: u64 = 10_000;
const WIDE_ROWS: u64 = 4;

/// Each client on rows of its own, READ COMMITTED and SERIALIZABLE.
pub(super) fn rows(suite: &Suite) -> Result<(), Failure> {
    suite.make("commits")?;
    suite.database.checkpoint()?;
    let mut total = 0;
    for (name, level) in [("commits", "read committed"), ("commits_serializable", "serializable")] {
        for threads in THREADS {
            let ran = clients::run(
                &suite.database,
                threads,
                suite.time,
                &|client, session| {
                    session.set("default_transaction_isolation", level)?;
                    let prepared = session.prepare("UPDATE counters SET v = v + 1 WHERE id = $1")?;
                    let mut numbers = Numbers::new(client);
                    Ok(Box::new(move |session| {
                        let id = client * CLIENT_ROWS + numbers.below(CLIENT_ROWS);
                        session.execute_prepared(&prepared, &[Value::Int(id as i64)]).map(|_| ())
                    }))
                },
                None,
            )?;
            line::put(&format!("{name}_{threads}"), ran.rate, "tx/s");
            if ran.retries > 0 {
                line::put(&format!("{name}_{threads}_retries"), ran.retries as f64, "count");
            }
            total += ran.done as i64;
            suite.expect("SELECT CAST(sum(v) AS bigint) FROM counters", total)?;
        }
    }
    Ok(())
}

/// All clients on one row.
pub(super) fn hot(suite: &Suite) -> Result<(), Failure> {
    suite.database.session()?.execute("DROP TABLE IF EXISTS counters, wide")?;
    suite.make("commits")?;
    suite.database.checkpoint()?;
    let mut total = 0;
    for threads in HOT_THREADS {
        let ran = clients::run(
            &suite.database,
            threads,
            suite.time,
            &|_, session| {
                session.set("lock_timeout", "0")?;
                let prepared = session.prepare("UPDATE counters SET v = v + 1 WHERE id = $1")?;
                Ok(Box::new(move |session| session.execute_prepared(&prepared, &[Value::Int(1)]).map(|_| ())))
            },
            None,
        )?;
        line::put(&format!("hot_{threads}"), ran.rate, "tx/s");
        total += ran.done as i64;
        suite.expect("SELECT CAST(sum(v) AS bigint) FROM counters", total)?;
    }
    Ok(())
}

/// All clients on the same rows, each on its own column.
pub(super) fn columns(suite: &Suite) -> Result<(), Failure> {
    suite.database.session()?.execute("DROP TABLE IF EXISTS counters, wide")?;
    suite.make("commits")?;
    suite.database.checkpoint()?;
    let names: Vec<String> = (0..16).map(|column| format!("sum(c{column})")).collect();
    let sum = format!("SELECT CAST({} AS bigint) FROM wide", names.join(" + "));
    let mut total = 0;
    for threads in THREADS {
        let ran = clients::run(
            &suite.database,
            threads,
            suite.time,
            &|client, session| {
                let prepared = session.prepare(&format!("UPDATE wide SET c{client} = c{client} + 1 WHERE id = $1"))?;
                let mut numbers = Numbers::new(client);
                Ok(Box::new(move |session| {
                    let id = numbers.below(WIDE_ROWS);
                    session.execute_prepared(&prepared, &[Value::Int(id as i64)]).map(|_| ())
                }))
            },
            None,
        )?;
        line::put(&format!("columns_{threads}"), ran.rate, "tx/s");
        total += ran.done as i64;
        suite.expect(&sum, total)?;
    }
    Ok(())
}
