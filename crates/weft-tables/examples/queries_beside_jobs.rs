//! Times scans while row tables wait for conversion: without jobs, beside a job that does not know of them, and beside
//! one that makes room.
//!
//! `cargo run --release -p weft-tables --example queries_beside_jobs`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock and threads")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringViewArray};
use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::{Durability, Engine, EngineOptions, NewTable};

const ROWS: i64 = 300_000;
const SCANS: usize = 1_000;

fn schema() -> Schema {
    let column = |name: String, data_type| Column { name, data_type, not_null: false };
    let mut columns = vec![column("id".into(), DataType::BigInt)];
    columns.extend((1..=15).map(|n| column(format!("col_{n}"), DataType::Integer)));
    columns.extend((1..=15).map(|n| column(format!("str_{n}"), DataType::Text)));
    Schema::new(columns, vec![0])
}

fn columns(from: i64, count: i64) -> Vec<ArrayRef> {
    let hash = |n: i64| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(from..from + count))];
    for column in 1..=15 {
        let numbers = (from..from + count).map(|n| (hash(n * 31 + column) % 1_000_000) as i32);
        columns.push(Arc::new(Int32Array::from_iter_values(numbers)));
    }
    for column in 16..=30 {
        let texts: Vec<String> = (from..from + count).map(|n| format!("s{}", hash(n * 31 + column) % 10_000)).collect();
        columns.push(Arc::new(StringViewArray::from_iter_values(texts)));
    }
    columns
}

fn open(dir: &Path, workers: usize) -> Arc<Engine> {
    let durability = Durability::Async;
    let options = EngineOptions { durability, workers, row_memory_bytes: 4 << 30, ..EngineOptions::default() };
    Engine::open(Env::real(), dir, vec![weft_tables::column_method()], options).expect("opens")
}

/// The sum of col_1 with two threads.
fn sum(engine: &Arc<Engine>, tell: bool) -> i64 {
    let _waiting = tell.then(|| engine.load().query());
    let txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("is there");
    let request = ScanRequest {
        view: txn.view(&table).expect("it is kept"),
        projection: vec![1],
        predicates: Vec::new(),
        partition_count: 2,
        batch_rows: 8192,
    };
    let output = table.scan(request).expect("scans");
    std::thread::scope(|scope| {
        let start = |mut partition: Box<dyn weft_contract::Partition>| {
            scope.spawn(move || {
                let mut sum = 0;
                while let Some(batch) = partition.next().expect("scans") {
                    let column = batch.column(0).as_primitive::<Int32Type>();
                    sum += column.values().iter().map(|&v| i64::from(v)).sum::<i64>();
                }
                sum
            })
        };
        let threads: Vec<_> = output.partitions.into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).sum()
    })
}

/// Core time of the job thread so far, in hundredths of a second (Linux; elsewhere 0).
fn job_ticks() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    let jobs = stats.filter(|stat| stat.contains("(weft-job"));
    let ticks =
        |stat: String| stat.split(' ').skip(13).take(2).filter_map(|text| text.parse::<u64>().ok()).sum::<u64>();
    jobs.map(ticks).sum()
}

fn main() {
    let dir = std::env::temp_dir().join(format!("weft-queries-{}", std::process::id()));
    for (workers, tell) in [(0, false), (1, false), (1, true)] {
        let engine = open(&dir, 0);
        let mut txn = engine.begin().expect("begins");
        let table = txn.create_table(NewTable::new("t", schema(), "column")).expect("creates");
        txn.commit().expect("commits");
        for from in (0..ROWS).step_by(1000) {
            let mut txn = engine.begin().expect("begins");
            txn.insert_batch(&table, &columns(from, 1000)).expect("inserts");
            txn.commit().expect("commits");
        }
        assert!(
            table.table.read_row(&table.keys.encode([ValueRef::Int(7)]), engine.published()).expect("reads").is_some()
        );
        drop((engine, table));
        // Redo fills row tables, which the worker begins to convert.
        let engine = open(&dir, workers);
        let (begun, ticks) = (Instant::now(), job_ticks());
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..SCANS {
            let begun = Instant::now();
            sum(&engine, tell);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let ticks = job_ticks() - ticks;
        let (total, jobs) = (begun.elapsed().as_secs_f64(), engine.status().jobs_run);
        times.sort_by(f64::total_cmp);
        println!(
            "workers {workers}, told {tell}: sum median {:.3} ms, 95 % {:.3} ms; {jobs} jobs in {total:.2} s, \
             {} % of a core",
            times[SCANS / 2],
            times[SCANS * 95 / 100],
            (ticks as f64 / total).round()
        );
        drop(engine);
        std::fs::remove_dir_all(&dir).expect("removes");
    }
}
