//! The order of joins: relations, what is between them, how many rows they make together, and the cheapest tree.
//!
//! ```text
//!   nation (1 of 25 rows) ── s_nationkey = n_nationkey ── supplier ── l_suppkey = s_suppkey ── lineitem ── orders
//!
//!   Graph::builder() ... build()      what is known
//!   graph.rows(set)                   about how many rows these relations make together, in whatever order
//!   graph.best()                      ((nation ⋈ supplier) ⋈ lineitem) ⋈ orders, and what it costs
//! ```
//!
//! 1. How many rows a set of relations makes depends on the set alone, never on the order in which it is joined:
//!    otherwise the cheapest part of a tree would not be part of the cheapest tree.
//! 2. Two runs over the same graph give the same tree: nothing goes by the order of a hash table.
//! 3. No product is made of two sets where an equality connects what is left with one of them.
//!
//! | module | what |
//! |---|---|
//! | `set` | sets of relations |
//! | `graph` | relations, columns, equalities, other conditions |
//! | `rows` | rows of a set |
//! | `plans` | the cheapest tree of each set, and what joins cost |
//! | `hyper` | all connected pairs of sets, each once |
//! | `linear` | trees whose sets are neighbours in some order, where there are too many pairs |
//!
//! There is nothing of an engine here, so that whatever plans joins can ask it.
//!
//! Sources: Moerkotte and Neumann, Dynamic Programming Strikes Back (SIGMOD 2008), for the pairs; Neumann and Radke,
//! Adaptive Optimization of Very Large Join Queries (SIGMOD 2018), for what comes where there are too many.

mod graph;
mod hyper;
mod linear;
mod plans;
mod rows;
mod set;

pub use graph::{Builder, ColumnNo, Graph};
pub use plans::{Best, Tree};
pub use set::Set;

#[cfg(test)]
mod tests;
