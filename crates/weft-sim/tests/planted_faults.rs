//! Each deliberate bug is caught by the crash campaign, the isolation checker, damage to files or a promise: with the
//! fault planted some seed fails, without it none does.
//!
//! A planted fault is there for the whole process, so this is one test in a binary of its own, which starts itself once
//! for each. docs/faults.md lists which test catches which fault.

// Wall time is measured outside of the simulation, and a test starts processes.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::fault::{Fault, plant};
use weft_kernel::method::Method;
use weft_sim::checker::Level;
use weft_sim::isolation::Plan;
use weft_sim::{
    Damaged, Scenario, all_faults, build_beside_writers, completeness, damage, follow, promises, run_scenario, run_seed,
};
use weft_tables::column::faults;
use weft_tables::column_method;
use weft_tables::testing::in_place::InPlace;
use weft_tables::testing::{conformance, crashes, layers};
use weft_tables::{lineage, row};

/// How many seeds a fault may take to be noticed, and crashes per seed.
const SEEDS: u64 = 24;
const CRASHES: u64 = 12;
/// How many seeds of the test of layers.
const LAYER_SEEDS: u64 = 6;
/// How many seeds of the isolation plan.
const ISOLATION_SEEDS: u64 = 100;
/// How many seeds of the isolation plan with speculative reads: a crash must come between a read and its durability.
const SPECULATIVE_SEEDS: u64 = 600;

/// Says which fault a process tries.
const ONLY: &str = "WEFT_SIM_FAULT";
/// Instead of one: that nothing fails without.
const NONE: &str = "none";

/// What is noticed by what.
const LISTED: &str = include_str!("../../../docs/faults.md");

/// The tests of the kernel's index module catch those of its storage, those of its log those of files that become
/// segments, those of its engine a storm of freezes and a value that was tested too early, weft-tables' of the account
/// of troubles, of lineage tables, of row tables, of column
/// indexes and of what is known of columns those of these.
fn is_caught_elsewhere(fault: Fault) -> bool {
    let of_troubles = [
        Fault::POISON_ON_JOB_ERROR,
        Fault::NO_PAUSE,
        Fault::OFFER_DAMAGED,
        Fault::SWITCH_UNGUARDED,
        Fault::STOP_AT_INSTALL,
        faults::FORGET_GIVEN_UP,
        lineage::faults::REUSE_ROW_IDS,
        lineage::faults::KEEP_NEWEST_ROW_ID,
        lineage::faults::MERGE_HOLDS_GATE,
        lineage::faults::VERSIONS_END_WITH_MERGE,
        lineage::faults::PRUNE_BY_PAGES,
        lineage::faults::TOUCH_OWN_COLUMNS_ONLY,
        lineage::faults::DIFFER_BY_PAGES,
        lineage::faults::LOSE_ENDED_VERSIONS,
        Fault::READ_ONCE,
        Fault::CUT_UNFED,
        Fault::FORGET_UNOPENED,
        Fault::QUARANTINE_AT_ONCE,
        Fault::KEEP_IDLE_HANDLES,
        Fault::REMOVE_AFTER_CLOSE,
        Fault::HOUSE_STOPS_AT_ERROR,
        Fault::LOOK_AGAIN,
        Fault::CHARGE_SHARED_BUFFERS,
        Fault::WAKE_WHILE_RESTING,
        Fault::NONSENSE_COLUMNS,
        faults::RANGE_TRUSTS_FIRST,
        faults::RANGE_LEAVES_COVERING,
        faults::SAMPLE_BEGINNING,
        faults::LEAVE_OUT_LACKING,
        faults::COVER_UNREADABLE,
        faults::FORGET_NOTED,
    ];
    row::faults::ALL.contains(&fault)
        || fault.name().starts_with("INDEX_")
        || fault.name().starts_with("COLUMNS_")
        || matches!(
            fault,
            Fault::FORGET_FOOTER_CHARGE
                | Fault::FREEZE_AGAIN
                | Fault::RECYCLE_UNSYNCED
                | Fault::READ_RECYCLED
                | Fault::CUT_LOG_FOLLOWED
                | Fault::FOLLOW_ACROSS_GAP
                | Fault::FOLLOW_LOST_EDIT
                | Fault::SKIP_FENCE
                | Fault::TAKE_AFTER_READ
                | Fault::REMOVE_OF_SUCCESSOR
                | Fault::LEAVE_EMPTY_SEGMENT
                | Fault::READ_STRAY_SEGMENT
                | Fault::RECYCLE_OF_OTHERS
                | Fault::KEEP_LATE_SEGMENT
                | Fault::UNIQUE_BEFORE_FOLLOWED
                | Fault::FOLLOW_WITHOUT_FLOOR
        )
        || of_troubles.contains(&fault)
}

