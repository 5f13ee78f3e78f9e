//! The kernel: transactions, locks, the log, the manifest, the catalog, background jobs; an engine that opens, recovers
//! and checkpoints a directory of tables, whatever method they are stored by.
//!
//! ```text
//!   engine/    open · recover · checkpoint · close · status           one Engine per directory
//!     ├── txn/      snapshots, write sets, commit:  validate → sequence → log → install → publish
//!     │    ├── lock/     keys and tables, FIFO, deadlocks found
//!     │    └── catalog/  which tables a snapshot sees; CREATE and DROP are versions like rows
//!     ├── sched/    picks the job with the best price; worker threads
//!     ├── log/      records, blocks, segments, group commit: the truth
//!     ├── manifest/ which files make which table up to which cut
//!     ├── index/    entries of secondary indexes: memories, sorted runs, filters
//!     ├── cache/    blocks of column tables and indexes, bounded in bytes;   budget: memory of row tables
//!     └── table/    the contract a table method fulfils (weft-tables holds the methods)
//! ```
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
pub mod index;
pub mod lock;
pub mod log;
pub mod manifest;
pub mod sched;
pub mod services;
pub mod step;
pub mod table;
pub mod txn;

mod cancel;
mod sleeper;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at real files")]
mod testing;

pub use cancel::CancelToken;
pub use catalog::{
    Deferrable, FkAction, ForeignKey, NewTable, Object, ObjectKind, SchemaId, SequenceOptions, SequenceValue, TableDef,
    TableRef,
};
pub use engine::{
    Backup, BackupSummary, DamagedFile, Durability, Engine, EngineOptions, EngineStatus, QUARANTINE, QuarantineReport,
    Quarantined, SchedulerStatus, backups, check_backup, quarantine, restore,
};
pub use lock::{ColumnSet, LockMode, Wait};
pub use services::Services;
pub use txn::{DdlSince, IsolationLevel, Mark, PendingWatch, Transaction};
