#![allow(clippy::disallowed_methods, reason = "tests run on real threads")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::method::Method;

use super::row_method;
use crate::testing::conformance::{self, Options};
use crate::testing::crashes::{self, Counts};

fn conform(seed: u64, page_bytes: usize, keys: u64) {
    let options = Options {
        seed,
        steps: 300,
        keys,
        rows_max: 12,
        look_every: 7,
        columns: false,
        table: BTreeMap::from([("page_bytes".to_owned(), page_bytes.to_string())]),
        row_table_bytes: 20_000,
    };
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let end = simulation.run(move |env| {
        let method: Arc<dyn Method> = row_method();
        conformance::run(&method, &env, &PathBuf::from("db"), &options);
    });
    assert_eq!(end, RunEnd::Finished, "seed {seed}, pages of {page_bytes}");
}

#[test]
fn row_tables_conform() {
    for seed in 0..8 {
        conform(seed, [512, 1024, 8192][seed as usize % 3], [60, 300][seed as usize / 2 % 2]);
    }
}

#[test]
fn no_acknowledged_commit_is_lost_wherever_the_machine_crashes() {
    let method: Arc<dyn Method> = row_method();
    let mut all = Counts::default();
    for seed in 0..40 {
        let counts = crashes::run(&method, seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        all.crashes += counts.crashes;
        all.rows += counts.rows;
        all.backups += counts.backups;
        all.joins += counts.joins;
        all.looks += counts.looks;
    }
    println!("{all:?}");
    assert!(all.crashes > 80 && all.rows > 10_000 && all.backups > 20, "{all:?}");
    assert!(all.joins > 100 && all.looks > 300, "{all:?}");
}
