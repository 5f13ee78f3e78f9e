//! Times point work on a table of method `row`: reads, updates, deletes, mixes of eight reads and two writes, with a
//! cache that has room for all of it or for a part.
//!
//! `cargo run --release -p weft-tables --example row_points -- [cache MB] [rows] [seconds] [works, comma between]
//! [method] [option=value ...]`
#![allow(clippy::disallowed_methods, reason = "a program that measures uses the system's clock and threads")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use weft_contract::ScanRequest;
use weft_env::Env;
use weft_format::{Column, CompareOp, DataType, Predicate, Result, Schema, Value, ValueRef};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};

/// What a row has beside its numbers.
const PAD: &str = "a text of some length that stands for what else is in a row, about as long as such things are";
const WORKS: &str = "read,mix,scanned,update,delete";
const CLIENTS: [u64; 2] = [1, 4];

struct Setting {
    engine: Arc<Engine>,
    rows: u64,
    time: Duration,
}

/// Random numbers of a client.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn make(engine: &Arc<Engine>, rows: u64, method: &str, options: &[String]) -> Result<()> {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let columns = vec![column("id", DataType::BigInt), column("k", DataType::BigInt), column("pad", DataType::Text)];
    let mut txn = engine.begin()?;
    let mut new = NewTable::new("t", Schema::new(columns, vec![0]), method);
    let options = options.iter().filter_map(|option| option.split_once('='));
    new.options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let table = txn.create_table(new)?;
    txn.commit()?;
    let arrow = table.def.schema.arrow(&[0, 1, 2]);
    let mut txn = engine.begin()?;
    for from in (0..rows).step_by(65_536) {
        let until = rows.min(from + 65_536);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(from as i64..until as i64)),
            Arc::new(Int64Array::from_iter_values((from..until).map(|_| 0))),
            Arc::new(StringViewArray::from_iter_values((from..until).map(|_| PAD))),
        ];
        txn.build(&table, &[RecordBatch::try_new(arrow.clone(), columns).expect("it fits")])?;
    }
    txn.commit()?;
    engine.checkpoint()
}

fn read(engine: &Arc<Engine>, id: u64, values: &mut Vec<Value>) -> Result<()> {
    let txn = engine.begin()?;
    let table = txn.table("t")?;
    let key = table.keys.encode([ValueRef::Int(id as i64)]);
    assert!(table.read(&key, txn.read_ts(), &[1, 2], values)?, "row {id} is there");
    Ok(())
}

fn write(txn: &mut weft_kernel::Transaction, table: &TableRef, id: u64) -> Result<()> {
    let key = table.keys.encode([ValueRef::Int(id as i64)]);
    let row = txn.get_for_update(table, &key)?.expect("it is there");
    let mut values: Vec<Value> = table.codec.decode(&row);
    let Value::Int(k) = values[1] else { panic!("k is a number") };
    values[1] = Value::Int(k + 1);
    let row = table.codec.encode(values.iter().map(Value::as_ref));
    txn.update(table, &key, &row)
}

fn update(engine: &Arc<Engine>, id: u64) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table("t")?;
    write(&mut txn, &table, id)?;
    txn.commit().map(drop)
}

fn delete(engine: &Arc<Engine>, id: u64) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table("t")?;
    txn.delete(&table, &table.keys.encode([ValueRef::Int(id as i64)]))?;
    txn.commit().map(drop)
}

fn mix(engine: &Arc<Engine>, rows: u64, numbers: &mut Numbers, values: &mut Vec<Value>) -> Result<()> {
    let mut txn = engine.begin()?;
    let table = txn.table("t")?;
    for _ in 0..8 {
        let key = table.keys.encode([ValueRef::Int(numbers.below(rows) as i64)]);
        table.read(&key, txn.read_ts(), &[1, 2], values)?;
    }
    // In the order of keys: clients wait for each other, never in a circle.
    let mut ids = [numbers.below(rows), numbers.below(rows)];
    ids.sort_unstable();
    for id in ids {
        write(&mut txn, &table, id)?;
    }
    txn.commit().map(drop)
}

/// The sum of a column over a tenth of the table.
fn scan(engine: &Arc<Engine>, rows: u64, numbers: &mut Numbers) -> Result<()> {
    let txn = engine.begin()?;
    let table = txn.table("t")?;
    let low = numbers.below(rows - rows / 10) as i64;
    let bound = |op, value| Predicate::Compare { column: 0, op, value: Value::Int(value) };
    let request = ScanRequest {
        view: txn.view(&table)?,
        projection: vec![1],
        predicates: vec![bound(CompareOp::GtEq, low), bound(CompareOp::Lt, low + (rows / 10) as i64)],
        partition_count: 1,
        batch_rows: 8192,
    };
    let mut found = 0;
    for mut partition in table.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            found += batch.num_rows() as u64;
        }
    }
    assert!(found == rows / 10, "{found} rows are there");
    Ok(())
}

/// What the system counts for this process.
fn counted() -> [u64; 4] {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let of = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).map_or(0, |rest| rest.trim().parse().unwrap_or(0))
    };
    [of("rchar:"), of("wchar:"), of("syscr:"), of("syscw:")]
}

