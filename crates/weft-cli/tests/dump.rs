//! From PostgreSQL by pg_dump into Weft, from there by `weft dump` into PostgreSQL and into Weft again: the same rows
//! everywhere, and the same definitions in both dumps. What each script of `tests/slt` leaves is the same after a dump
//! was loaded.
//!
//! PostgreSQL's programs are those of the machine; where they are not installed it is told as skipped, and with
//! `WEFT_CLIENTS=required` that is a failure.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

#[path = "dump/scripts.rs"]
mod scripts;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is compared: every row as text.
const ROWS: &[&str] = &[
    "SELECT * FROM shop.customers ORDER BY id",
    "SELECT * FROM shop.orders ORDER BY id",
    "SELECT * FROM shop.lines ORDER BY order_id, line",
    "SELECT * FROM shop.rich_names ORDER BY name",
    "SELECT * FROM public.\"Odd Name\" ORDER BY k",
    "SELECT count(*) FROM public.empty",
];

/// A server of PostgreSQL in a directory of its own, reached by a unix socket there.
struct Postgres {
    programs: PathBuf,
    dir: tempfile::TempDir,
}

impl Postgres {
    fn start() -> Result<Postgres, String> {
        let programs = ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/pgsql/bin"];
        let programs = programs.iter().map(PathBuf::from).find(|dir| dir.join("initdb").exists());
        let programs = programs.ok_or("the server's programs of PostgreSQL 15 are not installed")?;
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let postgres = Postgres { programs, dir };
        // PostgreSQL does not run as root.
        let owned = Command::new("chown").arg("postgres").arg(postgres.dir.path()).output();
        owned.map_err(|error| error.to_string())?;
        postgres.server("initdb", &["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"])?;
        let options = format!("-c listen_addresses='' -c fsync=off -k {}", postgres.dir.path().display());
        postgres.server("pg_ctl", &["-w", "-l", "/dev/null", "-o", &options, "start"])?;
        Ok(postgres)
    }

    /// Runs a program that is for the owner of the data.
    fn server(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        let data = self.dir.path().join("data");
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let mut command = if is_root { Command::new("runuser") } else { Command::new(self.programs.join(program)) };
        if is_root {
            command.args(["-u", "postgres", "--"]).arg(self.programs.join(program));
        }
        command.arg("-D").arg(data).args(arguments).current_dir(self.dir.path());
        let output = command.stdout(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("{program}: {said}")) }
    }

    fn client(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("PGHOST", self.dir.path()).env("PGUSER", "postgres").env("PGDATABASE", database);
        command.env("PGTZ", "UTC");
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.server("pg_ctl", &["-m", "immediate", "stop"]);
    }
}

fn weft() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weft"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?} fails:\n{}\n{}",
        said(&output),
        String::from_utf8_lossy(&output.stderr)
    );
    said(&output)
}

fn fed(command: &mut Command, script: &str) -> String {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = script.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    assert!(output.status.success(), "{command:?} fails:\n{}", String::from_utf8_lossy(&output.stderr));
    said(&output)
}

fn psql(postgres: &Postgres, database: &str) -> Command {
    let mut command = postgres.client("psql", database);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]);
    command
}

fn rows_of_postgres(postgres: &Postgres, database: &str) -> Vec<String> {
    let row = |sql: &&str| succeeds(psql(postgres, database).args(["--csv", "-t", "-P", "null=@null@", "-c", sql]));
    ROWS.iter().map(row).collect()
}

fn rows_of_weft(dir: &Path) -> Vec<String> {
    let row = |sql: &&str| {
        let printed = succeeds(weft().arg(dir).args(["--format", "csv", "-c", sql]));
        printed.lines().skip(1).map(|line| format!("{line}\n")).collect()
    };
    ROWS.iter().map(row).collect()
}

/// What psql prints, as Weft's shell prints it: `@null@` is nothing, and an empty text is `""`.
fn as_weft_prints(rows: &[String]) -> Vec<String> {
    rows.iter().map(|text| quote_empty(text).replace("@null@", "")).collect()
}

/// Lines of CSV with quotation marks in the place of empty fields.
fn quote_empty(csv: &str) -> String {
    let (mut out, mut quoted, mut begins) = (String::new(), false, true);
    for letter in csv.chars() {
        let ends = !quoted && matches!(letter, ',' | '\n');
        if ends && begins {
            out.push_str("\"\"");
        }
        quoted ^= letter == '"';
        begins = ends;
        out.push(letter);
    }
    out
}

