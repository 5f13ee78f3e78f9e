//! Writer and nodes are killed under load: what was acknowledged is there, and every session sees what it wrote.
//!
//! 1. Every acknowledged row is there, whoever was killed.
//! 2. A session sees what it wrote.
//! 3. Clients get no errors but those that ask them to connect again, or to run it again.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use servers::{Company, Served, target, until};
use weft_wire::client::{Client, ClientError};

/// Writes a row and reads it back.
fn round(client: &mut Client, id: u64) -> Result<(), ClientError> {
    client.query(&format!("INSERT INTO t VALUES ({id}) ON CONFLICT (id) DO NOTHING"))?;
    let results = client.query(&format!("SELECT count(*) FROM t WHERE id <= {id} AND id > {}", id - id % 1_000_000))?;
    let seen = results[0].rows[0][0].as_deref().map(str::to_owned);
    assert_eq!(seen, Some((id % 1_000_000).to_string()), "a session sees what it wrote");
    Ok(())
}

/// Rounds until it is stopped; connects again when it must.
fn load(port: u16, of: u64, done: &AtomicU64, stop: &AtomicBool) {
    let mut client = None;
    while !stop.load(Ordering::SeqCst) {
        let next = done.load(Ordering::SeqCst) + 1;
        let result = match &mut client {
            Some(client) => round(client, of * 1_000_000 + next).map(|()| done.store(next, Ordering::SeqCst)),
            none => Client::connect(&target(port)).map(|made| *none = Some(made)),
        };
        if let Err(error) = result {
            let is_retryable = matches!(error.sqlstate(), "40001" | "57P01" | "57P03" | "08006");
            assert!(is_retryable, "an error that asks for no other try: {error}");
            client = None;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_whoever_is_killed() {
    let Some(mut company) = Company::start(|_| {}) else { return };
    company.writer().query("CREATE TABLE t (id bigint PRIMARY KEY)").unwrap();
    let (port, writer_port) = (company.router.address().port(), company.options.writer.port);
    let done: [AtomicU64; 3] = Default::default();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (of, done) in done.iter().enumerate() {
            let stop = &stop;
            scope.spawn(move || load(port, of as u64, done, stop));
        }
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let further = |by: u64| {
                let before: Vec<u64> = done.iter().map(|done| done.load(Ordering::SeqCst)).collect();
                let all = || done.iter().zip(&before).all(|(now, before)| now.load(Ordering::SeqCst) >= before + by);
                until("all go on", all);
            };
            for kill in 0..9 {
                further(20);
                match kill % 3 {
                    2 => {
                        company.writer.take();
                        std::thread::sleep(Duration::from_millis(100));
                        let db = company.dir.path().join("db");
                        company.writer = Some(Served::start_at(&db, writer_port, &["--auth", "trust"]));
                    }
                    node => {
                        company.nodes[node].take();
                        further(5);
                        company.follow_again(node);
                    }
                }
            }
            further(20);
        }));
        stop.store(true, Ordering::SeqCst);
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    let mut writer = company.writer();
    for (of, done) in done.iter().enumerate() {
        let (first, rows) = (of as u64 * 1_000_000, done.load(Ordering::SeqCst));
        let sql = format!("SELECT count(*) FROM t WHERE id > {first} AND id <= {}", first + rows);
        assert_eq!(servers::ask(&mut writer, &sql), rows.to_string());
        println!("{rows} rows of a client were acknowledged");
    }
}
