//! Planted faults: with each of these deliberate bugs its test must fail, or the test is worth nothing.
#![cfg(feature = "faults")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_contract::JobKind;
use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_env::{Env, JoinHandle};
use weft_format::{Column, DataType, Schema, Value, ValueRef};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::step::{Step, on_step};
use weft_kernel::{Engine, EngineOptions, NewTable, TableRef};
use weft_tables::column::{faults, job_kinds, steps};
use weft_tables::column_method;
use weft_tables::testing::{layers, scan_rows, transfers};

fn options(seed: u64) -> transfers::Options {
    let table = BTreeMap::from([
        ("column_table_bytes".to_owned(), "4096".to_owned()),
        ("bucket_bytes".to_owned(), "4096".to_owned()),
        ("granularity_bytes".to_owned(), "8192".to_owned()),
        ("overlap_max".to_owned(), "2".to_owned()),
        ("dead_percent".to_owned(), "10".to_owned()),
        ("conflict".to_owned(), ["mark", "antimatter"][(seed / 3 % 2) as usize].to_owned()),
    ]);
    let row_table_bytes = [1_500, 6_000, 1 << 20][(seed % 3) as usize];
    transfers::Options { seed, keys: 12, writers: 3, transactions: 25, readers: 2, table, row_table_bytes }
}

/// The faults of this method that need no crash to be seen.
const FAULTS: [Fault; 6] = [
    faults::LOSE_MARK_AT_CONVERSION,
    faults::STALE_LAYOUT,
    faults::DROP_DEAD_TOO_EARLY,
    faults::CONVERT_TOO_EARLY,
    faults::FORGET_MARKS,
    faults::SCAN_UNRECONCILED,
];

/// The first seed whose run does not end well.
fn caught(fault: Option<Fault>) -> Option<u64> {
    plant(fault);
    let bad = |&seed: &u64| {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        simulation.run(move |env| transfers::run(&column_method(), &env, Path::new("db"), &options(seed)))
            != RunEnd::Finished
    };
    let found = (0..60).find(bad);
    plant(None);
    found
}

/// The faults of layers and buckets, and one that scans during the conversion would hide.
const LAYER_FAULTS: [Fault; 4] =
    [faults::STALE_BORDERS, faults::SPLIT_THROUGH_TABLES, faults::FORGET_LAYERS, faults::CONVERT_UNRECONCILED];

/// The first seed of the test of layers that does not end well.
fn caught_by_layers(fault: Option<Fault>, seeds: u64) -> Option<u64> {
    plant(fault);
    let bad = |&seed: &u64| {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let options = layers::Options { seed, rounds: 12, keys: 900, workers: 3, whole: false };
        simulation.run(move |env| layers::run(&column_method(), &env, Path::new("db"), &options)) != RunEnd::Finished
    };
    let found = (0..seeds).find(bad);
    plant(None);
    found
}

const KINDS: [(JobKind, &str); 4] = [
    (job_kinds::CONVERT, "convert"),
    (job_kinds::MERGE, "merge"),
    (job_kinds::TO_TRANSITION, "to transition"),
    (job_kinds::TO_BASELINE, "to baseline"),
];

const STEPS: [&str; 6] = ["inputs read", "files written", "files synced", "edit durable", "marks carried", "switched"];

/// Keys of the table of the interleaving test.
const KEYS: i64 = 3000;

/// How rows are deleted while a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deletes {
    /// By marks.
    Marked,
    /// By antimatter, which becomes marks when the job is done.
    Blind,
    /// By antimatter, which a scan turns into marks at once.
    BlindThenScanned,
}

/// Deletes rows all over the table at the moment when a job has done a step; an error when one of them comes back.
fn delete_during(env: &Env, kind: JobKind, step: Step, deletes: Deletes) -> Result<(), String> {
    let options = EngineOptions { workers: 0, ..EngineOptions::default() };
    let engine = Engine::open(env.clone(), Path::new("db"), vec![column_method()], options).expect("opens");
    let table = filled(&engine, deletes);
    let mut offer = None;
    for round in 0..400 {
        offer = table.table.jobs().into_iter().find(|offer| offer.kind == kind);
        if offer.is_some() {
            break;
        }
        if let Some(other) = table.table.jobs().first() {
            table.table.run(other).expect("a job runs");
        } else {
            update(&engine, &table, round);
            engine.freeze().expect("freezes");
        }
    }
    let offer = offer.ok_or_else(|| format!("no {kind:?} is offered"))?;
    let deleted = Arc::new(AtomicBool::new(false));
    let thread: Arc<Mutex<Option<JoinHandle>>> = Arc::default();
    let (flag, handle, theirs, env) = (deleted.clone(), thread.clone(), engine.clone(), env.clone());
    on_step(Some(Box::new(move |done| {
        if done != step || flag.swap(true, Ordering::AcqRel) {
            return;
        }
        let engine = theirs.clone();
        let started = env.spawn.spawn("deleter", Box::new(move || delete(&engine, deletes))).expect("starts");
        if done.name().ends_with("marks carried") {
            // The job holds the mark lock: the deletes wait for it and find their rows in the new layout.
            *handle.lock() = Some(started);
        } else {
            started.join().expect("the deletes are committed");
        }
    })));
    table.table.run(&offer).expect("the job runs");
    on_step(None);
    if let Some(handle) = thread.lock().take() {
        handle.join().expect("the deletes are committed");
    }
    assert!(deleted.load(Ordering::Acquire), "{} was reached", step.name());
    let txn = engine.begin().expect("begins");
    let rows = scan_rows(&table, txn.view(&table).expect("it is kept"), &[0], &[], 1, 8192).expect("scans");
    let wrong: Vec<&Value> =
        rows.iter().map(|row| &row[0]).filter(|key| matches!(key, Value::Int(key) if key % 7 == 3)).collect();
    let left = (0..KEYS).filter(|key| key % 7 != 3).count();
    if wrong.is_empty() && rows.len() == left && engine.check().expect("checks").is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {left} rows, {} deleted ones", rows.len(), wrong.len()))
    }
}

