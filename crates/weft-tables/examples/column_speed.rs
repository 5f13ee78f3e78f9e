//! Times the hot paths of method `column`: bulk load, scans, point reads, updates one by one, conversion.
//!
//! `cargo run --release -p weft-tables --example column_speed`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock and threads")]

use std::sync::Arc;
use std::time::Instant;
use weft_tables::column::job_kinds;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::{Column, DataType, Schema, Value, ValueRef};
use weft_kernel::{Durability, Engine, EngineOptions, NewTable, TableRef};

const ROWS: i64 = 1_000_000;

fn schema() -> Schema {
    let column = |name: String, data_type| Column { name, data_type, not_null: false };
    let mut columns = vec![column("id".into(), DataType::BigInt)];
    columns.extend((1..=15).map(|n| column(format!("col_{n}"), DataType::Integer)));
    columns.extend((1..=15).map(|n| column(format!("str_{n}"), DataType::Text)));
    Schema::new(columns, vec![0])
}

fn batches() -> Vec<RecordBatch> {
    let schema = schema();
    let arrow = schema.arrow(&(0..31).collect::<Vec<_>>());
    let mut state = 1u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut batches = Vec::new();
    for start in (0..ROWS).step_by(65_536) {
        let rows = 65_536.min(ROWS - start);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(start..start + rows))];
        for n in 1..=15u64 {
            columns.push(Arc::new(Int32Array::from_iter_values((0..rows).map(|_| random(100 * n * n * n) as i32))));
        }
        for n in 1..=15u64 {
            let texts: Vec<String> = (0..rows).map(|_| format!("v{}", random(20 * n * n))).collect();
            columns.push(Arc::new(StringViewArray::from_iter_values(texts)));
        }
        batches.push(RecordBatch::try_new(arrow.clone(), columns).expect("fits"));
    }
    batches
}

fn sum(engine: &Arc<Engine>, name: &str) -> (i64, f64) {
    let txn = engine.begin().expect("begins");
    let table = txn.table(name).expect("is there");
    let start = Instant::now();
    let request = ScanRequest {
        view: txn.view(&table).expect("it is kept"),
        projection: vec![1],
        predicates: Vec::new(),
        partition_count: 2,
        batch_rows: 8192,
    };
    let output = table.scan(request).expect("scans");
    let sums: Vec<(i64, i64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = output
            .partitions
            .into_iter()
            .map(|mut partition| {
                scope.spawn(move || {
                    let (mut sum, mut rows) = (0i64, 0i64);
                    while let Some(batch) = partition.next().expect("scans") {
                        let column = batch.column(0).as_primitive::<Int32Type>();
                        sum += column.values().iter().map(|&v| i64::from(v)).sum::<i64>();
                        rows += batch.num_rows() as i64;
                    }
                    (sum, rows)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect()
    });
    assert_eq!(sums.iter().map(|sum| sum.1).sum::<i64>(), ROWS);
    (sums.iter().map(|sum| sum.0).sum(), start.elapsed().as_secs_f64() * 1e3)
}

fn report_sum(engine: &Arc<Engine>, what: &str) {
    let first = sum(engine, "t").1;
    let mut times: Vec<f64> = (0..21).map(|_| sum(engine, "t").1).collect();
    times.sort_by(f64::total_cmp);
    println!("{what}: sum(col_1) first {first:.3} ms, median {:.3} ms, best {:.3} ms", times[10], times[0]);
}

fn report_reads(engine: &Arc<Engine>, what: &str) {
    let txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("is there");
    let mut values = Vec::new();
    let count = 100_000;
    let start = Instant::now();
    for n in 0..count {
        let key = table.keys.encode([ValueRef::Int(n * 7919 % ROWS)]);
        assert!(table.read(&key, txn.read_ts(), &[1, 2, 20], &mut values).expect("reads"));
    }
    println!("{what}: point read of 3 columns {:.2} µs", start.elapsed().as_secs_f64() * 1e6 / count as f64);
}

fn update(engine: &Arc<Engine>, table: &TableRef, k: i64) {
    let mut txn = engine.begin().expect("begins");
    let key = table.keys.encode([ValueRef::Int(k)]);
    let row = txn.get_for_update(table, &key).expect("reads").expect("is there");
    let mut values: Vec<Value> = table.codec.decode(&row);
    values[1] = Value::Int(7);
    values[2] = Value::Int(8);
    let row = table.codec.encode(values.iter().map(Value::as_ref));
    txn.update(table, &key, &row).expect("updates");
    txn.commit().expect("commits");
}

fn main() {
    let dir = std::env::temp_dir().join(format!("weft-column-speed-{}", std::process::id()));
    let options = EngineOptions { durability: Durability::Async, workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(Env::real(), &dir, vec![weft_tables::column_method()], options).expect("opens");
    let mut txn = engine.begin().expect("begins");
    let table = txn.create_table(NewTable::new("t", schema(), "column")).expect("creates");
    txn.commit().expect("commits");
    let batches = batches();
    let start = Instant::now();
    let mut txn = engine.begin().expect("begins");
    txn.build(&table, &batches).expect("builds");
    txn.commit().expect("commits");
    println!("bulk load of {ROWS} rows: {:.2} s", start.elapsed().as_secs_f64());
    drop(batches);
    println!("layers: {:#?}", table.table.layers());
    report_sum(&engine, "clean");
    report_reads(&engine, "clean");
    let start = Instant::now();
    for n in 0..200_000 {
        update(&engine, &table, n * 5 % ROWS);
    }
    println!("200,000 updates (async): {:.2} µs each", start.elapsed().as_secs_f64() * 1e6 / 200_000.0);
    println!("layers: {:#?}", table.table.layers());
    report_sum(&engine, "20 % updated, in row tables");
    report_reads(&engine, "20 % updated, in row tables");
    engine.freeze().expect("freezes");
    let start = Instant::now();
    let mut converted = 0;
    while let Some(offer) = table.table.jobs().into_iter().find(|offer| offer.kind == job_kinds::CONVERT) {
        table.table.run(&offer).expect("converts");
        converted += 1;
    }
    println!("{converted} conversions: {:.2} s", start.elapsed().as_secs_f64());
    println!("layers: {:#?}", table.table.layers());
    report_sum(&engine, "20 % updated, converted");
    report_reads(&engine, "20 % updated, converted");
    let start = Instant::now();
    let jobs = engine.run_jobs().expect("jobs run");
    println!("{jobs} more jobs: {:.2} s", start.elapsed().as_secs_f64());
    println!("layers: {:#?}", table.table.layers());
    report_sum(&engine, "20 % updated, compacted");
    report_reads(&engine, "20 % updated, compacted");
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
    drop(engine);
    std::fs::remove_dir_all(&dir).expect("removes");
}
