//! What the engine's threads and transactions share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_env::sync::Mutex;
use weft_env::{DirLock, Env};
use weft_format::{Code, Error, FileId, Result, TableId, Timestamp, TxnId};

use super::async_commits::AsyncCommits;
use super::bookkeeping::Bookkeeping;
use super::recent::RecentCommits;
use crate::CancelToken;
use crate::admission::{Pool, Slot};
use crate::budget::Help;
use crate::cache::{CachePool, Lending};
use crate::catalog::{Catalog, ColumnsRef, IndexRef, Relation, TableRef};
use crate::jobs::{Failed, Ran, Runner};
use crate::lock::LockTable;
use crate::log::Log;
use crate::manifest::Manifest;
use crate::method::{Method, Methods, method};
use crate::options::EngineOptions;
use crate::poison::Poison;
use crate::sched::Wake;
use crate::services::Services;
use crate::term::Term;
use crate::timeline::Timeline;

/// A file that the log names and that cannot be read.
pub(crate) struct LostFile {
    pub(crate) relation: TableId,
    pub(crate) file: FileId,
    pub(crate) error: Error,
}

/// Waits until a commit may be acknowledged that is durable here; an error says why it is not.
pub type Acknowledge = Box<dyn Fn(Timestamp) -> Result<()> + Send + Sync>;

/// The parts of one engine.
pub(crate) struct Core {
    pub(crate) env: Env,
    pub(crate) dir: PathBuf,
    pub(crate) options: EngineOptions,
    pub(crate) methods: Arc<Methods>,
    pub(crate) services: Arc<Services>,
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) log: Arc<Log>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) cache: Arc<CachePool>,
    pub(crate) lending: Arc<Lending>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) locks: LockTable,
    /// What serializable transactions are validated against.
    pub(crate) recent: RecentCommits,
    /// Memory for what they have read.
    pub(crate) read_sets: Arc<Bookkeeping>,
    pub(crate) runner: Runner,
    /// Rung when the monitor is to end.
    pub(crate) monitor_bell: Wake,
    pub(crate) poison: Arc<Poison>,
    /// Timestamp and place in the log are taken under this (txn 2).
    pub(crate) sequencer: Mutex<()>,
    /// One checkpoint at a time; also truncation of the log and removal of dropped tables.
    pub(crate) checkpointing: Mutex<()>,
    /// Open transactions.
    pub(crate) transaction_slots: Arc<Pool>,
    /// Long queries.
    pub(crate) query_slots: Arc<Pool>,
    pub(crate) async_commits: AsyncCommits,
    /// What a commit waits for before it is acknowledged, beside its own log; none: nothing.
    pub(crate) acknowledge: OnceLock<Acknowledge>,
    /// Snapshots that transactions keep for others, and how many keep each.
    pub(crate) exported: Mutex<BTreeMap<Timestamp, usize>>,
    /// The least row memory that was used since tables were frozen for want of it, bytes; 0 when there was enough
    /// since.
    pub(crate) least_since_freeze: AtomicU64,
    /// When tables promised last to keep what they say, by the monotonic clock.
    pub(crate) promised_nanos: AtomicU64,
    pub(crate) closed: AtomicBool,
    /// Tells the threads to end.
    pub(crate) stop: AtomicBool,
    pub(crate) next_txn: AtomicU64,
    pub(crate) dir_lock: Mutex<Option<Box<dyn DirLock>>>,
    /// The right to write the directory; none: it follows.
    pub(crate) term: Option<Arc<Term>>,
    /// It follows another engine, which writes the directory.
    pub(crate) follows: bool,
    /// Files that the log names and that could not be read, when the engine was opened to take such files out.
    pub(crate) lost: Vec<LostFile>,
}

/// Of whoever would change something in the directory of another engine.
pub(crate) fn refused_to_follower() -> Error {
    let message = "this node follows another, which writes: it can only read";
    Error::new(Code::ReadOnlyTransaction, message).hint("write on the node that is followed")
}

