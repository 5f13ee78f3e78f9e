//! What is special to method `lineage`, and its planted faults: with each of these deliberate bugs its test must fail,
//! or the test is worth nothing.
#![cfg(feature = "faults")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_format::row_arrays::rows_to_batch;
use weft_format::{Column, DataType, Schema, Timestamp, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::method::Method;
use weft_kernel::step::on_step;
use weft_kernel::table::{Period, SINCE, ScanRequest, UNTIL};
use weft_kernel::{ColumnSet, Engine, EngineOptions, IsolationLevel, LockMode, NewTable, TableRef, Transaction};
use weft_tables::lineage::{Holder, faults, steps};
use weft_tables::testing::{conformance, rows_of, transfers};
use weft_tables::{LineageMethod, lineage_method};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn table_options(history: &str, segment_rows: u32) -> BTreeMap<String, String> {
    BTreeMap::from([("history".to_owned(), history.to_owned()), ("segment_rows".to_owned(), segment_rows.to_string())])
}

/// The first seed of the suite that does not end well.
fn caught_by_suite(fault: Option<Fault>, seeds: std::ops::Range<u64>) -> Option<u64> {
    plant(fault);
    let bad = |&seed: &u64| {
        let options = conformance::Options {
            seed,
            steps: 200,
            keys: 40,
            rows_max: 12,
            look_every: 5,
            table: table_options(if seed.is_multiple_of(2) { "all" } else { "none" }, 16),
            row_table_bytes: 2_000,
            columns: false,
        };
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let body = move |env| conformance::run(&lineage_method(), &env, Path::new("db"), &options);
        simulation.run(body) != RunEnd::Finished
    };
    let found = seeds.into_iter().find(bad);
    plant(None);
    found
}

/// The first seed of the threads that move amounts that does not end well.
fn caught_by_transfers(fault: Option<Fault>, seeds: u64) -> Option<u64> {
    plant(fault);
    let bad = |&seed: &u64| {
        let options = transfers::Options {
            seed,
            keys: 12,
            writers: 3,
            transactions: 25,
            readers: 2,
            table: table_options(if seed.is_multiple_of(2) { "all" } else { "none" }, 16),
            row_table_bytes: [1_500, 6_000, 1 << 20][(seed % 3) as usize],
        };
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let body = move |env| transfers::run(&lineage_method(), &env, Path::new("db"), &options);
        simulation.run(body) != RunEnd::Finished
    };
    let found = (0..seeds).find(bad);
    plant(None);
    found
}

#[test]
fn faults_are_caught_by_the_suite() {
    let _alone = ALONE.lock();
    assert_eq!(caught_by_suite(None, 0..4), None);
    let all = [
        faults::REPLAY_TWICE_APPLIES,
        faults::MERGE_WITHOUT_ORIGINALS,
        faults::FORGET_TOO_EARLY,
        faults::READ_TAILS_BELOW_CUT,
        faults::LOSE_KEYS,
        faults::SEE_UNBORN,
        faults::FORGET_LOADED,
        faults::VERSIONS_END_WITH_MERGE,
        faults::LOSE_ENDED_VERSIONS,
        faults::PRUNE_BY_PAGES,
        faults::DIFFER_BY_PAGES,
        faults::TOUCH_OWN_COLUMNS_ONLY,
    ];
    let missed: Vec<Fault> = all.into_iter().filter(|fault| caught_by_suite(Some(*fault), 0..40).is_none()).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

#[test]
fn totals_stay_while_tails_are_merged() {
    let _alone = ALONE.lock();
    assert_eq!(caught_by_transfers(None, 20), None);
    let found = caught_by_transfers(Some(faults::MERGE_TOO_EARLY), 200);
    assert!(found.is_some(), "tails that are merged too early are not noticed");
}

/// A row of a key and three numbers.
struct Fixture {
    engine: Arc<Engine>,
    table: TableRef,
    /// The commit that inserted it.
    first: Timestamp,
}

impl Fixture {
    fn new(env: &Env) -> Fixture {
        Fixture::with(env, lineage_method())
    }

    fn with(env: &Env, method: Arc<dyn Method>) -> Fixture {
        let options = EngineOptions { workers: 0, ..EngineOptions::default() };
        let engine = Engine::open(env.clone(), Path::new("db"), vec![method], options).expect("opens");
        let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
        let schema = Schema::new(["k", "a", "b", "c"].map(column).into(), vec![0]);
        let mut txn = engine.begin().expect("begins");
        let mut new = NewTable::new("t", schema, "lineage");
        new.options = table_options("all", 16);
        let table = txn.create_table(new).expect("creates");
        txn.insert(&table, &Self::row(&table, [1, 0, 0, 0])).expect("inserts");
        let first = txn.commit().expect("commits");
        Fixture { engine, table, first }
    }

    fn row(table: &TableRef, values: [i64; 4]) -> Arc<[u8]> {
        table.codec.encode(values.map(ValueRef::Int)).into()
    }

    fn key(&self) -> Vec<u8> {
        self.table.keys.encode([ValueRef::Int(1)])
    }

    fn begin(&self) -> Transaction {
        self.engine.begin_at(IsolationLevel::ReadCommitted).expect("begins")
    }

    /// Sets a column in a transaction of its own, from the row as that sees it.
    fn set(&self, txn: &mut Transaction, column: usize, value: i64) {
        let key = self.key();
        let mut values = self.read(txn.read_ts());
        values[column] = value;
        let mut writes = ColumnSet::NONE;
        writes.insert(column);
        let mode = LockMode::columns(ColumnSet::NONE, writes);
        txn.update_columns(&self.table, &key, &Self::row(&self.table, values), mode).expect("updates");
    }

    fn read(&self, ts: Timestamp) -> [i64; 4] {
        let row = self.table.table.read_row(&self.key(), ts).expect("reads").expect("is there");
        [0, 1, 2, 3].map(|column| match self.table.codec.get(&row, column) {
            ValueRef::Int(value) => value,
            other => panic!("{other:?}"),
        })
    }

    fn merge(&self) {
        self.engine.freeze().expect("freezes");
        self.engine.run_jobs().expect("jobs run");
    }
}

/// Two transactions that set different columns of one row, both from the row as it was; both count, in tails and in
/// what they become.
fn columns_side_by_side(env: &Env) -> Vec<[i64; 4]> {
    let fixture = Fixture::new(env);
    let mut seen = Vec::new();
    for round in 1..4 {
        let (mut first, mut second) = (fixture.begin(), fixture.begin());
        fixture.set(&mut first, 1, round);
        fixture.set(&mut second, 2, round * 10);
        first.commit().expect("commits");
        second.commit().expect("commits");
        seen.push(fixture.read(Timestamp::MAX));
        if round == 2 {
            fixture.merge();
            seen.push(fixture.read(Timestamp::MAX));
        }
    }
    fixture.merge();
    seen.push(fixture.read(Timestamp::MAX));
    seen
}

#[test]
fn columns_that_are_set_side_by_side_are_kept() {
    let _alone = ALONE.lock();
    let run = |fault| {
        plant(fault);
        let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
            let expected = [[1, 1, 10, 0], [1, 2, 20, 0], [1, 2, 20, 0], [1, 3, 30, 0], [1, 3, 30, 0]];
            assert_eq!(columns_side_by_side(&env), expected);
        });
        plant(None);
        end == RunEnd::Finished
    };
    assert!(run(None));
    assert!(!run(Some(faults::MERGE_NEWEST_RECORD_ONLY)), "a merge that loses columns is not noticed");
}

