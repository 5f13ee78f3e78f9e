//! `weft route` as a process, in front of `weft serve` and `weft serve --follow`, whoever is killed.
//!
//! 1. Every acknowledged row is there, whoever was killed.
//! 2. A session sees what it wrote.
//! 3. Clients get no errors but those that ask them to connect or to run it again.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod served;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use served::{PASSWORD, Served};
use weft_server::client::{Client, Target};

/// The router's process.
struct Routed(Child, u16);

impl Routed {
    fn start(port: u16, writer: &Served, nodes: &[&Served]) -> Routed {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
        command.args(["route", "--listen", &format!("127.0.0.1:{port}"), "--log-level", "error"]);
        command.args(["--writer", &format!("127.0.0.1:{}", writer.port), "--probe-every", "100"]);
        command.args(nodes.iter().flat_map(|node| ["--node".into(), format!("127.0.0.1:{}", node.port)]));
        let mut child = command.env("WEFT_PROBE_PASSWORD", PASSWORD).stdout(Stdio::piped()).spawn().unwrap();
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
        Routed(child, port)
    }

    fn connect(&self) -> Result<Client, weft_server::client::ClientError> {
        let secret = PASSWORD.replace(' ', "%20");
        let target = format!("postgres://weft:{secret}@127.0.0.1:{}/weft?sslmode=require", self.1);
        Client::connect(&Target::parse(&target).unwrap())
    }
}

impl Drop for Routed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(db: &Path, name: &str) -> Served {
    Served::start_with(db, &["--follow", "--node-name", name])
}

/// Writes the next row and reads it back; the error's code when something was lost meanwhile.
fn round(client: &mut Client, id: u64) -> Result<(), String> {
    let told = |error: weft_server::client::ClientError| error.sqlstate().to_owned();
    client.query(&format!("INSERT INTO t VALUES ({id}) ON CONFLICT (id) DO NOTHING")).map_err(told)?;
    let results = client.query(&format!("SELECT count(*) FROM t WHERE id <= {id}")).map_err(told)?;
    assert_eq!(results[0].rows[0][0].as_deref(), Some(id.to_string().as_str()), "a session sees what it wrote");
    Ok(())
}

/// Rounds until so many rows are there; connects again when it must.
fn load(router: &Routed, done: &mut u64, until: u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut client = None;
    while *done < until {
        assert!(Instant::now() < deadline, "{done} rows of {until}");
        let result = match &mut client {
            Some(client) => round(client, *done + 1).map(|()| *done += 1),
            none => router.connect().map(|made| *none = Some(made)).map_err(|error| error.sqlstate().to_owned()),
        };
        match result {
            Ok(()) => {}
            Err(code) => {
                let is_retryable = matches!(&*code, "40001" | "57P01" | "57P03" | "08006" | "58030");
                assert!(is_retryable, "an error that asks for no other try: {code}");
                client = None;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_whoever_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let writer = Served::start(&db);
    let (a, mut b) = (follow(&db, "a"), follow(&db, "b"));
    let mut router = Routed::start(0, &writer, &[&a, &b]);
    router.connect().unwrap().query("CREATE TABLE t (id bigint PRIMARY KEY)").unwrap();
    let mut done = 0;
    for _ in 0..3 {
        let until = done + 50;
        load(&router, &mut done, until);
        b.kill();
        load(&router, &mut done, until + 50);
        b = follow(&db, "b");
        let port = router.1;
        drop(router);
        router = Routed::start(port, &writer, &[&a, &b]);
        load(&router, &mut done, until + 100);
    }
    let results = router.connect().unwrap().query("SELECT count(*) FROM t").unwrap();
    assert_eq!(results[0].rows[0][0].as_deref(), Some(done.to_string().as_str()));
}
