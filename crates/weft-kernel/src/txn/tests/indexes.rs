//! Indexes inside transactions. Table `w` has a key and three columns.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::{Code, Column, CompareOp, DataType, Predicate, Result, Schema, Value, ValueRef};

use crate::index::{Direction, NewIndex};
use crate::testing::{Scratch, by_hand, key, open_with};
use crate::{Engine, EngineOptions, IsolationLevel, NewTable, TableRef, Transaction};

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

/// Rows 1 to 9: (k, k % 3, k, NULL).
fn engine(scratch: &Scratch) -> Arc<Engine> {
    let engine = open(scratch);
    let mut txn = engine.begin().unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: name == "k" };
    let schema = Schema::new(["k", "a", "b", "c"].map(column).into(), vec![0]);
    let t = txn.create_table(NewTable::new("w", schema, "memory")).unwrap();
    (1..10).for_each(|k| txn.insert(&t, &row(&t, k, k % 3, k)).unwrap());
    txn.commit().unwrap();
    engine
}

fn row(t: &TableRef, k: i64, a: i64, b: i64) -> Vec<u8> {
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(a), ValueRef::Int(b), ValueRef::Null])
}

fn new(name: &str, columns: &[usize], unique: bool) -> NewIndex {
    NewIndex::new(name, columns.to_vec(), unique)
}

fn begin(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let txn = engine.begin().unwrap();
    let t = txn.table("w").unwrap();
    (txn, t)
}

fn make(engine: &Arc<Engine>, index: NewIndex) -> Result<()> {
    let (mut txn, t) = begin(engine);
    txn.create_index(&t, index)?;
    txn.commit().map(|_| ())
}

/// The keys that an index gives for an equality.
fn keys(txn: &Transaction, t: &TableRef, name: &str, values: &[i64]) -> Option<Vec<i64>> {
    let (_, index) = txn.index(name).unwrap();
    let values: Vec<Value> = values.iter().copied().map(Value::Int).collect();
    let bound = Bound::Included(&values[..]);
    let keys = txn.index_keys(t, &index, bound, bound, Direction::Forward, 100).unwrap()?;
    let decode = |key: &Vec<u8>| match &t.keys.decode(key).unwrap()[..] {
        [Value::Int(k)] => *k,
        other => panic!("{other:?}"),
    };
    Some(keys.iter().map(decode).collect())
}

