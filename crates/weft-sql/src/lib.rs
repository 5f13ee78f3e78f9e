//! SQL: parsing, binding, the point engine, sessions, and what they ask of the query engine.
//!
//! ```text
//!   text ── parse ── router ──┬─ utility        BEGIN, SET, CREATE TABLE, COPY, ...      session/ ddl/ copy/
//!                             ├─ point engine     one table by full primary key, INSERT VALUES     row/ expr/
//!                             └─ query engine   everything else: queries/ dml/, and the crate weft-query
//!
//!   SELECT a FROM t WHERE id = 7          point engine: one point read, no DataFusion in the path
//!   SELECT sum(a) FROM t WHERE id > 7     query engine:  a cached plan, bound to this statement's snapshot
//! ```
//!
//! A [`SqlEngine`] belongs to one database and is shared; a [`Session`] belongs to one user of it and runs one
//! statement at a time.

pub mod activity;
pub mod binary;
mod binding;
mod catalog_tables;
mod changed;
mod changes;
pub mod configuration;
mod context;
mod copy;
mod ddl;
mod dml;
mod domains;
mod engine;
mod expansion;
pub mod expr;
mod freshness;
mod functions;
mod locking;
mod moments;
mod notice;
pub mod oids;
mod outcome;
pub mod parse;
mod periods;
pub mod queries;
mod resolve;
pub mod rights;
pub mod roles;
pub mod route;
mod row;
mod session;
mod settings;
mod types;
mod updatable;
mod values;
mod version;
mod view_columns;
pub mod views;

pub use binding::{Attended, Binding, CancelToken, Moment, PastTable, Tables, When};
pub use context::StatementContext;
pub use engine::{SqlEngine, SqlOptions};
pub use notice::{Notice, Severity};
pub use outcome::{Outcome, OutputColumn, Rows, Tag};
pub use queries::{HeldMemory, QueryEngine, QueryOptions};
pub use resolve::qualified;
pub use row::{Projection, RowDefault, ShapeCache, TableShape};
pub use session::{Client, CopyFormat, Prepared, Session};
pub use settings::{EngineChoice, Settings};
pub use updatable::{UpdatableView, Verb};
pub use values::{array_of, value_at, value_ref_at};
pub use version::{SERVER_VERSION, SERVER_VERSION_NUM};
pub use weft_expr::{Local, Style, text};
