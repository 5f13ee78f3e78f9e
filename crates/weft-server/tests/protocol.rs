//! The protocol, message by message, against a real server.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests talk to sockets and threads")]

mod wire;

use std::time::{Duration, Instant};

use weft_server::{Auth, ServerConfig};
use wire::{Message, TestServer, Wire, tags};

#[test]
fn a_text_of_statements_is_one_transaction() {
    let server = TestServer::start();
    let mut wire = server.connect();
    let messages =
        wire.query("CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t VALUES (1), (2); SELECT a FROM t").answers();
    assert_eq!(tags(&messages), "CCTDDCZ");
    assert_eq!(wire.run("INSERT INTO t VALUES (3); INSERT INTO t VALUES (1)").unwrap_err(), "23505");
    assert_eq!(wire.value("SELECT count(*) FROM t"), "2");
    assert_eq!(
        wire.run("INSERT INTO t VALUES (4); COMMIT; INSERT INTO t VALUES (5); SELECT 1/0").unwrap_err(),
        "22012"
    );
    assert_eq!(wire.value("SELECT max(a) FROM t"), "4");
    let messages = wire.query("INSERT INTO t VALUES (6); BEGIN; INSERT INTO t VALUES (7)").answers();
    assert_eq!(messages.last().unwrap().body, b"T");
    wire.run("ROLLBACK").unwrap();
    assert_eq!(wire.value("SELECT max(a) FROM t"), "4");
    assert_eq!(tags(&wire.query(" ; ").answers()), "IZ");
}

#[test]
fn messages_may_be_sent_ahead() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY, b text)").unwrap();
    wire.parse("ins", "INSERT INTO t VALUES ($1, $2)", &[]);
    for key in 0..100u32 {
        wire.bind("", "ins", &[Some(key.to_string().as_bytes()), Some(b"x")], 0).execute("", 0);
    }
    let messages = wire.sync().answers();
    assert_eq!(tags(&messages), format!("1{}Z", "2C".repeat(100)));
    assert_eq!(wire.value("SELECT count(*) FROM t"), "100");
    // One of them fails: the others up to Sync are passed over, and nothing of them has happened.
    for key in [200, 5, 201u32] {
        wire.bind("", "ins", &[Some(key.to_string().as_bytes()), Some(b"y")], 0).execute("", 0);
    }
    wire.sync().bind("", "ins", &[Some(b"300"), None], 0).execute("", 0).sync();
    let messages = wire.answers();
    assert_eq!(tags(&messages), "2C2EZ");
    assert_eq!(messages[3].field(b'C').unwrap(), "23505");
    assert_eq!(messages[3].field(b'n').unwrap(), "t_pkey");
    assert_eq!(tags(&wire.until_ready()), "2CZ");
    assert_eq!(wire.value("SELECT count(*) FROM t"), "101");
}

#[test]
fn portals_are_suspended() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY); INSERT INTO t SELECT g FROM generate_series(1, 10) s(g)")
        .unwrap();
    wire.run("BEGIN").unwrap();
    wire.parse("", "SELECT a FROM t ORDER BY a", &[]).bind("p", "", &[], 0).describe(b'P', "p").execute("p", 4).sync();
    assert_eq!(tags(&wire.answers()), "12TDDDDsZ");
    assert_eq!(tags(&wire.execute("p", 4).sync().answers()), "DDDDsZ");
    let messages = wire.execute("p", 4).sync().answers();
    assert_eq!(tags(&messages), "DDCZ");
    assert_eq!(messages[2].body, b"SELECT 2\0");
    wire.run("COMMIT").unwrap();
    let messages = wire.execute("p", 4).sync().answers();
    assert_eq!(messages[0].field(b'C').unwrap(), "34000");
}

