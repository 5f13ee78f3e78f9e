//! Layers under load: inserts, updates, deletes and bulk loads at tiny sizes, while threads run whatever jobs a table
//! offers, in any order and side by side.
//!
//! ```text
//!   writer    a round of transactions · freeze · look: the rows are those of a map, also at snapshots that are kept
//!   workers   jobs() · one of them at random · run
//!   end       jobs until none is offered · check · reopen: the same layers, the same rows · jobs until none
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use weft_contract::{JobOffer, LayerStatus};
use weft_env::Env;
use weft_format::{Column, DataType, Schema, Value, ValueRef};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef, Transaction};

use super::random::Prng;
use super::rows::scan_rows;
use crate::column::job_kinds;
use crate::column::rows_to_batch;

/// G of the table.
const GRANULARITY_BYTES: u64 = 12 << 10;
/// About the size of a column table.
const COLUMN_TABLE_BYTES: u64 = 4 << 10;
/// Jobs after which picking should have come to an end.
const JOBS_MAX: usize = 2000;

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Decides everything.
    pub seed: u64,
    /// Rounds of writes.
    pub rounds: u64,
    /// Different keys.
    pub keys: u64,
    /// Threads that run jobs.
    pub workers: u64,
    /// Without buckets.
    pub whole: bool,
}

type Rows = BTreeMap<i64, Box<str>>;

/// Runs it; panics on the first difference.
pub fn run(method: &Arc<dyn Method>, env: &Env, dir: &Path, options: &Options) {
    let engine_options =
        EngineOptions { workers: 0, log_segment_bytes: 1 << 16, row_table_bytes: 2048, ..EngineOptions::default() };
    let open = || Engine::open(env.clone(), dir, vec![method.clone()], engine_options.clone()).expect("opens");
    let engine = open();
    create(&engine, method, options);
    let done = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for number in 0..options.workers {
        let (engine, done, seed) = (engine.clone(), done.clone(), options.seed * 7 + number);
        let body = move || work(&engine, seed, &done);
        workers.push(env.spawn.spawn(&format!("worker-{number}"), Box::new(body)).expect("starts"));
    }
    let mut writer = Writer { engine: &engine, random: Prng(options.seed), rows: Rows::new(), kept: Vec::new() };
    for round in 0..options.rounds {
        writer.round(options.keys, round);
    }
    done.store(true, Ordering::Release);
    workers.into_iter().for_each(|handle| handle.join().expect("a worker ends"));
    let Writer { rows, .. } = writer;
    finish(&engine);
    look(&engine, &rows);
    engine.close().expect("closes");
    let before = on_disk(&engine);
    drop(engine);
    let engine = open();
    assert_eq!(on_disk(&engine), before, "the layers are durable");
    look(&engine, &rows);
    finish(&engine);
    look(&engine, &rows);
}

fn create(engine: &Arc<Engine>, method: &Arc<dyn Method>, options: &Options) {
    let column = |name: &str, data_type| Column { name: name.into(), data_type, not_null: true };
    let schema = Schema::new(vec![column("k", DataType::BigInt), column("v", DataType::Text)], vec![0]);
    let mut table = NewTable::new("t", schema, method.name());
    let sizes = [
        ("column_table_bytes", COLUMN_TABLE_BYTES),
        ("bucket_bytes", 4 << 10),
        ("granularity_bytes", GRANULARITY_BYTES),
        ("incremental_bytes", 6 << 10),
        ("overlap_max", 3),
        ("dead_percent", 10 + options.seed % 3 * 20),
    ];
    table.options = sizes.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
    if options.seed % 2 == 1 {
        table.options.insert("conflict".into(), "antimatter".into());
    }
    if options.whole {
        table.options.insert("compaction".into(), "whole".into());
    }
    let mut txn = engine.begin().expect("begins");
    txn.create_table(table).expect("creates");
    txn.commit().expect("commits");
    // Somebody plans with it: from now on jobs take in its files.
    let (txn, table) = table_of(engine);
    txn.rollback();
    table.known_columns();
}

