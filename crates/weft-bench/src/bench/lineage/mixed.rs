//! Figure 9: transactions by their share of reads. Figure 10: updaters and scanners, so many in all.

use super::arena::Arena;
use super::results::Results;
use super::settings::CONTENTION;
use super::transaction::Mix;
use super::turn::Work;
use crate::subcommand::Failure;

/// Reads of ten statements; the rest are writes.
const READS: [u64; 5] = [10, 8, 5, 2, 0];
/// Low and medium contention, as in the paper.
const DEGREES: usize = 2;

pub(super) fn fig9(arena: &Arena<'_>, results: &mut Results) -> Result<(), Failure> {
    let updaters = arena.settings.updaters;
    for (contention, active) in CONTENTION.iter().zip(arena.settings.active).take(DEGREES) {
        for reads in READS {
            let mix = Mix { reads, writes: 10 - reads, ..Mix::PAPER };
            let label = format!("{contention}, {reads}:{} reads : writes", mix.writes);
            arena.turns(&Work { updaters, scanners: 1, mix, active }, |contender, outcome| {
                results.add("fig9, transactions/s", &label, &contender.name, outcome.transactions);
                results.add_waits("fig9", &label, contender, &outcome);
            })?;
        }
    }
    Ok(())
}

pub(super) fn fig10(arena: &Arena<'_>, results: &mut Results) -> Result<(), Failure> {
    let all = arena.settings.updaters + 1;
    let mut scanners: Vec<u64> = vec![1, all.div_ceil(4), all.div_ceil(2), all * 3 / 4, all - 1];
    scanners.retain(|scanners| (1..all).contains(scanners));
    scanners.sort_unstable();
    scanners.dedup();
    for (contention, active) in CONTENTION.iter().zip(arena.settings.active).take(DEGREES) {
        for &scanners in &scanners {
            let updaters = all - scanners;
            let label = format!("{contention}, {updaters} updaters, {scanners} scanners");
            arena.turns(&Work { updaters, scanners, mix: Mix::PAPER, active }, |contender, outcome| {
                results.add("fig10, transactions/s", &label, &contender.name, outcome.transactions);
                results.add("fig10, scans/s", &label, &contender.name, outcome.scans);
                results.add_waits("fig10", &label, contender, &outcome);
            })?;
        }
    }
    Ok(())
}