#[test]
fn a_schema_goes_from_postgresql_through_weft_and_back() {
    let postgres = match Postgres::start() {
        Ok(postgres) => postgres,
        Err(reason) => {
            assert!(
                std::env::var_os("WEFT_CLIENTS").is_none_or(|v| v != "required"),
                "PostgreSQL is required: {reason}"
            );
            println!("skipped: {reason}");
            return;
        }
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/dump/shop.sql");
    for database in ["shop", "back"] {
        succeeds(psql(&postgres, "postgres").args(["-c", &format!("CREATE DATABASE {database}")]));
    }
    succeeds(psql(&postgres, "shop").arg("-f").arg(source));
    let from_postgres = succeeds(postgres.client("pg_dump", "shop").arg("--no-owner"));
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));

    fed(weft().arg(&first), &from_postgres);
    let from_weft = succeeds(weft().arg("dump").arg(&first));
    fed(&mut psql(&postgres, "back"), &from_weft);
    assert_eq!(rows_of_postgres(&postgres, "shop"), rows_of_postgres(&postgres, "back"), "{from_weft}");
    let expected = as_weft_prints(&rows_of_postgres(&postgres, "shop"));
    assert_eq!(rows_of_weft(&first), expected);

    fed(weft().arg(&second), &from_weft);
    assert_eq!(succeeds(weft().arg("dump").arg(&second)), from_weft, "a dump of what a dump made is the same");

    // What the definitions do: the next numbers, constraints.
    for check in [
        "INSERT INTO shop.customers (name) VALUES ('next') RETURNING id",
        "INSERT INTO shop.orders (customer) VALUES (1) RETURNING id, ticket, state, urgent",
    ] {
        let of_back = succeeds(psql(&postgres, "back").args(["--csv", "-t", "-c", check]));
        let of_shop = succeeds(psql(&postgres, "shop").args(["--csv", "-t", "-c", check]));
        assert_eq!(of_shop, of_back, "{check}");
        let of_weft = succeeds(weft().arg(&second).args(["--format", "csv", "-c", check]));
        assert_eq!(of_weft.lines().nth(1), of_shop.lines().next(), "{check}");
    }
    for wrong in [
        "INSERT INTO shop.customers (name, balance) VALUES ('x', -5000)",
        "INSERT INTO shop.customers (name, email) VALUES ('x', 'ann@x.org')",
        "INSERT INTO shop.lines (order_id, line, what) VALUES (99, 1, 'x')",
    ] {
        assert!(!psql(&postgres, "back").args(["-c", wrong]).output().unwrap().status.success(), "{wrong}");
        assert!(!weft().arg(&second).args(["-c", wrong]).output().unwrap().status.success(), "{wrong}");
    }
    let only = succeeds(weft().arg("dump").arg(&first).args(["--schema-only", "--table", "shop.lines"]));
    assert!(
        only.contains("CREATE TABLE shop.lines") && !only.contains("COPY") && !only.contains("shop.customers ("),
        "{only}"
    );
}

/// What only Weft has, and what needs quotation marks.
#[test]
fn a_dump_keeps_the_options_of_tables_and_quotes_reserved_words() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    fed(
        weft().arg(&first),
        "CREATE TABLE plain (a integer PRIMARY KEY);
         CREATE TABLE anti (a integer PRIMARY KEY, b text) WITH (conflict = 'antimatter', granularity_bytes = 2097152);
         CREATE TABLE \"select\" (\"order\" text PRIMARY KEY, \"Group\" integer, \"limit\" integer
             CHECK (\"limit\" > 0 AND \"Group\" < 10));
         CREATE INDEX by_order ON \"select\" (lower(\"order\")) WHERE \"limit\" > 1 AND \"Group\" > 2;
         INSERT INTO anti VALUES (1, 'x');
         INSERT INTO \"select\" VALUES ('Ab', 3, 4);",
    );
    let dumped = succeeds(weft().arg("dump").arg(&first));
    assert!(dumped.contains("lower(\"order\")") && !dumped.contains("lower(order)"), "{dumped}");
    fed(weft().arg(&second), &dumped);
    assert_eq!(succeeds(weft().arg("dump").arg(&second)), dumped);
    for sql in [
        "SELECT relname, reloptions FROM pg_class WHERE relkind = 'r' AND relnamespace = 2200 ORDER BY relname",
        "SELECT indexname, indexdef FROM pg_indexes ORDER BY indexname",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY conname",
        "SELECT * FROM anti",
        "SELECT * FROM \"select\"",
    ] {
        let of = |dir: &Path| succeeds(weft().arg(dir).args(["--format", "csv", "-c", sql]));
        let before = of(&first);
        assert!(before.lines().count() > 1, "{sql}: {before}");
        assert_eq!(of(&second), before, "{sql}");
    }
}

