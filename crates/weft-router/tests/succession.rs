//! A node is promoted while clients are at the router: they go on, at the new writer.
//!
//! 1. A session without a transaction goes on, with its settings and its prepared statements, and sees what it wrote.
//! 2. One that had something in its connection to the old writer ends, and says so.
//! 3. Nobody goes back to a writer that was overtaken.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::process::Command;

use servers::wire::{bind, execute, parse, sync, talk};
use servers::{Company, Served, ask, program, ran_on, refused, until};
use weft_wire::client::Client;

/// Makes the node `a` the writer.
fn promote(company: &Company, options: &[&str]) {
    let mut command = Command::new(program().unwrap());
    let ended = command.args(["promote", "--node", "a"]).args(options).arg(company.dir.path().join("db")).output();
    let ended = ended.unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

/// Clients that are there before, the settings and statements of one of them.
fn clients(company: &Company) -> [Client; 4] {
    company.writer().query("CREATE TABLE t (id int PRIMARY KEY, v int)").unwrap();
    let mut clients = [(); 4].map(|()| company.connect());
    for (at, client) in clients.iter_mut().enumerate() {
        client.query(&format!("SET application_name = 'client {at}'; INSERT INTO t VALUES ({at}, 0)")).unwrap();
        assert_eq!(ask(client, "SELECT v FROM t ORDER BY id DESC LIMIT 1"), "0");
        assert_eq!(ran_on(client), "node");
    }
    let made = talk(&mut clients[0], &[parse("p", "UPDATE t SET v = v + 1 WHERE id = $1"), sync()], 1);
    assert_eq!(made, "1 Z(I)");
    clients[2].query("CREATE TEMP TABLE scratch (id int)").unwrap();
    clients[3].query("BEGIN; INSERT INTO t VALUES (30, 0)").unwrap();
    clients
}

/// What the clients see when the node has taken the writer's place.
fn go_on(company: &mut Company, mut clients: [Client; 4]) {
    let run = [bind("p", Some("0")), execute(0), sync()];
    assert_eq!(talk(&mut clients[0], &run, 1), "2 C(UPDATE 1) Z(I)");
    assert_eq!(ask(&mut clients[0], "SHOW application_name"), "client 0");
    for round in 0..50 {
        let id = 100 + round;
        clients[1].query(&format!("INSERT INTO t VALUES ({id}, 7)")).unwrap();
        assert_eq!(ask(&mut clients[1], &format!("SELECT v FROM t WHERE id = {id}")), "7", "own writes are seen");
    }
    assert_eq!(refused(&mut clients[2], "SELECT * FROM scratch"), "08006");
    assert_eq!(refused(&mut clients[3], "COMMIT"), "08006");
    let mut new = company.connect();
    assert_eq!(ask(&mut new, "SELECT count(*) FROM t"), "54");
    // The one before comes back as a node.
    let (db, port) = (company.dir.path().join("db"), company.options.writer.port);
    company.writer.take();
    let follow = ["--auth", "trust", "--follow", "--node-name", "old"];
    company.writer = Some(Served::start_at(&db, port, &follow));
    company.nodes[1].take();
    until("reads run on the node that was the writer", || {
        ask(&mut new, "SELECT count(*) FROM t") == "54" && ran_on(&mut new) == "node"
    });
    new.query("INSERT INTO t VALUES (500, 1)").unwrap();
    assert_eq!(ask(&mut new, "SELECT count(*) FROM t"), "55");
}

#[test]
fn sessions_go_on_when_a_node_takes_the_place_of_a_dead_writer() {
    let Some(mut company) = Company::start(|options| options.tell = true) else { return };
    let clients = clients(&company);
    company.writer.take();
    promote(&company, &[]);
    go_on(&mut company, clients);
}

#[test]
fn nobody_waits_for_a_writer_that_hangs_once_it_is_overtaken() {
    let Some(mut company) = Company::start(|options| options.tell = true) else { return };
    let clients = clients(&company);
    let mut client = company.connect();
    company.writer.as_ref().unwrap().signal("-STOP");
    // In the midst of a statement.
    let waits = std::thread::spawn(move || {
        client.query("INSERT INTO t VALUES (40, 0)").map(drop).map_err(|error| error.sqlstate().to_owned())
    });
    promote(&company, &["--force"]);
    assert_eq!(waits.join().unwrap(), Err("08006".to_owned()));
    // It wakes up, and is believed by nobody.
    company.writer.as_ref().unwrap().signal("-CONT");
    go_on(&mut company, clients);
}
