//! The suite that every method passes.

use std::path::PathBuf;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::method::Method;

use super::InPlace;
use crate::testing::conformance::{self, Options};
use crate::testing::crashes::{self, Counts};

#[test]
fn rows_in_place_pass_the_suite() {
    for seed in 0..12 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let keys = [40, 200, 3000][(seed % 3) as usize];
        let options = Options {
            seed,
            steps: 300,
            keys,
            rows_max: 12,
            look_every: 7,
            columns: false,
            table: std::collections::BTreeMap::new(),
            row_table_bytes: 20_000,
        };
        let end = simulation.run(move |env| {
            let method: Arc<dyn Method> = Arc::new(InPlace);
            conformance::run(&method, &env, &PathBuf::from("db"), &options);
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
}

#[test]
fn no_acknowledged_commit_is_lost_wherever_the_machine_crashes() {
    let method: Arc<dyn Method> = Arc::new(InPlace);
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