/// What must notice a fault.
fn first_failure_with(fault: Fault) -> Option<(u64, String)> {
    match fault {
        Fault::FORGET_WAITER
        | Fault::CONSTANT_FORECAST
        | Fault::OVERLOOK_DEADLOCK
        | Fault::OVERLOOK_QUEUE
        | Fault::HOLD_SLOT_WHILE_WAITING
        | Fault::KEEP_STATEMENT_SNAPSHOT
        | Fault::FORGET_BEFORE_IMAGE
        | Fault::FORGET_CHARGE
        | Fault::FORGET_EXPRESSION_COLUMNS
        | Fault::OVERLOOK_BUILDING
        | Fault::FREEZE_ALWAYS
        | Fault::FORGET_COMMITS
        | Fault::SKIP_VALUE_LOCK
        | Fault::SKIP_PARENT_LOCK
        | Fault::SKIP_PENDING_CONSTRAINTS => promises().err().map(|broken| (1, broken)),
        Fault::FORGET_BUILDING_CUT | Fault::LIST_BUILT_EARLY | Fault::FORGET_MISSED_ROWS => {
            (0..SEEDS * 8).find_map(|seed| build_beside_writers(seed, CRASHES).err().map(|violation| (seed, violation)))
        }
        Fault::SKIP_SPECULATIVE_VALIDATION => {
            first_of(SPECULATIVE_SEEDS, |seed| Plan::speculative(seed, Some(Level::RepeatableRead)))
        }
        // Each of them by itself.
        Fault::SKIP_VALIDATION | Fault::VALIDATE_KEYS_ONLY | Fault::VALIDATE_PUBLISHED_ONLY => {
            first_anomaly(Some(Level::Serializable))
        }
        Fault::SKIP_ROW_LOCK
        | Fault::FORGET_REBASE
        | Fault::INSTALL_UNORDERED
        | Fault::MISS_COLUMN_CONFLICT
        | Fault::FORGET_SAVEPOINT => first_anomaly(Some(Level::RepeatableRead)),
        // Both of them, each by itself.
        Fault::UNIQUE_LOOK_AT_MAXIMUM => {
            first_anomaly(Some(Level::RepeatableRead)).and_then(|_| first_failure_of_members(SEEDS * 8))
        }
        Fault::SKIP_MANIFEST_END_CHECK
        | Fault::CUT_LOG_UNNAMED
        | Fault::FORGET_CHUNKED_FAILURE
        | Fault::FORGET_PANICKED_WRITER
        | Fault::FORGET_LAYOUT_RECORD => completeness().err().map(|broken| (0, broken)),
        // Both of them, each by itself.
        Fault::PAGE_BEFORE_LOG => completeness().err().and_then(|_| first_crash_of_pages(SEEDS * 4)),
        Fault::SKIP_CHECKSUM | Fault::SKIP_LOG_END_CHECK => {
            (0..SEEDS * 2).find_map(|seed| damage(seed, Damaged::Log).err().map(|violation| (seed, violation)))
        }
        Fault::PUBLISH_BEFORE_APPLIED | faults::FOLLOW_BELOW_FLOOR | faults::FOLLOW_WITHOUT_MARKS => {
            (0..SEEDS * 4).find_map(|seed| follow(seed, 1).err().map(|violation| (seed, violation)))
        }
        faults::REPLAY_TWICE_APPLIES | Fault::READ_BELOW_FLOOR | Fault::FORGET_PROMISE => {
            first_failure_of_conformance()
        }
        Fault::FORGET_PAGE_RECORDS | Fault::CHANGE_COPIED_PAGES => first_crash_of_pages(SEEDS * 4),
        // A page must be split off while a job writes, and the log must be cut before the next one.
        Fault::CUT_LOG_UNDER_PAGES => first_crash_of_pages(SEEDS * 12),
        // What is lost after a reopen is where tables lie, never a row.
        faults::FORGET_LAYERS => first_failure_of_layers(),
        // Estimates are no answers: only who counts the rows that they are of notices.
        faults::MERGE_FORGETS_PART | faults::MERGE_COUNTS_TWICE | faults::SUMMARY_OUTLIVES_PART => {
            first_failure_of_layers()
        }
        // A scan during the conversion would hide it.
        faults::CONVERT_UNRECONCILED => first_failure_of_layers(),
        _ => first_failure(SEEDS),
    }
}

