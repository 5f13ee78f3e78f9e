//! Partial indexes inside transactions. Table `q` has a key k and columns a, b, c; NULL is 0 here.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::{Code, Column, CompareOp, DataType, Predicate, Result, Schema, Value, ValueRef};

use crate::index::{Direction, IndexPart, NewIndex};
use crate::lock::{ColumnSet, LockMode};
use crate::testing::{Prng, Scratch, by_hand, key, open_with};
use crate::{Engine, EngineOptions, FkAction, ForeignKey, IsolationLevel, NewTable, TableRef, Transaction};

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

fn schema(names: [&str; 4]) -> Schema {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: name == "k" };
    Schema::new(names.map(column).into(), vec![0])
}

/// Rows (1, 1, 0, 0), (2, 2, 1, 0) to (9, 9, 8, 0).
fn engine(scratch: &Scratch) -> Arc<Engine> {
    let engine = open(scratch);
    let mut txn = engine.begin().unwrap();
    let t = txn.create_table(NewTable::new("q", schema(["k", "a", "b", "c"]), "memory")).unwrap();
    (1..10).for_each(|k| txn.insert(&t, &row(&t, [k, k, k - 1, 0])).unwrap());
    txn.commit().unwrap();
    engine
}

fn row(t: &TableRef, values: [i64; 4]) -> Vec<u8> {
    let [k, rest @ ..] = values;
    let rest = rest.into_iter().map(|v| if v == 0 { ValueRef::Null } else { ValueRef::Int(v) });
    t.codec.encode(std::iter::once(ValueRef::Int(k)).chain(rest))
}

fn begin(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let txn = engine.begin().unwrap();
    let t = txn.table("q").unwrap();
    (txn, t)
}

fn compare(column: usize, op: CompareOp, value: i64) -> Predicate {
    Predicate::Compare { column, op, value: Value::Int(value) }
}

/// An index on column a of the rows with c IS NULL.
fn open_ones(unique: bool) -> NewIndex {
    let predicate = vec![Predicate::IsNull { column: 3 }];
    NewIndex { predicate, include: vec![2], ..NewIndex::new("q_open", vec![1], unique) }
}

fn make(engine: &Arc<Engine>, index: NewIndex) -> Result<()> {
    let (mut txn, t) = begin(engine);
    txn.create_index(&t, index)?;
    txn.commit().map(|_| ())
}

fn number(t: &TableRef, key: &[u8]) -> i64 {
    match &t.keys.decode(key).unwrap()[..] {
        [Value::Int(k)] => *k,
        other => panic!("{other:?}"),
    }
}

/// The keys that an index gives in its own order.
fn in_order(txn: &Transaction, t: &TableRef, name: &str) -> Vec<i64> {
    let (_, index) = txn.index(name).unwrap();
    let found = txn.index_order(t, &index, Bound::Unbounded, Bound::Unbounded, Direction::Forward, 1000).unwrap();
    found.unwrap().iter().map(|key| number(t, key)).collect()
}

