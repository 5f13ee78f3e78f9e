//! How large single jobs are (SynchroStore, figure 8): data of several sizes is loaded in key order, then every row is
//! updated once in random order, row by row. By kind of job: how many, bytes in on average and at most; through buckets
//! (`fine`) and in the traditional way (`whole`). Then what a look for jobs costs over 5,000 column tables, and what a
//! reader pays for 100,000 marks that are younger than its snapshot.
//!
//! `cargo run --release -p weft-tables --example compaction_sizes [rows of the smallest size; 0: none]`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock and threads")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use weft_tables::column::job_kinds;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use weft_contract::{JobKind, ScanRequest};
use weft_env::Env;
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::{Durability, Engine, EngineOptions, NewTable, TableRef, Transaction};

/// Sizes a sixteenth of the defaults, so that some tens of megabytes have many buckets.
const SIZES: [(&str, u64); 5] = [
    ("row_table_bytes", 1 << 20),
    ("column_table_bytes", 1 << 18),
    ("bucket_bytes", 1 << 20),
    ("granularity_bytes", 4 << 20),
    ("incremental_bytes", 2 << 20),
];

/// Rows of one bulk load.
const LOAD_ROWS: i64 = 1 << 20;

fn schema() -> Schema {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: false };
    let mut columns = vec![column("id", DataType::BigInt)];
    columns.extend((0..4).map(|n| column(&format!("n{n}"), DataType::BigInt)));
    columns.push(column("s", DataType::Text));
    Schema::new(columns, vec![0])
}

fn hash(n: i64, salt: i64) -> u64 {
    (n as u64 ^ (salt as u64) << 48)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn numbers(id: i64, salt: i64) -> [i64; 4] {
    [1, 2, 3, 4].map(|column| (hash(id, salt * 5 + column) >> 34) as i64)
}

fn text(id: i64, salt: i64) -> String {
    format!("{:016x}", hash(id, salt * 5))
}

fn open(name: &str) -> (Arc<Engine>, std::path::PathBuf) {
    let dir = std::env::temp_dir().join(format!("weft-{name}-{}", std::process::id()));
    let options = EngineOptions {
        durability: Durability::Async,
        workers: 0,
        row_memory_bytes: 4 << 30,
        checkpoint_log_bytes: 8 << 30,
        ..EngineOptions::default()
    };
    (Engine::open(Env::real(), &dir, vec![weft_tables::column_method()], options).expect("opens"), dir)
}

fn create(engine: &Arc<Engine>, options: &[(&str, String)]) -> TableRef {
    let mut new = NewTable::new("t", schema(), "column");
    new.options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let mut txn = engine.begin().expect("begins");
    let table = txn.create_table(new).expect("creates");
    txn.commit().expect("commits");
    table
}

fn load(engine: &Arc<Engine>, table: &TableRef, rows: i64) {
    for first in (0..rows).step_by(LOAD_ROWS as usize) {
        load_range(engine, table, first..(first + LOAD_ROWS).min(rows));
    }
    engine.checkpoint().expect("checkpoints");
}

fn load_range(engine: &Arc<Engine>, table: &TableRef, range: std::ops::Range<i64>) {
    let rows = range.end;
    let arrow = table.def.schema.arrow(&(0..6).collect::<Vec<_>>());
    let mut txn = engine.begin().expect("begins");
    let batches: Vec<RecordBatch> = range
        .step_by(65_536)
        .map(|start| {
            let ids = start..(start + 65_536).min(rows);
            let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(ids.clone()))];
            for column in 0..4 {
                columns.push(Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| numbers(id, 0)[column]))));
            }
            columns.push(Arc::new(StringViewArray::from_iter_values(ids.map(|id| text(id, 0)))));
            RecordBatch::try_new(arrow.clone(), columns).expect("fits")
        })
        .collect();
    txn.build(table, &batches).expect("builds");
    txn.commit().expect("commits");
}

fn update(txn: &mut Transaction, table: &TableRef, id: i64, salt: i64) {
    let n = numbers(id, salt);
    let text = text(id, salt);
    let values = [
        ValueRef::Int(id),
        ValueRef::Int(n[0]),
        ValueRef::Int(n[1]),
        ValueRef::Int(n[2]),
        ValueRef::Int(n[3]),
        ValueRef::Text(&text),
    ];
    let key = table.keys.encode([ValueRef::Int(id)]);
    txn.update(table, &key, &table.codec.encode(values)).expect("updates");
}

/// Jobs of a kind: count, bytes in of all, at most.
type ByKind = BTreeMap<JobKind, (u64, u64, u64)>;

fn run_jobs(table: &TableRef, by_kind: &mut ByKind) {
    loop {
        let offers = table.table.jobs();
        let Some(offer) = offers.iter().min_by_key(|offer| (offer.kind, offer.number)) else { return };
        let price = offer.price;
        let bytes = if offer.kind == job_kinds::CONVERT { price.memory_freed_bytes } else { price.read_bytes };
        let (count, all, most) = by_kind.entry(offer.kind).or_default();
        *count += 1;
        *all += bytes;
        *most = bytes.max(*most);
        table.table.run(offer).expect("a job runs");
    }
}

