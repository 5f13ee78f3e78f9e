//! Tables 8 and 9: columns beside rows, in scans and in point reads.
//!
//! The paper has a second L-Store whose pages are rows. What comes nearest here is a column table of which nothing is
//! ever converted (`incremental = 'rows'`, no jobs): its rows lie in memory as rows, in the order of keys.

use weft_kernel::Durability;

use super::arena::Arena;
use super::contender::{COLUMNS, Configuration};
use super::results::Results;
use super::settings::Settings;
use super::transaction::Mix;
use super::turn::Work;
use crate::subcommand::Failure;

/// Columns of ten that a read of table 9 fetches.
const READ_COLUMNS: [usize; 5] = [1, 2, 4, 8, COLUMNS];

fn load(settings: &Settings, durability: Durability) -> Result<Arena<'_>, Failure> {
    let rows = Configuration {
        name: "rows".to_owned(),
        options: [("incremental".to_owned(), "rows".to_owned())].into(),
        runs_jobs: false,
        ..Configuration::of_method("column")
    };
    Arena::of(settings, durability, "layouts", &[Configuration::of_method("lineage"), rows])
}

pub(super) fn table8(settings: &Settings, durability: Durability, results: &mut Results) -> Result<(), Failure> {
    let (arena, active) = (load(settings, durability)?, settings.active[0]);
    for updaters in [0, settings.updaters] {
        let label = if updaters == 0 { "without updates".to_owned() } else { format!("with {updaters} updaters") };
        arena.turns(&Work { updaters, scanners: 1, mix: Mix::PAPER, active }, |contender, outcome| {
            if let Some(ms) = outcome.scan_ms {
                results.add("table8, ms a scan", &label, &contender.name, ms);
            }
        })?;
    }
    arena.finish()
}

pub(super) fn table9(settings: &Settings, durability: Durability, results: &mut Results) -> Result<(), Failure> {
    let (arena, active) = (load(settings, durability)?, settings.active[0]);
    for read_columns in READ_COLUMNS {
        let mix = Mix { reads: 10, writes: 0, read_columns };
        let label = format!("{} % of columns", read_columns * 100 / COLUMNS);
        arena.turns(&Work { updaters: settings.updaters, scanners: 0, mix, active }, |contender, outcome| {
            results.add("table9, transactions/s", &label, &contender.name, outcome.transactions);
        })?;
    }
    arena.finish()
}
