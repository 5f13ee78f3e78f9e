//! Random queries asked of Weft's engines and of PostgreSQL; what differs is made small.
//!
//! ```text
//!   seed ─▶ generate ─▶ Case { tables, statement as a tree }
//!                          ├─▶ Weft: by its router, by the query engine, with parameters, twice ─┐
//!                          └─▶ PostgreSQL ────────────────────────────────────────────────────────┴─▶ compare
//!                                                                          differs ─▶ shrink ─▶ a script to read
//! ```
//!
//! The engines are in the test `differ`; nothing here knows one. Nothing here is published.

pub mod case;
pub mod compare;
pub mod explained;
pub mod generate;
pub mod open;
pub mod random;
pub mod shrink;
pub mod tables;
pub mod tree;
pub mod types;
