//! The SQL suite (`tests/slt/*.slt`) under several configurations.
//!
//! ```text
//!   default   tiny (row tables of 4 KiB)   restart (after each statement)   point engine forced   query engine forced
//!   memory (a limit of 256 MiB)   memory beside 300 MB of other rows (WEFT_TEST_FULL=1: 1.2 GB), with the peak
//!   layers (tables of the smallest sizes, jobs between statements: rows in every layer of a column table)
//!   speculative (speculative_reads = on)
//!   antimatter (conflict = 'antimatter', row tables of 4 KiB; and with restarts)
//!   lineage (every table USING lineage; with tails of 4 KiB and segments of 16 rows; the same with restarts)
//!   row (every table USING row; with pages of 512 bytes, written when 4 KiB have changed; the same with restarts)
//!   mixed (tables USING column, lineage and row in turns)
//! ```
//!
//! Expected results are PostgreSQL's (`tests/slt/expect.py` asks a server), except in files that begin `# weft only`.
//! A forced engine that cannot run a statement says so (0A000); the statement then runs unforced, so the file goes on,
//! and the share that each engine could run is reported. All failing records of a configuration are reported together.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test reads its files and locks its own state"
)]

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use weft::{Code, DataType, Database, Error, Options, Outcome, Session, value_text_in};

/// Instead of a method: column, lineage and row in turns.
const IN_TURNS: &str = "in turns";

/// How the suite is run.
#[derive(Clone)]
struct Configuration {
    /// Also a label for `skipif` and `onlyif`.
    name: &'static str,
    options: Options,
    /// Whether the database is closed and opened again after each statement that leaves no transaction open.
    restart: bool,
    /// What `SET engine` says.
    engine: Option<&'static str>,
    /// Whether sessions read speculatively.
    speculative: bool,
    /// The method of tables.
    method: Option<&'static str>,
    /// Whether jobs run between statements, and where the rows lie is noted.
    moves_rows: bool,
    /// A database that is copied for each file, and worked on before it: a table `ballast` far larger than the memory.
    ballast: Option<PathBuf>,
}

fn configuration(name: &'static str) -> Configuration {
    Configuration {
        name,
        options: Options::default(),
        restart: false,
        engine: None,
        speculative: false,
        method: None,
        moves_rows: false,
        ballast: None,
    }
}

#[test]
fn default_configuration() {
    run(&configuration("default"));
}

#[test]
fn tiny_row_tables() {
    let options = Options {
        row_table_bytes: 4 << 10,
        log_segment_bytes: 64 << 10,
        checkpoint_log_bytes: 256 << 10,
        ..Options::default()
    };
    run(&Configuration { options, ..configuration("tiny") });
}

/// Every table merges on read, and becomes column tables often.
fn antimatter() -> Configuration {
    let options = Options {
        table_options: BTreeMap::from([("conflict".to_owned(), "antimatter".to_owned())]),
        row_table_bytes: 4 << 10,
        log_segment_bytes: 64 << 10,
        checkpoint_log_bytes: 256 << 10,
        ..Options::default()
    };
    Configuration { options, ..configuration("antimatter") }
}

#[test]
fn conflicts_by_antimatter() {
    run(&antimatter());
}

#[test]
fn conflicts_by_antimatter_with_restarts() {
    run(&Configuration { restart: true, name: "restart", ..antimatter() });
}

/// Every table is a lineage table.
#[test]
fn lineage_tables() {
    run(&Configuration { method: Some("lineage"), ..configuration("lineage") });
}

