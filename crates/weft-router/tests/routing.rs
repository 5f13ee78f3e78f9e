//! A writer, two nodes and a router: what a client sees through it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::time::Duration;

use weft_router::{Options, Place};

use servers::checks::{ZONE, cancelled, rolled_back_settings, unseen};
use servers::wire::{bind, execute, heard, names, parse, query, sync, talk};
use servers::{Company, Served, ask, ran_on, refused, until};

fn told() -> Option<Company> {
    Company::start(|options| options.tell = true)
}

#[test]
fn each_statement_runs_where_it_can() {
    let Some(company) = told() else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10), (2, 20)").unwrap();
    client.query("CREATE SEQUENCE s").unwrap();
    for (sql, place) in [
        ("SELECT sum(v) FROM t", "node"),
        ("WITH x AS (SELECT * FROM t) SELECT count(*) FROM x", "node"),
        ("SELECT v FROM t WHERE id = 1 FOR UPDATE", "writer"),
        ("SELECT nextval('s')", "writer"),
        ("SELECT pg_advisory_lock(1)", "writer"),
        ("EXPLAIN SELECT * FROM t", "node"),
        ("SHOW transaction_read_only", "writer"),
        ("SELECT pg_is_in_recovery()", "writer"),
        ("SELECT 1; SELECT 2", "node"),
        ("UPDATE t SET v = 11 WHERE id = 1", "writer"),
    ] {
        client.query(sql).unwrap();
        assert_eq!(ran_on(&mut client), place, "{sql}");
    }
    assert_eq!(refused(&mut client, "SELEC 1"), "42601");
    assert_eq!(refused(&mut client, "SELECT nope FROM t"), "42703");
    // Answers and errors are the writer's to the letter.
    for sql in ["SELECT id, v, v / 3.0 FROM t ORDER BY id", "VALUES (1, NULL), (2, 'b')", "SELECT 1 / 0"] {
        let (here, there) = (client.query(sql), company.writer().query(sql));
        assert_eq!(here.map_err(|e| e.to_string()), there.map_err(|e| e.to_string()), "{sql}");
    }
}

#[test]
fn settings_that_were_rolled_back_are_told_to_no_node() {
    let Some(company) = told() else { return };
    assert_eq!(rolled_back_settings(&company), "one");
}

#[test]
fn a_session_sees_what_it_wrote() {
    let Some(company) = told() else { return };
    assert_eq!(unseen(&company, 200), 0);
}

#[test]
fn settings_are_the_same_on_both_sides() {
    let Some(company) = told() else { return };
    let mut writer = company.writer();
    let mut client = company.connect();
    ask(&mut client, "SELECT 1");
    for set in [
        "SET timezone = 'Asia/Tokyo'",
        "BEGIN; SET timezone = 'America/New_York'; ROLLBACK",
        "BEGIN; SET LOCAL timezone = 'Asia/Kathmandu'; COMMIT",
        "BEGIN; SET timezone = 'Europe/Berlin'; SAVEPOINT a; SET timezone = 'UTC'; ROLLBACK TO a; COMMIT",
        "SELECT set_config('timezone', 'Australia/Sydney', false)",
        "SET search_path = information_schema, \"$user\", public",
        "RESET timezone",
        "SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'",
        "RESET ALL",
    ] {
        client.query(set).unwrap();
        writer.query(set).unwrap();
        client.take_notices();
        for read in [ZONE, "SELECT timestamptz '2026-06-01 12:00+00'::text", "SELECT (interval '1 day 2 hours')::text"]
        {
            assert_eq!(ask(&mut client, read), ask(&mut writer, read), "{set}: {read}");
            assert_eq!(ran_on(&mut client), "node");
        }
    }
    assert_eq!(refused(&mut client, "SET timezone = 'Nowhere/None'"), "22023");
    assert_eq!(ask(&mut client, ZONE), ask(&mut writer, ZONE));
    // What was set in a transaction of a node holds behind it.
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "node");
    client.query("SET timezone = 'Asia/Tokyo'").unwrap();
    client.query("COMMIT").unwrap();
    assert_eq!(ask(&mut client, "SHOW timezone"), "Asia/Tokyo");
}

#[test]
fn roles_and_rights_go_with_the_session() {
    let Some(company) = told() else { return };
    company.writer().query("CREATE ROLE ann; CREATE TABLE t (id int); CREATE TABLE u (id int)").unwrap();
    company.writer().query("GRANT SELECT ON t TO ann").unwrap();
    let mut client = company.connect();
    client.query("SET ROLE ann").unwrap();
    assert_eq!(ask(&mut client, "SELECT current_user"), "ann");
    assert_eq!(ran_on(&mut client), "node");
    assert_eq!(refused(&mut client, "SELECT * FROM u"), "42501");
    client.query("RESET ROLE").unwrap();
    client.query("SELECT * FROM u").unwrap();
    assert_eq!(ask(&mut client, "SELECT current_user"), "weft");
}

