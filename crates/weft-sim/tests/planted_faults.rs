//! Each deliberate bug is caught by the crash campaign, the isolation checker, damage to files or a promise: with the
//! fault planted some seed fails, without it none does.
//!
//! A planted fault is there for the whole process, so this is one test in a binary of its own. docs/faults.md lists
//! which test catches which fault.

use std::panic;
use std::path::Path;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_kernel::fault::{Fault, plant};
use weft_sim::checker::Level;
use weft_sim::isolation::Plan;
use weft_sim::{Damaged, Scenario, build_beside_writers, completeness, damage, promises, run_scenario, run_seed};
use weft_tables::column_method;
use weft_tables::testing::layers;

/// How many seeds a fault may take to be noticed, and crashes per seed.
const SEEDS: u64 = 24;
const CRASHES: u64 = 12;
/// How many seeds of the test of layers.
const LAYER_SEEDS: u64 = 6;
/// How many seeds of the isolation plan.
const ISOLATION_SEEDS: u64 = 100;
/// How many seeds of the isolation plan with speculative reads: a crash must come between a read and its durability.
const SPECULATIVE_SEEDS: u64 = 600;

/// The tests of the kernel's index module catch those of its storage, those of its engine a storm of freezes and a
/// value that was tested too early, weft-tables' of the account and of troubles those of these.
fn is_caught_elsewhere(fault: Fault) -> bool {
    use Fault::{
        CutUnfed, ForgetFooterCharge, ForgetGivenUp, ForgetUnopened, FreezeAgain, HouseStopsAtError, KeepIdleHandles,
        NoPause, OfferDamaged, PoisonOnJobError, QuarantineAtOnce, ReadOnce, StopAtInstall, SwitchUnguarded,
        UniqueBeforeFollowed,
    };
    let of_troubles = [
        PoisonOnJobError,
        NoPause,
        OfferDamaged,
        SwitchUnguarded,
        StopAtInstall,
        ForgetGivenUp,
        ReadOnce,
        CutUnfed,
        ForgetUnopened,
        QuarantineAtOnce,
        KeepIdleHandles,
        HouseStopsAtError,
    ];
    fault.name().starts_with("Index")
        || matches!(fault, ForgetFooterCharge | FreezeAgain | UniqueBeforeFollowed)
        || of_troubles.contains(&fault)
}

/// What must notice a fault.
fn first_failure_with(fault: Fault) -> Option<(u64, String)> {
    use Fault::{
        ConstantForecast, ForgetBeforeImage, ForgetCharge, ForgetExpressionColumns, ForgetRebase, ForgetSavepoint,
        ForgetWaiter, HoldSlotWhileWaiting, InstallUnordered, KeepStatementSnapshot, MissColumnConflict,
        OverlookDeadlock, OverlookQueue, SkipParentLock, SkipPendingConstraints, SkipRowLock, SkipValidation,
        SkipValueLock, UniqueLookAtMaximum, ValidateKeysOnly, ValidatePublishedOnly,
    };
    match fault {
        ForgetWaiter
        | ConstantForecast
        | OverlookDeadlock
        | OverlookQueue
        | HoldSlotWhileWaiting
        | KeepStatementSnapshot
        | ForgetBeforeImage
        | ForgetCharge
        | ForgetExpressionColumns
        | Fault::OverlookBuilding
        | Fault::FreezeAlways
        | Fault::ForgetCommits
        | SkipValueLock
        | SkipParentLock
        | SkipPendingConstraints => promises().err().map(|broken| (1, broken)),
        Fault::ForgetBuildingCut | Fault::ListBuiltEarly => {
            (0..SEEDS).find_map(|seed| build_beside_writers(seed, CRASHES).err().map(|violation| (seed, violation)))
        }
        Fault::SkipSpeculativeValidation => {
            first_of(SPECULATIVE_SEEDS, |seed| Plan::speculative(seed, Some(Level::RepeatableRead)))
        }
        // Each of them by itself.
        SkipValidation | ValidateKeysOnly | ValidatePublishedOnly => first_anomaly(Some(Level::Serializable)),
        SkipRowLock | ForgetRebase | InstallUnordered | MissColumnConflict | ForgetSavepoint => {
            first_anomaly(Some(Level::RepeatableRead))
        }
        // Both of them, each by itself.
        UniqueLookAtMaximum => first_anomaly(Some(Level::RepeatableRead)).and_then(|_| first_failure_of_members(SEEDS)),
        Fault::SkipManifestEndCheck
        | Fault::CutLogUnnamed
        | Fault::ForgetChunkedFailure
        | Fault::ForgetPanickedWriter => completeness().err().map(|broken| (0, broken)),
        Fault::SkipChecksum | Fault::SkipLogEndCheck => {
            (0..SEEDS * 2).find_map(|seed| damage(seed, Damaged::Log).err().map(|violation| (seed, violation)))
        }
        // What is lost after a reopen is where tables lie, never a row.
        Fault::ForgetLayers => first_failure_of_layers(),
        // A scan during the conversion would hide it.
        Fault::ConvertUnreconciled => first_failure_of_layers(),
        _ => first_failure(SEEDS),
    }
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

#[test]
fn every_planted_fault_is_caught() {
    let only = std::env::var("WEFT_SIM_FAULT").ok();
    if only.is_none() {
        assert_eq!(first_failure(4), None, "nothing fails without a fault");
        assert_eq!(first_failure_of_members(4), None, "unique values stay unique without a fault");
        assert_eq!(first_failure_of_layers().map(|(seed, _)| seed), None, "layers are kept without a fault");
        assert_eq!(promises(), Ok(()), "promises are kept without a fault");
        assert_eq!(completeness(), Ok(()), "promises about the ends of the log are kept without a fault");
        for level in [Level::RepeatableRead, Level::Serializable] {
            assert_eq!(first_anomaly_within(4, Some(level)), None, "no anomaly without a fault");
            let speculative = first_of(4, |seed| Plan::speculative(seed, Some(level)));
            assert_eq!(speculative, None, "no anomaly of speculative reads without a fault");
        }
        assert!((0..8).all(|seed| damage(seed, Damaged::Log).is_ok()), "damage is reported without a fault");
    }
    // The failures are expected: their panics need no text of their own.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let mut missed = Vec::new();
    for &fault in Fault::ALL.iter().filter(|fault| !is_caught_elsewhere(**fault)) {
        if only.as_ref().is_some_and(|only| only != fault.name()) {
            continue;
        }
        plant(Some(fault));
        let failure = first_failure_with(fault);
        plant(None);
        match failure {
            Some((seed, text)) => {
                println!("{:<22} seed {seed:>2}: {}", fault.name(), text.lines().next().unwrap_or_default());
            }
            None => missed.push(fault.name()),
        }
    }
    panic::set_hook(hook);
    assert!(missed.is_empty(), "planted and not caught in {SEEDS} seeds: {missed:?}");
}
