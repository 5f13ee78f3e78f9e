//! What operators see and do: sessions, their end, the log, metrics.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "tests own their process")]

mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_server::client::{Client, Target};
use weft_server::{Auth, Log, Monitor, ServerConfig};
use wire::TestServer;

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";

fn connect(server: &TestServer, name: &str) -> Client {
    let url = format!("postgres://weft:secret@127.0.0.1:{}/weft?application_name={name}", server.address.port());
    Client::connect(&Target::parse(&url).unwrap()).unwrap()
}

fn value(client: &mut Client, sql: &str) -> Option<String> {
    client.query(sql).unwrap().pop().and_then(|result| result.rows.into_iter().next()).and_then(|mut row| row.remove(0))
}

/// Asks until the answer is what is wanted.
fn wait_for(client: &mut Client, sql: &str, wanted: &str) {
    let begun = Instant::now();
    while value(client, sql).as_deref() != Some(wanted) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{sql} is {:?}, not {wanted}", value(client, sql));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sessions_are_seen_and_stopped() {
    let server = TestServer::start();
    let mut watcher = connect(&server, "watcher");
    let mut other = connect(&server, "other");
    let pid = other.backend();
    assert_eq!(value(&mut other, "SELECT pg_backend_pid()"), Some(pid.to_string()));
    let of = |column: &str| format!("SELECT {column} FROM pg_stat_activity WHERE pid = {pid}");
    wait_for(&mut watcher, &of("state"), "idle");
    wait_for(&mut watcher, &of("application_name"), "other");
    wait_for(&mut watcher, &of("client_addr"), "127.0.0.1");
    wait_for(&mut watcher, &of("xact_start IS NULL"), "t");
    other.query("SET application_name = 'renamed'").unwrap();
    wait_for(&mut watcher, &of("application_name"), "renamed");
    other.query("CREATE TABLE t (id int PRIMARY KEY, a int)").unwrap();
    other.query("BEGIN").unwrap();
    other.query("INSERT INTO t VALUES (1, 1)").unwrap();
    wait_for(&mut watcher, &of("state"), "idle in transaction");
    wait_for(&mut watcher, &of("xact_start <= query_start AND backend_start <= xact_start"), "t");
    let held = format!("SELECT count(*) > 0 FROM pg_locks WHERE pid = {pid} AND granted");
    wait_for(&mut watcher, &held, "t");

    // Somebody waits for the row: seen as waiting, and freed by a cancel.
    let mut third = connect(&server, "third");
    let waiting = third.backend();
    let waits =
        std::thread::spawn(move || third.query("INSERT INTO t VALUES (1, 2)").unwrap_err().sqlstate().to_owned());
    wait_for(&mut watcher, &format!("SELECT wait_event_type FROM pg_stat_activity WHERE pid = {waiting}"), "Lock");
    assert_eq!(value(&mut watcher, &format!("SELECT pg_cancel_backend({waiting})")).as_deref(), Some("t"));
    assert_eq!(waits.join().unwrap(), "57014");

    assert!(other.query("SELECT 1/0").is_err());
    wait_for(&mut watcher, &of("state"), "idle in transaction (aborted)");
    other.query("ROLLBACK").unwrap();
    let runs = std::thread::spawn(move || {
        let error = other.query(ENDLESS).unwrap_err().sqlstate().to_owned();
        (other, error)
    });
    wait_for(&mut watcher, &of("state"), "active");
    wait_for(&mut watcher, &of("query"), ENDLESS);
    value(&mut watcher, &format!("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = {pid}"));
    let (mut other, error) = runs.join().unwrap();
    assert_eq!(error, "57014");
    other.query("BEGIN; INSERT INTO t VALUES (7, 7)").unwrap();
    assert_eq!(value(&mut watcher, &format!("SELECT pg_terminate_backend({pid})")).as_deref(), Some("t"));
    assert_eq!(other.query("COMMIT").unwrap_err().sqlstate(), "57P01");
    wait_for(&mut watcher, &format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}"), "0");
    assert_eq!(value(&mut watcher, "SELECT count(*) FROM t").as_deref(), Some("0"));
    assert_eq!(value(&mut watcher, "SELECT pg_cancel_backend(123456)").as_deref(), Some("f"));
    assert_eq!(value(&mut watcher, "SELECT pg_terminate_backend(0)").as_deref(), Some("f"));
    assert_eq!(value(&mut watcher, "SELECT xact_commit > 0 FROM pg_stat_database").as_deref(), Some("t"));
}

