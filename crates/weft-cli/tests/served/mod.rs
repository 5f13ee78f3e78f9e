//! `weft serve` as a child process, for tests that need the real program.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The password of the role weft.
pub const PASSWORD: &str = "a secret for tests";

/// A server on a directory, which outlives it.
pub struct Served {
    child: Child,
    pub port: u16,
    /// From the start of the process until it was ready.
    pub ready_after: Duration,
    is_killed: bool,
}

impl Served {
    /// A server on `db`, made when it is not there, that listens on a port of its own.
    pub fn start(db: &Path) -> Served {
        Served::start_with(db, &[])
    }

    /// The same, with other options of `weft serve`.
    pub fn start_with(db: &Path, options: &[&str]) -> Served {
        Served::start_by(db, options, &[])
    }

    /// The same, with further variables.
    pub fn start_by(db: &Path, options: &[&str], variables: &[(&str, String)]) -> Served {
        let begun = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_weft"))
            .arg("serve")
            .args(if options.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] })
            .args(options)
            .arg(db)
            .env("WEFT_PASSWORD", PASSWORD)
            .envs(variables.iter().map(|(name, value)| (name, value)))
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
        Served { child, port, ready_after: begun.elapsed(), is_killed: false }
    }

    /// A program with what it needs to connect.
    pub fn client(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string()).env("PGUSER", "weft");
        command.env("PGDATABASE", "weft").env("PGPASSWORD", PASSWORD);
        command
    }

    /// What psql prints of a statement, without headers.
    pub fn ask(&self, sql: &str) -> String {
        let arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql];
        let output = self.client("psql").args(arguments).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What is said of a statement that fails.
    pub fn refused(&self, sql: &str) -> String {
        let arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql];
        let output = self.client("psql").args(arguments).output().unwrap();
        assert!(!output.status.success(), "{sql} succeeds");
        String::from_utf8_lossy(&output.stderr).trim().to_owned()
    }

    /// Sends a signal, STOP or CONT say.
    pub fn signal(&self, name: &str) {
        assert!(
            Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap().success()
        );
    }

    /// Waits until the process has ended by itself, and says whether that was with 0.
    pub fn ended(mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.is_killed = true;
                return status.success();
            }
            assert!(Instant::now() < deadline, "the server ends by itself");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGKILL: the process has no say in it.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.is_killed = true;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.is_killed {
            return;
        }
        // SIGTERM, as an operator would: the server ends by itself, with 0.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "the server ends with 0");
        }
    }
}

/// Why a program that a test needs cannot be started; `Err` is a failure where `WEFT_CLIENTS=required` is set.
pub fn needs(program: &str) -> Result<(), String> {
    match Command::new(program).arg("--version").stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// Tells that a test is skipped, and why.
pub fn skip(name: &str, reason: &str) {
    assert!(std::env::var_os("WEFT_CLIENTS").is_none_or(|v| v != "required"), "{name} is required: {reason}");
    println!("skipped {name}: {reason}");
}
