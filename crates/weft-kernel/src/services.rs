//! What the kernel offers to table methods: files, the manifest, the cache pool, timestamps, the row-memory budget.

use std::sync::{Arc, OnceLock};

#[cfg(doc)]
use weft_format::Code;
use weft_format::table::BlockCache;
use weft_format::{RecordNo, Result, TableId, Timestamp};

use crate::account::Account;
use crate::budget::RowBudget;
use crate::cache::CachePool;
use crate::fault::{Fault, active};
use crate::files::Files;
use crate::log::{Log, Record};
use crate::manifest::{Edit, Manifest};
use crate::options::EngineOptions;
use crate::poison::Poison;
use crate::sched::{Load, Pacer, Wake};
use crate::timeline::Timeline;
use crate::wanted::Wanted;

/// Shared by all tables of one engine.
pub struct Services {
    /// The manifest.
    pub(crate) manifest: Arc<Manifest>,
    /// The cache pool.
    pub(crate) cache: Arc<dyn BlockCache>,
    /// The same cache, to drop blocks from.
    pub(crate) block_cache: Arc<CachePool>,
    /// The data files.
    pub(crate) files: Files,
    /// How the engine was opened.
    pub(crate) options: EngineOptions,
    /// Timestamps handed out, published, registered.
    pub(crate) timeline: Arc<Timeline>,
    /// Memory of row tables.
    pub(crate) row_budget: Arc<RowBudget>,
    /// Memory of what is known of files.
    pub(crate) account: Arc<Account>,
    /// Wakes the job runner.
    pub(crate) wake: Wake,
    /// Tables that somebody wanted to know more of.
    pub(crate) wanted: Wanted,
    /// Who needs the cores.
    pub(crate) load: Arc<Load>,
    /// Why no more writes are taken.
    pub(crate) poison: Arc<Poison>,
    /// The log, once it is written: not while it is being read, and not of a follower.
    pub(crate) log: OnceLock<Arc<Log>>,
}

impl Services {
    /// The data files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Makes a change of a table's files durable. On return a crash finds the change; before, it finds none of it.
    /// Flushes the log first, so that no file state outlives the commits it contains. The caller makes memory follow.
    /// After an error the manifest is as before, unless it says that it stopped ([`Code::Poisoned`]).
    pub fn apply_edit(&self, edit: Edit) -> Result<Unfollowed<'_>> {
        let table = edit.table;
        assert!(table != TableId(0), "the catalog's edits are those of the checkpoint alone");
        assert!(edit.cut <= self.timeline.published(), "files have nothing that is not published");
        self.files.while_ours(|| self.manifest.apply(edit))?;
        Ok(Unfollowed { poison: &self.poison, table, is_followed: false })
    }

    /// Whether records of pages can be appended: not while the log is being read.
    pub fn takes_page_records(&self) -> bool {
        self.log.get().is_some()
    }

    /// Appends what the method of a table does to its pages; they carry the record's number. It never waits, and is in
    /// the log for good unless this fails: then the engine has stopped, or the change is too long for a record. The
    /// commit that made the table must be in the log.
    pub fn log_page(&self, table: TableId, change: &[u8]) -> Result<RecordNo> {
        let log = self.log.get().expect("pages change in the log's words once it is written");
        log.append(&Record::Page { table, change })
    }

    /// Waits until the batch of the log that fills is below its bound, for who is about to append much: without a lock
    /// that a commit needs. An error, of a full disk: it is not.
    pub fn wait_for_log_room(&self) -> Result<()> {
        self.log.get().expect("who appends records has a log").wait_for_room()
    }

    /// Returns when the log is durable up to a record: before a page with its number is written (in place 1).
    pub fn flush_log_to(&self, number: RecordNo) -> Result<()> {
        self.log.get().expect("who has appended a record has a log").flush_to(number)
    }

    /// The cache pool.
    pub fn cache(&self) -> &Arc<dyn BlockCache> {
        &self.cache
    }

    /// How the engine was opened: sizes.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The last timestamp handed out to a committing transaction, published or not.
    pub fn last_sequenced(&self) -> Timestamp {
        self.timeline.last_sequenced()
    }

    /// The last published timestamp: everything up to it is installed in every table.
    pub fn published(&self) -> Timestamp {
        self.timeline.published()
    }

    /// The budget that row tables charge their bytes to.
    pub fn row_budget(&self) -> &Arc<RowBudget> {
        &self.row_budget
    }

    /// The account of what is known of files.
    pub fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// The pace of a job that begins now.
    pub fn pacer(&self) -> Pacer {
        Pacer::new(self.load.clone())
    }

    /// Somebody wants to know more of a table's columns: whoever has time for it looks.
    pub fn want_columns(&self, table: TableId) {
        if self.wanted.want(table) {
            self.wake.notify();
        }
    }

    /// Tells the job runner that a table has new offers.
    pub fn wake_jobs(&self) {
        self.wake.notify();
    }
}

/// A durable change of a table's files that memory does not show yet. Who lets go of it before, by a panic, stops the
/// engine: what it knows is no longer what is on disk.
#[must_use = "memory must follow the manifest"]
pub struct Unfollowed<'a> {
    poison: &'a Poison,
    table: TableId,
    is_followed: bool,
}

impl Unfollowed<'_> {
    /// Memory shows the change.
    pub fn followed(mut self) {
        self.is_followed = true;
    }
}

impl Drop for Unfollowed<'_> {
    fn drop(&mut self) {
        if !self.is_followed && !active(Fault::SWITCH_UNGUARDED) {
            self.poison.set(&format!("a job of table {} ended between the manifest's change and memory's", self.table));
        }
    }
}
