//! Backups of a server's database while clients write to it, and the ways into a directory that a server has open.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

#[path = "../../weft-store/tests/moto/mod.rs"]
mod moto;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use moto::{Moto, skip};
use weft::{Database, Value};
use weft_server::client::{Client, Target};

/// `weft serve` on a directory.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(dir: &Path) -> Served {
        Served::start_by(weft(), dir)
    }

    fn start_by(mut weft: Command, dir: &Path) -> Served {
        let mut child =
            weft.args(["serve", "--listen", "127.0.0.1:0"]).arg(dir).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(address) = line.strip_prefix("listening on 127.0.0.1:") {
                port = address.parse().unwrap();
            }
            if line == "ready" {
                break;
            }
        }
        assert!(port > 0, "the server told its port");
        Served { child, port }
    }

    fn connect(&self) -> Client {
        let url = format!("postgres://weft:secret@127.0.0.1:{}/weft?sslmode=disable", self.port);
        Client::connect(&Target::parse(&url).unwrap()).unwrap()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn weft() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.env("WEFT_PASSWORD", "secret");
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?} fails:\n{}", text(&output));
    text(&output)
}

fn number(database: &Database, sql: &str) -> i64 {
    match database.session().unwrap().execute(sql).unwrap().pop().unwrap().single() {
        Some(Value::Int(number)) => number,
        Some(Value::Decimal(decimal)) => i64::try_from(decimal).unwrap(),
        other => panic!("{sql} gives {other:?}"),
    }
}

const ACCOUNTS: i64 = 20_000;

/// Transfers as pgbench makes them: an account changes, and the history says by how much. Between two accounts nothing
/// is lost.
fn transfer(client: &mut Client, random: &mut u64) -> weft_server::client::Result<()> {
    let mut next = |bound: i64| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random % bound.unsigned_abs()).cast_signed()
    };
    let (from, to, delta) = (next(ACCOUNTS), next(ACCOUNTS), next(1000));
    let sql = format!(
        "BEGIN; UPDATE accounts SET balance = balance - {delta}, moved = moved + {delta} WHERE id = {from}; \
         UPDATE accounts SET balance = balance + {delta} WHERE id = {to}; \
         INSERT INTO history VALUES (gen_random_uuid(), {from}, {to}, {delta}); COMMIT"
    );
    client.query(&sql).map(|_| ())
}

/// What holds at every moment.
fn check(dir: &Path, at_least: u64) -> i64 {
    let database = Database::open(dir).unwrap();
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
    assert_eq!(number(&database, "SELECT sum(balance)::bigint FROM accounts"), ACCOUNTS * 1000, "nothing is lost");
    let moved = number(&database, "SELECT coalesce(sum(moved), 0)::bigint FROM accounts");
    assert_eq!(moved, number(&database, "SELECT coalesce(sum(delta), 0)::bigint FROM history"));
    let count = number(&database, "SELECT count(*) FROM history");
    assert!(count >= at_least.cast_signed(), "{count} transfers, {at_least} were acknowledged before");
    database.close().unwrap();
    count
}

#[test]
fn a_backup_under_load_holds_a_moment_of_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let dest = scratch.path().join("copies");
    backs_up_under_load(scratch.path(), dest.to_str().unwrap(), &[]);
}

#[test]
fn a_backup_under_load_into_a_store_holds_a_moment_of_the_run() {
    let scratch = tempfile::tempdir().unwrap();
    let moto = match Moto::start(Path::new(env!("CARGO_TARGET_TMPDIR")), "shop") {
        Ok(moto) => moto,
        Err(reason) => return skip(&reason),
    };
    backs_up_under_load(scratch.path(), "s3://shop/of/weft", &moto.variables());
    let gone = weft_with(&[]).args(["backup", "db", "s3://shop"]).current_dir(scratch.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&gone.stderr).contains("AWS_ACCESS_KEY_ID"), "what is missing is named: {gone:?}");
}

