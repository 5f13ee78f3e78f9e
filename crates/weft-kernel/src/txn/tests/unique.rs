//! What counts as having a value of a unique index. Table `w` has a key and three columns.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use weft_contract::{Base, Staged};
use weft_env::Env;
use weft_expr::{ArithmeticOp, Expr, Node};
use weft_format::{Code, Column, CompareOp, DataType, Predicate, Result, Schema, Value, ValueRef};

use super::gate::{Gate, commit_later};
use crate::index::{IndexPart, NewIndex};
use crate::lock::{ColumnSet, LockMode};
use crate::testing::{Scratch, by_hand, key, open_with};
use crate::{Engine, EngineOptions, IsolationLevel, NewTable, TableRef, Transaction};

/// Rows 1 to 9: (k, k % 3, k, NULL).
fn engine(scratch: &Scratch, env: Env) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_secs(20), ..by_hand() };
    let engine = open_with(env, scratch.path(), options).unwrap();
    let mut txn = engine.begin().unwrap();
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: name == "k" };
    let schema = Schema::new(["k", "a", "b", "c"].map(column).into(), vec![0]);
    let t = txn.create_table(NewTable::new("w", schema, "memory")).unwrap();
    (1..10).for_each(|k| txn.insert(&t, &row(&t, k, k % 3, Some(k), None)).unwrap());
    txn.commit().unwrap();
    engine
}

fn row(t: &TableRef, k: i64, a: i64, b: Option<i64>, c: Option<i64>) -> Vec<u8> {
    let value = |value: Option<i64>| value.map_or(ValueRef::Null, ValueRef::Int);
    t.codec.encode([ValueRef::Int(k), ValueRef::Int(a), value(b), value(c)])
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

fn only(column: usize) -> LockMode {
    LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([column]))
}

/// Adds rows past all tests of their values.
fn force(engine: &Arc<Engine>, rows: &[(i64, i64, Option<i64>)]) {
    let (mut txn, t) = begin(engine);
    for &(k, a, b) in rows {
        txn.lock_key(&t, &key(&t, k), LockMode::EXCLUSIVE, txn.lock_wait()).unwrap();
        let staged = Staged { base: Base::Free, row: Some(row(&t, k, a, b, None).into()), columns: Vec::new() };
        txn.journal.stage(&t, &key(&t, k), staged);
    }
    txn.commit().unwrap();
}

