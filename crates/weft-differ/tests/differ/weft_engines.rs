//! Weft, asked in every way that it answers statements in.

use std::panic::{AssertUnwindSafe, catch_unwind};

use weft::{Database, Durability, Error, Options, Outcome, Session, Value, value_text};
use weft_differ::case::{Case, Kind};
use weft_differ::compare::{Answer, Row, shown};
use weft_differ::tables::Table;
use weft_sql::oids::oid_of;

/// How a statement is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As text; the router chooses.
    Text,
    /// As text, of the query engine.
    QueryEngine,
    /// As text, of the point engine.
    PointEngine,
    /// Its constants are parameters.
    Parameters,
    /// The same prepared statement again, by the plan that was kept.
    ParametersAgain,
}

/// A database of Weft, and the tables that are there.
pub(crate) struct Weft {
    database: Database,
    session: Session,
    tables: Vec<Table>,
    columns: bool,
    _dir: tempfile::TempDir,
}

impl Weft {
    /// An empty database.
    pub(crate) fn new() -> Weft {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { durability: Durability::Async, workers: 1, ..Options::default() };
        let database = Database::open_with(dir.path(), options).unwrap();
        let session = session(&database);
        Weft { database, session, tables: Vec::new(), columns: false, _dir: dir }
    }

    /// The ways in which a case can be asked.
    pub(crate) fn ways(case: &Case) -> Vec<Way> {
        let mut ways = vec![Way::Text];
        let sql = case.statement.sql();
        if case.kind != Kind::Change && sql.matches("SELECT ").count() == 1 {
            // Every other query is the query engine's in any case.
            ways.push(Way::QueryEngine);
            ways.push(Way::PointEngine);
        }
        if !case.statement.with_parameters().parameters.is_empty() {
            ways.extend([Way::Parameters, Way::ParametersAgain]);
        }
        ways
    }

    /// The answer to a case, asked in a way.
    pub(crate) fn ask(&mut self, case: &Case, way: Way) -> Answer {
        self.make_tables(case);
        let asked = catch_unwind(AssertUnwindSafe(|| self.answer(case, way)));
        asked.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            self.session = session(&self.database);
            Answer::Error { code: "XX000".into(), message: format!("a panic: {}", text.unwrap_or("of another kind")) }
        })
    }

    fn make_tables(&mut self, case: &Case) {
        if self.tables == case.tables && self.columns == case.columns {
            return;
        }
        for table in &self.tables {
            self.session.execute(&format!("DROP TABLE {}", table.name)).unwrap();
        }
        for statement in case.setup() {
            self.session.execute(&statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
        }
        if case.columns {
            self.database.checkpoint().unwrap();
        }
        (self.tables, self.columns) = (case.tables.clone(), case.columns);
    }

    fn answer(&mut self, case: &Case, way: Way) -> Answer {
        if case.kind == Kind::Change {
            self.session.execute("BEGIN").unwrap();
        }
        let result = self.outcome(case, way);
        let answer = match result {
            Ok(outcome) => {
                let tables = if case.kind == Kind::Change {
                    case.tables.iter().map(|table| self.rows(&table.name)).collect()
                } else {
                    Vec::new()
                };
                let (types, rows) = read(&outcome);
                Answer::Rows { types, rows, tables }
            }
            Err(error) => Answer::Error { code: error.sqlstate().to_owned(), message: error.message().to_owned() },
        };
        if case.kind == Kind::Change {
            self.session.execute("ROLLBACK").unwrap();
        }
        answer
    }

    fn outcome(&mut self, case: &Case, way: Way) -> Result<Outcome, Error> {
        match way {
            Way::Text => self.text(&case.statement.sql()),
            Way::QueryEngine => self.forced("query", &case.statement.sql()),
            Way::PointEngine => self.forced("point", &case.statement.sql()),
            Way::Parameters | Way::ParametersAgain => {
                let text = case.statement.with_parameters();
                let values: Vec<Value> =
                    text.parameters.iter().map(|(_, value)| Value::Text(value.as_str().into())).collect();
                let prepared = self.session.prepare(&text.sql)?;
                self.session.execute_prepared(&prepared, &values)
            }
        }
    }

    fn text(&mut self, sql: &str) -> Result<Outcome, Error> {
        self.session.execute(sql)?.pop().ok_or_else(|| Error::internal("a statement gave no outcome"))
    }

    fn forced(&mut self, engine: &str, sql: &str) -> Result<Outcome, Error> {
        self.session.execute(&format!("SET engine = '{engine}'")).unwrap();
        let outcome = self.text(sql);
        self.session.execute("SET engine = 'auto'").unwrap();
        outcome
    }

    fn rows(&mut self, table: &str) -> Vec<Row> {
        let outcome = self.text(&format!("SELECT * FROM {table}")).unwrap();
        let (types, rows) = read(&outcome);
        sorted(&types, rows)
    }
}

fn session(database: &Database) -> Session {
    let mut session = database.session().unwrap();
    session.execute("SET statement_timeout = 20000").unwrap();
    session
}

fn read(outcome: &Outcome) -> (Vec<&'static str>, Vec<Row>) {
    let types: Vec<_> = outcome.columns.iter().map(|column| column.data_type).collect();
    let row = |values: Vec<Value>| values.iter().zip(&types).map(|(value, data)| value_text(value, *data)).collect();
    let rows = outcome.rows.iter().map(row).collect();
    (types.iter().map(|data_type| name(oid_of(*data_type))).collect(), rows)
}

/// Rows as they are compared, in an order of their own.
pub(crate) fn sorted(types: &[&'static str], rows: Vec<Row>) -> Vec<Row> {
    let value = |(value, data_type): (Option<String>, &&str)| value.map(|text| shown(data_type, &text));
    let mut rows: Vec<Row> = rows.into_iter().map(|row| row.into_iter().zip(types).map(value).collect()).collect();
    rows.sort();
    rows
}

/// PostgreSQL's name of a type (pg_type.typname).
fn name(oid: u32) -> &'static str {
    const NAMES: &[(u32, &str)] = &[
        (16, "bool"),
        (17, "bytea"),
        (20, "int8"),
        (21, "int2"),
        (23, "int4"),
        (25, "text"),
        (26, "oid"),
        (114, "json"),
        (700, "float4"),
        (701, "float8"),
        (1005, "_int2"),
        (1007, "_int4"),
        (1009, "_text"),
        (1015, "_varchar"),
        (1016, "_int8"),
        (1042, "bpchar"),
        (1043, "varchar"),
        (1082, "date"),
        (1083, "time"),
        (1114, "timestamp"),
        (1184, "timestamptz"),
        (1186, "interval"),
        (1700, "numeric"),
        (2950, "uuid"),
        (3802, "jsonb"),
    ];
    NAMES.iter().find(|(known, _)| *known == oid).map_or("another type", |(_, name)| name)
}
