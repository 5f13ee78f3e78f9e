//! Whether `live_flights` is what it must be.
//!
//! Three ways: the rows one by one against the file (in this program), EXCEPT in both directions against the table that
//! was loaded (in SQL; only when the year is complete), and every checksum and invariant of the files.

use std::cmp::Ordering;

use weft::{Database, Value};

use super::events::{Step, row_after, steps_after};
use super::replay::Replay;
use super::source::{FLIGHT_COLUMNS, FLIGHT_KEY, flight_column};
use crate::subcommand::Failure;

/// The most differences that are printed.
const SHOWN: usize = 5;

/// Prints what was compared and what differs; false when anything does.
pub(super) fn run(database: &Database, flights: &[Vec<Value>], replay: &Replay) -> Result<bool, Failure> {
    let steps = steps_after(&replay.lists, &replay.applied, flights.len());
    let complete = replay.lists.iter().zip(&replay.applied).all(|(list, &applied)| list.len() == applied);
    let mut good = true;
    let (rows, wrong) = compare(database, flights, &steps)?;
    good &= report("live_flights equals the source row by row", &format!("{rows} rows compared"), wrong);
    if complete {
        let (left, right) = except(database)?;
        let detail = format!("{left} and {right} rows left over");
        good &= report("live_flights EXCEPT flights is empty, both ways", &detail, usize::from(left + right > 0));
    }
    let detail = format!("{} of them wrong", replay.bad_snapshots);
    let name = "no snapshot saw an arrival before its departure";
    good &= report(name, &detail, replay.bad_snapshots as usize);
    let findings = database.check()?;
    findings.iter().take(SHOWN).for_each(|finding| println!("  {finding}"));
    good &=
        report("every checksum and invariant of the files", &format!("{} findings", findings.len()), findings.len());
    Ok(good)
}

fn report(name: &str, detail: &str, wrong: usize) -> bool {
    println!("{} {name} ({detail})", if wrong == 0 { "ok    " } else { "FAILED" });
    wrong == 0
}

/// Compares all rows in key order; gives how many were expected and how many differ.
pub(super) fn compare(
    database: &Database,
    flights: &[Vec<Value>],
    steps: &[Option<Step>],
) -> Result<(usize, usize), Failure> {
    let mut expected: Vec<Vec<Value>> =
        flights.iter().zip(steps).filter_map(|(flight, &step)| row_after(flight, step)).collect();
    expected.sort_unstable_by(|a, b| compare_keys(a, b));
    let found = rows_in_key_order(database)?;
    let mut wrong = expected.len().abs_diff(found.len());
    if wrong > 0 {
        println!("  {} rows expected, {} found", expected.len(), found.len());
    }
    for (at, (want, have)) in expected.iter().zip(&found).enumerate() {
        if want != have {
            wrong += 1;
            if wrong <= SHOWN {
                println!("  row {at} differs: expected {want:?}\n                    found {have:?}");
            }
        }
    }
    Ok((expected.len(), wrong))
}

/// All rows of `live_flights` in key order.
pub(super) fn rows_in_key_order(database: &Database) -> Result<Vec<Vec<Value>>, Failure> {
    let columns: Vec<&str> = FLIGHT_COLUMNS.iter().map(|column| column.0).collect();
    let sql = format!("SELECT {} FROM live_flights ORDER BY {}", columns.join(", "), FLIGHT_KEY.join(", "));
    let outcomes = database.session()?.execute(&sql)?;
    Ok(outcomes[0].rows.iter().collect())
}

/// The order of two rows by key.
pub(super) fn compare_keys(a: &[Value], b: &[Value]) -> Ordering {
    FLIGHT_KEY
        .iter()
        .map(|name| flight_column(name))
        .fold(Ordering::Equal, |order, at| order.then_with(|| a[at].as_ref().compare(b[at].as_ref())))
}

fn except(database: &Database) -> Result<(i64, i64), Failure> {
    let mut session = database.session()?;
    let mut count = |a: &str, b: &str| -> Result<i64, Failure> {
        let sql = format!("SELECT count(*) FROM (SELECT * FROM {a} EXCEPT SELECT * FROM {b}) AS difference");
        match session.execute(&sql)?[0].single() {
            Some(Value::Int(count)) => Ok(count),
            other => Err(Failure::Other(format!("count(*) gave {other:?}"))),
        }
    };
    Ok((count("live_flights", "flights")?, count("flights", "live_flights")?))
}