/// Microseconds of processors that this process has taken, in steps of the system's clock.
fn cpu_us() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) * 1e4
}

/// What a kind of work came to, as of the moment when its clients had ended.
struct Measured {
    /// Of each piece of work, ascending.
    nanos: Vec<u32>,
    seconds: f64,
    counted: [u64; 4],
    cpu_us: f64,
    /// Of one of the scans that went on beside it.
    scan_ms: Option<f64>,
}

/// Scans until the time is over; milliseconds of one. The last one ends when the clients have ended already.
fn scan_beside(setting: &Setting, start: Instant) -> f64 {
    let (mut numbers, mut scans) = (Numbers(99), 0_u32);
    while start.elapsed() < setting.time || scans == 0 {
        scan(&setting.engine, setting.rows, &mut numbers).expect("it scans");
        scans += 1;
    }
    start.elapsed().as_secs_f64() * 1e3 / f64::from(scans)
}

/// One client until the time is over; nanoseconds of each piece of work.
fn work_as(setting: &Setting, work: &str, client: u64, start: Instant) -> Vec<u32> {
    let Setting { engine, rows, time } = setting;
    let (mut numbers, mut values, mut took) = (Numbers(client + 1), Vec::new(), Vec::new());
    let mut last = Instant::now();
    while start.elapsed() < *time {
        let id = numbers.below(*rows);
        match work {
            "read" => read(engine, id, &mut values),
            "update" => update(engine, id),
            "delete" => delete(engine, id),
            _ => mix(engine, *rows, &mut numbers, &mut values),
        }
        .expect("it is done");
        let now = Instant::now();
        took.push((now - last).as_nanos().min(u128::from(u32::MAX)) as u32);
        last = now;
    }
    took
}

fn run(setting: &Setting, work: &str, clients: u64) -> Measured {
    let (before, cpu_before, start) = (counted(), cpu_us(), Instant::now());
    std::thread::scope(|scope| {
        let scans = (work == "scanned").then(|| scope.spawn(|| scan_beside(setting, start)));
        let client = |client: u64| scope.spawn(move || work_as(setting, work, client, start));
        let threads: Vec<_> = (0..clients).map(client).collect();
        let mut nanos: Vec<u32> = threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect();
        let (seconds, after, cpu_us) = (start.elapsed().as_secs_f64(), counted(), cpu_us() - cpu_before);
        nanos.sort_unstable();
        let counted = std::array::from_fn(|n| after[n] - before[n]);
        let scan_ms = scans.map(|thread| thread.join().expect("it ends"));
        Measured { nanos, seconds, counted, cpu_us, scan_ms }
    })
}

/// One kind of work by some clients; the median and the tail of what it takes, beside the rate.
fn measure(setting: &Setting, work: &str, clients: u64) {
    let Measured { nanos, seconds, counted, cpu_us, scan_ms } = run(setting, work, clients);
    let done = nanos.len() as f64;
    let at = |part: f64| f64::from(nanos[((done - 1.0) * part) as usize]) / 1e3;
    let per = |n: usize| counted[n] as f64 / done;
    println!(
        "{work:>7} {clients} clients {:>9.0}/s  p50 {:>7.1} p99 {:>8.1} µs  of each: {:>6.1} µs of processors, \
         {:>5.2} reads {:>6.1} KB, {:>5.2} writes {:>6.1} KB",
        done / seconds,
        at(0.5),
        at(0.99),
        cpu_us / done,
        per(2),
        per(0) / 1024.0,
        per(3),
        per(1) / 1024.0
    );
    scan_ms.iter().for_each(|scan_ms| println!("        a scan {scan_ms:.1} ms"));
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other: u64| given.get(at).map_or(other, |text| text.parse().expect("a number"));
    let (cache_mb, rows, seconds) = (number(0, 512), number(1, 1_000_000), number(2, 2));
    let works = given.get(3).map_or(WORKS, String::as_str);
    let method = given.get(4).map_or("row", String::as_str);
    let dir = std::env::temp_dir().join(format!("weft-row-points-{}", std::process::id()));
    let options = EngineOptions { cache_bytes: cache_mb << 20, ..EngineOptions::default() };
    let methods = vec![weft_tables::column_method(), weft_tables::row_method()];
    let engine = Engine::open(Env::real(), &dir, methods, options).expect("it opens");
    let start = Instant::now();
    make(&engine, rows, method, given.get(5..).unwrap_or_default()).expect("it is loaded");
    println!(
        "{rows} rows of method {method}, cache of {cache_mb} MB: loaded in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    let setting = Setting { engine, rows, time: Duration::from_secs(seconds) };
    for work in works.split(',') {
        CLIENTS.into_iter().for_each(|clients| measure(&setting, work, clients));
    }
    let txn = setting.engine.begin().expect("it begins");
    for layer in txn.table("t").expect("it is there").table.layers() {
        println!("{:>16} {:>8} {:>12} bytes", layer.layer, layer.parts, layer.bytes);
    }
    drop(txn);
    let Setting { engine, .. } = setting;
    assert_eq!(engine.check().expect("it checks"), Vec::<String>::new());
    engine.close().expect("it closes");
    std::fs::remove_dir_all(&dir).expect("it is removed");
}
