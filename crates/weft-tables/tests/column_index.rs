//! Column indexes of row tables, and their planted faults: with each of these deliberate bugs its test must fail, or the
//! test is worth nothing.
#![cfg(feature = "faults")]
#![allow(clippy::unwrap_used, reason = "a test ends where what it makes cannot be made")]

use std::collections::BTreeMap;
use std::path::Path;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync::Mutex;
use weft_kernel::fault::{Fault, plant};
use weft_tables::row_method;
use weft_tables::testing::{conformance, crashes};

/// Faults are planted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn tiny(page_bytes: u64) -> BTreeMap<String, String> {
    BTreeMap::from([("page_bytes".to_owned(), page_bytes.to_string()), ("changed_bytes".to_owned(), "4096".to_owned())])
}

/// What a seed of the suite ends with, when not well.
fn suite(seed: u64, steps: u64) -> Option<String> {
    let options = conformance::Options {
        seed,
        steps,
        keys: [60, 300][(seed / 2 % 2) as usize],
        rows_max: 12,
        look_every: 5,
        table: tiny([512, 1024][(seed % 2) as usize]),
        row_table_bytes: 2_000,
        columns: true,
    };
    let simulation = Simulation::new(SimOptions::seeded(seed));
    let body = move |env| conformance::run(&row_method(), &env, Path::new("db"), &options);
    match simulation.run(body) {
        RunEnd::Finished => None,
        other => Some(format!("seed {seed}: {other:?}")),
    }
}

fn crash(seed: u64) -> Option<String> {
    let run = crashes::run_with_columns(&row_method(), seed, &tiny([512, 1024, 8192][(seed % 3) as usize]));
    run.err().map(|what| format!("seed {seed}: {what}"))
}

/// How many seeds; `WEFT_COLUMNS_SEEDS` says another number.
fn seeds(usual: u64) -> u64 {
    std::env::var("WEFT_COLUMNS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_column_index_is_its_table_at_every_snapshot() {
    let _alone = ALONE.lock();
    assert_eq!((0..seeds(12)).find_map(|seed| suite(seed, 300)), None);
}

#[test]
fn a_column_index_is_its_table_after_every_crash() {
    let _alone = ALONE.lock();
    assert_eq!((0..seeds(30)).find_map(crash), None);
}

#[test]
fn the_suite_tells_of_faults() {
    let _alone = ALONE.lock();
    for fault in [Fault::COLUMNS_MISS_UPDATE, Fault::COLUMNS_MISS_DELETE, Fault::COLUMNS_FORGET_REDO] {
        plant(Some(fault));
        let found = (0..20).find_map(|seed| suite(seed, 150));
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}

#[test]
fn what_a_crash_leaves_tells_of_faults() {
    let _alone = ALONE.lock();
    for fault in [Fault::COLUMNS_FORGET_REDO, Fault::COLUMNS_FORGET_AMENDMENTS] {
        plant(Some(fault));
        let found = (0..60).find_map(crash);
        plant(None);
        assert!(found.is_some(), "not noticed: {fault:?}");
    }
}