/// The keys of the rows with a = value, by a scan; whether an index found them.
fn scan(txn: &Transaction, t: &TableRef, value: i64) -> (Vec<i64>, bool) {
    let predicates = vec![Predicate::Compare { column: 1, op: CompareOp::Eq, value: Value::Int(value) }];
    let request = ScanRequest {
        view: txn.view(t).unwrap(),
        projection: vec![0],
        predicates,
        partition_count: 1,
        batch_rows: 100,
    };
    let mut output = t.scan(request).unwrap();
    let mut found = Vec::new();
    while let Some(batch) = output.partitions[0].next().unwrap() {
        let array = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().clone();
        found.extend(array.values().iter().copied());
    }
    found.sort_unstable();
    let by_index = output.metrics.index.lock().is_some();
    (found, by_index)
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn rows_are_found_by_their_values() {
    let scratch = Scratch::new("index");
    let engine = engine(&scratch);
    let (old, t) = begin(&engine);
    make(&engine, new("w_a", &[1], false)).unwrap();
    make(&engine, new("w_ab", &[1, 2], false)).unwrap();
    assert_eq!(code(make(&engine, new("w_a", &[2], false))), Code::DuplicateTable);
    assert_eq!(code(make(&engine, new("w", &[2], false))), Code::DuplicateTable);
    // A snapshot from before the index reads the table.
    assert_eq!((scan(&old, &t, 1), old.index("w_a").is_none()), ((vec![1, 4, 7], false), true));
    drop(old);
    let (mut txn, t) = begin(&engine);
    assert_eq!(keys(&txn, &t, "w_a", &[1]), Some(vec![1, 4, 7]));
    assert_eq!(keys(&txn, &t, "w_ab", &[1, 4]), Some(vec![4]));
    assert_eq!(keys(&txn, &t, "w_ab", &[1]), Some(vec![1, 4, 7]));
    assert_eq!(scan(&txn, &t, 1), (vec![1, 4, 7], true));
    assert_eq!(scan(&txn, &t, 5), (vec![], true));
    // Own writes; what others commit meanwhile is not seen, though its entries are there.
    txn.update(&t, &key(&t, 4), &row(&t, 4, 5, 4)).unwrap();
    txn.delete(&t, &key(&t, 1)).unwrap();
    txn.insert(&t, &row(&t, 20, 1, 20)).unwrap();
    let (mut other, _) = begin(&engine);
    other.update(&t, &key(&t, 7), &row(&t, 7, 2, 7)).unwrap();
    other.insert(&t, &row(&t, 21, 1, 21)).unwrap();
    other.commit().unwrap();
    assert_eq!(scan(&txn, &t, 1), (vec![7, 20], true));
    assert_eq!(scan(&txn, &t, 5), (vec![4], true));
    txn.commit().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop(engine);
    // Redo: files of the fill, entries of the log's rows.
    let engine = open(&scratch);
    let (mut txn, t) = begin(&engine);
    assert_eq!((scan(&txn, &t, 1), scan(&txn, &t, 2)), ((vec![20, 21], true), (vec![2, 5, 7, 8], true)));
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    assert_eq!(code(txn.table("w_a").map(|_| ())), Code::WrongObjectType);
    assert_eq!(txn.tables().len(), 1);
    txn.drop_index("w_a").unwrap();
    assert_eq!(code(txn.drop_index("w_a")), Code::UndefinedObject);
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    let (txn, t) = begin(&engine);
    assert!(txn.index("w_a").is_none() && txn.index("w_ab").is_some());
    assert_eq!(scan(&txn, &t, 1), (vec![20, 21], true));
    drop(txn);
    engine.close().unwrap();
    drop(engine);
    let engine = open(&scratch);
    let (mut txn, t) = begin(&engine);
    assert_eq!(scan(&txn, &t, 1), (vec![20, 21], true));
    txn.drop_table("w").unwrap();
    assert!(txn.index("w_ab").is_none());
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_rolled_back_index_was_never_there() {
    let scratch = Scratch::new("index-back");
    let engine = engine(&scratch);
    let (mut txn, t) = begin(&engine);
    let mark = txn.mark();
    txn.create_index(&t, new("w_a", &[1], false)).unwrap();
    txn.rollback_to(mark);
    assert!(txn.index("w_a").is_none() && t.indexes().is_empty());
    txn.create_index(&t, new("w_a", &[1], false)).unwrap();
    drop(txn);
    assert!(t.indexes().is_empty());
    make(&engine, new("w_a", &[1], false)).unwrap();
    let (txn, t) = begin(&engine);
    assert_eq!(scan(&txn, &t, 1), (vec![1, 4, 7], true));
}

#[test]
fn values_of_a_unique_index_are_unique() {
    let scratch = Scratch::new("unique-index");
    let engine = engine(&scratch);
    assert_eq!(code(make(&engine, new("w_a", &[1], true))), Code::UniqueViolation);
    // NULLs are different from everything.
    make(&engine, new("w_c", &[3], true)).unwrap();
    make(&engine, new("w_b", &[2], true)).unwrap();
    let (mut txn, t) = begin(&engine);
    let error = txn.insert(&t, &row(&t, 30, 0, 7)).unwrap_err();
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"w_b\"");
    assert_eq!((error.table(), error.constraint()), (Some("w"), Some("w_b")));
    assert_eq!(code(txn.update(&t, &key(&t, 1), &row(&t, 1, 1, 2))), Code::UniqueViolation);
    // To the same value, by another way round, and after a delete in the same transaction.
    txn.update(&t, &key(&t, 1), &row(&t, 1, 5, 1)).unwrap();
    txn.delete(&t, &key(&t, 2)).unwrap();
    txn.insert(&t, &row(&t, 30, 0, 2)).unwrap();
    assert_eq!(code(txn.insert(&t, &row(&t, 31, 0, 2))), Code::UniqueViolation);
    let mark = txn.mark();
    txn.insert(&t, &row(&t, 32, 0, 32)).unwrap();
    txn.rollback_to(mark);
    txn.insert(&t, &row(&t, 33, 0, 32)).unwrap();
    // A row that was changed in another column still has its value.
    txn.update(&t, &key(&t, 3), &row(&t, 3, 77, 3)).unwrap();
    assert_eq!(code(txn.insert(&t, &row(&t, 34, 0, 3))), Code::UniqueViolation);
    // Another one waits for who has the value, and for who holds a row that has it.
    let (mut other, _) = begin(&engine);
    assert_eq!(code(other.insert(&t, &row(&t, 40, 0, 32))), Code::LockTimeout);
    assert_eq!(code(other.insert(&t, &row(&t, 41, 0, 1))), Code::LockTimeout);
    drop(other);
    txn.commit().unwrap();
    let (mut other, _) = begin(&engine);
    assert_eq!(code(other.insert(&t, &row(&t, 40, 0, 32))), Code::UniqueViolation);
    drop(other);
    // In bulk: among themselves, and against what is there.
    let column = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    let build = |keys: &[i64], values: &[i64]| {
        let nulls = Arc::new(Int64Array::from(vec![keys[0]; keys.len()])) as ArrayRef;
        let columns = [("k", column(keys)), ("a", column(values)), ("b", column(values)), ("c", nulls)];
        let (mut txn, t) = begin(&engine);
        txn.build(&t, &[RecordBatch::try_from_iter(columns).unwrap()])?;
        txn.commit().map(|_| ())
    };
    assert_eq!(code(build(&[50], &[3])), Code::UniqueViolation);
    assert_eq!(code(build(&[50, 51], &[60, 60])), Code::UniqueViolation);
    build(&[50], &[60]).unwrap();
    // Of a build that fails, by the table or by its last index, no index keeps files.
    let (mut txn, t) = begin(&engine);
    let entries = || {
        let txn = engine.begin().unwrap();
        ["w_c", "w_b"].map(|name| txn.index(name).unwrap().1.statistics().entries)
    };
    let before = entries();
    for (key, value) in [(1, 61), (51, 60)] {
        let columns =
            [("k", column(&[key])), ("a", column(&[value])), ("b", column(&[value])), ("c", column(&[value]))];
        let failed = txn.build(&t, &[RecordBatch::try_from_iter(columns).unwrap()]);
        assert_eq!(code(failed), Code::UniqueViolation, "key {key}, value {value}");
    }
    txn.commit().unwrap();
    assert_eq!(entries(), before);
    let (mut txn, t) = begin(&engine);
    assert_eq!(keys(&txn, &t, "w_b", &[60]), Some(vec![50]));
    assert_eq!(code(txn.insert(&t, &row(&t, 70, 0, 60))), Code::UniqueViolation);
    drop(txn);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn an_index_is_made_while_others_write() {
    let scratch = Scratch::new("index-online");
    drop(engine(&scratch));
    let engine = open_with(Env::real(), scratch.path(), by_hand()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for client in 0..3i64 {
            let (engine, stop) = (&engine, &stop);
            scope.spawn(move || {
                let mut k = 1000 + client;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let (mut txn, t) = begin(engine);
                    txn.set_durability(crate::Durability::Async);
                    txn.insert(&t, &row(&t, k, k % 7, k)).unwrap();
                    if k % 5 == 0 {
                        txn.update(&t, &key(&t, k), &row(&t, k, 1 + k % 7, k)).unwrap();
                    }
                    txn.commit().unwrap();
                    k += 3;
                }
            });
        }
        let made = (0..6).try_for_each(|round| {
            make(&engine, new(&format!("w_{round}"), &[1], false))?;
            make(&engine, new(&format!("u_{round}"), &[2], true))
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        made.unwrap();
    });
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn equalities_of_an_index_are_validated_as_such() {
    let scratch = Scratch::new("index-serial");
    let engine = engine(&scratch);
    make(&engine, new("w_a", &[1], false)).unwrap();
    for (a, conflict) in [(1, true), (2, false)] {
        let (mut reader, t) = begin(&engine);
        reader.set_level(IsolationLevel::Serializable).unwrap();
        keys(&reader, &t, "w_a", &[1]).unwrap();
        reader.insert(&t, &row(&t, 500 + a, 9, 500 + a)).unwrap();
        let (mut other, _) = begin(&engine);
        other.insert(&t, &row(&t, 600 + a, a, 600 + a)).unwrap();
        other.commit().unwrap();
        assert_eq!(reader.commit().is_err(), conflict);
    }
}