/// The keys of the rows that satisfy predicates, by a scan, and the index that found them.
fn scan(txn: &Transaction, t: &TableRef, predicates: &[Predicate]) -> (Vec<i64>, Option<String>) {
    let predicates = predicates.to_vec();
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
    let index = output.metrics.index.lock().clone();
    (found, index)
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn rows_move_into_the_index_and_out_of_it() {
    let scratch = Scratch::new("partial");
    let engine = engine(&scratch);
    make(&engine, open_ones(false)).unwrap();
    let is_null = Predicate::IsNull { column: 3 };
    let a = |value| compare(1, CompareOp::Eq, value);
    let (mut txn, t) = begin(&engine);
    let (_, index) = txn.index("q_open").unwrap();
    assert_eq!((index.deciding(), index.included(), index.is_partial()), (&[1, 3][..], &[2][..], true));
    // Only who says what the index says may use it.
    assert_eq!(scan(&txn, &t, &[a(5)]), (vec![5], None));
    assert_eq!(scan(&txn, &t, &[compare(3, CompareOp::Eq, 1)]), (vec![], None));
    assert_eq!(scan(&txn, &t, &[a(5), is_null.clone()]), (vec![5], Some("q_open".into())));
    assert_eq!(scan(&txn, &t, std::slice::from_ref(&is_null)), ((1..10).collect(), Some("q_open".into())));
    // Own rows.
    txn.update(&t, &key(&t, 5), &row(&t, [5, 5, 4, 1])).unwrap();
    txn.update(&t, &key(&t, 9), &row(&t, [9, 20, 8, 0])).unwrap();
    txn.insert(&t, &row(&t, [10, 10, 0, 1])).unwrap();
    txn.insert(&t, &row(&t, [11, 3, 0, 0])).unwrap();
    assert_eq!(in_order(&txn, &t, "q_open"), [1, 2, 3, 11, 4, 6, 7, 8, 9]);
    assert_eq!(scan(&txn, &t, &[a(5), is_null.clone()]).0, Vec::<i64>::new());
    txn.commit().unwrap();
    let (mut txn, t) = begin(&engine);
    assert_eq!(in_order(&txn, &t, "q_open"), [1, 2, 3, 11, 4, 6, 7, 8, 9]);
    // Back again, by the predicate's column alone.
    txn.update(&t, &key(&t, 5), &row(&t, [5, 5, 4, 0])).unwrap();
    txn.update(&t, &key(&t, 1), &row(&t, [1, 1, 0, 7])).unwrap();
    txn.commit().unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop(engine);
    // Redo, then the manifest.
    for checkpoint in [true, false] {
        let engine = open(&scratch);
        let (txn, t) = begin(&engine);
        assert_eq!(in_order(&txn, &t, "q_open"), [2, 3, 11, 4, 5, 6, 7, 8, 9]);
        assert_eq!(scan(&txn, &t, &[a(5), is_null.clone()]), (vec![5], Some("q_open".into())));
        let (_, index) = txn.index("q_open").unwrap();
        assert_eq!((index.predicate(), index.included()), (&[Predicate::IsNull { column: 3 }][..], &[2][..]));
        drop(txn);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        if checkpoint {
            engine.checkpoint().unwrap();
        }
    }
}

#[test]
fn only_rows_of_the_index_are_unique_among_each_other() {
    let scratch = Scratch::new("partial-unique");
    let engine = engine(&scratch);
    let (mut txn, t) = begin(&engine);
    txn.insert(&t, &row(&t, [20, 2, 0, 5])).unwrap();
    txn.insert(&t, &row(&t, [21, 2, 0, 6])).unwrap();
    txn.commit().unwrap();
    make(&engine, open_ones(true)).unwrap();
    let (mut txn, t) = begin(&engine);
    assert_eq!(code(txn.insert(&t, &row(&t, [30, 2, 0, 0]))), Code::UniqueViolation);
    txn.insert(&t, &row(&t, [30, 2, 0, 1])).unwrap();
    // By the predicate's column alone: into the index, where the value is taken, and where it is free.
    assert_eq!(code(txn.update(&t, &key(&t, 20), &row(&t, [20, 2, 0, 0]))), Code::UniqueViolation);
    txn.update(&t, &key(&t, 2), &row(&t, [2, 2, 1, 9])).unwrap();
    txn.update(&t, &key(&t, 20), &row(&t, [20, 2, 0, 0])).unwrap();
    assert_eq!(code(txn.update(&t, &key(&t, 21), &row(&t, [21, 2, 0, 0]))), Code::UniqueViolation);
    // Others wait for the value, and for who may bring the row out again.
    let (mut other, _) = begin(&engine);
    assert_eq!(code(other.insert(&t, &row(&t, [31, 2, 0, 0]))), Code::LockTimeout);
    other.insert(&t, &row(&t, [31, 2, 0, 4])).unwrap();
    other.commit().unwrap();
    txn.commit().unwrap();
    let (mut leaver, t) = begin(&engine);
    let leaves = LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([3]));
    leaver.update_columns(&t, &key(&t, 20), &row(&t, [20, 2, 0, 8]), leaves).unwrap();
    let (mut other, _) = begin(&engine);
    assert_eq!(code(other.insert(&t, &row(&t, [32, 2, 0, 0]))), Code::LockTimeout);
    leaver.commit().unwrap();
    drop(other);
    let (mut other, t) = begin(&engine);
    other.insert(&t, &row(&t, [32, 2, 0, 0])).unwrap();
    other.commit().unwrap();
    // In bulk.
    let build = |keys: &[i64], a: &[i64], c: &[Option<i64>]| {
        let column = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        let c = Arc::new(Int64Array::from(c.to_vec())) as ArrayRef;
        let columns = [("k", column(keys)), ("a", column(a)), ("b", column(a)), ("c", c)];
        let (mut txn, t) = begin(&engine);
        txn.build(&t, &[RecordBatch::try_from_iter(columns).unwrap()])?;
        txn.commit().map(|_| ())
    };
    assert_eq!(code(build(&[50], &[2], &[None])), Code::UniqueViolation);
    assert_eq!(code(build(&[50, 51], &[60, 60], &[None, None])), Code::UniqueViolation);
    build(&[50, 51, 52], &[60, 60, 2], &[None, Some(1), Some(1)]).unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    // Rows that are the same in an index that is made.
    let twice = NewIndex { name: "again".into(), predicate: vec![compare(3, CompareOp::Gt, 0)], ..open_ones(true) };
    assert_eq!(code(make(&engine, twice)), Code::UniqueViolation);
    drop(engine);
    let engine = open(&scratch);
    let (mut txn, t) = begin(&engine);
    assert_eq!(code(txn.insert(&t, &row(&t, [70, 60, 0, 0]))), Code::UniqueViolation);
    assert_eq!(in_order(&txn, &t, "q_open"), [1, 32, 3, 4, 5, 6, 7, 8, 9, 50]);
}

