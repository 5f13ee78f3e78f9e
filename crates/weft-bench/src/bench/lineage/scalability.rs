//! Figure 7: transactions by number of updaters and contention. Table 7: a scan beside updaters, and without them.

use super::arena::Arena;
use super::contender::Contender;
use super::results::Results;
use super::settings::CONTENTION;
use super::transaction::Mix;
use super::turn::Work;
use crate::subcommand::Failure;

/// One scan thread runs beside the updaters, as in all of the paper's experiments.
pub(super) fn fig7(arena: &Arena<'_>, results: &mut Results) -> Result<(), Failure> {
    for (contention, active) in CONTENTION.iter().zip(arena.settings.active) {
        for &updaters in &arena.settings.threads {
            let label = format!("{contention}, {updaters} updaters");
            arena.turns(&Work { updaters, scanners: 1, mix: Mix::PAPER, active }, |contender, outcome| {
                results.add("fig7, transactions/s", &label, &contender.name, outcome.transactions);
                results.add_waits("fig7", &label, contender, &outcome);
            })?;
        }
    }
    Ok(())
}

const TABLE7: &str = "table7, ms a scan";

/// Low contention; the paper has the scan beside updaters alone. Quiet: nothing is left in tails or deltas either.
pub(super) fn table7(arena: &Arena<'_>, results: &mut Results) -> Result<(), Failure> {
    let active = arena.settings.active[0];
    arena.contenders.iter().try_for_each(Contender::rest)?;
    let beside = format!("beside {} updaters", arena.settings.updaters);
    for (label, updaters) in [("quiet", 0), (beside.as_str(), arena.settings.updaters)] {
        arena.turns(&Work { updaters, scanners: 1, mix: Mix::PAPER, active }, |contender, outcome| {
            if let Some(ms) = outcome.scan_ms {
                results.add(TABLE7, label, &contender.name, ms);
            }
            results.add_waits("table7", label, contender, &outcome);
        })?;
    }
    for contender in &arena.contenders {
        let of = |label| results.median(TABLE7, label, &contender.name);
        if let Some((quiet, busy)) = of("quiet").zip(of(&beside)) {
            results.add("table7, scan beside updaters : quiet", "ratio", &contender.name, busy / quiet);
        }
    }
    Ok(())
}
