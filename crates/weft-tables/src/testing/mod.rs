//! For tests of methods: a plain model of a table's versions, and the suite that every method passes against it.
//!
//! ```text
//!   suite ──▶ Engine ──▶ method under test ──▶ rows at some snapshot ┐
//!         └─▶ Model (a map from key to versions) ──▶ rows ───────────┴▶ must be equal, now and at every older snapshot
//! ```

pub mod conformance;
pub mod crashes;
pub mod in_place;
pub mod layers;
mod model;
mod plain;
mod random;
mod rows;
pub mod statistics;
pub mod transfers;

pub use model::Model;
pub use plain::Plain;
pub use random::Prng;
pub use rows::{rows_of, rows_of_batch, scan_rows};