#[test]
fn values_go_both_ways_in_binary() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY, b bigint, c double precision, d numeric(10,2), e date, f text)")
        .unwrap();
    let numeric = [0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x13, 0x88];
    wire.parse("", "INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6) RETURNING *", &[]);
    let values: [&[u8]; 6] =
        [&7i32.to_be_bytes(), &(-8i64).to_be_bytes(), &1.5f64.to_be_bytes(), &numeric, &[0, 0, 0, 1], b"hi"];
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(*value)).collect();
    let messages = wire.bind("", "", &values, 1).execute("", 0).sync().answers();
    assert_eq!(tags(&messages), "12DCZ", "{messages:?}");
    let back: Vec<Option<&[u8]>> = values;
    assert_eq!(messages[2].values().iter().map(Option::as_deref).collect::<Vec<_>>(), back);
    assert_eq!(wire.run("SELECT d, e FROM t").unwrap()[0], [Some("-12.50".into()), Some("2000-01-02".into())]);
    // A type that the client names counts: 2.5 is not cut to an integer.
    wire.parse("", "SELECT count(*) FROM t WHERE a > $1", &[701]).bind("", "", &[Some(&6.5f64.to_be_bytes())], 1);
    let messages = wire.execute("", 0).sync().answers();
    assert_eq!(messages[2].values()[0].as_deref(), Some(&1i64.to_be_bytes()[..]), "{messages:?}");
}

#[test]
fn statements_are_described() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY, b varchar(10))").unwrap();
    let messages = wire.parse("s", "SELECT b, a FROM t WHERE a = $1", &[]).describe(b'S', "s").sync().answers();
    assert_eq!(tags(&messages), "1tTZ");
    assert_eq!(messages[1].body, [0, 1, 0, 0, 0, 23]);
    assert_eq!(messages[2].columns(), [("b".into(), 1043, 14), ("a".into(), 23, -1)]);
    let messages = wire.parse("", "SHOW application_name", &[]).describe(b'S', "").sync().answers();
    assert_eq!(messages[2].columns()[0].0, "application_name");
    assert_eq!(
        tags(&wire.parse("", "UPDATE t SET b = $2 WHERE a = $1", &[]).describe(b'S', "").sync().answers()),
        "1tnZ"
    );
    assert_eq!(tags(&wire.parse("", "", &[]).bind("", "", &[], 0).execute("", 0).sync().answers()), "12IZ");
    let messages = wire.parse("", "SELECT nothing FROM t", &[]).sync().answers();
    assert_eq!((messages[0].field(b'C').unwrap(), messages[0].field(b'P').unwrap()), ("42703".into(), "8".into()));
}

#[test]
fn deallocate_takes_statements_of_the_protocol() {
    let server = TestServer::start();
    let mut wire = server.connect();
    let made = |wire: &mut Wire, name: &str| tags(&wire.parse(name, "SELECT 1", &[]).sync().answers());
    assert_eq!(
        (made(&mut wire, "a"), made(&mut wire, "b"), made(&mut wire, "A b")),
        ("1Z".into(), "1Z".into(), "1Z".into())
    );
    assert_eq!(made(&mut wire, "a"), "EZ");
    wire.run("DEALLOCATE a").unwrap();
    assert!(wire.run("DEALLOCATE a").unwrap_err().contains("26000"));
    let messages = wire.bind("", "a", &[], 0).sync().answers();
    assert_eq!(messages[0].field(b'C').unwrap(), "26000");
    wire.run("DEALLOCATE \"A b\"").unwrap();
    assert_eq!((made(&mut wire, "a"), made(&mut wire, "A b")), ("1Z".into(), "1Z".into()));
    assert_eq!(tags(&wire.bind("", "b", &[], 0).execute("", 0).sync().answers()), "2DCZ");
    // In the middle of a series of messages.
    wire.parse("", "DEALLOCATE ALL", &[]).bind("", "", &[], 0).execute("", 0).parse("b", "SELECT 2", &[]);
    assert_eq!(tags(&wire.sync().answers()), "12C1Z");
    assert_eq!((made(&mut wire, "a"), made(&mut wire, "b")), ("1Z".into(), "EZ".into()));
    wire.run("DISCARD ALL").unwrap();
    assert_eq!(made(&mut wire, "b"), "1Z");
}