/// What a catalog says of all that users make, by names.
const CATALOG: &[&str] = &[
    "SELECT n.nspname, c.relname, c.relkind, m.amname, c.reloptions, pg_get_userbyid(c.relowner), c.relacl
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am m ON m.oid = c.relam
     WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
    "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attacl,
     pg_get_expr(d.adbin, d.adrelid) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped AND c.oid >= 16384 ORDER BY 1, 2",
    "SELECT conname, conrelid::regclass, contype, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 2, 1",
    "SELECT schemaname, tablename, indexname, indexdef FROM pg_indexes
     WHERE schemaname <> 'pg_catalog' ORDER BY 1, 2, 3",
    "SELECT schemaname, viewname, definition FROM pg_views
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2",
    "SELECT schemaname, sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size,
     last_value FROM pg_sequences ORDER BY 1, 2",
    "SELECT c.relnamespace::regnamespace, c.relname, s.last_value, s.is_called
     FROM pg_class c, pg_get_sequence_data(c.oid) s WHERE c.relkind = 'S' ORDER BY 1, 2",
    "SELECT c.relname, a.attnum, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relkind = 'v' AND c.oid >= 16384 ORDER BY 1, 2",
    "SELECT c.relname, d.objsubid, d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid
     ORDER BY 1, 2",
    "SELECT nspname, pg_get_userbyid(nspowner), nspacl, obj_description(oid, 'pg_namespace') FROM pg_namespace
     ORDER BY 1",
    "SELECT pg_get_userbyid(datdba), datacl FROM pg_database",
    "SELECT rolname, rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls,
     rolconnlimit, rolpassword, rolvaliduntil FROM pg_authid ORDER BY 1",
    "SELECT pg_get_userbyid(roleid), pg_get_userbyid(member), admin_option, pg_get_userbyid(grantor)
     FROM pg_auth_members ORDER BY 1, 2",
    "SELECT pg_get_userbyid(defaclrole), defaclnamespace::regnamespace, defaclobjtype, defaclacl
     FROM pg_default_acl ORDER BY 1, 2, 3",
];

/// What the queries of [`CATALOG`] print.
fn catalog(dir: &Path) -> Vec<String> {
    let ask = |sql: &&str| succeeds(weft().arg(dir).args(["--format", "csv", "-c", sql]));
    CATALOG.iter().map(ask).collect()
}

/// The lines of a dump, the rows of each table in one order.
fn in_order(dump: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = dump.lines().collect();
    let mut begin = None;
    for at in 0..lines.len() {
        if lines[at].starts_with("COPY ") {
            begin = Some(at + 1);
        } else if lines[at] == "\\." {
            lines[begin.take().unwrap()..at].sort_unstable();
        }
    }
    lines
}

/// The first line that is another.
fn difference(before: &[&str], after: &[&str]) -> Option<(String, String)> {
    let line = |lines: &[&str], at: usize| (*lines.get(at).unwrap_or(&"(the end)")).to_owned();
    let at = (0..before.len().max(after.len())).find(|at| before.get(*at) != after.get(*at))?;
    Some((line(before, at), line(after, at)))
}

/// A directory with what the statements leave; those that fail are passed over.
fn left_by(dir: &Path, statements: &[scripts::Statement]) {
    let database = weft::Database::open(dir).unwrap();
    let mut sessions = BTreeMap::new();
    for statement in statements {
        let session = sessions.entry(statement.connection.clone()).or_insert_with(|| database.session().unwrap());
        let _ = session.execute(&statement.sql);
    }
    drop(sessions);
    database.close().unwrap();
}

