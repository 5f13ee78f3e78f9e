//! Part (a): SQL text.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weft::{Database, Error, Options, Outcome, Session, Value, value_text};

use crate::cases::{self, Case};
use crate::truth::{Control, difference, dump};
use crate::watch::{self, Report};

/// A statement that says nothing else ends after this.
const TIMEOUT_MS: u64 = 15_000;
/// How much later than asked a statement may stop.
const GRACE: Duration = Duration::from_secs(4);

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let mut dir = folder.path().join("db");
    let mut database = Database::open_with(&dir, options()).unwrap();
    let mut control = Arc::new(Control::create(&database));
    let mut report = Report::default();
    for case in cases::read("statements.txt", folder.path()) {
        let name = case.name.clone();
        let (its_database, its_control) = (database.clone(), Arc::clone(&control));
        let result = watch::run(&name, move || {
            let verdict = one(&its_database, &case);
            verdict.and(its_control.check(&its_database))
        });
        let result = result.and_then(|verdict| verdict);
        if result.is_err() {
            // What one case spoiled must not be held against the next.
            dir = folder.path().join(format!("after {}", report.cases()));
            database = Database::open_with(&dir, options()).unwrap();
            control = Arc::new(Control::create(&database));
        }
        report.note(&name, result);
    }
    refuse_listed(&database, &control, &mut report);
    drop(database);
    let database = Database::open_with(&dir, options()).unwrap();
    report.note("reopened after a stop", control.check(&database));
    database.close().unwrap();
    let database = Database::open_with(&dir, options()).unwrap();
    report.note("reopened after close", control.check(&database));
    report.note(
        "check",
        database.check().map_err(|e| e.to_string()).and_then(|wrong| match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("; ")),
        }),
    );
    report.finish("hostile statements");
}

/// The lines of `refused.txt`, and word salads, which may be legal now and then.
fn refuse_listed(database: &Database, control: &Control, report: &mut Report) {
    let rows: Vec<String> = (0..500).map(|id| format!("({id}, 'row {id}')")).collect();
    let mut session = database.session().unwrap();
    session.execute("CREATE TABLE small (id integer PRIMARY KEY, s text)").unwrap();
    session.execute(&format!("INSERT INTO small VALUES {}", rows.join(","))).unwrap();
    let truth = dump(&mut session, "small").unwrap();
    let listed = std::fs::read_to_string(cases::folder().join("refused.txt")).unwrap();
    let listed = listed.lines().skip(1).filter(|line| !line.is_empty()).map(|line| (line.to_owned(), true));
    let only = std::env::var("WEFT_HOSTILE").unwrap_or_default();
    for (statement, must_fail) in listed.chain(salads().into_iter().map(|salad| (salad, false))) {
        if !statement.contains(&only) {
            continue;
        }
        let mut session = database.session().unwrap();
        let text = statement.clone();
        let result = watch::run(&statement, move || session.execute(&text).map(|_| ()));
        report.note(
            &statement,
            result.and_then(|result| match result {
                Ok(()) if must_fail => Err("accepted".into()),
                Ok(()) => Ok(()),
                Err(error) if error.code() == weft::Code::Internal => Err(format!("an internal error: {error}")),
                Err(error) if !has_remedy(&error) => Err(format!("no remedy, position or object: {error}")),
                Err(error) => watch::judge(&error).map_or(Ok(()), Err),
            }),
        );
    }
    let found = dump(&mut session, "small").unwrap();
    report.note("the table small", difference(&found, &truth).map_or(Ok(()), Err));
    session.execute("DROP TABLE small").unwrap();
    report.note("after the refused statements", control.check(database));
}

fn salads() -> Vec<String> {
    let words =
        ["select", "from", "control", "where", "(", ")", ",", "id", "'x'", "1", "null", "and", "join", "on", "*"];
    let mut random = 7u64;
    let mut pick = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    (0..50).map(|_| (0..3 + pick() % 20).map(|_| words[pick() % words.len()]).collect::<Vec<_>>().join(" ")).collect()
}

