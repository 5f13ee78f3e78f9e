//! SQL text to syntax trees: PostgreSQL's dialect, plus `USING method` of CREATE TABLE and WHERE of ON CONFLICT.
//!
//! ```text
//!   "CREATE TABLE t (a int) USING column; CHECKPOINT"
//!     tokens ── split at ; ──┬─ CREATE TABLE t (a int) [USING column]   CreateTable, method "column"
//!                            └─ CHECKPOINT                              Checkpoint
//! ```
//!
//! 1. Whatever the text, the answer is a tree or an error with SQLSTATE; the stack is bounded: nesting by the parser's
//!    own limit, chains of operators (`1 + 1 + 1 ...`, which become deep trees without nesting) by a count of tokens.
//! 2. Positions in errors count characters of the whole text, from 1.

mod alter_view;
mod calls;
mod conflict;
mod constraints;
mod copy_options;
mod dialect;
mod domains;
mod frames;
mod functions;
mod history;
mod joins;
mod json_table;
mod lexemes;
mod lock;
mod locked_parts;
mod locking;
mod marks;
mod merge;
mod named_arguments;
mod names;
mod only;
mod own;
mod parsed;
mod parser;
mod parts;
mod periods;
mod plain_words;
mod position;
mod reindex;
mod rights;
mod row_assignments;
mod rows;
mod rows_from;
mod set_columns;
mod sql_json;
mod statements;
mod subqueries;
mod table_operations;
mod tables;
mod tokens;
mod values;
mod views;
mod with;

pub use alter_view::ViewChange;
pub use calls::call_of;
pub use conflict::{conflict_parts, conflict_rows, has_overriding, overriding};
pub(crate) use copy_options::{FORCE_ARRAY, NO_FORCE_ARRAY};
pub use dialect::WeftDialect;
pub use domains::{AlterDomain, DomainRule, DomainStatement, RuleKind};
pub use frames::{FRAME, FrameStart, frame_start};
pub use functions::{
    AlterFunction, ArgumentMode, Body, CreateFunction, FunctionOption, FunctionStatement, Returns, Signature,
    WrittenArgument,
};
pub use history::{AsOf, AsOfVerb};
pub(crate) use history::{has_history, read_at};
pub use joins::joined_names;
pub use lock::{LockTables, TableLock};
pub(crate) use locking::{anywhere, clause_of, pushed_down};
pub(crate) use marks::as_written;
pub(crate) use merge::{inserted, inserts_defaults, inserts_nothing, sets_nothing};
pub use names::{fold, fold_all, table_name};
pub use own::{AlterSequence, CreateSequence, Own, Refresh};
pub use parsed::Parsed;
pub(crate) use parts::parts_of;
pub use periods::{PeriodKind, moment_text, period_of};
pub(crate) use periods::{period, written};
pub use position::{position_of, span_position};
pub use reindex::{Reindex, Reindexed};
pub(crate) use rights::{Grant, GrantRoles, On, Owned, RightsStatement, RoleName, RoleOption};
pub use rows::ALL_COLUMNS;
pub use rows_from::ROWS_FROM;
pub(crate) use set_columns::referred_and_set;
pub use statements::{parse, parse_expression};
pub(crate) use table_operations::{TableOperation, operation_of};
pub(crate) use tables::{Like, like_of};
pub use values::{LiteralKind, Literals, scan_literals};
pub(crate) use with::{has_writing_parts, is_part, statement_of, writes};

#[cfg(test)]
mod tests;
