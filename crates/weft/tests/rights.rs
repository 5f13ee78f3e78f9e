//! Every kind of statement on every path it may take, without the rights that it needs and with exactly them.
//!
//! ```text
//!   case   SELECT a FROM t WHERE id = 1        needs SELECT (a) ON t, SELECT (id) ON t
//!   paths  itself, prepared, its plan kept from a superuser, EXPLAIN, a cursor, COPY (...) TO, CREATE TABLE AS,
//!          INSERT ... SELECT, a subquery of any kind, WITH, UNION, a view of somebody who has the rights
//!   per case, path and engine: each right missing once → 42501; all of them → it runs; taken away again → 42501
//! ```

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use weft::{Code, Database, Options, Session};

/// A statement, and the rights that it needs: all of them, no other.
struct Case {
    sql: &'static str,
    needs: &'static [&'static str],
}

const fn case(sql: &'static str, needs: &'static [&'static str]) -> Case {
    Case { sql, needs }
}

const QUERIES: &[Case] = &[
    case("SELECT a FROM t WHERE id = 1", &["SELECT (a) ON t", "SELECT (id) ON t"]),
    case("SELECT a FROM t WHERE id = 1", &["SELECT ON t"]),
    case("SELECT * FROM t WHERE id = 1", &["SELECT (a) ON t", "SELECT (id) ON t", "SELECT (b) ON t"]),
    case("SELECT a FROM t WHERE b = 7", &["SELECT (a) ON t", "SELECT (b) ON t"]),
    case("SELECT a AS x FROM t ORDER BY b", &["SELECT (a) ON t", "SELECT (b) ON t"]),
    case("SELECT count(*) AS n FROM t", &["SELECT (b) ON t"]),
    case(
        "SELECT max(a) AS n FROM t GROUP BY b HAVING min(id) > 0",
        &["SELECT (a) ON t", "SELECT (b) ON t", "SELECT (id) ON t"],
    ),
    case(
        "SELECT t.a, u.c FROM t JOIN u ON t.id = u.t_id",
        &["SELECT (a) ON t", "SELECT (id) ON t", "SELECT (c) ON u", "SELECT (t_id) ON u"],
    ),
    case("SELECT c FROM u JOIN t USING (id)", &["SELECT (c) ON u", "SELECT (id) ON u", "SELECT (id) ON t"]),
    case(
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.t_id = t.id)",
        &["SELECT (a) ON t", "SELECT (id) ON t", "SELECT (t_id) ON u"],
    ),
    case(
        "SELECT a FROM t WHERE id IN (SELECT t_id FROM u)",
        &["SELECT (a) ON t", "SELECT (id) ON t", "SELECT (t_id) ON u"],
    ),
    case("SELECT (SELECT max(c) FROM u) AS m, a FROM t", &["SELECT (a) ON t", "SELECT (c) ON u"]),
    case("WITH w AS (SELECT a, id FROM t) SELECT w.a FROM w", &["SELECT (a) ON t", "SELECT (id) ON t"]),
    case("SELECT a FROM t UNION ALL SELECT c FROM u", &["SELECT (a) ON t", "SELECT (c) ON u"]),
    case("SELECT d.x FROM (SELECT a AS x FROM t) d WHERE d.x > 0", &["SELECT (a) ON t"]),
    case("SELECT a FROM s.q", &["USAGE ON SCHEMA s", "SELECT (a) ON s.q"]),
    case("SELECT x FROM v", &["SELECT (x) ON v"]),
    case("SELECT x FROM v", &["SELECT ON v"]),
    case("SELECT sum(a) OVER (PARTITION BY b) AS z FROM t", &["SELECT (a) ON t", "SELECT (b) ON t"]),
    case("SELECT CASE WHEN a > 1 THEN b END AS y FROM t", &["SELECT (a) ON t", "SELECT (b) ON t"]),
];

