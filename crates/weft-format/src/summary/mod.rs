//! What the values of a column are like: how many there are, which are common, how they are spread.
//!
//! ```text
//!   100,000 rows, 2,000 of them NULL      rows, nulls, bytes                       counted
//!   about 2,406 values                    sketch: 1,024 registers of 6 bits        of all rows; 3 % error
//!   'F' 48,000 times, 'O' 47,900          common: at most 32 values                of a sample of 512 rows or more
//!   1992-01-02 .. 1998-12-01              histogram: at most 32 points             of the same sample
//!
//!   sketch ── frequent ── histogram       the three parts, each with its merge
//!      sampling                          which rows of many are looked at
//!   column                               all of it of one column; what conditions leave of its rows
//!      collect                           made while rows go into a file, or of rows that are there
//!   layout                               as bytes
//! ```
//!
//! 1. A summary of rows and one of other rows merge into one of all these rows ([`ColumnSummary::merge`]). Merging the
//!    same rows twice counts them twice, but in the sketch: who merges knows what is in.
//! 2. Values that compare equal are one value here, and hash equally in every release and on every machine
//!    ([`crate::bloom::hash_value`]).
//! 3. The same rows in the same order give the same summary: what is drawn is drawn by the number of the row.
//! 4. A summary is an estimate, never an answer.

mod collect;
mod column;
mod frequent;
mod histogram;
mod layout;
mod sample;
mod sampling;
mod sketch;
#[cfg(test)]
mod tests;

pub use collect::{Collector, Counter, constant, summarize};
pub use column::{ColumnSummary, join_share};
pub use histogram::{Histogram, Point};
pub use sampling::{scattered, spread};
pub use sketch::Sketch;

#[cfg(test)]
pub(crate) use layout::ON_DISK;
pub(crate) use layout::{read_summaries, write_summaries};

/// Most common values, and most points of a histogram, of one file.
pub(crate) const PARTS_MAX: usize = 32;
/// The same of many files together.
pub(crate) const UNION_MAX: usize = 100;
