//! Blocks of wide rows, which scans give out in pieces.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_contract::{LOCATION, ScanRequest};
use weft_env::Env;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Column, CompareOp, DataType, Predicate, Schema, Value};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};

use crate::column::column_method;
use crate::testing::{Prng, rows_of_batch};

/// Rows of the table, which are one block.
const ROWS: i64 = 6_000;
/// The columns: key, a number, a wide text, a wide document and a short text.
const ALL: [usize; 5] = [0, 1, 2, 3, 4];

type Model = BTreeMap<i64, Vec<Value>>;

fn row_of(k: i64, random: &mut Prng) -> Vec<Value> {
    let number = if random.below(5) == 0 { Value::Null } else { Value::Int(random.below(9) as i64) };
    let digits = 3_000 + random.below(3_000);
    let text: String = (0..digits).map(|_| char::from(b"0123456789abcdef"[random.below(16) as usize])).collect();
    let document = format!("{{\"{k}\": \"{text}\"}}");
    let text = if random.below(50) == 0 { Value::Null } else { Value::Text(text.as_str().into()) };
    let short = format!("{:x}", random.below(1 << 40));
    vec![Value::Int(k), number, text, Value::Text(document.as_str().into()), Value::Text(short.as_str().into())]
}

/// A table whose rows are one file, and what is in it.
fn wide_table(env: &Env) -> (Arc<Engine>, TableRef, Model) {
    let size = ("column_table_bytes".to_owned(), (64 << 20).to_string());
    let options = EngineOptions { workers: 0, table_options: [size].into(), ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).unwrap();
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: name == "k" };
    let wide = [column("t", DataType::Text), column("j", DataType::Jsonb)];
    let narrow = [column("k", DataType::BigInt), column("n", DataType::Integer)];
    let columns = narrow.into_iter().chain(wide).chain([column("s", DataType::Text)]).collect();
    let schema = Schema::new(columns, vec![0]);
    let mut txn = engine.begin().unwrap();
    let table = txn.create_table(NewTable::new("t", schema, "column")).unwrap();
    let (mut random, mut model) = (Prng(11), Model::new());
    for k in 0..ROWS {
        let row = row_of(k, &mut random);
        txn.insert(&table, &table.codec.encode(row.iter().map(Value::as_ref))).unwrap();
        model.insert(k, row);
    }
    txn.commit().unwrap();
    engine.freeze().unwrap();
    engine.run_jobs().unwrap();
    assert_eq!(table.table.parts().len(), 1);
    (engine, table, model)
}

/// Updates and deletes some rows.
fn change(txn: &mut Transaction, table: &TableRef, model: &mut Model, random: &mut Prng) {
    let keys: Vec<i64> = model.keys().copied().filter(|_| random.below(9) == 0).collect();
    for k in keys {
        let key = table.keys.encode([Value::Int(k).as_ref()]);
        if random.below(3) == 0 {
            txn.delete(table, &key).unwrap();
            model.remove(&k);
        } else {
            let row = row_of(k, random);
            txn.update(table, &key, &table.codec.encode(row.iter().map(Value::as_ref))).unwrap();
            model.insert(k, row);
        }
    }
}

/// The rows of a scan, ascending by key, and how many each batch had.
fn scan(
    txn: &Transaction,
    table: &TableRef,
    projection: &[usize],
    predicates: &[Predicate],
) -> (Vec<Vec<Value>>, Vec<usize>) {
    let (projection, predicates) = (projection.to_vec(), predicates.to_vec());
    let request = ScanRequest {
        view: txn.view(table).expect("it is kept"),
        projection,
        predicates,
        partition_count: 1,
        batch_rows: 8192,
    };
    let mut output = table.scan(request).unwrap();
    let (mut rows, mut sizes) = (Vec::new(), Vec::new());
    while let Some(batch) = output.partitions[0].next().unwrap() {
        sizes.push(batch.num_rows());
        rows.extend(rows_of_batch(&batch));
    }
    rows.sort_by_key(|row| if let Value::Int(k) = row[0] { k } else { panic!("{row:?}") });
    (rows, sizes)
}

fn check(txn: &Transaction, table: &TableRef, model: &Model) {
    let wanted: Vec<Vec<Value>> = model.values().cloned().collect();
    let (rows, sizes) = scan(txn, table, &ALL, &[]);
    assert!(rows == wanted, "{} rows instead of {}", rows.len(), wanted.len());
    assert!(sizes.len() > 2 && sizes.iter().all(|&rows| rows <= 2_048), "in pieces: {sizes:?}");
    for number in 0..9 {
        let is = Predicate::Compare { column: 1, op: CompareOp::Eq, value: Value::Int(number) };
        let (rows, _) = scan(txn, table, &[0, 3], &[is]);
        let matching = wanted.iter().filter(|row| row[1] == Value::Int(number));
        assert!(rows == matching.map(|row| vec![row[0].clone(), row[3].clone()]).collect::<Vec<_>>(), "{number}");
    }
    // The places of rows are those that a scan of narrow columns tells.
    let places = |row: Vec<Value>| (row[0].clone(), row[row.len() - 1].clone());
    let (wide, _) = scan(txn, table, &[0, 2, LOCATION], &[]);
    let (narrow, sizes) = scan(txn, table, &[0, LOCATION], &[]);
    assert!(sizes.iter().any(|&rows| rows > 2_048), "narrow columns come whole: {sizes:?}");
    assert_eq!(wide.into_iter().map(places).collect::<Vec<_>>(), narrow.into_iter().map(places).collect::<Vec<_>>());
}

#[test]
fn wide_rows_come_in_pieces_and_none_is_missing() {
    let simulation = Simulation::new(SimOptions::seeded(6));
    let end = simulation.run(|env| {
        let (engine, table, mut model) = wide_table(&env);
        let mut random = Prng(3);
        check(&engine.begin().unwrap(), &table, &model);
        let before = model.clone();
        let earlier = engine.begin().unwrap();
        let mut txn = engine.begin().unwrap();
        change(&mut txn, &table, &mut model, &mut random);
        check(&txn, &table, &model);
        txn.commit().unwrap();
        check(&engine.begin().unwrap(), &table, &model);
        check(&earlier, &table, &before);
        drop(earlier);
        engine.freeze().unwrap();
        engine.run_jobs().unwrap();
        check(&engine.begin().unwrap(), &table, &model);
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn who_stops_early_reads_few_slices() {
    let simulation = Simulation::new(SimOptions::seeded(6));
    let end = simulation.run(|env| {
        let (engine, table, _) = wide_table(&env);
        let txn = engine.begin().unwrap();
        let read = || engine.status().cache.misses;
        let before = read();
        let (projection, predicates) = (vec![2], Vec::new());
        let request = ScanRequest {
            view: txn.view(&table).expect("it is kept"),
            projection,
            predicates,
            partition_count: 1,
            batch_rows: 8192,
        };
        let mut output = table.scan(request).unwrap();
        assert!(output.partitions[0].next().unwrap().is_some());
        let first = read() - before;
        while output.partitions[0].next().unwrap().is_some() {}
        let all = read() - before;
        assert!(first * 2 <= all, "{first} of {all} slices for the first piece");
    });
    assert_eq!(end, RunEnd::Finished);
}