/// The program with further variables.
fn weft_with(variables: &[(&str, String)]) -> Command {
    let mut command = weft();
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

fn backs_up_under_load(scratch: &Path, dest: &str, variables: &[(&str, String)]) {
    let weft = || weft_with(variables);
    let dir = scratch.join("db");
    let served = Served::start_by(weft(), &dir);
    served
        .connect()
        .query(&format!(
            "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL, moved bigint NOT NULL, filler text);
             CREATE TABLE history (id uuid PRIMARY KEY, src bigint, dst bigint, delta bigint NOT NULL);
             CREATE INDEX ON history (src);
             INSERT INTO accounts SELECT g, 1000, 0, repeat('x', 80) FROM generate_series(0, {}) AS s(g)",
            ACCOUNTS - 1
        ))
        .unwrap();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let slowest_us = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for seed in 1..=4u64 {
            let (served, stop, done, slowest_us) = (&served, &stop, &done, &slowest_us);
            scope.spawn(move || {
                let (mut client, mut random) = (served.connect(), seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                while !stop.load(Ordering::Relaxed) {
                    let begun = Instant::now();
                    match transfer(&mut client, &mut random) {
                        Ok(()) => drop(done.fetch_add(1, Ordering::SeqCst)),
                        // Two that move between the same accounts the other way round.
                        Err(error) => {
                            assert!(["40001", "40P01"].contains(&error.sqlstate()), "{}", error.message());
                            client.query("ROLLBACK").unwrap();
                        }
                    }
                    slowest_us.fetch_max(u64::try_from(begun.elapsed().as_micros()).unwrap(), Ordering::Relaxed);
                }
            });
        }
        let mut held = Vec::new();
        for round in 1..=3u64 {
            std::thread::sleep(Duration::from_millis(700));
            let before = done.load(Ordering::SeqCst);
            slowest_us.store(0, Ordering::Relaxed);
            let begun = Instant::now();
            let said = succeeds(weft().arg("backup").arg(&dir).arg(dest));
            let (took, slowest) = (begun.elapsed(), slowest_us.load(Ordering::Relaxed));
            println!("{took:?}, the slowest transfer beside it took {slowest} us: {said}");
            assert!(said.starts_with(&format!("backup {round} ")), "{said}");
            held.push((round, before));
            if round == 2 {
                served.connect().query("CHECKPOINT").unwrap();
            }
        }
        stop.store(true, Ordering::Relaxed);
        let mut last = 0;
        for (round, before) in held {
            let restored = scratch.join(format!("restored-{round}"));
            succeeds(weft().arg("restore").arg(dest).arg(&restored).args(["--backup", &round.to_string()]));
            let count = check(&restored, before);
            assert!(count >= last, "later backups hold more");
            last = count;
        }
    });
    let said = succeeds(weft().args(["restore", "--list"]).arg(dest));
    assert_eq!(said.lines().count(), 3, "{said}");
    succeeds(weft().args(["restore", "--check"]).arg(dest));
    drop(served);
    check(&dir, done.load(Ordering::SeqCst));
}

#[test]
fn a_directory_that_a_server_has_says_so_and_lets_its_owner_in() {
    let scratch = tempfile::tempdir().unwrap();
    // Longer than a socket's path may be.
    let deep: PathBuf = scratch.path().join("a-rather-long-name-of-a-directory".repeat(3)).join("and-one-more");
    let dir = deep.join("db");
    let served = Served::start(&dir);
    served.connect().query("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2)").unwrap();

    let error = Database::open(&dir).map(|_| ()).unwrap_err();
    let pid = served.child.id().to_string();
    assert!(error.message().contains(&format!("pid {pid}, a server at 127.0.0.1:{}", served.port)), "{error}");
    let hint = error.hint_text().unwrap();
    assert!(hint.contains(&format!("psql -h 127.0.0.1 -p {}", served.port)), "{hint}");
    assert!(hint.contains(&format!("weft postgres://weft@127.0.0.1:{}", served.port)), "{hint}");

    let mode = std::fs::metadata(dir.join(".s.weft")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
    let mut owner = weft_server::connect_as_owner(&dir).unwrap().expect("the server offers it");
    assert_eq!(owner.query("SELECT count(*) FROM t").unwrap()[0].rows[0][0].as_deref(), Some("2"));

    // Killed, it leaves its socket; the next one takes its place.
    served.kill();
    assert!(dir.join(".s.weft").exists());
    let said = succeeds(weft().arg("backup").arg(&dir).arg(scratch.path().join("copies")));
    assert!(said.starts_with("backup 1 "), "{said}");
    let served = Served::start(&dir);
    assert!(weft_server::connect_as_owner(&dir).unwrap().is_some());
    drop(served);
    assert!(!dir.join(".s.weft").exists(), "a server that ends takes its socket away");
    Database::open(&dir).unwrap().close().unwrap();
}
