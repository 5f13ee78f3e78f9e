//! A database of its own for a test, and words about its answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weft_format::{Code, Value};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions};
use weft_query::query_engine;
use weft_sql::text::print;
use weft_sql::{Outcome, QueryOptions, Session, SqlEngine, SqlOptions};

pub(crate) struct Fixture {
    pub(crate) db: Arc<SqlEngine>,
    pub(crate) dir: PathBuf,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.db.kernel().close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

pub(crate) fn fixture() -> Fixture {
    fixture_with(EngineOptions::default())
}

/// With so many bytes for queries.
pub(crate) fn fixture_of_memory(memory_bytes: usize) -> Fixture {
    let queries = QueryOptions { memory_bytes, ..QueryOptions::default() };
    open(EngineOptions::default(), sql_options(queries))
}

pub(crate) fn sql_options(queries: QueryOptions) -> SqlOptions {
    SqlOptions { queries, query_engine }
}

pub(crate) fn fixture_with(options: EngineOptions) -> Fixture {
    open(options, SqlOptions::new(query_engine))
}

pub(crate) fn open(options: EngineOptions, sql: SqlOptions) -> Fixture {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("weft-sql-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let methods: Vec<Arc<dyn Method>> = vec![weft_tables::column_method(), weft_tables::row_method()];
    let options = EngineOptions { durability: weft_kernel::Durability::Async, ..options };
    let kernel = Engine::open(weft_env::Env::real(), &dir, methods, options).unwrap();
    Fixture { db: SqlEngine::new(kernel, sql), dir }
}

/// All rows of the last statement: values of a row joined by `|`, rows by a blank.
pub(crate) fn rows(session: &mut Session, sql: &str) -> String {
    let outcome = session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop().unwrap();
    show(&outcome)
}

pub(crate) fn show(outcome: &Outcome) -> String {
    let line = |row: Vec<Value>| {
        let cells = row.iter().zip(outcome.columns.iter()).map(|(value, column)| match value {
            Value::Null => "NULL".to_owned(),
            value => print(value.as_ref(), column.data_type),
        });
        cells.collect::<Vec<_>>().join("|")
    };
    outcome.rows.iter().map(line).collect::<Vec<_>>().join(" ")
}

pub(crate) fn tag(session: &mut Session, sql: &str) -> String {
    session.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).pop().unwrap().tag.to_string()
}

pub(crate) fn code(session: &mut Session, sql: &str) -> Code {
    match session.execute(sql) {
        Ok(outcome) => panic!("{sql} gave {:?}", outcome.last().map(show)),
        Err(error) => error.code(),
    }
}

/// Numbers that look random (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}
