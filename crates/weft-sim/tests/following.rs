//! A follower in the simulation: after each commit it shows what the writer had then.
//!
//! `WEFT_SIM_FOLLOW_SEEDS` says how many seeds, `WEFT_SIM_FIRST_SEED` from which on.

// Simulations run side by side on threads outside of them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_sim::{Followed, follow, follow_builds};

const CRASHES: u64 = 3;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

#[test]
fn a_follower_shows_every_commit_as_the_writer_had_it() {
    let seeds = setting("WEFT_SIM_FOLLOW_SEEDS").unwrap_or(if cfg!(debug_assertions) { 12 } else { 60 });
    let first = setting("WEFT_SIM_FIRST_SEED").unwrap_or(0);
    let next = AtomicU64::new(first);
    let (total, failures) = (Mutex::new(Followed::default()), Mutex::new(Vec::new()));
    let run = || {
        while failures.lock().unwrap().is_empty() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                break;
            }
            match follow(seed, CRASHES) {
                Ok(followed) => total.lock().unwrap().add(&followed),
                Err(violation) => failures.lock().unwrap().push(violation),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    let (total, failures) = (total.into_inner().unwrap(), failures.into_inner().unwrap());
    println!("{seeds} seeds: {total:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let Followed { commits, joins, lost, looks, refused, rests, .. } = total;
    assert!(commits > 20 * seeds && joins > seeds && looks > seeds && rests > seeds, "much is followed: {total:?}");
    assert!(lost > 0 || seeds < 10, "without what the writer keeps a follower loses its way: {total:?}");
    assert!(refused > 0 || seeds < 10, "snapshots become too old: {total:?}");
}

#[test]
fn a_follower_has_an_index_as_soon_as_the_writer() {
    let seeds = setting("WEFT_SIM_FOLLOW_SEEDS").unwrap_or(if cfg!(debug_assertions) { 6 } else { 20 });
    let first = setting("WEFT_SIM_FIRST_SEED").unwrap_or(0);
    let mut commits = 0;
    for seed in first..first + seeds {
        commits += follow_builds(seed).unwrap_or_else(|violation| panic!("{violation}"));
    }
    println!("{commits} commits followed beside CREATE INDEX");
    assert!(commits > 100 * seeds, "{commits} commits in {seeds} seeds");
}
