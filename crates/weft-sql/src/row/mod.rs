//! The point engine: statements on one table by its primary key or an index, and INSERT ... VALUES.
//!
//! ```text
//!   SELECT a, b FROM t WHERE id = $1 AND a > 0      get(key) → filter → project
//!   SELECT a FROM t WHERE id > $1 ORDER BY id LIMIT 3   the next rows by key → project
//!   SELECT a FROM t WHERE b = 5 ORDER BY a LIMIT 3  index (b): candidates → get each → filter → sort → project
//!   UPDATE t SET a = a + 1 WHERE id = 7             lock and get(key) → filter → new row → check → update
//!   INSERT INTO t VALUES (7, 1) ON CONFLICT (id) DO UPDATE SET a = excluded.a
//!                                                   lock and get(key) ─┬─ none: insert
//!                                                                      └─ some: new row → check → update
//! ```
//!
//! A plan is bound once and run many times; it holds no snapshot and no parameter. Whatever it cannot express is left
//! to the query engine ([`BindError::Unsupported`](crate::expr::BindError)).
//!
//! An index, or a range of the key, that finds too much is no help: the statement is then run by the query engine
//! ([`RowPlan::execute`] gives none, having changed nothing).
//!
//! 1. A plan is used only in transactions that see the catalog version it was made for (the session's duty).
//! 2. Every row that is written went through [`TableShape::check_row`].

mod access;
mod assignments;
mod bulk;
mod changed;
mod condition;
mod conflict;
mod delete;
mod domains;
mod generate;
mod generated;
mod insert;
mod key;
mod lens;
mod literal;
mod order;
mod past;
mod plan;
mod planner;
mod predicate;
mod predicate_text;
mod projection;
mod range;
mod select;
mod shape;
mod stored;
mod through;
mod update;

pub(crate) use bulk::{Load, bytes_as_rows, insert_batches, waiting_bytes_max};
pub(crate) use changed::ShapedRows;
pub(crate) use domains::{bind_rules, effective_default};
pub(crate) use generate::generation_reads;
pub(crate) use generated::{GENERATED, all_generated, check_not_set, generated, generated_property};
pub(crate) use lens::violates;
pub(crate) use plan::{RowPlan, plan, plan_query_insert};
pub(crate) use planner::RowContext;
pub(crate) use predicate::index_predicate;
pub(crate) use predicate_text::predicate_text;
pub use projection::Projection;
pub use shape::{ShapeCache, TableShape};
pub(crate) use shape::{check_generated, check_given, row_columns, table_scope};
pub use stored::RowDefault;
pub(crate) use stored::{bind_check, bind_default, stored_check, stored_default, stored_expression};

#[cfg(test)]
mod tests;
