//! The conformance suite on small sizes, and what is special to this method.

use std::collections::BTreeMap;
use std::path::PathBuf;

use weft_env::sim::{RunEnd, SimOptions, Simulation};

use super::lineage_method;
use super::steps::BUILD_FILES_SYNCED;
use crate::testing::conformance::{self, Options};
use crate::testing::crashes::{self, Counts};

fn options(seed: u64) -> Options {
    let segment_rows = [16, 64, 65536][(seed % 3) as usize];
    let mut table = BTreeMap::from([("segment_rows".to_owned(), segment_rows.to_string())]);
    // Every other table keeps everything, as tables do that say nothing.
    if !seed.is_multiple_of(2) {
        table.insert("history".to_owned(), "none".to_owned());
    }
    Options {
        seed,
        steps: 300,
        keys: [40, 200, 3000][(seed / 3 % 3) as usize],
        rows_max: 12,
        look_every: 7,
        columns: false,
        table,
        row_table_bytes: [2_000, 20_000, 1 << 20][(seed / 2 % 3) as usize],
    }
}

#[test]
fn random_histories_agree_with_the_model() {
    let mut built = 0;
    for seed in 0..12 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let end = simulation.run(move |env| {
            conformance::run(&lineage_method(), &env, &PathBuf::from("db"), &options(seed));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        let counts = simulation.step_counts();
        assert!(counts.contains_key("merge tails: switched"), "seed {seed} merges: {counts:?}");
        built += counts.get(BUILD_FILES_SYNCED.name()).copied().unwrap_or_default();
    }
    assert!(built > 50, "bulk loads are part of the histories: {built}");
}

#[test]
fn no_acknowledged_commit_is_lost_wherever_the_machine_crashes() {
    let mut all = Counts::default();
    for seed in 0..40 {
        let counts = crashes::run(&lineage_method(), seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
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
