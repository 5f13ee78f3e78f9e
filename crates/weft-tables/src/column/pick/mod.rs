//! Which jobs the layers of column tables need: a pure function from shapes to picks.
//!
//! ```text
//!   incremental [a..z] 9 MiB, [b..y] 12 MiB, [a..x] 12 MiB     ─▶ to transition: 33 MiB (formula 1)
//!   bucket 3: tables of 17 MiB over a baseline of 30 MiB       ─▶ to baseline: 17 + 30 MiB (formula 2)
//!   bucket 4: 13 small tables cover "k"                        ─▶ merge the small ones, bounded by G
//!   incremental [c..d] within bucket 1, over nothing           ─▶ move: baseline by an edit alone
//!   bucket 5: baseline of 50 MiB, G − T = 48                   ─▶ move: a border more (formula 4)
//! ```
//!
//! * `choice`       all of it, in order
//! * `view`         what the picker looks at: tables in their layers and buckets
//! * `moves`        what an edit alone can do: layers, borders, tables without a living row
//! * `incremental`  collecting incremental tables into buckets
//! * `bucket`       bringing a bucket into its baseline
//! * `runs`         tables over one key, runs of small tables
//!
//! 1. Picks are disjoint, and of each bucket there is one at a time: who works on it is alone with its baseline.
//! 2. Their size is bounded: incremental tables and merges by G, a bucket by itself and its baseline.
//! 3. Repeated, picking comes to an end: every job leaves fewer tables, fewer dead rows, or tables further down.
//!
//! Tables reach a bucket unmerged, so many small ones come together in it, and merging each few of them with a baseline
//! of up to G − T would write ten times what they hold: until T is reached they are merged with each other. A job whose
//! tables are all dead, alone or within one bucket reads nothing: an edit moves or forgets them.
//!
//! Source: SynchroStore section 3.2, formulas 1 to 4; merges within a layer, moves and joins are ours.

mod bucket;
mod choice;
mod incremental;
mod moves;
mod runs;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use choice::pick;
pub(crate) use view::{Pick, Shape, Standing, Work};
