//! What is known of columns, for every method, and the planted faults of it: with each of these deliberate bugs its
//! test must fail, or the test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::path::Path;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_kernel::fault::{Fault, plant};
use weft_kernel::method::Method;
use weft_tables::column::faults;
use weft_tables::testing::{layers, statistics};
use weft_tables::{column_method, lineage_method, row_method};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn methods() -> [Arc<dyn Method>; 3] {
    [column_method(), row_method(), lineage_method()]
}

/// How a method's run ends, when not well.
fn failure(method: Arc<dyn Method>) -> Option<String> {
    let name = method.name();
    match Simulation::new(SimOptions::seeded(1)).run(move |env| statistics::run(&method, &env, Path::new("db"))) {
        RunEnd::Finished => None,
        other => Some(format!("{name}: {other:?}")),
    }
}

/// The first seed of the test of layers that does not end well.
fn failure_of_layers() -> Option<u64> {
    let bad = |&seed: &u64| {
        let options = layers::Options { seed, rounds: 8, keys: 900, workers: 2, whole: false };
        let body = move |env| layers::run(&column_method(), &env, Path::new("db"), &options);
        Simulation::new(SimOptions::seeded(seed)).run(body) != RunEnd::Finished
    };
    (0..6).find(bad)
}

#[test]
fn what_is_known_of_columns_is_what_is_there() {
    let _alone = ALONE.lock();
    assert_eq!(methods().into_iter().find_map(failure), None);
}

#[test]
fn planted_faults_of_what_is_known_are_caught() {
    let _alone = ALONE.lock();
    let in_files = [faults::SAMPLE_BEGINNING, faults::LEAVE_OUT_LACKING];
    for fault in in_files.into_iter().chain([Fault::LOOK_AGAIN, Fault::NONSENSE_COLUMNS]) {
        plant(Some(fault));
        let found = failure(column_method());
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

#[test]
fn planted_faults_of_merged_summaries_are_caught() {
    let _alone = ALONE.lock();
    for fault in [faults::MERGE_FORGETS_PART, faults::MERGE_COUNTS_TWICE, faults::SUMMARY_OUTLIVES_PART] {
        plant(Some(fault));
        let found = failure_of_layers();
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}