/// Every table is a lineage table whose rows pass through every stage: tails of 4 KiB, loads of as much, segments of 16
/// rows.
fn tiny_lineage() -> Configuration {
    let options = Options {
        table_options: [("segment_rows", "16"), ("bulk_bytes", "4096")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .into(),
        row_table_bytes: 4 << 10,
        log_segment_bytes: 64 << 10,
        checkpoint_log_bytes: 256 << 10,
        ..Options::default()
    };
    Configuration { options, method: Some("lineage"), ..configuration("lineage") }
}

#[test]
fn tiny_lineage_tables() {
    run(&tiny_lineage());
}

#[test]
fn tiny_lineage_tables_with_restarts() {
    run(&Configuration { restart: true, name: "restart", ..tiny_lineage() });
}

/// Every table is a row table.
#[test]
fn row_tables() {
    run(&Configuration { method: Some("row"), ..configuration("row") });
}

/// Every table is a row table of tiny pages, which are split, joined and written all the time.
fn tiny_rows() -> Configuration {
    let options = Options {
        table_options: [("page_bytes", "512"), ("changed_bytes", "4096")]
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .into(),
        log_segment_bytes: 64 << 10,
        checkpoint_log_bytes: 256 << 10,
        ..Options::default()
    };
    Configuration { options, method: Some("row"), ..configuration("row") }
}

#[test]
fn tiny_pages() {
    run(&tiny_rows());
}

#[test]
fn tiny_pages_with_restarts() {
    run(&Configuration { restart: true, name: "restart", ..tiny_rows() });
}

/// Tables of all methods in turns: in one query and in one transaction.
#[test]
fn methods_in_turns() {
    run(&Configuration { method: Some(IN_TURNS), ..configuration("mixed") });
}

#[test]
fn limited_memory() {
    run(&Configuration { options: Options::with_memory_limit(256 << 20), ..configuration("memory") });
}

#[test]
fn speculative_reads() {
    run(&Configuration { speculative: true, ..configuration("speculative") });
}

/// The smallest sizes there are: a few hundred rows lie in every layer. Rows stay where statements left them, become
/// incremental tables, and go on from layer to layer, in turns.
#[test]
fn every_layer_of_column_tables() {
    let sizes = [
        ("row_table_bytes", 1 << 10),
        ("column_table_bytes", 4 << 10),
        ("bucket_bytes", 4 << 10),
        ("granularity_bytes", 8 << 10),
        ("incremental_bytes", 4 << 10),
    ];
    let table_options = sizes.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_string())).collect();
    let options = Options { table_options, workers: 0, ..Options::default() };
    let seen = run(&Configuration { options, moves_rows: true, ..configuration("layers") });
    println!("statements that found rows in a layer: {seen:?}");
    if std::env::var_os("WEFT_SLT").is_none() {
        for layer in ["active row table", "frozen row tables", "incremental", "transition", "baseline"] {
            let count = seen.get(layer).copied().unwrap_or_default();
            assert!(count >= 10, "{count} statements found rows in the layer {layer}: {seen:?}");
        }
    }
}

/// The same beside a table that is larger than the memory, which is read and changed before each file. The peak of the
/// process, which opens one database after the other and checks some, stays within the limit
/// (docs/benchmarks/memory.md).
#[test]
fn limited_memory_beside_large_data() {
    const LIMIT_BYTES: u64 = 256 << 20;
    let options = Options::with_memory_limit(LIMIT_BYTES);
    let Some(role) = std::env::var_os("WEFT_SLT_ROLE") else {
        let dir = tempfile::tempdir().unwrap();
        for role in ["fill", "run"] {
            let mut child = process::child("limited_memory_beside_large_data");
            child.env("WEFT_SLT_ROLE", role).env("WEFT_SLT_DIR", dir.path());
            assert!(child.status().unwrap().success(), "{role}: the child says why");
        }
        return;
    };
    let dir = PathBuf::from(std::env::var_os("WEFT_SLT_DIR").unwrap());
    let ballast = dir.join("ballast");
    if role == "fill" {
        let rows = if std::env::var_os("WEFT_TEST_FULL").is_some() { 4_000_000 } else { 1_000_000 };
        let database = Database::open_with(&ballast, options).unwrap();
        fill_ballast(&database, rows);
        return database.close().unwrap();
    }
    process::load_program();
    let empty = {
        let database = Database::open_with(dir.join("empty"), options.clone()).unwrap();
        database.session().unwrap().execute("SELECT count(*), sum(g) FROM generate_series(1, 1000) t(g)").unwrap();
        database.close().unwrap();
        process::peak_bytes()
    };
    run(&Configuration { options, ballast: Some(ballast), ..configuration("memory") });
    let used = process::peak_bytes() - empty;
    println!("peak {} MiB beside {} MiB of an empty database", used >> 20, empty >> 20);
    assert!(used * 10 <= LIMIT_BYTES * 11, "{used} bytes are more than 1.1 times {LIMIT_BYTES}");
}

