//! Real clients against the real server: each is taken from its package registry, and runs its program in
//! tests/clients.
//!
//! A client that cannot be installed is told as skipped, with the reason; where `WEFT_CLIENTS=required` is set (in
//! `.ci/run`) that is a failure. What was installed is kept in the target folder.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

const PASSWORD: &str = "a secret for tests";

/// `weft serve` on a directory of its own.
struct Served {
    child: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Served {
    fn start() -> Served {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_weft"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg(dir.path().join("db"))
            .env("WEFT_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("listening on 127.0.0.1:") {
                port = address.parse().unwrap();
            }
            if line == "ready" {
                break;
            }
        }
        assert!(port > 0, "the server told its port");
        Served { child, port, dir }
    }

    /// A program with what it needs to connect.
    fn client(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string()).env("PGUSER", "weft");
        command.env("PGDATABASE", "weft").env("PGPASSWORD", PASSWORD);
        command
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // SIGTERM, as an operator would: the server ends by itself, with 0.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "the server ends with 0");
        }
    }
}

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

/// A folder for what is installed, which stays.
fn installed(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Runs a step of an installation; what it printed when it fails.
fn step(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{shown}: {}", said.lines().last().unwrap_or("it failed")))
        }
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// Runs a client, unless it could not be installed.
fn run(name: &str, program: Result<PathBuf, String>, arguments: &[&str]) {
    let program = match program {
        Ok(program) => program,
        Err(reason) => {
            assert!(std::env::var_os("WEFT_CLIENTS").is_none_or(|v| v != "required"), "{name} is required: {reason}");
            println!("skipped {name}: {reason}");
            return;
        }
    };
    let served = Served::start();
    let output = served.client(program).args(arguments).output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{name} fails:\n{said}\n{wrong}");
    println!("{said}");
}

/// One installation of the Python packages for all tests.
static PYTHON: Mutex<()> = Mutex::new(());

fn python() -> Result<PathBuf, String> {
    let _only = PYTHON.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let dir = installed("python");
    let python = dir.join("bin/python");
    let requirements = sources("python/requirements.txt");
    if !python.exists() {
        step(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    }
    step(Command::new(&python).args(["-m", "pip", "install", "-q", "-r"]).arg(requirements))?;
    Ok(python)
}

#[test]
fn psycopg() {
    run("psycopg", python(), &[&sources("python/psycopg_client.py").to_string_lossy()]);
}

#[test]
fn sqlalchemy() {
    run("SQLAlchemy", python(), &[&sources("python/sqlalchemy_client.py").to_string_lossy()]);
}

#[test]
fn node_postgres() {
    let install = || {
        let dir = installed("node");
        for file in ["package.json", "client.js"] {
            std::fs::copy(sources("node").join(file), dir.join(file)).map_err(|error| error.to_string())?;
        }
        step(Command::new("npm").args(["install", "--silent", "--no-audit", "--no-fund"]).current_dir(&dir))?;
        Ok(PathBuf::from("node"))
    };
    run("node-postgres", install(), &[&installed("node").join("client.js").to_string_lossy()]);
}

#[test]
fn jdbc() {
    let dir = installed("java");
    let install = || {
        let pom = sources("java/pom.xml");
        let output = format!("-DoutputDirectory={}", dir.display());
        step(Command::new("mvn").args(["-q", "-f"]).arg(&pom).arg("dependency:copy-dependencies").arg(output))?;
        Ok(PathBuf::from("java"))
    };
    let path = format!("{}/*", dir.display());
    run("JDBC", install(), &["-cp", &path, &sources("java/Client.java").to_string_lossy()]);
}

#[test]
fn tokio_postgres() {
    let dir = installed("rust");
    let install = || {
        let manifest = sources("rust/Cargo.toml");
        step(
            Command::new("cargo").args(["build", "-q", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(&dir),
        )?;
        Ok(dir.join("debug/weft-clients"))
    };
    run("tokio-postgres", install(), &[]);
}

/// psql's own scripts: what it prints is kept beside them.
#[test]
fn psql() {
    let psql = step(Command::new("psql").arg("--version")).map(|()| PathBuf::from("psql"));
    let Ok(psql) = psql else { return run("psql", psql, &[]) };
    let served = Served::start();
    let mut scripts: Vec<PathBuf> =
        std::fs::read_dir(sources("psql")).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    scripts.sort();
    assert!(!scripts.is_empty());
    for script in scripts {
        // By its name alone, which is what messages repeat.
        let name = script.file_name().unwrap();
        let output =
            served.client(&psql).current_dir(sources("psql")).args(["-X", "-a", "-f"]).arg(name).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let expected = script.with_extension("out");
        if std::env::var_os("WEFT_GOLDEN").is_some_and(|value| value == "rewrite") {
            std::fs::write(&expected, &said).unwrap();
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        assert!(said == wanted, "{} gives:\n{said}\ninstead of:\n{wanted}", script.display());
    }
}

/// pgbench makes its tables and runs its three scripts; its sums must agree in the end.
#[test]
fn pgbench() {
    let found = step(Command::new("pgbench").arg("--version"));
    if let Err(reason) = found {
        return run("pgbench", Err(reason), &[]);
    }
    let served = Served::start();
    for arguments in [
        &["-i", "-s", "1", "-q"][..],
        &["-n", "-c", "4", "-j", "2", "-t", "200", "-M", "simple"],
        &["-n", "-c", "4", "-j", "2", "-t", "200", "-M", "extended"],
        &["-n", "-c", "4", "-j", "2", "-t", "200", "-M", "prepared"],
        &["-n", "-S", "-c", "4", "-j", "2", "-t", "1000", "-M", "prepared"],
    ] {
        let output = served.client("pgbench").args(arguments).output().unwrap();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pgbench {arguments:?} fails: {wrong}");
    }
    let sums = "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), \
                (SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches), \
                (SELECT count(*) FROM pgbench_history)";
    let output = served.client("psql").args(["-X", "-A", "-t", "-c", sums]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "t|t|2400");
    assert!(served.dir.path().join("db").exists());
}
