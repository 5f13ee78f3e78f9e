//! Part (b): CSV files for COPY.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weft::{Database, Error, Options, Session, Tag};

use crate::cases::{self, Case};
use crate::truth::{difference, dump};
use crate::watch::{self, Report};

pub(crate) fn run() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("db");
    let database = Database::open_with(&dir, Options::default()).unwrap();
    let truth = Arc::new(create(&database));
    let mut report = Report::default();
    for case in cases::read("files.txt", folder.path()) {
        let name = case.name.clone();
        let (database, truth, folder) = (database.clone(), Arc::clone(&truth), folder.path().to_owned());
        let result = watch::run(&name, move || {
            let verdict = one(&database, &case, &folder);
            verdict.and(unchanged(&database, &truth))
        });
        report.note(&name, result.and_then(|verdict| verdict));
    }
    drop(database);
    let database = Database::open_with(&dir, Options::default()).unwrap();
    report.note("reopened after a stop", unchanged(&database, &truth));
    database.close().unwrap();
    let database = Database::open_with(&dir, Options::default()).unwrap();
    report.note("reopened after close", unchanged(&database, &truth));
    report.note(
        "check",
        database.check().map_err(|e| e.to_string()).and_then(|wrong| match wrong.is_empty() {
            true => Ok(()),
            false => Err(wrong.join("; ")),
        }),
    );
    report.finish("hostile files");
}

/// The table `target`: 60 rows in column tables, 40 in a row table.
fn create(database: &Database) -> Vec<String> {
    let mut session = database.session().unwrap();
    session
        .execute(
            "CREATE TABLE target (id integer PRIMARY KEY, n smallint NOT NULL, price numeric(6,2), name varchar(10),
             day date, at timestamp, ok boolean, ratio double precision, tag text DEFAULT 'x' CHECK (tag <> 'bad'))",
        )
        .unwrap();
    for id in 1..=100 {
        if id == 61 {
            database.checkpoint().unwrap();
        }
        session
            .execute(&format!(
                "INSERT INTO target VALUES ({id}, {id}, {id}.25, 'row {id}', '2024-01-15', '2024-01-15 10:00:00', \
                 true, 0.5)"
            ))
            .unwrap();
    }
    let truth = dump(&mut session, "target").unwrap();
    assert_eq!(truth.len(), 100);
    truth
}

fn unchanged(database: &Database, truth: &[String]) -> Result<(), String> {
    let mut session = database.session().map_err(|error| error.to_string())?;
    let found = dump(&mut session, "target").map_err(|error| format!("target cannot be read afterwards: {error}"))?;
    difference(&found, truth).map_or(Ok(()), |what| Err(format!("target was changed: {what}")))
}

fn one(database: &Database, case: &Case, folder: &Path) -> Result<(), String> {
    let (path, is_content) = place(case, folder);
    let table = if case.directive("file") == Some("othertable") { "no_such_table" } else { "target" };
    let columns = case.directive("columns").map(|columns| format!("({columns})")).unwrap_or_default();
    let more = case.directive("with").unwrap_or_default();
    let format = if more.starts_with("FORMAT") { "" } else { "FORMAT csv" };
    let comma = if format.is_empty() || more.is_empty() { "" } else { ", " };
    let copy = format!("COPY {table} {columns} FROM '{}' WITH ({format}{comma}{more})", path.display());

    let mut session = database.session().map_err(|error| error.to_string())?;
    let allowed = allowed_rows(case);
    if allowed.is_some() {
        session.execute("BEGIN").map_err(|error| error.to_string())?;
    }
    let result = session.execute(&copy);
    let verdict = match result {
        Ok(outcomes) => {
            let Tag::Copy(count) = outcomes[0].tag else { return Err("COPY has another tag".into()) };
            accepted(&mut session, allowed, count)
        }
        Err(error) => refused(case, &error, is_content.then_some(&path)),
    };
    if session.in_transaction() {
        session.execute("ROLLBACK").map_err(|error| error.to_string())?;
    }
    if is_content {
        std::fs::remove_file(&path).unwrap();
    }
    verdict
}

/// The file of a case, and whether it was written for it.
fn place(case: &Case, folder: &Path) -> (PathBuf, bool) {
    let file = match case.directive("file") {
        Some("directory") => folder.to_owned(),
        Some("missing") => folder.join("missing.csv"),
        Some("long") => folder.join("x".repeat(10_000)),
        Some("empty") => PathBuf::new(),
        Some("data") => {
            let names = std::fs::read_dir(folder.join("db")).unwrap().map(|entry| entry.unwrap().path());
            names.into_iter().find(|path| path.extension().is_some_and(|e| e == "data")).expect("60 rows are in files")
        }
        _ => {
            let path = folder.join("input.csv");
            let mut content = Vec::new();
            for row in 0..case.directive("pad").map_or(0, |count| count.parse().unwrap()) {
                content.extend_from_slice(format!("{},7\n", 1_000_000 + row).as_bytes());
            }
            content.extend_from_slice(&case.content);
            if !case.content_is_cut {
                content.push(b'\n');
            }
            std::fs::write(&path, content).unwrap();
            return (path, case.directive("file").is_none());
        }
    };
    (file, false)
}

/// None: the file must be refused; `Some(None)`: any number of rows.
fn allowed_rows(case: &Case) -> Option<Option<u64>> {
    let at = case.expected.iter().position(|word| word == "rows")?;
    Some(case.expected.get(at + 1).and_then(|count| count.parse().ok()))
}

fn accepted(session: &mut Session, allowed: Option<Option<u64>>, count: u64) -> Result<(), String> {
    match allowed {
        None => Err(format!("{count} rows were taken")),
        Some(Some(wanted)) if wanted != count => Err(format!("{count} rows were taken, not {wanted}")),
        Some(_) => {
            let found = dump(session, "target").map_err(|error| error.to_string())?.len() as u64;
            if found == 100 + count { Ok(()) } else { Err(format!("{found} rows are there after COPY {count}")) }
        }
    }
}

fn refused(case: &Case, error: &Error, file: Option<&PathBuf>) -> Result<(), String> {
    if let Some(what) = watch::judge(error) {
        return Err(what);
    }
    if !case.expects(error.sqlstate()) {
        return Err(format!("gave {error}, not {}", case.expected.join(" or ")));
    }
    // Errors of the file's content say where: the file and the line. Those of the statement and the constraints name
    // the object.
    let of_content = error.sqlstate().starts_with("22") && error.sqlstate() != "22023";
    let text = error.to_string();
    if let Some(file) = file.filter(|_| of_content) {
        let says_where = text.contains(&*file.file_name().unwrap().to_string_lossy())
            && (text.contains("line ") || text.contains(", row "));
        return if says_where { Ok(()) } else { Err(format!("no file and line: {error}")) };
    }
    let named = error.hint_text().is_some() || text.contains('"') || error.position().is_some();
    if named { Ok(()) } else { Err(format!("no remedy or object: {error}")) }
}
