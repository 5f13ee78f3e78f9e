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
//! Modules: [`command`] and [`settings`] read the command line, [`configuration`] are the ablations, [`table`] and
//! [`statements`] are what both systems have, [`trial`] is one database of one configuration, [`mix`] runs a [`writer`]
//! beside a [`reader`] with [`pauses`] between their statements, [`timings`] keep latencies, [`met`] and [`jobs`] look
//! at what goes on meanwhile, [`consumed`] reads results, [`process`] what this one takes from the machine, [`lines`]
//! prints; the others are the experiments.

mod command;
mod compaction;
mod configuration;
mod consumed;
mod incremental;
mod jobs;
mod lines;
mod met;
mod mix;
mod mixed;
mod pauses;
mod process;
mod projection;
mod reader;
mod settings;
mod soak;
mod statements;
mod table;
mod timings;
mod trial;
mod writer;

pub(super) use command::run;
