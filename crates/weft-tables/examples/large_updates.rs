//! Times an update of all rows of a table of 31 columns, staged row by row and replaced in bulk; and updates one by one
//! under each form of increments.
//!
//! `cargo run --release -p weft-tables --example large_updates -- 500000`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock")]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use weft_contract::{LOCATION, Location, ScanRequest};
use weft_env::Env;
use weft_format::{Column, DataType, Schema, Value, ValueRef};
use weft_kernel::{Engine, EngineOptions, LockMode, NewTable, TableRef, Transaction};

/// Single updates that are timed.
const UPDATES: i64 = 5_000;

fn schema() -> Schema {
    let column = |name: String, data_type| Column { name, data_type, not_null: false };
    let mut columns = vec![column("id".into(), DataType::BigInt)];
    columns.extend((1..=15).map(|n| column(format!("col_{n}"), DataType::Integer)));
    columns.extend((1..=15).map(|n| column(format!("str_{n}"), DataType::Text)));
    Schema::new(columns, vec![0])
}

fn batches(rows: i64) -> Vec<RecordBatch> {
    let arrow = schema().arrow(&(0..31).collect::<Vec<_>>());
    let mut state = 1u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut batches = Vec::new();
    for start in (0..rows).step_by(65_536) {
        let count = 65_536.min(rows - start);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(start..start + count))];
        for n in 1..=15u64 {
            columns.push(Arc::new(Int32Array::from_iter_values((0..count).map(|_| random(100 * n * n * n) as i32))));
        }
        for n in 1..=15u64 {
            let texts: Vec<String> = (0..count).map(|_| format!("v{}", random(20 * n * n))).collect();
            columns.push(Arc::new(StringViewArray::from_iter_values(texts)));
        }
        batches.push(RecordBatch::try_new(arrow.clone(), columns).expect("fits"));
    }
    batches
}

/// All rows with another col_1, and where they lie.
fn changed(txn: &Transaction, table: &TableRef) -> (Vec<RecordBatch>, Vec<Option<Location>>) {
    let mut projection: Vec<usize> = (0..31).collect();
    projection.push(LOCATION);
    let request = ScanRequest {
        view: txn.view(table).expect("it is kept"),
        projection,
        predicates: Vec::new(),
        partition_count: 1,
        batch_rows: 8192,
    };
    let mut scan = table.scan(request).expect("scans");
    let (mut batches, mut places) = (Vec::new(), Vec::new());
    let arrow = table.def.schema.arrow(&(0..31).collect::<Vec<_>>());
    while let Some(batch) = scan.partitions[0].next().expect("reads") {
        let numbers = batch.column(31).as_any().downcast_ref::<Int64Array>().expect("numbers");
        places.extend(numbers.iter().map(|number| number.and_then(Location::of_number)));
        let mut columns = batch.columns()[..31].to_vec();
        columns[1] = Arc::new(Int32Array::from(vec![7; batch.num_rows()]));
        batches.push(RecordBatch::try_new(arrow.clone(), columns).expect("fits"));
    }
    (batches, places)
}

fn row_by_row(txn: &mut Transaction, table: &TableRef, batches: &[RecordBatch]) {
    for batch in batches {
        for row in table.codec.encode_columns(batch.columns()).iter() {
            let key = table.keys.of_row(&table.codec, row);
            txn.update_columns(table, &key, row, LockMode::EXCLUSIVE).expect("updates");
        }
    }
}

fn large(engine: &Arc<Engine>, table: &TableRef, in_bulk: bool) {
    engine.checkpoint().expect("checkpoints");
    let (log, begun) = (engine.status().log_bytes, Instant::now());
    let mut txn = engine.begin().expect("begins");
    let (batches, places) = changed(&txn, table);
    let read_s = begun.elapsed().as_secs_f64();
    if in_bulk {
        assert!(txn.can_replace(table, &[1]).expect("asks"));
        txn.replace(table, &[1], &batches, &places).expect("replaces");
    } else {
        row_by_row(&mut txn, table, &batches);
    }
    let (staged_s, staged_bytes) = (begun.elapsed().as_secs_f64(), engine.status().row_memory_bytes);
    txn.commit().expect("commits");
    let status = engine.status();
    println!(
        "{}: read {read_s:.2} s, staged at {staged_s:.2} s, committed at {:.2} s; log {} bytes; row memory {} MB \
         staged, {} MB after the commit",
        if in_bulk { "in bulk" } else { "row by row" },
        begun.elapsed().as_secs_f64(),
        status.log_bytes.saturating_sub(log),
        staged_bytes >> 20,
        status.row_memory_bytes >> 20,
    );
}

fn single(engine: &Arc<Engine>, form: &str) {
    let mut txn = engine.begin().expect("begins");
    let mut new = NewTable::new(form, schema(), "column");
    new.options.insert("incremental".into(), form.into());
    let table = txn.create_table(new).expect("creates");
    txn.commit().expect("commits");
    let mut txn = engine.begin().expect("begins");
    txn.build(&table, &batches(50_000)).expect("builds");
    txn.commit().expect("commits");
    engine.checkpoint().expect("checkpoints");
    let begun = Instant::now();
    for n in 0..UPDATES {
        let mut txn = engine.begin().expect("begins");
        let key = table.keys.encode([ValueRef::Int(n * 7 % 50_000)]);
        let row = txn.get_for_update(&table, &key).expect("reads").expect("is there");
        let mut values: Vec<Value> = table.codec.decode(&row);
        values[1] = Value::Int(n);
        let row = table.codec.encode(values.iter().map(Value::as_ref));
        txn.update(&table, &key, &row).expect("updates");
        txn.commit().expect("commits");
    }
    let each_us = begun.elapsed().as_secs_f64() * 1e6 / UPDATES as f64;
    println!(
        "incremental = '{form}': {each_us:.1} µs per durable update, {} MB of rows",
        engine.status().row_memory_bytes >> 20
    );
}

fn main() {
    let rows: i64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(500_000);
    let dir = std::env::temp_dir().join(format!("weft-large-updates-{}", std::process::id()));
    let options = EngineOptions { workers: 1, row_memory_bytes: 8 << 30, ..EngineOptions::default() };
    let engine = Engine::open(Env::real(), &dir, vec![weft_tables::column_method()], options).expect("opens");
    for in_bulk in [false, true] {
        let mut txn = engine.begin().expect("begins");
        let name = if in_bulk { "b" } else { "r" };
        let table = txn.create_table(NewTable::new(name, schema(), "column")).expect("creates");
        txn.commit().expect("commits");
        let mut txn = engine.begin().expect("begins");
        txn.build(&table, &batches(rows)).expect("builds");
        txn.commit().expect("commits");
        large(&engine, &table, in_bulk);
    }
    for form in ["fine", "rows", "columns"] {
        single(&engine, form);
    }
    drop(engine);
    std::fs::remove_dir_all(&dir).expect("removes its directory");
}
