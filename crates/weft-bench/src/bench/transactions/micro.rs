//! L-Store's micro benchmark (section 6.1): 8 reads and 2 writes per transaction on 10 columns, READ COMMITTED.
//!
//! ```text
//!   table      1 M records (or 10 M); clients use the first `active` of them
//!   read       4 of the columns by key                   write   4 of the columns by key
//!   scan       sum of a column over a tenth of the table, again and again in a thread beside the clients
//! ```
//!
//! 1. A write adds 1 to c1 and takes it from c2, adds 2 to c3 and takes these from c4: sum(c1) tells how many writes
//!    survived, sum(c1 + c2) and sum(c3 + c4) stay.
//! 2. The two writes go in the order of their keys, so that clients wait for each other but never in a circle.

use weft::{Error, Session, Value};

use super::clients::{self, Work};
use super::suite::Suite;
use crate::bench::line;
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

const CLIENTS: u64 = 4;
const READS: u64 = 8;

const READ: &str = "SELECT c1, c2, c3, c4 FROM micro WHERE id = $1";
const WRITE: &str = "UPDATE micro SET c1 = c1 + 1, c2 = c2 - 1, c3 = c3 + 2, c4 = c4 - 2 WHERE id = $1";
const SCAN: &str = "SELECT sum(c1) FROM micro WHERE id >= $1 AND id < $2";

/// All active sets, without and with a scan.
pub(super) fn run(suite: &Suite) -> Result<(), Failure> {
    suite.make("micro")?;
    suite.database.checkpoint()?;
    let sums = ["SELECT sum(c1 + c2) FROM micro", "SELECT sum(c3 + c4) FROM micro"];
    let kept = [suite.number(sums[0])?, suite.number(sums[1])?];
    let mut c1 = suite.number("SELECT sum(c1) FROM micro")?;
    for &active in &suite.active {
        for scans in [false, true] {
            let scan: clients::Make = &|_, session| scan(session, suite.records);
            let ran = clients::run(
                &suite.database,
                CLIENTS,
                suite.time,
                &|client, session| transaction(client, session, active),
                scans.then_some(scan),
            )?;
            let name = format!("micro_{active}{}", if scans { "_scanned" } else { "" });
            line::put(&name, ran.rate, "tx/s");
            if scans {
                line::put(&format!("micro_{active}_scan"), ran.beside_ms, "ms");
            }
            c1 += 2 * ran.done as i64;
            suite.expect("SELECT sum(c1) FROM micro", c1)?;
            suite.expect(sums[0], kept[0])?;
            suite.expect(sums[1], kept[1])?;
        }
    }
    Ok(())
}

fn transaction<'a>(client: u64, session: &mut Session, active: u64) -> Result<Work<'a>, Error> {
    let (begin, commit) = (session.prepare("BEGIN")?, session.prepare("COMMIT")?);
    let (read, write) = (session.prepare(READ)?, session.prepare(WRITE)?);
    let mut numbers = Numbers::new(client);
    Ok(Box::new(move |session| {
        session.execute_prepared(&begin, &[])?;
        for _ in 0..READS {
            session.execute_prepared(&read, &[Value::Int(numbers.below(active) as i64)])?;
        }
        let mut keys = [numbers.below(active), numbers.below(active)];
        keys.sort_unstable();
        for key in keys {
            session.execute_prepared(&write, &[Value::Int(key as i64)])?;
        }
        session.execute_prepared(&commit, &[]).map(|_| ())
    }))
}

fn scan<'a>(session: &mut Session, records: u64) -> Result<Work<'a>, Error> {
    let prepared = session.prepare(SCAN)?;
    let mut numbers = Numbers::new(u64::MAX);
    let tenth = records / 10;
    Ok(Box::new(move |session| {
        let low = numbers.below(records - tenth + 1);
        session.execute_prepared(&prepared, &[Value::Int(low as i64), Value::Int((low + tenth) as i64)]).map(|_| ())
    }))
}