/// The golden history of b2 in the paper's Table 5, corrected: each column merged or not, at each moment.
#[test]
fn the_papers_example_reads_the_same_before_and_after_merges() {
    let _alone = ALONE.lock();
    for merged_after in 0..6u32 {
        let end = Simulation::new(SimOptions::seeded(2)).run(move |env| {
            let fixture = Fixture::new(&env);
            let mut states = Vec::new();
            let changes = [(1, 21), (1, 22), (3, 21), (2, 21), (1, 23)];
            let mut row = [1, 0, 0, 0];
            for (n, (column, value)) in changes.into_iter().enumerate() {
                let mut txn = fixture.begin();
                fixture.set(&mut txn, column, value);
                let ts = txn.commit().expect("commits");
                states.push((Timestamp(ts.0 - 1), row));
                row[column] = value;
                states.push((ts, row));
                if n as u32 + 1 == merged_after {
                    fixture.merge();
                }
            }
            for (ts, expected) in states {
                assert_eq!(fixture.read(ts), expected, "as of {ts}, merged after {merged_after}");
            }
            assert_eq!(fixture.read(Timestamp::MAX), row);
        });
        assert_eq!(end, RunEnd::Finished);
    }
}

/// The versions of a row that was inserted, updated twice by one commit and once by another, deleted, and inserted
/// again: the value of `a` in each, and how many commits after the first it began and ended.
fn versions(fixture: &Fixture, period: Period, batch_rows: usize) -> Vec<(i64, u64, Option<u64>)> {
    let txn = fixture.begin();
    let request = ScanRequest {
        view: txn.view(&fixture.table).expect("it is kept"),
        projection: vec![UNTIL, 1, SINCE],
        predicates: Vec::new(),
        partition_count: 1,
        batch_rows,
    };
    let output = fixture.table.scan_versions(request, period).expect("starts");
    let rows = rows_of(output, 1, batch_rows).expect("scans");
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number),
        _ => None,
    };
    let commit = |value: &Value| number(value).map(|ts| ts.cast_unsigned() - fixture.first.0);
    let version =
        |row: &Vec<Value>| (number(&row[1]).expect("is set"), commit(&row[2]).expect("began"), commit(&row[0]));
    let mut found: Vec<_> = rows.iter().map(version).collect();
    found.sort_unstable();
    found
}