const WRITES: &[Case] = &[
    case("INSERT INTO t (id, a) VALUES (50, 1)", &["INSERT (id) ON t", "INSERT (a) ON t"]),
    case("INSERT INTO t VALUES (50, 1, 2)", &["INSERT (id) ON t", "INSERT (a) ON t", "INSERT (b) ON t"]),
    case("INSERT INTO t VALUES (50, 1, 2)", &["INSERT ON t"]),
    case("INSERT INTO t (id) VALUES (50) RETURNING a", &["INSERT (id) ON t", "SELECT (a) ON t"]),
    case("INSERT INTO t (id) VALUES (1) ON CONFLICT DO NOTHING", &["INSERT (id) ON t"]),
    case("INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO NOTHING", &["INSERT (id) ON t", "SELECT (id) ON t"]),
    case(
        "INSERT INTO t (id, a) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET b = excluded.a",
        &["INSERT (id) ON t", "INSERT (a) ON t", "SELECT (id) ON t", "SELECT (a) ON t", "UPDATE (b) ON t"],
    ),
    case("INSERT INTO t (id, a) SELECT c + 100, c FROM u", &["INSERT (id) ON t", "INSERT (a) ON t", "SELECT (c) ON u"]),
    case("INSERT INTO k (b) VALUES (1)", &["INSERT (b) ON k", "USAGE ON SEQUENCE k_id_seq"]),
    case("INSERT INTO k (b) VALUES (1)", &["INSERT (b) ON k", "UPDATE ON SEQUENCE k_id_seq"]),
    case("UPDATE t SET a = 5 WHERE id = 1", &["UPDATE (a) ON t", "SELECT (id) ON t"]),
    case("UPDATE t SET a = 5 WHERE id = 1", &["UPDATE ON t", "SELECT (id) ON t"]),
    case("UPDATE t SET a = b WHERE id > 0", &["UPDATE (a) ON t", "SELECT (b) ON t", "SELECT (id) ON t"]),
    case("UPDATE t SET a = 5", &["UPDATE (a) ON t"]),
    case("UPDATE t SET a = 5 RETURNING b", &["UPDATE (a) ON t", "SELECT (b) ON t"]),
    case(
        "UPDATE t SET a = u.c FROM u WHERE u.t_id = t.id",
        &["UPDATE (a) ON t", "SELECT (id) ON t", "SELECT (c) ON u", "SELECT (t_id) ON u"],
    ),
    case("DELETE FROM t WHERE id = 2", &["DELETE ON t", "SELECT (id) ON t"]),
    case("DELETE FROM t WHERE b = 7", &["DELETE ON t", "SELECT (b) ON t"]),
    case("DELETE FROM t WHERE id IN (SELECT c FROM u)", &["DELETE ON t", "SELECT (id) ON t", "SELECT (c) ON u"]),
    case("DELETE FROM u", &["DELETE ON u"]),
    case("SELECT a FROM t WHERE id = 1 FOR UPDATE", &["SELECT (a) ON t", "SELECT (id) ON t", "UPDATE (b) ON t"]),
    case("SELECT a FROM t FOR SHARE", &["SELECT (a) ON t", "UPDATE ON t"]),
    case("TRUNCATE u", &["TRUNCATE ON u"]),
    case("SELECT nextval('n')", &["USAGE ON SEQUENCE n"]),
    case("SELECT nextval('n')", &["UPDATE ON SEQUENCE n"]),
    case("SELECT setval('n', 7)", &["UPDATE ON SEQUENCE n"]),
    case("COPY t (id, a) TO '@out'", &["SELECT (id) ON t", "SELECT (a) ON t", "pg_write_server_files"]),
    case("COPY t TO '@out'", &["SELECT ON t", "pg_write_server_files"]),
    case("COPY t (id) FROM '@in'", &["INSERT (id) ON t", "pg_read_server_files"]),
    case("COPY t FROM '@in'", &["INSERT ON t", "pg_read_server_files"]),
    case("CREATE TABLE made (x integer)", &["CREATE ON SCHEMA public"]),
    case("CREATE TABLE made (x integer REFERENCES t (id))", &["CREATE ON SCHEMA public", "REFERENCES (id) ON t"]),
    case("CREATE TABLE made (x integer REFERENCES t)", &["CREATE ON SCHEMA public", "REFERENCES ON t"]),
    case("CREATE TABLE made AS SELECT a FROM t", &["CREATE ON SCHEMA public", "SELECT (a) ON t"]),
    case("CREATE VIEW made AS SELECT a FROM t", &["CREATE ON SCHEMA public"]),
    case("CREATE SEQUENCE made", &["CREATE ON SCHEMA public"]),
    case("CREATE SCHEMA made", &["CREATE ON DATABASE weft"]),
    case("ALTER TABLE mine ADD FOREIGN KEY (x) REFERENCES t (id)", &["REFERENCES (id) ON t"]),
    case("ALTER TABLE mine SET SCHEMA s", &["CREATE ON SCHEMA s"]),
    case("CHECKPOINT", &["pg_checkpoint"]),
];

