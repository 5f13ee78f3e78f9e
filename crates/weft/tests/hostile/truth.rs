//! Tables with known rows, and how they are compared.

use std::collections::BTreeSet;

use weft::{Database, Error, Outcome, Session, value_text};

/// Rows of the table `control`.
pub(crate) const CONTROL_ROWS: i64 = 1000;

/// All rows of a table as text, sorted.
pub(crate) fn dump(session: &mut Session, table: &str) -> Result<Vec<String>, Error> {
    let outcomes = session.execute(&format!("SELECT * FROM {table}"))?;
    Ok(lines(&outcomes[0]))
}

/// The rows of a result as text, sorted.
pub(crate) fn lines(outcome: &Outcome) -> Vec<String> {
    let text = |(value, column): (weft::Value, &weft::OutputColumn)| {
        value_text(&value, column.data_type).unwrap_or_else(|| "NULL".into())
    };
    let line =
        |row: Vec<weft::Value>| row.into_iter().zip(outcome.columns.iter()).map(text).collect::<Vec<_>>().join("|");
    let mut lines: Vec<String> = outcome.rows.iter().map(line).collect();
    lines.sort_unstable();
    lines
}

/// Where two dumps differ first.
pub(crate) fn difference(found: &[String], truth: &[String]) -> Option<String> {
    if found == truth {
        return None;
    }
    let (found_set, truth_set): (BTreeSet<_>, BTreeSet<_>) = (found.iter().collect(), truth.iter().collect());
    let lost = truth_set.difference(&found_set).next();
    let invented = found_set.difference(&truth_set).next();
    Some(format!("{} rows for {}; lost: {lost:?}; invented: {invented:?}", found.len(), truth.len()))
}

/// Tables that no case may change.
pub(crate) struct Control {
    truth: Vec<(&'static str, Vec<String>)>,
}

impl Control {
    /// Makes `control` and `pair`: half of the rows in column tables, half in row tables.
    pub(crate) fn create(database: &Database) -> Control {
        let mut session = database.session().unwrap();
        session
            .execute(
                "CREATE TABLE control (id integer PRIMARY KEY, big bigint NOT NULL, small smallint, price numeric(12,2),
                 name varchar(20), day date, at timestamp, ok boolean, ratio double precision);
                 CREATE TABLE pair (a integer, b integer)",
            )
            .unwrap();
        fill(&mut session, 0, CONTROL_ROWS / 2);
        database.checkpoint().unwrap();
        fill(&mut session, CONTROL_ROWS / 2, CONTROL_ROWS);
        let truth = ["control", "pair"].map(|table| (table, dump(&mut session, table).unwrap())).into();
        let control = Control { truth };
        assert_eq!(control.truth[0].1.len(), CONTROL_ROWS as usize);
        assert_eq!(control.truth[1].1.len(), 300);
        control
    }

    /// What differs from the truth, other tables included.
    pub(crate) fn check(&self, database: &Database) -> Result<(), String> {
        let tables: Vec<String> =
            database.tables().map_err(|e| e.to_string())?.iter().map(|t| t.name.clone()).collect();
        if tables != ["control", "pair"] {
            return Err(format!("the tables are {tables:?} afterwards"));
        }
        let mut session = database.session().map_err(|error| error.to_string())?;
        for (table, truth) in &self.truth {
            let found =
                dump(&mut session, table).map_err(|error| format!("{table} cannot be read afterwards: {error}"))?;
            if let Some(what) = difference(&found, truth) {
                return Err(format!("{table} was changed: {what}"));
            }
        }
        Ok(())
    }
}

fn fill(session: &mut Session, from: i64, to: i64) {
    let row = |id: i64| {
        let (small, cents, day) = (id % 30_000, id * 37 % 100, id % 28 + 1);
        let name = if id % 10 == 0 { "NULL".into() } else { format!("'name {id}'") };
        format!(
            "({id}, {}, {small}, {id}.{cents:02}, {name}, '2024-02-{day:02}', \
             '2024-02-{day:02} 12:34:56.000{:03}', {}, {}.5)",
            id * 1_000_003,
            id % 1000,
            id % 3 == 0,
            id,
        )
    };
    let rows: Vec<String> = (from..to).map(row).collect();
    session.execute(&format!("INSERT INTO control VALUES {}", rows.join(","))).unwrap();
    let pairs: Vec<String> = (from..to).take_while(|i| i - from < 150).map(|i| format!("({i}, {})", i % 7)).collect();
    session.execute(&format!("INSERT INTO pair VALUES {}", pairs.join(","))).unwrap();
}
