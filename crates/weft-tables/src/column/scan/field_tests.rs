//! Documents through their whole life in a table, and their fields in every place where rows lie.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::{FieldTest, ScanField, ScanRequest};
use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::document::shapes::{Shape, Shapes};
use weft_format::document::{FieldPath, FieldStep};
use weft_format::{Column, CompareOp, DataType, Predicate, Schema, Value};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};

use crate::column::column_method;
use crate::testing::{Prng, rows_of, scan_rows};

/// Documents by key; of several shapes, and NULL.
type Model = BTreeMap<i64, Option<String>>;

struct Documents {
    shapes: Vec<Shapes>,
    random: Prng,
}

impl Documents {
    fn new() -> Documents {
        let shapes = [Shape::Sensors, Shape::Cell, Shape::Wos].map(|shape| Shapes::new(shape, 5));
        Documents { shapes: shapes.into(), random: Prng(9) }
    }

    fn next(&mut self) -> Option<String> {
        match self.random.below(20) {
            0 => None,
            1 => Some("[]".into()),
            2..6 => Some(self.shapes[1].next_text()),
            6 => Some(self.shapes[2].next_text()),
            _ => Some(self.shapes[0].next_text()),
        }
    }
}

fn open(env: &Env) -> Arc<Engine> {
    let size = ("column_table_bytes".to_owned(), (128 << 10).to_string());
    let options = EngineOptions { workers: 0, table_options: [size].into(), ..EngineOptions::default() };
    Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap()
}

fn create(engine: &Arc<Engine>) -> TableRef {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: name == "k" };
    let schema = Schema::new(vec![column("k", DataType::BigInt), column("doc", DataType::Jsonb)], vec![0]);
    let mut txn = engine.begin().unwrap();
    let table = txn.create_table(NewTable::new("t", schema, "column")).unwrap();
    txn.commit().unwrap();
    table
}

fn row(table: &TableRef, k: i64, document: Option<&str>) -> Vec<u8> {
    let document = document.map_or(Value::Null, |text| Value::Text(text.into()));
    table.codec.encode([Value::Int(k), document].iter().map(Value::as_ref))
}

fn change(txn: &mut Transaction, table: &TableRef, model: &mut Model, documents: &mut Documents) {
    let keys: Vec<i64> = model.keys().copied().filter(|_| documents.random.below(7) == 0).collect();
    for k in keys {
        let key = table.keys.encode([Value::Int(k).as_ref()]);
        if documents.random.below(4) == 0 {
            txn.delete(table, &key).unwrap();
            model.remove(&k);
        } else {
            let document = documents.next();
            txn.update(table, &key, &row(table, k, document.as_deref())).unwrap();
            model.insert(k, document);
        }
    }
}

fn paths() -> Vec<FieldPath> {
    let keys: [&[&str]; 5] = [&["id"], &["loc", "lat"], &["status"], &["battery"], &["caller"]];
    let mut paths = Vec::new();
    for data_type in [DataType::Jsonb, DataType::Text, DataType::BigInt, DataType::DoublePrecision] {
        paths.extend(keys.map(|keys| FieldPath::of_keys(keys, data_type)));
    }
    let steps = ["readings", "1", "temp"].map(|step| FieldStep::Either(step.into())).to_vec();
    paths.push(FieldPath::new(steps, DataType::DoublePrecision));
    paths
}

fn scan(
    txn: &Transaction,
    table: &TableRef,
    predicates: Vec<Predicate>,
    paths: &[FieldPath],
) -> (BTreeMap<i64, Vec<Value>>, [u64; 2]) {
    let view = txn.view(table).expect("it is kept");
    let request = ScanRequest { view, projection: vec![0], predicates, partition_count: 2, batch_rows: 500 };
    let fields = paths.iter().map(|path| ScanField { column: 1, path: path.clone() }).collect();
    let output = table.scan_fields(request, fields, &[]).unwrap();
    let metrics = output.metrics.clone();
    let rows = rows_of(output, 2, 500).unwrap();
    let by_key = rows.into_iter().map(|mut row| match row.remove(0) {
        Value::Int(k) => (k, row),
        other => panic!("{other:?} is no key"),
    });
    let read = [&metrics.field_columns, &metrics.field_texts].map(|count| count.load(Ordering::Relaxed));
    (by_key.collect(), read)
}

