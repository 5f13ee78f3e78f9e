//! `pg_catalog` and `information_schema`: what clients and tools ask of a PostgreSQL about its tables.
//!
//! ```text
//!   SELECT c.relname FROM pg_class c WHERE c.oid = 't'::regclass AND EXISTS (SELECT ...)
//!     classify   only relations of the catalog are named: the query is ours
//!     bind       names → places, functions, types                                bind, bind_query → tree
//!     run        rows made from a Snapshot of what the transaction sees          run, eval, aggregate
//! ```
//!
//! | module | |
//! |---|---|
//! | `snapshot` | tables, indexes, views, ... as plain data: all that is known here of the database |
//! | `relations`, `rows`, `types`, `roles`, `monitor`, `standard` | the relations' columns and rows |
//! | `definitions`, `functions`, `cast` | `pg_get_indexdef`, `format_type`, `::regclass` |
//! | `value`, `pattern` | values, regular expressions |
//!
//! Clients' queries of the catalog are small and intricate: correlated, LATERAL, with arrays whose subscripts begin at
//! 0. So they are interpreted as they stand, over rows in memory, and never meet the engines that read tables.

mod aggregate;
mod bind;
mod bind_query;
mod cast;
mod classify;
mod definitions;
mod eval;
mod functions;
mod monitor;
mod pattern;
mod plan;
mod relations;
mod roles;
mod rows;
mod run;
mod snapshot;
mod standard;
mod tree;
mod types;
mod value;

pub use classify::is_of_catalog;
pub use plan::CatalogQuery;
pub use snapshot::{
    Column, CountsShown, FIRST, ForeignKey, INFORMATION_SCHEMA, Index, LockShown, PG_CATALOG, PUBLIC, Request, Role,
    Sequence, SessionShown, Snapshot, Table, View,
};

#[cfg(test)]
mod tests;
