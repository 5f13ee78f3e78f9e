//! What the kernel offers to table methods: paths, the manifest, the cache pool, timestamps, the row-memory budget.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_env::{Fs, Handles};
#[cfg(doc)]
use weft_format::Code;
use weft_format::table::BlockCache;
use weft_format::{FileId, Result, TableId, Timestamp};

use crate::account::Account;
use crate::budget::RowBudget;
use crate::cache::CachePool;
use crate::fault::{Fault, active};
pub use crate::files::file_name;
use crate::files::{FilePins, Removals};
use crate::manifest::{Edit, Manifest};
use crate::options::EngineOptions;
use crate::poison::Poison;
use crate::sched::{Load, Pacer, Wake};
use crate::timeline::Timeline;

/// Shared by all tables of one engine.
pub struct Services {
    /// The database directory.
    pub(crate) dir: PathBuf,
    /// The manifest.
    pub(crate) manifest: Arc<Manifest>,
    /// The cache pool.
    pub(crate) cache: Arc<dyn BlockCache>,
    /// The same cache, to drop blocks from.
    pub(crate) block_cache: Arc<CachePool>,
    /// Open data files.
    pub(crate) handles: Arc<Handles>,
    /// How the engine was opened.
    pub(crate) options: EngineOptions,
    /// Timestamps handed out, published, registered.
    pub(crate) timeline: Arc<Timeline>,
    /// Memory of row tables.
    pub(crate) row_budget: Arc<RowBudget>,
    /// Memory of what is known of files.
    pub(crate) account: Arc<Account>,
    /// The next file number.
    pub(crate) next_file: AtomicU64,
    /// Wakes the job runner.
    pub(crate) wake: Wake,
    /// Who needs the cores.
    pub(crate) load: Arc<Load>,
    /// Why no more writes are taken.
    pub(crate) poison: Arc<Poison>,
    /// Which files stay although no table has them any more.
    pub(crate) pins: Arc<FilePins>,
    /// Which wait for the thread that removes them.
    pub(crate) removals: Removals,
}

impl Services {
    /// A file number that was never used.
    pub fn allocate_file(&self) -> FileId {
        FileId(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// Where a data file lies.
    pub fn file_path(&self, table: TableId, file: FileId) -> PathBuf {
        self.dir.join(file_name(table, file))
    }

    /// The database directory (to be synced after a file was created in it).
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes a change of a table's files durable. On return a crash finds the change; before, it finds none of it.
    /// Flushes the log first, so that no file state outlives the commits it contains. The caller makes memory follow.
    /// After an error the manifest is as before, unless it says that it stopped ([`Code::Poisoned`]).
    pub fn apply_edit(&self, edit: Edit) -> Result<Unfollowed<'_>> {
        let table = edit.table;
        assert!(table != TableId(0), "the catalog's edits are those of the checkpoint alone");
        assert!(edit.cut <= self.timeline.published(), "files have nothing that is not published");
        self.manifest.apply(edit)?;
        Ok(Unfollowed { poison: &self.poison, table, is_followed: false })
    }

    /// Removes a file that no table has any more, once nobody copies it; in the background where there are threads.
    pub fn remove_file(&self, fs: &dyn Fs, table: TableId, file: FileId) {
        if !self.removals.take(table, file) {
            self.remove_file_now(fs, table, file);
        }
    }

    /// The same in this thread.
    pub(crate) fn remove_file_now(&self, fs: &dyn Fs, table: TableId, file: FileId) {
        if self.pins.may_remove(table, file) {
            // A file that cannot be removed now is an orphan, which the next open removes.
            let _ = fs.remove(&self.file_path(table, file));
        }
        self.block_cache.forget_file(file);
    }

    /// Open data files, at most so many: who reads a data file opens it here.
    pub fn handles(&self) -> &Arc<Handles> {
        &self.handles
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

    /// No registered snapshot, now or later, reads below this timestamp. Versions that died at or before it can go, as
    /// far as the table's own durable cut allows.
    pub fn horizon(&self) -> Timestamp {
        self.timeline.horizon()
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