fn table_of(engine: &Arc<Engine>) -> (Transaction, TableRef) {
    let txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("the table is there");
    (txn, table)
}

struct Writer<'a> {
    engine: &'a Arc<Engine>,
    random: Prng,
    rows: Rows,
    kept: Vec<(Transaction, Rows)>,
}

impl Writer<'_> {
    fn round(&mut self, keys: u64, round: u64) {
        match self.random.below(6) {
            0 => self.bulk(round),
            1 => self.write(keys / 8, self.random.0 % keys, 40, 9),
            2 => self.write(keys, 0, 60, 2),
            _ => self.write(keys, 0, 60, 9),
        }
        self.engine.freeze().expect("freezes");
        if self.random.below(3) == 0 {
            self.kept.push((self.engine.begin().expect("begins"), self.rows.clone()));
        }
        if self.kept.len() > 2 || self.random.below(4) == 0 {
            self.kept.drain(..self.kept.len().min(2)).for_each(|(txn, rows)| {
                look_at(&txn, &txn.table("t").expect("was there"), &rows);
                txn.rollback();
            });
        }
        // Time for the workers.
        for _ in 0..self.random.below(2000) {
            weft_env::sync::yield_point();
        }
        look(self.engine, &self.rows);
    }

    /// Transactions on keys of a range; one in `delete_one_in` rows that are there is deleted.
    fn write(&mut self, keys: u64, first: u64, count: u64, delete_one_in: u64) {
        for _ in 0..6 {
            let (mut txn, table) = table_of(self.engine);
            for _ in 0..count {
                let k = (first + self.random.below(keys.max(1))) as i64;
                let key = table.keys.encode([ValueRef::Int(k)]);
                let value = text(&mut self.random);
                let row = table.codec.encode([ValueRef::Int(k), ValueRef::Text(&value)]);
                if table.table.blind().is_some() && self.random.below(delete_one_in) > 0 {
                    txn.put(&table, &key, &row).expect("puts");
                    self.rows.insert(k, value);
                } else if !self.rows.contains_key(&k) {
                    txn.insert(&table, &row).expect("a free key");
                    self.rows.insert(k, value);
                } else if self.random.below(delete_one_in) == 0 {
                    assert!(txn.delete(&table, &key).expect("deletes"));
                    self.rows.remove(&k);
                } else {
                    txn.update(&table, &key, &row).expect("updates");
                    self.rows.insert(k, value);
                }
            }
            txn.commit().expect("commits");
        }
    }

    /// Keys beyond all others, in order.
    fn bulk(&mut self, round: u64) {
        let (mut txn, table) = table_of(self.engine);
        let first = 10_000 * (round as i64 + 1);
        let rows: Vec<(i64, Box<str>)> =
            (0..100 + self.random.below(300) as i64).map(|n| (first + n, text(&mut self.random))).collect();
        let encoded: Vec<Vec<u8>> =
            rows.iter().map(|(k, v)| table.codec.encode([ValueRef::Int(*k), ValueRef::Text(v)])).collect();
        let batch: RecordBatch =
            rows_to_batch(&table.def.schema, &table.codec, encoded.iter().map(|row| &row[..])).expect("fits");
        txn.build(&table, &[batch]).expect("builds");
        txn.commit().expect("commits");
        self.rows.extend(rows);
    }
}

fn text(random: &mut Prng) -> Box<str> {
    (0..8 + random.below(40)).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Runs jobs until told to stop.
fn work(engine: &Arc<Engine>, seed: u64, done: &AtomicBool) {
    let mut random = Prng(seed);
    let (txn, table) = table_of(engine);
    txn.rollback();
    while !done.load(Ordering::Acquire) {
        let offers = table.table.jobs();
        if let Some(offer) = pick(&offers, &mut random) {
            check_size(offer);
            table.table.run(offer).expect("a job runs");
        }
        weft_env::sync::yield_point();
    }
}

fn pick<'a>(offers: &'a [JobOffer], random: &mut Prng) -> Option<&'a JobOffer> {
    (!offers.is_empty()).then(|| &offers[random.below(offers.len() as u64) as usize])
}