#[test]
fn copy_goes_through_the_connection() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY, b text)").unwrap();
    wire.query("COPY t FROM STDIN").flush();
    assert_eq!(wire.read().unwrap().tag, b'G');
    wire.message(b'd', b"1\tone\n2\tt\\two\n3").message(b'd', b"\t\\N\n").message(b'c', b"");
    let messages = wire.answers();
    assert_eq!((tags(&messages).as_str(), &messages[0].body[..]), ("CZ", &b"COPY 3\0"[..]), "{messages:?}");
    let messages = wire.query("COPY t TO STDOUT").answers();
    assert_eq!(tags(&messages), "HdddcCZ");
    assert_eq!(
        messages[1..4].iter().map(|m| m.body.clone()).collect::<Vec<_>>().concat(),
        b"1\tone\n2\tt\\two\n3\t\\N\n"
    );
    // What comes out in binary goes in again.
    let messages = wire.query("COPY t TO STDOUT (FORMAT binary)").answers();
    let bytes: Vec<u8> = messages.iter().filter(|m| m.tag == b'd').flat_map(|m| m.body.clone()).collect();
    wire.run("DELETE FROM t").unwrap();
    wire.query("COPY t FROM STDIN (FORMAT binary)").flush();
    assert_eq!(wire.read().unwrap().tag, b'G');
    assert_eq!(tags(&wire.message(b'd', &bytes).message(b'c', b"").answers()), "CZ");
    assert_eq!(wire.run("SELECT b FROM t ORDER BY a").unwrap(), [[Some("one".into())], [Some("t\two".into())], [None]]);
    // An error in the middle, and a client that gives up: the table is as it was, and the connection goes on.
    wire.query("COPY t FROM STDIN").message(b'd', b"9\tnine\nx\ty\n").message(b'd', b"10\tten\n").message(b'c', b"");
    let messages = wire.answers();
    assert_eq!(messages.iter().find(|m| m.tag == b'E').unwrap().field(b'C').unwrap(), "22P02");
    wire.query("COPY t FROM STDIN").message(b'd', b"9\tnine\n").message(b'f', b"enough\0");
    assert_eq!(wire.answers().iter().find(|m| m.tag == b'E').unwrap().field(b'C').unwrap(), "57014");
    assert_eq!(wire.value("SELECT count(*) FROM t"), "3");
}

/// The settings that messages tell, in their order.
fn told(messages: &[Message]) -> Vec<(String, String)> {
    let parts = |message: &Message| {
        let text = String::from_utf8(message.body.clone()).unwrap();
        let mut parts = text.split('\0').map(str::to_owned);
        (parts.next().unwrap(), parts.next().unwrap())
    };
    messages.iter().filter(|message| message.tag == b'S').map(parts).collect()
}