/// Fields, whole documents by scans and by keys are those of the model; where the fields were read.
fn check(txn: &Transaction, table: &TableRef, model: &Model) -> [u64; 2] {
    let paths = paths();
    let mut expected: BTreeMap<i64, Vec<Value>> = model.keys().map(|&k| (k, Vec::new())).collect();
    for path in &paths {
        let values = path.of_texts(model.values().map(Option::as_deref)).unwrap().array;
        for (at, row) in expected.values_mut().enumerate() {
            let value = weft_format::arrow_values::stored_value_at(&values, at).unwrap();
            row.push(if values.is_null(at) { Value::Null } else { value.to_value() });
        }
    }
    let (found, read) = scan(txn, table, Vec::new(), &paths);
    assert!(found == expected, "{} rows, {} expected", found.len(), expected.len());
    let few = Predicate::Compare { column: 0, op: CompareOp::Lt, value: Value::Int(100) };
    let (found, _) = scan(txn, table, vec![few], &paths);
    assert!(found.into_iter().eq(expected.into_iter().filter(|(k, _)| *k < 100)));
    let whole = scan_rows(table, txn.view(table).expect("it is kept"), &[0, 1], &[], 1, 1000).unwrap();
    assert_eq!(whole.len(), model.len());
    for row in whole {
        let Value::Int(k) = row[0] else { panic!("{row:?}") };
        let expected = model[&k].as_deref().map_or(Value::Null, |text| Value::Text(text.into()));
        assert_eq!(row[1], expected, "{k}");
    }
    for (&k, document) in model.iter().step_by(41) {
        let mut found = Vec::new();
        assert!(txn.get(table, &table.keys.encode([Value::Int(k).as_ref()]), &[1], &mut found).unwrap(), "{k}");
        assert_eq!(found, [document.as_deref().map_or(Value::Null, |text| Value::Text(text.into()))], "{k}");
    }
    read
}

fn fill(engine: &Arc<Engine>, table: &TableRef, documents: &mut Documents, rows: i64) -> Model {
    let mut model = Model::new();
    let mut txn = engine.begin().unwrap();
    for k in 0..rows {
        let document = documents.next();
        txn.insert(table, &row(table, k, document.as_deref())).unwrap();
        model.insert(k, document);
    }
    txn.commit().unwrap();
    model
}

#[test]
fn documents_and_their_fields_live_through_conversion_updates_and_merges() {
    let end = Simulation::new(SimOptions::seeded(3)).run(|env| {
        let engine = open(&env);
        let table = create(&engine);
        let mut documents = Documents::new();
        let mut model = fill(&engine, &table, &mut documents, 1_000);
        let [columns, texts] = check(&engine.begin().unwrap(), &table, &model);
        assert!(columns == 0 && texts > 0, "rows are texts: {columns} {texts}");
        for round in 0..3 {
            engine.freeze().unwrap();
            engine.run_jobs().unwrap();
            let [columns, texts] = check(&engine.begin().unwrap(), &table, &model);
            assert!(columns > 0, "round {round}: files have columns: {columns} {texts}");
            let mut txn = engine.begin().unwrap();
            change(&mut txn, &table, &mut model, &mut documents);
            check(&txn, &table, &model);
            txn.commit().unwrap();
            check(&engine.begin().unwrap(), &table, &model);
        }
        assert_eq!(table.table.check().unwrap(), Vec::<String>::new());
    });
    assert_eq!(end, RunEnd::Finished);
}

/// Which keys a scan returns whose rows satisfy tests of fields, tested again, and how many blocks it skipped.
fn keys_where(txn: &Transaction, table: &TableRef, tests: Vec<FieldTest>) -> (Vec<i64>, u64) {
    let view = txn.view(table).expect("it is kept");
    let request = ScanRequest { view, projection: vec![0], predicates: vec![], partition_count: 2, batch_rows: 500 };
    let fields = tests.iter().map(|test| test.field.clone()).collect();
    let output = table.scan_fields_where(request, fields, tests.clone(), &[]).unwrap();
    let metrics = output.metrics.clone();
    let is_wanted =
        |row: &Vec<Value>| tests.iter().zip(&row[1..]).all(|(test, value)| test.predicate.matches(value.as_ref()));
    let mut keys: Vec<i64> = rows_of(output, 2, 500)
        .unwrap()
        .into_iter()
        .filter(is_wanted)
        .map(|row| if let Value::Int(k) = row[0] { k } else { panic!("{row:?} has no key") })
        .collect();
    keys.sort_unstable();
    (keys, metrics.blocks_pruned.load(Ordering::Relaxed))
}

