//! A unique index keeps its values unique while rows are installed: what is between its two versions is still there.
//!
//! ```text
//!   UPDATE people SET seen = 2 WHERE id = 5     5's old version has ended · · · · · · 5's new version is there
//!   INSERT INTO people VALUES (9, 'e@x', 1)                             ▲ here: 5 has e@x, refused
//! ```
#![cfg(feature = "faults")]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and real files"
)]

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use weft_env::Env;
use weft_format::{Code, Column, DataType, Result, Schema, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::index::NewIndex;
use weft_kernel::step::{Moment, on_moment};
use weft_kernel::{ColumnSet, Durability, Engine, EngineOptions, LockMode, NewTable, TableRef, Transaction};
use weft_tables::column_method;

/// How long who must wait is watched waiting.
const WATCHED: Duration = Duration::from_millis(300);

/// A directory that goes with its guard.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("weft-tables-unique-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `people (id bigint primary key, email text unique, seen bigint)` with the rows 1 to 8, `1@x` to `8@x`, in files.
fn people(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { workers: 0, lock_timeout: Duration::from_secs(20), ..EngineOptions::default() };
    let engine = Engine::open(Env::real(), &scratch.0, vec![column_method()], options).unwrap();
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: name == "id" };
    let columns =
        vec![column("id", DataType::BigInt), column("email", DataType::Text), column("seen", DataType::BigInt)];
    let mut txn = engine.begin().unwrap();
    let t = txn.create_table(NewTable::new("people", Schema::new(columns, vec![0]), "column")).unwrap();
    txn.create_index(&t, NewIndex::new("people_email", vec![1], true)).unwrap();
    (1..=8).for_each(|id| txn.insert(&t, &row(&t, id, &format!("{id}@x"), 1)).unwrap());
    txn.commit().unwrap();
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
    engine
}

fn row(t: &TableRef, id: i64, email: &str, seen: i64) -> Vec<u8> {
    t.codec.encode([ValueRef::Int(id), ValueRef::Text(email), ValueRef::Int(seen)])
}

fn begin(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let mut txn = engine.begin().unwrap();
    txn.set_durability(Durability::Async);
    let t = txn.table("people").unwrap();
    (txn, t)
}

/// Inserts a row whose email is taken, in a transaction of its own.
fn insert(engine: &Arc<Engine>, id: i64, email: &str) -> Result<()> {
    let (mut txn, t) = begin(engine);
    txn.insert(&t, &row(&t, id, email, 1))?;
    txn.commit().map(|_| ())
}

fn of_seen() -> LockMode {
    LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([2]))
}

/// `UPDATE people SET seen = .. WHERE id = ..`, as it locks: that column alone.
fn see(txn: &mut Transaction, t: &TableRef, id: i64, seen: i64) {
    let key = t.keys.encode([ValueRef::Int(id)]);
    let before = txn.lock_row(t, &key, of_seen(), txn.lock_wait()).unwrap().unwrap();
    let ValueRef::Text(email) = t.codec.get(&before, 1) else { panic!("an email is text") };
    txn.update_columns(t, &key, &row(t, id, email, seen), of_seen()).unwrap();
}

/// `UPDATE people SET seen = ..` of the rows 1 to 8, in bulk.
fn see_all(txn: &mut Transaction, t: &TableRef, seen: i64) {
    assert!(txn.can_replace(t, &[2]).unwrap());
    let emails = (1..=8).map(|id| format!("{id}@x"));
    let columns: [ArrayRef; 3] = [
        Arc::new(Int64Array::from_iter_values(1..=8)),
        Arc::new(StringViewArray::from_iter_values(emails)),
        Arc::new(Int64Array::from_iter_values([seen; 8])),
    ];
    let batch = RecordBatch::try_new(t.def.schema.arrow(&[0, 1, 2]), columns.to_vec()).unwrap();
    assert_eq!(txn.replace(t, &[2], &[batch], &[None; 8]).unwrap(), 8);
}

/// Commits, and in the middle of the installation begins `other` in a thread of its own, which is waited for a while:
/// it may have to wait for the commit. Returns what became of it.
fn commit_beside<T: Send + 'static>(txn: Transaction, other: impl FnOnce() -> T + Send + 'static) -> T {
    let thread: Arc<Mutex<Option<JoinHandle<T>>>> = Arc::default();
    let started = thread.clone();
    let mut other = Some(other);
    on_moment(Some(Box::new(move |moment| {
        let Some(other) = (moment == Moment::VersionsEnded).then(|| other.take()).flatten() else { return };
        let handle = thread::spawn(other);
        let begun = Instant::now();
        while !handle.is_finished() && begun.elapsed() < WATCHED {
            thread::sleep(Duration::from_millis(1));
        }
        *started.lock().unwrap() = Some(handle);
    })));
    txn.commit().unwrap();
    on_moment(None);
    let handle = thread.lock().unwrap().take().expect("the moment came");
    handle.join().unwrap()
}

/// The ids of the rows with an email, as a new transaction sees them.
fn ids_of(engine: &Arc<Engine>, email: &str) -> Vec<i64> {
    let (txn, t) = begin(engine);
    let has = |id: &i64| {
        let row = txn.get_row(&t, &t.keys.encode([ValueRef::Int(*id)])).unwrap();
        row.is_some_and(|row| t.codec.get(&row, 1).to_value() == Value::Text(email.into()))
    };
    (0..20).filter(has).collect()
}

/// The rows that have the value in the end, and how the statement ended that gave it to a second one.
type Seen = (Vec<i64>, Option<Code>);

