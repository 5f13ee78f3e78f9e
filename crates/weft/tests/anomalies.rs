//! The anomalies of `tests/anomalies`, each at every isolation level, as transcripts.
//!
//! ```text
//!   a: begin                                           an outcome that says no more than the step is left out
//!   b: update test set v = 2 where id = 1
//!     waits                                            the lock table shows that the step waits
//!   # at read committed the row is looked at again     a comment, kept when the transcript is rewritten
//!   a: commit
//!     b: UPDATE 1                                      another session's step that came to its end by this one
//!     PostgreSQL: b: error 40001: could not ...        what PostgreSQL does at this step, where it differs
//! ```
//!
//! `WEFT_GOLDEN=rewrite cargo test --release -p weft --test anomalies` rewrites what Weft does, and
//! `python3 tests/anomalies/postgres.py` what PostgreSQL does. `WEFT_ANOMALY=word` runs the files whose names hold the
//! word.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test reads its files and gives each session a thread"
)]

#[path = "anomalies/cast.rs"]
mod cast;
#[path = "anomalies/script.rs"]
mod script;

use std::path::{Path, PathBuf};

use cast::Cast;
use script::{LEVELS, Script, Step};
use weft::{Database, Options};

const REWRITE: &str = "WEFT_GOLDEN=rewrite cargo test --release -p weft --test anomalies";

#[test]
fn each_level_does_what_the_files_say() {
    let rewrite = std::env::var("WEFT_GOLDEN").is_ok_and(|value| value == "rewrite");
    let only = std::env::var("WEFT_ANOMALY").unwrap_or_default();
    let mut wrong = Vec::new();
    for path in files() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let mut script = Script::parse(&text).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        for level in LEVELS {
            let outcomes = run(&script, level).unwrap_or_else(|problem| panic!("{name} at {level}: {problem}"));
            script.set_transcript(level, outcomes);
        }
        let found = script.render();
        if rewrite {
            std::fs::write(&path, found).unwrap();
        } else if found != text {
            wrong.push(format!("{name}:\n{}", difference(&text, &found)));
        }
    }
    assert!(wrong.is_empty(), "{}\nif this is as it should be: {REWRITE}", wrong.join("\n"));
}

#[test]
fn the_page_on_isolation_links_every_file() {
    let page = std::fs::read_to_string(root().join("docs/isolation.md")).unwrap();
    for path in files() {
        let link = format!("../tests/anomalies/{}", path.file_name().unwrap().to_string_lossy());
        assert!(page.contains(&format!("({link})")), "docs/isolation.md has no link to {link}");
    }
}

/// Runs the steps at a level in a new database; gives the lines that each step printed.
fn run(script: &Script, level: &str) -> Result<Vec<Vec<String>>, String> {
    let dir = tempfile::tempdir().unwrap();
    // Without background jobs the lock table holds the sessions' locks only.
    let options = Options { workers: 0, ..Options::default() };
    let database = Database::open_with(dir.path().join("db"), options).map_err(|error| error.to_string())?;
    let mut session = database.session().map_err(|error| error.to_string())?;
    for sql in &script.setup {
        session.execute(sql).map_err(|error| format!("{sql}: {error}"))?;
    }
    let mut cast = Cast::new(&database, &format!("SET default_transaction_isolation = '{level}'"))?;
    let mut outcomes = Vec::new();
    for step in &script.steps {
        outcomes.push(match step {
            Step::Send { session, sql } => cast.send(*session, sql)?,
            Step::Await { session } => cast.answer_of(*session)?,
        });
    }
    cast.leave()?;
    drop(session);
    database.close().map_err(|error| error.to_string())?;
    Ok(outcomes)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("tests/anomalies")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|it| it == "txt")).collect();
    files.sort();
    assert!(files.len() > 20, "there are only {} files", files.len());
    files
}

/// The first lines that differ, with what stands before them.
fn difference(expected: &str, found: &str) -> String {
    let (expected, found): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let same = expected.iter().zip(&found).take_while(|(a, b)| a == b).count();
    let part = |lines: &[&str], sign: &str| {
        let rest = lines.iter().skip(same).take(6);
        rest.map(|line| format!("  {sign} {line}\n")).collect::<String>()
    };
    let before = expected[same.saturating_sub(3)..same].iter().map(|line| format!("    {line}\n")).collect::<String>();
    format!("  line {}\n{before}{}{}", same + 1, part(&expected, "-"), part(&found, "+"))
}