/// The first seed of the suite that each method passes that fails.
fn first_failure_of_conformance() -> Option<(u64, String)> {
    (0..SEEDS).find_map(|seed| {
        let table = BTreeMap::from([("column_table_bytes".to_owned(), "4096".to_owned())]);
        let row_table_bytes = 2_000;
        let options = conformance::Options {
            seed,
            steps: 300,
            keys: 40,
            rows_max: 12,
            look_every: 50,
            table,
            row_table_bytes,
            columns: false,
        };
        let body = move |env| conformance::run(&column_method(), &env, Path::new("db"), &options);
        match Simulation::new(SimOptions::seeded(seed)).run(body) {
            RunEnd::Finished => None,
            other => Some((seed, format!("{other:?}"))),
        }
    })
}

/// The first seed of a table of pages on a machine that crashes that fails.
fn first_crash_of_pages(seeds: u64) -> Option<(u64, String)> {
    let method: Arc<dyn Method> = Arc::new(InPlace);
    crashes::first_failure(&method, seeds)
}

/// The first seed of weft-tables' test of layers that fails.
fn first_failure_of_layers() -> Option<(u64, String)> {
    (0..LAYER_SEEDS).find_map(|seed| {
        let options = layers::Options { seed, rounds: 8, keys: 900, workers: 2, whole: false };
        let body = move |env| layers::run(&column_method(), &env, Path::new("db"), &options);
        match Simulation::new(SimOptions::seeded(seed)).run(body) {
            RunEnd::Finished => None,
            other => Some((seed, format!("{other:?}"))),
        }
    })
}

/// The first seed whose history shows what the level forbids, or violates something else.
fn first_anomaly(level: Option<Level>) -> Option<(u64, String)> {
    first_anomaly_within(ISOLATION_SEEDS, level)
}

fn first_anomaly_within(seeds: u64, level: Option<Level>) -> Option<(u64, String)> {
    first_of(seeds, |seed| Plan::new(seed, level))
}

fn first_of(seeds: u64, plan: impl Fn(u64) -> Plan) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| match plan(seed).simulate() {
        Ok(outcome) => outcome.first_violation().map(|violation| (seed, violation)),
        Err(violation) => Some((seed, violation)),
    })
}

/// The first seed of the campaign whose transactions are all over members that fails, and what it says.
fn first_failure_of_members(seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| {
        let report = run_scenario(Scenario::of_members(seed), CRASHES, false);
        report.failures.into_iter().next().map(|failure| (seed, failure))
    })
}