#[test]
fn no_password_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    let log = Arc::new(Log::to_file(&file).unwrap());
    log.set("debug", "json");
    let shared = Arc::clone(&log);
    let trusting = TestServer::with(|config| ServerConfig { log: shared, ..config });
    let server = TestServer::with(|config| ServerConfig { auth: Auth::Scram, log, log_connections: true, ..config });
    server.database.activities().set_observed(Some(0));
    let url = |password: &str| format!("postgres://weft:{password}@127.0.0.1:{}/weft", server.address.port());
    assert!(Client::connect(&Target::parse(&url("Geheim1")).unwrap()).is_err());
    let mut client = Client::connect(&Target::parse(&url("secret")).unwrap()).unwrap();
    let mut watcher = Client::connect(&Target::parse(&url("secret")).unwrap()).unwrap();
    for sql in [
        "CREATE ROLE ann LOGIN PASSWORD 'Geheim2'",
        "ALTER ROLE weft PASSWORD 'Geheim3'",
        "ALTERR ROLE weft PASSWORD 'Geheim4'",
        "CREATE USER bob WITH ENCRYPTED PASSWORD 'Geheim5' NONSENSE",
        "ALTER USER weft PASSWORD Geheim6'",
        "SELECT 1; CREATE USER eve PASSWORD 'Geheim7'; SELECT nothing",
        "alter role weft password 'SCRAM-SHA-256$4096:Geheim8$a:b'",
    ] {
        let _ = client.query(sql);
        let seen = watcher.query("SELECT query FROM pg_stat_activity").unwrap();
        assert!(!format!("{seen:?}").contains("Geheim"), "{sql}: {seen:?}");
    }
    // The extended protocol.
    let mut wire = trusting.connect();
    wire.parse("", "ALTER ROLE weft PASSWORD 'Geheim9' x", &[]).sync().answers();
    client.query("SELECT 'shown in full' AS a").unwrap();
    assert!(client.query("SELECT nothing").is_err());
    drop((client, watcher, wire, server, trusting));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("Geheim") && !text.contains("secret"), "{text}");
    for wanted in ["\"refused\"", "28P01", "\"connected\"", "\"disconnected\"", "<hidden", "shown in full", "42703"] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
    assert!(text.contains("\"engine\":\"") && text.contains("\"duration_ms\":\""));
}

fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn health_follows_the_life_of_the_server() {
    let monitor = Monitor::start(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = monitor.address();
    assert_eq!(get(at, "/health"), (503, "recovering\n".into()));
    assert!(get(at, "/metrics").1.contains("weft_up 0"));
    let server = TestServer::start();
    monitor.serve(&server.database);
    let mut client = connect(&server, "x");
    client.query("SELECT 1").unwrap();
    assert_eq!(get(at, "/health?verbose"), (200, "ok\n".into()));
    let page = get(at, "/metrics").1;
    assert!(page.contains("weft_up 1\n") && page.contains("weft_connections 1\n"), "{page}");
    assert_eq!(get(at, "/secret").0, 404);
    // What is no request, or an endless one, harms nobody.
    for bytes in [&b"\r\n\r\n"[..], b"POST / HTTP/1.1\r\n\r\n", b"\xff\xfe\r\n\r\n", &[b'x'; 20_000]] {
        let mut stream = TcpStream::connect(at).unwrap();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    monitor.close();
    assert_eq!(get(at, "/health"), (503, "shutting down\n".into()));
}