/// How many tables a script leaves, and what is another thing after a dump of it was loaded.
fn dumped_and_loaded(file: &Path) -> (usize, Vec<String>) {
    let mut wrong = Vec::new();
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    left_by(&first, &scripts::statements(file));
    let dumped = succeeds(weft().arg("dump").arg(&first));
    let tables = dumped.matches("\nCREATE TABLE").count();
    let script = scratch.path().join("dump.sql");
    std::fs::write(&script, &dumped).unwrap();
    let loaded = weft().arg(&second).arg("-f").arg(&script).output().unwrap();
    let name = file.file_name().unwrap().to_string_lossy();
    if !loaded.status.success() {
        wrong.push(format!("{name}: {}", String::from_utf8_lossy(&loaded.stderr)));
        return (tables, wrong);
    }
    let again = succeeds(weft().arg("dump").arg(&second));
    if let Some((before, after)) = difference(&in_order(&dumped), &in_order(&again)) {
        wrong.push(format!("{name}: dumped {before}\nand after it was loaded {after}"));
    }
    for (sql, (before, after)) in CATALOG.iter().zip(catalog(&first).iter().zip(&catalog(&second))) {
        let [before, after] = [before, after].map(|rows| rows.lines().collect::<Vec<_>>());
        if let Some((before, after)) = difference(&before, &after) {
            wrong.push(format!("{name}: {sql}\n  {before}\n  {after}"));
        }
    }
    (tables, wrong)
}

#[test]
fn what_each_script_leaves_is_the_same_after_a_dump_was_loaded() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt");
    let mut files: Vec<PathBuf> = std::fs::read_dir(scripts).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "slt"));
    files.sort();
    let only = std::env::var("WEFT_SLT").ok();
    files.retain(|file| only.as_ref().is_none_or(|only| file.file_stem().unwrap() == only.as_str()));
    assert!(!files.is_empty());
    let (next, tables, wrong) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take_some = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (count, differences) = dumped_and_loaded(file);
            tables.fetch_add(count, Ordering::Relaxed);
            wrong.lock().unwrap().extend(differences);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(take_some);
        }
    });
    let (tables, wrong) = (tables.into_inner(), wrong.into_inner().unwrap());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(only.is_some() || tables > 100, "the scripts leave only {tables} tables");
}

#[test]
fn columns_of_views_and_places_of_sequences_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    fed(
        weft().arg(&first),
        "CREATE TABLE base (a integer PRIMARY KEY, b text); CREATE TABLE other (a integer PRIMARY KEY, d text);
         CREATE VIEW named (x, y) AS SELECT a, b FROM base;
         CREATE VIEW reader AS SELECT x FROM named WHERE y IS NOT NULL;
         CREATE VIEW star AS SELECT * FROM base;
         CREATE VIEW stars AS SELECT other.*, 1 AS one FROM base JOIN other USING (a);
         CREATE VIEW joined AS SELECT * FROM base JOIN other USING (a);
         CREATE VIEW \"First\" AS SELECT 1 AS n; CREATE VIEW \"the second\" AS SELECT 2 AS n;
         CREATE OR REPLACE VIEW \"First\" AS SELECT n FROM public.\"the second\";
         CREATE SCHEMA s; CREATE VIEW s.twin AS SELECT 3 AS n; CREATE VIEW twin AS SELECT n FROM s.twin;
         ALTER TABLE base ADD c integer; ALTER TABLE other ADD c integer;
         CREATE SEQUENCE waiting; SELECT setval('waiting', 42, false);
         CREATE SEQUENCE going; SELECT setval('going', 7);
         CREATE SEQUENCE anew START WITH 5; SELECT nextval('anew'); ALTER SEQUENCE anew RESTART WITH 50;
         CREATE SEQUENCE fresh START WITH 3;
         CREATE TABLE keys (k integer GENERATED BY DEFAULT AS IDENTITY,
             \"\"\"x\"\"\" integer GENERATED ALWAYS AS IDENTITY, \"Y z\" serial, v text);
         INSERT INTO base VALUES (1, 'one', 2); INSERT INTO other VALUES (1, 'uno', 3);
         INSERT INTO keys (v) VALUES ('a'), ('b'); ALTER SEQUENCE keys_k_seq RESTART WITH 100;",
    );
    let dumped = succeeds(weft().arg("dump").arg(&first));
    fed(weft().arg(&second), &dumped);
    assert_eq!(succeeds(weft().arg("dump").arg(&second)), dumped);
    assert_eq!(catalog(&second), catalog(&first), "{dumped}");
    for expected in [
        "SELECT pg_catalog.setval('public.waiting', 42, false);",
        "SELECT pg_catalog.setval('public.going', 7, true);",
        "SELECT pg_catalog.setval('public.anew', 50, false);",
        "CREATE VIEW public.named (x, y) AS",
    ] {
        assert!(dumped.lines().any(|line| line == expected), "{expected}: {dumped}");
    }
    assert!(!dumped.contains("public.fresh', 3"), "{dumped}");
    for (sql, expected) in [
        ("SELECT * FROM named", "x,y\n1,one\n"),
        ("SELECT * FROM reader", "x\n1\n"),
        ("SELECT * FROM star", "a,b\n1,one\n"),
        ("SELECT * FROM stars", "a,d,one\n1,uno,1\n"),
        ("SELECT * FROM joined", "a,b,d\n1,one,uno\n"),
        ("SELECT * FROM \"First\"", "n\n2\n"),
        ("SELECT * FROM twin", "n\n3\n"),
        (
            "SELECT nextval('waiting') AS a, nextval('going') AS b, nextval('anew') AS c, nextval('fresh') AS d",
            "a,b,c,d\n42,8,50,3\n",
        ),
        ("INSERT INTO keys (v) VALUES ('c') RETURNING *", "k,\"\"\"x\"\"\",Y z,v\n100,3,3,c\n"),
    ] {
        assert_eq!(succeeds(weft().arg(&second).args(["--format", "csv", "-c", sql])), expected, "{sql}");
    }
}

