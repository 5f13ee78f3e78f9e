//! CREATE INDEX beside writers, with crashes: nothing is lost, and nothing is kept that nobody needs.

use weft_sim::build_beside_writers;

/// How many seeds; `WEFT_SIM_BUILDING_SEEDS` says another number.
const SEEDS: u64 = 8;
const CRASHES: u64 = 5;

#[test]
fn an_index_is_made_beside_writers_whatever_happens() {
    let seeds = std::env::var("WEFT_SIM_BUILDING_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS);
    for seed in 0..seeds {
        if let Err(violation) = build_beside_writers(seed, CRASHES) {
            panic!("{violation}");
        }
    }
}