/// Two writers of one row, one of the column, one of the predicate's: both survive, and so does the entry. In a unique
/// index they exclude each other, when they say what they must.
#[test]
fn writers_of_the_column_and_of_the_predicate_meet() {
    let scratch = Scratch::new("partial-columns");
    let engine = engine(&scratch);
    make(&engine, NewIndex { predicate: vec![compare(3, CompareOp::GtEq, 7)], ..open_ones(false) }).unwrap();
    let mode = |t: &TableRef, column: usize| {
        let writes = ColumnSet::from_iter([column]);
        LockMode::columns(t.columns_tested(writes), writes)
    };
    let (mut one, t) = begin(&engine);
    one.update_columns(&t, &key(&t, 5), &row(&t, [5, 50, 4, 0]), mode(&t, 1)).unwrap();
    let (mut two, _) = begin(&engine);
    two.update_columns(&t, &key(&t, 5), &row(&t, [5, 5, 4, 7]), mode(&t, 3)).unwrap();
    one.commit().unwrap();
    two.commit().unwrap();
    let (txn, t) = begin(&engine);
    assert_eq!(scan(&txn, &t, &[compare(1, CompareOp::Eq, 50), compare(3, CompareOp::Gt, 6)]).0, [5]);
    let by_index = scan(&txn, &t, &[compare(1, CompareOp::Eq, 50), compare(3, CompareOp::GtEq, 7)]);
    assert_eq!(by_index, (vec![5], Some("q_open".into())));
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop(txn);
    make(&engine, NewIndex { name: "q_one".into(), ..open_ones(true) }).unwrap();
    let (mut one, t) = begin(&engine);
    one.update_columns(&t, &key(&t, 5), &row(&t, [5, 6, 4, 7]), mode(&t, 1)).unwrap();
    let (mut two, _) = begin(&engine);
    let met = two.update_columns(&t, &key(&t, 5), &row(&t, [5, 50, 4, 0]), mode(&t, 3));
    assert_eq!(code(met), Code::LockTimeout);
}

