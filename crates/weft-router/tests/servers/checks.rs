//! What holds without faults, and must not with them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft_router::Options;
use weft_wire::client::Client;

use super::fake::{Fake, Said};
use super::{Company, ask, ran_on};

/// Rounds of a write and the read of it on a node; how many were not seen.
pub fn unseen(company: &Company, rounds: u32) -> u32 {
    let mut client = company.connect();
    client.query("CREATE TABLE IF NOT EXISTS own (id int PRIMARY KEY, v int); DELETE FROM own").unwrap();
    let mut unseen = 0;
    for round in 0..rounds {
        client.query(&format!("INSERT INTO own VALUES ({round}, 1)")).unwrap();
        let count: u32 = ask(&mut client, "SELECT count(*) FROM own").parse().unwrap();
        assert_eq!(ran_on(&mut client), "node");
        unseen += u32::from(count != round + 1);
    }
    unseen
}

/// Whether a node is told the commit that its session has made, before it is read.
pub fn is_told_the_commit() -> Option<bool> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let fake = Fake::start(move |text| {
        hears.lock().unwrap().push(text.to_owned());
        Said::Row(&["7"])
    });
    let company = before(&fake)?;
    let mut client = company.connect();
    client.query("CREATE TABLE own (id int PRIMARY KEY); INSERT INTO own VALUES (1)").unwrap();
    assert_eq!(ask(&mut client, "SELECT 1"), "7");
    let heard = heard.lock().unwrap();
    let (told, read) = (heard.iter().position(|text| text.contains("SET freshness_token = '")), "SELECT 1");
    Some(told.is_some_and(|told| heard[told..].iter().any(|text| text == read)))
}

/// A company whose nodes have stopped in the midst of what they did, and a session that was on one of them.
fn stopped(change: impl FnOnce(&mut Options)) -> Option<(Company, Client)> {
    let company = Company::start(|options| {
        options.connect_timeout = Duration::from_millis(300);
        options.tell = true;
        change(options);
    })?;
    let mut client = company.connect();
    assert_eq!((ask(&mut client, "SELECT 1"), ran_on(&mut client)), ("1".into(), "node"));
    company.nodes.iter().flatten().for_each(|node| node.signal("-STOP"));
    // Who hangs is not waited for for ever.
    client.channel().socket().set_read_timeout(Some(Duration::from_secs(8))).unwrap();
    Some((company, client))
}

/// What a session reads whose node hangs, and where: "2 writer".
pub fn read_where_a_node_hangs() -> Option<String> {
    let (_company, mut client) = stopped(|options| options.silence_max = Duration::from_secs(1))?;
    let read = client.query("SELECT 2").map(|results| results[0].rows[0][0].clone().unwrap_or_default());
    Some(read.map_or_else(|error| error.sqlstate().to_owned(), |read| format!("{read} {}", ran_on(&mut client))))
}

/// The SQLSTATE of a read that is cancelled on a node that hangs, and does not hear of it.
pub fn cancelled_where_a_node_hangs() -> Option<String> {
    let (_company, mut client) = stopped(|options| options.silence_max = Duration::from_secs(3600))?;
    let canceller = client.canceller();
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel().unwrap();
    });
    let ended = client.query("SELECT 2");
    late.join().unwrap();
    Some(ended.err().map_or_else(String::new, |error| error.sqlstate().to_owned()))
}

/// A setting that a read on a node shows: the time zone of its session.
pub const ZONE: &str = "SELECT to_char(timestamptz '2026-01-01 00:00+00', 'HH24')";

/// The time zone of reads before and after one that was rolled back: "one" when they are the same.
pub fn rolled_back_settings(company: &Company) -> String {
    let mut client = company.connect();
    client.query("SET timezone = 'Asia/Tokyo'").unwrap();
    let hour = ask(&mut client, ZONE);
    assert_eq!(ran_on(&mut client), "node");
    client.query("BEGIN; SET timezone = 'Asia/Kathmandu'").unwrap();
    client.query("ROLLBACK").unwrap();
    let after = ask(&mut client, ZONE);
    assert_eq!(ran_on(&mut client), "node");
    if hour == after { "one".into() } else { format!("{hour}, then {after}") }
}

/// The SQLSTATE of a long read on a node that is cancelled.
pub fn cancelled(company: &Company) -> String {
    let mut client = company.connect();
    ask(&mut client, "SELECT 1");
    let canceller = client.canceller();
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel().unwrap();
    });
    let ended = client.query("SELECT pg_sleep(3)");
    late.join().unwrap();
    ended.err().map_or_else(String::new, |error| error.sqlstate().to_owned())
}

/// A writer, and a fake for its only node. Probes look seldom: what they find is not what is tested.
pub fn before(fake: &Fake) -> Option<Company> {
    Company::start(|options| {
        options.nodes = vec![fake.place()];
        options.probe_every = Duration::from_secs(3600);
        options.tell = true;
    })
}

/// What a read says after a batch that failed in a transaction on its node, which says "7", and ran on the writer.
pub fn after_a_failed_batch() -> Option<String> {
    let fake = Fake::start(|text| match text {
        "BEGIN READ ONLY; SELECT 9" => Said::Aborted("25006"),
        _ => Said::Row(&["7"]),
    });
    let company = before(&fake)?;
    let mut client = company.connect();
    assert_eq!(ask(&mut client, "SELECT 1"), "7");
    assert_eq!(ask(&mut client, "BEGIN READ ONLY; SELECT 9"), "9", "it runs again on the writer");
    assert_eq!(ran_on(&mut client), "writer");
    client.query("COMMIT").unwrap();
    let said = client.query("SELECT 1").map(|results| results[0].rows[0][0].clone().unwrap_or_default());
    assert_eq!(fake.connected(), 1, "the connection is the one from before");
    Some(said.unwrap_or_else(|error| error.sqlstate().to_owned()))
}

/// What a session reads whose node, which says "7", has ended the connection of another one.
pub fn beside_an_ended_session() -> Option<String> {
    let fake = Fake::start(|text| if text == "SELECT 57" { Said::Fatal("57P01") } else { Said::Row(&["7"]) });
    let company = before(&fake)?;
    let (mut one, mut other) = (company.connect(), company.connect());
    assert_eq!((ask(&mut one, "SELECT 1"), ask(&mut other, "SELECT 1")), ("7".into(), "7".into()));
    assert_eq!(ask(&mut one, "SELECT 57"), "57", "it runs again on the writer");
    assert_eq!(ask(&mut one, "SELECT 1"), "1", "it leaves the node alone");
    Some(ask(&mut other, "SELECT 1"))
}