/// Merged after each number of commits, and never.
fn versions_of_a_row(env: &Env, merged_after: u64) {
    let fixture = Fixture::new(env);
    let key = fixture.key();
    for n in 1..6 {
        let mut txn = fixture.begin();
        match n {
            1 => [10, 11].into_iter().for_each(|value| fixture.set(&mut txn, 1, value)),
            2 => fixture.set(&mut txn, 1, 20),
            3 => assert!(txn.delete(&fixture.table, &key).expect("deletes")),
            4 => txn.insert(&fixture.table, &Fixture::row(&fixture.table, [1, 40, 0, 0])).expect("inserts"),
            _ => fixture.set(&mut txn, 2, 50),
        }
        let ts = txn.commit().expect("commits");
        assert_eq!(ts.0, fixture.first.0 + n, "the commits follow each other");
        if n == merged_after {
            fixture.merge();
        }
    }
    let all = [(0, 0, Some(1)), (11, 1, Some(2)), (20, 2, Some(3)), (40, 4, Some(5)), (40, 5, None)];
    let at = |n: u64| Timestamp(fixture.first.0 + n);
    let period = |after, to, except: Option<u64>| Period { after: at(after), to: at(to), except: except.map(at) };
    for (period, expected) in [
        (period(0, 9, None), &all[..]),
        (period(1, 2, None), &all[1..3]),
        (period(2, 2, None), &all[2..3]),
        (period(3, 3, None), &[]),
        (period(2, 4, None), &all[2..4]),
        (period(2, 2, Some(4)), &all[2..3]),
        (period(5, 5, Some(2)), &all[4..]),
        (period(5, 5, Some(5)), &[]),
    ] {
        for batch_rows in [1, 100] {
            let found = versions(&fixture, period, batch_rows);
            assert_eq!(found, expected, "{period:?}, merged after {merged_after}");
        }
    }
}

#[test]
fn versions_are_the_same_before_and_after_merges() {
    let _alone = ALONE.lock();
    let run = |fault| {
        plant(fault);
        let is_good = |merged_after| {
            let body = move |env| versions_of_a_row(&env, merged_after);
            Simulation::new(SimOptions::seeded(6)).run(body) == RunEnd::Finished
        };
        let all_good = (0..6).all(is_good);
        plant(None);
        all_good
    };
    assert!(run(None));
    assert!(!run(Some(faults::VERSIONS_END_WITH_MERGE)), "an end that is the merge's is not noticed");
    assert!(!run(Some(faults::LOSE_ENDED_VERSIONS)), "a version that is lost is not noticed");
}