#[test]
fn a_row_that_comes_into_a_range_by_the_predicate_is_a_conflict() {
    let scratch = Scratch::new("partial-serial");
    let engine = engine(&scratch);
    make(&engine, open_ones(false)).unwrap();
    for (number, conflict) in [(5, true), (6, false)] {
        let (mut reader, t) = begin(&engine);
        reader.set_level(IsolationLevel::Serializable).unwrap();
        let (_, index) = reader.index("q_open").unwrap();
        let five = [Value::Int(5)];
        let bound = Bound::Included(&five[..]);
        reader.index_keys(&t, &index, bound, bound, Direction::Forward, 100).unwrap().unwrap();
        reader.insert(&t, &row(&t, [500 + number, 99, 9, 9])).unwrap();
        let (mut other, _) = begin(&engine);
        other.update(&t, &key(&t, number), &row(&t, [number, number, number - 1, 3])).unwrap();
        other.commit().unwrap();
        assert_eq!(reader.commit().is_err(), conflict);
    }
}

#[test]
fn foreign_keys_know_no_partial_index() {
    let scratch = Scratch::new("partial-fk");
    let engine = engine(&scratch);
    make(&engine, open_ones(true)).unwrap();
    let (mut txn, q) = begin(&engine);
    let foreign_key = ForeignKey {
        name: "r_fkey".into(),
        columns: vec![1],
        parent: q.id(),
        parent_columns: vec![1],
        on_delete: FkAction::Restrict,
        on_update: FkAction::NoAction,
        deferrable: crate::Deferrable::No,
        full: false,
        set_on_delete: Vec::new(),
    };
    let new = NewTable::new("r", schema(["k", "a", "b", "c"]), "memory");
    let refused = NewTable { foreign_keys: vec![foreign_key.clone()], ..new.clone() };
    assert_eq!(code(txn.create_table(refused)), Code::InvalidForeignKey);
    // Who looks for children finds those that a partial index of theirs does not have.
    let by_key = ForeignKey { parent_columns: vec![0], ..foreign_key };
    let r = txn.create_table(NewTable { foreign_keys: vec![by_key], ..new }).unwrap();
    txn.create_index(&r, NewIndex { name: "r_open".into(), ..open_ones(false) }).unwrap();
    txn.insert(&r, &row(&r, [1, 5, 0, 1])).unwrap();
    txn.check_constraints().unwrap();
    txn.commit().unwrap();
    let (mut txn, q) = begin(&engine);
    let gone = txn.delete(&q, &key(&q, 5)).and_then(|_| txn.check_constraints());
    assert_eq!(code(gone), Code::ForeignKeyViolation);
}

/// Random writes against a map; after each life of the engine, which ends in a crash or with a checkpoint before it,
/// the indexes have exactly the rows that their predicates let in.
#[test]
fn random_histories_agree_with_a_map() {
    let indexes = [
        open_ones(false),
        NewIndex { name: "q_b".into(), predicate: vec![compare(2, CompareOp::Gt, 2)], ..open_ones(true) },
        NewIndex {
            name: "q_abc".into(),
            parts: vec![IndexPart::Column(3), IndexPart::Column(1)],
            predicate: vec![
                Predicate::In { column: 2, values: vec![Value::Int(1), Value::Null, Value::Int(4)] },
                Predicate::IsNotNull { column: 1 },
                compare(3, CompareOp::NotEq, 2),
            ],
            ..open_ones(false)
        },
    ];
    for seed in 0..6 {
        let scratch = Scratch::new("partial-model");
        drop(engine(&scratch));
        let mut random = Prng(seed);
        let mut model: BTreeMap<i64, [i64; 4]> = (1..10).map(|k| (k, [k, k, k - 1, 0])).collect();
        let mut refused = 0;
        for life in 0..5 {
            let engine = open(&scratch);
            if life == 0 {
                indexes.iter().for_each(|index| make(&engine, index.clone()).unwrap());
            }
            for _ in 0..30 {
                refused += transaction(&engine, &mut model, &mut random);
                if random.below(10) == 0 {
                    engine.checkpoint().unwrap();
                }
                agrees(&engine, &model, &indexes);
            }
            assert_eq!(engine.check().unwrap(), Vec::<String>::new(), "seed {seed}");
        }
        agrees(&open(&scratch), &model, &indexes);
        assert!(refused > 5, "the unique index refused {refused} rows");
    }
}

