//! Scans: all rows of a snapshot, or those of a range of keys, leaf by leaf.
//!
//! ```text
//!   WHERE a = 7 AND b > 3, key (a, b)     keys from (7, 3) to behind (7, ..)      the predicates are applied as well
//!   two partitions                        the range in pieces at the children of the root, taken one after the other
//!   a piece                               the leaf of "k": its rows from "k" on, then the leaf where that one ends
//! ```
//!
//! | module | what |
//! |---|---|
//! | `pieces` | the range in pieces, and the partitions that take them |
//!
//! 1. A scan goes on at a key, not at a page: what was split or joined meanwhile is read once.
//! 2. Within a partition rows come in the order of their keys, but for the transaction's own, which come first.
//!
//! Concurrency: a leaf is latched while its rows are copied.

mod pieces;

pub(super) use pieces::{start, start_sample};
