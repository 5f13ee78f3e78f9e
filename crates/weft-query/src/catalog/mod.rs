//! The catalog's relations and functions in queries of the query engine, beside users' tables.
//!
//! ```text
//!   SELECT t.x, c.oid::regclass FROM t JOIN pg_class c ON c.relname = t.n WHERE c.oid = 't'::regclass
//!     typed    'catalog'::regclass → regclass_in('t'), which reads the Snapshot; the result → regclass_out(c.oid)
//!     table    pg_class: a scan that makes the rows which oid = 16390 asks for
//!     shown    the Snapshot of the execution, in the session's configuration
//! ```
//!
//! | module | |
//! |---|---|
//! | `shapes` | regclass and its like, int2vector: what a field of a plan says of its type |
//! | `table` | a relation in a plan, and the conditions that say which of its rows are made |
//! | `narrowed` | what a join with known rows asks of a relation |
//! | `functions` | the catalog's functions, and those between names and numbers |
//! | `typed` | casts, comparisons and results of those types |
//! | `shown` | where functions and scans find the Snapshot |
//!
//! 1. A plan that asks the catalog holds rows of one moment: it is made for each execution, and never kept.
//! 2. All that one execution asks is answered from one Snapshot.

mod functions;
mod narrowed;
mod shapes;
mod shown;
mod table;
mod typed;

pub(super) use functions::{functions, is_of_catalog};
pub(super) use narrowed::narrowed;
pub(super) use shapes::{field_of_shape, reg_type};
pub(super) use shown::with_catalog;
pub(super) use table::CatalogTable;
pub(super) use typed::{compared, element_place, typed};
