use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_env::Env;
use weft_format::{Code, Column, DataType, Error, Result, Schema, Value, ValueRef};

use crate::index::NewIndex;
use crate::testing::{Prng, Scratch, by_hand, create, get, key, new_table, open_with, put, row};
use crate::{Deferrable, Engine, EngineOptions, FkAction, ForeignKey, IsolationLevel, NewTable, TableRef, Transaction};

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

/// `c (k PRIMARY KEY, v REFERENCES parent ...)`
fn child_of(txn: &Transaction, name: &str, parent: &str, on_delete: FkAction, on_update: FkAction) -> NewTable {
    let parent = if name == parent { ForeignKey::ITSELF } else { txn.table(parent).unwrap().id() };
    let foreign_key = ForeignKey {
        name: format!("{name}_v_fkey"),
        columns: vec![1],
        parent,
        parent_columns: vec![0],
        on_delete,
        on_update,
        deferrable: Deferrable::No,
        full: false,
        set_on_delete: Vec::new(),
    };
    NewTable { foreign_keys: vec![foreign_key], ..new_table(name) }
}

/// Tables p and c, with an index on c's column or without.
fn engine(scratch: &Scratch, action: FkAction, with_index: bool) -> Arc<Engine> {
    let engine = open(scratch);
    create(&engine, &["p"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let c = txn.create_table(child_of(&txn, "c", "p", action, action)).unwrap();
    if with_index {
        let new = NewIndex::new("c_v", vec![1], false);
        txn.create_index(&c, new).unwrap();
    }
    txn.commit().unwrap();
    for k in 1..=3 {
        put(&engine, "p", k, 0).unwrap();
    }
    engine
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

fn tables(txn: &Transaction) -> (TableRef, TableRef) {
    (txn.table("p").unwrap(), txn.table("c").unwrap())
}

/// Runs one statement in a transaction of its own.
fn run(engine: &Arc<Engine>, statement: impl Fn(&mut Transaction, &TableRef, &TableRef) -> Result<()>) -> Result<()> {
    let mut txn = engine.begin()?;
    let (p, c) = tables(&txn);
    let mark = txn.mark();
    if let Err(error) = statement(&mut txn, &p, &c).and_then(|()| txn.check_constraints()) {
        txn.rollback_to(mark);
        return Err(error);
    }
    txn.commit().map(|_| ())
}

fn delete(engine: &Arc<Engine>, k: i64) -> Result<()> {
    run(engine, |txn, p, _| txn.delete(p, &key(p, k)).map(|_| ()))
}

fn value(engine: &Arc<Engine>, table: &str, k: i64) -> Option<i64> {
    let txn = engine.begin().unwrap();
    get(&txn, &txn.table(table).unwrap(), k)
}

#[test]
fn a_row_refers_to_a_row_that_is_there() {
    for with_index in [false, true] {
        let scratch = Scratch::new("fk-both-sides");
        let engine = engine(&scratch, FkAction::NoAction, with_index);
        put(&engine, "c", 10, 1).unwrap();
        let error: Error = put(&engine, "c", 11, 9).unwrap_err();
        assert_eq!(error.code(), Code::ForeignKeyViolation);
        let text = "insert or update on table \"c\" violates foreign key constraint \"c_v_fkey\"";
        assert_eq!((error.message(), error.detail_text()), (text, Some("Key (v)=(9) is not present in table \"p\".")));
        assert_eq!((error.table(), error.constraint()), (Some("c"), Some("c_v_fkey")));
        let error = delete(&engine, 1).unwrap_err();
        let text = "update or delete on table \"p\" violates foreign key constraint \"c_v_fkey\" on table \"c\"";
        assert_eq!((error.message(), error.code()), (text, Code::ForeignKeyViolation));
        assert_eq!(error.detail_text(), Some("Key (k)=(1) is still referenced from table \"c\"."));
        assert_eq!(code(put(&engine, "c", 10, 8)), Code::ForeignKeyViolation);
        put(&engine, "c", 10, 2).unwrap();
        delete(&engine, 1).unwrap();
        assert_eq!(code(put(&engine, "c", 12, 1)), Code::ForeignKeyViolation);
        // Another column of the parent is nobody's business.
        put(&engine, "p", 2, 77).unwrap();
        // A kernel user who never ends statements is safe, too.
        let mut txn = engine.begin().unwrap();
        let (p, _) = tables(&txn);
        txn.delete(&p, &key(&p, 2)).unwrap();
        assert_eq!(code(txn.commit()), Code::ForeignKeyViolation);
        assert_eq!(value(&engine, "p", 2), Some(77));
        drop(engine);
        let engine = open(&scratch);
        assert_eq!(code(delete(&engine, 2)), Code::ForeignKeyViolation, "the parent knows its children after an open");
        engine.checkpoint().unwrap();
        drop(engine);
        let engine = open(&scratch);
        assert_eq!(code(delete(&engine, 2)), Code::ForeignKeyViolation);
        assert_eq!(code(put(&engine, "c", 12, 1)), Code::ForeignKeyViolation);
    }
}

#[test]
fn a_statement_is_tested_when_it_ends() {
    let scratch = Scratch::new("fk-statement");
    let engine = engine(&scratch, FkAction::NoAction, false);
    // Both sides in one statement, in the wrong order.
    run(&engine, |txn, p, c| {
        txn.insert(c, &row(c, 10, 5))?;
        txn.insert(p, &row(p, 5, 0))
    })
    .unwrap();
    let removed = |parent: i64| {
        run(&engine, move |txn, p, c| {
            txn.delete(p, &key(p, parent))?;
            txn.delete(c, &key(c, 10)).map(|_| ())
        })
    };
    removed(5).unwrap();
    // A row taken back does not count, one that stays does.
    let mut txn = engine.begin().unwrap();
    let (p, c) = tables(&txn);
    txn.insert(&c, &row(&c, 10, 1)).unwrap();
    txn.check_constraints().unwrap();
    let mark = txn.mark();
    txn.delete(&p, &key(&p, 1)).unwrap();
    assert_eq!(code(txn.check_constraints()), Code::ForeignKeyViolation);
    txn.rollback_to(mark);
    txn.insert(&c, &row(&c, 11, 99)).unwrap();
    txn.rollback_to(mark);
    txn.check_constraints().unwrap();
    // Own rows count before they are committed.
    txn.insert(&p, &row(&p, 99, 0)).unwrap();
    txn.insert(&c, &row(&c, 11, 99)).unwrap();
    txn.check_constraints().unwrap();
    txn.commit().unwrap();
    // The values of a key move to another row: NO ACTION is content.
    run(&engine, |txn, p, _| {
        txn.delete(p, &key(p, 1))?;
        txn.insert(p, &row(p, 1, 5))
    })
    .unwrap();
}

#[test]
fn actions_follow_and_reach_on() {
    for with_index in [false, true] {
        let scratch = Scratch::new("fk-cascade");
        let engine = engine(&scratch, FkAction::Cascade, with_index);
        let mut txn = engine.begin().unwrap();
        // g refers to c, and loses its value when c's row goes.
        let g = txn.create_table(child_of(&txn, "g", "c", FkAction::SetNull, FkAction::Cascade)).unwrap();
        assert!(!g.def.foreign_keys.is_empty());
        txn.commit().unwrap();
        for (k, v) in [(10, 1), (11, 1), (12, 2)] {
            put(&engine, "c", k, v).unwrap();
            put(&engine, "g", k + 10, k).unwrap();
        }
        delete(&engine, 1).unwrap();
        let keys =
            |table: &str, keys: &[i64]| keys.iter().map(|&k| value_or_null(&engine, table, k)).collect::<Vec<_>>();
        assert_eq!(keys("c", &[10, 11, 12]), [None, None, Some(Some(2))]);
        assert_eq!(keys("g", &[20, 21, 22]), [Some(None), Some(None), Some(Some(12))]);
        // A key that changes is followed.
        run(&engine, |txn, p, _| txn.update(p, &key(p, 2), &row(p, 4, 0))).unwrap();
        assert_eq!(keys("c", &[12]), [Some(Some(4))]);
        run(&engine, |txn, _, c| txn.update(c, &key(c, 12), &row(c, 13, 4))).unwrap();
        assert_eq!(keys("g", &[22]), [Some(Some(13))]);
        delete(&engine, 4).unwrap();
        assert_eq!((keys("c", &[13]), keys("g", &[22])), (vec![None], vec![Some(None)]));
        assert!(engine.check().unwrap().is_empty());
    }
}

fn value_or_null(engine: &Arc<Engine>, table: &str, k: i64) -> Option<Option<i64>> {
    let txn = engine.begin().unwrap();
    let t = txn.table(table).unwrap();
    let mut values = Vec::new();
    let found = txn.get(&t, &key(&t, k), &[1], &mut values).unwrap();
    found.then(|| if let [Value::Int(v)] = values[..] { Some(v) } else { None })
}

#[test]
fn a_table_may_refer_to_itself() {
    let scratch = Scratch::new("fk-self");
    let engine = open(&scratch);
    create(&engine, &["p"]).unwrap();
    let mut txn = engine.begin().unwrap();
    txn.create_table(child_of(&txn, "c", "c", FkAction::Cascade, FkAction::NoAction)).unwrap();
    txn.commit().unwrap();
    run(&engine, |txn, _, c| (1..=50).rev().try_for_each(|k| txn.insert(c, &row(c, k, (k - 1).max(1))))).unwrap();
    assert_eq!(code(put(&engine, "c", 60, 61)), Code::ForeignKeyViolation);
    run(&engine, |txn, _, c| txn.delete(c, &key(c, 20)).map(|_| ())).unwrap();
    assert_eq!((value(&engine, "c", 19), value(&engine, "c", 20), value(&engine, "c", 50)), (Some(18), None, None));
    let mut txn = engine.begin().unwrap();
    txn.drop_table("c").unwrap();
    txn.commit().unwrap();
}

#[test]
fn what_is_deferred_waits_for_the_commit() {
    let scratch = Scratch::new("fk-deferred");
    let engine = open(&scratch);
    create(&engine, &["p"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let mut new = child_of(&txn, "c", "p", FkAction::NoAction, FkAction::NoAction);
    new.foreign_keys[0].deferrable = Deferrable::InitiallyDeferred;
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    let (p, c) = tables(&txn);
    txn.insert(&c, &row(&c, 10, 1)).unwrap();
    txn.check_constraints().unwrap();
    txn.insert(&p, &row(&p, 1, 0)).unwrap();
    txn.check_constraints().unwrap();
    txn.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    txn.delete(&p, &key(&p, 1)).unwrap();
    txn.check_constraints().unwrap();
    assert_eq!(code(txn.commit()), Code::ForeignKeyViolation);
    let mut txn = engine.begin().unwrap();
    txn.insert(&c, &row(&c, 11, 3)).unwrap();
    txn.check_constraints().unwrap();
    assert_eq!(code(txn.commit()), Code::ForeignKeyViolation);
    assert_eq!((value(&engine, "p", 1), value(&engine, "c", 11)), (Some(0), None));
}

/// A deferrable foreign key c.v → p, and a table d that refers to p and is never deferred.
fn deferrable(scratch: &Scratch, deferrable: Deferrable) -> Arc<Engine> {
    let engine = open(scratch);
    create(&engine, &["p"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let mut new = child_of(&txn, "c", "p", FkAction::NoAction, FkAction::NoAction);
    new.foreign_keys[0].deferrable = deferrable;
    txn.create_table(new).unwrap();
    let d = child_of(&txn, "d", "p", FkAction::NoAction, FkAction::NoAction);
    let d = txn.create_table(NewTable { checks: vec![("d_check".into(), "v > 0".into())], ..d }).unwrap();
    let unique = NewIndex { constraint: true, ..NewIndex::new("d_v_key", vec![1], true) };
    txn.create_index(&d, unique).unwrap();
    txn.commit().unwrap();
    engine
}

/// Ends a statement that inserts a row.
fn inserted(txn: &mut Transaction, t: &TableRef, id: i64, v: i64) -> Result<()> {
    let mark = txn.mark();
    let done = txn.insert(t, &row(t, id, v)).and_then(|()| txn.check_constraints());
    if done.is_err() {
        txn.rollback_to(mark);
    }
    done
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.into()).collect()
}

#[test]
fn modes_of_a_transaction() {
    let scratch = Scratch::new("fk-modes");
    let engine = deferrable(&scratch, Deferrable::InitiallyImmediate);
    let c_v = names(&["c_v_fkey"]);
    let mut txn = engine.begin().unwrap();
    let (p, c) = tables(&txn);
    assert_eq!(code(inserted(&mut txn, &c, 1, 1)), Code::ForeignKeyViolation);
    txn.set_constraints(Some(&c_v), true).unwrap();
    inserted(&mut txn, &c, 1, 1).unwrap();
    // What is pending fails now, and the mode stays.
    let mark = txn.mark();
    assert_eq!(code(txn.set_constraints(None, false)), Code::ForeignKeyViolation);
    txn.rollback_to(mark);
    inserted(&mut txn, &c, 2, 2).unwrap();
    let savepoint = txn.mark();
    inserted(&mut txn, &p, 1, 0).unwrap();
    inserted(&mut txn, &p, 2, 0).unwrap();
    txn.set_constraints(Some(&c_v), false).unwrap();
    assert_eq!(code(inserted(&mut txn, &c, 3, 3)), Code::ForeignKeyViolation);
    // The savepoint has the mode of its time.
    txn.rollback_to(savepoint);
    inserted(&mut txn, &c, 3, 3).unwrap();
    assert_eq!(code(txn.set_constraints(Some(&c_v), false)), Code::ForeignKeyViolation);
    assert_eq!(code(txn.commit()), Code::ForeignKeyViolation);
    // Rows that are gone, too; the next transaction begins anew.
    put(&engine, "p", 1, 0).unwrap();
    put(&engine, "c", 1, 1).unwrap();
    assert_eq!(code(delete(&engine, 1)), Code::ForeignKeyViolation);
    let mut txn = engine.begin().unwrap();
    txn.set_constraints(None, true).unwrap();
    txn.delete(&p, &key(&p, 1)).unwrap();
    txn.check_constraints().unwrap();
    assert_eq!(code(txn.set_constraints(None, false)), Code::ForeignKeyViolation);
    txn.delete(&c, &key(&c, 1)).unwrap();
    txn.check_constraints().unwrap();
    txn.set_constraints(None, false).unwrap();
    txn.commit().unwrap();
    assert_eq!(value(&engine, "p", 1), None);
}

#[test]
fn constraints_whose_mode_cannot_be_set() {
    let scratch = Scratch::new("fk-modes-named");
    let engine = deferrable(&scratch, Deferrable::InitiallyDeferred);
    let mut txn = engine.begin().unwrap();
    for name in ["d_v_fkey", "d_check", "d_v_key"] {
        assert_eq!(code(txn.set_constraints(Some(&names(&["c_v_fkey", name])), true)), Code::WrongObjectType, "{name}");
        txn.set_constraints(Some(&names(&["c_v_fkey", name])), false).unwrap();
    }
    for deferred in [false, true] {
        assert_eq!(code(txn.set_constraints(Some(&names(&["c", "c_v_fkey"])), deferred)), Code::UndefinedObject);
    }
    // ALL leaves out what cannot be deferred.
    txn.set_constraints(None, true).unwrap();
    let (c, d) = (txn.table("c").unwrap(), txn.table("d").unwrap());
    inserted(&mut txn, &c, 1, 1).unwrap();
    assert_eq!(code(inserted(&mut txn, &d, 1, 1)), Code::ForeignKeyViolation);
    assert_eq!(code(txn.commit()), Code::ForeignKeyViolation);
}

#[test]
fn restrict_does_not_wait_for_another_row() {
    let scratch = Scratch::new("fk-restrict");
    let engine = engine(&scratch, FkAction::Restrict, false);
    put(&engine, "c", 10, 1).unwrap();
    assert_eq!(code(delete(&engine, 1)), Code::ForeignKeyViolation);
    delete(&engine, 2).unwrap();
    // 1 moves away and 3 takes its place.
    let swap = |txn: &mut Transaction, p: &TableRef, _: &TableRef| {
        txn.delete(p, &key(p, 1))?;
        txn.delete(p, &key(p, 3))?;
        for (from, to) in [(1, 3), (3, 1)] {
            txn.insert(p, &row(p, to, 0))?;
            txn.note_moved(p, &key(p, from), &key(p, to));
        }
        Ok(())
    };
    assert_eq!(code(run(&engine, swap)), Code::ForeignKeyViolation);
}

/// `p (k, a, b)` with a unique index on (b, a); `c (k, x, y)` with (y, x) → (b, a).
fn two_columns(scratch: &Scratch, action: FkAction) -> Arc<Engine> {
    let engine = open(scratch);
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: false };
    let table = |name: &str, columns: [&str; 3]| {
        NewTable::new(name, Schema::new(columns.map(column).into(), vec![0]), "memory")
    };
    let mut txn = engine.begin().unwrap();
    let p = txn.create_table(table("p", ["k", "a", "b"])).unwrap();
    let foreign_key = ForeignKey {
        name: "c_fkey".into(),
        columns: vec![2, 1],
        parent: p.id(),
        parent_columns: vec![2, 1],
        on_delete: action,
        on_update: action,
        deferrable: Deferrable::No,
        full: false,
        set_on_delete: Vec::new(),
    };
    let new = NewTable { foreign_keys: vec![foreign_key], ..table("c", ["k", "x", "y"]) };
    assert_eq!(code(txn.create_table(new.clone())), Code::InvalidForeignKey);
    let index = NewIndex::new("p_ab", vec![1, 2], true);
    txn.create_index(&p, index).unwrap();
    txn.create_table(new).unwrap();
    txn.commit().unwrap();
    engine
}

fn row3(t: &TableRef, values: [Option<i64>; 3]) -> Vec<u8> {
    t.codec.encode(values.map(|value| value.map_or(ValueRef::Null, ValueRef::Int)))
}

#[test]
fn columns_of_a_unique_index_can_be_referred_to() {
    let scratch = Scratch::new("fk-unique");
    let engine = two_columns(&scratch, FkAction::Cascade);
    let insert = |name: &'static str, values: [Option<i64>; 3]| {
        run(&engine, move |txn, _, _| {
            let t = txn.table(name)?;
            txn.insert(&t, &row3(&t, values))
        })
    };
    insert("p", [Some(1), Some(5), Some(6)]).unwrap();
    insert("p", [Some(2), Some(6), Some(5)]).unwrap();
    insert("c", [Some(1), Some(5), Some(6)]).unwrap();
    insert("c", [Some(2), None, Some(77)]).unwrap();
    assert_eq!(code(insert("c", [Some(3), Some(5), Some(5)])), Code::ForeignKeyViolation);
    // One of the two columns changes, and the child follows.
    run(&engine, |txn, p, _| txn.update(p, &key(p, 1), &row3(p, [Some(1), Some(9), Some(6)]))).unwrap();
    assert_eq!(value(&engine, "c", 1), Some(9));
    // Own rows are found by their values.
    run(&engine, |txn, p, c| {
        txn.insert(p, &row3(p, [Some(4), Some(40), Some(41)]))?;
        txn.insert(c, &row3(c, [Some(4), Some(40), Some(41)]))
    })
    .unwrap();
    let mut txn = engine.begin().unwrap();
    assert_eq!(code(txn.drop_index("p_ab")), Code::DependentObjects);
    drop(txn);
    run(&engine, |txn, p, _| txn.delete(p, &key(p, 1)).map(|_| ())).unwrap();
    assert_eq!(value_or_null(&engine, "c", 1), None);
    assert_eq!(value_or_null(&engine, "c", 2), Some(None));
}

#[test]
fn definitions_that_cannot_hold_are_refused() {
    let scratch = Scratch::new("fk-define");
    let engine = engine(&scratch, FkAction::NoAction, false);
    let mut txn = engine.begin().unwrap();
    let mut not_unique = child_of(&txn, "d", "p", FkAction::NoAction, FkAction::NoAction);
    not_unique.foreign_keys[0].parent_columns = vec![1];
    assert_eq!(code(txn.create_table(not_unique)), Code::InvalidForeignKey);
    let mut of_text = child_of(&txn, "d", "p", FkAction::NoAction, FkAction::NoAction);
    of_text.schema.columns[1].data_type = DataType::Text;
    assert_eq!(code(txn.create_table(of_text)), Code::DatatypeMismatch);
    assert_eq!(code(txn.drop_table("p")), Code::DependentObjects);
    let mark = txn.mark();
    txn.drop_table("c").unwrap();
    txn.drop_table("p").unwrap();
    txn.rollback_to(mark);
    assert_eq!(code(txn.drop_table("p")), Code::DependentObjects);
    txn.drop_table("c").unwrap();
    let p = txn.table("p").unwrap();
    txn.delete(&p, &key(&p, 1)).unwrap();
    txn.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    txn.delete(&p, &key(&p, 2)).unwrap();
    txn.check_constraints().unwrap();
    txn.drop_table("p").unwrap();
    txn.commit().unwrap();
}

#[test]
fn rows_added_in_bulk_are_tested() {
    let scratch = Scratch::new("fk-bulk");
    let engine = engine(&scratch, FkAction::NoAction, false);
    let batch = |rows: &[(i64, Option<i64>)]| {
        let k: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
        let v: ArrayRef = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.1)));
        let schema = new_table("t").schema.arrow(&[0, 1]);
        RecordBatch::try_new(schema, vec![k, v]).unwrap()
    };
    let mut txn = engine.begin().unwrap();
    let (p, c) = tables(&txn);
    let mark = txn.mark();
    assert_eq!(code(txn.build(&c, &[batch(&[(1, Some(1)), (2, Some(9))])])), Code::ForeignKeyViolation);
    txn.rollback_to(mark);
    txn.rollback();
    let mut txn = engine.begin().unwrap();
    txn.build(&p, &[batch(&[(9, None)])]).unwrap();
    txn.commit().unwrap();
    let mut txn = engine.begin().unwrap();
    txn.build(&c, &[batch(&[(1, Some(1)), (2, Some(9)), (3, None)])]).unwrap();
    txn.commit().unwrap();
    assert_eq!(code(delete(&engine, 9)), Code::ForeignKeyViolation);
    delete(&engine, 2).unwrap();
}

#[test]
fn a_test_sees_what_the_snapshot_does_not_show() {
    let scratch = Scratch::new("fk-newest");
    let engine = engine(&scratch, FkAction::Cascade, false);
    for level in [IsolationLevel::RepeatableRead, IsolationLevel::Serializable] {
        let mut late = engine.begin_at(level).unwrap();
        let (p, c) = tables(&late);
        put(&engine, "c", 10, 3).unwrap();
        put(&engine, "p", 8, 0).unwrap();
        late.insert(&c, &row(&c, 11, 8)).unwrap();
        late.check_constraints().unwrap();
        // The row to delete came after the snapshot.
        late.delete(&p, &key(&p, 3)).unwrap();
        assert_eq!(code(late.check_constraints()), Code::SerializationFailure);
        drop(late);
        run(&engine, |txn, p, c| {
            txn.delete(c, &key(c, 10))?;
            txn.delete(p, &key(p, 8)).map(|_| ())
        })
        .unwrap();
    }
    // A row that another transaction is deleting is waited for.
    put(&engine, "c", 10, 3).unwrap();
    let mut other = engine.begin().unwrap();
    let (_, c) = tables(&other);
    other.delete(&c, &key(&c, 10)).unwrap();
    assert_eq!(code(delete(&engine, 3)), Code::LockTimeout);
    drop(other);
    delete(&engine, 3).unwrap();
}

/// Clients insert, move and delete on both sides at once; no row is ever left that refers to nothing.
#[test]
fn no_orphans_under_concurrency() {
    for (case, action) in [FkAction::NoAction, FkAction::Cascade, FkAction::SetNull].into_iter().enumerate() {
        let scratch = Scratch::new(&format!("fk-race-{case}"));
        let engine = engine(&scratch, action, case == 1);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4u64)
                .map(|client| {
                    let engine = &engine;
                    scope.spawn(move || {
                        let mut prng = Prng(client * 7 + case as u64);
                        let mut done = 0;
                        for _ in 0..400 {
                            match change(engine, &mut prng) {
                                Ok(()) => done += 1,
                                Err(error) => assert!(is_expected(&error), "{error}"),
                            }
                        }
                        done
                    })
                })
                .collect();
            let checker = scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(orphans(&engine), Vec::<i64>::new());
                }
            });
            let done: Vec<i32> = clients.into_iter().map(|client| client.join().unwrap()).collect();
            stop.store(true, Ordering::Relaxed);
            checker.join().unwrap();
            assert!(done.iter().sum::<i32>() > 100, "{done:?}");
        });
        assert_eq!(orphans(&engine), Vec::<i64>::new());
    }
}

