//! Transactions: what they see, what they stage, how they commit.
//!
//! ```text
//!   begin      read_ts = 41, registered
//!   insert k   lock k → newest(k) is none → staged { base: none, row }           own reads see it
//!   commit     latch { ts = 42, log.append(Commit 42) } → durable → apply(42) → published = 42 → unlock
//! ```
//!
//! 1. A snapshot takes and registers its timestamp in one step (DESIGN section 5, 1).
//! 2. Log order is timestamp order: the timestamp and the place in the log are taken under one latch.
//! 3. All of a transaction's writes are installed before its timestamp is published (DESIGN section 5, 4).
//! 4. Timestamps are published in order; one whose log write failed is void and skipped.
//! 5. A key is checked against its newest committed version under the key's lock, never against the snapshot
//!    (DESIGN section 5, 6).
//! 6. A failed statement or commit leaves nothing: staged writes are undone, files that a bulk statement built go.
//!
//! Concurrency: a transaction belongs to one thread at a time. Crash: a transaction is there exactly when its commit
//! record is.
//!
//! Source: DESIGN section 4.

mod apply;
mod async_commits;
mod bookkeeping;
mod column_indexes;
mod commit;
mod constraint_modes;
mod core;
mod ddl;
mod follow;
mod followed;
mod foreign_keys;
mod held;
mod indexes;
mod journal;
mod level;
mod objects;
mod opened;
mod overlay;
mod own_ddl;
mod past;
mod promises;
mod ranges;
mod reads;
mod recent;
mod replace;
mod restage;
mod sequences;
mod session_locks;
mod speculation;
mod speculative_reads;
mod stage;
mod transaction;
mod unique;

pub use crate::timeline::Timeline;
pub use core::Acknowledge;
pub use foreign_keys::ChangedRows;
pub use journal::Mark;
pub use level::IsolationLevel;
pub use objects::DdlSince;
pub use opened::Engine;
pub use past::PastSnapshot;
pub use ranges::{RangeRows, RowRange};
pub use reads::ReadSet;
pub use sequences::{NumberTaker, SequenceValues};
pub use session_locks::SessionLocks;
pub use speculation::PendingWatch;
pub use transaction::Transaction;

pub(crate) use apply::{apply_ddl, apply_writes};
pub(crate) use async_commits::AsyncCommits;
pub(crate) use bookkeeping::Bookkeeping;
pub(crate) use core::{Core, LostFile, refused_to_follower};
pub(crate) use journal::Journal;
pub(crate) use own_ddl::OwnDdl;
pub(crate) use recent::RecentCommits;
pub(crate) use restage::{check_change, logged_attachment};

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests run on real threads")]
pub(crate) mod tests;