/// The whole database is checked behind one of so many files.
const BALLAST_CHECKS: usize = 5;

/// Rows of some 300 characters that compress little.
fn fill_ballast(database: &Database, rows: u64) {
    let mut session = database.session().unwrap();
    session.execute("CREATE TABLE ballast (id bigint PRIMARY KEY, n integer NOT NULL, t text NOT NULL)").unwrap();
    let text = (1..=34).map(|part| format!("to_hex((id * {}) % 1000000007)", 7919 * part * part + 104_729));
    let text = text.collect::<Vec<_>>().join(" || '-' || ");
    for first in (0..rows).step_by(25_000) {
        let last = first + 24_999;
        let ids = format!("SELECT g::bigint AS id FROM generate_series({first}, {last}) s (g)");
        let rows = format!("INSERT INTO ballast SELECT id, 0, {text} FROM ({ids}) s");
        session.execute(&rows).unwrap();
    }
}

/// Reads all of the ballast, and changes so much of it that row memory is in use.
fn press(database: &Database) {
    let mut session = database.session().unwrap();
    session.execute("UPDATE ballast SET n = n + 1 WHERE id < 30000").unwrap();
    session.execute("SELECT count(*), max(length(t)), sum(n) FROM ballast").unwrap();
}

fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn restart_after_each_statement() {
    run(&Configuration { restart: true, ..configuration("restart") });
}

#[test]
fn point_engine_forced() {
    run(&Configuration { engine: Some("point"), ..configuration("point") });
}

#[test]
fn query_engine_forced() {
    run(&Configuration { engine: Some("query"), ..configuration("query") });
}

/// What would become a join runs for each row.
#[test]
fn subqueries_applied() {
    let options = Options { apply_subqueries: true, ..Options::default() };
    run(&Configuration { options, ..configuration("applied") });
}

/// One database and the sessions of a file's connections.
struct Server {
    dir: PathBuf,
    configuration: Configuration,
    database: Option<Database>,
    sessions: BTreeMap<u64, Session>,
    restarts: u64,
    turns: u64,
    /// How many statements found rows in each layer.
    layers: BTreeMap<String, u64>,
    /// Statements that the forced engine ran, and those it refused.
    forced: (u64, u64),
}

impl Server {
    fn database(&mut self) -> Result<Database, Error> {
        if self.database.is_none() {
            if let Some(ballast) = self.configuration.ballast.as_ref().filter(|_| !self.dir.exists()) {
                copy_dir(ballast, &self.dir);
            }
            let database = Database::open_with(&self.dir, self.configuration.options.clone())?;
            if self.configuration.ballast.is_some() {
                press(&database);
            }
            self.database = Some(database);
        }
        Ok(self.database.clone().expect("it was opened just now"))
    }

    fn run(&mut self, connection: u64, sql: &str) -> Result<Outcome, Error> {
        let database = self.database()?;
        if !self.sessions.contains_key(&connection) {
            let mut session = database.session()?;
            if let Some(engine) = self.configuration.engine {
                session.execute(&format!("SET engine = '{engine}'"))?;
            }
            if self.configuration.speculative {
                session.execute("SET speculative_reads = on")?;
            }
            if let Some(method) = self.configuration.method.filter(|method| *method != IN_TURNS) {
                session.execute(&format!("SET default_table_access_method = '{method}'"))?;
            }
            self.sessions.insert(connection, session);
        }
        if self.configuration.moves_rows {
            self.move_rows(&database)?;
        }
        if self.configuration.method == Some(IN_TURNS) && sql.trim_start().to_ascii_lowercase().starts_with("create ") {
            self.turns += 1;
            let method = ["column", "lineage", "row"][self.turns as usize % 3];
            let session = self.sessions.get_mut(&connection).expect("it was made above");
            // A transaction that has failed takes no setting, and makes no table.
            let _ = session.execute(&format!("SET default_table_access_method = '{method}'"));
        }
        let result = match self.configuration.engine {
            Some(engine) => self.run_forced(&database, connection, engine, sql),
            None => execute(self.sessions.get_mut(&connection).expect("it was made above"), sql),
        };
        drop(database);
        // A role, a zone or a style that was set would be forgotten.
        let is_set = |session: &Session| {
            let settings = session.settings();
            settings.role.is_some() || settings.style != weft::Style::default() || !settings.others.is_empty()
        };
        let is_busy = |session: &Session| session.in_transaction() || is_set(session);
        let may_restart = !self.sessions.values().any(is_busy);
        if self.configuration.restart && may_restart {
            self.restart()?;
        }
        result
    }

