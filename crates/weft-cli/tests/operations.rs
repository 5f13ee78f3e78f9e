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
    let help = |command: &str| {
        let help = Command::new(WEFT).args([command, "--help"]).output().unwrap();
        String::from_utf8(help.stdout).unwrap()
    };
    let (serve, route) = (help("serve"), help("route"));
    let known = |help: &str, flag: &str| {
        help.split_whitespace().any(|word| word == flag) || ["--config", "--follow"].contains(&flag)
    };
    let is_command = |line: &&str| {
        let line = line.trim_start();
        ["ExecStart=", "CMD ", "command: ", "args: "].iter().any(|begin| line.starts_with(begin))
    };
    let files = [
        "weft.service",
        "weft-node@.service",
        "weft-route.service",
        "Containerfile",
        "compose.yaml",
        "kubernetes.yaml",
    ];
    for name in files {
        let (_, text) = deploy(name);
        let mut flags = 0;
        for line in text.lines().filter(is_command) {
            let words: Vec<&str> = line.split(['"', ' ', ',', '=', '[', ']']).collect();
            let help = if words.contains(&"route") { &route } else { &serve };
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                assert!(known(help, flag), "{name}: {flag}");
                flags += 1;
            }
        }
        assert!(flags > 0, "{name} starts something");
        for variable in
            text.split(|c: char| !c.is_ascii_uppercase() && c != '_').filter(|word| word.starts_with("WEFT_"))
        {
            let flag = format!("--{}", variable["WEFT_".len()..].to_lowercase().replace('_', "-"));
            let is_secret = ["WEFT_PASSWORD", "WEFT_PROBE_PASSWORD"].contains(&variable);
            assert!(is_secret || known(&serve, &flag), "{name}: {variable}");
        }
    }
    for unit in ["weft.service", "weft-node@.service", "weft-route.service"] {
        let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(deploy(unit).0).output() else { continue };
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        // The program is not installed on the machine of a test.
        let is_of_it = |line: &&str| line.contains("weft") && !line.contains("not executable");
        let wrong: Vec<&str> = told.lines().filter(is_of_it).collect();
        assert!(wrong.is_empty(), "{unit}: {wrong:?}");
    }
}

/// What a service of deploy/compose.yaml runs.
fn composed() -> Vec<(String, Vec<String>)> {
    let (_, text) = deploy("compose.yaml");
    let (mut name, mut services) = (String::new(), Vec::new());
    for line in text.lines() {
        if let Some(key) = line.strip_prefix("  ").and_then(|key| key.strip_suffix(':'))
            && !key.starts_with(' ')
        {
            key.clone_into(&mut name);
        }
        if let Some(words) = line.strip_prefix("    command: [") {
            let words = words.trim_end_matches(']').split(", ").map(|word| word.trim_matches('"').to_owned());
            services.push((name.clone(), words.collect()));
        }
    }
    services
}

/// A process of deploy/compose.yaml.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The services of deploy/compose.yaml, with ports and a folder of this test, serve a client; `weft nodes` names them.
#[test]
fn what_is_composed_serves() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    // Held until all are known, so that no two are the same.
    let listeners: Vec<std::net::TcpListener> =
        (0..8).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let mut ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
    drop(listeners);
    let services = composed();
    let names: Vec<&str> = services.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["writer", "berlin", "oslo", "router"]);
    let own: std::collections::BTreeMap<&str, u16> = names.iter().map(|name| (*name, ports.pop().unwrap())).collect();
    let mut running = Vec::new();
    for (name, words) in &services {
        let here = |word: &String| match word.split_once(':') {
            Some(("0.0.0.0", _)) => format!("127.0.0.1:{}", own[name.as_str()]),
            Some(("127.0.0.1", "9187")) => "127.0.0.1:0".to_owned(),
            Some((host, "5432")) => format!("127.0.0.1:{}", own[host]),
            _ => word.replace("/var/lib/weft/data", &data),
        };
        let mut command = Command::new(WEFT);
        command.args(words.iter().map(here)).stdout(Stdio::piped()).stderr(Stdio::null());
        command.env("WEFT_PASSWORD", "secret").env("WEFT_PROBE_PASSWORD", "secret");
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"), "{name} is ready");
        // Whoever writes on must find somebody who reads.
        running.push((Service(child), lines));
    }
    let target = format!("postgres://weft:secret@127.0.0.1:{}/weft?sslmode=require", own["router"]);
    let mut client = Client::connect(&Target::parse(&target).unwrap()).unwrap();
    client.query("CREATE TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(client.query("SELECT count(*) FROM t").unwrap()[0].rows[0][0].as_deref(), Some("2"));
    let nodes = |arguments: &[&str]| Command::new(WEFT).args(["nodes", &data]).args(arguments).output().unwrap();
    wait_until("all are heard", || nodes(&["--check"]).status.success());
    let csv = String::from_utf8(nodes(&["--format", "csv"]).stdout).unwrap();
    let states: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let state = |name: &str| states.iter().find(|row| row[0] == name).map(|row| (row[1], row.len()));
    for (name, role) in [("writer", "writer"), ("berlin", "node"), ("oslo", "node")] {
        assert!(state(name).is_some_and(|(found, columns)| found == role && columns >= 8), "{name} in {csv}");
    }
    // One is killed: that is told, and the others serve.
    running.remove(2);
    let is_missed = || String::from_utf8_lossy(&nodes(&["--check"]).stderr).contains("node oslo is silent");
    wait_until("it is missed", is_missed);
    assert!(!nodes(&["--check"]).status.success());
    assert_eq!(client.query("SELECT count(*) FROM t").unwrap()[0].rows[0][0].as_deref(), Some("2"));
    let no_database = Command::new(WEFT).args(["nodes", dir.path().to_str().unwrap()]).output().unwrap();
    assert!(String::from_utf8_lossy(&no_database.stderr).contains("holds no database"), "{no_database:?}");
}
