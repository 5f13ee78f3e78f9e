//! Speculative reads while the log's writes are held.

use std::thread;

use weft_contract::ScanRequest;
use weft_format::predicate::Predicate;
use weft_format::{CompareOp, Result, Value};

use super::gate::{Gate, commit_later};
use super::*;
use crate::index::{Direction, NewIndex};
use crate::{PendingWatch, TableRef, Transaction};

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable];

/// Tables t (rows 1 to 3, with v = 10 k, and an index on v) and u, and the gate of the log.
fn gated(scratch: &Scratch) -> (Arc<Engine>, Arc<Gate>, PendingWatch) {
    let gate = Arc::new(Gate::default());
    let options = EngineOptions { lock_timeout: Duration::from_secs(20), ..by_hand() };
    let engine = open_with(gate.env(), scratch.path(), options).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
    txn.commit().unwrap();
    for k in 1..=3 {
        put(&engine, "t", k, 10 * k).unwrap();
    }
    let watch = engine.watch_pending();
    (engine, gate, watch)
}

/// Updates 1, deletes 2, inserts 4.
fn change(txn: &mut Transaction) -> Result<()> {
    let t = txn.table("t")?;
    txn.update(&t, &key(&t, 1), &row(&t, 1, 11))?;
    assert!(txn.delete(&t, &key(&t, 2))?);
    txn.insert(&t, &row(&t, 4, 40))
}

fn speculative(engine: &Arc<Engine>, level: IsolationLevel) -> (Transaction, TableRef) {
    let mut txn = engine.begin_at(level).unwrap();
    txn.set_speculative_reads(true).unwrap();
    let t = txn.table("t").unwrap();
    (txn, t)
}

fn points(txn: &Transaction, t: &TableRef) -> Vec<Option<i64>> {
    (1..=4).map(|k| get(txn, t, k)).collect()
}

fn scanned(txn: &Transaction, t: &TableRef, predicates: Vec<Predicate>) -> Vec<i64> {
    let request = ScanRequest {
        view: txn.view(t).unwrap(),
        projection: vec![1],
        predicates,
        partition_count: 1,
        batch_rows: 100,
    };
    let mut found = Vec::new();
    let mut output = t.scan(request).unwrap();
    while let Some(batch) = output.partitions[0].next().unwrap() {
        found.extend(batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values());
    }
    found.sort_unstable();
    found
}

/// All four ways to read: by key, by a scan, by a scan that an index answers, by the index.
fn seen(txn: &Transaction, t: &TableRef) -> [Vec<i64>; 4] {
    let by_key = points(txn, t).into_iter().flatten().collect();
    let range = vec![Predicate::Compare { column: 1, op: CompareOp::GtEq, value: Value::Int(0) }];
    let (_, index) = txn.index("t_v").unwrap();
    let (low, high) = ([Value::Int(0)], [Value::Int(1000)]);
    let bounds = (std::ops::Bound::Included(&low[..]), std::ops::Bound::Included(&high[..]));
    let by_order = txn.index_order(t, &index, bounds.0, bounds.1, Direction::Forward, 100).unwrap().unwrap();
    let keys = txn.index_keys(t, &index, bounds.0, bounds.1, Direction::Forward, 100).unwrap().unwrap();
    assert!(by_order.iter().all(|key| keys.contains(key)));
    let value = |key: &Vec<u8>| t.codec.get(&txn.get_row(t, key).unwrap().unwrap(), 1).to_value();
    let int = |value: Value| if let Value::Int(v) = value { v } else { panic!("{value:?}") };
    [by_key, scanned(txn, t, Vec::new()), scanned(txn, t, range), by_order.iter().map(value).map(int).collect()]
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code())
}