#[test]
fn roles_owners_and_grants_come_back() {
    let scratch = tempfile::tempdir().unwrap();
    let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
    fed(
        weft().arg(&first),
        "CREATE ROLE readers NOLOGIN; CREATE ROLE ann LOGIN PASSWORD 'secret' CREATEDB CONNECTION LIMIT 3;
         CREATE ROLE \"Bob \"\"B\"\"\" LOGIN VALID UNTIL '2030-01-01 00:00:00+00';
         GRANT readers TO ann WITH ADMIN OPTION; GRANT pg_read_all_data TO readers;
         CREATE SCHEMA own AUTHORIZATION ann;
         CREATE TABLE own.t (a serial PRIMARY KEY, b text, c integer GENERATED ALWAYS AS IDENTITY);
         CREATE TABLE plain (a integer PRIMARY KEY); CREATE SEQUENCE numbers; CREATE VIEW v AS SELECT a FROM plain;
         ALTER TABLE own.t OWNER TO ann; ALTER SEQUENCE numbers OWNER TO readers; ALTER VIEW v OWNER TO ann;
         GRANT SELECT ON plain TO PUBLIC; GRANT INSERT, SELECT ON plain TO ann WITH GRANT OPTION;
         SET SESSION AUTHORIZATION ann; GRANT SELECT ON plain TO \"Bob \"\"B\"\"\"; RESET SESSION AUTHORIZATION;
         GRANT UPDATE (b), SELECT (b, a) ON own.t TO readers; GRANT USAGE ON numbers TO ann;
         GRANT USAGE ON SCHEMA own TO readers; REVOKE ALL ON SCHEMA public FROM PUBLIC; REVOKE ALL ON v FROM ann;
         ALTER DEFAULT PRIVILEGES FOR ROLE ann IN SCHEMA own GRANT SELECT ON TABLES TO readers;
         ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO readers WITH GRANT OPTION;
         CREATE INDEX by_b ON own.t (b); COMMENT ON INDEX own.by_b IS 'by b';",
    );
    let dumped = succeeds(weft().arg("dump").arg(&first));
    fed(weft().arg(&second), &dumped);
    assert_eq!(succeeds(weft().arg("dump").arg(&second)), dumped);
    assert_eq!(catalog(&second), catalog(&first), "{dumped}");
    for expected in [
        "GRANT SELECT ON TABLE public.plain TO \"Bob \"\"B\"\"\";",
        "SET SESSION AUTHORIZATION ann;",
        "REVOKE ALL ON TABLE public.v FROM ann;",
        "COMMENT ON INDEX own.by_b IS 'by b';",
        "ALTER DEFAULT PRIVILEGES FOR ROLE ann IN SCHEMA own GRANT SELECT ON TABLES TO readers;",
    ] {
        assert!(dumped.lines().any(|line| line == expected), "{expected}: {dumped}");
    }
    let plain = succeeds(weft().arg("dump").arg(&first).args(["--no-owner", "--no-privileges"]));
    assert!(!["ROLE", "OWNER TO", "GRANT", "REVOKE"].iter().any(|word| plain.contains(word)), "{plain}");
    let of_one = succeeds(weft().arg("dump").arg(&first).args(["--table", "plain", "--no-owner"]));
    assert!(of_one.contains("GRANT INSERT, SELECT") || of_one.contains("WITH GRANT OPTION"), "{of_one}");
    assert!(!of_one.contains("own.t") && !of_one.contains("CREATE ROLE"), "{of_one}");
}
