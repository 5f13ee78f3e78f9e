//! The crash campaign: at least 2,000 crash points over 50 seeds, every named step crashed after, and determinism.
//!
//! `WEFT_SIM_CRASHES` and `WEFT_SIM_SEEDS` enlarge it, `WEFT_SIM_SEED=7` runs one seed with its trace recorded,
//! `WEFT_SIM_FIRST_SEED` moves the range, `WEFT_SIM_THREADS` says how many simulations run side by side.

// Wall time is measured outside of the simulation.
#![allow(clippy::disallowed_methods)]

use weft_kernel::step::{Moment, moments_passed};
use weft_sim::{Campaign, Counts, Scenario, run_scenario, run_seed};

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

/// Crashes per seed of lineage tables: their past grows with each.
const LINEAGE_CRASHES: u64 = 24;

/// Seeds that are run beside the others while steps are missed.
const MORE_SEEDS: u64 = 10;

/// What one seed runs.
fn crashes_per_seed(seeds: u64) -> u64 {
    let crashes = setting("WEFT_SIM_CRASHES").unwrap_or(if cfg!(debug_assertions) { 1000 } else { 2000 });
    crashes.div_ceil(seeds)
}

fn seeds() -> u64 {
    setting("WEFT_SIM_SEEDS").unwrap_or(if cfg!(debug_assertions) { 20 } else { 50 })
}

/// Simulations side by side.
fn threads() -> usize {
    setting("WEFT_SIM_THREADS").map_or_else(
        || std::thread::available_parallelism().map_or(2, std::num::NonZero::get),
        |threads| threads as usize,
    )
}

#[test]
fn no_crash_loses_invents_or_tears_a_transaction() {
    let crashes_per_seed = crashes_per_seed(seeds());
    if let Some(seed) = setting("WEFT_SIM_SEED") {
        let report = run_seed(seed, crashes_per_seed, true);
        println!("{report}");
        assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
        return;
    }
    let threads = threads();
    let first_seed = setting("WEFT_SIM_FIRST_SEED").unwrap_or(0);
    let aims = Vec::new();
    let campaign = Campaign { scenario: Scenario::seeded, first_seed, seeds: seeds(), crashes_per_seed, threads, aims };
    let started = std::time::Instant::now();
    let mut report = campaign.run();
    // Which crash comes after a rare step is chance: more seeds, aimed at those that had none.
    let mut more = Campaign { first_seed: first_seed + seeds(), seeds: MORE_SEEDS, ..campaign };
    while !report.missed_steps().is_empty() && report.failures.is_empty() && report.seeds < 2 * seeds() {
        more.aims = report.missed_steps();
        report.add(more.run());
        more.first_seed += MORE_SEEDS;
    }
    println!("{report}\n{:.1} s on {threads} threads", started.elapsed().as_secs_f64());
    let replay =
        format!("replay one seed with its trace: WEFT_SIM_SEED=<seed> WEFT_SIM_CRASHES={}", crashes_per_seed * seeds());
    let failures = report.failures.join("\n");
    assert!(report.failures.is_empty(), "{failures}\n{replay} WEFT_SIM_SEEDS={} cargo test -p weft-sim", seeds());
    assert!(
        report.counts.recovered_in_flight > 0 && report.counts.lost_in_flight > 0,
        "in-flight commits go both ways"
    );
    assert!(report.counts.lost_async > 0, "asynchronous commits are lost now and then");
    let Counts { values_refused, upserts_updated, upserts_inserted, members_in_bulk, .. } = report.counts;
    let beside = [values_refused, upserts_updated, upserts_inserted, members_in_bulk];
    assert!(beside.iter().all(|&count| count > 0), "values are refused, upserted and built in bulk: {beside:?}");
    let moments = moments_passed();
    println!("{moments:?}");
    // Rare ones; tests of their own come to them.
    let is_rare = |moment| matches!(moment, Moment::UniqueGone | Moment::UniqueFollowed | Moment::KeepAsked);
    let missed = moments.iter().filter(|&&(moment, count)| count == 0 && !is_rare(moment));
    let missed: Vec<_> = missed.map(|(moment, _)| moment.name()).collect();
    assert!(missed.is_empty(), "these moments never came: {missed:?}");
    let missed = report.missed_steps();
    assert!(missed.is_empty(), "these steps were not reached or not crashed after: {missed:?}");
}