impl Core {
    /// Fails when the engine takes no writes, and says why.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_leads()?;
        self.poison.check()
    }

    /// Fails when the engine was closed, or follows another: only that one changes files and log.
    pub(crate) fn check_leads(&self) -> Result<()> {
        self.check_open()?;
        if self.follows { Err(refused_to_follower()) } else { Ok(()) }
    }

    /// Fails when the engine was closed.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(Code::ShuttingDown, "the database is closed").hint("open it again"));
        }
        Ok(())
    }

    /// Takes a slot for a query that reads much, waiting for it in order; it is free again when the slot is dropped.
    pub(crate) fn admit_query(&self, cancel: Option<&CancelToken>) -> Result<Slot> {
        self.query_slots.enter(self.options.admission_timeout, cancel, &*self.env.clock)
    }

    /// Stops the engine when another has taken its directory.
    pub(crate) fn check_term(&self) -> Result<()> {
        let Some(term) = &self.term else { return Ok(()) };
        term.check().map_err(|error| self.poison_if_stopped(error))
    }

    /// A transaction number.
    pub(crate) fn next_txn(&self) -> TxnId {
        TxnId(self.next_txn.fetch_add(1, Ordering::Relaxed))
    }

    /// The method of a name.
    pub(crate) fn method(&self, name: &str) -> Result<&Arc<dyn Method>> {
        method(&self.methods, name)
    }

    /// Hands an error on; one that says the log or the manifest stopped stops the engine.
    pub(crate) fn poison_if_stopped(&self, error: Error) -> Error {
        if error.code() == Code::Poisoned { self.poison.set(error.message()) } else { error }
    }

    /// Lets a writer on, late when row memory is short.
    #[inline]
    pub(crate) fn admit(&self, own_bytes: u64, goes_on: impl Fn() -> Result<()>) -> Result<()> {
        let help = || goes_on().and_then(|()| self.free_row_memory());
        self.services.row_budget.admit(&*self.env.clock, own_bytes, help)
    }

    /// Fails when jobs that free the table's memory, or that of its indexes, fail themselves.
    #[cold]
    pub(crate) fn check_drains(&self, t: &TableRef) -> Result<()> {
        let (indexes, columns) = (t.indexes(), t.column_indexes());
        let derived = indexes.iter().map(IndexRef::id).chain(columns.iter().map(ColumnsRef::id));
        let mut ids = std::iter::once(t.id()).chain(derived);
        let Some(cause) = ids.find_map(|id| self.runner.memory_trouble(id)) else { return Ok(()) };
        let message =
            format!("table {:?} takes no rows: its memory cannot be carried to files, {}", t.def.name, cause.message());
        let remedy = cause.hint_text().unwrap_or("see weft_jobs");
        Err(Error::new(Code::OutOfMemory, message).hint(format!("{remedy}; writes go on when the job has run")))
    }

    /// What a writer above the budget does: makes jobs free memory, by itself where there are no workers.
    #[cold]
    fn free_row_memory(&self) -> Result<Help> {
        self.poison.check()?;
        let mut failed = Failed::default();
        for attempt in 0..2 {
            if self.options.workers == 0 {
                loop {
                    let before = failed.error.is_some();
                    match self.runner.run_one(&mut failed)? {
                        Ran::Job if failed.error.is_some() != before => {}
                        Ran::Job => return Ok(Help::Ran),
                        Ran::Busy | Ran::Waits(_) => return Ok(Help::UnderWay),
                        Ran::Nothing => break,
                    }
                }
            } else if self.runner.has_conversion() {
                self.services.wake_jobs();
                return Ok(Help::UnderWay);
            }
            if attempt == 0 {
                self.freeze_all();
            }
        }
        failed.result()?;
        Ok(Help::Nothing)
    }

    /// A transaction gives up what it made: jobs leave it, its memory is free, its files go. Of an index under
    /// construction the manifest may know some; then they go when it has forgotten them (buildings 2).
    pub(crate) fn give_up(&self, relation: &Relation) {
        assert!(relation.is_alive(), "what is given up was never in the catalog, so nobody has dropped it");
        let id = relation.id();
        let was_building = self.catalog.buildings.give_up(id);
        relation.upkeep().drop_files();
        let Some(index) = relation.index().filter(|_| was_building) else { return };
        index.index.store().empty();
        // A job that was told before looks again once it counts as running, and one that runs may name files yet.
        if !self.runner.is_running(id) && self.manifest.cut(id) == Timestamp(0) {
            self.catalog.buildings.leave(id);
        }
        self.services.wake_jobs();
    }

    /// Freezes what is in the memory of every table.
    pub(crate) fn freeze_all(&self) {
        self.freeze_where(|_| true);
    }

    /// The same of the tables with such a durable cut.
    pub(crate) fn freeze_where(&self, which: impl Fn(Timestamp) -> bool) {
        for relation in self.catalog.maintained() {
            let upkeep = relation.upkeep();
            if which(upkeep.durable_cut()) {
                upkeep.freeze();
            }
        }
    }
}
