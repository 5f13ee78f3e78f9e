//! Deliberate bugs: the tests of this module must notice each. Run alone, since a planted fault is planted for the
//! whole process:
//! `cargo test -p weft-kernel --features faults --lib index::tests::planted -- --ignored --test-threads=1`.

use std::panic::catch_unwind;

use super::{concurrent, crash, model};
use crate::fault::{Fault, plant};

fn caught(fault: Fault, body: fn()) -> bool {
    plant(Some(fault));
    let found = catch_unwind(body).is_err();
    plant(None);
    println!("{}: {found}", fault.name());
    found
}

#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    let faults: [(Fault, fn()); 7] = [
        (Fault::INDEX_CUT_TOO_HIGH, crash::what_was_logged_survives_a_crash_at_any_operation),
        (Fault::SKIP_FILE_SYNC, crash::what_was_logged_survives_a_crash_after_each_step_of_each_job),
        (Fault::SKIP_DIR_SYNC, crash::what_was_logged_survives_a_crash_after_each_step_of_each_job),
        (Fault::SKIP_MANIFEST_SYNC, crash::what_was_logged_survives_a_crash_after_each_step_of_each_job),
        (Fault::INDEX_ADD_UNGUARDED, concurrent::readers_find_what_was_published_while_writers_and_jobs_go_on),
        (Fault::INDEX_ASKS_TOO_EARLY, model::entries_that_nobody_needs_go_when_every_snapshot_is_behind_them),
        (Fault::INDEX_FILTER_FORGETS, model::random_histories_agree_with_a_map),
    ];
    let missed: Vec<&str> =
        faults.iter().filter(|(fault, body)| !caught(*fault, *body)).map(|(fault, _)| fault.name()).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
