//! Figure 8: a scan beside updaters, by how many changes a merge takes at once.
//!
//! Lineage tables freeze tails by their bytes, of all ranges together, so `tail_bytes` is varied and the changes that a
//! merge took are counted. Segments have 64 K rows, as the paper's ranges have in this figure.

use weft_kernel::Durability;

use super::arena::Arena;
use super::contender::Configuration;
use super::results::Results;
use super::settings::Settings;
use super::transaction::Mix;
use super::turn::Work;
use crate::subcommand::Failure;

/// Tails are frozen at so many KiB.
const TAIL_KIB: [u64; 5] = [64, 256, 1024, 4096, 16384];

pub(super) fn fig8(settings: &Settings, durability: Durability, results: &mut Results) -> Result<(), Failure> {
    let names = TAIL_KIB.map(|kib| format!("tails of {kib} KiB"));
    let configuration = |(kib, name): (u64, &String)| Configuration {
        options: [("tail_bytes".to_owned(), (kib << 10).to_string())].into(),
        name: name.clone(),
        ..Configuration::of_method("lineage")
    };
    let configurations: Vec<_> = TAIL_KIB.into_iter().zip(&names).map(configuration).collect();
    let arena = Arena::of(settings, durability, "fig8", &configurations)?;
    let (updaters, active) = (settings.updaters, settings.active[1]);
    arena.turns(&Work { updaters, scanners: 1, mix: Mix::PAPER, active }, |contender, outcome| {
        let changes = outcome.transactions * outcome.seconds * Mix::PAPER.writes as f64;
        results.add("fig8", &contender.name, "ms a scan", outcome.scan_ms.unwrap_or(f64::NAN));
        results.add("fig8", &contender.name, "transactions/s", outcome.transactions);
        results.add("fig8", &contender.name, "merges/s", outcome.merges as f64 / outcome.seconds);
        results.add("fig8", &contender.name, "changes a merge", changes / (outcome.merges.max(1)) as f64);
        results.add_waits("fig8", &contender.name, contender, &outcome);
    })?;
    arena.finish()
}