/// What only the owner does.
const OWNERS: &[&str] = &[
    "ALTER TABLE t ADD COLUMN z integer",
    "ALTER TABLE t DROP COLUMN b CASCADE",
    "ALTER TABLE t RENAME COLUMN a TO z",
    "ALTER TABLE t RENAME TO tt",
    "ALTER TABLE t SET SCHEMA s",
    "ALTER TABLE t ALTER COLUMN a SET DEFAULT 7",
    "ALTER TABLE t ADD CHECK (a > 0)",
    "ALTER VIEW v RENAME TO vv",
    "ALTER SEQUENCE n RESTART WITH 5",
    "ALTER SEQUENCE n RENAME TO nn",
    "ALTER INDEX t_b RENAME TO t_bb",
    "CREATE INDEX ON t (a)",
    "CREATE OR REPLACE VIEW v AS SELECT a AS x FROM t",
    "DROP INDEX t_b",
    "DROP TABLE t CASCADE",
    "DROP VIEW v",
    "DROP SEQUENCE n",
    "DROP SCHEMA s CASCADE",
    "ALTER SCHEMA s RENAME TO ss",
    "COMMENT ON TABLE t IS 'x'",
    "COMMENT ON COLUMN t.a IS 'x'",
    "COMMENT ON SCHEMA s IS 'x'",
    "ALTER TABLE t OWNER TO r",
    "ALTER SCHEMA s OWNER TO r",
    "CREATE ROLE made",
    "DROP ROLE other",
    "ALTER ROLE other LOGIN",
    "GRANT other TO r",
    "SET ROLE other",
    "SELECT rolpassword FROM pg_authid",
    "SELECT passwd FROM pg_shadow",
    "COPY t TO PROGRAM 'cat'",
    "REASSIGN OWNED BY other TO r",
    "DROP OWNED BY other",
];

/// Where a query may stand.
const PATHS: &[(&str, &str)] = &[
    ("itself", "{}"),
    ("explain", "EXPLAIN {}"),
    ("cursor", "DECLARE c CURSOR FOR {}"),
    ("copy", "COPY ({}) TO '@out'"),
    ("create table as", "CREATE TABLE made AS {}"),
    ("derived", "SELECT * FROM ({}) AS z"),
    ("with", "WITH z AS ({}) SELECT count(*) FROM z"),
    ("exists", "SELECT 1 WHERE EXISTS ({})"),
    ("union", "SELECT 1 WHERE false UNION ALL SELECT 1 FROM ({}) AS z"),
    ("insert", "INSERT INTO own (x) SELECT 1 FROM ({}) AS z"),
    ("update", "UPDATE own SET x = 1 WHERE EXISTS ({})"),
    ("delete", "DELETE FROM own WHERE EXISTS ({})"),
    ("prepare", "PREPARE p AS {}; EXECUTE p"),
];

struct Bench {
    admin: Session,
    role: Session,
    _database: Database,
    dir: tempfile::TempDir,
}