fn test_of(keys: &[&str], data_type: DataType, op: CompareOp, value: Value) -> FieldTest {
    let field = ScanField { column: 1, path: FieldPath::of_keys(keys, data_type) };
    FieldTest { field, predicate: Predicate::Compare { column: 0, op, value }, cast: None }
}

/// Rows whose times rise with their keys, so that each file has a stretch of them; some have moved into row tables
/// since, with other times.
fn fill_in_order(engine: &Arc<Engine>, table: &TableRef) {
    let mut cells = Shapes::new(Shape::Cell, 3);
    let mut document = |k: i64, at: i64| {
        let cell = cells.next_text();
        format!("{{\"at\": {at}, \"of\": {{\"name\": \"n{k:06}\"}}, \"cell\": {cell}}}")
    };
    let mut txn = engine.begin().unwrap();
    for k in 0..6_000 {
        txn.insert(table, &row(table, k, Some(&document(k, 10 * k)))).unwrap();
    }
    txn.commit().unwrap();
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
    let mut txn = engine.begin().unwrap();
    for k in (0..6_000).step_by(500) {
        let key = table.keys.encode([Value::Int(k).as_ref()]);
        txn.update(table, &key, &row(table, k, Some(&document(k, 55_555)))).unwrap();
    }
    txn.commit().unwrap();
}

#[test]
fn tests_of_fields_skip_blocks_and_lose_no_row() {
    let end = Simulation::new(SimOptions::seeded(4)).run(|env| {
        let engine = open(&env);
        let table = create(&engine);
        fill_in_order(&engine, &table);
        let txn = engine.begin().unwrap();
        let (all, pruned) = keys_where(&txn, &table, Vec::new());
        assert_eq!((all.len(), pruned), (6_000, 0));
        let (_, [columns, texts]) = scan(&txn, &table, Vec::new(), &paths());
        assert!(columns > texts, "most rows are in files, as columns: {columns} {texts}");
        let at = |k: i64| if k % 500 == 0 { 55_555 } else { 10 * k };
        for op in [CompareOp::Eq, CompareOp::Lt, CompareOp::GtEq, CompareOp::Gt] {
            for bound in [-5, 0, 20, 29_990, 55_555, 59_990, 70_000] {
                let tests = vec![test_of(&["at"], DataType::BigInt, op, Value::Int(bound))];
                let (found, pruned) = keys_where(&txn, &table, tests);
                let expected: Vec<i64> = (0..6_000).filter(|&k| op.holds(at(k).cmp(&bound))).collect();
                assert_eq!(found, expected, "{op:?} {bound}");
                assert!(pruned > 0 || !expected.is_empty(), "{op:?} {bound}: nothing was skipped");
            }
        }
        let tests = [(CompareOp::GtEq, "n003000"), (CompareOp::Lt, "n003010")]
            .map(|(op, bound)| test_of(&["of", "name"], DataType::Text, op, Value::Text(bound.into())));
        let (found, _) = keys_where(&txn, &table, tests.to_vec());
        assert_eq!(found, (3_000..3_010).collect::<Vec<i64>>());
        let nothing = test_of(&["no"], DataType::Text, CompareOp::NotEq, Value::Text("".into()));
        assert_eq!(keys_where(&txn, &table, vec![nothing]).0, Vec::<i64>::new());
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn a_crash_leaves_every_committed_document() {
    let simulation = Simulation::new(SimOptions::seeded(8));
    let end = simulation.run(|env| {
        let mut documents = Documents::new();
        let engine = open(&env);
        let table = create(&engine);
        let mut model = fill(&engine, &table, &mut documents, 400);
        engine.freeze().unwrap();
        engine.run_jobs().unwrap();
        let mut txn = engine.begin().unwrap();
        change(&mut txn, &table, &mut model, &mut documents);
        txn.commit().unwrap();
        drop((table, engine));
        let engine = open(&env);
        let table = engine.begin().unwrap().table("t").unwrap();
        let [columns, _] = check(&engine.begin().unwrap(), &table, &model);
        assert!(columns > 0, "the files were kept");
    });
    assert_eq!(end, RunEnd::Finished);
}
