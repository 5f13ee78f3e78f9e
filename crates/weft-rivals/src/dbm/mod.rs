//! Delta + Blocking Merge: a main store that is only read, a delta for each range of rows, and merges that drain.
//!
//! ```text
//!   range 1   main store as of 40      delta (40, ..]: 4 @ 44 {column 1: 20} · 7 @ 52 {column 0: 3}
//!   merge     drain { delta ends at 52, the next begins } · consolidate · drain { main store as of 52 }
//!   as of 45  still: the main store as of 40, and the delta up to 45, as long as somebody may ask
//! ```
//!
//! | module | what |
//! |---|---|
//! | `gate` | who drains, and who waits for that |
//! | `delta` | changes of one range: only appended to, column by column |
//! | `generation` | a main store, and the delta that came after it |
//! | `range` | the generations of a range of rows |
//! | `store` | the table's ranges; the merge |
//!
//! 1. The deltas of a range follow each other without a gap; a main store is the state at its cut.
//! 2. A merge consolidates a delta once everything up to its end is published.
//! 3. Merges begin and end alone: no transaction that has entered the gate is active.
//!
//! A merge takes all ranges that are due with one pair of drains, which is kinder than the paper's one range at a time.
//!
//! Source: L-Store (papers/002), section 6.1; HANA's table, Sikka et al., SIGMOD 2012.

mod delta;
mod gate;
mod generation;
mod range;
mod store;

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result};

pub use self::gate::Gate;
pub(crate) use self::store::{Dbm, MERGE};

/// How a DBM table is laid out, and when its deltas are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DbmOptions {
    /// Rows of a range, which have a delta of their own.
    pub range_rows: u32,
    /// Changes of a delta that make a merge due.
    pub merge_changes: u32,
}

impl Default for DbmOptions {
    fn default() -> DbmOptions {
        DbmOptions { range_rows: 4096, merge_changes: 2048 }
    }
}

impl DbmOptions {
    /// No option of WITH is known: who makes the method says how its tables are.
    pub(crate) fn check(options: &BTreeMap<String, String>) -> Result<()> {
        match options.keys().next() {
            None => Ok(()),
            Some(name) => {
                let message = format!("method dbm has no option {name:?}");
                Err(Error::new(Code::InvalidParameterValue, message).hint("leave it out"))
            }
        }
    }
}
