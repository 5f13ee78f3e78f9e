//! The client of the protocol against the real server, and against PostgreSQL where it is installed.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "tests own their process")]

mod wire;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use weft_server::client::{Answer, Client, SslMode, Target};
use weft_server::{Auth, ServerConfig, TlsIdentity};
use wire::TestServer;

fn target(server: &TestServer, more: &str) -> Target {
    Target::parse(&format!("postgres://weft:secret@127.0.0.1:{}/weft{more}", server.address.port())).unwrap()
}

fn secured() -> (TestServer, TlsIdentity) {
    let identity = TlsIdentity::make(vec!["localhost".into()]).unwrap();
    let tls = Some(identity.clone());
    (TestServer::with(|config| ServerConfig { auth: Auth::Scram, tls, ..config }), identity)
}

#[test]
fn logs_in_with_a_password() {
    let server = TestServer::with(|config| ServerConfig { auth: Auth::Scram, ..config });
    let mut client = Client::connect(&target(&server, "?sslmode=disable&application_name=me")).unwrap();
    let results = client.query("SELECT 1 AS a, NULL AS b, 'x' AS c; SHOW application_name").unwrap();
    let names: Vec<&str> = results[0].columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(results[0].rows, [[Some("1".to_owned()), None, Some("x".into())]]);
    assert_eq!((results[0].tag.as_str(), results[1].rows[0][0].as_deref()), ("SELECT 1", Some("me")));
    assert!(client.backend() > 0 && client.parameter("server_version").is_some() && !client.is_encrypted());

    let wrong = Target { password: Some("guess".into()), ..target(&server, "?sslmode=disable") };
    assert_eq!(Client::connect(&wrong).err().unwrap().sqlstate(), "28P01");
    let none = Target { password: None, ..target(&server, "?sslmode=disable") };
    assert!(Client::connect(&none).err().unwrap().message().contains("none was given"));
    let error = Client::connect(&target(&server, "?sslmode=require")).err().unwrap();
    assert!(error.message().contains("has no TLS"), "{error}");
    let elsewhere = Target { database: "shop".into(), ..target(&server, "?sslmode=disable") };
    assert_eq!(Client::connect(&elsewhere).err().unwrap().sqlstate(), "3D000");
}

#[test]
fn tests_the_certificate_as_sslmode_says() {
    let (server, identity) = secured();
    let file = server.dir.path().join("root.crt");
    std::fs::write(&file, &identity.certificate).unwrap();
    let with = |host: &str, mode: SslMode, root: Option<PathBuf>| {
        let mut target = target(&server, "");
        target.host = weft_server::client::Host::Tcp(host.into());
        (target.ssl_mode, target.ssl_root) = (mode, root);
        Client::connect(&target)
    };
    assert!(with("localhost", SslMode::Prefer, None).unwrap().is_encrypted());
    assert!(with("localhost", SslMode::Require, None).unwrap().is_encrypted());
    assert!(with("localhost", SslMode::VerifyFull, Some(file.clone())).unwrap().is_encrypted());
    assert!(with("127.0.0.1", SslMode::VerifyCa, Some(file.clone())).unwrap().is_encrypted());
    let stranger = with("127.0.0.1", SslMode::VerifyFull, Some(file.clone())).err().unwrap();
    assert!(stranger.message().contains("TLS with the server failed"), "{stranger}");
    std::fs::write(&file, TlsIdentity::make(vec!["localhost".into()]).unwrap().certificate).unwrap();
    for mode in [SslMode::VerifyFull, SslMode::VerifyCa, SslMode::Require] {
        assert!(with("localhost", mode, Some(file.clone())).is_err(), "{mode:?} takes another's certificate");
    }
    std::fs::write(&file, "no certificate").unwrap();
    assert!(with("localhost", SslMode::VerifyFull, Some(file)).err().unwrap().message().contains("has no certificate"));
}