#[test]
fn transactions_stay_where_they_began() {
    let Some(company) = told() else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
    client.query("BEGIN").unwrap();
    client.query("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "1");
    assert_eq!(ran_on(&mut client), "writer");
    assert_eq!(refused(&mut client, "SELECT 1 / 0"), "22012");
    assert_eq!(refused(&mut client, "SELECT 1"), "25P02");
    client.query("ROLLBACK").unwrap();
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "0");
    assert_eq!(ran_on(&mut client), "node");
    client.query("BEGIN READ ONLY").unwrap();
    company.writer().query("INSERT INTO t VALUES (2)").unwrap();
    client.query("DECLARE c CURSOR FOR SELECT 1").unwrap();
    assert_eq!(ran_on(&mut client), "node");
    assert_eq!(ask(&mut client, "FETCH c"), "1");
    assert_eq!(refused(&mut client, "INSERT INTO t VALUES (3)"), "25006");
    assert_eq!(refused(&mut client, "SELECT 1"), "25P02");
    client.query("ROLLBACK").unwrap();
    // What a node would do wrongly.
    for sql in ["SELECT pg_advisory_xact_lock(1)", "PREPARE p AS SELECT 1", "DECLARE c CURSOR WITH HOLD FOR SELECT 1"] {
        client.query("BEGIN READ ONLY").unwrap();
        assert_eq!(refused(&mut client, sql), "0A000", "{sql}");
        assert_eq!(refused(&mut client, "SELECT 1"), "25P02");
        client.query("ROLLBACK").unwrap();
        assert_eq!((ask(&mut client, "SELECT 1"), ran_on(&mut client)), ("1".into(), "node"), "{sql}");
    }
    client.query("INSERT INTO t VALUES (4)").unwrap();
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "2");
}

#[test]
fn what_lives_in_a_connection_keeps_the_session_there() {
    let Some(company) = told() else { return };
    for (makes, uses) in [
        ("CREATE TEMP TABLE x AS SELECT 1 AS id", "SELECT id FROM x"),
        ("PREPARE p AS SELECT 1", "EXECUTE p"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "FETCH c"),
    ] {
        let mut client = company.connect();
        ask(&mut client, "SELECT 1");
        client.query(makes).unwrap();
        assert_eq!(ask(&mut client, uses), "1");
        assert_eq!(ran_on(&mut client), "writer");
        client.query("SELECT 1").unwrap();
        assert_eq!(ran_on(&mut client), "writer", "{makes}");
        client.query("DISCARD ALL").unwrap();
        client.query("SELECT 1").unwrap();
        assert_eq!(ran_on(&mut client), "node", "{makes}");
    }
}

#[test]
fn copy_goes_both_ways() {
    let Some(company) = told() else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int PRIMARY KEY, v text)").unwrap();
    let mut copy = client.copy_in("COPY t FROM STDIN").unwrap();
    for id in 0..20_000 {
        copy.write(format!("{id}\tvalue {id}\n").as_bytes()).unwrap();
    }
    assert_eq!(copy.finish().unwrap(), "COPY 20000");
    let mut bytes = Vec::new();
    let mut keep = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    let tag = client.copy_out("COPY (SELECT * FROM t ORDER BY id) TO STDOUT", &mut keep).unwrap();
    assert_eq!((tag.as_str(), bytes.iter().filter(|&&byte| byte == b'\n').count()), ("COPY 20000", 20_000));
    assert_eq!(ran_on(&mut client), "node");
    let mut copy = client.copy_in("COPY t FROM STDIN").unwrap();
    copy.write(b"1\tagain\n").unwrap();
    assert_eq!(copy.finish().unwrap_err().sqlstate(), "23505");
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "20000");
}

#[test]
fn a_cancel_request_stops_what_runs_and_nothing_else() {
    let Some(company) = told() else { return };
    assert_eq!(cancelled(&company), "57014");
    let mut client = company.connect();
    let canceller = client.canceller();
    let stop = std::sync::atomic::AtomicBool::new(false);
    // Of another session, which runs nothing: nobody sees it.
    let mut idle = company.connect();
    let of_idle = idle.canceller();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                of_idle.cancel().unwrap();
            }
        });
        for _ in 0..100 {
            client.query("SELECT 1").unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    idle.query("SELECT 1").unwrap();
    canceller.cancel().unwrap();
    client.query("SELECT 1").unwrap();
}

#[test]
fn prepared_statements_run_on_both_sides() {
    let Some(company) = told() else { return };
    names(company.address().port()).unwrap();
}

