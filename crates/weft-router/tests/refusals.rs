//! Nodes that refuse, end or abort what they are sent; writers that trust everybody; sessions whose settings are not in
//! their texts. No client hears of it, or it hears the truth.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use servers::checks::{ZONE, after_a_failed_batch, before, cancelled_where_a_node_hangs, read_where_a_node_hangs};
use servers::fake::{CONNECTS, Fake, Said};
use servers::wire::{bind, execute, heard, parse, query, sync, talk};
use servers::{Company, PASSWORD, ask, ran_on, refused, until};
use weft_router::Door;
use weft_wire::TlsIdentity;
use weft_wire::client::{Client, SslMode};

#[test]
fn a_transaction_that_failed_on_a_node_is_ended_there() {
    let Some(said) = after_a_failed_batch() else { return };
    assert_eq!(said, "7");
}

#[test]
fn a_node_that_refuses_a_setting_is_left_alone() {
    let fake = Fake::start(|text| match text.contains("set_config(") {
        true => Said::Error("22023"),
        false => Said::Row(&["7"]),
    });
    let Some(company) = before(&fake) else { return };
    let mut client = company.connect();
    assert_eq!(ask(&mut client, "SELECT 1"), "7");
    client.query("SET timezone = 'Asia/Tokyo'").unwrap();
    for _ in 0..200 {
        assert_eq!(ask(&mut client, "SELECT 1"), "1");
    }
    assert!(fake.connected() <= 4, "{} connections for 200 reads", fake.connected());
    // Another session has not set it.
    assert_eq!(ask(&mut company.connect(), "SELECT 1"), "7");
}

#[test]
fn a_password_that_a_node_does_not_take_is_not_tried_with_each_read() {
    let fake = Fake::start(|text| if text == CONNECTS { Said::Fatal("28P01") } else { Said::Row(&["7"]) });
    let Some(company) = before(&fake) else { return };
    let mut client = company.connect();
    for _ in 0..200 {
        assert_eq!(ask(&mut client, "SELECT 1"), "1");
    }
    assert!((1..=4).contains(&fake.connected()), "{} logins for 200 reads", fake.connected());
}

#[test]
fn what_one_session_meets_at_a_node_says_nothing_to_the_others() {
    let is_full = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_full);
    let fake = Fake::start(move |text| match text {
        CONNECTS if seen.load(Ordering::SeqCst) => Said::Fatal("53300"),
        "SELECT 57" => Said::Fatal("57P01"),
        _ => Said::Row(&["7"]),
    });
    let Some(company) = before(&fake) else { return };
    let (mut one, mut other) = (company.connect(), company.connect());
    assert_eq!((ask(&mut one, "SELECT 1"), ask(&mut other, "SELECT 1")), ("7".into(), "7".into()));
    assert_eq!(ask(&mut one, "SELECT 57"), "57", "it runs again on the writer");
    assert_eq!(ask(&mut one, "SELECT 1"), "1", "it leaves the node alone");
    let mut third = company.connect();
    assert_eq!(ask(&mut third, "SELECT 1"), "7");
    third.query("BEGIN READ ONLY").unwrap();
    assert_eq!(refused(&mut third, "SELECT 57"), "40001", "its transaction is lost");
    third.query("ROLLBACK").unwrap();
    assert_eq!(ask(&mut company.connect(), "SELECT 1"), "7", "a new one comes in there");
    is_full.store(true, Ordering::SeqCst);
    assert_eq!(ask(&mut company.connect(), "SELECT 1"), "1", "there is no place on the node");
    for _ in 0..20 {
        assert_eq!(ask(&mut other, "SELECT 1"), "7", "who is there stays there");
    }
    assert_eq!(fake.connected(), 5);
}

#[test]
fn nobody_waits_for_a_node_that_hangs() {
    let Some(read) = read_where_a_node_hangs() else { return };
    assert_eq!(read, "2 writer");
}

#[test]
fn a_cancel_request_that_a_node_does_not_hear_is_kept() {
    let Some(ended) = cancelled_where_a_node_hangs() else { return };
    assert_eq!(ended, "57014");
}