#[test]
fn copies_in_both_directions_and_goes_on_after_errors() {
    let server = TestServer::start();
    let mut client = Client::connect(&target(&server, "")).unwrap();
    client.query("CREATE TABLE t (id int PRIMARY KEY, name text)").unwrap();
    let mut copy = client.copy_in("COPY t FROM STDIN").unwrap();
    assert!(!copy.is_binary());
    for id in 0..20_000 {
        copy.write(format!("{id}\tname {id}\n").as_bytes()).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), "COPY 20000");
    let mut bytes = 0;
    let tag = client.copy_out("COPY t TO STDOUT", &mut |row| {
        bytes += row.len();
        Ok(())
    });
    assert_eq!(
        (tag.unwrap().as_str(), bytes),
        ("COPY 20000", (0..20_000).map(|id| format!("{id}\tname {id}\n").len()).sum())
    );

    // Client 2: what nobody reads is passed over, an error leaves the connection ready.
    drop(client.copy_in("COPY t FROM STDIN").unwrap());
    let mut answers = client.simple("SELECT * FROM t; SELECT 1").unwrap();
    assert!(matches!(answers.next().unwrap(), Some(Answer::Columns(_))));
    drop(answers);
    assert_eq!(client.query("SELECT nothing FROM t").unwrap_err().sqlstate(), "42703");
    let error = client.query("INSERT INTO t VALUES (1, 'again')").unwrap_err();
    assert_eq!(error.sqlstate(), "23505");
    assert!(client.copy_in("SELECT 1").is_err());
    client.query("BEGIN").unwrap();
    assert!(client.query("SELECT 1/0").is_err() && client.is_failed());
    client.query("ROLLBACK").unwrap();
    client.query("DROP TABLE IF EXISTS nowhere").unwrap();
    assert!(client.take_notices()[0].message().contains("does not exist"));
    assert_eq!(client.query("SELECT count(*) FROM t").unwrap()[0].rows[0][0].as_deref(), Some("20000"));
    assert!(client.query("").unwrap().is_empty());

    server.database.session().unwrap();
    drop(server);
    assert!(client.query("SELECT 1").is_err());
    assert!(client.query("SELECT 1").unwrap_err().message().contains("is over"), "client 3");
}

#[test]
fn json_goes_in_and_out_as_lines() {
    let server = TestServer::start();
    let mut client = Client::connect(&target(&server, "")).unwrap();
    client.query("CREATE TABLE t (id int PRIMARY KEY, name text DEFAULT 'none', doc jsonb)").unwrap();
    let mut copy = client.copy_in("COPY t FROM STDIN (FORMAT json)").unwrap();
    assert!(!copy.is_binary());
    for id in 0..20_000 {
        copy.write(format!("{{\"id\": {id}, \"doc\": {{\"n\": [{id}]}}}}\r\n").as_bytes()).unwrap();
    }
    // What clients that know the text form only send at the end.
    copy.write(b"\\.\n").unwrap();
    assert_eq!(copy.finish().unwrap(), "COPY 20000");
    let mut rows = Vec::new();
    let tag = client.copy_out("COPY (SELECT * FROM t ORDER BY id) TO STDOUT (FORMAT json)", &mut |row| {
        rows.push(String::from_utf8(row.to_vec()).unwrap());
        Ok(())
    });
    assert_eq!((tag.unwrap().as_str(), rows.len()), ("COPY 20000", 20_000));
    assert_eq!(rows[7], "{\"id\":7,\"name\":\"none\",\"doc\":{\"n\": [7]}}\n");
    let mut copy = client.copy_in("COPY t (doc, id) FROM STDIN (FORMAT json)").unwrap();
    copy.write(b"{\"id\": 20001}\n\n{\"id\": 20002, \"name\": \"x\"}\n").unwrap();
    let error = copy.finish().unwrap_err();
    assert_eq!(error.sqlstate(), "22P04");
    assert!(error.message().contains("\"name\"") && error.message().contains("STDIN, line 3"), "{error}");
    assert_eq!(client.query("SELECT count(*) FROM t").unwrap()[0].rows[0][0].as_deref(), Some("20000"));
}

