//! Prepared statements: planned once, run with parameters; by full primary key they run without the query planner.

#![allow(clippy::disallowed_methods, reason = "an example is a program")]

use weft::{Database, Value};

fn main() -> weft::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "prepared.weft".to_owned());
    run(&dir)
}

/// The example itself; the tests run it, too.
pub(crate) fn run(dir: &str) -> weft::Result<()> {
    let database = Database::open(dir)?;
    let mut session = database.session()?;
    session.execute("CREATE TABLE counters (name text PRIMARY KEY, hits bigint NOT NULL)")?;

    let hit = session.prepare(
        "INSERT INTO counters VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET hits = counters.hits + 1 RETURNING hits",
    )?;
    for page in ["home", "docs", "home", "home"] {
        let outcome = session.execute_prepared(&hit, &[Value::Text(page.into())])?;
        println!("{page}: {:?}", outcome.single());
    }

    let read = session.prepare("SELECT hits FROM counters WHERE name = $1")?;
    let home = session.execute_prepared(&read, &[Value::Text("home".into())])?;
    assert_eq!(home.single(), Some(Value::Int(3)));

    let above = session.prepare("SELECT count(*) FROM counters WHERE hits >= $1")?;
    for (least, expected) in [(1, 2), (2, 1), (4, 0)] {
        let outcome = session.execute_prepared(&above, &[Value::Int(least)])?;
        assert_eq!(outcome.single(), Some(Value::Int(expected)));
    }
    drop(session);
    database.close()
}
