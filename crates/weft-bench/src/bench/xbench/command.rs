//! The words after `weft bench xbench`, and the experiments in their order.

use super::settings::Settings;
use super::{compaction, incremental, mixed, projection, soak};
use crate::directory;
use crate::subcommand::{Arguments, Failure};

/// One experiment: its names (figures that one run draws) and what it measures.
type Experiment = (&'static [&'static str], fn(&Settings) -> Result<(), Failure>);

const EXPERIMENTS: &[Experiment] = &[
    (&["fig1"], incremental::fig1),
    (&["fig6", "fig7a"], incremental::fig6_and_fig7a),
    (&["fig6-async"], incremental::fig6_async),
    (&["fig7b"], projection::fig7b),
    (&["fig8"], compaction::fig8),
    (&["table1"], mixed::table1),
    (&["paced"], mixed::paced),
    (&["fig9"], mixed::fig9),
    (&["soak"], soak::run),
];

/// Runs all experiments, or those named with `--only`.
pub(in crate::bench) fn run(mut arguments: Arguments) -> Result<(), Failure> {
    let only = arguments.option("--only")?;
    let settings = Settings::read(&mut arguments)?;
    arguments.finish()?;
    let only: Option<Vec<&str>> = only.as_deref().map(|names| names.split(',').collect());
    let known: Vec<&str> = EXPERIMENTS.iter().flat_map(|experiment| experiment.0).copied().collect();
    if let Some(unknown) = only.iter().flatten().find(|name| !known.contains(name)) {
        return Err(Failure::Usage(format!("there is no experiment {unknown}; there are {}", known.join(", "))));
    }
    for (names, experiment) in EXPERIMENTS {
        if only.as_ref().is_none_or(|only| names.iter().any(|name| only.contains(name))) {
            experiment(&settings)?;
        }
    }
    if !settings.dir_was_named {
        directory::remove(&settings.dir);
    }
    Ok(())
}