const SETUP: &str = "
    CREATE ROLE r; CREATE ROLE other; CREATE SCHEMA s;
    CREATE TABLE t (id integer PRIMARY KEY, a integer, b integer);
    CREATE INDEX t_b ON t (b);
    INSERT INTO t VALUES (1, 10, 7), (2, 20, 8);
    CREATE TABLE u (id integer PRIMARY KEY, c integer, t_id integer);
    INSERT INTO u VALUES (1, 100, 1), (2, 200, 2);
    CREATE TABLE k (id serial PRIMARY KEY, b integer);
    CREATE TABLE s.q (a integer, b integer);
    CREATE TABLE mine (x integer); ALTER TABLE mine OWNER TO r;
    CREATE TABLE own (x integer); ALTER TABLE own OWNER TO r;
    CREATE VIEW v AS SELECT a AS x, b AS y FROM t;
    CREATE SEQUENCE n";

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::open_with(dir.path().join("db"), Options::default()).unwrap();
        std::fs::write(dir.path().join("in"), "").unwrap();
        let mut admin = database.session().unwrap();
        admin.execute(SETUP).unwrap();
        let mut role = database.session().unwrap();
        role.execute("SET SESSION AUTHORIZATION r").unwrap();
        Bench { admin, role, _database: database, dir }
    }

    /// A statement with the names of files in it.
    fn text(&self, sql: &str) -> String {
        let name = |name: &str| self.dir.path().join(name).display().to_string();
        sql.replace("@out", &name("out")).replace("@in", &name("in"))
    }

    fn give(&mut self, right: &str, gives: bool) {
        let sql = if gives { format!("GRANT {right} TO r") } else { format!("REVOKE {right} FROM r") };
        self.admin.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Runs a statement as the role in a transaction that is rolled back: none when it ran.
    fn run(&mut self, sql: &str) -> Option<weft::Error> {
        if sql != "CHECKPOINT" {
            self.role.execute("BEGIN").unwrap();
        }
        let result = self.role.execute(&self.text(sql)).err();
        if self.role.in_transaction() {
            self.role.execute("ROLLBACK").unwrap();
        }
        let _ = self.role.execute("DEALLOCATE ALL");
        result
    }

    fn refused(&mut self, sql: &str, what: &str) {
        match self.run(sql) {
            Some(error) if error.code() == Code::InsufficientPrivilege => {}
            Some(error) => panic!("{what}: {sql}: {error}"),
            None => panic!("{what}: {sql}: was let through"),
        }
    }

    fn allowed(&mut self, sql: &str, what: &str) {
        if let Some(error) = self.run(sql) {
            panic!("{what}: {sql}: {error}");
        }
    }

    /// Each right missing once, then none, then all taken away again.
    fn prove(&mut self, sql: &str, needs: &[&str], path: &str) {
        for missing in 0..needs.len() {
            let given: Vec<&str> = needs.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, n)| *n).collect();
            given.iter().for_each(|right| self.give(right, true));
            self.refused(sql, &format!("{path}, without {}", needs[missing]));
            given.iter().for_each(|right| self.give(right, false));
        }
        needs.iter().for_each(|right| self.give(right, true));
        self.allowed(sql, path);
        self.allowed(sql, path);
        needs.iter().for_each(|right| self.give(right, false));
        self.refused(sql, &format!("{path}, after REVOKE"));
    }

    /// The same statement by a superuser first, so that its plan is kept.
    fn keep_plan(&mut self, sql: &str) {
        self.admin.execute("BEGIN").unwrap();
        self.admin.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        self.admin.execute("ROLLBACK").unwrap();
    }
}

/// Whether the forced engine runs the statement at all.
fn can(bench: &mut Bench, sql: &str) -> bool {
    bench.admin.execute("BEGIN").unwrap();
    let ran = sql == "CHECKPOINT" || bench.admin.execute(&bench.text(sql)).is_ok();
    bench.admin.execute("ROLLBACK").unwrap();
    ran
}

#[test]
fn queries_on_every_path() {
    let mut bench = Bench::new();
    // What the paths themselves need.
    bench.admin.execute("GRANT pg_write_server_files TO r; GRANT CREATE ON SCHEMA public TO r").unwrap();
    let mut proven = 0;
    for engine in ["auto", "point", "query"] {
        for session in [&mut bench.admin, &mut bench.role] {
            session.execute(&format!("SET engine = {engine}")).unwrap();
        }
        for case in QUERIES {
            for (path, form) in PATHS {
                let sql = form.replace("{}", case.sql);
                if !can(&mut bench, &sql) {
                    assert_ne!(engine, "auto", "{sql}");
                    continue;
                }
                bench.admin.execute("DEALLOCATE ALL").unwrap();
                bench.prove(&sql, case.needs, path);
                proven += 1;
            }
            if can(&mut bench, case.sql) {
                bench.keep_plan(case.sql);
                bench.prove(case.sql, case.needs, "a plan that was kept");
            }
        }
    }
    assert!(proven > PATHS.len() * QUERIES.len(), "only {proven} statements were run");
}

#[test]
fn statements_that_change_something() {
    let mut bench = Bench::new();
    for engine in ["auto", "point", "query"] {
        for session in [&mut bench.admin, &mut bench.role] {
            session.execute(&format!("SET engine = {engine}")).unwrap();
        }
        for case in WRITES {
            if can(&mut bench, case.sql) {
                bench.prove(case.sql, case.needs, engine);
            } else {
                assert_ne!(engine, "auto", "{}", case.sql);
            }
        }
    }
}

#[test]
fn what_only_owners_do() {
    let mut bench = Bench::new();
    for sql in ["GRANT SELECT ON t TO r", "GRANT USAGE ON SCHEMA s TO r", "REVOKE SELECT (a) ON t FROM other"] {
        bench.refused(sql, "without any right");
    }
    // Every right that can be granted is not enough.
    bench.admin.execute("GRANT ALL ON t, u, v, k, s.q TO r; GRANT ALL ON SEQUENCE n TO r").unwrap();
    bench.admin.execute("GRANT ALL ON SCHEMA s, public TO r; GRANT ALL ON DATABASE weft TO r").unwrap();
    for sql in OWNERS {
        bench.refused(sql, "not the owner");
    }
    let owned = ["TABLE t", "TABLE u", "VIEW v", "SEQUENCE n", "SCHEMA s", "TABLE s.q"];
    for what in owned {
        bench.admin.execute(&format!("ALTER {what} OWNER TO r")).unwrap();
    }
    for sql in OWNERS.iter().take_while(|sql| !sql.starts_with("CREATE ROLE")) {
        // It may; that a view is in the way of a change is another matter.
        let error = bench.run(sql);
        let refused = error.as_ref().is_some_and(|error| error.code() == Code::InsufficientPrivilege);
        assert!(!refused, "the owner: {sql}: {error:?}");
    }
}

