//! Indexes on expressions inside transactions. Table `q` has a key k and columns a, b, c; NULL is 0 here.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use weft_contract::{ExprTest, ScanRequest};
use weft_env::Env;
use weft_expr::{ArithmeticOp, EvalContext, Expr, Function, Node};
use weft_format::{Code, Column, CompareOp, DataType, Predicate, Result, Schema, Value, ValueRef};

use crate::index::{Direction, IndexPart, NewIndex};
use crate::lock::{ColumnSet, LockMode};
use crate::testing::{Prng, Scratch, by_hand, key, open_with};
use crate::{Engine, EngineOptions, FkAction, ForeignKey, NewTable, TableRef, Transaction};

fn open(scratch: &Scratch) -> Arc<Engine> {
    let options = EngineOptions { lock_timeout: Duration::from_millis(50), ..by_hand() };
    open_with(Env::real(), scratch.path(), options).unwrap()
}

fn schema(names: [&str; 4]) -> Schema {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: name == "k" };
    Schema::new(names.map(column).into(), vec![0])
}

/// Rows (1, 11, 1, 0), (2, 12, 1, 0) to (9, 19, 1, 0).
fn engine(scratch: &Scratch) -> Arc<Engine> {
    let engine = open(scratch);
    let mut txn = engine.begin().unwrap();
    let t = txn.create_table(NewTable::new("q", schema(["k", "a", "b", "c"]), "memory")).unwrap();
    (1..10).for_each(|k| txn.insert(&t, &row(&t, [k, 10 + k, 1, 0])).unwrap());
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

fn column(ordinal: usize) -> Expr {
    Expr::column(ordinal, DataType::BigInt)
}

fn arithmetic(op: ArithmeticOp, left: Expr, right: Expr) -> Expr {
    Expr::new(Node::Arithmetic(op, Box::new(left), Box::new(right)), DataType::BigInt)
}

/// `60 / (a - b)`
fn ratio() -> Expr {
    let sixty = Expr::literal(Value::Int(60), DataType::BigInt);
    arithmetic(ArithmeticOp::Divide, sixty, arithmetic(ArithmeticOp::Subtract, column(1), column(2)))
}

/// `a % b`
fn rest() -> Expr {
    arithmetic(ArithmeticOp::Modulo, column(1), column(2))
}

fn on(name: &str, expr: Expr, unique: bool) -> NewIndex {
    NewIndex::on(name, vec![IndexPart::Expression(Arc::new(expr))], unique)
}

fn make(engine: &Arc<Engine>, index: NewIndex) -> Result<()> {
    let (mut txn, t) = begin(engine);
    txn.create_index(&t, index)?;
    txn.commit().map(|_| ())
}

fn change(engine: &Arc<Engine>, values: [i64; 4]) -> Result<()> {
    let (mut txn, t) = begin(engine);
    txn.update(&t, &key(&t, values[0]), &row(&t, values))?;
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

/// The keys of the candidates that have one value.
fn candidates(txn: &Transaction, t: &TableRef, name: &str, value: i64) -> Vec<i64> {
    let (_, index) = txn.index(name).unwrap();
    let value = [Value::Int(value)];
    let bound = Bound::Included(&value[..]);
    let found = txn.index_keys(t, &index, bound, bound, Direction::Forward, 1000).unwrap().unwrap();
    found.iter().map(|key| number(t, key)).collect()
}

fn code<T: std::fmt::Debug>(result: Result<T>) -> Code {
    result.unwrap_err().code()
}

#[test]
fn rows_are_found_by_what_their_expression_gives() {
    let scratch = Scratch::new("expressions");
    let engine = engine(&scratch);
    make(&engine, on("q_sum", arithmetic(ArithmeticOp::Add, column(1), column(2)), false)).unwrap();
    let (mut txn, t) = begin(&engine);
    let (_, index) = txn.index("q_sum").unwrap();
    assert_eq!((index.deciding(), index.parts()[0].text(&t.def.schema).as_str()), (&[1, 2][..], "(a + b)"));
    assert_eq!((in_order(&txn, &t, "q_sum"), candidates(&txn, &t, "q_sum", 15)), ((1..10).collect(), vec![4]));
    // Own rows, moved by either column; NULL comes last.
    txn.update(&t, &key(&t, 9), &row(&t, [9, 19, -100, 0])).unwrap();
    txn.update(&t, &key(&t, 1), &row(&t, [1, 15, 3, 0])).unwrap();
    txn.update(&t, &key(&t, 2), &row(&t, [2, 0, 1, 0])).unwrap();
    let order = [9, 3, 4, 5, 6, 1, 7, 8, 2];
    assert_eq!(in_order(&txn, &t, "q_sum"), order);
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    change(&engine, [3, 13, 1, 9]).unwrap();
    change(&engine, [4, 14, 50, 0]).unwrap();
    let order = [9, 3, 5, 6, 1, 7, 8, 4, 2];
    let (txn, t) = begin(&engine);
    assert_eq!((in_order(&txn, &t, "q_sum"), candidates(&txn, &t, "q_sum", 64)), (order.to_vec(), vec![4]));
    drop((txn, t));
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop((index, engine));
    let engine = open(&scratch);
    let (txn, t) = begin(&engine);
    assert_eq!(in_order(&txn, &t, "q_sum"), order);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

/// A scan of whose rows the caller keeps only those with a value of the expression finds them by the index.
#[test]
fn a_scan_is_helped_by_what_its_caller_tests() {
    let scratch = Scratch::new("expressions-scan");
    let engine = engine(&scratch);
    let expr = arithmetic(ArithmeticOp::Add, column(1), column(2));
    make(&engine, on("q_sum", expr.clone(), false)).unwrap();
    let (txn, t) = begin(&engine);
    let scan = |expr: &Expr, op, value, predicates: &[Predicate]| {
        let (view, predicates) = (txn.view(&t).unwrap(), predicates.to_vec());
        let request = ScanRequest { view, projection: vec![0], predicates, partition_count: 1, batch_rows: 100 };
        let predicate = Predicate::Compare { column: 0, op, value: Value::Int(value) };
        let mut output = t.scan_known(request, &[ExprTest { expr: expr.clone(), predicate }]).unwrap();
        let mut count = 0;
        while let Some(batch) = output.partitions[0].next().unwrap() {
            count += batch.num_rows();
        }
        let index = output.metrics.index.lock().clone();
        (count, index)
    };
    let by_index = Some("q_sum".to_owned());
    assert_eq!(scan(&expr, CompareOp::Eq, 15, &[]), (1, by_index.clone()));
    assert_eq!(scan(&expr, CompareOp::Gt, 17, &[]), (3, by_index.clone()));
    let seven = Predicate::Compare { column: 0, op: CompareOp::Eq, value: Value::Int(7) };
    assert_eq!(scan(&expr, CompareOp::GtEq, 17, &[seven]), (1, by_index));
    // Another expression, although it is always the same.
    let other = arithmetic(ArithmeticOp::Add, column(2), column(1));
    assert_eq!(scan(&other, CompareOp::Eq, 15, &[]), (9, None));
}

#[test]
fn a_row_whose_expression_fails_is_refused() {
    let scratch = Scratch::new("expressions-fail");
    let engine = engine(&scratch);
    make(&engine, NewIndex { predicate: vec![Predicate::IsNull { column: 3 }], ..on("q_ratio", ratio(), false) })
        .unwrap();
    let (mut txn, t) = begin(&engine);
    let mark = txn.mark();
    assert_eq!(code(txn.insert(&t, &row(&t, [20, 5, 5, 0]))), Code::DivisionByZero);
    txn.rollback_to(mark);
    // The index does not have it, until the predicate's column changes.
    txn.insert(&t, &row(&t, [21, 5, 5, 1])).unwrap();
    let mark = txn.mark();
    assert_eq!(code(txn.update(&t, &key(&t, 21), &row(&t, [21, 5, 5, 0]))), Code::DivisionByZero);
    txn.rollback_to(mark);
    txn.commit().unwrap();
    assert_eq!(code(change(&engine, [21, 5, 5, 0])), Code::DivisionByZero);
    assert_eq!(code(change(&engine, [1, 1, 1, 0])), Code::DivisionByZero);
    change(&engine, [21, 5, 6, 0]).unwrap();
    // Rows that are there already, own ones among them; rows in bulk.
    change(&engine, [21, 5, 5, 1]).unwrap();
    assert_eq!(code(make(&engine, on("q_all", ratio(), false))), Code::DivisionByZero);
    change(&engine, [21, 5, 6, 1]).unwrap();
    let (mut txn, t) = begin(&engine);
    txn.update(&t, &key(&t, 21), &row(&t, [21, 5, 5, 1])).unwrap();
    assert_eq!(code(txn.create_index(&t, on("q_all", ratio(), false))), Code::DivisionByZero);
    drop(txn);
    let (mut txn, t) = begin(&engine);
    let array = |v: i64| Arc::new(Int64Array::from(vec![v])) as ArrayRef;
    let arrow = t.def.schema.arrow(&[0, 1, 2, 3]);
    let nothing = Arc::new(Int64Array::from(vec![None::<i64>])) as ArrayRef;
    let bulk =
        |a: i64| RecordBatch::try_new(arrow.clone(), vec![array(30), array(a), array(5), nothing.clone()]).unwrap();
    assert_eq!(code(txn.build(&t, &[bulk(5)])), Code::DivisionByZero);
    drop(txn);
    make(&engine, on("q_all", ratio(), false)).unwrap();
    // What is dropped tests nothing any more, and redo knows.
    let (mut txn, _) = begin(&engine);
    txn.drop_index("q_all").unwrap();
    txn.commit().unwrap();
    change(&engine, [21, 5, 5, 1]).unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop((t, engine));
    assert_eq!(open(&scratch).check().unwrap(), Vec::<String>::new());
}

/// A writer that staged its row before the index was listed does not know it; the index's maker finds out.
#[test]
fn a_row_written_while_the_index_is_made_fails_the_index() {
    for (values, made) in [([1, 7, 7, 0], false), ([1, 7, 9, 0], true)] {
        let scratch = Scratch::new("expressions-making");
        drop(engine(&scratch));
        let options = EngineOptions { lock_timeout: Duration::from_secs(20), ..by_hand() };
        let engine = open_with(Env::real(), scratch.path(), options).unwrap();
        let (mut writer, t) = begin(&engine);
        writer.update(&t, &key(&t, 1), &row(&t, values)).unwrap();
        let result = std::thread::scope(|scope| {
            let maker = scope.spawn(|| make(&engine, on("q_ratio", ratio(), false)));
            while t.indexes().is_empty() {
                std::thread::yield_now();
            }
            writer.commit().unwrap();
            maker.join().unwrap()
        });
        match made {
            true => result.unwrap(),
            false => assert_eq!(code(result), Code::DivisionByZero),
        }
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        drop((t, engine));
        let engine = open(&scratch);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        assert_eq!(begin(&engine).0.index("q_ratio").is_some(), made);
    }
}

/// Two writers, each of one column that the expression reads: each row alone would do, both together would not.
#[test]
fn writers_of_the_columns_of_an_expression_exclude_each_other() {
    let scratch = Scratch::new("expressions-columns");
    let engine = engine(&scratch);
    // A statement that was planned before the index was made says nothing of its columns.
    let mode = |column: usize| LockMode::columns(ColumnSet::NONE, ColumnSet::from_iter([column]));
    let meet = |expected: Option<Code>| {
        let (mut one, t) = begin(&engine);
        one.update_columns(&t, &key(&t, 5), &row(&t, [5, 14, 1, 0]), mode(1)).unwrap();
        let (mut two, _) = begin(&engine);
        let met = two.update_columns(&t, &key(&t, 5), &row(&t, [5, 15, 14, 0]), mode(2));
        assert_eq!(met.err().map(|error| error.code()), expected);
    };
    meet(None);
    make(
        &engine,
        on("q_plain", Expr::new(Node::Call(Function::Coalesce, vec![column(1), column(2)]), DataType::BigInt), false),
    )
    .unwrap();
    // What cannot fail, and need not be unique, is computed from the row as both leave it.
    meet(None);
    let (mut one, t) = begin(&engine);
    one.update_columns(&t, &key(&t, 5), &row(&t, [5, 0, 1, 0]), mode(1)).unwrap();
    let (mut two, _) = begin(&engine);
    two.update_columns(&t, &key(&t, 5), &row(&t, [5, 15, 77, 0]), mode(2)).unwrap();
    two.commit().unwrap();
    one.commit().unwrap();
    let (txn, _) = begin(&engine);
    assert_eq!(candidates(&txn, &t, "q_plain", 77), [5]);
    drop(txn);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    change(&engine, [5, 15, 1, 0]).unwrap();
    make(&engine, on("q_ratio", ratio(), false)).unwrap();
    meet(Some(Code::LockTimeout));
}

#[test]
fn unique_values_of_an_expression() {
    let scratch = Scratch::new("expressions-unique");
    let engine = engine(&scratch);
    assert_eq!(code(make(&engine, on("q_rest", rest(), true))), Code::UniqueViolation);
    let parts = vec![IndexPart::Expression(Arc::new(rest())), IndexPart::Column(1)];
    make(&engine, NewIndex::on("q_rest", parts, true)).unwrap();
    let (mut txn, t) = begin(&engine);
    let error = txn.insert(&t, &row(&t, [20, 11, 1, 0])).unwrap_err();
    assert_eq!(error.code(), Code::UniqueViolation);
    assert_eq!(error.detail_text(), Some("Key ((a % b), a)=(0, 11) already exists."));
    drop(txn);
    // NULL is different from everything.
    let (mut txn, t) = begin(&engine);
    txn.insert(&t, &row(&t, [20, 11, 0, 0])).unwrap();
    txn.insert(&t, &row(&t, [21, 11, 0, 0])).unwrap();
    txn.commit().unwrap();
    change(&engine, [20, 11, 3, 0]).unwrap();
    assert_eq!(code(change(&engine, [21, 11, 9, 0])), Code::UniqueViolation);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn foreign_keys_know_no_index_on_an_expression() {
    let scratch = Scratch::new("expressions-fk");
    let engine = engine(&scratch);
    let abs = Expr::new(Node::Call(Function::Abs, vec![column(1)]), DataType::BigInt);
    make(&engine, on("q_abs", abs, true)).unwrap();
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
    let refused = txn.create_table(NewTable { foreign_keys: vec![foreign_key], ..new });
    assert_eq!(code(refused), Code::InvalidForeignKey);
}

#[test]
fn what_may_change_or_is_ill_typed_is_refused() {
    let scratch = Scratch::new("expressions-refused");
    let engine = engine(&scratch);
    let now = Expr::new(Node::Now, DataType::TimestampTz);
    assert_eq!(code(make(&engine, on("q_now", now, false))), Code::InvalidObjectDefinition);
    let ill = Expr::new(Node::Call(Function::Lower, vec![column(1)]), DataType::Text);
    assert_eq!(code(make(&engine, on("q_ill", ill, false))), Code::Internal);
    assert_eq!(code(make(&engine, on("q_far", column(9), false))), Code::Internal);
    let deep = (0..weft_expr::EXPR_DEPTH_MAX)
        .fold(column(1), |expr, _| Expr::new(Node::Negate(Box::new(expr)), DataType::BigInt));
    assert_eq!(code(make(&engine, on("q_deep", deep, false))), Code::StatementTooComplex);
}

/// A random expression over a, b and c.
fn random_expr(random: &mut Prng, depth: u64) -> Expr {
    if depth == 0 {
        return match random.below(4) {
            0 => Expr::literal(Value::Int(random.below(4) as i64), DataType::BigInt),
            ordinal => column(ordinal as usize),
        };
    }
    let (left, right) = (random_expr(random, depth - 1), random_expr(random, depth - 1));
    let ops = [ArithmeticOp::Add, ArithmeticOp::Subtract, ArithmeticOp::Multiply, ArithmeticOp::Divide];
    match random.below(6) {
        0 => Expr::new(Node::Call(Function::Coalesce, vec![left, right]), DataType::BigInt),
        1 => {
            let less = Node::Compare(CompareOp::Lt, Box::new(left.clone()), Box::new(right.clone()));
            let branches = vec![(Expr::new(less, DataType::Boolean), left)];
            Expr::new(Node::Case { branches, otherwise: Some(Box::new(right)) }, DataType::BigInt)
        }
        _ => arithmetic(ops[random.below(4) as usize], left, right),
    }
}

/// Random writes against a map, with indexes on random expressions: a row is refused exactly when an expression fails
/// or its value is taken, and after each life of the engine, which ends in a crash or with a checkpoint before it, the
/// indexes give the rows in the order of what a scan computes.
#[test]
fn random_histories_agree_with_a_map() {
    let (mut failed, mut taken) = (0, 0);
    for seed in 0..8 {
        let scratch = Scratch::new("expressions-model");
        drop(engine(&scratch));
        let mut random = Prng(seed);
        let mut exprs = Vec::new();
        let mut model: BTreeMap<i64, [i64; 4]> = (1..10).map(|k| (k, [k, 10 + k, 1, 0])).collect();
        for life in 0..4 {
            let engine = open(&scratch);
            while life == 0 && exprs.len() < 3 {
                let expr = random_expr(&mut random, 1 + exprs.len() as u64);
                let unique = exprs.len() == 1;
                let is_possible = evaluates(&expr, &model, unique);
                let made = make(&engine, on(&format!("q_{}", exprs.len()), expr.clone(), unique));
                assert_eq!(made.is_ok(), is_possible, "{expr:?}");
                exprs.extend(made.is_ok().then_some(expr));
            }
            for _ in 0..30 {
                let (failures, others) = transaction(&engine, &mut model, &exprs, &mut random);
                (failed, taken) = (failed + failures, taken + others);
                if random.below(10) == 0 {
                    engine.checkpoint().unwrap();
                }
                agrees(&engine, &model, &exprs);
            }
            assert_eq!(engine.check().unwrap(), Vec::<String>::new(), "seed {seed}");
        }
        agrees(&open(&scratch), &model, &exprs);
    }
    assert!(failed > 20 && taken > 20, "{failed} rows failed, {taken} had a value that was taken");
}

fn value_of(expr: &Expr, row: &[i64; 4]) -> Result<Value> {
    let values: Vec<Value> = row.iter().map(|&v| if v == 0 { Value::Null } else { Value::Int(v) }).collect();
    expr.eval(&values, &EvalContext::none())
}

fn evaluates(expr: &Expr, model: &BTreeMap<i64, [i64; 4]>, unique: bool) -> bool {
    let Ok(values) = model.values().map(|row| value_of(expr, row)).collect::<Result<Vec<Value>>>() else {
        return false;
    };
    let is_twice = |(at, value): (usize, &Value)| !value.is_null() && values[..at].contains(value);
    !unique || !values.iter().enumerate().any(is_twice)
}

/// A few writes, committed or not; how many an expression refused, and how many the unique index.
fn transaction(
    engine: &Arc<Engine>,
    model: &mut BTreeMap<i64, [i64; 4]>,
    exprs: &[Expr],
    random: &mut Prng,
) -> (usize, usize) {
    let (mut txn, t) = begin(engine);
    let (mut staged, mut failed, mut taken) = (model.clone(), 0, 0);
    for _ in 0..1 + random.below(4) {
        let k = 1 + random.below(14) as i64;
        let mut new = [k, random.below(20) as i64, random.below(6) as i64, random.below(4) as i64];
        let before = staged.get(&k).copied();
        if let Some(before) = before.filter(|_| random.below(10) < 7) {
            let column = 1 + random.below(3) as usize;
            new = std::array::from_fn(|at| if at == column { new[at] } else { before[at] });
        }
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
        let fails = exprs.iter().any(|expr| value_of(expr, &new).is_err());
        let value = value_of(&exprs[1], &new).unwrap_or_default();
        let has_value = |row: &&[i64; 4]| row[0] != k && value_of(&exprs[1], row).is_ok_and(|other| other == value);
        let is_taken = !value.is_null() && staged.values().any(|row| has_value(&row));
        match done {
            Ok(()) => {
                assert!(!fails && !is_taken, "{before:?} → {new:?}");
                staged.insert(k, new);
            }
            Err(error) => {
                match error.code() {
                    Code::UniqueViolation => taken += usize::from(is_taken),
                    _ => failed += usize::from(fails),
                }
                assert!(fails || is_taken, "{before:?} → {new:?}: {error}");
                txn.rollback_to(mark);
            }
        }
    }
    if random.below(4) > 0 {
        txn.commit().unwrap();
        *model = staged;
    }
    (failed, taken)
}

fn agrees(engine: &Arc<Engine>, model: &BTreeMap<i64, [i64; 4]>, exprs: &[Expr]) {
    let (txn, t) = begin(engine);
    for (number, expr) in exprs.iter().enumerate() {
        let name = format!("q_{number}");
        let mut rows: Vec<(Value, i64)> = model.values().map(|row| (value_of(expr, row).unwrap(), row[0])).collect();
        rows.sort_by(|a, b| a.0.as_ref().compare(b.0.as_ref()).then(a.1.cmp(&b.1)));
        let expected: Vec<i64> = rows.iter().map(|(_, k)| *k).collect();
        assert_eq!(in_order(&txn, &t, &name), expected, "{expr:?}");
        for wanted in -2..8 {
            let found = candidates(&txn, &t, &name, wanted);
            let with = rows.iter().filter(|(value, _)| *value == Value::Int(wanted));
            assert!(with.into_iter().all(|(_, k)| found.contains(k)), "{expr:?} = {wanted}: {found:?}");
        }
    }
}