    /// In turns: rows are left where they are, become incremental tables, are left, go as far as they can.
    fn move_rows(&mut self, database: &Database) -> Result<(), Error> {
        self.turns += 1;
        match self.turns % 4 {
            1 => database.checkpoint()?,
            3 => drop(database.session()?.execute("VACUUM")?),
            _ => {}
        }
        let layouts = database.layout();
        let found = layouts.iter().flat_map(|(_, _, layers)| layers).filter(|layer| layer.rows > 0);
        for name in found.map(|layer| layer.name.clone()).collect::<BTreeSet<_>>() {
            *self.layers.entry(name).or_default() += 1;
        }
        Ok(())
    }

    /// Every other time without `close`, so that the next opening has a log to replay.
    fn restart(&mut self) -> Result<(), Error> {
        self.sessions.clear();
        let database = self.database.take().expect("a statement ran");
        self.restarts += 1;
        if self.restarts.is_multiple_of(2) { database.close() } else { Ok(()) }
    }

    /// How a connection's session shows values.
    fn style(&self, connection: u64) -> weft::Style {
        self.sessions.get(&connection).map_or_else(weft::Style::default, |session| session.settings().style.clone())
    }

    fn run_forced(&mut self, database: &Database, id: u64, engine: &str, sql: &str) -> Result<Outcome, Error> {
        let session = self.sessions.get_mut(&id).expect("the caller made it");
        let words = sql.trim_start().to_ascii_lowercase();
        let known = ["select", "insert", "update", "delete", "merge", "with", "values", "table", "("];
        let counts = known.iter().any(|word| words.starts_with(word));
        if !counts {
            return execute(session, sql);
        }
        // Inside a transaction a refusal would end it: another session is asked whether it can run.
        let refused = if session.in_transaction() {
            let mut probe = database.session()?;
            probe.execute(&format!("SET engine = '{engine}'"))?;
            probe.execute(&format!("EXPLAIN {sql}")).err()
        } else {
            match execute(session, sql) {
                Err(error) if error.code() == Code::FeatureNotSupported => Some(error),
                result => {
                    self.forced.0 += u64::from(result.is_ok());
                    return result;
                }
            }
        };
        if refused.is_none() {
            self.forced.0 += 1;
            return execute(session, sql);
        }
        session.execute("SET engine = 'auto'")?;
        let result = execute(session, sql);
        self.forced.1 += u64::from(result.is_ok());
        // In a transaction that this statement ended with an error the setting changes back with the rollback.
        let _ = session.execute(&format!("SET engine = '{engine}'"));
        result
    }
}

fn execute(session: &mut Session, sql: &str) -> Result<Outcome, Error> {
    let outcomes = session.execute(sql)?;
    outcomes.into_iter().next_back().ok_or_else(|| Error::internal("a statement gave no outcome"))
}

/// A connection of the suite.
struct Client {
    server: Arc<Mutex<Server>>,
    id: u64,
}

impl DB for Client {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        // The runner calls inside an executor of its own: statements must wait in one all the same.
        let outcome = self.server.lock().unwrap().run(self.id, sql)?;
        if outcome.columns.is_empty() {
            return Ok(DBOutput::StatementComplete(outcome.tag.row_count()));
        }
        let types = outcome.columns.iter().map(|column| column_type(column.data_type)).collect();
        let style = self.server.lock().unwrap().style(self.id);
        let text = |value: &weft::Value, data_type| match value_text_in(value, data_type, &style) {
            None => "NULL".to_owned(),
            Some(text) if text.is_empty() => "(empty)".to_owned(),
            Some(text) => text,
        };
        let row = |values: Vec<weft::Value>| {
            values.iter().zip(outcome.columns.iter()).map(|(value, column)| text(value, column.data_type)).collect()
        };
        Ok(DBOutput::Rows { types, rows: outcome.rows.iter().map(row).collect() })
    }

    fn engine_name(&self) -> &str {
        "weft"
    }

    fn error_sql_state(error: &Error) -> Option<String> {
        Some(error.sqlstate().to_owned())
    }
}

