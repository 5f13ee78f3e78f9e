//! `weft serve DIR --follow postgres://...`: a node that shares nothing with its server but a connection.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod served;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use served::Served;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);
const SUMS: &str = "SELECT (SELECT sum(v) FROM c), (SELECT sum(v) FROM r), (SELECT sum(v) FROM l), \
                    (SELECT count(*) FROM r WHERE v = 5)";

fn weft(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_weft")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn until(what: &str, mut test: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !test() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A port that nobody has at the moment: a server that is started again listens where it did.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn writer(scratch: &Path, address: &str) -> Served {
    Served::start_with(&scratch.join("writer"), &["--listen", address])
}

/// Waits until a node shows what its server shows, and compares.
fn is_same(writer: &Served, node: &Served) {
    let token = writer.ask("SELECT weft_published_commit()");
    let ask = format!("SET freshness_token = '{token}'; SET freshness_timeout = '60s'; {SUMS}");
    assert_eq!(node.ask(&ask), writer.ask(SUMS));
}

#[test]
fn a_node_is_fed_by_its_server() {
    let scratch = tempfile::tempdir().unwrap();
    let (scratch, address) = (scratch.path(), free_port());
    let first = writer(scratch, &address);
    first.ask(
        "CREATE TABLE c (k bigint PRIMARY KEY, v bigint NOT NULL); \
         CREATE TABLE r (k bigint PRIMARY KEY, v bigint NOT NULL) USING row; \
         CREATE TABLE l (k bigint PRIMARY KEY, v bigint NOT NULL) USING lineage; CREATE INDEX ON r (v); \
         CREATE ROLE feeds LOGIN REPLICATION PASSWORD 'p@ss word'; CREATE ROLE plain LOGIN PASSWORD 'plain'",
    );
    let fill = |server: &Served, round: i64| {
        for table in ["c", "r", "l"] {
            let (from, to) = (round * 3_000, round * 3_000 + 2_999);
            server.ask(&format!("INSERT INTO {table} SELECT g, g % 97 FROM generate_series({from}, {to}) s(g)"));
            server.ask(&format!("UPDATE {table} SET v = v + 1 WHERE k % 7 = {round}"));
        }
    };
    fill(&first, 0);
    let url = format!("postgres://feeds:p%40ss%20word@{address}/weft?sslmode=require");
    let follow = ["--follow", url.as_str(), "--node-name", "berlin"];
    let far = scratch.join("far");
    let node = Served::start_with(&far, &follow);
    for round in 1..3 {
        fill(&first, round);
        first.ask("CHECKPOINT");
        is_same(&first, &node);
    }
    assert_eq!(node.ask("SELECT state, last_error FROM weft_archive"), "following|");
    assert_eq!(node.ask("SELECT pg_is_in_recovery()"), "t");
    assert_eq!(node.ask("SET freshness = '30s'; SELECT 1"), "1");
    let seen = "SELECT node, address, state, left_behind FROM weft_nodes";
    until("the server knows its node", || {
        first.ask(seen).starts_with("berlin|") && first.ask(seen).contains("following")
    });
    assert!(first.ask(seen).ends_with("|following|f"), "{}", first.ask(seen));
    assert!(node.refused("INSERT INTO c VALUES (-5, 1)").contains("read-only"));

    // Killed, each in its turn, it goes on; what the node missed is kept for it.
    node.kill();
    first.ask("DELETE FROM c WHERE k % 3 = 0");
    let node = Served::start_with(&far, &follow);
    is_same(&first, &node);
    first.kill();
    assert_eq!(node.ask("SELECT count(*) FROM l"), "9000", "without its server it shows what it has");
    until("it says so", || node.ask("SELECT state FROM weft_archive") == "waiting");
    let second = writer(scratch, &address);
    second.ask("INSERT INTO c VALUES (-1, 1000000)");
    is_same(&second, &node);
    assert_eq!(node.ask("SELECT joins FROM weft_replication"), "1", "it never began anew");

    // Nobody writes its directory; who may not have the whole database does not get it.
    let far = far.display().to_string();
    drop(node);
    let refused = weft(&["serve", "--listen", "127.0.0.1:0", &far]);
    assert!(!refused.status.success() && text(&refused).contains("nobody may write it"), "{}", text(&refused));
    let new = scratch.join("new").display().to_string();
    for (user, what) in [("plain:plain", "permission denied"), ("feeds:wrong", "password authentication failed")] {
        let url = format!("postgres://{user}@{address}/weft");
        let refused = weft(&["serve", "--listen", "127.0.0.1:0", "--follow", &url, &new]);
        assert!(!refused.status.success() && text(&refused).contains(what), "{}", text(&refused));
    }
    let refused = second.refused("START_REPLICATION SLOT s LOGICAL 0/0");
    assert!(refused.contains("weft serve DIR --follow"), "{refused}");
}

#[test]
fn a_node_that_follows_feeds_nobody_and_a_server_may_feed_none() {
    let scratch = tempfile::tempdir().unwrap();
    let scratch = scratch.path();
    let server = Served::start_with(&scratch.join("writer"), &["--nodes", "off"]);
    let url = format!("postgres://weft:{}@127.0.0.1:{}/weft", served::PASSWORD.replace(' ', "%20"), server.port);
    let new = scratch.join("new").display().to_string();
    let follow = ["serve", "--listen", "127.0.0.1:0", "--node-join-timeout", "2s", "--follow", &url, &new];
    let refused = weft(&follow);
    assert!(!refused.status.success() && text(&refused).contains("keeps nothing for nodes"), "{}", text(&refused));
    drop(server);
    let server = Served::start(&scratch.join("writer"));
    server.ask("CREATE TABLE c (k bigint PRIMARY KEY); INSERT INTO c VALUES (1)");
    let beside = Served::start_with(&scratch.join("writer"), &["--follow"]);
    let url = format!("postgres://weft:{}@127.0.0.1:{}/weft", served::PASSWORD.replace(' ', "%20"), beside.port);
    let follow = ["serve", "--listen", "127.0.0.1:0", "--node-join-timeout", "2s", "--follow", &url, &new];
    let refused = weft(&follow);
    assert!(!refused.status.success() && text(&refused).contains("feeds nobody"), "{}", text(&refused));
    drop(beside);
}