#[test]
fn zones_and_styles_begin_with_the_session_and_are_told() {
    let server = TestServer::start();
    let mut wire = Wire::open(server.address);
    let options = "-c datestyle=German -c intervalstyle=iso_8601";
    wire.startup(&[
        ("user", "weft"),
        ("database", "weft"),
        ("TimeZone", "America/New_York"),
        ("options", options),
        ("work_mem", "64MB"),
    ]);
    let begun = told(&wire.until_ready());
    for (name, value) in [("TimeZone", "America/New_York"), ("DateStyle", "German, DMY"), ("IntervalStyle", "iso_8601")]
    {
        assert!(begun.contains(&(name.to_owned(), value.to_owned())), "{name}: {begun:?}");
    }
    assert_eq!(wire.value("SHOW work_mem"), "64MB");
    assert_eq!(wire.value("SELECT timestamptz '2024-07-01 12:00+00'"), "01.07.2024 08:00:00 EDT");
    assert_eq!(wire.value("SELECT interval '90 minutes'"), "PT1H30M");
    // What is set is told before the statement is done; what was said at the start comes back.
    let set = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    assert_eq!(told(&wire.query("SET timezone = 'asia/tokyo'").answers()), set("TimeZone", "Asia/Tokyo"));
    assert_eq!(told(&wire.query("BEGIN; SET datestyle = iso").answers()), set("DateStyle", "ISO, DMY"));
    assert_eq!(wire.value("SELECT timestamptz '2024-07-01 12:00+00'"), "2024-07-01 21:00:00+09");
    assert_eq!(told(&wire.query("ROLLBACK").answers()), set("DateStyle", "German, DMY"));
    assert_eq!(told(&wire.query("RESET timezone").answers()), set("TimeZone", "America/New_York"));
    // Parameters are read in the session's zone, as text and, from another type, as bytes.
    wire.parse("p", "SELECT $1::timestamptz", &[]);
    let messages = wire.bind("", "p", &[Some(b"1.7.2024 08:00")], 0).execute("", 0).sync().answers();
    let shown = |messages: &[Message]| messages.iter().find(|m| m.tag == b'D').unwrap().values()[0].clone().unwrap();
    assert_eq!(shown(&messages), b"01.07.2024 08:00:00 EDT");
    // The prepared statement reads in the zone of its execution.
    wire.run("SET timezone = 'UTC'").unwrap();
    let messages = wire.bind("", "p", &[Some(b"1.7.2024 08:00")], 0).execute("", 0).sync().answers();
    assert_eq!(shown(&messages), b"01.07.2024 08:00:00 UTC");
    // Nobody begins a session in a zone that there is not.
    let mut wire = Wire::open(server.address);
    wire.startup(&[("user", "weft"), ("database", "weft"), ("TimeZone", "Europe/Atlantis")]);
    assert_eq!(wire.until_ready().iter().find(|m| m.tag == b'E').unwrap().field(b'C').unwrap(), "22023");
}

#[test]
fn copy_reads_and_writes_in_the_sessions_zone() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY, b timestamptz, c interval)").unwrap();
    wire.run("SET timezone = 'America/New_York'; SET datestyle = 'SQL, DMY'").unwrap();
    wire.query("COPY t FROM STDIN").flush();
    assert_eq!(wire.read().unwrap().tag, b'G');
    wire.message(b'd', b"1\t02/07/2024 08:00\t90 minutes\n2\t2024-07-02 08:00+00\t-1 day\n").message(b'c', b"");
    assert_eq!(tags(&wire.answers()), "CZ");
    let copied = |wire: &mut Wire| {
        let messages = wire.query("COPY (SELECT * FROM t ORDER BY a) TO STDOUT").answers();
        messages.iter().filter(|m| m.tag == b'd').flat_map(|m| m.body.clone()).collect::<Vec<u8>>()
    };
    let local = copied(&mut wire);
    assert_eq!(
        String::from_utf8_lossy(&local),
        "1\t02/07/2024 08:00:00 EDT\t01:30:00\n2\t02/07/2024 04:00:00 EDT\t-1 days\n"
    );
    // What comes out goes in again.
    wire.run("DELETE FROM t").unwrap();
    wire.query("COPY t FROM STDIN").flush();
    assert_eq!(wire.read().unwrap().tag, b'G');
    assert_eq!(tags(&wire.message(b'd', &local).message(b'c', b"").answers()), "CZ");
    wire.run("RESET ALL").unwrap();
    assert_eq!(
        String::from_utf8_lossy(&copied(&mut wire)),
        "1\t2024-07-02 12:00:00+00\t01:30:00\n2\t2024-07-02 08:00:00+00\t-1 days\n"
    );
}