#[test]
fn a_view_reads_as_its_owner() {
    let mut bench = Bench::new();
    bench.admin.execute("CREATE VIEW w AS SELECT x FROM v; ALTER VIEW w OWNER TO other").unwrap();
    bench.admin.execute("GRANT SELECT ON w TO r").unwrap();
    for (path, form) in PATHS.iter().filter(|(path, _)| !matches!(*path, "copy" | "create table as")) {
        let sql = form.replace("{}", "SELECT x FROM w");
        bench.refused(&sql, path);
        bench.admin.execute("GRANT SELECT (x) ON v TO other").unwrap();
        bench.allowed(&sql, path);
        bench.admin.execute("REVOKE SELECT (x) ON v FROM other; ALTER VIEW v OWNER TO other").unwrap();
        // It is other's own view now, of a table that other may not read.
        bench.refused(&sql, path);
        bench.admin.execute("GRANT SELECT (a, b) ON t TO other").unwrap();
        bench.allowed(&sql, path);
        bench.admin.execute("REVOKE SELECT (a, b) ON t FROM other; ALTER VIEW v OWNER TO CURRENT_USER").unwrap();
    }
}

#[test]
fn roles_survive_a_restart_and_a_dropped_schema() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path()).unwrap();
    let mut session = database.session().unwrap();
    session.execute("CREATE ROLE r LOGIN PASSWORD 'x'; CREATE SCHEMA s; CREATE TABLE s.t (a integer)").unwrap();
    session.execute("CREATE TABLE t (a integer); GRANT SELECT ON t TO r; CREATE ROLE g; GRANT g TO r").unwrap();
    session.execute("GRANT USAGE ON SCHEMA s TO g; DROP SCHEMA s CASCADE").unwrap();
    drop(session);
    database.close().unwrap();
    drop(database);
    let database = Database::open(dir.path()).unwrap();
    database.put_superuser("weft", None).unwrap();
    let login = database.login("r").unwrap().unwrap();
    assert!(login.can_login && !login.superuser && login.verifier.unwrap().starts_with("SCRAM-SHA-256$4096:"));
    assert!(database.login("nobody").unwrap().is_none());
    let mut session = database.session().unwrap();
    session.execute("SET SESSION AUTHORIZATION r; SELECT a FROM t").unwrap();
    assert_eq!(session.execute("INSERT INTO t VALUES (1)").unwrap_err().code(), Code::InsufficientPrivilege);
    let of = "SELECT pg_has_role('g', 'member'), has_table_privilege('t', 'select')";
    let rows: Vec<Vec<weft::Value>> = session.execute(of).unwrap()[0].rows.iter().collect();
    assert_eq!(rows, [[weft::Value::Bool(true), weft::Value::Bool(true)]]);
    session.execute("RESET SESSION AUTHORIZATION; DROP ROLE g").unwrap();
    assert_eq!(session.execute("DROP ROLE r").unwrap_err().code(), Code::DependentObjects);
    session.execute("DROP TABLE t; DROP ROLE r").unwrap();
}

/// Directories of earlier releases have their roles in a table.
#[test]
fn the_roles_of_an_earlier_release_are_moved() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path()).unwrap();
    let mut session = database.session().unwrap();
    let table = "CREATE TABLE public.pg_authid (rolname text PRIMARY KEY, rolsuper boolean NOT NULL, \
                 rolcanlogin boolean NOT NULL, rolpassword text)";
    session.execute(table).unwrap();
    session.execute("INSERT INTO public.pg_authid VALUES ('weft', true, true, 'v'), ('x', true, false, NULL)").unwrap();
    let login = database.login("weft").unwrap().unwrap();
    assert_eq!((login.superuser, login.can_login, login.verifier.as_deref()), (true, true, Some("v")));
    assert!(!database.login("x").unwrap().unwrap().can_login);
    assert!(database.tables().unwrap().is_empty());
}
