//! A database that follows and is made the writer, through the library: alone, at once, and closed whole.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test runs on real threads")]

use std::path::Path;

use weft::{Database, Follow, Nodes, Options};

fn options() -> Options {
    Options { nodes: Some(Nodes::default()), ..Options::default() }
}

fn writer(dir: &Path) -> Database {
    let database = Database::open_with(dir, options()).unwrap();
    let mut session = database.session().unwrap();
    session.execute("CREATE TABLE IF NOT EXISTS t (id bigint PRIMARY KEY)").unwrap();
    database
}

fn node(dir: &Path) -> Database {
    Database::follow(dir, options(), Follow::default()).unwrap()
}

#[test]
fn a_promoted_node_writes_when_it_says_so_and_is_promoted_once() {
    let dir = tempfile::tempdir().unwrap();
    let before = writer(dir.path());
    let mut left = before.session().unwrap();
    left.execute("CREATE TEMP TABLE scratch (a bigint)").unwrap();
    // As after a crash: nobody drops what is the session's.
    std::mem::forget(left);
    let database = node(dir.path());
    let refused = database.promote(false).unwrap_err();
    assert_eq!(refused.sqlstate(), "57P03", "{refused}");
    before.close().unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| database.promote(false))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    for error in outcomes.into_iter().filter_map(Result::err) {
        assert_eq!(error.sqlstate(), "55000", "{error}");
    }
    assert!(!database.follows());
    database.session().unwrap().execute("INSERT INTO t VALUES (1)").unwrap();
    let names: Vec<String> = database.tables().unwrap().iter().map(|table| table.name.clone()).collect();
    assert!(names.iter().all(|name| name != "scratch"), "{names:?}");
    database.close().unwrap();
    assert_eq!(database.promote(false).unwrap_err().sqlstate(), "57P01");
    Database::open(dir.path()).unwrap().close().unwrap();
}

/// A writer that was overtaken, and has not noticed, does not say that what it has is the latest.
#[test]
fn who_was_overtaken_knows_nothing_of_the_latest() {
    let dir = tempfile::tempdir().unwrap();
    let before = writer(dir.path());
    let mut session = before.session().unwrap();
    session.execute("INSERT INTO t VALUES (1)").unwrap();
    session.execute("SET freshness = 'latest'").unwrap();
    session.execute("SELECT count(*) FROM t").unwrap();
    let database = node(dir.path());
    database.promote(true).unwrap();
    database.session().unwrap().execute("INSERT INTO t VALUES (2)").unwrap();
    let refused = session.execute("SELECT count(*) FROM t").unwrap_err();
    assert_eq!(refused.sqlstate(), "57P02", "{refused}");
    drop(session);
    drop(before);
    database.close().unwrap();
}

#[test]
fn closing_while_a_node_is_promoted_leaves_nothing_open() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let before = writer(dir.path());
        let database = node(dir.path());
        before.close().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| database.promote(false).is_ok());
            database.close().unwrap();
        });
        assert!(database.session().is_err());
        // Whoever was first: the directory is free.
        Database::open(dir.path()).unwrap().close().unwrap();
    }
}
