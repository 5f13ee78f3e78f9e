//! Bulk load of Arrow batches, and results as Arrow batches.

#![allow(clippy::disallowed_methods, reason = "an example is a program")]

use std::sync::Arc;

use weft::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use weft::{Database, Rows, Value};

fn main() -> weft::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "arrow_append.weft".to_owned());
    run(&dir)
}

/// The example itself; the tests run it, too.
pub(crate) fn run(dir: &str) -> weft::Result<()> {
    let database = Database::open(dir)?;
    let mut session = database.session()?;
    session.execute("CREATE TABLE readings (id bigint PRIMARY KEY, sensor text, celsius double precision)")?;

    let count = 100_000;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..count))),
        ("sensor", Arc::new(StringArray::from_iter_values((0..count).map(|id| format!("s{}", id % 100))))),
        ("celsius", Arc::new(Float64Array::from_iter_values((0..count).map(|id| (id % 400) as f64 / 10.0)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("the columns have the same length");
    assert_eq!(session.append("readings", &[batch])?, count as u64);

    let outcomes =
        session.execute("SELECT sensor, avg(celsius) AS mean FROM readings GROUP BY sensor ORDER BY sensor")?;
    match &outcomes[0].rows {
        Rows::Batches { batches, .. } => println!("{} batches, {} rows", batches.len(), outcomes[0].rows.len()),
        Rows::Values { count, .. } => println!("{count} rows"),
    }
    assert_eq!(outcomes[0].rows.len(), 100);

    session.execute("UPDATE readings SET celsius = celsius + 1 WHERE sensor = 's7'")?;
    let warm = session.execute("SELECT count(*) FROM readings WHERE celsius >= 40")?[0].single();
    println!("{warm:?} readings of 40 °C or more");
    assert!(matches!(warm, Some(Value::Int(_))));
    drop(session);
    database.close()
}