/// A hot row: a hundred updates of several columns, and never more than two hops.
#[test]
fn the_newest_value_is_two_hops_away() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(3)).run(|env| {
        let fixture = Fixture::new(&env);
        for n in 0..100 {
            let mut txn = fixture.begin();
            fixture.set(&mut txn, 1 + (n % 3) as usize, n);
            txn.commit().expect("commits");
            if n % 40 == 20 {
                fixture.engine.freeze().expect("freezes");
            }
            let newest = fixture.read(Timestamp::MAX);
            assert!(newest.contains(&n) || n == 0, "{newest:?} has {n}");
        }
        let layers = fixture.table.table.layers();
        assert!(layers.iter().any(|layer| layer.layer == "frozen tails" && layer.parts > 1), "{layers:?}");
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Rows fill a segment, go, and are forgotten; others come after the database was opened again. Whether a key of the
/// first is found.
fn finds_what_is_gone(env: &Env) -> bool {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let open = || Engine::open(env.clone(), Path::new("db"), vec![lineage_method()], options.clone()).expect("opens");
    let merge = |engine: &Arc<Engine>| {
        engine.checkpoint().expect("checkpoints");
        engine.run_jobs().expect("jobs run");
    };
    let engine = open();
    let mut txn = engine.begin().expect("begins");
    let column = Column { name: "k".into(), data_type: DataType::BigInt, not_null: false };
    let mut new = NewTable::new("t", Schema::new(vec![column], vec![0]), "lineage");
    new.options = table_options("none", 16);
    let table = txn.create_table(new).expect("creates");
    let row = |k: i64| table.codec.encode([ValueRef::Int(k)]);
    let key = |k: i64| table.keys.encode([ValueRef::Int(k)]);
    (0..16).for_each(|k| txn.insert(&table, &row(k)).expect("inserts"));
    txn.commit().expect("commits");
    merge(&engine);
    let mut txn = engine.begin().expect("begins");
    (0..16).for_each(|k| assert!(txn.delete(&table, &key(k)).expect("deletes")));
    txn.commit().expect("commits");
    merge(&engine);
    let pages = table.table.layers().into_iter().find(|layer| layer.layer == "base pages").expect("is a layer");
    assert_eq!((pages.parts, pages.rows), (0, 0), "the segment is forgotten");
    engine.close().expect("closes");
    drop(engine);
    let engine = open();
    let mut txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("is there");
    (100..116).for_each(|k| txn.insert(&table, &row(k)).expect("inserts"));
    txn.commit().expect("commits");
    (0..16).any(|k| table.table.read_row(&key(k), Timestamp::MAX).expect("reads").is_some())
}

#[test]
fn row_ids_that_keys_name_are_not_given_again() {
    let _alone = ALONE.lock();
    let run = |fault| {
        plant(fault);
        let end = Simulation::new(SimOptions::seeded(4)).run(|env| assert!(!finds_what_is_gone(&env)));
        plant(None);
        end == RunEnd::Finished
    };
    assert!(run(None));
    assert!(!run(Some(faults::REUSE_ROW_IDS)), "row ids that are given again are not noticed");
}

/// A segment whose rows all went while a snapshot was open goes with a merge after that.
#[test]
fn what_a_snapshot_kept_goes_after_it() {
    let _alone = ALONE.lock();
    let end = Simulation::new(SimOptions::seeded(5)).run(|env| {
        let options = EngineOptions { workers: 0, ..EngineOptions::default() };
        let engine = Engine::open(env.clone(), Path::new("db"), vec![lineage_method()], options).expect("opens");
        let mut txn = engine.begin().expect("begins");
        let column = Column { name: "k".into(), data_type: DataType::BigInt, not_null: false };
        let mut new = NewTable::new("t", Schema::new(vec![column], vec![0]), "lineage");
        new.options = table_options("none", 16);
        let table = txn.create_table(new).expect("creates");
        let insert = |txn: &mut Transaction, k| {
            txn.insert(&table, &table.codec.encode([ValueRef::Int(k)])).expect("inserts");
        };
        (0..16).for_each(|k| insert(&mut txn, k));
        txn.commit().expect("commits");
        engine.checkpoint().expect("checkpoints");
        let old = engine.begin_at(IsolationLevel::RepeatableRead).expect("begins");
        let mut txn = engine.begin().expect("begins");
        for k in 0..16 {
            assert!(txn.delete(&table, &table.keys.encode([ValueRef::Int(k)])).expect("deletes"));
        }
        txn.commit().expect("commits");
        engine.checkpoint().expect("checkpoints");
        let key = table.keys.encode([ValueRef::Int(3)]);
        assert!(table.table.read_row(&key, old.read_ts()).expect("reads").is_some(), "the snapshot sees its rows");
        let pages = || table.table.layers().into_iter().find(|layer| layer.layer == "base pages").expect("is a layer");
        assert_eq!(pages().parts, 1);
        old.rollback();
        let mut txn = engine.begin().expect("begins");
        insert(&mut txn, 100);
        txn.commit().expect("commits");
        engine.checkpoint().expect("checkpoints");
        assert_eq!(
            (pages().parts, pages().rows),
            (1, 1),
            "the segment of what went is gone, one of what came is there"
        );
        assert!(engine.check().expect("checks").is_empty());
    });
    assert_eq!(end, RunEnd::Finished);
}

/// A table that is emptied and loaded again and again: by its key a row is found as it was at each moment.
fn reads_of_rounds(env: &Env) -> Vec<(Timestamp, Option<i64>)> {
    let fixture = Fixture::new(env);
    let (engine, table) = (&fixture.engine, &fixture.table);
    let mut moments = Vec::new();
    for round in 1..8i64 {
        let mut txn = engine.begin().expect("begins");
        assert!(txn.delete(table, &fixture.key()).expect("deletes"));
        moments.push((txn.commit().expect("commits"), None));
        let mut txn = engine.begin().expect("begins");
        let row = Fixture::row(table, [1, round, 0, 0]);
        let batch = rows_to_batch(&table.def.schema, &table.codec, [&*row].into_iter()).expect("fits");
        txn.build(table, &[batch]).expect("builds");
        moments.push((txn.commit().expect("commits"), Some(round)));
        fixture.merge();
    }
    let read = |ts| table.table.read_row(&fixture.key(), ts).expect("reads");
    let value = |row: Arc<[u8]>| match table.codec.get(&row, 1) {
        ValueRef::Int(value) => value,
        other => panic!("{other:?}"),
    };
    moments.iter().for_each(|(ts, expected)| assert_eq!(read(*ts).map(value), *expected, "as of {ts}"));
    moments
}

#[test]
fn keys_that_come_back_by_loads_are_found_at_every_moment() {
    let _alone = ALONE.lock();
    let run = |fault| {
        plant(fault);
        let end = Simulation::new(SimOptions::seeded(6)).run(|env| assert_eq!(reads_of_rounds(&env).len(), 14));
        plant(None);
        end == RunEnd::Finished
    };
    assert!(run(None));
    assert!(!run(Some(faults::KEEP_NEWEST_ROW_ID)), "row ids that a merge of keys loses are not noticed");
}

/// A transaction commits while a merge stands at a step; how often writers waited for the merge, and whether the
/// transaction was there before the merge went on.
fn commits_beside_a_merge(env: &Env) -> (u64, bool) {
    let method = Arc::new(LineageMethod::default());
    let fixture = Arc::new(Fixture::with(env, method.clone()));
    let mut txn = fixture.begin();
    fixture.set(&mut txn, 1, 7);
    txn.commit().expect("commits");
    fixture.engine.freeze().expect("freezes");
    let writer = Arc::new(Mutex::new(None));
    let (env, beside, started) = (env.clone(), fixture.clone(), writer.clone());
    let was_there = Arc::new(AtomicBool::new(false));
    let seen = was_there.clone();
    on_step(Some(Box::new(move |step| {
        if step != steps::MERGE.inputs_read {
            return;
        }
        let fixture = beside.clone();
        let commit = move || {
            let mut txn = fixture.begin();
            fixture.set(&mut txn, 2, 8);
            txn.commit().expect("commits");
        };
        *started.lock() = Some(env.spawn.spawn("writer", Box::new(commit)).expect("spawns"));
        env.clock.sleep(Duration::from_secs(1));
        seen.store(beside.read(Timestamp::MAX)[2] == 8, Ordering::Relaxed);
    })));
    fixture.engine.run_jobs().expect("jobs run");
    on_step(None);
    writer.lock().take().expect("a merge came by").join().expect("it commits");
    assert_eq!(fixture.read(Timestamp::MAX), [1, 7, 8, 0]);
    (method.gate_waits().of(Holder::Merge).count, was_there.load(Ordering::Relaxed))
}

#[test]
fn nobody_waits_for_a_merge() {
    let _alone = ALONE.lock();
    let run = |fault, expected| {
        plant(fault);
        let end = Simulation::new(SimOptions::seeded(6)).run(move |env| {
            assert_eq!(commits_beside_a_merge(&env), expected);
        });
        plant(None);
        assert_eq!(end, RunEnd::Finished, "{fault:?}");
    };
    run(None, (0, true));
    run(Some(faults::MERGE_HOLDS_GATE), (1, false));
}
