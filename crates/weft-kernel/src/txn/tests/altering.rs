//! Definitions that change, objects, sequences: seen by snapshots, undone by rollbacks, there after crashes.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_format::{Code, Column, DataType, Value, ValueRef};

use crate::catalog::{Object, ObjectKind, SequenceOptions, SequenceValue};
use crate::testing::{Scratch, by_hand, create, get, key, new_table, open_with, put, row};
use crate::{
    Deferrable, Engine, EngineOptions, FkAction, ForeignKey, NewTable, SchemaId, TableDef, TableRef, Transaction,
};

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

fn add(name: &'static str, missing: Value) -> impl FnOnce(&mut TableDef) -> weft_format::Result<()> {
    move |def| {
        let mut schema = (*def.schema).clone();
        schema.add_column(Column { name: name.into(), data_type: DataType::BigInt, not_null: false }, &missing);
        def.schema = Arc::new(schema);
        def.defaults.push(None);
        Ok(())
    }
}

/// The values of a row.
fn values(txn: &Transaction, t: &TableRef, k: i64) -> Option<Vec<Value>> {
    let all: Vec<usize> = (0..t.def.schema.columns.len()).collect();
    let mut values = Vec::new();
    txn.get(t, &key(t, k), &all, &mut values).unwrap().then_some(values)
}

fn ints(values: &[i64]) -> Option<Vec<Value>> {
    Some(values.iter().copied().map(Value::Int).collect())
}

#[test]
fn a_column_is_added_for_snapshots_from_the_commit_on() {
    let scratch = Scratch::new("alter");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    put(&engine, "t", 1, 10).unwrap();
    let before = engine.begin().unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.insert(&t, &row(&t, 2, 20)).unwrap();
    let altered = txn.alter_table(&t, add("w", Value::Int(7))).unwrap();
    assert_eq!(txn.table("t").unwrap().def.schema.columns.len(), 3);
    assert_eq!(values(&txn, &altered, 1), ints(&[1, 10, 7]));
    assert_eq!(values(&txn, &altered, 2), ints(&[2, 20, 7]), "staged before");
    let wide = altered.codec.encode([ValueRef::Int(3), ValueRef::Int(30), ValueRef::Int(8)]);
    txn.insert(&altered, &wide).unwrap();
    let old = before.table("t").unwrap();
    txn.commit().unwrap();
    assert_eq!(old.def.schema.columns.len(), 2);
    assert_eq!(before.table("t").unwrap().def.schema.columns.len(), 2);
    assert_eq!(get(&before, &old, 1), Some(10));
    // A writer that began before must see the new definition first.
    let mut late = before;
    assert_eq!(late.insert(&old, &row(&old, 4, 40)).unwrap_err().code(), Code::SerializationFailure);
    late.rollback();
    let look = |engine: &Arc<Engine>| {
        let txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        [1, 2, 3].map(|k| values(&txn, &t, k))
    };
    let expected = [ints(&[1, 10, 7]), ints(&[2, 20, 7]), ints(&[3, 30, 8])];
    assert_eq!(look(&engine), expected);
    drop(engine);
    let engine = open(&scratch);
    assert_eq!(look(&engine), expected, "from the log");
    engine.checkpoint().unwrap();
    drop(engine);
    assert_eq!(look(&open(&scratch)), expected, "from the manifest");
}

#[test]
fn a_rollback_takes_an_alteration_back() {
    let scratch = Scratch::new("alter-back");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    put(&engine, "t", 1, 10).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    let mark = txn.mark();
    let altered = txn.alter_table(&t, add("w", Value::Null)).unwrap();
    let renamed = |def: &mut TableDef| {
        def.name = "u".into();
        Ok(())
    };
    txn.alter_table(&altered, renamed).unwrap();
    assert_eq!(txn.table("t").unwrap_err().code(), Code::UndefinedTable);
    assert_eq!(txn.table("u").unwrap().def.oid, t.def.oid);
    txn.rollback_to(mark);
    assert_eq!(txn.table("u").unwrap_err().code(), Code::UndefinedTable);
    let t = txn.table("t").unwrap();
    assert_eq!(t.def.schema.columns.len(), 2);
    txn.update(&t, &key(&t, 1), &row(&t, 1, 11)).unwrap();
    txn.commit().unwrap();
    let txn = engine.begin().unwrap();
    assert_eq!(get(&txn, &txn.table("t").unwrap(), 1), Some(11));
}

