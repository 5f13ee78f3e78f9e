//! A server and nodes that follow it, as processes.
//!
//! ```text
//!   serve ─ a client inserts ─ SIGKILL ─ serve again ─ inserts go on ...
//!   serve --follow (a, b): each row that was acknowledged is shown, none is shown and then gone; SIGKILL, and again
//! ```
//!
//! 1. Every acknowledged row is on every node when it has caught up.
//! 2. What a node has shown it shows from then on, whoever is killed.
//! 3. Who asks for the latest sees what was acknowledged before.
//! 4. A node that is promoted has what was acknowledged, and a writer that was overtaken acknowledges nothing more.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod served;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use served::{PASSWORD, Served};
use weft_server::client::{Client, Target};

/// How long a node may take to show what it must.
const LIMIT: Duration = Duration::from_secs(60);

fn follow(db: &Path, name: &str) -> Served {
    Served::start_with(db, &["--follow", "--node-name", name])
}

fn connect(served: &Served) -> Client {
    let secret = PASSWORD.replace(' ', "%20");
    let target = format!("postgres://weft:{secret}@127.0.0.1:{}/weft?sslmode=disable", served.port);
    Client::connect(&Target::parse(&target).unwrap()).unwrap()
}

/// One value.
fn ask(client: &mut Client, sql: &str) -> String {
    let results = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    results.last().unwrap().rows[0][0].clone().unwrap_or_default()
}

/// The SQLSTATE of a statement that fails.
fn refused(client: &mut Client, sql: &str) -> String {
    client.query(sql).err().unwrap_or_else(|| panic!("{sql} is refused")).sqlstate().to_owned()
}

#[test]
fn a_node_reads_and_says_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let writer = Served::start(&db);
    let mut there = connect(&writer);
    there.query("CREATE TABLE t (id bigint PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'one')").unwrap();
    let node = follow(&db, "berlin");
    println!("a node was ready after {:?}", node.ready_after);
    let mut here = connect(&node);
    assert_eq!(ask(&mut here, "SELECT v FROM t WHERE id = 1"), "one");
    assert_eq!(
        (ask(&mut there, "SELECT pg_is_in_recovery()"), ask(&mut here, "SELECT pg_is_in_recovery()")),
        ("f".into(), "t".into())
    );
    assert_eq!(ask(&mut here, "SHOW transaction_read_only"), "on");
    for sql in [
        "INSERT INTO t VALUES (2, 'two')",
        "UPDATE t SET v = 'x' WHERE id = 1",
        "DELETE FROM t",
        "CREATE TABLE u (id int)",
        "DROP TABLE t",
        "SELECT * FROM t FOR UPDATE",
        "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE",
        "BEGIN; INSERT INTO t VALUES (2, 'two')",
    ] {
        assert_eq!(refused(&mut here, sql), "25006", "{sql}");
        let _ = here.query("ROLLBACK");
    }
    let error = here.query("INSERT INTO t VALUES (2, 'two')").err().unwrap();
    assert_eq!(error.message(), "cannot execute INSERT in a read-only transaction");
    assert_eq!(refused(&mut here, "BEGIN READ WRITE"), "0A000");
    // Definitions come, too, and what was prepared goes on.
    there.query("ALTER TABLE t ADD COLUMN w int; CREATE INDEX ON t (w); UPDATE t SET w = 7 WHERE id = 1").unwrap();
    here.query("SET freshness = 'latest'").unwrap();
    assert_eq!(ask(&mut here, "SELECT w FROM t WHERE w = 7"), "7");
    // A token of the writer.
    there.query("INSERT INTO t VALUES (3, 'three', 3)").unwrap();
    let token = ask(&mut there, "SELECT weft_last_commit()");
    here.query(&format!("SET freshness = 'none'; SET freshness_token = '{token}'")).unwrap();
    assert_eq!(ask(&mut here, "SELECT v FROM t WHERE id = 3"), "three");
    here.query("SET freshness_token = '1000000'; SET freshness_timeout = '50ms'").unwrap();
    let error = here.query("SELECT v FROM t WHERE id = 3").err().unwrap();
    assert_eq!(error.sqlstate(), "57014");
    assert!(error.message().contains("does not show commit 1000000 within 50 ms: it is following"), "{error}");
    here.query("SET freshness_token = '0'").unwrap();
    // Own writes, wherever they were made.
    there.query("INSERT INTO t VALUES (4, 'four', 4)").unwrap();
    here.query("SET freshness_timeout = '20s'; SET freshness = 'own writes'").unwrap();
    assert_eq!(
        (ask(&mut here, "SELECT v FROM t WHERE id = 4"), ask(&mut here, "SHOW freshness")),
        ("four".into(), "own writes".into())
    );
    here.query("BEGIN; LOCK TABLE t IN ROW EXCLUSIVE MODE; COMMIT").unwrap();
    // Both know of each other.
    let deadline = Instant::now() + LIMIT;
    while ask(&mut there, "SELECT count(*) FROM weft_nodes WHERE node = 'berlin' AND state = 'following'") != "1" {
        assert!(Instant::now() < deadline, "the writer does not see its node");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ask(&mut here, "SELECT node || ' ' || state FROM weft_replication"), "berlin following");
    assert_eq!(ask(&mut here, "SELECT count(*) FROM weft_nodes"), "0");
    assert_eq!(ask(&mut there, "SELECT count(*) FROM weft_replication"), "0");
}

