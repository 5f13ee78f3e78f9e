//! Opens a database, loads rows, changes them in a transaction, asks a question, finds all again after reopening.

#![allow(clippy::disallowed_methods, reason = "an example is a program")]

use weft::{Database, Value};

fn main() -> weft::Result<()> {
    let dir = std::env::args().nth(1).unwrap_or_else(|| "quickstart.weft".to_owned());
    run(&dir)
}

/// The example itself; the tests run it, too.
pub(crate) fn run(dir: &str) -> weft::Result<()> {
    let database = Database::open(dir)?;
    let mut session = database.session()?;
    session.execute("CREATE TABLE accounts (id integer PRIMARY KEY, owner text NOT NULL, balance numeric(12,2))")?;
    session.execute("INSERT INTO accounts VALUES (1, 'Ada', 100.00), (2, 'Grace', 50.00)")?;

    session.execute("BEGIN")?;
    session.execute("UPDATE accounts SET balance = balance - 30 WHERE id = 1")?;
    session.execute("UPDATE accounts SET balance = balance + 30 WHERE id = 2")?;
    session.execute("COMMIT")?;

    let outcomes = session.execute("SELECT owner, balance FROM accounts ORDER BY id")?;
    for row in outcomes[0].rows.iter() {
        let texts: Vec<String> =
            row.iter().zip(outcomes[0].columns.iter()).filter_map(|(v, c)| weft::value_text(v, c.data_type)).collect();
        println!("{}", texts.join(" has "));
    }
    drop(session);
    database.close()?;

    let database = Database::open(dir)?;
    let total = database.session()?.execute("SELECT sum(balance) FROM accounts")?[0].single();
    assert_eq!(total, Some(Value::Decimal(15_000)));
    database.close()
}