/// What a check says, index by index.
fn told(engine: &Arc<Engine>, index: &str) -> Vec<String> {
    let begin = format!("unique index \"{index}\": ");
    let lines = engine.check().unwrap().into_iter();
    let lines = lines.filter_map(|line| line.split_once(&begin).map(|(_, what)| what.to_owned()));
    lines.map(|line| line.split("; ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn check_tells_values_that_two_rows_have() {
    let scratch = Scratch::new("unique-check");
    let engine = engine(&scratch, Env::real());
    let column = |ordinal| Expr::column(ordinal, DataType::BigInt);
    let difference = Node::Arithmetic(ArithmeticOp::Subtract, Box::new(column(2)), Box::new(column(1)));
    let difference = IndexPart::Expression(Arc::new(Expr::new(difference, DataType::BigInt)));
    let above = Predicate::Compare { column: 2, op: CompareOp::Gt, value: Value::Int(100) };
    make(&engine, NewIndex::new("w_b", vec![2], true)).unwrap();
    make(&engine, NewIndex::new("w_ab", vec![1, 2], true)).unwrap();
    make(&engine, NewIndex::new("w_c", vec![3], true)).unwrap();
    make(&engine, NewIndex { predicate: vec![above], ..NewIndex::new("w_a_above", vec![1], true) }).unwrap();
    make(&engine, NewIndex::on("w_plain", vec![IndexPart::Column(1)], false)).unwrap();
    let expression = NewIndex::on("w_difference", vec![IndexPart::Column(0), difference], true);
    make(&engine, expression).unwrap();
    force(&engine, &[(20, 1, None), (21, 1, None), (30, 7, Some(101)), (31, 8, Some(102))]);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new(), "NULL is different from everything, and so are they");

    let same = |value: &str, keys: [i64; 2]| {
        let [one, other] = keys;
        format!("two rows of table \"w\" have the same value ({value}): those of keys ({one}) and ({other})")
    };
    force(&engine, &[(22, 2, Some(5)), (32, 7, Some(103)), (33, 7, Some(50))]);
    assert_eq!(told(&engine, "w_b"), [same("5", [5, 22])]);
    assert_eq!(told(&engine, "w_ab"), [same("2, 5", [5, 22])]);
    assert_eq!(told(&engine, "w_a_above"), [same("7", [30, 32])], "the row 33 is not in it");
    assert_eq!(engine.check().unwrap().len(), 3);
    // Three rows with a value: each pair.
    force(&engine, &[(23, 9, Some(5))]);
    assert_eq!(told(&engine, "w_b").len(), 3);
}

#[test]
fn check_tells_expressions_that_two_rows_have() {
    let scratch = Scratch::new("unique-check-expression");
    let engine = engine(&scratch, Env::real());
    let seven = Expr::literal(Value::Int(100), DataType::BigInt);
    let rest = Node::Arithmetic(ArithmeticOp::Modulo, Box::new(Expr::column(2, DataType::BigInt)), Box::new(seven));
    let rest = IndexPart::Expression(Arc::new(Expr::new(rest, DataType::BigInt)));
    make(&engine, NewIndex::on("w_rest", vec![rest], true)).unwrap();
    force(&engine, &[(20, 1, Some(205)), (21, 1, Some(311))]);
    let wanted = "two rows of table \"w\" have the same value (5): those of keys (5) and (20)";
    assert_eq!(told(&engine, "w_rest"), [wanted]);
}

#[test]
fn an_own_row_counts_with_the_columns_that_others_have_set() {
    let scratch = Scratch::new("unique-own");
    let engine = engine(&scratch, Env::real());
    // Sets c of row 5; another transaction sets b of it to what row 7 has.
    let (mut txn, t) = begin(&engine);
    txn.update_columns(&t, &key(&t, 5), &row(&t, 5, 2, Some(5), Some(1)), only(3)).unwrap();
    let (mut other, _) = begin(&engine);
    other.update_columns(&t, &key(&t, 5), &row(&t, 5, 2, Some(7), None), only(2)).unwrap();
    other.commit().unwrap();
    let made = txn.create_index(&t, NewIndex::new("w_b", vec![2], true));
    assert_eq!(made.map_err(|error| error.code()), Err(Code::UniqueViolation));
    txn.rollback();
    // The same with a value that no other row has, until this transaction gives it to one.
    let (mut other, _) = begin(&engine);
    let (mut txn, _) = begin(&engine);
    txn.update_columns(&t, &key(&t, 5), &row(&t, 5, 2, Some(7), Some(1)), only(3)).unwrap();
    other.update_columns(&t, &key(&t, 5), &row(&t, 5, 2, Some(50), None), only(2)).unwrap();
    other.commit().unwrap();
    txn.create_index(&t, NewIndex::new("w_cb", vec![3, 2], true)).unwrap();
    let inserted = txn.insert(&t, &row(&t, 20, 1, Some(50), Some(1)));
    assert_eq!(inserted.map_err(|error| error.code()), Err(Code::UniqueViolation));
    txn.insert(&t, &row(&t, 20, 1, Some(7), Some(1))).unwrap();
    txn.commit().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_value_that_a_followed_commit_gave_up_is_free_when_that_is_published() {
    let scratch = Scratch::new("unique-followed");
    let gate = Arc::new(Gate::default());
    let engine = engine(&scratch, gate.env());
    make(&engine, NewIndex::new("w_b", vec![2], true)).unwrap();
    gate.close();
    let first = commit_later(&engine, |txn| {
        txn.set_level(IsolationLevel::ReadCommitted)?;
        let t = txn.table("w")?;
        txn.update(&t, &key(&t, 5), &row(&t, 5, 2, Some(55), None))
    });
    let mut txn = engine.begin_at(IsolationLevel::ReadCommitted).unwrap();
    let t = txn.table("w").unwrap();
    txn.begin_statement(true).unwrap();
    txn.refresh_snapshot().unwrap();
    let before = txn.lock_only_row(&t, &key(&t, 5), LockMode::EXCLUSIVE, txn.lock_wait()).unwrap().unwrap();
    assert_eq!(t.codec.get(&before, 2), ValueRef::Int(55), "as the first leaves it");
    txn.update(&t, &key(&t, 5), &row(&t, 5, 2, Some(55), Some(1))).unwrap();
    txn.begin_statement(true).unwrap();
    txn.refresh_snapshot().unwrap();
    let second = thread::spawn(move || {
        txn.insert(&t, &row(&t, 20, 1, Some(5), None))?;
        txn.commit()
    });
    thread::sleep(Duration::from_millis(50));
    assert!(!second.is_finished(), "whether 5 is free is known when the first is published");
    gate.open();
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

/// Row 5 is (2, 77) by a commit that is on its way to the disk; a statement that follows it makes it (9, 77), and the
/// next one inserts that again, while somewhere else two transactions write columns of one row.
#[test]
pub(crate) fn an_own_row_counts_as_the_commit_that_it_follows_leaves_it() {
    let scratch = Scratch::new("unique-own-followed");
    let gate = Arc::new(Gate::default());
    let engine = engine(&scratch, gate.env());
    make(&engine, NewIndex::new("w_ab", vec![1, 2], true)).unwrap();
    let both = ColumnSet::from_iter([1, 2]);
    let setting = |column: usize| LockMode::columns(both, ColumnSet::from_iter([column]));
    gate.close();
    let first = commit_later(&engine, |txn| {
        txn.set_level(IsolationLevel::ReadCommitted)?;
        let t = txn.table("w")?;
        txn.update_columns(&t, &key(&t, 5), &row(&t, 5, 2, Some(77), None), setting(2))
    });
    let mut txn = engine.begin_at(IsolationLevel::ReadCommitted).unwrap();
    let t = txn.table("w").unwrap();
    txn.begin_statement(true).unwrap();
    txn.refresh_snapshot().unwrap();
    let before = txn.lock_only_row(&t, &key(&t, 5), setting(1), txn.lock_wait()).unwrap().unwrap();
    assert_eq!(t.codec.get(&before, 2), ValueRef::Int(77), "as the first leaves it");
    txn.update_columns(&t, &key(&t, 5), &row(&t, 5, 9, Some(77), None), setting(1)).unwrap();
    txn.begin_statement(true).unwrap();
    txn.refresh_snapshot().unwrap();
    let (mut one, _) = begin(&engine);
    let (mut other, _) = begin(&engine);
    one.update_columns(&t, &key(&t, 7), &row(&t, 7, 1, Some(7), Some(1)), only(3)).unwrap();
    other.update_columns(&t, &key(&t, 7), &row(&t, 7, 1, Some(70), None), setting(2)).unwrap();
    assert!(txn.may_be_behind(), "rows are put together from what is published");
    let second = thread::spawn(move || {
        txn.insert(&t, &row(&t, 20, 9, Some(77), None))?;
        txn.commit()
    });
    thread::sleep(Duration::from_millis(50));
    let has_waited = !second.is_finished();
    gate.open();
    first.join().unwrap().unwrap();
    let inserted = second.join().unwrap();
    assert_eq!(inserted.map_err(|error| error.code()), Err(Code::UniqueViolation));
    assert!(has_waited, "what row 5 is, is known when the first is published");
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_value_is_free_when_who_had_it_gave_it_up_while_it_was_waited_for() {
    let scratch = Scratch::new("unique-gone");
    let engine = engine(&scratch, Env::real());
    make(&engine, NewIndex::new("w_b", vec![2], true)).unwrap();
    let (mut first, t) = begin(&engine);
    first.update(&t, &key(&t, 5), &row(&t, 5, 2, Some(55), None)).unwrap();
    let (mut second, _) = begin(&engine);
    let second = thread::spawn(move || {
        let t = second.table("w")?;
        second.insert(&t, &row(&t, 20, 1, Some(5), None))?;
        second.commit()
    });
    thread::sleep(Duration::from_millis(50));
    assert!(!second.is_finished(), "whether 5 is free is known when the first has ended");
    first.commit().unwrap();
    second.join().unwrap().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}
