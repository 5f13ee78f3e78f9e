//! Writer, nodes and router are killed in turn under load, and nodes take the writer's place: what was acknowledged is
//! there, and every session sees what it wrote.
//!
//! `WEFT_KILL_ROUNDS` says how many are killed, 15 unless it does.
//!
//! 1. Every acknowledged row is there, whoever was killed.
//! 2. A session sees what it wrote.
//! 3. Clients get no errors but those that ask them to connect again, or to run it again.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

mod servers;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use servers::{Company, Served, program, target, until};
use weft_router::{Options, Router};
use weft_wire::client::{Client, ClientError};

/// What the servers are called; the first one writes at the beginning.
const NAMES: [&str; 3] = ["w", "a", "b"];

/// Writes a row and reads it back.
fn round(client: &mut Client, id: u64) -> Result<(), ClientError> {
    client.query(&format!("INSERT INTO t VALUES ({id}) ON CONFLICT (id) DO NOTHING"))?;
    let results = client.query(&format!("SELECT count(*) FROM t WHERE id <= {id} AND id > {}", id - id % 1_000_000))?;
    let seen = results[0].rows[0][0].as_deref().map(str::to_owned);
    assert_eq!(seen, Some((id % 1_000_000).to_string()), "a session sees what it wrote");
    Ok(())
}

/// Rounds until it is stopped; connects again when it must. How often that was.
fn load(port: u16, of: u64, done: &AtomicU64, stop: &AtomicBool) -> u64 {
    let (mut client, mut again) = (None, 0);
    while !stop.load(Ordering::SeqCst) {
        let next = done.load(Ordering::SeqCst) + 1;
        let result = match &mut client {
            Some(client) => round(client, of * 1_000_000 + next).map(|()| done.store(next, Ordering::SeqCst)),
            none => Client::connect(&target(port)).map(|made| *none = Some(made)),
        };
        if let Err(error) = result {
            let is_retryable = matches!(error.sqlstate(), "40001" | "57P01" | "57P03" | "08006")
                || matches!(&error, ClientError::Local(_));
            assert!(is_retryable, "an error that asks for no other try: {error}");
            (client, again) = (None, again + 1);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    again
}

/// The servers, one of which writes, and the router.
struct Members {
    db: PathBuf,
    ports: [u16; 3],
    running: [Option<Served>; 3],
    writer: usize,
    router: Option<Router>,
    options: Options,
}

impl Members {
    fn of(company: &mut Company, router: Router) -> Members {
        let running = [company.writer.take(), company.nodes[0].take(), company.nodes[1].take()];
        let ports = [0, 1, 2].map(|at: usize| running[at].as_ref().unwrap().port);
        let mut options = company.options.clone();
        options.listen = router.address();
        Members { db: company.dir.path().join("db"), ports, running, writer: 0, router: Some(router), options }
    }

    fn start(&mut self, at: usize) {
        let follows = ["--auth", "trust", "--follow", "--node-name", NAMES[at]];
        let options = if at == self.writer { &follows[..2] } else { &follows };
        self.running[at] = Some(Served::start_at(&self.db, self.ports[at], options));
    }

    /// A node takes the place of the writer, which is dead, and comes back as a node.
    fn succeed(&mut self) {
        let before = self.writer;
        self.writer = (before + 1) % 3;
        let mut command = Command::new(program().unwrap());
        let ended = command.args(["promote", "--node", NAMES[self.writer]]).arg(&self.db).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        self.start(before);
    }

    /// Kills somebody: nodes, the writer, the router in turn. `while_away` runs before it is back.
    fn kill(&mut self, number: usize, while_away: impl FnOnce()) {
        match number % 5 {
            kind @ (0 | 1) => {
                let node = (self.writer + 1 + kind) % 3;
                self.running[node].take();
                while_away();
                self.start(node);
            }
            2 => {
                self.running[self.writer].take();
                std::thread::sleep(Duration::from_millis(100));
                self.start(self.writer);
            }
            3 => {
                self.running[self.writer].take();
                self.succeed();
            }
            _ => {
                self.router.take();
                self.router = Some(Router::start(self.options.clone()).unwrap());
            }
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_whoever_is_killed() {
    let Some(mut company) = Company::start(|_| {}) else { return };
    let rounds = std::env::var("WEFT_KILL_ROUNDS").map_or(15, |rounds| rounds.parse().unwrap());
    company.writer().query("CREATE TABLE t (id bigint PRIMARY KEY)").unwrap();
    let router = company.take_router();
    let mut members = Members::of(&mut company, router);
    let port = members.options.listen.port();
    let done: [AtomicU64; 3] = Default::default();
    let stop = AtomicBool::new(false);
    let mut longest = Duration::ZERO;
    std::thread::scope(|scope| {
        let clients: Vec<_> = done
            .iter()
            .enumerate()
            .map(|(of, done)| {
                let stop = &stop;
                scope.spawn(move || load(port, of as u64, done, stop))
            })
            .collect();
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let further = |by: u64| {
                let begun = Instant::now();
                let before: Vec<u64> = done.iter().map(|done| done.load(Ordering::SeqCst)).collect();
                let all = || done.iter().zip(&before).all(|(now, before)| now.load(Ordering::SeqCst) >= before + by);
                until("all go on", all);
                begun.elapsed()
            };
            for number in 0..rounds {
                further(20);
                members.kill(number, || {
                    further(5);
                });
                longest = longest.max(further(1));
            }
            further(20);
        }));
        stop.store(true, Ordering::SeqCst);
        let again: Vec<u64> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        println!(
            "{rounds} were killed; clients connected again {again:?} times, and went on after {longest:?} at most"
        );
    });
    let mut writer = Client::connect(&target(members.ports[members.writer])).unwrap();
    for (of, done) in done.iter().enumerate() {
        let (first, rows) = (of as u64 * 1_000_000, done.load(Ordering::SeqCst));
        let sql = format!("SELECT count(*) FROM t WHERE id > {first} AND id <= {}", first + rows);
        assert_eq!(servers::ask(&mut writer, &sql), rows.to_string());
        println!("{rounds} killed: {rows} rows of a client were acknowledged, and are there");
    }
}
