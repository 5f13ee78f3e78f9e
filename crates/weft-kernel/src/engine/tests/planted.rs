//! Deliberate bugs: the crash test must notice each. Run alone, since a planted fault is planted for the whole process:
//! `cargo test -p weft-kernel --features faults --lib planted -- --ignored --test-threads=1`.

use std::panic::catch_unwind;

use super::crash::{lives, writers_and_readers};
use crate::fault::{Fault, plant};

fn caught(fault: Fault, seeds: u64, body: fn(u64)) -> bool {
    plant(Some(fault));
    let found = (0..seeds).find(|&seed| catch_unwind(|| body(seed)).is_err());
    plant(None);
    println!("{}: {found:?}", fault.name());
    found.is_some()
}

#[test]
#[ignore = "plants faults for the whole process"]
fn planted_faults_are_caught() {
    let crash_test: fn(u64) = |seed| {
        let _counts = lives(seed);
    };
    let faults: [(Fault, fn(u64)); 6] = [
        (Fault::SkipLogSync, crash_test),
        (Fault::AckBeforeDurable, crash_test),
        (Fault::SkipManifestSync, crash_test),
        (Fault::SkipDirSync, crash_test),
        (Fault::PublishOutOfOrder, writers_and_readers),
        (Fault::ForgetKeyLock, writers_and_readers),
    ];
    let missed: Vec<&str> =
        faults.iter().filter(|(fault, body)| !caught(*fault, 60, *body)).map(|(fault, _)| fault.name()).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