/// Formula 1.
fn check_size(offer: &JobOffer) {
    let bounded = matches!(offer.kind, job_kinds::TO_TRANSITION | job_kinds::MERGE);
    let bytes = offer.price.read_bytes;
    assert!(!bounded || bytes <= GRANULARITY_BYTES + COLUMN_TABLE_BYTES, "a job of {bytes} bytes: {offer:?}");
}

/// Runs jobs until none is offered.
fn finish(engine: &Arc<Engine>) {
    let (txn, table) = table_of(engine);
    txn.rollback();
    let mut random = Prng(1);
    engine.checkpoint().expect("checkpoints");
    let mut count = 0;
    loop {
        let offers = table.table.jobs();
        let Some(offer) = pick(&offers, &mut random) else { break };
        check_size(offer);
        table.table.run(offer).expect("a job runs");
        count += 1;
        assert!(count < JOBS_MAX, "picking comes to an end; now {offers:?} of {:?}", table.table.layers());
    }
    look_at_summaries(engine, &table, count > 0);
}

/// What the files say together is of the rows in them, each once, and of few that are gone: of none when it was counted
/// anew. Every job ends with a look at how many are gone.
fn look_at_summaries(engine: &Arc<Engine>, table: &TableRef, has_run_jobs: bool) {
    let Some(summaries) = table.table.summaries() else { return };
    let layers = on_disk(engine);
    let (rows, parts) = layers.iter().fold((0, 0), |(rows, parts), layer| (rows + layer.rows, parts + layer.parts));
    // A few files are taken in each time.
    let mut steps = 0;
    while summaries.is_behind() {
        summaries.catch_up();
        steps += 1;
        assert!(steps <= parts + 1, "{steps} steps for {parts} files (together 6)");
    }
    let told = summaries.summaries();
    let found = told.first().map_or(0, |column| column.rows());
    assert!(found >= rows, "summaries of {found} rows, files have {rows} (together 1)");
    assert!(!has_run_jobs || found * 4 <= rows * 5, "summaries of {found} rows, files have {rows} (together 2)");
    summaries.renew(&mut || Ok(())).expect("nobody stops it");
    let counted = summaries.summaries();
    let found = counted.first().map_or(0, |column| column.rows());
    assert_eq!(found, rows, "rows that were counted anew (together 1)");
    if let Some(keys) = counted.first() {
        let distinct = keys.distinct().expect("keys have a sketch");
        assert!(distinct > 0.0 && distinct <= rows as f64, "{distinct} keys in {rows} rows");
    }
}

/// The layers that files are in.
fn on_disk(engine: &Arc<Engine>) -> Vec<LayerStatus> {
    let tables = engine.tables();
    let layers = tables.iter().flat_map(|table| table.table.layers());
    layers.filter(|layer| !layer.layer.contains("row table")).collect()
}

fn look(engine: &Arc<Engine>, rows: &Rows) {
    let (txn, table) = table_of(engine);
    look_at(&txn, &table, rows);
    assert_eq!(engine.check().expect("checks"), Vec::<String>::new());
}

fn look_at(txn: &Transaction, table: &TableRef, rows: &Rows) {
    let mut found = scan_rows(table, txn.view(table).expect("it is kept"), &[0, 1], &[], 2, 8192).expect("scans");
    found.sort_by(|a, b| a[0].as_ref().compare(b[0].as_ref()));
    assert_eq!(found.len(), rows.len(), "rows at {}", txn.read_ts());
    for (row, (k, v)) in found.iter().zip(rows) {
        assert!(row[0] == Value::Int(*k) && row[1] == Value::Text(v.clone()), "row {k} at {}: {row:?}", txn.read_ts());
    }
}
