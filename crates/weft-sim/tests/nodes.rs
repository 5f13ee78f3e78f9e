//! Nodes in the simulation: they share nothing with the writer but its directory.
//!
//! `WEFT_SIM_NODE_SEEDS` says how many seeds, `WEFT_SIM_FIRST_SEED` from which on.

// Simulations run side by side on threads outside of them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_kernel::fault::{Fault, plant};
use weft_sim::{NodeCounts, run_nodes};

const CRASHES: u64 = 1;
/// A violation is no panic.
const WHOLE: &str = "no thread panics here";

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

/// So many seeds, or up to the first violation.
fn run(first: u64, seeds: u64) -> (NodeCounts, Vec<String>) {
    let next = AtomicU64::new(first);
    let (total, failures) = (Mutex::new(NodeCounts::default()), Mutex::new(Vec::new()));
    let run = || {
        while failures.lock().expect(WHOLE).is_empty() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                break;
            }
            match run_nodes(seed, CRASHES) {
                Ok(counts) => total.lock().expect(WHOLE).add(&counts),
                Err(violation) => failures.lock().expect(WHOLE).push(violation),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    (total.into_inner().expect(WHOLE), failures.into_inner().expect(WHOLE))
}

#[test]
fn nodes_show_what_the_writer_had_and_the_latest_when_asked() {
    let seeds = setting("WEFT_SIM_NODE_SEEDS").unwrap_or(200);
    let (total, failures) = run(setting("WEFT_SIM_FIRST_SEED").unwrap_or(0), seeds);
    println!("{seeds} seeds: {total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let NodeCounts { looks, latest, rests, starts, rejoins, .. } = total;
    assert!(looks > 4 * seeds && latest > seeds && rests > seeds && starts > 2 * seeds, "much is seen: {total:?}");
    assert!(rejoins > 0 || seeds < 20, "without what the writer keeps a node loses its way: {total:?}");
}

#[test]
#[ignore = "plants faults for the whole process: `planted_faults_are_caught_apart` runs it"]
fn planted_faults_are_caught() {
    let faults =
        [weft_replica::faults::ANNOUNCE_EARLY, weft_replica::faults::FRESH_BEFORE_READ, Fault::PUBLISH_BEFORE_APPLIED];
    let missed: Vec<&str> = faults
        .into_iter()
        .filter(|fault| {
            plant(Some(*fault));
            let (_, failures) = run(0, 100);
            plant(None);
            println!("{}: {failures:?}", fault.name());
            failures.is_empty()
        })
        .map(Fault::name)
        .collect();
    assert!(missed.is_empty(), "not caught: {missed:?}");
}

#[test]
fn planted_faults_are_caught_apart() {
    weft_kernel::fault::catch_apart();
}
