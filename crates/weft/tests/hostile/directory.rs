//! The databases that are damaged, and what is true in them.
//!
//! ```text
//!   loaded      flights 3,000 rows with a key, airlines 400 without, meter 1,200 with a key of two columns, progress 1
//!   commit n    (n = 1..=40) inserts flight 10000+n, changes flight n, deletes flight 500+n, adds a meter row, and
//!               sets progress to n: whatever n a damaged directory shows, every other row follows from it
//! ```

use std::path::{Path, PathBuf};

use weft::{Database, Error, Options, Session};

use crate::truth::{difference, dump};

/// Commits that are in the log only when a database was not closed.
pub(crate) const COMMITS: usize = 40;
/// The tables.
pub(crate) const TABLES: [&str; 4] = ["airlines", "flights", "meter", "progress"];

const FLIGHTS: usize = 3000;
/// Ids of flights that are read by key.
const PROBES: [usize; 7] = [0, 7, 510, 541, 1499, 2999, 10_001];

/// The databases to copy and damage.
pub(crate) struct Databases {
    /// Closed: no log to replay.
    pub(crate) closed: PathBuf,
    /// Left without close.
    pub(crate) dropped: PathBuf,
    /// Another database, of other tables.
    pub(crate) alien: PathBuf,
}

/// Makes the databases in a folder.
pub(crate) fn create(folder: &Path) -> Databases {
    let databases =
        Databases { closed: folder.join("closed"), dropped: folder.join("dropped"), alien: folder.join("alien") };
    for dir in [&databases.closed, &databases.dropped] {
        let database = Database::open_with(dir, loading()).unwrap();
        let mut session = database.session().unwrap();
        load(&mut session);
        database.checkpoint().unwrap();
        drop(session);
        database.close().unwrap();
        drop(database);
        let database = Database::open_with(dir, logging()).unwrap();
        let mut session = database.session().unwrap();
        for n in 1..=COMMITS {
            session.execute(&commit(n)).unwrap();
        }
        drop(session);
        if *dir == databases.closed {
            database.close().unwrap();
        }
    }
    let database = Database::open_with(&databases.alien, loading()).unwrap();
    let mut session = database.session().unwrap();
    session.execute("CREATE TABLE strange (a text PRIMARY KEY, b bigint)").unwrap();
    let rows: Vec<String> = (0..3000).map(|i| format!("('strange {i}', {i})")).collect();
    session.execute(&format!("INSERT INTO strange VALUES {}", rows.join(","))).unwrap();
    drop(session);
    database.close().unwrap();
    databases
}

/// Small files, many of them.
fn loading() -> Options {
    Options { row_table_bytes: 64 << 10, log_segment_bytes: 64 << 10, workers: 1, ..Options::default() }
}

/// Nothing is converted, the log has many segments.
fn logging() -> Options {
    Options { log_segment_bytes: 8 << 10, workers: 0, ..Options::default() }
}

/// How a damaged directory is opened.
pub(crate) fn options() -> Options {
    Options { workers: 1, ..logging() }
}

fn load(session: &mut Session) {
    session
        .execute(
            "CREATE TABLE flights (id integer PRIMARY KEY, carrier text, delay integer, price numeric(10,2), day date,
                 note varchar(2000));
             CREATE TABLE airlines (code text, name text);
             CREATE TABLE meter (station text, at timestamp, value double precision, PRIMARY KEY (station, at));
             CREATE TABLE progress (id integer PRIMARY KEY, n integer)",
        )
        .unwrap();
    let states = [("flights", flights(0)), ("airlines", airlines()), ("meter", meter(0)), ("progress", progress(0))];
    for (table, rows) in states {
        let rows: Vec<String> = rows.iter().map(|row| row.sql()).collect();
        for part in rows.chunks(500) {
            session.execute(&format!("INSERT INTO {table} VALUES {}", part.join(","))).unwrap();
        }
    }
}

fn commit(n: usize) -> String {
    let inserted = flight(10_000 + n, n).sql();
    let measured = measure(2000 + n).sql();
    format!(
        "BEGIN; INSERT INTO flights VALUES {inserted}; UPDATE flights SET delay = {} WHERE id = {n};
         DELETE FROM flights WHERE id = {}; INSERT INTO meter VALUES {measured};
         UPDATE progress SET n = {n} WHERE id = 0; COMMIT",
        1000 + n,
        500 + n,
    )
}

/// A row as text: quoted or not in SQL.
struct Row(Vec<(String, bool)>);

impl Row {
    fn sql(&self) -> String {
        let field = |(text, quoted): &(String, bool)| if *quoted { format!("'{text}'") } else { text.clone() };
        format!("({})", self.0.iter().map(field).collect::<Vec<_>>().join(", "))
    }

    fn line(&self) -> String {
        self.0.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("|")
    }
}

