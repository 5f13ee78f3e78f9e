//! Large updates beside others: conflicts, locks, indexes, the log.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, Int64Array, RecordBatch};
use weft_contract::{LOCATION, Location, ScanRequest};
use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Code, Column, DataType, Result, Schema, Value};
use weft_kernel::index::{Direction, NewIndex};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};

use crate::column::column_method;
use crate::testing::scan_rows;

/// Rows of the table.
const ROWS: i64 = 1000;
/// The columns that the updates set.
const SET: &[usize] = &[1];

fn open(env: &Env) -> Arc<Engine> {
    open_with(env, EngineOptions::default())
}

fn open_with(env: &Env, options: EngineOptions) -> Arc<Engine> {
    let options = EngineOptions { workers: 0, ..options };
    Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap()
}

/// A table (k, v, u) with v = 0 and u = k, an index on v and a unique one on u; all rows are in files.
fn table(env: &Env) -> (Arc<Engine>, TableRef) {
    table_in(open(env))
}

fn table_in(engine: Arc<Engine>) -> (Arc<Engine>, TableRef) {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    let mut txn = engine.begin().unwrap();
    let schema = Schema::new(vec![column("k"), column("v"), column("u")], vec![0]);
    let t = txn.create_table(NewTable::new("t", schema, "column")).unwrap();
    for k in 0..ROWS {
        txn.insert(&t, &row(&t, k, 0)).unwrap();
    }
    txn.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
    txn.create_index(&t, NewIndex::new("t_u", vec![2], true)).unwrap();
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    let t = engine.begin().unwrap().table("t").unwrap();
    (engine, t)
}

fn row(t: &TableRef, k: i64, v: i64) -> Vec<u8> {
    let values = [Value::Int(k), Value::Int(v), Value::Int(k)];
    t.codec.encode(values.iter().map(Value::as_ref))
}

fn key(t: &TableRef, k: i64) -> Vec<u8> {
    t.keys.encode([Value::Int(k).as_ref()])
}

/// Sets v of all rows that the transaction sees.
fn update_all(txn: &mut Transaction, t: &TableRef, v: i64) -> Result<u64> {
    let (batch, places) = all_with(txn, t, v);
    assert!(txn.can_replace(t, SET)?, "nothing is in the way");
    txn.replace(t, SET, &[batch], &places)
}

/// All rows with another v, and where they lie.
fn all_with(txn: &Transaction, t: &TableRef, v: i64) -> (RecordBatch, Vec<Option<Location>>) {
    let projection = vec![0, LOCATION];
    let request = ScanRequest {
        view: txn.view(t).expect("it is kept"),
        projection,
        predicates: Vec::new(),
        partition_count: 1,
        batch_rows: 4096,
    };
    let mut scan = t.scan(request).unwrap();
    let (mut keys, mut places): (Vec<i64>, Vec<Option<Location>>) = (Vec::new(), Vec::new());
    while let Some(batch) = scan.partitions[0].next().unwrap() {
        let ints = |column: usize| batch.column(column).as_any().downcast_ref::<Int64Array>().unwrap().clone();
        keys.extend(ints(0).values());
        places.extend(ints(1).iter().map(|number| number.and_then(Location::of_number)));
    }
    let vs = Int64Array::from(vec![v; keys.len()]);
    let keys = Int64Array::from(keys);
    let arrow = t.def.schema.arrow(&[0, 1, 2]);
    let columns: Vec<Arc<dyn Array>> = vec![Arc::new(keys.clone()), Arc::new(vs), Arc::new(keys)];
    (RecordBatch::try_new(arrow, columns).unwrap(), places)
}

fn sum(txn: &Transaction, t: &TableRef) -> (usize, i64) {
    let rows = scan_rows(t, txn.view(t).expect("it is kept"), &[1], &[], 1, 4096).unwrap();
    (rows.len(), rows.iter().map(|row| if let Value::Int(v) = row[0] { v } else { panic!("{row:?}") }).sum())
}

/// How many rows the index on v finds.
fn found(txn: &Transaction, t: &TableRef, v: i64) -> usize {
    let (_, index) = txn.index("t_v").unwrap();
    let value = [Value::Int(v)];
    let (low, high) = (Bound::Included(&value[..]), Bound::Included(&value[..]));
    let keys = txn.index_keys(t, &index, low, high, Direction::Forward, 10_000).unwrap().unwrap();
    keys.iter()
        .filter(|key| txn.get_row(t, key).unwrap().is_some_and(|row| t.codec.decode(&row)[1] == value[0]))
        .count()
}

