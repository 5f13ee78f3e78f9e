//! Deliberate bugs: the crash test must notice each. Run alone, since a planted fault is planted for the whole process:
//! `cargo test -p weft-kernel --features faults --lib planted -- --ignored --test-threads=1`.

use std::panic::catch_unwind;

use super::crash::{lives, writers_and_readers};
use super::follower::{
    an_edit_that_the_writer_lost_is_not_followed, an_old_snapshot_does_without_an_index_that_was_merged,
    chunks_beyond_what_is_kept_are_read_again,
};
use super::retention::{
    a_log_that_is_held_makes_no_table_freeze, an_index_under_construction_is_flushed_and_keeps_no_log,
    memory_that_no_job_frees_makes_no_table_freeze_again_and_again,
    rows_that_changed_while_an_index_was_made_are_in_it_after_a_crash,
};
use crate::fault::{Fault, plant};
use crate::txn::tests::bounded::forgotten_commits_count_by_table;
use crate::txn::tests::unique::an_own_row_counts_as_the_commit_that_it_follows_leaves_it;

/// How many seeds a fault may take; tests without one fail at the first.
const SEEDS: u64 = 60;

fn caught(fault: Fault, seeds: u64, body: fn(u64)) -> bool {
    plant(Some(fault));
    let found = (0..seeds).find(|&seed| catch_unwind(|| body(seed)).is_err());
    plant(None);
    println!("{}: {found:?}", fault.name());
    found.is_some()
}

#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    let crash_test: fn(u64) = |seed| {
        let _counts = lives(seed);
    };
    let faults: [(Fault, fn(u64)); 16] = [
        (Fault::FOLLOW_LOST_EDIT, |_| an_edit_that_the_writer_lost_is_not_followed()),
        (Fault::FOLLOW_WITHOUT_FLOOR, |_| an_old_snapshot_does_without_an_index_that_was_merged()),
        (Fault::FORGET_LEFT_CHUNKS, |_| chunks_beyond_what_is_kept_are_read_again()),
        (Fault::OVERLOOK_BUILDING, |_| an_index_under_construction_is_flushed_and_keeps_no_log()),
        (Fault::LIST_BUILT_EARLY, |_| an_index_under_construction_is_flushed_and_keeps_no_log()),
        (Fault::FREEZE_ALWAYS, |_| a_log_that_is_held_makes_no_table_freeze()),
        (Fault::FREEZE_AGAIN, |_| memory_that_no_job_frees_makes_no_table_freeze_again_and_again()),
        (Fault::FORGET_MISSED_ROWS, |_| rows_that_changed_while_an_index_was_made_are_in_it_after_a_crash()),
        (Fault::UNIQUE_BEFORE_FOLLOWED, |_| an_own_row_counts_as_the_commit_that_it_follows_leaves_it()),
        (Fault::FORGET_COMMITS, |_| forgotten_commits_count_by_table()),
        (Fault::SKIP_LOG_SYNC, crash_test),
        (Fault::ACK_BEFORE_DURABLE, crash_test),
        (Fault::SKIP_MANIFEST_SYNC, crash_test),
        (Fault::SKIP_DIR_SYNC, crash_test),
        (Fault::PUBLISH_OUT_OF_ORDER, writers_and_readers),
        (Fault::FORGET_KEY_LOCK, writers_and_readers),
    ];
    let missed: Vec<&str> =
        faults.iter().filter(|(fault, body)| !caught(*fault, SEEDS, *body)).map(|(fault, _)| fault.name()).collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}