/// A few writes, committed or not; how many the unique index refused.
fn transaction(engine: &Arc<Engine>, model: &mut BTreeMap<i64, [i64; 4]>, random: &mut Prng) -> usize {
    let (mut txn, t) = begin(engine);
    let (mut staged, mut refused) = (model.clone(), 0);
    for _ in 0..1 + random.below(4) {
        let k = 1 + random.below(14) as i64;
        let new = [k, random.below(6) as i64, random.below(6) as i64, random.below(4) as i64];
        let before = staged.get(&k).copied();
        // Mostly one column of a row that is there.
        let new = match before {
            Some(mut row) if random.below(10) < 7 => {
                let column = 1 + random.below(3) as usize;
                row[column] = new[column];
                row
            }
            _ => new,
        };
        let in_b = |row: &[i64; 4]| row[2] > 2 && row[1] != 0;
        let is_taken = in_b(&new) && staged.values().any(|row| row[0] != k && in_b(row) && row[1] == new[1]);
        let mark = txn.mark();
        let done = match before {
            Some(_) if random.below(6) == 0 => {
                assert!(txn.delete(&t, &key(&t, k)).unwrap());
                staged.remove(&k);
                continue;
            }
            Some(_) => txn.update(&t, &key(&t, k), &row(&t, new)),
            None => txn.insert(&t, &row(&t, new)),
        };
        // A row whose own value stays is tested no more, nor need it be.
        let was_there = before.is_some_and(|row| in_b(&row) && row[1] == new[1]);
        assert_eq!(done.is_err(), is_taken && !was_there, "{before:?} → {new:?}: {done:?}");
        if done.is_err() {
            refused += 1;
            txn.rollback_to(mark);
        } else {
            staged.insert(k, new);
        }
    }
    if random.below(4) > 0 {
        txn.commit().unwrap();
        *model = staged;
    }
    refused
}

fn agrees(engine: &Arc<Engine>, model: &BTreeMap<i64, [i64; 4]>, indexes: &[NewIndex]) {
    let (txn, t) = begin(engine);
    for index in indexes {
        let value =
            |row: &[i64; 4], column: usize| if row[column] == 0 { Value::Null } else { Value::Int(row[column]) };
        let has = |row: &&[i64; 4]| {
            index.predicate.iter().all(|predicate| predicate.matches(value(row, predicate.column()).as_ref()))
        };
        // NULL comes last.
        let order = |row: &[i64; 4]| -> Vec<i64> {
            let last = |v: i64| if v == 0 { i64::MAX } else { v };
            let part = |part: &IndexPart| match part {
                IndexPart::Column(column) => last(row[*column]),
                IndexPart::Expression(_) => unreachable!("these indexes are on columns"),
            };
            index.parts.iter().map(part).chain([row[0]]).collect()
        };
        let mut rows: Vec<&[i64; 4]> = model.values().filter(has).collect();
        rows.sort_by_key(|row| order(row));
        let expected: Vec<i64> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(in_order(&txn, &t, &index.name), expected, "index {}", index.name);
        for wanted in 1..6 {
            let equal = compare(1, CompareOp::Eq, wanted);
            let found = scan(&txn, &t, &[&index.predicate[..], &[equal]].concat()).0;
            let mut with: Vec<i64> = rows.iter().filter(|row| row[1] == wanted).map(|row| row[0]).collect();
            with.sort_unstable();
            assert_eq!(found, with, "a = {wanted} by index {}", index.name);
        }
    }
}
