//! psql and pgbench through the router.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::path::Path;
use std::process::Command;

use servers::{Company, PASSWORD, ask, skip};
use weft_router::Door;
use weft_wire::TlsIdentity;

/// A program with what it needs to connect; none: it is not there.
fn client(company: &Company, program: &str) -> Option<Command> {
    if Command::new(program).arg("--version").output().is_err() {
        skip(&format!("there is no {program}"));
        return None;
    }
    let mut command = Command::new(program);
    command.env("PGHOST", "127.0.0.1").env("PGPORT", company.address().port().to_string());
    command.env("PGUSER", "weft").env("PGDATABASE", "weft").env("PGPASSWORD", PASSWORD);
    Some(command)
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

/// What the router says to who watches it.
#[test]
fn it_is_watched() {
    let change = |options: &mut weft_router::Options| options.metrics = Some(([127, 0, 0, 1], 0).into());
    let Some(company) = Company::start(change) else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int)").unwrap();
    (0..7).for_each(|_| assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "0"));
    let metrics = company.router.as_ref().unwrap().metrics().unwrap();
    let read = |path: &str| {
        let mut stream = std::net::TcpStream::connect(metrics).unwrap();
        std::io::Write::write_all(&mut stream, format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    assert_eq!(read("/health"), "ok\n");
    let read = weft_wire::monitor::samples(&read("/metrics"));
    let of = |side: &str| read[&format!("weft_route_statements_total{{side=\"{side}\"}}")];
    assert_eq!((of("writer"), of("node"), read["weft_route_sessions"]), (1.0, 7.0, 1.0));
    let writer = format!("{{server=\"127.0.0.1:{}\",role=\"writer\"}}", company.options.writer.port);
    assert_eq!(read[&format!("weft_route_server_up{writer}")], 1.0);
    assert_eq!(read[&format!("weft_route_server_connections{writer}")], 1.0);
}

#[test]
fn pgbench_runs_through_it() {
    let Some(company) = Company::start(|_| {}) else { return };
    let Some(mut pgbench) = client(&company, "pgbench") else { return };
    run(pgbench.args(["-i", "-I", "dtgp", "-s", "1", "-q"]));
    let reads = "SELECT count(*) FROM pgbench_history h WHERE h.tid > 0;\n";
    let script = company.dir.path().join("mixed.sql");
    std::fs::write(
        &script,
        format!(
            "\\set n random(1, 100000)\n{reads}UPDATE pgbench_accounts SET abalance = :n WHERE aid = :n;\n\
        SELECT abalance FROM pgbench_accounts WHERE aid = :n;\n"
        ),
    )
    .unwrap();
    for mode in ["simple", "extended", "prepared"] {
        for script in [None, Some(&script)] {
            let Some(mut pgbench) = client(&company, "pgbench") else { return };
            pgbench.args(["-n", "-c", "4", "-j", "2", "-t", "50", "-M", mode]);
            if let Some(script) = script {
                pgbench.arg("-f").arg(script as &Path);
            }
            let told = run(&mut pgbench);
            assert!(told.contains("200/200"), "{mode}: {told}");
        }
    }
}

#[test]
fn psql_comes_in_with_its_password_over_tls_and_without() {
    let identity = TlsIdentity::make(vec!["localhost".into()]).unwrap();
    let change = |options: &mut weft_router::Options| {
        (options.door, options.tls) = (Door::Password, Some(identity));
        options.probe.1 = Some(PASSWORD.into());
    };
    let Some(company) = Company::start_with(&[], change) else { return };
    for mode in ["disable", "require"] {
        let Some(mut psql) = client(&company, "psql") else { return };
        psql.env("PGSSLMODE", mode).args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-c", "CREATE TABLE IF NOT EXISTS t (id int)", "-c", "INSERT INTO t VALUES (1)"]);
        psql.args(["-c", "SELECT count(*) > 0 FROM t", "-c", "\\d t", "-c", "\\copy t TO STDOUT"]);
        let told = run(&mut psql);
        assert!(told.contains('t') && told.contains("integer"), "{told}");
        let Some(mut psql) = client(&company, "psql") else { return };
        psql.env("PGSSLMODE", mode).env("PGPASSWORD", "wrong").args(["-X", "-c", "SELECT 1"]);
        let refused = psql.output().unwrap();
        assert!(String::from_utf8_lossy(&refused.stderr).contains("password authentication failed"), "{refused:?}");
    }
}