#[test]
fn every_acknowledged_row_comes_whoever_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let mut writer = Served::start(&db);
    connect(&writer).query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)").unwrap();
    let mut nodes = vec![follow(&db, "a"), follow(&db, "b")];
    let acknowledged = AtomicU64::new(0);
    let mut shown = [0, 0];
    for round in 0..3 {
        let stop = AtomicBool::new(false);
        let mut load = connect(&writer);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let id = acknowledged.load(Ordering::SeqCst) + 1;
                    // One that was not acknowledged may be there.
                    let again = format!("ON CONFLICT (id) DO UPDATE SET v = {round}");
                    let sql = format!("INSERT INTO t VALUES ({id}, {round}) {again}");
                    if load.query(&sql).is_err() {
                        return;
                    }
                    acknowledged.store(id, Ordering::SeqCst);
                }
            });
            let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for (node, shown) in nodes.iter().zip(&mut shown) {
                    let mut here = connect(node);
                    here.query("SET freshness = 'latest'").unwrap();
                    for _ in 0..30 {
                        let before = acknowledged.load(Ordering::SeqCst);
                        let count: u64 = ask(&mut here, "SELECT count(*) FROM t").parse().unwrap();
                        assert!(count >= before, "{count} rows are shown, {before} were acknowledged");
                        assert!(count >= *shown, "{shown} rows were shown, then {count}");
                        *shown = count;
                    }
                }
            }));
            // The writer goes in the midst of it.
            writer.kill();
            stop.store(true, Ordering::SeqCst);
            looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        // A node without a writer shows what it has.
        let count: u64 = ask(&mut connect(&nodes[0]), "SELECT count(*) FROM t").parse().unwrap();
        assert!(count >= shown[0]);
        writer = Served::start(&db);
        nodes.pop().unwrap().kill();
        nodes.push(follow(&db, "b"));
        let expected = acknowledged.load(Ordering::SeqCst);
        for node in &nodes {
            caught_up(node, expected);
        }
    }
    println!("{} rows were acknowledged", acknowledged.load(Ordering::SeqCst));
    assert!(acknowledged.load(Ordering::SeqCst) > 100, "there was load");
}

/// Runs `weft promote`; what it printed, as an error when it failed.
fn promote(db: &Path, options: &[&str]) -> Result<String, String> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_weft")).arg("promote").args(options).arg(db).output();
    let output = output.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(out.into_owned()) } else { Err(err.into_owned()) }
}

/// Inserts rows until it is refused, or told to stop; the last one that was acknowledged is in `acknowledged`.
fn insert_until_refused(load: &mut Client, acknowledged: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let id = acknowledged.load(Ordering::SeqCst) + 1;
        let sql = format!("INSERT INTO t VALUES ({id}, {id}) ON CONFLICT (id) DO UPDATE SET v = {id}");
        if load.query(&sql).is_err() {
            return;
        }
        acknowledged.store(id, Ordering::SeqCst);
    }
}