#[test]
fn who_has_not_logged_in_takes_nobodys_place() {
    let change = |options: &mut weft_router::Options| {
        (options.connections_max, options.authentication_timeout) = (4, Duration::from_secs(1));
    };
    let Some(company) = Company::start(change) else { return };
    let begun = Instant::now();
    let dial = || TcpStream::connect(company.address()).unwrap();
    let mut silent: Vec<TcpStream> = (0..20).map(|_| dial()).collect();
    let mut slow = dial();
    let mut clients: Vec<Client> = (0..4).map(|_| company.connect()).collect();
    assert_eq!(ask(&mut clients[3], "SELECT 1"), "1");
    // Byte by byte, each in time.
    let packet = [0, 0, 1, 0, 0, 3, 0, 0].into_iter().chain(std::iter::repeat(b'a'));
    let sent = packet.take_while(|byte| {
        std::thread::sleep(Duration::from_millis(50));
        std::io::Write::write_all(&mut slow, &[*byte]).is_ok()
    });
    let sent = sent.take(200).count();
    assert!(sent < 100 && begun.elapsed() < Duration::from_secs(8), "{sent} bytes in {:?}", begun.elapsed());
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert!(std::io::Read::read(stream, &mut [0; 16]).is_ok_and(|count| count == 0), "its time is over");
    }
    assert_eq!(Client::connect(&company.target()).err().unwrap().sqlstate(), "53300");
    drop(clients);
    until("there is a place again", || Client::connect(&company.target()).is_ok());
}

#[test]
fn what_must_be_serializable_is_on_the_writer() {
    let Some(company) = Company::start(|options| options.tell = true) else { return };
    let mut client = company.connect();
    client.query("SET default_transaction_isolation = 'serializable'").unwrap();
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "writer");
    client.query("COMMIT; SET default_transaction_isolation = 'read committed'").unwrap();
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "node");
    assert_eq!(refused(&mut client, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"), "0A000");
    client.query("ROLLBACK").unwrap();
    client.query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE").unwrap();
    client.query("BEGIN READ ONLY; SELECT 1; COMMIT").unwrap();
    assert_eq!(ran_on(&mut client), "writer");
}

#[test]
fn a_writer_that_trusts_everybody_lets_nobody_in_by_a_password() {
    let identity = TlsIdentity::make(vec!["localhost".into()]).unwrap();
    let change = |options: &mut weft_router::Options| (options.door, options.tls) = (Door::Password, Some(identity));
    let Some(company) = Company::start(change) else { return };
    for password in [PASSWORD, "wrong"] {
        let mut target = company.target();
        (target.ssl_mode, target.password) = (SslMode::Require, Some(password.into()));
        let error = Client::connect(&target).err().expect("it is refused");
        assert_eq!(error.sqlstate(), "28000", "{error}");
        assert!(error.message().contains("trusts everybody"), "{error}");
    }
}

#[test]
fn a_setting_beside_something_else_is_not_forgotten() {
    let Some(company) = Company::start(|options| options.tell = true) else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int); CREATE SEQUENCE s").unwrap();
    for set in [
        "INSERT INTO t VALUES (length(set_config('timezone', 'Asia/Tokyo', false)))",
        "SELECT nextval('s'), set_config('timezone', 'Asia/Tokyo', false)",
    ] {
        let (mut client, mut writer) = (company.connect(), company.writer());
        assert_ne!(ask(&mut client, ZONE), "09");
        client.query(set).unwrap();
        writer.query(set).unwrap();
        assert_eq!(ask(&mut client, ZONE), ask(&mut writer, ZONE), "{set}");
        assert_eq!((ask(&mut client, ZONE), ran_on(&mut client)), ("09".into(), "writer"), "{set}");
        client.query("DISCARD ALL").unwrap();
        assert_ne!(ask(&mut client, ZONE), "09");
        assert_eq!(ran_on(&mut client), "node");
    }
}

#[test]
fn a_local_freshness_outside_of_a_transaction_is_none() {
    let Some(company) = Company::start(|options| options.tell = true) else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int)").unwrap();
    for round in 0..300 {
        client.query("SET LOCAL freshness = 'none'").unwrap();
        client.query("INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), (round + 1).to_string());
        assert_eq!(ran_on(&mut client), "node");
    }
}

#[test]
fn a_transaction_that_reads_begins_where_it_sees_what_it_must() {
    let change = |options: &mut weft_router::Options| {
        (options.tell, options.late_after) = (true, Duration::from_millis(200));
    };
    let Some(company) = Company::start(change) else { return };
    let mut client = company.connect();
    client.query("CREATE TABLE t (id int)").unwrap();
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "node");
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "0");
    client.query("COMMIT").unwrap();
    // A commit that no node shows in time.
    client.query("SET freshness_token = '900000000'").unwrap();
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "writer");
    assert_eq!(ask(&mut client, "SELECT count(*) FROM t"), "0");
    assert_eq!(refused(&mut client, "INSERT INTO t VALUES (1)"), "25006");
    client.query("ROLLBACK").unwrap();
    // The same when more than BEGIN is sent at once.
    client.query("BEGIN READ ONLY; SELECT count(*) FROM t").unwrap();
    assert_eq!(ran_on(&mut client), "writer");
    client.query("ROLLBACK").unwrap();
    client.query("SET freshness_token = ''").unwrap();
    client.query("BEGIN READ ONLY").unwrap();
    assert_eq!(ran_on(&mut client), "node");
}

