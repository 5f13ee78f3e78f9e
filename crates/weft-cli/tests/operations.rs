//! The program as operators use it: configuration, signals, the shell on a server, what is in deploy/.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use weft_server::client::{Client, Target};

const WEFT: &str = env!("CARGO_BIN_EXE_weft");

/// `weft serve` on a directory of its own, with the arguments of a test.
struct Served {
    child: Child,
    port: u16,
    metrics: Option<String>,
    dir: tempfile::TempDir,
}

impl Served {
    fn start(config: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Served {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("db")).unwrap();
        std::fs::write(dir.path().join("db/weft.conf"), config).unwrap();
        let mut child = Command::new(WEFT)
            .args(["serve", "--listen", "127.0.0.1:0", "--auth", "trust"])
            .args(arguments)
            .arg(dir.path().join("db"))
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut port, mut metrics) = (0, None);
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("listening on 127.0.0.1:") {
                port = address.parse().unwrap();
            }
            if let Some(address) = line.strip_prefix("metrics on ") {
                metrics = Some(address.to_owned());
            }
            if line == "ready" {
                break;
            }
        }
        assert!(port > 0, "the server told its port");
        Served { child, port, metrics, dir }
    }

    fn url(&self) -> String {
        format!("postgres://127.0.0.1:{}/weft", self.port)
    }

    fn show(&self, name: &str) -> String {
        let mut client = Client::connect(&Target::parse(&self.url()).unwrap()).unwrap();
        client.query(&format!("SHOW {name}")).unwrap()[0].rows[0][0].clone().unwrap()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.signal("-TERM");
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "the server ends with 0");
        }
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn flag_over_environment_over_file_and_what_may_change_is_read_again() {
    let config = "max_connections = 70\nworkers = 2\nlog_level = warn # c\nstatement_timeout = '90s'\n";
    let variables = [("WEFT_MAX_CONNECTIONS", "80"), ("WEFT_QUERY_SLOTS", "9")];
    let server = Served::start(config, &["--query-slots", "11", "--memory-limit", "256MB"], &variables);
    for (name, value) in [
        ("max_connections", "80"),
        ("query_slots", "11"),
        ("workers", "2"),
        ("statement_timeout", "90s"),
        ("row_memory", "64MB"),
        ("query_memory", "48MB"),
        ("log_level", "warn"),
    ] {
        assert_eq!(server.show(name), value, "{name}");
    }
    let mut client = Client::connect(&Target::parse(&server.url()).unwrap()).unwrap();
    let sources = "SELECT name, source, context FROM pg_settings \
                   WHERE name IN ('max_connections', 'query_slots', 'workers', 'engine') ORDER BY name";
    let rows: Vec<String> = client.query(sources).unwrap()[0].rows.iter().map(|row| format!("{row:?}")).collect();
    let wanted = ["default", "environment variable", "command line", "configuration file"];
    assert!(
        rows.iter()
            .zip(["engine", "max_connections", "query_slots", "workers"])
            .zip(wanted)
            .all(|((row, name), source)| { row.contains(name) && row.contains(source) }),
        "{rows:?}"
    );
    assert_eq!(client.query("SET max_connections = 5").unwrap_err().sqlstate(), "22023");
    assert_eq!(client.query("SET log_level = debug").unwrap_err().sqlstate(), "22023");

    let file = server.dir.path().join("db/weft.conf");
    std::fs::write(&file, "workers = 4\nlog_level = debug\n").unwrap();
    server.signal("-HUP");
    wait_until("SIGHUP reads the file", || server.show("log_level") == "debug");
    assert_eq!((server.show("workers"), server.show("statement_timeout")), ("2".into(), "0".into()));
    std::fs::write(&file, "log_level = error\n").unwrap();
    client.query("SELECT pg_reload_conf()").unwrap();
    wait_until("pg_reload_conf() reads the file", || server.show("log_level") == "error");
    std::fs::write(&file, "log_level = nonsense\n").unwrap();
    server.signal("-HUP");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.show("log_level"), "error", "a wrong file changes nothing");
}

#[test]
fn what_is_wrong_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x.conf"), "\nworkers = many\n").unwrap();
    let file = dir.path().join("x.conf").display().to_string();
    let run = |arguments: &[&str], variable: (&str, &str)| {
        let mut command = Command::new(WEFT);
        command.arg("serve").args(arguments).arg(dir.path().join("db")).env(variable.0, variable.1);
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let none = ("WEFT_UNUSED", "1");
    let text = run(&["--config", &file], none);
    assert!(
        text.contains("x.conf, line 2: \"many\" is no value for \"workers\"") && text.contains("a number from 0 to 64"),
        "{text}"
    );
    assert!(run(&["--workers", "many"], none).contains("--workers: \"many\" is no value"));
    assert!(run(&["--worker", "1"], none).contains("unknown argument --worker"));
    assert!(run(&[], ("WEFT_WORKERS", "many")).contains("the environment's WEFT_WORKERS"));
    assert!(run(&["--config", "/nowhere/x.conf"], none).contains("cannot read /nowhere/x.conf"));
}

