//! Times transactions of 1,000 new rows: row by row, and as one batch of Arrow columns.
//!
//! `cargo run --release -p weft-tables --example append_speed [transactions] [rows|batch]`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock")]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Int32Array, Int64Array, StringViewArray};
use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::{Durability, Engine, EngineOptions, NewTable, TableRef};

/// Rows of a transaction.
const ROWS: i64 = 1_000;

fn schema() -> Schema {
    let column = |name: String, data_type| Column { name, data_type, not_null: false };
    let mut columns = vec![column("id".into(), DataType::BigInt)];
    columns.extend((1..=15).map(|n| column(format!("col_{n}"), DataType::Integer)));
    columns.extend((1..=15).map(|n| column(format!("str_{n}"), DataType::Text)));
    Schema::new(columns, vec![0])
}

fn columns(number: i64) -> Vec<ArrayRef> {
    let mut state = number as u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % n
    };
    let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(number * ROWS..(number + 1) * ROWS))];
    for _ in 1..=15 {
        columns.push(Arc::new(Int32Array::from_iter_values((0..ROWS).map(|_| random(1_000_000) as i32))));
    }
    for _ in 1..=15 {
        let texts: Vec<String> = (0..ROWS).map(|_| format!("s{}", random(10_000))).collect();
        columns.push(Arc::new(StringViewArray::from_iter_values(texts)));
    }
    columns
}

fn one_by_one(engine: &Arc<Engine>, table: &TableRef, rows: &[Vec<u8>]) {
    let mut txn = engine.begin().expect("begins");
    let _ = txn.mark();
    for row in rows {
        txn.insert(table, row).expect("inserts");
    }
    txn.commit().expect("commits");
}

fn batch(engine: &Arc<Engine>, table: &TableRef, columns: &[ArrayRef]) {
    let mut txn = engine.begin().expect("begins");
    let _ = txn.mark();
    txn.insert_batch(table, columns).expect("inserts");
    txn.commit().expect("commits");
}

fn main() {
    let count: i64 = std::env::args().nth(1).map_or(100, |text| text.parse().expect("a number of transactions"));
    let only = std::env::args().nth(2);
    for (durability, batched) in
        [(Durability::Full, false), (Durability::Full, true), (Durability::Async, false), (Durability::Async, true)]
    {
        let what = if batched { "batch" } else { "rows" };
        if only.as_ref().is_some_and(|only| only != what) {
            continue;
        }
        let dir = std::env::temp_dir().join(format!("weft-append-speed-{}", std::process::id()));
        let options = EngineOptions { durability, workers: 0, row_memory_bytes: 4 << 30, ..EngineOptions::default() };
        let engine = Engine::open(Env::real(), &dir, vec![weft_tables::column_method()], options).expect("opens");
        let mut txn = engine.begin().expect("begins");
        let table = txn.create_table(NewTable::new("t", schema(), "column")).expect("creates");
        txn.commit().expect("commits");
        let mut times = Vec::new();
        for number in (0..count).rev() {
            let columns = columns(number);
            let encoded: Vec<Vec<u8>> = table.codec.encode_columns(&columns).iter().map(<[u8]>::to_vec).collect();
            let begun = Instant::now();
            match batched {
                true => batch(&engine, &table, &columns),
                false => one_by_one(&engine, &table, &encoded),
            }
            times.push(begun.elapsed().as_secs_f64() * 1e6 / ROWS as f64);
        }
        times.sort_by(f64::total_cmp);
        println!("{durability:?} {what}: median {:.2} µs a row", times[times.len() / 2]);
        let seen = engine.begin().expect("begins").get_row(&table, &table.keys.encode([ValueRef::Int(7)]));
        assert!(seen.expect("reads").is_some());
        drop(engine);
        std::fs::remove_dir_all(&dir).expect("removes");
    }
}
