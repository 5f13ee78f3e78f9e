//! Planted faults: with each of these deliberate bugs the transfers test must fail, or the test is worth nothing.
#![cfg(feature = "faults")]

use std::collections::BTreeMap;
use std::path::Path;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::fault::{Fault, plant};
use weft_tables::column_method;
use weft_tables::testing::transfers;

fn options(seed: u64) -> transfers::Options {
    let table = BTreeMap::from([
        ("column_table_bytes".to_owned(), "4096".to_owned()),
        ("overlap_max".to_owned(), "2".to_owned()),
        ("dead_percent".to_owned(), "10".to_owned()),
    ]);
    let row_table_bytes = [1_500, 6_000, 1 << 20][(seed % 3) as usize];
    transfers::Options { seed, keys: 12, writers: 3, transactions: 25, readers: 2, table, row_table_bytes }
}

/// The faults of this method that need no crash to be seen.
const FAULTS: [Fault; 5] = [
    Fault::LoseMarkAtConversion,
    Fault::StaleLayout,
    Fault::DropDeadTooEarly,
    Fault::ConvertTooEarly,
    Fault::ForgetMarks,
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

// One test: faults are planted in the whole process.
#[test]
fn the_transfers_test_catches_every_fault_of_this_method() {
    for fault in FAULTS {
        let seed = caught(Some(fault));
        assert!(seed.is_some(), "{} went unnoticed", fault.name());
    }
    assert_eq!(caught(None), None, "without a fault all is well");
}