fn column_type(data_type: DataType) -> DefaultColumnType {
    match data_type {
        DataType::SmallInt | DataType::Integer | DataType::BigInt => DefaultColumnType::Integer,
        DataType::Real | DataType::DoublePrecision | DataType::Numeric { .. } => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

fn suite() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    assert!(files.len() > 10, "the suite has more than {} files", files.len());
    files
}

/// Runs all files; how many statements found rows in each layer.
fn run(configuration: &Configuration) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    let (mut records, mut failures, mut forced) = (0, Vec::new(), (0, 0));
    // WEFT_SLT=joins runs one file only.
    let only = std::env::var("WEFT_SLT").ok();
    for (at, file) in suite().into_iter().enumerate() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let part = run_file((at, &file), configuration, &mut failures, &mut seen);
        if configuration.ballast.is_some() {
            println!("{name}: peak of the process {} MiB", process::peak_bytes() >> 20);
        }
        records += part.0;
        forced = (forced.0 + part.1.0, forced.1 + part.1.1);
    }
    if let Some(engine) = configuration.engine {
        let all = forced.0 + forced.1;
        println!("the {engine} engine ran {} of {all} statements ({} %)", forced.0, forced.0 * 100 / all.max(1));
    }
    let count = failures.len();
    assert!(count == 0, "{count} of {records} records fail in {}:\n{}", configuration.name, failures.join("\n"));
    seen
}

/// Files in memory, where the system has some and there is room: what SQL answers does not depend on the disk, and
/// every statement of every file waits for it in each configuration.
fn memory() -> Option<&'static Path> {
    const ROOM_KIB: u64 = 4 << 20;
    static MEMORY: OnceLock<Option<&'static Path>> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let said = std::process::Command::new("df").args(["-k", "--output=avail"]).arg(memory).output().ok()?;
        let room: u64 = String::from_utf8(said.stdout).ok()?.lines().last()?.trim().parse().ok()?;
        (room >= ROOM_KIB && tempfile::tempdir_in(memory).is_ok()).then_some(memory)
    })
}

/// Runs a file in a new database; gives how many statements it has, and what the forced engine ran and refused.
fn run_file(
    (at, file): (usize, &Path),
    configuration: &Configuration,
    failures: &mut Vec<String>,
    seen: &mut BTreeMap<String, u64>,
) -> (usize, (u64, u64)) {
    let dir = match memory().filter(|_| configuration.ballast.is_none()) {
        Some(memory) => tempfile::tempdir_in(memory).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let server = Arc::new(Mutex::new(Server {
        dir: dir.path().join("db"),
        configuration: configuration.clone(),
        database: None,
        sessions: BTreeMap::new(),
        restarts: 0,
        turns: 0,
        layers: BTreeMap::new(),
        forced: (0, 0),
    }));
    let mut clients = 0;
    let mut runner = Runner::new(|| {
        clients += 1;
        let client = Client { server: Arc::clone(&server), id: clients };
        async move { Ok(client) }
    });
    runner.add_label(configuration.name);
    runner.set_var("DIR".to_owned(), dir.path().to_string_lossy().into_owned());
    let mut records = 0;
    for record in sqllogictest::parse_file::<DefaultColumnType>(file).unwrap() {
        records += usize::from(matches!(record, Record::Statement { .. } | Record::Query { .. }));
        if let Err(error) = runner.run(record) {
            failures.push(error.display(false).to_string());
        }
    }
    drop(runner);
    let mut server = server.lock().unwrap();
    server.sessions.clear();
    for (layer, count) in &server.layers {
        *seen.entry(layer.clone()).or_default() += count;
    }
    if let Some(database) = server.database.take() {
        // Beside a large table each check reads all of that.
        let is_checked = configuration.ballast.is_none() || at % BALLAST_CHECKS == 0;
        let findings = if is_checked { database.check().unwrap() } else { Vec::new() };
        if !findings.is_empty() {
            failures.push(format!("check after {}: {}", file.display(), findings.join("; ")));
        }
        database.close().unwrap();
    }
    (records, server.forced)
}