#[test]
fn what_is_not_durable_is_seen_by_who_asks_for_it() {
    for level in LEVELS {
        let scratch = Scratch::new(&format!("speculate-{level:?}"));
        let (engine, gate, _watch) = gated(&scratch);
        gate.close();
        let writer = commit_later(&engine, change);
        let ordinary = engine.begin_at(level).unwrap();
        let (reader, t) = speculative(&engine, level);
        for found in seen(&ordinary, &t) {
            assert_eq!(found, [10, 20, 30]);
        }
        for found in seen(&reader, &t) {
            assert_eq!(found, [11, 30, 40]);
        }
        // Another commit behind it; a transaction keeps what it sees, a new one sees both.
        let other = commit_later(&engine, |txn| {
            let t = txn.table("t")?;
            txn.update(&t, &key(&t, 3), &row(&t, 3, 33))
        });
        let (second, _) = speculative(&engine, level);
        for found in seen(&second, &t) {
            assert_eq!(found, [11, 33, 40]);
        }
        assert_eq!(seen(&reader, &t)[0], [11, 30, 40]);
        // Its commit waits.
        let commit = thread::spawn(move || reader.commit());
        gate.reached();
        thread::sleep(Duration::from_millis(5));
        assert!(!commit.is_finished());
        gate.open();
        let ts = writer.join().unwrap().unwrap();
        other.join().unwrap().unwrap();
        assert_eq!(commit.join().unwrap().unwrap(), ts, "a snapshot of the commit that it has seen");
        for found in seen(&second, &t) {
            assert_eq!(found, [11, 33, 40], "installed meanwhile, seen once");
        }
        second.commit().unwrap();
        drop(ordinary);
        assert_eq!(engine.core.timeline.snapshot_count(), 0);
        engine.begin_at(IsolationLevel::Serializable).unwrap().rollback();
        assert_eq!(engine.core.recent.kept(), (0, 0));
    }
}

#[test]
fn who_has_read_what_fails_fails() {
    for level in LEVELS {
        let scratch = Scratch::new(&format!("speculate-void-{level:?}"));
        let (engine, gate, _watch) = gated(&scratch);
        gate.close();
        let writer = commit_later(&engine, change);
        let (by_key, t) = speculative(&engine, level);
        assert_eq!(get(&by_key, &t, 4), Some(40));
        let (by_scan, _) = speculative(&engine, level);
        assert_eq!(scanned(&by_scan, &t, Vec::new()), [11, 30, 40]);
        // One that writes, one that did not see it, one that gives up.
        let (mut by_write, _) = speculative(&engine, level);
        assert_eq!(get(&by_write, &t, 2), None);
        let (unaware, _) = speculative(&engine, level);
        assert_eq!(get(&unaware, &t, 3), Some(30));
        let (given_up, _) = speculative(&engine, level);
        assert_eq!(get(&given_up, &t, 1), Some(11));
        gate.open_full();
        assert_eq!(code(writer.join().unwrap()), Some(Code::DiskFull));
        assert_eq!(code(by_key.commit()), Some(Code::SerializationFailure));
        assert_eq!(code(by_scan.commit()), Some(Code::SerializationFailure));
        let u = by_write.table("u").unwrap();
        assert_eq!(code(by_write.insert(&u, &row(&u, 1, 1))), Some(Code::SerializationFailure));
        assert_eq!(code(by_write.commit()), Some(Code::SerializationFailure));
        unaware.commit().unwrap();
        given_up.rollback();
        let (after, _) = speculative(&engine, level);
        assert_eq!(points(&after, &t), [Some(10), Some(20), Some(30), None]);
        after.commit().unwrap();
        put(&engine, "t", 1, 12).unwrap();
    }
}

#[test]
fn a_writer_reads_on_where_it_has_read() {
    for level in LEVELS {
        let scratch = Scratch::new(&format!("speculate-write-{level:?}"));
        let (engine, gate, _watch) = gated(&scratch);
        gate.close();
        let writer = commit_later(&engine, change);
        let (mut txn, t) = speculative(&engine, level);
        assert_eq!(get(&txn, &t, 1), Some(11));
        let late = commit_later(&engine, |txn| {
            let t = txn.table("t")?;
            txn.update(&t, &key(&t, 3), &row(&t, 3, 33))
        });
        let opener = thread::spawn({
            let gate = gate.clone();
            move || {
                thread::sleep(Duration::from_millis(5));
                gate.open();
            }
        });
        // Waits for the commit that it has read, and builds on it.
        txn.update(&t, &key(&t, 1), &row(&t, 1, 12)).unwrap();
        assert_eq!(Ok(txn.read_ts()), writer.join().unwrap().map_err(|error| error.to_string()));
        late.join().unwrap().unwrap();
        opener.join().unwrap();
        assert_eq!(points(&txn, &t), [Some(12), None, Some(30), Some(40)]);
        assert_eq!(code(txn.get_for_update(&t, &key(&t, 3))), Some(Code::SerializationFailure));
        // A serializable one has read 3, which changed.
        let refused = (level == IsolationLevel::Serializable).then_some(Code::SerializationFailure);
        assert_eq!(code(txn.commit()), refused);
        let after = engine.begin().unwrap();
        let first = if refused.is_some() { 11 } else { 12 };
        assert_eq!(points(&after, &t), [Some(first), None, Some(33), Some(40)]);
    }
}