fn seen<T: std::fmt::Debug>(engine: &Arc<Engine>, email: &str, other: Result<T>) -> Seen {
    (ids_of(engine, email), other.err().map(|error| error.code()))
}

fn beside_an_update(in_files: bool) -> Seen {
    let scratch = Scratch::new("single");
    let engine = people(&scratch);
    if !in_files {
        let (mut txn, t) = begin(&engine);
        see(&mut txn, &t, 5, 7);
        txn.commit().unwrap();
    }
    let (mut txn, t) = begin(&engine);
    see(&mut txn, &t, 5, 2);
    let theirs = engine.clone();
    let other = commit_beside(txn, move || insert(&theirs, 9, "5@x"));
    seen(&engine, "5@x", other)
}

fn beside_a_bulk_update() -> Seen {
    let scratch = Scratch::new("bulk");
    let engine = people(&scratch);
    let (mut txn, t) = begin(&engine);
    see_all(&mut txn, &t, 2);
    let theirs = engine.clone();
    let other = commit_beside(txn, move || insert(&theirs, 9, "5@x"));
    let seen = seen(&engine, "5@x", other);
    // Whoever lets two rows in is found out.
    let told = engine.check().unwrap();
    assert_eq!(told.len(), seen.0.len() - 1, "{told:?}");
    for line in told {
        let wanted = "unique index \"people_email\": two rows of table \"people\" have the same value (5@x): those of \
                      keys (5) and (9)";
        assert!(line.contains(wanted), "{line}");
    }
    seen
}

fn an_update_beside_an_update() -> Seen {
    let scratch = Scratch::new("update");
    let engine = people(&scratch);
    let (mut txn, t) = begin(&engine);
    see(&mut txn, &t, 5, 2);
    let theirs = engine.clone();
    let other = commit_beside(txn, move || {
        let (mut txn, t) = begin(&theirs);
        txn.update(&t, &t.keys.encode([ValueRef::Int(6)]), &row(&t, 6, "5@x", 1))?;
        txn.commit()
    });
    seen(&engine, "5@x", other)
}

/// The first look finds 5@x at row 5, whose lock is free; before the second one an update of another column is in the
/// middle of its installation.
fn the_second_look() -> Seen {
    let scratch = Scratch::new("second-look");
    let engine = people(&scratch);
    let (mut updater, t) = begin(&engine);
    see(&mut updater, &t, 5, 2);
    let (go, begun) = channel::<()>();
    let (ended, in_the_middle) = channel::<()>();
    let (done, looked) = channel::<()>();
    let updating = thread::spawn(move || {
        begun.recv().unwrap();
        on_moment(Some(Box::new(move |moment| {
            if moment == Moment::VersionsEnded {
                ended.send(()).unwrap();
                looked.recv().unwrap();
            }
        })));
        updater.commit().unwrap();
    });
    on_moment(Some(Box::new(move |moment| {
        if moment == Moment::UniqueWaited {
            go.send(()).unwrap();
            in_the_middle.recv().unwrap();
        }
    })));
    let (mut txn, t) = begin(&engine);
    let inserted = txn.insert(&t, &row(&t, 9, "5@x", 1));
    on_moment(None);
    done.send(()).unwrap();
    updating.join().unwrap();
    if inserted.is_ok() {
        txn.commit().unwrap();
    }
    seen(&engine, "5@x", inserted)
}

/// What a planted fault is planted for: the tests of this file run one after the other.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused() -> Seen {
    (vec![5], Some(Code::UniqueViolation))
}

#[test]
fn an_insert_beside_the_installation_of_an_update_of_another_column() {
    let _one = one_at_a_time();
    assert_eq!((beside_an_update(true), beside_an_update(false)), (refused(), refused()));
}

#[test]
fn an_insert_beside_the_installation_of_a_bulk_update_of_another_column() {
    let _one = one_at_a_time();
    assert_eq!(beside_a_bulk_update(), refused());
}

#[test]
fn an_update_to_a_taken_value_beside_an_installation() {
    let _one = one_at_a_time();
    assert_eq!(an_update_beside_an_update(), refused());
}

#[test]
fn the_second_look_beside_an_installation() {
    let _one = one_at_a_time();
    assert_eq!(the_second_look(), refused());
}

#[test]
fn looks_at_rows_that_are_being_installed_are_caught() {
    let _one = one_at_a_time();
    plant(Some(Fault::UNIQUE_LOOK_AT_MAXIMUM));
    let all = [
        beside_an_update(true),
        beside_an_update(false),
        an_update_beside_an_update(),
        the_second_look(),
        beside_a_bulk_update(),
    ];
    plant(None);
    // The first look of the bulk statement's rival is not held up either.
    let twice = (vec![5, 9], None);
    let moved = (vec![5, 6], None);
    assert_eq!(all, [twice.clone(), twice.clone(), moved, twice.clone(), twice]);
}

#[test]
fn a_unique_index_made_beside_an_installation_sees_all_rows() {
    // Who makes it waits for the writers of the table: no row is between its versions when it looks.
    let _one = one_at_a_time();
    let scratch = Scratch::new("create");
    let engine = people(&scratch);
    let (mut txn, t) = begin(&engine);
    see_all(&mut txn, &t, 2);
    let theirs = engine.clone();
    let other = commit_beside(txn, move || {
        let (mut txn, t) = begin(&theirs);
        txn.create_index(&t, NewIndex::new("people_seen", vec![2], true))?;
        txn.commit()
    });
    assert_eq!(other.unwrap_err().code(), Code::UniqueViolation);
}