fn is_expected(error: &Error) -> bool {
    use Code::{DeadlockDetected, ForeignKeyViolation, LockTimeout, SerializationFailure, UniqueViolation};
    [DeadlockDetected, ForeignKeyViolation, LockTimeout, SerializationFailure, UniqueViolation].contains(&error.code())
}

fn change(engine: &Arc<Engine>, prng: &mut Prng) -> Result<()> {
    let levels = [IsolationLevel::ReadCommitted, IsolationLevel::RepeatableRead, IsolationLevel::Serializable];
    let mut txn = engine.begin_at(levels[prng.below(3) as usize])?;
    txn.set_durability(crate::Durability::Async);
    let (p, c) = tables(&txn);
    for _ in 0..=prng.below(2) {
        let (k, v) = (prng.below(30) as i64, prng.below(6) as i64);
        match prng.below(4) {
            0 => drop(txn.delete(&p, &key(&p, v))?),
            1 => drop(txn.upsert(&p, &key(&p, v), &row(&p, v, k))?),
            2 if txn.get(&p, &key(&p, v), &[0], &mut Vec::new())? => {
                txn.update(&p, &key(&p, v), &row(&p, prng.below(6) as i64, k))?;
            }
            _ => drop(txn.upsert(&c, &key(&c, k), &row(&c, k, v))?),
        }
        txn.check_constraints()?;
    }
    txn.commit().map(|_| ())
}