/// The first seed of the campaign that fails, and what it says.
fn first_failure(seeds: u64) -> Option<(u64, String)> {
    (0..seeds)
        .find_map(|seed| run_seed(seed, CRASHES, false).failures.into_iter().next().map(|failure| (seed, failure)))
}

/// A planted fault is there for a whole process: each has a process of its own, as many at a time as there are cores.
fn try_apart(faults: &[&str]) {
    let program = std::env::current_exe().expect("the program has a name");
    let next = AtomicUsize::new(0);
    let try_some = || {
        let mut failed = 0;
        while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut child = std::process::Command::new(&program);
            child.args(["every_planted_fault_is_caught", "--exact", "--nocapture"]).env(ONLY, fault);
            child.stderr(std::process::Stdio::inherit());
            let run = child.output().expect("the program can be started");
            let told = String::from_utf8_lossy(&run.stdout);
            print!("{told}");
            failed += usize::from(!run.status.success() || !told.contains(" 1 passed"));
        }
        failed
    };
    let count = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let failed: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..count).map(|_| scope.spawn(try_some)).collect();
        all.into_iter().map(|one| one.join().expect("it starts processes")).sum()
    });
    assert_eq!(failed, 0, "processes that say what was not caught");
}

fn nothing_fails_without_a_fault() {
    assert_eq!(first_failure(4), None, "nothing fails without a fault");
    assert_eq!(first_failure_of_members(4), None, "unique values stay unique without a fault");
    assert_eq!(first_failure_of_layers().map(|(seed, _)| seed), None, "layers are kept without a fault");
    assert_eq!(first_failure_of_conformance(), None, "the method passes its suite without a fault");
    assert_eq!(promises(), Ok(()), "promises are kept without a fault");
    assert_eq!(completeness(), Ok(()), "promises about the ends of the log are kept without a fault");
    for level in [Level::RepeatableRead, Level::Serializable] {
        assert_eq!(first_anomaly_within(4, Some(level)), None, "no anomaly without a fault");
        let speculative = first_of(4, |seed| Plan::speculative(seed, Some(level)));
        assert_eq!(speculative, None, "no anomaly of speculative reads without a fault");
    }
    assert!((0..4).all(|seed| follow(seed, 1).is_ok()), "a follower shows the model without a fault");
    assert!((0..8).all(|seed| damage(seed, Damaged::Log).is_ok()), "damage is reported without a fault");
}

#[test]
fn every_planted_fault_is_caught() {
    let is_listed = |fault: &Fault| LISTED.contains(&format!("| `{}`", fault.name()));
    let unlisted: Vec<_> =
        all_faults().into_iter().filter(|fault| !is_listed(fault)).map(|fault| fault.name()).collect();
    assert!(unlisted.is_empty(), "docs/faults.md does not say what notices {unlisted:?}");
    let faults: Vec<Fault> = all_faults().into_iter().filter(|fault| !is_caught_elsewhere(*fault)).collect();
    let Ok(only) = std::env::var(ONLY) else {
        let names: Vec<&str> = [NONE].into_iter().chain(faults.iter().map(|fault| fault.name())).collect();
        return try_apart(&names);
    };
    if only == NONE {
        return nothing_fails_without_a_fault();
    }
    let fault = *faults.iter().find(|fault| fault.name() == only).expect("a fault of that name is caught here");
    // The failures are expected: their panics need no text of their own.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    plant(Some(fault));
    let begun = std::time::Instant::now();
    let failure = first_failure_with(fault);
    plant(None);
    panic::set_hook(hook);
    let seconds = begun.elapsed().as_secs_f64();
    let (seed, text) = failure.unwrap_or_else(|| panic!("{only} is planted and not caught in {SEEDS} seeds"));
    println!("{only:<22} {seconds:>5.1} s, seed {seed:>2}: {}", text.lines().next().unwrap_or_default());
}