fn options() -> Options {
    Options { query_memory_bytes: 256 << 20, lock_timeout: Duration::from_secs(2), ..Options::default() }
}

fn one(database: &Database, case: &Case) -> Result<(), String> {
    let mut session = database.session().map_err(|error| error.to_string())?;
    let timeout = case.directive("timeout").map_or(TIMEOUT_MS, |ms| ms.parse().unwrap());
    session.execute(&format!("SET statement_timeout = {timeout}")).map_err(|error| error.to_string())?;
    if let Some(engine) = case.directive("engine") {
        session.execute(&format!("SET engine = {engine}")).map_err(|error| error.to_string())?;
    }
    let stopped_after = case.directive("cancel").map(|ms| ms.parse().unwrap());
    if let Some(ms) = stopped_after {
        let token = session.cancel_token();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(ms));
            token.cancel();
        });
    }
    let started = Instant::now();
    let result = execute(&mut session, case);
    let asked = case.directive("timeout").map(|ms| ms.parse().unwrap()).or(stopped_after);
    if let Some(ms) = asked.filter(|ms| started.elapsed() > Duration::from_millis(*ms) + GRACE) {
        return Err(format!("asked to stop after {ms} ms, it took {:?}", started.elapsed()));
    }
    judge(case, result)?;
    usable(&mut session)
}

fn execute(session: &mut Session, case: &Case) -> Result<Option<Outcome>, Error> {
    let text = case.text();
    match case.directive("params") {
        Some(params) => {
            let params: Vec<Value> = params.split('|').map(|word| param(word.trim())).collect();
            session.execute_params(&text, &params).map(Some)
        }
        None => session.execute(&text).map(|mut outcomes| outcomes.pop()),
    }
}

fn param(word: &str) -> Value {
    match word.parse() {
        Ok(number) => Value::Int(number),
        Err(_) if word == "NULL" => Value::Null,
        Err(_) => Value::Text(word.into()),
    }
}

fn judge(case: &Case, result: Result<Option<Outcome>, Error>) -> Result<(), String> {
    match result {
        Ok(outcome) if case.expects("ok") => {
            let Some(value) = case.directive("value") else { return Ok(()) };
            let found =
                outcome.as_ref().and_then(|outcome| value_text(&outcome.single()?, outcome.columns[0].data_type));
            if found.as_deref() == Some(value) { Ok(()) } else { Err(format!("gave {found:?}, not {value}")) }
        }
        Ok(outcome) => Err(format!("succeeded with {:?}", outcome.map(|outcome| outcome.tag.to_string()))),
        Err(error) => {
            if let Some(what) = watch::judge(&error) {
                return Err(what);
            }
            if !case.expects(error.sqlstate()) {
                return Err(format!("gave {error}, not {}", case.expected.join(" or ")));
            }
            if has_remedy(&error) { Ok(()) } else { Err(format!("no remedy, position or object: {error}")) }
        }
    }
}

/// Whether the error leads to what has to change: a hint, the place in the text, the object by its name, or a message
/// that is whole without (a division by zero, a number out of a type's range, ...).
fn has_remedy(error: &Error) -> bool {
    let whole = [
        "22012", "22003", "2201W", "2201X", "21000", "0A000", "42803", "42P02", "42P10", "42P16", "42601", "42804",
        "57014",
    ];
    error.hint_text().is_some()
        || error.position().is_some()
        || error.table().is_some()
        || error.message().contains('"')
        || whole.contains(&error.sqlstate())
}

/// After any error the session goes on.
fn usable(session: &mut Session) -> Result<(), String> {
    if session.in_transaction() {
        session.execute("ROLLBACK").map_err(|error| format!("cannot roll back: {error}"))?;
    }
    session.execute("SET engine = auto").map_err(|error| error.to_string())?;
    let outcomes = session.execute("SELECT count(*) FROM control").map_err(|error| format!("unusable: {error}"))?;
    match outcomes[0].single() {
        Some(Value::Int(crate::truth::CONTROL_ROWS)) => Ok(()),
        other => Err(format!("count(*) gives {other:?} afterwards")),
    }
}
