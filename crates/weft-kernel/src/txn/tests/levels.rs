//! Isolation levels, and conflicts per column. Table `w` has a key and three columns.

use std::sync::Arc;
use std::time::Duration;

use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Code, Column, DataType, Result, Schema, Value, ValueRef};

use crate::testing::{Scratch, by_hand, key, open_with};
use crate::{Engine, EngineOptions, IsolationLevel, LockMode, NewTable, TableRef, Transaction, Wait};

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable];

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

/// Rows 1 and 2 are (0, 0, 0).
fn engine(scratch: &Scratch) -> Arc<Engine> {
    let engine = open(scratch);
    let mut txn = engine.begin().unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    let schema = Schema::new(["k", "a", "b", "c"].map(column).into(), vec![0]);
    let t = txn.create_table(NewTable::new("w", schema, "memory")).unwrap();
    for k in [1, 2] {
        txn.insert(&t, &row(&t, [k, 0, 0, 0])).unwrap();
    }
    txn.commit().unwrap();
    engine
}

fn row(t: &TableRef, values: [i64; 4]) -> Vec<u8> {
    t.codec.encode(values.map(ValueRef::Int))
}

fn begin(engine: &Arc<Engine>, level: IsolationLevel) -> (Transaction, TableRef) {
    let mut txn = engine.begin().unwrap();
    txn.set_level(level).unwrap();
    let t = txn.table("w").unwrap();
    (txn, t)
}

fn get(txn: &Transaction, t: &TableRef, k: i64) -> [i64; 4] {
    let row = txn.get_row(t, &key(t, k)).unwrap().expect("the row is there");
    std::array::from_fn(|column| match t.codec.get(&row, column) {
        ValueRef::Int(value) => value,
        other => panic!("{other:?}"),
    })
}

