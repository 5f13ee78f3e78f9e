//! An open transaction of a session, with the places to go back to.

use std::sync::Arc;

use weft_kernel::{IsolationLevel, Mark, Transaction};

use crate::settings::Settings;

/// An open BEGIN.
pub(super) struct Block {
    /// None once it failed without a savepoint to go back to: then its locks and its snapshot are gone.
    pub(super) txn: Option<Transaction>,
    pub(super) failed: bool,
    /// The isolation level.
    pub(super) level: IsolationLevel,
    pub(super) read_only: bool,
    /// It reads a moment of the past.
    pub(super) as_of: bool,
    /// Nobody said BEGIN: the statements of one text, or those up to the client's next Sync.
    pub(super) implicit: bool,
    /// A statement has run: the level and the snapshot of REPEATABLE READ and SERIALIZABLE stand.
    pub(super) started: bool,
    /// The time of the transaction: microseconds since 1970 UTC.
    pub(super) now_micros: i64,
    pub(super) savepoints: Vec<Savepoint>,
    /// The settings when it began: those after a rollback.
    pub(super) before: Arc<Settings>,
    /// After SET LOCAL: the settings after the commit.
    pub(super) after: Option<Arc<Settings>>,
}

/// A place to go back to, with the settings that held there.
pub(super) struct Savepoint {
    pub(super) name: String,
    pub(super) mark: Mark,
    /// How many advisory locks the transaction had.
    pub(super) lock_mark: usize,
    pub(super) settings: Arc<Settings>,
    pub(super) after: Option<Arc<Settings>>,
}