fn shell(place: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(WEFT);
    command.arg(place).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_shell_prints_the_same_on_a_directory_and_on_a_server() {
    let server = Served::start("", &[], &[]);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("db").display().to_string();
    let script = "CREATE TABLE t (id int PRIMARY KEY, a numeric(5,2), b boolean, c text, d double precision, e date);\n\
                  INSERT INTO t VALUES (1, 1.5, true, 'x, \"y\"', 0.1, '2026-11-22');\n\
                  INSERT INTO t VALUES (2, NULL, false, '', 'NaN', NULL);\n\
                  SELECT * FROM t ORDER BY id; SELECT id FROM t WHERE id > 5; UPDATE t SET c = 'z' WHERE id = 1;\n\
                  SELECT nothing FROM t;\n";
    for format in ["table", "csv", "json"] {
        let local = shell(&place, &["--format", format], script);
        let remote = shell(&server.url(), &["--format", format], script);
        assert_eq!(String::from_utf8_lossy(&local.stdout), String::from_utf8_lossy(&remote.stdout), "{format}");
        let errors =
            [&local, &remote].map(|output| String::from_utf8_lossy(&output.stderr).lines().next().map(str::to_owned));
        assert_eq!((local.status.code(), remote.status.code()), (Some(1), Some(1)));
        assert!(errors[0].is_some() && errors[0] == errors[1], "{errors:?}");
        for place in [&place, &server.url()] {
            assert!(shell(place, &["-c", "DROP TABLE t"], "").status.success());
        }
    }
    let url = server.url();
    shell(&url, &["-c", "CREATE TABLE u (id int PRIMARY KEY, a text NOT NULL)"], "");
    let copied = shell(&url, &["-c", "COPY u FROM STDIN"], "1\tone\n2\ttwo\n");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let out = shell(&url, &["-c", "COPY u TO STDOUT"], "");
    assert!(String::from_utf8_lossy(&out.stdout).starts_with("1\tone\n2\ttwo\n"));
    for (command, wanted) in [("\\d", "u"), ("\\d u", "not null"), ("\\timing", "Timing is on")] {
        let output = shell(&url, &[], command);
        assert!(String::from_utf8_lossy(&output.stdout).contains(wanted), "{command}: {output:?}");
    }
    let refused = shell("postgres://127.0.0.1:1/weft", &["-c", "SELECT 1"], "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("could not connect to 127.0.0.1:1"));
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn health_is_told_beside_the_server() {
    let server = Served::start("", &["--metrics", "127.0.0.1:0"], &[]);
    let mut stream = std::net::TcpStream::connect(server.metrics.as_ref().unwrap()).unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\n\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert_eq!(line.trim_end(), "HTTP/1.1 200 OK");
}

fn deploy(name: &str) -> (PathBuf, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// Flags that deploy/ uses exist, and so do the settings in its variables.
#[test]
fn what_is_deployed_exists() {
    let help = Command::new(WEFT).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let known = |flag: &str| help.split_whitespace().any(|word| word == flag) || flag == "--config";
    for name in ["weft.service", "Containerfile"] {
        let (_, text) = deploy(name);
        let line = text.lines().filter(|line| line.starts_with("ExecStart=") || line.starts_with("CMD "));
        let words: Vec<&str> = line.flat_map(|line| line.split(['"', ' ', ',', '='])).collect();
        let flags: Vec<&&str> = words.iter().filter(|word| word.starts_with("--")).collect();
        assert!(!flags.is_empty() && flags.iter().all(|flag| known(flag)), "{name}: {flags:?}");
        for variable in
            text.split(|c: char| !c.is_ascii_uppercase() && c != '_').filter(|word| word.starts_with("WEFT_"))
        {
            let flag = format!("--{}", variable["WEFT_".len()..].to_lowercase().replace('_', "-"));
            assert!(known(&flag) || variable == "WEFT_PASSWORD", "{name}: {variable}");
        }
    }
    if let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(deploy("weft.service").0).output() {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        // The program is not installed on the machine of a test.
        let wrong: Vec<&str> =
            told.lines().filter(|line| line.contains("weft.service") && !line.contains("not executable")).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
