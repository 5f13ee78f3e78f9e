//! `weft serve --archive`: what was committed a moment before a server is killed is restored from the store.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types, reason = "a test starts programs")]

#[path = "../../weft-store/tests/moto/mod.rs"]
mod moto;
mod served;

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use moto::{Moto, skip};
use served::Served;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

type Variables = Vec<(&'static str, String)>;

fn weft(variables: &Variables, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn succeeds(variables: &Variables, arguments: &[&str]) -> String {
    let output = weft(variables, arguments);
    assert!(output.status.success(), "{arguments:?} fails:\n{}", text(&output));
    text(&output)
}

fn until(what: &str, mut test: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !test() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until everything that is committed by now is shipped, behind a base.
fn shipped(server: &Served) {
    let begun = Instant::now();
    until("it is shipped", || {
        let state = server.ask("SELECT state, base IS NOT NULL, age_ms FROM weft_archive");
        let words: Vec<&str> = state.split('|').collect();
        let age = words[2].parse().unwrap_or(f64::MAX);
        words[..2] == ["shipping", "t"] && Duration::from_secs_f64(age.min(1e6) / 1000.0) < begun.elapsed()
    });
}

fn sums(server: &Served) -> String {
    server
        .ask("SELECT (SELECT sum(v) FROM c), (SELECT sum(v) FROM r), (SELECT sum(v) FROM l), (SELECT count(*) FROM d)")
}

#[test]
fn a_killed_server_is_restored_from_a_directory_of_objects() {
    let scratch = tempfile::tempdir().unwrap();
    let url = format!("file://{}", scratch.path().join("store").display());
    goes_on_elsewhere(scratch.path(), &url, &Vec::new());
}

#[test]
fn a_killed_server_is_restored_from_s3() {
    let scratch = tempfile::tempdir().unwrap();
    match Moto::start(Path::new(env!("CARGO_TARGET_TMPDIR")), "archive") {
        Ok(moto) => goes_on_elsewhere(scratch.path(), "s3://archive/of/weft", &moto.variables().to_vec()),
        Err(reason) => skip(&reason),
    }
}

#[test]
fn a_node_follows_a_directory_of_objects() {
    let scratch = tempfile::tempdir().unwrap();
    let url = format!("file://{}", scratch.path().join("store").display());
    is_followed(scratch.path(), &url, &Vec::new());
}

#[test]
fn a_node_follows_s3() {
    let scratch = tempfile::tempdir().unwrap();
    match Moto::start(Path::new(env!("CARGO_TARGET_TMPDIR")), "follow") {
        Ok(moto) => is_followed(scratch.path(), "s3://follow/of/weft", &moto.variables().to_vec()),
        Err(reason) => skip(&reason),
    }
}

/// Waits until a node shows what its writer shows, and compares.
fn is_same(writer: &Served, node: &Served) {
    let token = writer.ask("SELECT weft_published_commit()");
    let sums = "SELECT (SELECT sum(v) FROM c), (SELECT sum(v) FROM r), (SELECT sum(v) FROM l), \
                (SELECT count(*) FROM r WHERE v = 5)";
    let ask = format!("SET freshness_token = '{token}'; SET freshness_timeout = '60s'; {sums}");
    assert_eq!(node.ask(&ask), writer.ask(sums));
}

fn is_followed(scratch: &Path, url: &str, variables: &Variables) {
    let options = ["--archive", url, "--archive-interval", "100ms", "--archive-nodes", "on", "--store-ack", "60s"];
    let writer = Served::start_by(&scratch.join("writer"), &options, variables);
    writer.ask(
        "CREATE TABLE c (k bigint PRIMARY KEY, v bigint NOT NULL); \
         CREATE TABLE r (k bigint PRIMARY KEY, v bigint NOT NULL) USING row; \
         CREATE TABLE l (k bigint PRIMARY KEY, v bigint NOT NULL) USING lineage; CREATE INDEX ON r (v)",
    );
    let follow = ["--follow", url, "--archive-interval", "100ms"];
    let far = scratch.join("far");
    let node = Served::start_by(&far, &follow, variables);
    for round in 0..2 {
        for table in ["c", "r", "l"] {
            let (from, to) = (round * 3_000, round * 3_000 + 2_999);
            writer.ask(&format!("INSERT INTO {table} SELECT g, g % 97 FROM generate_series({from}, {to}) s(g)"));
            writer.ask(&format!("UPDATE {table} SET v = v + 1 WHERE k % 7 = {round}"));
        }
        writer.ask("CHECKPOINT");
        is_same(&writer, &node);
    }
    assert_eq!(node.ask("SELECT state, last_error FROM weft_archive"), "following|");
    assert_eq!(node.ask("SELECT pg_is_in_recovery()"), "t");
    let refused = node.refused("SET freshness = 'latest'; SELECT 1");
    assert!(refused.contains("follows an archive"), "{refused}");
    assert_eq!(node.ask("SET freshness = '30s'; SELECT 1"), "1", "nothing is committed, and it is told so");
    // Killed, it goes on; while it is away its writer goes on, too, and opens again.
    node.kill();
    writer.ask("DELETE FROM c WHERE k % 3 = 0");
    writer.kill();
    let refused = weft(variables, &["serve", "--listen", "127.0.0.1:0", &far.display().to_string()]);
    assert!(!refused.status.success() && text(&refused).contains("follows an archive"), "{}", text(&refused));
    let node = Served::start_by(&far, &follow, variables);
    let writer = Served::start_by(&scratch.join("writer"), &options, variables);
    writer.ask("INSERT INTO c VALUES (-1, 1000000)");
    is_same(&writer, &node);
    let refused = weft(variables, &["promote", &far.display().to_string(), "--seconds", "3"]);
    assert!(!refused.status.success(), "{}", text(&refused));
    is_same(&writer, &node);
}

fn goes_on_elsewhere(scratch: &Path, url: &str, variables: &Variables) {
    let at = |name: &str| scratch.join(name).display().to_string();
    let options = ["--archive", url, "--archive-interval", "100ms"];
    let first = Served::start_by(&scratch.join("first"), &options, variables);
    first.ask(
        "CREATE TABLE c (k bigint PRIMARY KEY, v bigint NOT NULL); \
         CREATE TABLE r (k bigint PRIMARY KEY, v bigint NOT NULL) USING row; \
         CREATE TABLE l (k bigint PRIMARY KEY, v bigint NOT NULL) USING lineage; \
         CREATE TABLE d (k bigint PRIMARY KEY, doc jsonb)",
    );
    shipped(&first);
    for round in 0..5 {
        let (from, to) = (round * 10_000, round * 10_000 + 9_999);
        for table in ["c", "r", "l"] {
            first.ask(&format!("INSERT INTO {table} SELECT g, g % 97 FROM generate_series({from}, {to}) s(g)"));
            first.ask(&format!("UPDATE {table} SET v = v + 1 WHERE k % 7 = {round}"));
        }
        first.ask(&format!(
            "INSERT INTO d SELECT g, jsonb_build_object('a', g) FROM generate_series({from}, {to}) s(g)"
        ));
        if round == 2 {
            first.ask("CHECKPOINT");
        }
    }
    shipped(&first);
    let before = (first.ask("SELECT now()"), sums(&first));
    std::thread::sleep(Duration::from_millis(300));
    first.ask("DELETE FROM c WHERE k % 3 = 0; CREATE INDEX ON r (v)");
    shipped(&first);
    let (expected, token) = (sums(&first), first.ask("SELECT count(*) FROM r WHERE v = 5"));
    let said = succeeds(variables, &["restore", "--list", url]);
    assert!(said.contains("archive\tcommits up to") && said.contains("any moment since"), "{said}");
    first.kill();

    let said = succeeds(variables, &["restore", url, &at("second")]);
    assert!(said.contains("pieces of the log"), "{said}");
    let said = succeeds(variables, &["check", &at("second")]);
    assert!(!said.contains("damage") || said.contains("no damage"), "{said}");
    let second = Served::start_by(&scratch.join("second"), &options, variables);
    assert_eq!((sums(&second), second.ask("SELECT count(*) FROM r WHERE v = 5")), (expected, token));
    second.ask("INSERT INTO c VALUES (-1, 1000000)");
    shipped(&second);
    let expected = sums(&second);

    // Who was taken over does not begin again; a moment before the deletion is there, and goes on without the archive.
    let output = weft(variables, &["serve", "--listen", "127.0.0.1:0", "--archive", url, &at("first")]);
    assert!(!output.status.success() && text(&output).contains("goes on from another directory"), "{}", text(&output));
    succeeds(variables, &["restore", url, &at("past"), "--until", &before.0]);
    let past = Served::start_by(&scratch.join("past"), &[], variables);
    assert_eq!(sums(&past), before.1);

    // A server of the archive that lives is stopped by the next one.
    succeeds(variables, &["restore", url, &at("third")]);
    let third = Served::start_by(&scratch.join("third"), &options, variables);
    assert_eq!(sums(&third), expected);
    assert!(!second.ended(LIMIT), "it ends, and says that it was overtaken");
}
