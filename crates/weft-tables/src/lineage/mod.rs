//! Method `lineage`: rows that take any number of updates, and whose past stays (L-Store).
//!
//! ```text
//!   writes → active tails → frozen tails → merged into base pages, what they replace into history
//!            append-only, by range          segment = 64 K rows, one page per column     by row and time
//!
//!   key k7 ─▶ row id 65,540 ─▶ segment 1, slot 4 ─▶ word ─▶ newest tail record ─▶ the one before it ...
//!                                                   └ no record: the base page has the newest value
//! ```
//!
//! | module | what |
//! |---|---|
//! | `store`, `gate`, `layout` | the table, its locks; who waits for whom; what a reader pins |
//! | `buckets`, `record`, `range`, `tails`, `keys` | tails: append-only memory, records, words, keys of new rows |
//! | `columns` | which columns a change touches, for scans of others |
//! | `files`, `shapes` | data files of three shapes: pages, keys, history |
//! | `bulk`, `loaded` | bulk loads: segments and keys at once |
//! | `base`, `segment`, `key_run`, `past` | what is in files: pages by segment, keys to row ids, older values |
//! | `version`, `read`, `write` | the version that a snapshot sees; the duties of reading and writing |
//! | `merge`, `merge_segment`, `patched`, `undo`, `output` | tails into base pages and history |
//! | `tidy`, `key_merge`, `past_merge` | fewer files of keys and of history |
//! | `payload` | what the manifest keeps |
//! | `scan/` | partitions of Arrow batches |
//! | `versions/` | the same of all versions that a period has |
//! | `maintain`, `status`, `check`, `follow` | jobs, views, the deep check, followers |
//!
//! 1. A row id never changes while any version of its row is kept, and a key has one row id at a time: another, greater
//!    one when it comes back by a bulk load. Indexes and locations mean row ids.
//! 2. Tails hold committed records only: the kernel installs after the commit is durable. A set of tails covers the
//!    timestamps (from, to]; sets follow each other without a gap, the first begins behind the base's cut.
//! 3. A tail record is written once, then the word of its row is swung to it; nothing of it changes afterwards.
//! 4. The base has exactly the newest values as of its cut, and bulk loads of later commits. A snapshot at or above the
//!    cut reads tails and base, one below it base and history: never both tails and history.
//! 5. History has, for each change after which the base still knows the row and that a snapshot may look behind, what
//!    the change replaced: the row's state and the old values of the columns that changed.
//! 6. A record has what all unmerged records of its row have set, as far as that is short, so the newest value of a
//!    column is in the newest record, in the row that it was inserted as, or in the base: two hops.
//!
//! Source: L-Store (papers/002); where this differs, docs/decisions/2026-11-27-lineage-tables.md says why.

mod base;

pub mod buckets;
mod bulk;
mod check;
mod columns;
pub mod faults;
mod files;
mod follow;
mod gate;
pub mod job_kinds;
mod key_merge;
mod key_run;
mod keys;
mod layout;
mod loaded;
mod maintain;
mod merge;
mod merge_segment;
mod method;
mod options;
mod output;
mod past;
mod past_merge;
mod patched;
pub mod payload;
mod range;
mod read;
mod record;
mod scan;
mod segment;
mod shapes;
mod status;
pub mod steps;
mod store;
mod tails;
#[cfg(test)]
mod tests;
mod tidy;
mod undo;
mod version;
mod versions;
mod write;

pub use gate::{GateWaits, Holder};
pub use method::{LineageMethod, lineage_method};
pub use options::Options;