#[test]
fn cancels_over_tls_and_comes_in_by_the_socket() {
    let (server, _) = secured();
    let mut client = Client::connect(&target(&server, "?sslmode=require")).unwrap();
    let canceller = client.canceller();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel().unwrap();
    });
    let begun = Instant::now();
    let endless = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    assert_eq!(client.query(endless).unwrap_err().sqlstate(), "57014");
    assert!(begun.elapsed() < Duration::from_secs(10));
    thread.join().unwrap();
    assert_eq!(client.query("SELECT 1").unwrap().len(), 1);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_owned();
    let local = TestServer::with(|config| ServerConfig { socket_dir: Some(path), ..config });
    let socket = local.server.as_ref().unwrap().socket().unwrap().to_owned();
    let mut client = Client::connect(&Target::of_socket(&socket)).unwrap();
    assert_eq!(client.query("SELECT 2").unwrap()[0].rows[0][0].as_deref(), Some("2"));
}

/// A PostgreSQL of the test's own, that asks for SCRAM passwords.
struct Postgres {
    dir: tempfile::TempDir,
    bin: PathBuf,
    port: u16,
}

impl Postgres {
    /// None where there is no PostgreSQL, or no user `postgres` that may run it.
    fn start() -> Option<Postgres> {
        let bin = PathBuf::from("/usr/lib/postgresql/15/bin");
        if !bin.join("initdb").exists() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        std::fs::write(dir.path().join("password"), "secret").unwrap();
        let server = Postgres { dir, bin, port };
        let place = server.dir.path().display();
        let made = server.run(&format!(
            "initdb -D {place}/data -U weft --auth=scram-sha-256 --pwfile={place}/password -E UTF8 --locale=C"
        )) && server.run(&format!(
            "pg_ctl -D {place}/data -w -l {place}/log -o '-p {port} -k {place} -c listen_addresses=127.0.0.1' start"
        ));
        made.then_some(server)
    }

    fn run(&self, command: &str) -> bool {
        let place = self.dir.path();
        let command = format!("cd {} && {}/{command}", place.display(), self.bin.display());
        // PostgreSQL does not run as root.
        let _ = Command::new("chown").args(["-R", "postgres"]).arg(place).output();
        let as_postgres = Command::new("su").args(["postgres", "-c", &command]).output();
        as_postgres.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let place = self.dir.path().display().to_string();
        self.run(&format!("pg_ctl -D {place}/data -m immediate stop"));
    }
}

#[test]
fn speaks_with_postgresql() {
    let Some(server) = Postgres::start() else {
        eprintln!("skipped: no PostgreSQL that can be started");
        return;
    };
    let url = format!("postgres://weft:secret@127.0.0.1:{}/postgres", server.port);
    let mut client = Client::connect(&Target::parse(&url).unwrap()).unwrap();
    assert!(client.parameter("server_version").unwrap().starts_with("15"));
    client.query("CREATE TABLE t (id int PRIMARY KEY, a numeric(5,2))").unwrap();
    let mut copy = client.copy_in("COPY t FROM STDIN").unwrap();
    copy.write(b"1\t1.50\n2\t\\N\n").unwrap();
    assert_eq!(copy.finish().unwrap(), "COPY 2");
    let mut text = Vec::new();
    let tag = client.copy_out("COPY t TO STDOUT", &mut |row| {
        text.extend_from_slice(row);
        Ok(())
    });
    assert_eq!((tag.unwrap().as_str(), &text[..]), ("COPY 2", &b"1\t1.50\n2\t\\N\n"[..]));
    let weft_server::client::ClientError::Server(report) = client.query("INSERT INTO t VALUES (1, 0)").unwrap_err()
    else {
        panic!("the server refused it")
    };
    assert_eq!((report.detail(), report.field('n')), (Some("Key (id)=(1) already exists."), Some("t_pkey")));
    let canceller = client.canceller();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        canceller.cancel().unwrap();
    });
    assert_eq!(client.query("SELECT pg_sleep(30)").unwrap_err().sqlstate(), "57014");
    thread.join().unwrap();
    let wrong = Target::parse(&url.replace("secret", "guess")).unwrap();
    assert_eq!(Client::connect(&wrong).err().unwrap().sqlstate(), "28P01");
    let by_socket = Target::of_socket(Path::new(server.dir.path()));
    let by_socket =
        Target { port: server.port, database: "postgres".into(), password: Some("secret".into()), ..by_socket };
    assert_eq!(Client::connect(&by_socket).unwrap().query("SELECT 1").unwrap()[0].tag, "SELECT 1");
}
