//! The column engine: queries over many rows, planned and run by DataFusion over Weft's scans.
//!
//! ```text
//!   engine ── prepare, execute, templates    setup: session state, threads, memory    explain
//!     names       result columns named as PostgreSQL does; what is refused before planning
//!     provider    tables and functions for the planner ── pushdown (WHERE → scan)
//!     wildcard, using, dependent, rewrite, cases    syntax that the planner gets wrong, or never ends with
//!     operators, semantics, arithmetic, functions, subqueries    PostgreSQL's types and errors
//!     apart, lifted, crossed, repeated, plain, unsorted    what the planner's rules mix up or lose
//!     scan        the leaf: a view bound at execution, partitions shared
//!     pool, held, collected    the memory of queries: shares, what operators do not account for, results
//!     stream, gather, output    batches of all partitions, in exactly the columns' types
//!     types, error      both ways between Weft and the engine
//! ```
//!
//! DataFusion plans only what reads: statements that write are planned in `dml` as a query of the rows to change, and
//! its own hooks for DML are never reached (they lose conditions).

mod aliases;
mod apart;
mod arithmetic;
mod array_bytes;
mod averages;
mod belonging;
mod cases;
mod coalesced;
mod collected;
mod conditions;
mod correlation;
mod crossed;
mod dependent;
mod distinct_on;
mod engine;
mod error;
mod exact;
mod explain;
mod extremes;
mod forecast;
mod functions;
mod gather;
mod held;
mod indexed;
mod inferred;
mod lengths;
mod lifted;
mod local;
mod membership;
mod names;
mod nearest;
mod open_filters;
mod operators;
mod output;
mod plain;
mod pool;
mod provider;
mod pushdown;
mod reach;
mod repeated;
mod rewrite;
mod routines;
mod row_values;
mod scan;
mod semantics;
mod series;
mod setup;
mod single_distinct;
mod sliding;
mod slots;
mod stop;
mod stream;
mod subqueries;
mod sums;
mod template;
mod templates;
mod told_once;
mod typed_values;
mod types;
mod unified;
mod unsorted;
mod using;
mod variance;
mod views;
mod whole_rows;
mod wildcard;
mod window_calls;
mod windows;
mod with_queries;

pub use collected::HeldMemory;
pub(crate) use collected::{Collected, Purpose, batch_bytes, pieces};
pub use engine::ColumnEngine;
pub(crate) use engine::PreparedQuery;
pub(crate) use names::{MARKER, check_order, column_name};
pub(crate) use provider::TARGET;
pub(crate) use rewrite::{check_fields, compare_op, interval_cast};
pub use setup::ColumnOptions;
pub(crate) use views::is_view;