fn simulated(body: impl FnOnce(Env) + Send + 'static) {
    assert_eq!(Simulation::new(SimOptions::seeded(9)).run(body), RunEnd::Finished);
}

#[test]
fn a_row_that_changed_since_the_snapshot_is_a_conflict() {
    simulated(|env| {
        let (engine, t) = table(&env);
        let mut first = engine.begin().unwrap();
        let (batch, places) = all_with(&first, &t, 7);
        let mut other = engine.begin().unwrap();
        other.update(&t, &key(&t, 500), &row(&t, 500, 3)).unwrap();
        other.commit().unwrap();
        assert!(first.can_replace(&t, SET).unwrap());
        let error = first.replace(&t, SET, &[batch], &places).unwrap_err();
        assert_eq!(error.code(), Code::SerializationFailure, "{error}");
        // As a READ COMMITTED statement that begins again.
        let mark = first.mark();
        first.rollback_to(mark);
        first.refresh_snapshot().unwrap();
        assert_eq!(update_all(&mut first, &t, 7).unwrap(), ROWS as u64);
        first.commit().unwrap();
        assert_eq!(sum(&engine.begin().unwrap(), &t), (1000, 7000));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn many_locks_of_rows_become_one_of_the_table() {
    simulated(|env| {
        // An eighth is the locks of 512 rows, a third those of 1365.
        let options =
            EngineOptions { row_table_bytes: 64 << 10, row_memory_bytes: 768 << 10, ..EngineOptions::default() };
        let (engine, t) = table_in(open_with(&env, options));
        let insert = |k: i64| {
            let mut other = engine.begin().unwrap();
            other.set_lock_timeout(Duration::from_millis(5));
            other.insert(&t, &row(&t, k, 1)).and_then(|()| other.commit()).map(|_| ())
        };
        let mut large = engine.begin().unwrap();
        assert_eq!(update_all(&mut large, &t, 7).unwrap(), ROWS as u64);
        assert_eq!(insert(ROWS).unwrap_err().code(), Code::LockTimeout);
        // The table stays locked, for other statements of the transaction as well.
        large.update(&t, &key(&t, 3), &row(&t, 3, 9)).unwrap();
        large.commit().unwrap();
        insert(ROWS).unwrap();

        // Somebody else writes to the table: row by row, as long as there is room for the locks.
        let mut other = engine.begin().unwrap();
        other.insert(&t, &row(&t, ROWS + 1, 1)).unwrap();
        let mut large = engine.begin().unwrap();
        assert_eq!(update_all(&mut large, &t, 8).unwrap(), ROWS as u64 + 1);
        insert(ROWS + 2).unwrap();
        other.commit().unwrap();
        large.commit().unwrap();
        assert_eq!(sum(&engine.begin().unwrap(), &t), (1003, 8 * 1001 + 2));
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn too_many_locks_of_rows_wait_for_the_table() {
    simulated(|env| {
        // A third is the locks of 682 rows.
        let options =
            EngineOptions { row_table_bytes: 64 << 10, row_memory_bytes: 384 << 10, ..EngineOptions::default() };
        let (engine, t) = table_in(open_with(&env, options));
        let mut other = engine.begin().unwrap();
        other.insert(&t, &row(&t, ROWS, 1)).unwrap();
        let mut large = engine.begin().unwrap();
        large.set_lock_timeout(Duration::from_millis(5));
        let error = update_all(&mut large, &t, 7).unwrap_err();
        assert_eq!(error.code(), Code::LockTimeout);
        assert!(error.message().contains("table \"t\", of which many rows are updated"), "{error}");
        other.commit().unwrap();
        // As a READ COMMITTED statement that begins again: it has its locks of rows still.
        large.refresh_snapshot().unwrap();
        assert_eq!(update_all(&mut large, &t, 7).unwrap(), ROWS as u64 + 1);
        // Two at once: the second waits at its first row.
        let mut second = engine.begin().unwrap();
        second.set_lock_timeout(Duration::from_millis(5));
        assert_eq!(second.update(&t, &key(&t, 3), &row(&t, 3, 9)).unwrap_err().code(), Code::LockTimeout);
        large.commit().unwrap();
        assert_eq!(sum(&engine.begin().unwrap(), &t), (1001, 7007));
    });
}

#[test]
fn rows_are_locked_one_by_one() {
    simulated(|env| {
        let (engine, t) = table(&env);
        let mut other = engine.begin().unwrap();
        other.update(&t, &key(&t, 500), &row(&t, 500, 3)).unwrap();
        let mut large = engine.begin().unwrap();
        large.set_lock_timeout(Duration::from_millis(5));
        assert_eq!(update_all(&mut large, &t, 7).unwrap_err().code(), Code::LockTimeout);
        other.rollback();
        assert_eq!(update_all(&mut large, &t, 7).unwrap(), ROWS as u64);
        // Others wait for its rows, and write rows of their own.
        let mut other = engine.begin().unwrap();
        other.set_lock_timeout(Duration::from_millis(5));
        other.insert(&t, &row(&t, ROWS, 1)).unwrap();
        let waits = other.update(&t, &key(&t, 3), &row(&t, 3, 9)).unwrap_err();
        assert_eq!(waits.code(), Code::LockTimeout);
        other.commit().unwrap();
        large.commit().unwrap();
        assert_eq!(sum(&engine.begin().unwrap(), &t), (1001, 7001));
    });
}

#[test]
fn columns_that_decide_more_than_their_row_and_written_tables_are_left_to_rows() {
    simulated(|env| {
        let (engine, t) = table(&env);
        let mut txn = engine.begin().unwrap();
        assert!(!txn.can_replace(&t, &[0]).unwrap(), "a key");
        assert!(!txn.can_replace(&t, &[1, 2]).unwrap(), "a unique index");
        let mut other = engine.begin().unwrap();
        other.create_index(&t, NewIndex::new("t_vu", vec![1, 2], false)).unwrap();
        assert!(!txn.can_replace(&t, SET).unwrap(), "an index is being made");
        other.rollback();
        update_all(&mut txn, &t, 1).unwrap();
        assert!(!txn.can_replace(&t, SET).unwrap(), "the table was written before");
    });
}

#[test]
fn indexes_find_the_new_rows_and_keep_values_unique() {
    simulated(|env| {
        let (engine, t) = table(&env);
        let mut txn = engine.begin().unwrap();
        update_all(&mut txn, &t, 7).unwrap();
        // A row with the value that a replaced one has in the unique index.
        let values = [Value::Int(ROWS), Value::Int(0), Value::Int(5)];
        let taken = t.codec.encode(values.iter().map(Value::as_ref));
        let mark = txn.mark();
        assert_eq!(txn.insert(&t, &taken).unwrap_err().code(), Code::UniqueViolation);
        txn.rollback_to(mark);
        assert!(txn.delete(&t, &key(&t, 5)).unwrap());
        txn.insert(&t, &taken).unwrap();
        txn.update(&t, &key(&t, 6), &row(&t, 6, 8)).unwrap();
        txn.commit().unwrap();
        let txn = engine.begin().unwrap();
        assert_eq!([found(&txn, &t, 7), found(&txn, &t, 8), found(&txn, &t, 0)], [998, 1, 1]);
        drop(txn);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn the_log_names_files_and_redo_ends_what_they_replace() {
    simulated(|env| {
        let (engine, t) = table(&env);
        let before = engine.status().log_bytes;
        let mut txn = engine.begin().unwrap();
        update_all(&mut txn, &t, 7).unwrap();
        txn.commit().unwrap();
        assert!(engine.status().log_bytes - before < 4096, "one record, whatever the number of rows");
        assert_eq!(engine.status().row_memory_bytes, 0, "no row is in a row table");
        let mut txn = engine.begin().unwrap();
        txn.update(&t, &key(&t, 6), &row(&t, 6, 8)).unwrap();
        txn.commit().unwrap();
        drop((engine, t));
        // The second time what was redone is written by a checkpoint.
        for _ in 0..3 {
            let engine = open(&env);
            let txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert_eq!(sum(&txn, &t), (1000, 7001));
            assert_eq!([found(&txn, &t, 7), found(&txn, &t, 8), found(&txn, &t, 0)], [999, 1, 0]);
            drop(txn);
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            engine.checkpoint().unwrap();
        }
    });
}