#[test]
fn a_running_statement_is_cancelled() {
    let server = TestServer::start();
    let mut wire = server.connect();
    let key = wire.key.clone();
    let address = server.address;
    let slow = "SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) WHERE x + y = 1";
    wire.query(slow).flush();
    // It is cancelled while it runs, however long it takes to come that far.
    let runs = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%x + y = 1'";
    let (mut watcher, sent) = (server.connect(), Instant::now());
    while watcher.value(runs) != "1" {
        assert!(sent.elapsed() < Duration::from_secs(60), "the statement is not seen running");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    let cancel = |key: &[u8]| {
        let mut other = Wire::open(address);
        other.out.extend_from_slice(&[0, 0, 0, 16]);
        other.out.extend_from_slice(&(1234u32 << 16 | 5678).to_be_bytes());
        other.out.extend_from_slice(key);
        other.flush();
        assert!(other.read().is_none(), "a cancel request has no answer");
    };
    let mut wrong = key.clone();
    wrong[5] ^= 1;
    cancel(&wrong);
    let begun = Instant::now();
    cancel(&key);
    let messages = wire.until_ready();
    assert_eq!(messages[0].field(b'C').unwrap(), "57014");
    println!("cancelled in {:?}", begun.elapsed());
    // Rows that stream are cancelled, too: the client reads nothing until the request was made.
    wire.query("SELECT x, y FROM generate_series(1, 100000) a(x), generate_series(1, 1000) b(y)").flush();
    assert_eq!(wire.read().unwrap().tag, b'T');
    cancel(&key);
    let messages = wire.until_ready();
    assert_eq!(messages[messages.len() - 2].field(b'C').unwrap(), "57014");
    assert_eq!(wire.value("SELECT 1"), "1");
    wire.run("SET statement_timeout = 50").unwrap();
    assert_eq!(wire.run(slow).unwrap_err(), "57014");
}

#[test]
fn who_is_let_in() {
    let server = TestServer::with(|config| ServerConfig { auth: Auth::Scram, connections_max: 3, ..config });
    let refused = |parameters: &[(&str, &str)]| {
        let mut wire = Wire::open(server.address);
        wire.startup(parameters);
        wire.until_ready()
    };
    assert_eq!(refused(&[("database", "weft")])[0].field(b'C').unwrap(), "28000");
    // Someone who sends the password in the clear, or statements before a password, stays outside.
    let mut wire = Wire::open(server.address);
    wire.startup(&[("user", "weft")]);
    assert_eq!(wire.read().unwrap().tag, b'R');
    wire.query("SELECT 1").flush();
    assert_eq!(wire.read().unwrap().field(b'C').unwrap(), "08P01");
    assert!(wire.read().is_none());
    // Clients that never log in count.
    let idle: Vec<Wire> = (0..3)
        .map(|_| {
            let mut wire = Wire::open(server.address);
            wire.startup(&[("user", "weft")]);
            assert_eq!(wire.read().unwrap().tag, b'R');
            wire
        })
        .collect();
    assert_eq!(refused(&[("user", "weft")])[0].field(b'C').unwrap(), "53300");
    drop(idle);
}

/// A connection as a role, or the SQLSTATE that refused it.
fn enter(server: &TestServer, role: &str) -> Result<Wire, String> {
    let mut wire = Wire::open(server.address);
    wire.startup(&[("user", role), ("database", "weft")]);
    let messages = wire.until_ready();
    match messages.iter().find(|message| message.tag == b'E') {
        Some(error) => Err(error.field(b'C').unwrap()),
        None => Ok(wire),
    }
}

#[test]
fn roles_have_their_rights_only() {
    let server = TestServer::start();
    let mut admin = server.connect();
    admin
        .run("CREATE ROLE bob LOGIN PASSWORD 'x'; CREATE ROLE closed PASSWORD 'x'; CREATE TABLE t (a integer)")
        .unwrap();
    assert_eq!(enter(&server, "closed").err().as_deref(), Some("28000"));
    let mut bob = enter(&server, "bob").unwrap();
    assert_eq!(bob.value("SELECT current_user"), "bob");
    for sql in [
        "SELECT * FROM t",
        "INSERT INTO t VALUES (1)",
        "SELECT rolpassword FROM pg_authid",
        "SELECT passwd FROM pg_shadow",
        "SELECT rolpassword FROM pg_catalog.pg_authid",
        "COPY t TO STDOUT",
        "COPY (SELECT 1) TO '/tmp/of_bob'",
        "CREATE TABLE mine (a text)",
        "ALTER ROLE bob SUPERUSER",
        "SET ROLE weft",
        "SET SESSION AUTHORIZATION weft",
        "GRANT pg_read_server_files TO bob",
        "DROP TABLE t",
    ] {
        assert_eq!(bob.run(sql).unwrap_err(), "42501", "{sql}");
    }
    bob.parse("", "SELECT a FROM t WHERE a = $1", &[]).bind("", "", &[Some(b"1")], 0).execute("", 0).sync();
    let messages = bob.answers();
    assert_eq!(messages.iter().find(|m| m.tag == b'E').unwrap().field(b'C').unwrap(), "42501");
    // A statement that is prepared already is refused once the right is gone.
    admin.run("GRANT SELECT ON t TO bob").unwrap();
    bob.parse("p", "SELECT a FROM t WHERE a = $1", &[]).bind("", "p", &[Some(b"1")], 0).execute("", 0).sync();
    assert!(bob.answers().iter().all(|message| message.tag != b'E'));
    admin.run("REVOKE SELECT ON t FROM bob").unwrap();
    bob.bind("", "p", &[Some(b"1")], 0).execute("", 0).sync();
    assert!(bob.answers().iter().any(|message| message.tag == b'E'));
    bob.run("ALTER ROLE bob PASSWORD 'y'").unwrap();
    admin.run("REVOKE CONNECT ON DATABASE weft FROM PUBLIC").unwrap();
    assert_eq!(enter(&server, "bob").err().as_deref(), Some("42501"));
    admin.run("GRANT CONNECT ON DATABASE weft TO bob").unwrap();
    assert!(enter(&server, "bob").is_ok());
    // A superuser that is one no more is none in its open sessions, too.
    admin.run("CREATE ROLE boss LOGIN SUPERUSER; GRANT CONNECT ON DATABASE weft TO boss").unwrap();
    let mut boss = enter(&server, "boss").unwrap();
    assert_eq!(boss.value("SELECT count(*) FROM t"), "0");
    admin.run("ALTER ROLE boss NOSUPERUSER").unwrap();
    assert_eq!(boss.run("SELECT count(*) FROM t").unwrap_err(), "42501");
}

#[test]
fn idle_transactions_end() {
    let server = TestServer::start();
    let mut wire = server.connect();
    wire.run("CREATE TABLE t (a integer PRIMARY KEY)").unwrap();
    wire.run("SET idle_in_transaction_session_timeout = 100; ").unwrap();
    wire.run("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    let error = wire.read().unwrap();
    assert_eq!((error.field(b'S').unwrap(), error.field(b'C').unwrap()), ("FATAL".into(), "25P03".into()));
    assert!(wire.read().is_none());
    let mut other = server.connect();
    other.run("INSERT INTO t VALUES (1)").unwrap();
}

#[test]
fn the_end_of_the_server_is_told() {
    let mut server = TestServer::start();
    let (mut idle, mut busy) = (server.connect(), server.connect());
    busy.query("SELECT count(*) FROM generate_series(1, 100000) a(x), generate_series(1, 100000) b(y) WHERE x + y = 1")
        .flush();
    std::thread::sleep(Duration::from_millis(200));
    server.server.take().unwrap().close();
    assert_eq!(idle.read().unwrap().field(b'C').unwrap(), "57P01");
    let told = busy.until_ready();
    assert!(told.iter().filter_map(|m| m.field(b'C')).any(|code| code == "57P01" || code == "57014"), "{told:?}");
    server.database.close().unwrap();
}

/// A thousand connections one after the other, and five hundred at a time.
#[test]
fn many_connections() {
    let server = TestServer::start();
    for _ in 0..1000 {
        assert_eq!(server.connect().value("SELECT 1"), "1");
    }
    let mut idle: Vec<Wire> = (0..500).map(|_| server.connect()).collect();
    assert_eq!(server.connect().value("SELECT 2"), "2");
    assert_eq!(idle[499].value("SELECT 3"), "3");
    drop(idle);
    let begun = Instant::now();
    while server.server.as_ref().unwrap().connections() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "connections end with their clients");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The names of the sockets may be gone before the server ends: a directory that somebody removed.
#[test]
fn a_server_ends_without_its_directory() {
    let server = TestServer::with(|config| config);
    std::fs::remove_dir_all(server.dir.path()).unwrap();
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(server);
        done.send(()).unwrap();
    });
    ended.recv_timeout(Duration::from_secs(30)).expect("it ends");
}
