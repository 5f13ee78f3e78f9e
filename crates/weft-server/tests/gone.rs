//! What ends a statement beside its own end: a client that is gone, and the client's time limit.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests talk to sockets and threads")]

mod wire;

use std::net::Shutdown;
use std::time::{Duration, Instant};

use wire::{TestServer, Wire};

/// It is noticed within half a second, and ends soon after; the rest is for machines that do much else.
const SOON: Duration = Duration::from_secs(4);

/// Rows in `big`.
const BIG_ROWS: u32 = 200_000;

fn big(server: &TestServer) -> Wire {
    let mut wire = server.connect();
    wire.run("CREATE TABLE big (a integer PRIMARY KEY, b text, c integer)").unwrap();
    wire.run(&format!("INSERT INTO big SELECT g, repeat('Abc', 20) || g, g FROM generate_series(1, {BIG_ROWS}) s(g)"))
        .unwrap();
    wire.run("CREATE TABLE locked (a integer PRIMARY KEY, b integer); INSERT INTO locked VALUES (1, 1)").unwrap();
    wire
}

/// What takes far longer than anybody waits for, or stops at the row that another transaction has locked.
const LONG: &[&str] = &[
    "SELECT count(*) FROM generate_series(1, 10000000) a(x) CROSS JOIN generate_series(1, 10000000) b(y) WHERE x <> y",
    "SELECT x + y FROM generate_series(1, 10000000) a(x) CROSS JOIN generate_series(1, 10000000) b(y)",
    "UPDATE locked SET b = 2 WHERE a = 1",
    "UPDATE locked SET b = 2 WHERE b = 1",
    "SELECT b FROM locked WHERE a = 1 FOR UPDATE",
    "DROP TABLE locked",
    "INSERT INTO locked SELECT x, y FROM generate_series(1, 10000000) a(x) CROSS JOIN generate_series(1, 100) b(y) \
     WHERE x + y < 0",
    "COPY (SELECT x + y FROM generate_series(1, 10000000) a(x) CROSS JOIN generate_series(1, 10000000) b(y)) TO STDOUT",
    "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c, pg_attribute d WHERE a.attnum + b.attnum \
     + c.attnum < d.attnum",
    "SELECT max(s) FROM (SELECT stddev(x::double precision) OVER (ORDER BY x ROWS BETWEEN 400000 PRECEDING AND 400000 \
     FOLLOWING) AS s FROM generate_series(1, 1000000) a(x)) q",
];

/// How many statements run, beside the one that asks.
fn active(wire: &mut Wire) -> String {
    wire.value("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()")
}

fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{what}: {:?}", begun.elapsed());
}

#[test]
fn who_is_gone_has_no_statement_running() {
    let server = TestServer::start();
    let mut observer = big(&server);
    let mut holder = server.connect();
    holder.run("BEGIN; UPDATE locked SET b = b WHERE a = 1").unwrap();
    for statement in LONG {
        let mut client = server.connect();
        client.query(statement).flush();
        until("it runs", Duration::from_secs(20), || active(&mut observer) == "1");
        std::thread::sleep(Duration::from_millis(100));
        drop(client);
        until(statement, SOON, || active(&mut observer) == "0");
    }
    until("nobody else is there", SOON, || server.server.as_ref().unwrap().connections() == 2);
    holder.run("ROLLBACK").unwrap();
    assert_eq!(observer.value("SELECT b FROM locked"), "1");
}

#[test]
fn what_a_client_that_is_gone_sent_ahead_is_not_run() {
    let server = TestServer::start();
    let mut observer = big(&server);
    let mut client = server.connect();
    client.query(LONG[0]).query("INSERT INTO locked VALUES (2, 2)").flush();
    until("it runs", Duration::from_secs(20), || active(&mut observer) == "1");
    // Half closed is gone: nobody who still wants an answer does that.
    client.stream.shutdown(Shutdown::Write).unwrap();
    until("the long one ends", SOON, || active(&mut observer) == "0");
    until("the connection ends", SOON, || server.server.as_ref().unwrap().connections() == 1);
    assert_eq!(observer.value("SELECT count(*) FROM locked"), "1");
    // One that is there is left alone, however long it takes, and so is one that has sent much ahead.
    let mut patient = server.connect();
    patient.query("SELECT count(*) FROM generate_series(1, 3000) a(x), generate_series(1, 3000) b(y) WHERE x < y");
    patient.query("SELECT 1");
    let answers = patient.answers();
    assert_eq!(wire::tags(&answers), "TDCZ");
    assert_eq!(wire::tags(&patient.until_ready()), "TDCZ");
}

#[test]
fn every_statement_ends_in_time() {
    let server = TestServer::start();
    let mut observer = big(&server);
    let mut holder = server.connect();
    holder.run("BEGIN; UPDATE locked SET b = b WHERE a = 1").unwrap();
    let more = [
        "CREATE INDEX ON big ((lower(upper(lower(upper(lower(upper(b))))))))",
        "CREATE UNIQUE INDEX ON big (b, c)",
        "UPDATE big SET c = c + 1",
        "UPDATE big SET a = -a",
        "DELETE FROM big",
        "ALTER TABLE big ADD CONSTRAINT sane CHECK (length(lower(upper(lower(upper(b))))) > 3)",
        "INSERT INTO big SELECT a + 1000000, b, c FROM big",
        "SELECT b FROM big WHERE a > 0 FOR UPDATE",
    ];
    let mut client = server.connect();
    for statement in LONG.iter().chain(&more) {
        client.run("SET statement_timeout = '200ms'").unwrap();
        let begun = Instant::now();
        let answers = client.query(statement).answers();
        let error = answers.iter().find(|message| message.tag == b'E').and_then(|message| message.field(b'C'));
        println!("{:?} {error:?} {statement}", begun.elapsed());
        assert!(begun.elapsed() < SOON, "{statement} took {:?}", begun.elapsed());
        // What is done in so short a time, on a fast machine, is done.
        assert!(error.as_deref() == Some("57014") || !LONG.contains(statement), "{statement}: {error:?}");
        client.run("SET statement_timeout = 0").unwrap();
    }
    assert_eq!(active(&mut observer), "0");
}

/// As many statements as there are query slots wait for a row; its holder's next query needs a slot.
#[test]
fn who_waits_for_a_row_holds_no_query_slot() {
    let server = TestServer::start();
    let mut holder = server.connect();
    holder.run("CREATE TABLE t (a integer PRIMARY KEY, b integer); INSERT INTO t VALUES (1, 1), (2, 2)").unwrap();
    let mut observer = server.connect();
    for statement in ["UPDATE t SET b = b WHERE b = 1", "DELETE FROM t WHERE b + 0 = 1 RETURNING a"] {
        holder.run("BEGIN; UPDATE t SET b = b WHERE a = 1").unwrap();
        let mut waiters: Vec<Wire> = (0..64).map(|_| server.connect()).collect();
        for waiter in &mut waiters {
            waiter.query(&format!("SET lock_timeout = 0; BEGIN; {statement}; ROLLBACK")).flush();
        }
        until("all wait", Duration::from_secs(30), || active(&mut observer) == "64");
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        assert_eq!(holder.value("SELECT sum(b) FROM t"), "3");
        assert!(begun.elapsed() < SOON, "it waited {:?} for a slot", begun.elapsed());
        holder.run("ROLLBACK").unwrap();
        for waiter in &mut waiters {
            assert!(waiter.until_ready().iter().all(|message| message.tag != b'E'));
        }
    }
    assert_eq!(observer.value("SELECT count(*) FROM t"), "2");
}
