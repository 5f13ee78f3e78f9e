//! Two things that long-lived programs need: stopping a statement that runs, and running again what lost a conflict.

#![allow(clippy::disallowed_methods, reason = "an example is a program")]

use std::thread;
use std::time::Duration;

use weft::{Code, Database, Value};

fn main() -> weft::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "cancel_and_retry.weft".to_owned());
    run(&dir)
}

/// The example itself; the tests run it, too.
pub(crate) fn run(dir: &str) -> weft::Result<()> {
    let database = Database::open(dir)?;
    cancel(&database)?;
    retry(&database)?;
    database.close()
}

fn cancel(database: &Database) -> weft::Result<()> {
    let mut session = database.session()?;
    session.execute("CREATE TABLE numbers (n bigint PRIMARY KEY)")?;
    let values: Vec<String> = (0..3_000).map(|n| format!("({n})")).collect();
    session.execute(&format!("INSERT INTO numbers VALUES {}", values.join(",")))?;

    let token = session.cancel_token();
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        token.cancel();
    });
    let endless = "SELECT count(*) FROM numbers a, numbers b, numbers c WHERE (a.n + b.n * c.n) % 7 = 1";
    let error = session.execute(endless).expect_err("27 billion rows take longer than the stopper waits");
    assert_eq!(error.code(), Code::QueryCanceled);
    println!("cancelled: {error}");
    stopper.join().expect("the stopper does not panic");

    let count = session.execute("SELECT count(*) FROM numbers")?[0].single();
    assert_eq!(count, Some(Value::Int(3_000)));
    Ok(())
}

fn retry(database: &Database) -> weft::Result<()> {
    database.session()?.execute("CREATE TABLE stock (item text PRIMARY KEY, pieces integer NOT NULL)")?;
    database.session()?.execute("INSERT INTO stock VALUES ('bolt', 100)")?;
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    database.retry(take_one).expect("a conflict is run again");
                }
            });
        }
    });
    let left = database.session()?.execute("SELECT pieces FROM stock WHERE item = 'bolt'")?[0].single();
    println!("{left:?} pieces are left");
    assert_eq!(left, Some(Value::Int(0)));
    Ok(())
}

/// Reads, decides, writes: correct only when nobody else writes the row in between. At REPEATABLE READ who comes second
/// gets a conflict; at READ COMMITTED, the default, it would need `SELECT ... FOR UPDATE`.
fn take_one(session: &mut weft::Session) -> weft::Result<()> {
    session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    let pieces = session.execute("SELECT pieces FROM stock WHERE item = 'bolt'")?[0].single();
    let Some(Value::Int(pieces)) = pieces else { unreachable!("the row is there, and pieces is NOT NULL") };
    session.execute(&format!("UPDATE stock SET pieces = {} WHERE item = 'bolt'", pieces - 1))?;
    Ok(())
}