#[test]
fn a_node_of_another_database_is_not_read() {
    if servers::program().is_none() {
        return servers::skip("there is no program weft");
    }
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("other");
    let other = Served::start(&db, &["--auth", "trust"]);
    let node = Served::start(&db, &["--auth", "trust", "--follow", "--node-name", "x"]);
    let place = |served: &Served| Place { host: "127.0.0.1".into(), port: served.port };
    let (other, node) = (place(&other), place(&node));
    // The node alone, and with its writer.
    for nodes in [vec![node.clone()], vec![node, other]] {
        let change = |options: &mut Options| {
            (options.tell, options.freshness, options.nodes) = (true, "none".to_owned(), nodes);
        };
        let Some(company) = Company::start(change) else { return };
        let mut client = company.connect();
        for round in 0..20 {
            client.query("SELECT 1").unwrap();
            assert_eq!(ran_on(&mut client), "writer", "round {round}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_node_that_goes_is_left_and_taken_again() {
    let Some(mut company) = told() else { return };
    company.writer().query("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let mut clients: Vec<_> = (0..8).map(|_| company.connect()).collect();
    for client in &mut clients {
        assert_eq!(ask(client, "SELECT count(*) FROM t"), "1");
        assert_eq!(ran_on(client), "node");
    }
    // In the midst of transactions that a node has, and of none.
    clients[0].query("BEGIN READ ONLY").unwrap();
    clients[1].query("BEGIN READ ONLY").unwrap();
    for at in 0..2 {
        company.nodes[at].take();
    }
    for (at, client) in clients.iter_mut().enumerate() {
        if at < 2 {
            assert_eq!(refused(client, "SELECT count(*) FROM t"), "40001");
            assert_eq!(refused(client, "SELECT count(*) FROM t"), "25P02");
            client.query("ROLLBACK").unwrap();
        }
        assert_eq!(ask(client, "SELECT count(*) FROM t"), "1");
        assert_eq!(ran_on(client), "writer");
    }
    company.follow_again(1);
    until("a read on the node that came again", || {
        ask(&mut clients[3], "SELECT count(*) FROM t");
        ran_on(&mut clients[3]) == "node"
    });
}

#[test]
fn without_the_writer_the_router_lives_on() {
    let Some(mut company) = told() else { return };
    let mut reads = company.connect();
    reads.query("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
    ask(&mut reads, "SELECT count(*) FROM t");
    let mut writes = company.connect();
    let port = company.options.writer.port;
    company.writer.take();
    assert_eq!(ask(&mut reads, "SELECT count(*) FROM t"), "0", "nodes need no writer");
    assert_eq!(refused(&mut writes, "INSERT INTO t VALUES (1)"), "08006");
    let error = weft_wire::client::Client::connect(&company.target()).err().unwrap();
    assert_eq!(error.sqlstate(), "57P03", "{error}");
    let db = company.dir.path().join("db");
    company.writer = Some(servers::Served::start_at(&db, port, &["--auth", "trust"]));
    company.connect().query("INSERT INTO t VALUES (1)").unwrap();
}

#[test]
fn long_pipelines_and_copies_of_the_extended_protocol() {
    let Some(company) = told() else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int PRIMARY KEY, v text)").unwrap();
    // Longer than what is kept, with answers longer than what sockets keep.
    let wide = "x".repeat(1000);
    let mut messages = vec![parse("w", &format!("INSERT INTO t VALUES ($1, '{wide}')"))];
    messages.extend((0..3000).flat_map(|id| [bind("w", Some(&id.to_string())), execute(0)]));
    messages.push(parse("r", "SELECT * FROM t LIMIT 3"));
    messages.extend((0..500).flat_map(|_| [bind("r", None), execute(0)]));
    messages.push(sync());
    let line = talk(&mut client, &messages, 1);
    assert_eq!(line.matches("C(INSERT 0 1)").count(), 3000);
    assert_eq!(line.matches("C(SELECT 3)").count(), 500);
    let messages: Vec<_> = (0..2000).flat_map(|_| [bind("r", None), execute(0)]).chain([sync()]).collect();
    assert_eq!(talk(&mut client, &messages, 1).matches("C(SELECT 3)").count(), 2000);
    // COPY, whose Sync came before its bytes counts for nothing.
    let begun = talk(&mut client, &[parse("", "COPY t FROM STDIN"), bind("", None), execute(0), sync()], 1);
    assert_eq!(begun, "1 2 G");
    let rows = [(b'd', b"9001\ta\n".to_vec()), (b'd', b"9002\tb\n".to_vec()), (b'c', Vec::new()), sync()];
    assert_eq!(talk(&mut client, &rows, 1), "C(COPY 2) Z(I)");
    // Answers that are asked for before the end.
    let line = talk(&mut client, &[parse("", "SELECT 1"), bind("", None), execute(0), (b'H', Vec::new()), sync()], 1);
    assert_eq!(line, "1 2 D(1) C(SELECT 1) Z(I)");
    assert_eq!(talk(&mut client, &[query("SELECT count(*) FROM t")], 1), "D(3002) C(SELECT 1) Z(I)");
    assert_eq!(talk(&mut client, &[sync(), query("")], 2), "Z(I) I Z(I)");
    let _ = heard;
}