#[test]
fn a_table_is_stored_anew_under_its_number_and_children_follow() {
    let scratch = Scratch::new("alter-anew");
    let engine = open(&scratch);
    create(&engine, &["p"]).unwrap();
    put(&engine, "p", 1, 10).unwrap();
    let mut txn = engine.begin().unwrap();
    let p = txn.table("p").unwrap();
    let mut child = new_table("c");
    child.foreign_keys.push(ForeignKey {
        name: "c_fkey".into(),
        columns: vec![1],
        parent: p.id(),
        parent_columns: vec![0],
        on_delete: FkAction::NoAction,
        on_update: FkAction::NoAction,
        deferrable: Deferrable::No,
        full: false,
        set_on_delete: Vec::new(),
    });
    let c = txn.create_table(child).unwrap();
    txn.insert(&c, &row(&c, 5, 1)).unwrap();
    txn.commit().unwrap();

    let mut txn = engine.begin().unwrap();
    let p = txn.table("p").unwrap();
    let made = txn.replace_table(&p, NewTable::of(&p.def)).unwrap();
    assert_ne!(made.id(), p.id());
    assert_eq!((made.def.oid, &made.def.name), (p.def.oid, &p.def.name));
    txn.insert(&made, &row(&made, 1, 11)).unwrap();
    txn.check_constraints().unwrap();
    txn.commit().unwrap();
    let look = |engine: &Arc<Engine>| {
        let mut txn = engine.begin().unwrap();
        let (p, c) = (txn.table("p").unwrap(), txn.table("c").unwrap());
        assert_eq!(c.def.foreign_keys[0].parent, p.id());
        assert_eq!(get(&txn, &p, 1), Some(11));
        assert!(p.is_referenced());
        assert!(txn.delete(&p, &key(&p, 1)).unwrap());
        txn.check_constraints().map_err(|error| error.code())
    };
    assert_eq!(look(&engine), Err(Code::ForeignKeyViolation));
    drop(engine);
    let engine = open(&scratch);
    assert_eq!(look(&engine), Err(Code::ForeignKeyViolation), "from the log");
    engine.checkpoint().unwrap();
    drop(engine);
    assert_eq!(look(&open(&scratch)), Err(Code::ForeignKeyViolation), "from the manifest");
}

#[test]
fn a_table_is_dropped_and_made_again_by_one_transaction() {
    let scratch = Scratch::new("alter-again");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    put(&engine, "t", 1, 10).unwrap();
    let mut txn = engine.begin().unwrap();
    txn.drop_table("t").unwrap();
    let t = txn.create_table(new_table("t")).unwrap();
    txn.insert(&t, &row(&t, 2, 20)).unwrap();
    txn.commit().unwrap();
    drop(engine);
    let engine = open(&scratch);
    let txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    assert_eq!((get(&txn, &t, 1), get(&txn, &t, 2)), (None, Some(20)));
}

fn sequence() -> Object {
    let mut object = Object::new(ObjectKind::Sequence, SchemaId::PUBLIC, "s");
    let options = SequenceOptions { increment: 1, min: 1, max: i64::MAX, start: 1, cycle: false };
    options.put(&mut object.properties);
    object
}

#[test]
fn objects_are_versions_like_tables_and_names_are_taken_once() {
    let scratch = Scratch::new("objects");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let view = Object::new(ObjectKind::View, SchemaId::PUBLIC, "t");
    assert_eq!(txn.put_object(view).unwrap_err().code(), Code::DuplicateTable);
    let schema = txn.put_object(Object::new(ObjectKind::Schema, SchemaId::PUBLIC, "s")).unwrap();
    let mut inner = new_table("t");
    inner.namespace = SchemaId(schema.id);
    let t = txn.create_table(inner).unwrap();
    txn.insert(&t, &row(&t, 1, 1)).unwrap();
    let mut view = Object::new(ObjectKind::View, SchemaId(schema.id), "v");
    view.needs.push(t.def.oid);
    let view = txn.put_object(view).unwrap();
    let before = engine.begin().unwrap();
    txn.commit().unwrap();
    assert_eq!(before.objects(), Vec::<Arc<Object>>::new());
    let mut txn = engine.begin().unwrap();
    let mut other = (*view).clone();
    other.name = "w".into();
    txn.put_object(other).unwrap();
    assert!(txn.object(ObjectKind::View, SchemaId(schema.id), "v").is_none());
    assert_eq!(txn.put_object(sequence()).unwrap().name, "s", "a schema's name is another space");
    txn.commit().unwrap();
    drop((before, engine));
    for round in 0..2 {
        let engine = open(&scratch);
        let txn = engine.begin().unwrap();
        let names: Vec<String> = txn.objects().iter().map(|object| object.name.clone()).collect();
        assert_eq!(names, ["s", "w", "s"], "round {round}");
        let t = txn.table_in(SchemaId(schema.id), "t").unwrap();
        assert_eq!(get(&txn, &t, 1), Some(1));
        assert_eq!(txn.object_of(view.id).unwrap().needs, [t.def.oid]);
        txn.rollback();
        engine.close().unwrap();
    }
}

#[test]
fn numbers_are_never_given_twice() {
    let scratch = Scratch::new("sequences");
    let engine = open(&scratch);
    let mut txn = engine.begin().unwrap();
    let s = txn.put_object(sequence()).unwrap();
    assert_eq!(txn.next_value(&s).unwrap(), 1);
    txn.commit().unwrap();
    let mut last = 1;
    drop(engine);
    for round in 0..6 {
        let engine = open(&scratch);
        let txn = engine.begin().unwrap();
        let s = txn.object(ObjectKind::Sequence, SchemaId::PUBLIC, "s").unwrap();
        for at in 0..40 {
            let next = txn.next_value(&s).unwrap();
            let skipped = if round % 2 == 0 && at == 0 { 40 } else { 1 };
            assert!(next > last && next <= last + skipped, "round {round}: {next} after {last}");
            last = next;
        }
        txn.rollback();
        // Killed, or closed well: then nothing is left out.
        if round % 2 == 0 { engine.close().unwrap() } else { engine.flush().unwrap() }
    }
    let engine = open(&scratch);
    let txn = engine.begin().unwrap();
    txn.set_sequence(&s, SequenceValue { last: last + 500, is_called: true }).unwrap();
    last += 500;
    engine.flush().unwrap();
    drop(txn);
    drop(engine);
    let engine = open(&scratch);
    let txn = engine.begin().unwrap();
    let next = txn.next_value(&s).unwrap();
    assert!(next > last && next <= last + 40, "{next} after {last}");
}