/// Sets one column, having read some.
fn set(txn: &mut Transaction, t: &TableRef, k: i64, column: usize, value: i64, reads: &[usize]) -> Result<()> {
    let mode = LockMode::columns(reads.iter().copied().collect(), [column].into_iter().collect());
    let found = txn.lock_row(t, &key(t, k), mode, txn.lock_wait())?.expect("the row is there");
    let mut values: Vec<ValueRef<'_>> = (0..4).map(|column| t.codec.get(&found, column)).collect();
    values[column] = ValueRef::Int(value);
    txn.update_columns(t, &key(t, k), &t.codec.encode(values), mode)
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

fn now(engine: &Arc<Engine>, k: i64) -> [i64; 4] {
    let (txn, t) = begin(engine, IsolationLevel::ReadCommitted);
    get(&txn, &t, k)
}

#[test]
fn writers_of_different_columns_both_survive() {
    let scratch = Scratch::new("columns");
    let engine = engine(&scratch);
    for level in LEVELS {
        let (mut one, t) = begin(&engine, level);
        let (mut two, _) = begin(&engine, level);
        let (mut three, _) = begin(&engine, level);
        let base = get(&one, &t, 1)[1];
        set(&mut one, &t, 1, 1, base + 1, &[1]).unwrap();
        set(&mut two, &t, 1, 2, base + 2, &[2]).unwrap();
        // A third waits for the first.
        assert_eq!(code(set(&mut three, &t, 1, 1, 9, &[])), Code::LockTimeout);
        two.commit().unwrap();
        // Other columns stay what the snapshot shows.
        assert_eq!(get(&one, &t, 1), [1, base + 1, base, 0]);
        if level == IsolationLevel::ReadCommitted {
            one.refresh_snapshot().unwrap();
            assert_eq!(get(&one, &t, 1), [1, base + 1, base + 2, 0]);
        }
        let committed = one.commit();
        if level == IsolationLevel::Serializable {
            // It has read the whole row.
            assert_eq!(code(committed), Code::SerializationFailure);
            let (mut again, _) = begin(&engine, level);
            set(&mut again, &t, 1, 1, base + 1, &[1]).unwrap();
            again.commit().unwrap();
        } else {
            committed.unwrap();
        }
        assert_eq!(now(&engine, 1), [1, base + 1, base + 2, 0]);
        let (mut even, _) = begin(&engine, level);
        set(&mut even, &t, 1, 1, base + 2, &[]).unwrap();
        even.commit().unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    assert_eq!(now(&open(&scratch), 1), [1, 6, 6, 0]);
}

#[test]
fn a_column_changed_since_the_snapshot_is_a_conflict() {
    let scratch = Scratch::new("changed");
    let engine = engine(&scratch);
    let (mut late, t) = begin(&engine, IsolationLevel::RepeatableRead);
    let (mut first, _) = begin(&engine, IsolationLevel::RepeatableRead);
    set(&mut first, &t, 1, 1, 7, &[]).unwrap();
    first.commit().unwrap();
    assert_eq!(code(set(&mut late, &t, 1, 1, 8, &[])), Code::SerializationFailure);
    assert_eq!(code(set(&mut late, &t, 1, 2, 8, &[1])), Code::SerializationFailure);
    assert_eq!(code(late.delete(&t, &key(&t, 1))), Code::SerializationFailure);
    set(&mut late, &t, 1, 2, 8, &[2]).unwrap();
    // Now it wants more of its own row.
    assert_eq!(code(set(&mut late, &t, 1, 1, 8, &[])), Code::SerializationFailure);
    assert_eq!(code(late.delete(&t, &key(&t, 1))), Code::SerializationFailure);
    assert_eq!(get(&late, &t, 1), [1, 0, 8, 0]);
    late.commit().unwrap();
    assert_eq!(now(&engine, 1), [1, 7, 8, 0]);
}

#[test]
fn a_savepoint_taken_back_does_not_bring_old_columns_back() {
    let scratch = Scratch::new("savepoint");
    let engine = engine(&scratch);
    let (mut one, t) = begin(&engine, IsolationLevel::ReadCommitted);
    set(&mut one, &t, 1, 1, 1, &[]).unwrap();
    let mark = one.mark();
    set(&mut one, &t, 1, 1, 2, &[]).unwrap();
    let (mut two, _) = begin(&engine, IsolationLevel::ReadCommitted);
    set(&mut two, &t, 1, 2, 5, &[]).unwrap();
    two.commit().unwrap();
    one.refresh_snapshot().unwrap();
    assert_eq!(get(&one, &t, 1), [1, 2, 5, 0]);
    one.rollback_to(mark);
    one.refresh_snapshot().unwrap();
    assert_eq!(get(&one, &t, 1), [1, 1, 5, 0]);
    one.commit().unwrap();
    assert_eq!(now(&engine, 1), [1, 1, 5, 0]);
}

#[test]
fn rows_can_be_locked_without_waiting() {
    let scratch = Scratch::new("nowait");
    let engine = engine(&scratch);
    let (mut one, t) = begin(&engine, IsolationLevel::ReadCommitted);
    let (mut two, _) = begin(&engine, IsolationLevel::ReadCommitted);
    one.lock_row(&t, &key(&t, 1), LockMode::SHARED, Wait::Never).unwrap();
    two.lock_row(&t, &key(&t, 1), LockMode::SHARED, Wait::Never).unwrap();
    assert_eq!(code(two.lock_row(&t, &key(&t, 1), LockMode::EXCLUSIVE, Wait::Never)), Code::LockTimeout);
    assert_eq!(code(set(&mut one, &t, 1, 1, 1, &[])), Code::LockTimeout);
    two.rollback();
    set(&mut one, &t, 1, 1, 1, &[]).unwrap();
}

fn scan_count(txn: &Transaction, t: &TableRef, predicates: Vec<Predicate>, projection: &[usize]) -> usize {
    let view = txn.view(t).unwrap();
    let projection = projection.to_vec();
    let request = ScanRequest { view, projection, predicates, partition_count: 1, batch_rows: 100 };
    let mut output = t.scan(request).unwrap();
    let mut count = 0;
    while let Some(batch) = output.partitions[0].next().unwrap() {
        count += batch.num_rows();
    }
    count
}

fn equals(column: usize, value: i64) -> Vec<Predicate> {
    vec![Predicate::Compare { column, op: CompareOp::Eq, value: Value::Int(value) }]
}

#[test]
fn write_skew_is_found_at_commit() {
    let scratch = Scratch::new("skew");
    let engine = engine(&scratch);
    for level in LEVELS {
        let (mut one, t) = begin(&engine, level);
        let (mut two, _) = begin(&engine, level);
        let (a, b) = (get(&one, &t, 2)[1], get(&two, &t, 1)[1]);
        set(&mut one, &t, 1, 1, a + 1, &[]).unwrap();
        set(&mut two, &t, 2, 1, b + 1, &[]).unwrap();
        one.commit().unwrap();
        match level {
            IsolationLevel::Serializable => assert_eq!(code(two.commit()), Code::SerializationFailure),
            _ => drop(two.commit().unwrap()),
        }
    }
    // A reader alone needs no validation.
    let (one, t) = begin(&engine, IsolationLevel::Serializable);
    let (mut two, _) = begin(&engine, IsolationLevel::Serializable);
    get(&one, &t, 1);
    set(&mut two, &t, 1, 1, 50, &[]).unwrap();
    two.commit().unwrap();
    one.commit().unwrap();
    assert_eq!(engine.core.recent.kept(), (0, 0));
}

/// What another transaction does to a reader of the rows with a = 0, b read beside it.
#[test]
fn ranges_that_were_read_are_validated() {
    type Change = fn(&mut Transaction, &TableRef) -> Result<()>;
    let cases: [(&str, Change, bool); 7] = [
        ("a row comes", |txn, t| txn.insert(t, &row(t, [9, 0, 0, 0])), true),
        ("a row comes elsewhere", |txn, t| txn.insert(t, &row(t, [9, 7, 0, 0])), false),
        ("a row goes", |txn, t| txn.delete(t, &key(t, 1)).map(|_| ()), true),
        ("a row leaves the range", |txn, t| set(txn, t, 1, 1, 3, &[]), true),
        ("a row changes in what is read", |txn, t| set(txn, t, 1, 2, 3, &[]), true),
        ("a row changes in what is not read", |txn, t| set(txn, t, 1, 3, 3, &[]), false),
        ("a row outside changes", |txn, t| set(txn, t, 2, 2, 3, &[]), false),
    ];
    for (what, change, conflict) in cases {
        let scratch = Scratch::new("ranges");
        let engine = engine(&scratch);
        let (mut outside, t) = begin(&engine, IsolationLevel::ReadCommitted);
        set(&mut outside, &t, 2, 1, 4, &[]).unwrap();
        outside.insert(&t, &row(&t, [100, 4, 0, 0])).unwrap();
        outside.commit().unwrap();
        let (mut reader, _) = begin(&engine, IsolationLevel::Serializable);
        assert_eq!(scan_count(&reader, &t, equals(1, 0), &[2]), 1, "{what}");
        set(&mut reader, &t, 100, 3, 1, &[]).unwrap();
        let (mut other, _) = begin(&engine, IsolationLevel::ReadCommitted);
        change(&mut other, &t).unwrap();
        other.commit().unwrap();
        let committed = reader.commit();
        assert_eq!(committed.is_err(), conflict, "{what}: {committed:?}");
        if let Err(error) = committed {
            assert_eq!(error.code(), Code::SerializationFailure, "{what}");
        }
    }
}

#[test]
fn a_key_found_missing_was_read() {
    let scratch = Scratch::new("missing");
    let engine = engine(&scratch);
    let (mut one, t) = begin(&engine, IsolationLevel::Serializable);
    assert!(one.get_row(&t, &key(&t, 7)).unwrap().is_none());
    set(&mut one, &t, 1, 1, 1, &[]).unwrap();
    let (mut two, _) = begin(&engine, IsolationLevel::Serializable);
    two.insert(&t, &row(&t, [7, 0, 0, 0])).unwrap();
    two.commit().unwrap();
    assert_eq!(code(one.commit()), Code::SerializationFailure);
}

#[test]
fn a_delete_that_found_nothing_has_read_that() {
    let scratch = Scratch::new("delete-missing");
    let engine = engine(&scratch);
    let (mut one, t) = begin(&engine, IsolationLevel::Serializable);
    let (mut two, _) = begin(&engine, IsolationLevel::Serializable);
    two.insert(&t, &row(&t, [70, 0, 0, 0])).unwrap();
    two.commit().unwrap();
    assert!(!one.delete(&t, &t.keys.of_row(&t.codec, &row(&t, [70, 0, 0, 0]))).unwrap());
    one.insert(&t, &row(&t, [71, 0, 0, 0])).unwrap();
    assert_eq!(code(one.commit()), Code::SerializationFailure);
}

/// Each thread adds to its own column of the same two rows. `WEFT_RACES` sets how often (each).
#[test]
fn races_on_different_columns_lose_no_update() {
    let rounds: i64 = std::env::var("WEFT_RACES").map_or(300, |text| text.parse().unwrap());
    let scratch = Scratch::new("races");
    let options = EngineOptions { durability: crate::Durability::Async, ..by_hand() };
    drop(engine(&scratch));
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    for level in LEVELS {
        let before = now(&engine, 1);
        std::thread::scope(|scope| {
            for column in 1..4 {
                let engine = &engine;
                scope.spawn(move || {
                    for round in 0..rounds {
                        let k = 1 + round % 2;
                        let add = || -> Result<()> {
                            let (mut txn, t) = begin(engine, level);
                            let mode =
                                LockMode::columns([column].into_iter().collect(), [column].into_iter().collect());
                            let row = txn.lock_row(&t, &key(&t, k), mode, Wait::AtMost(Duration::ZERO))?;
                            let row = row.expect("the row is there");
                            let ValueRef::Int(value) = t.codec.get(&row, column) else { panic!("an integer") };
                            set(&mut txn, &t, k, column, value + 1, &[column])?;
                            txn.commit().map(|_| ())
                        };
                        add().unwrap_or_else(|error| panic!("{level}: {error}"));
                    }
                });
            }
        });
        let after = now(&engine, 1);
        let half = (rounds + 1) / 2;
        assert_eq!(after, [1, before[1] + half, before[2] + half, before[3] + half], "{level}");
    }
}
