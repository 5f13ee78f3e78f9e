//! Statements that write or lock many rows: UPDATE and DELETE with any WHERE, INSERT from a query, MERGE, FOR UPDATE.
//!
//! ```text
//!   UPDATE t SET b = b + 1 WHERE a IN (SELECT a FROM u)
//!   read   SELECT t.a AS k0, t.a, CAST(t.b + 1 AS integer) AS b, t.c FROM t WHERE t.a IN (SELECT a FROM u)
//!   write  Transaction::update(key, row) per row, or Transaction::replace when they are many
//! ```
//!
//! 1. A statement never meets its own writes: what UPDATE and DELETE read is read to its end before the first row is
//!    staged, and INSERT and a large UPDATE read what their transaction had written when they began, while rows become
//!    files.
//! 2. The engine's own hooks for DML are never used; they drop conditions that became joins.
//! 3. A row is changed at most once, even when a join finds it several times.
//! 4. Every new row meets NOT NULL, the lengths of varchar(n) and the CHECK constraints before it is staged.
//!
//! Statement atomicity is the session's: it rolls back to its mark when [`PreparedWrite::execute`] fails.

mod delete;
mod insert;
mod lock;
mod lock_joined;
mod merge;
mod merge_plan;
mod merge_rows;
mod plan;
mod replace;
mod stage;
mod syntax;
mod target;
mod update;
mod write;

pub(crate) use insert::typed_values;
pub(crate) use syntax::{exact, select, table_relation};
pub(crate) use write::PreparedWrite;
