//! docs/settings.md, written from the table.

use super::accepted::ACCEPTED;
use super::table::{Changes, SETTINGS};

const HEAD: &str = "# Settings

Every setting of a server and of its sessions. This page is written from the table in
`crates/weft-sql/src/configuration/table.rs`; a test compares them
(`WEFT_GOLDEN=rewrite cargo test --release -p weft-sql --lib configuration` writes it again).

A value comes from the first of these that names it:

1. a flag of `weft serve`: `--max-connections 200`
2. the environment: `WEFT_MAX_CONNECTIONS=200`
3. a file: `weft.conf` in the directory of the database, or the one of `--config FILE`, with lines `name = value`
   (PostgreSQL's form: `#` begins a comment, values with blanks stand in single quotes)
4. the default

`SHOW name` tells the value, `pg_settings` also where it came from. When it may change:

* **start**: when the server starts
* **reload**: SIGHUP to the server, or `SELECT pg_reload_conf()`, reads the file again
* **engine**: by a superuser's `SET`, at once for all sessions, until the server ends
* **session**: by `SET`, for one session; files, environment and flags say what new sessions begin with
* **fixed**: never; it is told for clients that ask
* **without effect**: by `SET`, to anything; nothing follows

ROLLBACK takes `SET` back, ROLLBACK TO a savepoint what was set since.

Sizes are bytes, or numbers with kB, MB or GB (powers of 1024); times are milliseconds, or numbers with ms, s, min or h.

| name | default | values | changes | |
|---|---|---|---|---|
";

/// The whole page.
pub fn document() -> String {
    let mut page = HEAD.to_owned();
    for known in SETTINGS {
        let changes = match known.changes {
            Changes::Fixed => "fixed",
            Changes::Ignored => "without effect",
            Changes::Start => "start",
            Changes::Reload => "reload",
            Changes::Engine => "engine",
            Changes::Session => "session",
        };
        let default = match known.default {
            "" => String::new(),
            // It changes with every release.
            _ if known.name == "server_version" => "this release's".to_owned(),
            default => format!("`{default}`"),
        };
        let values = if matches!(known.changes, Changes::Fixed | Changes::Ignored) {
            String::new()
        } else {
            known.kind.allowed()
        };
        page.push_str(&format!("| `{}` | {default} | {values} | {changes} | {} |\n", known.name, known.meaning));
    }
    page.push_str(ACCEPTED_HEAD);
    for known in ACCEPTED.iter() {
        page.push_str(&format!("| `{}` | {} | {} |\n", known.name, quoted(&known.default), known.meaning));
    }
    page
}

fn quoted(default: &str) -> String {
    if default.is_empty() { String::new() } else { format!("`{default}`") }
}

const ACCEPTED_HEAD: &str = "
## Accepted, without effect

Settings of PostgreSQL that mean nothing here. SET tests a value and keeps it for the session, SHOW and `pg_settings`
tell it; nothing follows from it. The table is `crates/weft-sql/src/configuration/accepted.txt`. What is in neither
table is an error (42704).

| name | default | what PostgreSQL says of it |
|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Configuration, Source, definition, read_assignments};
    use weft_format::Code;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the page lies beside the code")]
    fn the_page_is_that_of_the_table() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
        if std::env::var("WEFT_GOLDEN").is_ok_and(|value| value == "rewrite") {
            std::fs::write(&path, document()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page == document(), "docs/settings.md differs from the table: rewrite it as it says itself");
    }

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_allowed() {
        assert!(SETTINGS.windows(2).all(|pair| pair[0].name < pair[1].name));
        let defaults = Configuration::default();
        for known in SETTINGS {
            assert_eq!(definition(known.name).map(|found| found.name), Some(known.name));
            assert!(!known.meaning.is_empty() && !defaults.source(known.name).to_string().is_empty());
        }
        assert_eq!(defaults.bytes("row_memory"), 256 << 20);
        assert_eq!(defaults.duration("log_min_duration_statement"), None);
    }

    #[test]
    fn a_flag_wins_over_the_environment_over_a_file() {
        let mut configuration = Configuration::default();
        configuration.set("max_connections", "5", Source::Flag).unwrap();
        let variable = |name: &str| (name == "WEFT_WORKERS" || name == "WEFT_MAX_CONNECTIONS").then(|| "3".to_owned());
        configuration.read_environment(variable).unwrap();
        configuration.read_file("f", "workers = 2\nmax_connections 9\nMETRICS = '127.0.0.1:9' # c\n").unwrap();
        let value = |name: &str| (configuration.text(name).to_owned(), configuration.source(name));
        assert_eq!(value("max_connections"), ("5".into(), Source::Flag));
        assert_eq!(value("workers"), ("3".into(), Source::Environment));
        assert_eq!(value("metrics"), ("127.0.0.1:9".into(), Source::File));
        configuration.read_environment(|name| (name == "WEFT_TLS").then(|| "maybe".into())).unwrap_err();
    }

    #[test]
    fn errors_name_file_line_name_and_what_is_allowed() {
        let error = |text: &str| Configuration::default().read_file("weft.conf", text).unwrap_err();
        let unknown = error("\n# x\nmax_conections = 5");
        assert_eq!(unknown.message(), "weft.conf, line 3: there is no setting \"max_conections\"");
        assert_eq!(
            (unknown.code(), unknown.hint_text().unwrap()),
            (Code::UndefinedObject, "did you mean max_connections?")
        );
        let bad = error("row_memory = lots");
        assert_eq!(bad.message(), "weft.conf, line 1: \"lots\" is no value for \"row_memory\"");
        assert!(bad.hint_text().unwrap().starts_with("allowed: bytes, or a number with kB"));
        for text in ["= 5", "workers", "workers = 'x", "workers = 'x' y", "workers = a b", "server_version = 1"] {
            error(text);
        }
        let read = read_assignments("f", "a 'it''s # x' # y\nB=1#z\n").unwrap();
        assert_eq!(read, [(1, "a".into(), "it's # x".into()), (2, "b".into(), "1".into())]);
    }

    #[test]
    fn reloading_takes_what_may_change() {
        let mut running = Configuration::default();
        running.derive_bytes("row_memory", 8 << 20);
        let mut newer = Configuration::default();
        newer.read_file("f", "log_level = debug\nworkers = 4\nscheduler = off\nstatement_timeout = 5s").unwrap();
        assert_eq!(running.reload(&newer), ["workers"]);
        assert_eq!((running.text("log_level"), running.text("statement_timeout")), ("debug", "5s"));
        assert_eq!((running.text("workers"), running.text("row_memory")), ("2", "8MB"));
        assert_eq!(running.text("scheduler"), "cost", "SET changes it");
        // What the file no longer says goes back to the default.
        assert!(running.reload(&Configuration::default()).is_empty());
        assert_eq!(running.text("log_level"), "info");
    }
}