#[test]
fn unique_values_stay_unique_beside_bulk_statements_and_crashes() {
    let seeds = seeds() / 4;
    let (mut refused, mut in_bulk) = (0, 0);
    for seed in 0..seeds {
        let report = run_scenario(Scenario::of_members(seed), 12, false);
        assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
        refused += report.counts.values_refused;
        in_bulk += report.counts.members_in_bulk;
    }
    println!("{refused} values refused, {in_bulk} bulk statements beside them");
    assert!(refused > seeds && in_bulk > seeds, "{refused} values refused, {in_bulk} bulk statements beside them");
}

#[test]
fn lineage_tables_keep_every_past_state() {
    let crashes = setting("WEFT_SIM_CRASHES").unwrap_or(if cfg!(debug_assertions) { 120 } else { 360 });
    if let Some(seed) = setting("WEFT_SIM_SEED") {
        let report = run_scenario(Scenario::of_lineage(seed), LINEAGE_CRASHES, true);
        println!("{report}");
        assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
        return;
    }
    let seeds = crashes.div_ceil(LINEAGE_CRASHES);
    let (scenario, first_seed) = (Scenario::of_lineage, setting("WEFT_SIM_FIRST_SEED").unwrap_or(0));
    let (crashes_per_seed, threads, aims) = (LINEAGE_CRASHES, threads(), Vec::new());
    let campaign = Campaign { scenario, first_seed, seeds, crashes_per_seed, threads, aims };
    let report = campaign.run();
    let replay = "replay one seed with its trace: WEFT_SIM_SEED=<seed> cargo test -p weft-sim lineage_tables";
    assert!(report.failures.is_empty(), "{}\n{replay}", report.failures.join("\n"));
    println!("{report}");
    assert!(report.counts.past > seeds, "{} tables were read as of a moment before", report.counts.past);
    let of_lineage = weft_tables::lineage_method();
    let steps = || of_lineage.steps().iter().map(|step| step.name());
    let unreached: Vec<&str> = steps().filter(|name| !report.steps.contains_key(name)).collect();
    assert!(unreached.is_empty(), "not reached: {unreached:?}");
    let missed: Vec<&str> = steps().filter(|name| !report.crashes_after.contains_key(name)).collect();
    println!("not crashed after: {missed:?}");
    assert!(crashes < 1000 || missed.is_empty(), "not crashed after {missed:?}");
}

#[test]
fn row_tables_lose_nothing() {
    let crashes = setting("WEFT_SIM_CRASHES").unwrap_or(if cfg!(debug_assertions) { 120 } else { 360 });
    if let Some(seed) = setting("WEFT_SIM_SEED") {
        let report = run_scenario(Scenario::of_rows(seed), LINEAGE_CRASHES, true);
        println!("{report}");
        assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
        return;
    }
    let seeds = crashes.div_ceil(LINEAGE_CRASHES);
    let (scenario, first_seed) = (Scenario::of_rows, setting("WEFT_SIM_FIRST_SEED").unwrap_or(0));
    let (crashes_per_seed, threads, aims) = (LINEAGE_CRASHES, threads(), Vec::new());
    let campaign = Campaign { scenario, first_seed, seeds, crashes_per_seed, threads, aims };
    let report = campaign.run();
    let replay = "replay one seed with its trace: WEFT_SIM_SEED=<seed> cargo test -p weft-sim row_tables";
    assert!(report.failures.is_empty(), "{}\n{replay}", report.failures.join("\n"));
    println!("{report}");
    let of_rows = weft_tables::row_method();
    let steps = || of_rows.steps().iter().map(|step| step.name());
    let unreached: Vec<&str> = steps().filter(|name| !report.steps.contains_key(name)).collect();
    assert!(unreached.is_empty(), "not reached: {unreached:?}");
}

#[test]
fn the_same_seed_does_the_same() {
    for seed in [1, 2, 6, 11] {
        let hashes: Vec<u64> = (0..2).map(|_| run_seed(seed, 6, false).hashes[&seed]).collect();
        assert_eq!(hashes[0], hashes[1], "seed {seed}");
    }
}
