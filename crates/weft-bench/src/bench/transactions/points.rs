//! Single rows by their key: the work that row tables are for.
//!
//! ```text
//!   select     SELECT k, pad FROM points WHERE id = ...          a random row of all
//!   range      the ids and ks of 100 rows in the order of the key, from a random one on
//!   update     UPDATE points SET k = k + 1 WHERE id = ...        a random row of all
//!   insert     rows behind all others, each client at an end of its own
//!   delete     rows all over the table, each once
//! ```

use std::cell::Cell;

use weft::{Error, Session, Value};

use super::clients::{self, Work};
use super::suite::Suite;
use crate::bench::line;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

const THREADS: [u64; 2] = [1, 4];
const RANGE_ROWS: i64 = 100;
/// Ids that a client inserts from, times its number.
const CLIENT_IDS: u64 = 1_000_000_000;
/// Prime to the number of rows: multiples of it come to each row once.
const SPREAD: u64 = 514_229;
const KINDS: [&str; 5] = ["select", "range", "update", "insert", "delete"];

/// Each kind of statement by itself, by one client and by four.
pub(super) fn run(suite: &Suite) -> Result<(), Failure> {
    suite.make("points")?;
    suite.database.checkpoint()?;
    let (mut updated, mut rows) = (0, suite.records as i64);
    for (kind, name) in KINDS.iter().enumerate() {
        for (round, &threads) in THREADS.iter().enumerate() {
            let make: clients::Make<'_> = &|client, session| {
                let place = Place { client, threads, records: suite.records, round: round as u64 };
                work(kind, place, session)
            };
            let ran = clients::run(&suite.database, threads, suite.time, make, None)?;
            line::put(&format!("point_{name}_{threads}"), ran.rate, "1/s");
            let done = ran.done as i64;
            match *name {
                "update" => updated += done,
                "insert" => rows += done,
                "delete" => rows -= done,
                _ => {}
            }
            suite.expect("SELECT count(*) FROM points", rows)?;
        }
        if *name == "update" {
            suite.expect("SELECT CAST(sum(k) AS bigint) FROM points", updated)?;
        }
    }
    Ok(())
}

/// Who works, and where.
#[derive(Clone, Copy)]
struct Place {
    client: u64,
    threads: u64,
    records: u64,
    round: u64,
}

fn work<'a>(kind: usize, place: Place, session: &mut Session) -> Result<Work<'a>, Error> {
    let Place { client, threads, records, round } = place;
    let sql = [
        "SELECT k, pad FROM points WHERE id = $1",
        "SELECT id, k FROM points WHERE id >= $1 AND id < $2 ORDER BY id",
        "UPDATE points SET k = k + 1 WHERE id = $1",
        concat!("INSERT INTO points VALUES ($1, 0, ", "'a text of some length that stands for what else is in a row')"),
        "DELETE FROM points WHERE id = $1",
    ][kind];
    let prepared = session.prepare(sql)?;
    let mut numbers = Numbers::new(client);
    let next = Cell::new(0);
    Ok(Box::new(move |session| {
        let random = numbers.below(records - RANGE_ROWS as u64) as i64;
        let number = next.replace(next.get() + 1);
        // The rounds delete different rows: the first client of one comes to the first half, four share the other.
        let nth = (records / 2 * round + number * threads + client) % records;
        let given = match KINDS[kind] {
            "range" => vec![Value::Int(random), Value::Int(random + RANGE_ROWS)],
            "insert" => vec![Value::Int((records + (round * 20 + client + 1) * CLIENT_IDS + number) as i64)],
            "delete" => vec![Value::Int((nth * SPREAD % records) as i64)],
            _ => vec![Value::Int(random)],
        };
        session.execute_prepared(&prepared, &given).map(|_| ())
    }))
}
