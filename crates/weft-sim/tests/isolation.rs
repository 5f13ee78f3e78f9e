//! Clients at every level, with crashes and restarts between; the checker finds nothing that the level forbids.
//!
//! `WEFT_ISOLATION_SEEDS` sets how many seeds each level gets in the simulation, `WEFT_ISOLATION_TRANSACTIONS` how many
//! transactions run on real threads at each level.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "runs simulations side by side"
)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_sim::checker::{Kind, Level, Workload};
use weft_sim::isolation::{Outcome, Plan};

const LEVELS: [Option<Level>; 4] =
    [Some(Level::ReadCommitted), Some(Level::RepeatableRead), Some(Level::Serializable), None];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn name(level: Option<Level>) -> String {
    level.map_or("mixed".into(), |level| format!("{level:?}"))
}

fn show(level: Option<Level>, outcomes: &[Outcome]) {
    let sum = |field: fn(&Outcome) -> u64| outcomes.iter().map(field).sum::<u64>();
    let permitted = |kind: Kind| outcomes.iter().filter_map(|one| one.report.permitted_counts.get(&kind)).sum::<u64>();
    println!(
        "{:<16} {:>9} transactions, {:>7} refused or given up, {:>5} cut off by {:>4} crashes; \
         permitted: {} G2-item, {} G2, {} lost updates",
        name(level),
        sum(|one| one.transactions),
        sum(|one| one.aborted),
        sum(|one| one.unknown),
        sum(|one| one.crashes),
        permitted(Kind::G2Item),
        permitted(Kind::G2),
        permitted(Kind::LostUpdate),
    );
}

#[test]
fn no_level_shows_what_it_forbids_in_simulation() {
    simulate(number("WEFT_ISOLATION_SEEDS", 60), Plan::new);
}

#[test]
fn no_level_shows_what_it_forbids_with_speculative_reads() {
    simulate(number("WEFT_ISOLATION_SEEDS", 60), Plan::speculative);
}

/// Runs the plans of some seeds at every level.
fn simulate(seeds: u64, plan: fn(u64, Option<Level>) -> Plan) {
    for level in LEVELS {
        let next = AtomicU64::new(0);
        let outcomes = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let seed = next.fetch_add(1, Ordering::Relaxed)
                        && seed < seeds
                    {
                        let outcome = plan(seed, level).simulate().unwrap_or_else(|error| panic!("{error}"));
                        if let Some(violation) = outcome.first_violation() {
                            panic!("seed {seed}, {}: {violation}", name(level));
                        }
                        outcomes.lock().unwrap().push(outcome);
                    }
                });
            }
        });
        let outcomes = outcomes.into_inner().unwrap();
        show(level, &outcomes);
        let sum = |field: fn(&Outcome) -> u64| outcomes.iter().map(field).sum::<u64>();
        assert!(sum(|one| one.tags_refused) > 0 && sum(|one| one.in_bulk) > 0, "tags are taken, rows replaced in bulk");
    }
}

#[test]
fn no_level_shows_what_it_forbids_on_real_threads() {
    let transactions = number("WEFT_ISOLATION_TRANSACTIONS", 20_000);
    for (seed, level) in LEVELS.into_iter().enumerate() {
        let workload = Workload { clients: 8, ..Workload::default() };
        let lives = 4;
        let each = transactions.div_ceil(lives * workload.clients);
        let plan = Plan { seed: seed as u64, level, workload, lives, speculative_percent: 0, transactions: each };
        let dir = std::env::temp_dir().join(format!("weft-isolation-{}-{seed}", std::process::id()));
        let outcome = plan.run(&dir);
        let _ = std::fs::remove_dir_all(&dir);
        let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
        show(level, std::slice::from_ref(&outcome));
        assert_eq!(outcome.first_violation(), None, "{}", name(level));
    }
}

#[test]
fn a_seed_gives_the_same_history() {
    let run = || {
        let outcome = Plan::new(3, None).simulate().unwrap_or_else(|error| panic!("{error}"));
        (outcome.transactions, outcome.aborted, outcome.unknown, outcome.report.edges)
    };
    assert_eq!(run(), run());
}

#[test]
fn small_promises_are_kept() {
    assert_eq!(weft_sim::promises(), Ok(()));
}