fn filled(engine: &Arc<Engine>, deletes: Deletes) -> TableRef {
    let column = |name: &str| Column { name: name.into(), data_type: DataType::BigInt, not_null: true };
    let mut new = NewTable::new("t", Schema::new(vec![column("k"), column("v")], vec![0]), "column");
    let sizes = [("column_table_bytes", 4096), ("bucket_bytes", 4096), ("granularity_bytes", 12288)];
    let sizes = sizes.into_iter().chain([("incremental_bytes", 6000), ("overlap_max", 2)]);
    new.options = sizes.map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    let conflict = if deletes == Deletes::Marked { "mark" } else { "antimatter" };
    new.options.insert("conflict".to_owned(), conflict.to_owned());
    let mut txn = engine.begin().expect("begins");
    let table = txn.create_table(new).expect("creates");
    for k in 0..KEYS {
        let row = table.codec.encode([ValueRef::Int(k), ValueRef::Int(k * 7919 % 100_003)]);
        txn.insert(&table, &row).expect("inserts");
    }
    txn.commit().expect("commits");
    engine.freeze().expect("freezes");
    table
}

/// Sets a few rows anew, all over the table.
fn update(engine: &Arc<Engine>, table: &TableRef, round: i64) {
    let mut txn = engine.begin().expect("begins");
    for k in (round % 41..KEYS).step_by(41) {
        let row = table.codec.encode([ValueRef::Int(k), ValueRef::Int(k * 104_729 % 100_003 + round)]);
        txn.update(table, &table.keys.encode([ValueRef::Int(k)]), &row).expect("updates");
    }
    txn.commit().expect("commits");
}

fn delete(engine: &Arc<Engine>, deletes: Deletes) {
    let mut txn = engine.begin().expect("begins");
    let table = txn.table("t").expect("is there");
    for k in (3..KEYS).step_by(7) {
        let key = table.keys.encode([ValueRef::Int(k)]);
        if deletes != Deletes::Marked {
            // A row that the transaction put it deletes without a look.
            txn.put(&table, &key, &table.codec.encode([ValueRef::Int(k), ValueRef::Int(0)])).expect("puts");
        }
        assert!(txn.delete(&table, &key).expect("deletes"));
    }
    txn.commit().expect("commits");
    if deletes == Deletes::BlindThenScanned {
        let txn = engine.begin().expect("begins");
        let rows = scan_rows(&table, txn.view(&table).expect("it is kept"), &[], &[], 1, 8192).expect("scans");
        assert_eq!(rows.len(), (0..KEYS).filter(|key| key % 7 != 3).count(), "a scan beside the job");
    }
}

fn interleaved(kind: JobKind, step: Step, deletes: Deletes) -> RunEnd {
    let simulation = Simulation::new(SimOptions::seeded(1));
    simulation.run(move |env| {
        if let Err(wrong) = delete_during(&env, kind, step, deletes) {
            panic!("deletes {deletes:?} after {}: {wrong}", step.name());
        }
    })
}

/// Marks that come after each step of each job are carried over; with the fault those before the switch are lost.
fn marks_at_every_step() {
    for (kind, name) in KINDS {
        for (place, step) in STEPS.iter().enumerate() {
            let name = format!("{name}: {step}");
            let step = *steps::ALL.iter().find(|step| step.name() == name).expect("a step");
            for deletes in [Deletes::Marked, Deletes::Blind, Deletes::BlindThenScanned] {
                assert_eq!(interleaved(kind, step, deletes), RunEnd::Finished, "{name}, {deletes:?}");
            }
            if place < 4 {
                plant(Some(faults::LOSE_MARK_AT_CONVERSION));
                let end = interleaved(kind, step, Deletes::Marked);
                plant(None);
                let RunEnd::Panicked { message, .. } = end else { panic!("{name}: a lost mark went unnoticed") };
                assert!(message.contains("deletes Marked after"), "{message}");
            }
        }
    }
}

// One test: faults are planted in the whole process.
#[test]
fn every_fault_of_this_method_is_caught() {
    for fault in FAULTS {
        let seed = caught(Some(fault));
        assert!(seed.is_some(), "{} went unnoticed", fault.name());
    }
    assert_eq!(caught(None), None, "without a fault all is well");
    marks_at_every_step();
    for fault in LAYER_FAULTS {
        assert!(caught_by_layers(Some(fault), 40).is_some(), "{} went unnoticed", fault.name());
    }
    assert_eq!(caught_by_layers(None, 3), None, "without a fault all is well");
}