fn measure(rows: i64, compaction: &str) {
    let (engine, dir) = open("compaction-sizes");
    let mut options: Vec<(&str, String)> = SIZES.iter().map(|(name, bytes)| (*name, bytes.to_string())).collect();
    options.push(("compaction", compaction.to_owned()));
    let table = create(&engine, &options);
    load(&engine, &table, rows);
    let mut by_kind = ByKind::new();
    run_jobs(&table, &mut by_kind);
    let bytes: u64 = table.table.layers().iter().map(|layer| layer.bytes).sum();
    println!("{compaction}: {rows} rows, {:.1} MB; the load: {}", megabytes(bytes), shown(&by_kind));
    by_kind.clear();
    let begun = Instant::now();
    // An odd factor visits every row of a power of two once.
    let size = (rows as u64).next_power_of_two() as i64;
    for n in 0..size {
        let id = (n.wrapping_mul(0x9E37_79B1) ^ (n >> 3)) & (size - 1);
        if id < rows {
            let mut txn = engine.begin().expect("begins");
            update(&mut txn, &table, id, 1);
            txn.commit().expect("commits");
        }
        if n % 1024 == 0 {
            run_jobs(&table, &mut by_kind);
        }
    }
    engine.checkpoint().expect("checkpoints");
    run_jobs(&table, &mut by_kind);
    let seconds = begun.elapsed().as_secs_f64();
    let after: u64 = table.table.layers().iter().map(|layer| layer.bytes).sum();
    let read: u64 = by_kind.values().map(|kind| kind.1).sum();
    let buckets = table.table.layers().iter().filter_map(|layer| layer.bucket).max().unwrap_or(0) + 1;
    println!(
        "  {seconds:.1} s, {buckets} buckets, {:.1} MB afterwards, jobs read {:.1} MB: {}",
        megabytes(after),
        megabytes(read),
        shown(&by_kind)
    );
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
    drop(engine);
    std::fs::remove_dir_all(&dir).expect("removes");
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn shown(by_kind: &ByKind) -> String {
    let one = |(kind, (count, all, most)): (&JobKind, &(u64, u64, u64))| {
        format!("{kind:?} ×{count} avg {:.2} max {:.2} MB", megabytes(all / count), megabytes(*most))
    };
    by_kind.iter().map(one).collect::<Vec<_>>().join(" · ")
}

/// Core time of this thread so far (Linux; elsewhere 0): other programs do not count.
fn cpu_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or(0) / 1000
}

/// What a look for jobs costs over many column tables.
fn look_for_jobs() {
    let (engine, dir) = open("many-parts");
    let sizes = [("column_table_bytes", 4096), ("bucket_bytes", 16384), ("granularity_bytes", 65536)];
    let options: Vec<(&str, String)> = sizes.iter().map(|(name, bytes)| (*name, bytes.to_string())).collect();
    let table = create(&engine, &options);
    load(&engine, &table, 5_120_000);
    let time = |what: &str| {
        let begun = cpu_micros();
        let count = (0..20).map(|_| table.table.jobs().len()).sum::<usize>() / 20;
        let (parts, micros) = (table.table.parts().len(), (cpu_micros() - begun) / 20);
        println!("jobs() over {parts} parts, {what}: {micros} µs, {count} offers");
    };
    time("incremental");
    let mut by_kind = ByKind::new();
    run_jobs(&table, &mut by_kind);
    println!("  {}", shown(&by_kind));
    time("in the baseline");
    drop(engine);
    std::fs::remove_dir_all(&dir).expect("removes");
}

/// What 100,000 young marks cost a reader of the past.
fn read_through_marks() {
    let (engine, dir) = open("young-marks");
    let table = create(&engine, &[]);
    load(&engine, &table, 400_000);
    let before = engine.begin().expect("begins");
    let count = |txn: &Transaction| {
        let begun = Instant::now();
        let request = ScanRequest {
            view: txn.view(&table).expect("it is kept"),
            projection: vec![1],
            predicates: Vec::new(),
            partition_count: 1,
            batch_rows: 8192,
        };
        let mut output = table.scan(request).expect("scans");
        let mut rows = 0;
        while let Some(batch) = output.partitions[0].next().expect("scans") {
            rows += batch.num_rows();
        }
        (rows, begun.elapsed().as_micros())
    };
    count(&before);
    let clean = count(&before);
    for n in 0..100_000 {
        let mut txn = engine.begin().expect("begins");
        update(&mut txn, &table, n * 3 % 400_000, 2);
        txn.commit().expect("commits");
    }
    let young: u64 = table.table.parts().iter().map(|part| part.young_marks).sum();
    let (past, now) = (count(&before), count(&engine.begin().expect("begins")));
    println!("scan before any mark {clean:?}, with {young} young marks: in the past {past:?}, now {now:?} (rows, µs)");
    drop(before);
    drop(engine);
    std::fs::remove_dir_all(&dir).expect("removes");
}

fn main() {
    let rows = std::env::args().nth(1).map_or(125_000, |rows| rows.parse().expect("a number of rows, or 0"));
    for size in [1, 2, 4, 8].into_iter().filter(|_| rows > 0) {
        for compaction in ["fine", "whole"] {
            measure(rows * size, compaction);
        }
    }
    look_for_jobs();
    read_through_marks();
}
