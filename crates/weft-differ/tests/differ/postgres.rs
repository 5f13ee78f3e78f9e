//! A PostgreSQL of the test's own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use weft_differ::case::{Case, Kind};
use weft_differ::compare::{Answer, Row};
use weft_differ::tables::Table;
use weft_server::client::{Client, ClientError, ResultSet, Target};

/// A server in a directory of its own, reached by a unix socket there.
pub(crate) struct Postgres {
    programs: PathBuf,
    dir: tempfile::TempDir,
}

impl Postgres {
    /// Starts one, or says why not.
    pub(crate) fn start() -> Result<Postgres, String> {
        let programs = ["/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/usr/local/pgsql/bin"];
        let programs = programs.iter().map(PathBuf::from).find(|dir| dir.join("initdb").exists());
        let programs = programs.ok_or("the server's programs of PostgreSQL 15 are not installed")?;
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let postgres = Postgres { programs, dir };
        // PostgreSQL does not run as root.
        let owned = Command::new("chown").arg("postgres").arg(postgres.dir.path()).output();
        owned.map_err(|error| error.to_string())?;
        postgres.server("initdb", &["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"])?;
        let options = format!(
            "-c listen_addresses='' -c fsync=off -c full_page_writes=off -c jit=off -c autovacuum=off -k {}",
            postgres.dir.path().display()
        );
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

    /// A connection to a database of its own, with settings beside the usual ones.
    pub(crate) fn connect(&self, name: &str, settings: &str) -> Connection {
        let mut target = Target::of_socket(self.dir.path());
        target.user = "postgres".into();
        target.database = "postgres".into();
        let mut first = Client::connect(&target).unwrap();
        first.query(&format!("CREATE DATABASE {name} TEMPLATE template0")).unwrap();
        target.database = name.into();
        let mut client = Client::connect(&target).unwrap();
        client
            .query(
                "SET timezone = 'UTC'; SET client_min_messages = error; SET statement_timeout = '20s';
                 SET max_parallel_workers_per_gather = 0; SET synchronous_commit = off",
            )
            .unwrap();
        client.query(settings).unwrap();
        Connection { client, tables: Vec::new(), names: Vec::new() }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = self.server("pg_ctl", &["-m", "immediate", "stop"]);
    }
}

/// A connection, and the tables that are there.
pub(crate) struct Connection {
    client: Client,
    tables: Vec<Table>,
    names: Vec<(u32, &'static str)>,
}

impl Connection {
    /// The answer to a case.
    pub(crate) fn ask(&mut self, case: &Case) -> Answer {
        if self.tables != case.tables {
            let drop = "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public".to_owned();
            let script: Vec<String> = [drop].into_iter().chain(case.setup()).collect();
            self.client.query(&script.join(";\n")).unwrap_or_else(|error| panic!("{error}:\n{}", script.join(";\n")));
            self.tables.clone_from(&case.tables);
        }
        if case.kind == Kind::Change {
            self.client.query("BEGIN").unwrap();
        }
        let answer = self.statement(case);
        if case.kind == Kind::Change {
            self.client.query("ROLLBACK").unwrap();
        }
        answer
    }

    fn statement(&mut self, case: &Case) -> Answer {
        let result = match self.client.query(&case.statement.sql()) {
            Ok(mut results) => results.pop().unwrap(),
            Err(error) => return failed(&error),
        };
        let types = self.types(&result);
        let tables = if case.kind == Kind::Change {
            case.tables.iter().map(|table| self.rows(&table.name)).collect()
        } else {
            Vec::new()
        };
        Answer::Rows { types, rows: result.rows, tables }
    }

    fn rows(&mut self, table: &str) -> Vec<Row> {
        let result = self.client.query(&format!("SELECT * FROM {table}")).unwrap().pop().unwrap();
        let types = self.types(&result);
        crate::weft_engines::sorted(&types, result.rows)
    }

    fn types(&mut self, result: &ResultSet) -> Vec<&'static str> {
        let oids: Vec<u32> = result.columns.iter().map(|column| column.oid).collect();
        oids.into_iter().map(|oid| self.name(oid)).collect()
    }

    /// The name of a type, asked once.
    fn name(&mut self, oid: u32) -> &'static str {
        if let Some((_, name)) = self.names.iter().find(|(known, _)| *known == oid) {
            return name;
        }
        let result = self.client.query(&format!("SELECT typname FROM pg_type WHERE oid = {oid}")).unwrap();
        let name: &'static str = Box::leak(result[0].rows[0][0].clone().unwrap().into_boxed_str());
        self.names.push((oid, name));
        name
    }
}

fn failed(error: &ClientError) -> Answer {
    Answer::Error { code: error.sqlstate().to_owned(), message: error.message().to_owned() }
}
