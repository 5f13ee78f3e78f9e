//! `pg_catalog` and `information_schema`: what clients and tools ask of a PostgreSQL about its tables.
//!
//! ```text
//!   SELECT c.relname FROM pg_class c WHERE c.oid = 't'::regclass AND EXISTS (SELECT ...)
//!     classify   only relations of the catalog are named: the query is ours (constants of it are put into others)
//!     bind       names → places, functions, types                                bind, bind_query → tree
//!     join_order which relation of FROM comes in first; what finds its rows by a key
//!     run        rows made from a Snapshot of what the transaction sees          run, eval, aggregate
//! ```
//!
//! | module | |
//! |---|---|
//! | `snapshot` | tables, indexes, views, ... as plain data: all that is known here of the database |
//! | `declared`, `relations`, `rows`, `types`, `roles`, `monitor`, `standard` | the relations' columns and rows |
//! | [`rights`], `privileges` | roles and rights as plain data; `has_table_privilege` and its like |
//! | `definitions`, `function`, `functions`, `server`, `cast` | `pg_get_indexdef`, `format_type`, `::regclass` |
//! | `value`, `pattern` | values, regular expressions |
//!
//! Clients' queries of the catalog are small and intricate: correlated, LATERAL, with arrays whose subscripts begin at
//! 0. So they are interpreted as they stand, over rows in memory, and never meet the engines that read tables.

mod aggregate;
mod asked;
mod bind;
mod bind_query;
mod cast;
mod classify;
mod declared;
mod definitions;
mod dependencies;
mod domain_rows;
mod enum_rows;
mod eval;
mod function;
mod function_rows;
mod functions;
mod join_order;
mod making;
mod monitor;
mod objects;
mod offered;
mod order;
mod pattern;
mod plan;
mod privileges;
mod procs;
mod relations;
pub mod rights;
mod roles;
mod rows;
mod run;
mod schemas;
mod server;
mod snapshot;
mod standard;
mod statistics_rows;
mod tree;
mod type_names;
mod types;
mod user_functions;
mod user_types;
mod value;
mod wanted;

pub use classify::{Kind, classify, is_computed_late, is_constant, is_of_session};
pub use functions::function_names;
pub use objects::{Column, ForeignKey, Index, Materialized, Objects, Sequence, Table, View};
pub use offered::{CatalogRelation, CatalogRows, Reg, Shape, call, offered_functions, result_of, vector_text};
pub use plan::CatalogQuery;
pub use snapshot::{
    ColumnFigures, CountsShown, FIRST, Figures, INFORMATION_SCHEMA, LockShown, Moment, PG_CATALOG, PUBLIC, Request,
    SessionShown, SettingShown, SettingsShown, Snapshot, Stop, quoted,
};
pub use user_functions::{FunctionArgument, FunctionType, UserFunction};
pub use user_types::{Domain, TypeKind, UserType, array_oid};
pub use wanted::Wanted;

#[cfg(test)]
mod tests;
