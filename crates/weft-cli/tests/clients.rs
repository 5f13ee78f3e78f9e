//! Real clients against the real server: each is taken from its package registry, and runs its program in
//! tests/clients.
//!
//! A client that cannot be installed is told as skipped, with the reason; where `WEFT_CLIENTS=required` is set (in
//! `.ci/run`) that is a failure. What was installed is kept in the target folder.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod served;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use served::{Served, needs, skip};

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
        Err(reason) => return skip(name, &reason),
    };
    let dir = tempfile::tempdir().unwrap();
    let served = Served::start(&dir.path().join("db"));
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
    run(
        "JDBC",
        install(),
        &["-Duser.timezone=America/New_York", "-cp", &path, &sources("java/Client.java").to_string_lossy()],
    );
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
    if let Err(reason) = needs("psql") {
        return skip("psql", &reason);
    }
    let dir = tempfile::tempdir().unwrap();
    let served = Served::start(&dir.path().join("db"));
    let mut scripts: Vec<PathBuf> =
        std::fs::read_dir(sources("psql")).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    scripts.sort();
    assert!(!scripts.is_empty());
    for script in scripts {
        // By its name alone, which is what messages repeat.
        let name = script.file_name().unwrap();
        let output =
            served.client("psql").current_dir(sources("psql")).args(["-X", "-a", "-f"]).arg(name).output().unwrap();
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
    if let Err(reason) = needs("pgbench") {
        return skip("pgbench", &reason);
    }
    let dir = tempfile::tempdir().unwrap();
    let served = Served::start(&dir.path().join("db"));
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
    assert_eq!(served.ask(sums), "t|t|2400");
}