/// Keys of rows of c that refer to nothing, as of one snapshot.
fn orphans(engine: &Arc<Engine>) -> Vec<i64> {
    let txn = engine.begin().unwrap();
    let (p, c) = tables(&txn);
    let refers = |k: &i64| {
        let mut values = Vec::new();
        txn.get(&c, &key(&c, *k), &[1], &mut values).unwrap();
        matches!(values[..], [Value::Int(v)] if get(&txn, &p, v).is_none())
    };
    (0..30).filter(refers).collect()
}

/// Two transactions change one column each of a foreign key; together they would refer to nothing.
#[test]
fn writers_of_different_columns_of_a_key_see_each_other() {
    let scratch = Scratch::new("fk-columns");
    let engine = two_columns(&scratch, FkAction::NoAction);
    run(&engine, |txn, p, c| {
        for (k, a, b) in [(1, 1, 1), (2, 2, 1), (3, 1, 2)] {
            txn.insert(p, &row3(p, [Some(k), Some(a), Some(b)]))?;
        }
        txn.insert(c, &row3(c, [Some(1), Some(1), Some(1)]))
    })
    .unwrap();
    let set = |txn: &mut Transaction, x: i64, y: i64, column: usize| {
        let c = txn.table("c").unwrap();
        let mode = crate::LockMode::columns(crate::ColumnSet::NONE, [column].into_iter().collect());
        txn.update_columns(&c, &key(&c, 1), &row3(&c, [Some(1), Some(x), Some(y)]), mode)
    };
    let (mut a, mut b) = (engine.begin().unwrap(), engine.begin().unwrap());
    set(&mut a, 2, 1, 1).unwrap();
    set(&mut b, 1, 2, 2).unwrap();
    assert_eq!(code(a.check_constraints()), Code::LockTimeout, "it waits for the other writer");
    b.rollback();
    a.check_constraints().unwrap();
    a.commit().unwrap();
    assert_eq!(value(&engine, "c", 1), Some(2));
}
