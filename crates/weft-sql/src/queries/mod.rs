//! What sessions ask of the query engine, and what they keep of its answers.
//!
//! ```text
//!   session ── prepare ──▶ PreparedQuery     good for any snapshot of the same catalog version
//!           ── execute ──▶ QueryStream       batches, pulled; bound to a snapshot and parameters
//!           ── collect ──▶ Collected         all of them, counted as memory of queries
//! ```
//!
//! The engine is made by whoever makes a [`SqlEngine`](crate::SqlEngine): nothing here knows how it plans. What a query
//! means that both engines must agree on (names of result columns, what is refused before planning) is here, too.

mod array_bytes;
pub(crate) mod collected;
mod engine;
mod moments;
pub mod names;
mod own_parts;
mod prepared;

pub use array_bytes::{has_views, held_bytes, shown_bytes, viewed_bytes, with_own_views};
pub use collected::{Collected, HeldMemory, Purpose, Reservation, batch_bytes, pieces};
pub use engine::{MakeQueryEngine, QueryEngine, QueryOptions, QueryStream, TARGET};
pub use moments::{PERIOD_COLUMNS, ReadAt, moment_of, take_moments};
pub use own_parts::has_of_its_own;
pub use prepared::{AsksCatalog, Plan, PreparedQuery};