/// COPY whose bytes are behind it in the pipeline, and messages that are longer than what sockets keep.
fn pipelines(client: &mut Client) {
    client.query("CREATE TABLE IF NOT EXISTS p (id int, v text); DELETE FROM p").unwrap();
    for rows in [3, 5_000, 100_000] {
        let begin = [parse("", "COPY p FROM STDIN"), bind("", None), execute(0)];
        let data = (0..rows).map(|id| (b'd', format!("{id}\tvalue number {id}\n").into_bytes()));
        let end = [(b'c', Vec::new()), sync()];
        let messages: Vec<_> = begin.into_iter().chain(data).chain(end).collect();
        assert_eq!(talk(client, &messages, 1), "1 2 G");
        assert_eq!(heard(client, 1), format!("C(COPY {rows}) Z(I)"));
    }
    // Two in one pipeline, and one in the simple protocol whose bytes were not waited for.
    let two: Vec<_> = [parse("c", "COPY p FROM STDIN"), bind("c", None), execute(0), (b'd', b"1\ta\n".to_vec())]
        .into_iter()
        .chain([
            (b'c', Vec::new()),
            bind("c", None),
            execute(0),
            (b'd', b"2\tb\n".to_vec()),
            (b'c', Vec::new()),
            sync(),
        ])
        .collect();
    let told = [talk(client, &two, 1), heard(client, 1), heard(client, 1)];
    assert_eq!(told, ["1 2 G", "C(COPY 1) 2 G", "C(COPY 1) Z(I)"]);
    let simple = [query("COPY p FROM STDIN"), (b'd', b"3\tc\n".to_vec()), (b'c', Vec::new()), query("SELECT 1")];
    assert_eq!([talk(client, &simple, 2), heard(client, 2)], ["G", "C(COPY 1) Z(I) D(1) C(SELECT 1) Z(I)"]);
    assert_eq!(ask(client, "SELECT count(*) FROM p"), "105006");
    // Bytes that are wrong, of which the end comes behind the error.
    let wrong: Vec<_> = [parse("", "COPY p FROM STDIN"), bind("", None), execute(0)]
        .into_iter()
        .chain((0..100_000).map(|_| (b'd', b"x\ty and more of it\n".to_vec())))
        .chain([(b'c', Vec::new()), sync(), query("SELECT 2")])
        .collect();
    assert_eq!([talk(client, &wrong, 2), heard(client, 2)], ["1 2 G", "E(22P02) Z(I) D(2) C(SELECT 1) Z(I)"]);
    // Answers of 4 MB wait while 4 MB are sent; each on a node, and on the writer.
    let wide = "x".repeat(1 << 20);
    for sql in ["SELECT repeat('y', 1000000), length($1)", "SELECT repeat('y', 1000000), length($1), pg_backend_pid()"]
    {
        let mut messages = vec![parse("", sql)];
        messages.extend((0..4).flat_map(|_| [bind("", Some(&wide)), execute(0)]));
        messages.push(sync());
        let line = talk(client, &messages, 1);
        assert_eq!(line.matches("C(SELECT 1)").count(), 4, "{}", &line[..line.len().min(200)]);
    }
}

#[test]
fn nobody_waits_in_a_circle() {
    let identity = TlsIdentity::make(vec!["localhost".into()]).unwrap();
    let Some(company) = Company::start(|options| options.tls = Some(identity)) else { return };
    let (done, ended) = std::sync::mpsc::channel();
    for mode in [SslMode::Disable, SslMode::Require] {
        let (done, mut target) = (done.clone(), company.target());
        target.ssl_mode = mode;
        let run = std::thread::spawn(move || {
            pipelines(&mut Client::connect(&target).unwrap());
            done.send(()).unwrap();
        });
        if ended.recv_timeout(Duration::from_secs(120)).is_err() {
            assert!(run.is_finished(), "it hangs");
            std::panic::resume_unwind(run.join().unwrap_err());
        }
    }
}

#[test]
fn nodes_are_not_fed_through_the_router() {
    let Some(company) = Company::start(|_| ()) else { return };
    let asked = "START_REPLICATION WEFT 1 NODE 'berlin' ADDRESS '10.0.0.7:5432'";
    let mut client = company.connect();
    assert_eq!(refused(&mut client, asked), "0A000");
    assert_eq!(ask(&mut client, "SELECT 1"), "1");
}
