//! The kernel: transactions, locks, the log, the manifest, the catalog, background jobs; an engine that opens, recovers
//! and checkpoints a directory of tables, whatever method they are stored by.
//!
//! ```text
//!   engine/     open · recover · checkpoint · backup · close · status           one Engine per directory
//!   txn/        snapshots, write sets, commit:  validate → sequence → log → install → publish
//!   jobs/       runs what the scheduler picks: by workers, or by who waits for it
//!   catalog/    which tables and indexes a snapshot sees; CREATE and DROP are versions like rows
//!   index/      derived from a table: entries in memories, sorted runs, filters
//!   method      a way to store tables (weft-tables has them) · services: what the kernel gives it to work with
//!   manifest/   which files make which table up to which cut · cache/ blocks, bounded in bytes · lock/ keys and
//!               tables, deadlocks found · timeline: timestamps in log order · admission, options
//!   log/        records, blocks, segments, group commit: the truth · sched/ which job has the best price, and when
//!   words and switches that all floors share: fault, step, cancel, budget, poison, files
//!   table       weft-contract for those above: what a table is asked, what it tells
//! ```
//!
//! Each floor uses only floors below it, and the modules of one floor do not use each other; no two files import each
//! other in a circle. The tests of weft-tidy hold both (`layers`, `circles`).
//!
//! Locks, outermost first: a table's own locks → sequencing latch → log → publication → registered snapshots. No lock
//! is held while a job runs.
//!
//! Source: DESIGN sections 3, 4 and 7.

pub mod account;
pub mod admission;
pub mod budget;
pub mod cache;
pub mod catalog;
pub mod engine;
pub mod fault;
pub mod files;
mod history;
pub mod index;
mod jobs;
pub mod lock;
pub mod log;
pub mod manifest;
pub mod method;
mod options;
mod poison;
mod read_again;
pub mod sched;
pub mod services;
pub mod step;
pub mod table;
mod term;
mod timeline;
pub mod txn;
mod wanted;

mod cancel;
mod sleeper;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at real files")]
mod testing;

pub use cancel::CancelToken;
pub use catalog::{
    ColumnsRef, Deferrable, FkAction, ForeignKey, IndexRef, KnownColumns, NewTable, Object, ObjectKind, SchemaId,
    SequenceOptions, SequenceValue, TableDef, TableRef, WeakTableRef,
};
pub use engine::{
    Backup, BackupPlace, BackupSummary, DamagedFile, Durability, Engine, EngineOptions, EngineStatus, Follower, GoesOn,
    Kept, KeptFiles, Mirroring, QUARANTINE, QuarantineReport, Quarantined, Restoring, SchedulerStatus, SpanFiles,
    StoredFile, backups, check_backup, quarantine, restore, restore_then,
};
pub use history::History;
pub use lock::{ColumnSet, LockMode, Wait};
pub use read_again::read_again;
pub use services::Services;
pub use term::{newest_writer, writer_is_present, writer_of};
pub use timeline::Horizon;
pub use txn::{
    Acknowledge, ChangedRows, DdlSince, IsolationLevel, Mark, NumberTaker, PastSnapshot, PendingWatch, RangeRows,
    RowRange, SequenceValues, SessionLocks, Transaction,
};