fn flight(id: usize, delay: usize) -> Row {
    let carrier = ["UA", "AA", "DL", "B6", "EV"][id % 5];
    // Log records of some size, so that the log has several segments.
    let note =
        if id > 10_000 { format!("note {id} ").repeat(120).trim_end().to_owned() } else { format!("note {}", id % 97) };
    Row(vec![
        (id.to_string(), false),
        (carrier.into(), true),
        (delay.to_string(), false),
        (format!("{}.{:02}", id * 7919 % 10_000, id % 100), false),
        (format!("2013-{:02}-{:02}", id % 12 + 1, id % 28 + 1), true),
        (note, true),
    ])
}

fn flights(n: usize) -> Vec<Row> {
    let old = (0..FLIGHTS).filter(|id| !(501..=500 + n).contains(id));
    let old = old.map(|id| flight(id, if (1..=n).contains(&id) { 1000 + id } else { id % 60 }));
    old.chain((1..=n).map(|i| flight(10_000 + i, i))).collect()
}

fn airlines() -> Vec<Row> {
    (0..400).map(|i| Row(vec![(format!("C{}", i % 50), true), (format!("Airline number {i}"), true)])).collect()
}

fn measure(i: usize) -> Row {
    let at = format!("2013-01-{:02} {:02}:{:02}:00", i / 1440 + 1, i / 60 % 24, i % 60);
    Row(vec![(format!("station {}", i % 3), true), (at, true), (format!("{}.5", i * 3), false)])
}

fn meter(n: usize) -> Vec<Row> {
    (0..1200).chain(2001..=2000 + n).map(measure).collect()
}

fn progress(n: usize) -> Vec<Row> {
    vec![Row(vec![("0".into(), false), (n.to_string(), false)])]
}

/// The rows of a table after commit `n`, as [`dump`] gives them.
pub(crate) fn truth(table: &str, n: usize) -> Vec<String> {
    let rows = match table {
        "flights" => flights(n),
        "airlines" => airlines(),
        "meter" => meter(n),
        _ => progress(n),
    };
    let mut lines: Vec<String> = rows.iter().map(Row::line).collect();
    lines.sort_unstable();
    lines
}

/// What queries over an opened directory gave.
pub(crate) struct Contents {
    /// The commit whose state it is; none when nothing that tells could be read.
    pub(crate) commit: Option<usize>,
    /// Errors of queries.
    pub(crate) errors: Vec<Error>,
}

/// Reads everything in several ways. Rows that are wrong are an error here; queries that fail are noted.
pub(crate) fn read(database: &Database) -> Result<Contents, String> {
    let mut session = database.session().map_err(|error| error.to_string())?;
    let mut errors = Vec::new();
    let mut read = |session: &mut Session, query: &str| match session.execute(query) {
        Ok(outcomes) => Some(crate::truth::lines(&outcomes[0])),
        Err(error) => {
            errors.push(error);
            None
        }
    };
    let commit = read(&mut session, "SELECT n FROM progress").map(|lines| lines.concat());
    let commit = match commit {
        Some(text) => Some(text.parse::<usize>().map_err(|_| format!("progress says {text:?}"))?),
        None => None,
    };
    let n = commit.unwrap_or(COMMITS);
    for table in TABLES {
        let truth = truth(table, n);
        if let Some(found) = read(&mut session, &format!("SELECT * FROM {table}"))
            && let Some(what) = difference(&found, &truth)
        {
            return Err(format!("wrong rows in {table} of commit {n}: {what}"));
        }
        if let Some(found) = read(&mut session, &format!("SELECT count(*) FROM {table}"))
            && found != [truth.len().to_string()]
        {
            return Err(format!("{table} counts {found:?} rows, not {}", truth.len()));
        }
    }
    let flights = truth("flights", n);
    for id in PROBES {
        let start = format!("{id}|");
        let wanted: Vec<&String> = flights.iter().filter(|line| line.starts_with(&start)).collect();
        if let Some(found) = read(&mut session, &format!("SELECT * FROM flights WHERE id = {id}"))
            && found.iter().collect::<Vec<_>>() != wanted
        {
            return Err(format!("flight {id} reads as {found:?}"));
        }
    }
    if let Some(found) = read(&mut session, "SELECT sum(delay) FROM flights WHERE carrier = 'UA'") {
        let delays = flights.iter().filter(|line| line.contains("|UA|"));
        let sum: usize = delays.map(|line| line.split('|').nth(2).unwrap().parse::<usize>().unwrap()).sum();
        if found != [sum.to_string()] {
            return Err(format!("the sum of delays is {found:?}, not {sum}"));
        }
    }
    Ok(Contents { commit, errors })
}

/// That nothing is missing.
pub(crate) fn check_whole(dir: &Path) -> Result<(), String> {
    let database = Database::open_with(dir, options()).map_err(|error| format!("does not open: {error}"))?;
    let contents = read(&database)?;
    if let Some(error) = contents.errors.first() {
        return Err(format!("a query fails: {error}"));
    }
    if contents.commit != Some(COMMITS) {
        return Err(format!("shows commit {:?}", contents.commit));
    }
    let wrong = database.check().map_err(|error| error.to_string())?;
    if !wrong.is_empty() {
        return Err(format!("check says: {}", wrong.join("; ")));
    }
    let mut session = database.session().map_err(|error| error.to_string())?;
    dump(&mut session, "airlines").map_err(|error| error.to_string())?;
    Ok(())
}
