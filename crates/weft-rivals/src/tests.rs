//! The suite that every method passes, on both rivals, and the transfers of threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::{Column, DataType, Schema, ValueRef};
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, NewTable};
use weft_tables::testing::conformance::{self, Options};
use weft_tables::testing::crashes::{self, Counts};
use weft_tables::testing::transfers;

use crate::{DbmOptions, IuhOptions, Rival, dbm, iuh};

fn rivals(seed: u64) -> [Arc<dyn Method>; 2] {
    let rows = [16, 64, 4096][(seed % 3) as usize];
    let merge_changes = [1, 8, 100][(seed / 3 % 3) as usize];
    [
        Arc::new(iuh(IuhOptions { page_rows: rows.into() })),
        Arc::new(dbm(DbmOptions { range_rows: rows, merge_changes })),
    ]
}

#[test]
fn random_histories_agree_with_the_model() {
    for seed in 0..12 {
        for method in rivals(seed) {
            let keys = [40, 200, 3000][(seed / 3 % 3) as usize];
            let table = BTreeMap::new();
            let options = Options {
                seed,
                steps: 300,
                keys,
                rows_max: 12,
                look_every: 7,
                table,
                row_table_bytes: 20_000,
                columns: false,
            };
            let name = method.name();
            let simulation = Simulation::new(SimOptions::seeded(seed));
            let end = simulation.run(move |env| conformance::run(&method, &env, &PathBuf::from("db"), &options));
            assert_eq!(end, RunEnd::Finished, "{name}, seed {seed}");
        }
    }
}

#[test]
fn no_acknowledged_commit_is_lost_wherever_the_machine_crashes() {
    for method in rivals(1) {
        let mut all = Counts::default();
        for seed in 0..40 {
            let counts = crashes::run(&method, seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
            all.crashes += counts.crashes;
            all.rows += counts.rows;
            all.backups += counts.backups;
            all.joins += counts.joins;
            all.looks += counts.looks;
        }
        println!("{}: {all:?}", method.name());
        assert!(all.crashes > 80 && all.rows > 10_000 && all.backups > 20, "{all:?}");
        assert!(all.joins > 100 && all.looks > 300, "{all:?}");
    }
}

#[test]
fn totals_stay_while_rows_change() {
    for seed in 0..20 {
        for method in rivals(seed) {
            let options = transfers::Options {
                seed,
                keys: 12,
                writers: 3,
                transactions: 25,
                readers: 2,
                table: BTreeMap::new(),
                row_table_bytes: 1_500,
            };
            let name = method.name();
            let simulation = Simulation::new(SimOptions::seeded(seed));
            let end = simulation.run(move |env| transfers::run(&method, &env, Path::new("db"), &options));
            assert_eq!(end, RunEnd::Finished, "{name}, seed {seed}");
        }
    }
}

/// A merge begins when the transactions that have entered the gate have left, and its waits are counted.
#[test]
fn a_merge_drains_those_who_have_entered() {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let method = Arc::new(dbm(DbmOptions { range_rows: 16, merge_changes: 1 }));
        let Rival::Dbm { gate, .. } = &*method else { panic!("it is one") };
        let options = EngineOptions { workers: 0, ..EngineOptions::default() };
        let engine = Engine::open(env.clone(), Path::new("db"), vec![method.clone()], options).expect("opens");
        let mut txn = engine.begin().expect("begins");
        let column = Column { name: "k".into(), data_type: DataType::BigInt, not_null: false };
        let table = txn.create_table(NewTable::new("t", Schema::new(vec![column], vec![0]), "dbm")).expect("creates");
        txn.insert(&table, &table.codec.encode([ValueRef::Int(1)])).expect("inserts");
        txn.commit().expect("commits");
        let main_rows = || table.table.layers().into_iter().find(|one| one.layer == "main store").map(|one| one.rows);
        let inside = gate.enter(&*env.clock);
        let merging = engine.clone();
        let job = move || while merging.run_one_job().expect("a job runs") {};
        let job = env.spawn.spawn("merge", Box::new(job)).expect("spawns");
        env.clock.sleep(Duration::from_millis(5));
        assert_eq!((main_rows(), gate.drains().count), (Some(0), 0), "somebody is inside");
        drop(inside);
        job.join().expect("it merges");
        assert_eq!((main_rows(), gate.drains().count, gate.entries().count), (Some(1), 1, 0));
    });
    assert_eq!(end, RunEnd::Finished);
}
