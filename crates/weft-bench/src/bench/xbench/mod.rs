//! `weft bench xbench`: the experiments of SynchroStore (sections 1.2 and 4 of the paper), one JSON line per number.
//!
//! ```text
//!   $ weft bench xbench --only fig6 --rows 100000 --ratios 1,20
//!   {"experiment": "fig6", "system": "weft", "configuration": "fine", "x": 1, "metric": "update_s", "value": 0.1, ...}
//!
//!   fig1     updates of a share of all rows, and a query after them: incremental rows against incremental columns
//!   fig6     random single-row upserts of one column: columns, rows, fine         fig7a   a query after them
//!   fig6-async   figure 6 with commits that do not wait for the log
//!   fig7b    wider and wider projections of rows of 4 KB after all were updated
//!   fig8     bytes of one background job by kind while all rows are updated, at several sizes of the table, and the
//!            write amplification
//!   table1   quantiles of SQL3 under the mix: scheduler cost, greedy, off
//!   paced    the same under a mix that leaves the cores idle for a part of the time
//!   fig9     each statement under the mix of one writer and one reader, both at full speed
//!   soak     minutes of the mix on a table that keeps its size: memory, space, latencies per window
//!
//!   table_1  col_0 bigint key · col_1..col_15 integer · col_16..col_30 text       (the formula of `bench/data.rs`)
//!   table_2  the same with a tenth of the rows
//! ```
//!
//! 1. A configuration is Weft with one idea taken out: options of CREATE TABLE and SET, nothing else. An option is only
//!    written when a configuration or a switch names it; what Weft does not know, it says itself.
//! 2. Everything is durable unless `--commit async` is given, but for `fig6-async`.
//! 3. After each experiment the table has the count and the sum that its committed statements leave; a wrong one is an
//!    error. `bench/xbench.py` runs the same experiments on DuckDB and compares these sums.
//!
//! Modules: [`settings`] reads the command line, [`configuration`] are the ablations, [`table`] and [`statements`] are
//! what both systems have, [`trial`] is one database of one configuration, [`mix`] runs a writer beside a reader,
//! [`consumed`] reads results, [`lines`] prints; the others are the experiments.

mod compaction;
mod configuration;
mod consumed;
mod incremental;
mod jobs;
mod lines;
mod met;
mod mix;
mod mixed;
mod process;
mod projection;
mod settings;
mod soak;
mod statements;
mod table;
mod trial;
mod writer;

use crate::directory;
use crate::subcommand::{Arguments, Failure};
use settings::Settings;

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
pub(super) fn run(mut arguments: Arguments) -> Result<(), Failure> {
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
