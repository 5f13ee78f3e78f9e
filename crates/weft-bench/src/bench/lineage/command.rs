//! The words after `weft bench lineage`, and the experiments in their order.

use weft_kernel::Durability;

use super::arena::Arena;
use super::results::Results;
use super::settings::{Settings, durability_name};
use super::{layouts, mixed, scalability, sweep};
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// One experiment on loaded tables: its name, and what it measures.
type Experiment = (&'static str, fn(&Arena, &mut Results) -> Result<(), Failure>);

const EXPERIMENTS: &[Experiment] =
    &[("fig7", scalability::fig7), ("table7", scalability::table7), ("fig9", mixed::fig9), ("fig10", mixed::fig10)];

/// One that makes tables of its own.
type OwnTables = (&'static str, fn(&Settings, Durability, &mut Results) -> Result<(), Failure>);

const WITH_OWN_TABLES: &[OwnTables] =
    &[("fig8", sweep::fig8), ("table8", layouts::table8), ("table9", layouts::table9)];

/// Runs all experiments, or those named with `--only`.
pub(in crate::bench) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let only = arguments.option("--only")?;
    let settings = Settings::read(&mut arguments)?;
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    let known = || EXPERIMENTS.iter().map(|one| one.0).chain(WITH_OWN_TABLES.iter().map(|one| one.0));
    if let Some(unknown) = only.iter().flatten().find(|name| known().all(|known| known != **name)) {
        let known: Vec<&str> = known().collect();
        return Err(Failure::Usage(format!("there is no experiment {unknown}; there are {}", known.join(", "))));
    }
    let is_wanted = |name: &str| only.as_ref().is_none_or(|only| only.contains(&name));
    for &durability in &settings.durabilities {
        let mut results = Results::new(durability_name(durability), settings.prints_json);
        if EXPERIMENTS.iter().any(|one| is_wanted(one.0)) {
            let arena = Arena::load(&settings, durability)?;
            for (_, experiment) in EXPERIMENTS.iter().filter(|one| is_wanted(one.0)) {
                experiment(&arena, &mut results)?;
            }
            arena.finish()?;
        }
        for (_, experiment) in WITH_OWN_TABLES.iter().filter(|one| is_wanted(one.0)) {
            experiment(&settings, durability, &mut results)?;
        }
        results.show()?;
    }
    if !settings.dir_was_named {
        directory::remove(&settings.dir);
    }
    Ok(())
}
