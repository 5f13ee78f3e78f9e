#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests run on real threads")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use weft_env::{Clock, Env};
use weft_format::{Code, Timestamp};

use crate::testing::{Scratch, by_hand, create, get, open_with, put};
use crate::{Durability, Engine};

/// A wall clock that is set by hand.
struct Hands {
    wall: AtomicI64,
    real: Arc<dyn Clock>,
}

impl Clock for Hands {
    fn wall_micros(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn monotonic_nanos(&self) -> u64 {
        self.real.monotonic_nanos()
    }

    fn sleep(&self, duration: Duration) {
        self.real.sleep(duration);
    }
}

const NOON: i64 = 1_795_000_000_000_000;
const HOUR: i64 = 3_600_000_000;

fn hands() -> (Arc<Hands>, Env) {
    let env = Env::real();
    let hands = Arc::new(Hands { wall: AtomicI64::new(NOON), real: env.clock.clone() });
    (hands.clone(), Env { clock: hands, ..env })
}

fn value_at(engine: &Arc<Engine>, ts: Timestamp) -> Option<i64> {
    let txn = engine.begin_past(ts).unwrap();
    let t = txn.table("t").unwrap();
    get(&txn, &t, 1)
}

#[test]
fn each_wall_shows_its_prefix_whatever_the_clock_does() {
    let scratch = Scratch::new("walls");
    let (hands, env) = hands();
    let engine = open_with(env.clone(), scratch.path(), by_hand()).unwrap();
    create(&engine, &["t"]).unwrap();
    let mut walls: Vec<(i64, i64)> = Vec::new();
    for n in 0..1100 {
        match n {
            20 => drop(hands.wall.fetch_sub(HOUR, Ordering::SeqCst)),
            1050 => hands.wall.store(NOON + HOUR, Ordering::SeqCst),
            0..20 => drop(hands.wall.fetch_add(1000, Ordering::SeqCst)),
            _ => {}
        }
        put(&engine, "t", 1, n).unwrap();
        walls.push((engine.commit_time(engine.published()).unwrap(), n));
    }
    assert!(walls.is_sorted_by(|a, b| a.0 < b.0), "walls rise strictly");
    for &(wall, n) in walls.iter().step_by(7) {
        assert_eq!(value_at(&engine, engine.commit_at(wall).unwrap()), Some(n));
        assert_eq!(value_at(&engine, engine.commit_at(wall - 1).unwrap()), (n > 0).then_some(n - 1));
    }
    let future = engine.commit_at(NOON + 2 * HOUR).unwrap_err();
    assert_eq!(future.code(), Code::InvalidParameterValue);
    let (last, last_wall) = (engine.published(), walls[1099].0);
    drop(engine);

    hands.wall.store(NOON - HOUR, Ordering::SeqCst);
    for checkpoint in [true, false] {
        let engine = open_with(env.clone(), scratch.path(), by_hand()).unwrap();
        assert_eq!(engine.commit_at(last_wall).unwrap(), last, "an opening knows when commits were made");
        assert_eq!(engine.commit_time(last), Some(last_wall));
        let old = engine.begin_past(engine.commit_at(walls[30].0).unwrap()).unwrap();
        let error = old.view(&old.table("t").unwrap()).err().unwrap();
        assert_eq!(error.code(), Code::SnapshotTooOld);
        assert!(error.hint_text().unwrap().contains(&format!("commit {last}, of 2026-11-18")), "{error}");
        drop(old);
        if checkpoint {
            engine.checkpoint().unwrap();
        }
    }
    let engine = open_with(env, scratch.path(), by_hand()).unwrap();
    put(&engine, "t", 1, 5000).unwrap();
    assert_eq!(engine.commit_time(engine.published()), Some(last_wall + 1), "the clock was set back meanwhile");
}

#[test]
fn the_catalog_is_known_from_its_last_change_on() {
    let scratch = Scratch::new("walls-catalog");
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    create(&engine, &["t", "gone"]).unwrap();
    put(&engine, "t", 1, 1).unwrap();
    let mut txn = engine.begin().unwrap();
    txn.drop_table("gone").unwrap();
    let dropped = txn.commit().unwrap();
    put(&engine, "t", 1, 2).unwrap();
    let between = engine.published();
    put(&engine, "t", 1, 3).unwrap();
    engine.checkpoint().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    create(&engine, &["later"]).unwrap();
    for (ts, is_kept) in [(between, true), (dropped, true), (Timestamp(dropped.0 - 1), false)] {
        let txn = engine.begin_past(ts);
        assert_eq!(txn.as_ref().map(|_| ()).map_err(|error| error.code()).is_ok(), is_kept, "{ts}");
        let Ok(txn) = txn else { continue };
        assert_eq!(txn.table("gone").unwrap_err().code(), Code::UndefinedTable);
        assert_eq!(txn.table("later").unwrap_err().code(), Code::UndefinedTable, "it was made after");
        let t = txn.table("t").unwrap();
        assert_eq!(txn.view(&t).err().unwrap().code(), Code::SnapshotTooOld, "its rows are not kept");
    }
}

#[test]
fn one_moment_has_one_answer_beside_committers() {
    let scratch = Scratch::new("walls-threads");
    let options = crate::EngineOptions { durability: Durability::Async, ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t"]).unwrap();
    put(&engine, "t", 1, 0).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1.. {
                put(&engine, "t", 1, n).unwrap();
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let mut answers = Vec::new();
        let (mut seen, until) =
            (std::collections::BTreeSet::new(), std::time::Instant::now() + Duration::from_secs(60));
        while seen.len() < 20 && std::time::Instant::now() < until {
            let now = engine.env().clock.wall_micros();
            let ts = engine.commit_at(now).unwrap();
            if answers.len() < 20_000 || !seen.contains(&ts) {
                answers.push((now, ts, value_at(&engine, ts)));
            }
            seen.insert(ts);
        }
        stop.store(true, Ordering::SeqCst);
        assert!(seen.len() >= 20, "commits went on meanwhile");
        for (now, ts, value) in answers {
            assert_eq!((engine.commit_at(now).unwrap(), value_at(&engine, ts)), (ts, value));
        }
    });
}

#[test]
fn a_table_keeps_what_it_promises() {
    let scratch = Scratch::new("walls-promise");
    let (hands, env) = hands();
    let engine = open_with(env, scratch.path(), by_hand()).unwrap();
    let mut txn = engine.begin().unwrap();
    let mut table = crate::testing::new_table("t");
    table.options.insert("history".into(), "1 hour".into());
    let t = txn.create_table(table).unwrap();
    let made = txn.commit().unwrap();
    assert!(t.horizon().promised() <= made, "from when it is said");
    for n in 0..10 {
        put(&engine, "t", 1, n).unwrap();
        hands.wall.fetch_add(HOUR / 4, Ordering::SeqCst);
    }
    engine.core.keep_promises();
    // The clock is at 150 minutes; commits were at 0, 15, 30, ...
    let expected = engine.commit_at(NOON + HOUR * 3 / 2).unwrap();
    assert_eq!((t.horizon().promised(), value_at(&engine, expected)), (expected, Some(6)));
    assert_eq!(t.horizon().advance(Timestamp::MAX), expected);
}

#[test]
fn a_table_that_was_dropped_promises_nothing() {
    let scratch = Scratch::new("walls-dropped");
    let (_, env) = hands();
    let engine = open_with(env, scratch.path(), by_hand()).unwrap();
    let mut txn = engine.begin().unwrap();
    let mut table = crate::testing::new_table("t");
    table.options.insert("history".into(), "all".into());
    let t = txn.create_table(table).unwrap();
    txn.commit().unwrap();
    assert!(t.horizon().promised() < Timestamp::MAX);
    let mut txn = engine.begin().unwrap();
    txn.drop_table("t").unwrap();
    txn.commit().unwrap();
    engine.core.keep_promises();
    assert_eq!(t.horizon().promised(), Timestamp::MAX);
    assert!(!engine.core.catalog.unseen().is_empty(), "its files can go");
}
