//! The engine: one per directory; opens, recovers, checkpoints, closes.
//!
//! ```text
//!   open     lock ─ manifest ─ catalog as of its cut ─ tables as of theirs ─ redo of the log ─ orphans gone ─ threads
//!   recover  table t3: cut 80, catalog: cut 60      log: 61 create t4 · 75 t3 · 90 t3, t4 · chunk of 17 (no commit)
//!            → 61 makes t4 · 75 is in t3's files already · 90 is applied · 17 never happened
//!   log      kept from min(durable cut of every table, catalog's cut, published)
//! ```
//!
//! 1. Recovery finds every acknowledged commit and nothing that did not commit.
//! 2. The log is cut only below what every table, the catalog and publication have behind them; indexes under
//!    construction are among the tables.
//! 3. The first cause that poisons the engine is kept; every later write names it; reads go on.
//! 4. A file is removed only when the manifest no longer names it and no log record can bring it back.
//! 5. An opening writes nothing before it has proved that log and manifest have all that was durable (`ends`).
//!
//! Concurrency: lock order is in the crate's front page; `checkpointing` is outermost and held across I/O.
//!
//! Source: DESIGN sections 3, 4 and 5 (invariant 7).

mod backup;
mod behind;
mod checkpoint;
mod columns;
mod directory;
mod ends;
mod follower;
mod handle;
mod open;
mod pages;
mod past;
mod quarantine;
mod redo;
mod shipping;
mod status;
mod tested;
mod threads;
mod undecided;

pub use crate::options::{Durability, EngineOptions};
pub use crate::txn::Engine;
pub use backup::{
    Backup, BackupPlace, BackupSummary, GoesOn, Mirroring, Restoring, StoredFile, backups, check_backup, restore,
    restore_then,
};
pub use follower::Follower;
pub use handle::{Kept, KeptFiles};
pub use quarantine::{QUARANTINE, QuarantineReport, Quarantined, quarantine};
pub use shipping::SpanFiles;
pub use status::{DamagedFile, EngineStatus, SchedulerStatus};

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and look at real files"
)]
mod tests;