#[test]
fn serializable_writers_are_validated_from_what_they_saw() {
    let scratch = Scratch::new("speculate-serializable");
    let (engine, gate, _watch) = gated(&scratch);
    gate.close();
    let writer = commit_later(&engine, change);
    let (mut fine, t) = speculative(&engine, IsolationLevel::Serializable);
    let (mut late, _) = speculative(&engine, IsolationLevel::Serializable);
    assert_eq!((scanned(&fine, &t, Vec::new()), get(&late, &t, 3)), (vec![11, 30, 40], Some(30)));
    gate.open();
    writer.join().unwrap().unwrap();
    let u = fine.table("u").unwrap();
    fine.insert(&u, &row(&u, 1, 1)).unwrap();
    fine.commit().unwrap();
    late.insert(&u, &row(&u, 2, 1)).unwrap();
    put(&engine, "t", 3, 31).unwrap();
    assert_eq!(code(late.commit()), Some(Code::SerializationFailure));
}

#[test]
fn statements_at_read_committed_never_see_less() {
    let scratch = Scratch::new("speculate-statements");
    let (engine, gate, watch) = gated(&scratch);
    gate.close();
    let writer = commit_later(&engine, change);
    let (mut reader, t) = speculative(&engine, IsolationLevel::ReadCommitted);
    assert_eq!(get(&reader, &t, 1), Some(11));
    reader.refresh_snapshot().unwrap();
    assert_eq!(get(&reader, &t, 4), Some(40));
    gate.open_full();
    assert_eq!(code(writer.join().unwrap()), Some(Code::DiskFull));
    assert_eq!(code(reader.refresh_snapshot()), Some(Code::SerializationFailure));
    assert_eq!(code(reader.commit()), Some(Code::SerializationFailure));
    drop(watch);
    assert_eq!(engine.core.recent.kept(), (0, 0));
    // Turned off in between, a statement sees what is published.
    gate.close();
    let _watch = engine.watch_pending();
    let writer = commit_later(&engine, change);
    let (mut reader, _) = speculative(&engine, IsolationLevel::ReadCommitted);
    reader.set_speculative_reads(false).unwrap();
    assert_eq!(points(&reader, &t), [Some(10), Some(20), Some(30), None]);
    reader.commit().unwrap();
    gate.open();
    writer.join().unwrap().unwrap();
}

#[test]
fn what_is_more_than_rows_is_waited_for_by_nobody() {
    let scratch = Scratch::new("speculate-ddl");
    let (engine, gate, watch) = gated(&scratch);
    gate.close();
    let first = commit_later(&engine, |txn| {
        let t = txn.table("t")?;
        txn.update(&t, &key(&t, 3), &row(&t, 3, 31))
    });
    let ddl = commit_later(&engine, |txn| txn.create_table(new_table("w")).map(|_| ()));
    let behind = commit_later(&engine, |txn| {
        let t = txn.table("t")?;
        txn.insert(&t, &row(&t, 4, 40))
    });
    let (reader, t) = speculative(&engine, IsolationLevel::RepeatableRead);
    assert_eq!(points(&reader, &t), [Some(10), Some(20), Some(31), None]);
    assert!(reader.table("w").is_err());
    gate.open();
    for commit in [first, ddl, behind] {
        commit.join().unwrap().unwrap();
    }
    reader.commit().unwrap();
    // Without a watch the first one finds nothing but what comes after it.
    drop(watch);
    gate.close();
    let writer = commit_later(&engine, |txn| {
        let t = txn.table("t")?;
        txn.update(&t, &key(&t, 3), &row(&t, 3, 33))
    });
    let (reader, _) = speculative(&engine, IsolationLevel::RepeatableRead);
    assert_eq!(points(&reader, &t), [Some(10), Some(20), Some(31), Some(40)]);
    gate.open();
    assert_eq!(code(writer.join().unwrap()), None);
    reader.commit().unwrap();
}
