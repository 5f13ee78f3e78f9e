//! The query engine: queries over many rows, planned and run by DataFusion over Weft's scans. The one crate that knows
//! DataFusion; sessions reach it by [`QueryEngine`].
//!
//! ```text
//!   engine ── prepare, execute, templates    setup: session state, threads, memory    explain
//!     provider    tables, views and functions for the planner ── pushdown (WHERE → scan)
//!     wildcard, using, outer_names, dependent, from_functions, rewrite, cases    syntax that the planner gets wrong
//!     operators, semantics, arithmetic, functions, subqueries    PostgreSQL's types and errors
//!     apart, lifted, crossed, repeated, plain, unsorted, inferred, open_filters    what rules mix up, lose or add
//!     apply       what no join stands for: subqueries and LATERAL that run for each row
//!     catalog     pg_class and its like beside tables: relations, functions, regclass
//!     scan        the leaf: a view bound at execution, partitions shared
//!     versions, period_stars    columns of versions, which are none of `*`
//!     pool, held, coalesced    the memory of queries: shares, what operators do not account for; batches made whole
//!     stream, gather, output    batches of all partitions, in exactly the columns' types
//!     types, error      both ways between Weft and DataFusion
//! ```
//!
//! DataFusion plans only what reads: statements that write are planned in `weft_sql::dml` as a query of the rows to
//! change, and its own hooks for DML are never reached (they lose conditions).

mod aliases;
mod apart;
mod apply;
mod arithmetic;
mod averages;
mod belonging;
mod bit_aggregates;
mod cases;
mod casts;
mod catalog;
mod coalesced;
mod conditions;
mod correlation;
mod crossed;
mod dates;
mod dependent;
mod distinct_on;
mod document_fields;
mod element_aggregates;
mod element_fields;
mod element_rows;
mod engine;
mod enum_types;
mod error;
mod exact;
mod explain;
mod extremes;
mod field_conditions;
mod fields;
mod forecast;
mod frame_bounds;
mod frame_marks;
mod frame_values;
mod frames;
mod from_functions;
mod functions;
#[cfg(test)]
mod functions_doc;
mod gather;
mod greatest;
mod guard;
mod held;
mod indexed;
mod inferred;
mod join_order;
mod json_aggregates;
mod json_tables;
mod keyed_groups;
mod lateral_elements;
mod leaf_projections;
mod lengths;
mod lifted;
mod links;
mod local;
mod membership;
mod named;
mod nearest;
mod only_arrays;
mod open_filters;
mod operands;
mod operators;
mod ordered_sets;
mod outer_names;
mod output;
mod pass;
mod percentiles;
mod period_stars;
mod plain;
mod planned;
mod planning;
mod pool;
mod present_rows;
mod provider;
mod pushdown;
mod reach;
mod relation_size;
mod repeated;
mod rewrite;
mod routines;
mod row_count;
mod row_forms;
mod row_sources;
mod row_values;
mod rows_from;
mod scan;
mod semantics;
mod series;
mod session_reads;
mod setup;
mod shapes;
mod shares;
mod single_distinct;
mod sliding;
mod slots;
mod spans;
mod stop;
mod stream;
mod subqueries;
mod sums;
mod system_view;
mod template;
mod templates;
mod told_once;
mod type_planner;
mod typed_fields;
mod typed_values;
mod types;
mod unified;
mod unsorted;
mod using;
mod variance;
mod versions;
mod whole_rows;
mod wildcard;
mod window_calls;
mod windows;
mod with_queries;

use std::sync::Arc;

use weft_format::Result;
use weft_kernel::Engine;
use weft_sql::queries::{QueryEngine, QueryOptions};

use engine::DataFusionEngine;

/// The query engine of a database: [`weft_sql::queries::MakeQueryEngine`].
pub fn query_engine(kernel: &Engine, options: &QueryOptions) -> Result<Arc<dyn QueryEngine>> {
    Ok(Arc::new(DataFusionEngine::new(kernel, options)?))
}