#[test]
fn a_node_takes_the_place_of_a_writer_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let writer = Served::start(&db);
    connect(&writer).query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)").unwrap();
    let (a, b) = (follow(&db, "a"), follow(&db, "b"));
    let mut idle = connect(&a);
    // What libpq asks for target_session_attrs.
    assert_eq!([&connect(&writer), &idle].map(|it| it.parameter("in_hot_standby").unwrap().to_owned()), ["off", "on"]);
    assert_eq!(refused(&mut connect(&writer), "SELECT pg_promote()"), "55000");
    let refusal = promote(&db, &["--node", "a"]).unwrap_err();
    assert!(refusal.contains("is in use by"), "{refusal}");
    assert!(promote(&db, &[]).unwrap_err().contains("--node a | b"));
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut load = connect(&writer);
    std::thread::scope(|scope| {
        scope.spawn(|| insert_until_refused(&mut load, &acknowledged, &stop));
        std::thread::sleep(Duration::from_millis(500));
        writer.kill();
    });
    let expected = acknowledged.load(Ordering::SeqCst);
    assert!(expected > 10, "there was load");
    let begun = Instant::now();
    assert_eq!(ask(&mut connect(&a), "SELECT pg_promote()"), "t");
    let mut here = loop {
        let mut here = connect(&a);
        if here.query("INSERT INTO t VALUES (0, 0)").is_ok() {
            break here;
        }
        assert!(begun.elapsed() < LIMIT, "the node becomes the writer");
    };
    println!("the first write after {:?}; {expected} rows were acknowledged before", begun.elapsed());
    let count: u64 = ask(&mut here, "SELECT count(*) FROM t").parse().unwrap();
    assert!(count > expected, "{count} rows, {expected} and one were acknowledged");
    assert_eq!(ask(&mut here, "SELECT pg_is_in_recovery()"), "f");
    // Who asked for it is told first.
    while idle.query("SELECT 1").is_ok() {
        assert!(begun.elapsed() < LIMIT, "sessions of what it was end");
        std::thread::sleep(Duration::from_millis(5));
    }
    caught_up(&b, expected + 1);
    assert_eq!(ask(&mut connect(&b), "SELECT joins FROM weft_replication"), "1");
    assert_eq!(ask(&mut here, "SELECT count(*) FROM weft_nodes WHERE node = 'b'"), "1");
}

#[test]
fn a_writer_that_hangs_is_overtaken_and_acknowledges_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let writer = Served::start(&db);
    let mut there = connect(&writer);
    there.query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint); INSERT INTO t VALUES (1, 1)").unwrap();
    let node = follow(&db, "a");
    writer.signal("STOP");
    let refusal = promote(&db, &[]).unwrap_err();
    assert!(refusal.contains("is in use by"), "{refusal}");
    println!("{}", promote(&db, &["--force"]).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let mut here = connect(&node);
    here.query("INSERT INTO t VALUES (2, 2)").unwrap();
    writer.signal("CONT");
    assert!(there.query("INSERT INTO t VALUES (3, 3)").is_err(), "it has lost the directory");
    assert!(!writer.ended(LIMIT), "it ends, and says that something was wrong");
    assert_eq!(ask(&mut here, "SELECT string_agg(id::text, ',' ORDER BY id) FROM t"), "1,2");
    // It comes back as a node.
    let back = follow(&db, "back");
    caught_up(&back, 2);
}

/// Waits until a node has all rows. A connection may end when it joins anew.
fn caught_up(node: &Served, rows: u64) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let counted = connect(node).query("SET freshness = 'latest'; SELECT count(*) FROM t");
        let count = counted.map(|results| results.last().unwrap().rows[0][0].clone().unwrap());
        match count.map(|count| count.parse::<u64>().unwrap()) {
            Ok(count) if count >= rows => return,
            counted => assert!(Instant::now() < deadline, "{rows} rows were acknowledged, the node says {counted:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
