//! The handle that upper layers hold.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_env::Env;
use weft_format::{Code, Error, Lsn, Result, Timestamp};

use super::backup::{self, BackupPlace, BackupSummary};
use super::status::{DamagedFile, EngineStatus, SchedulerStatus};
use super::{open, status, threads};
use crate::CancelToken;
use crate::admission::Slot;
use crate::cache::{Lending, PartitionCounters};
use crate::catalog::{ColumnsRef, Object, Relation, TableRef};
use crate::files::FilePin;
use crate::index::Index;
use crate::jobs::{Failed, Ran};
use crate::lock::LockState;
use crate::log::{Announce, Durable, KeptLog, LogKeeper};
use crate::method::Method;
use crate::options::EngineOptions;
use crate::sched::{JobRecord, Load, Trouble};
use crate::txn::{Core, Engine, IsolationLevel, PendingWatch, Transaction};

impl Engine {
    /// Opens the database in `dir`, made when missing, and recovers it. The directory is locked until close;
    /// [`weft_format::Code::CannotConnectNow`] names who holds it.
    pub fn open(env: Env, dir: &Path, methods: Vec<Arc<dyn Method>>, options: EngineOptions) -> Result<Arc<Engine>> {
        let archived_to = options.archived_to;
        let core = Arc::new(open::open(env, dir, methods, options)?);
        if archived_to.is_some() {
            core.log.keep_from(LogKeeper::Archive, archived_to);
        }
        let engine = Arc::new(Engine::of(core));
        engine.keep_threads(threads::start(&engine.core)?);
        Ok(engine)
    }

    /// Begins a transaction on a snapshot of everything published.
    #[inline]
    pub fn begin(self: &Arc<Self>) -> Result<Transaction> {
        self.begin_at(IsolationLevel::default())
    }

    /// Takes a slot for a query that reads much, waiting for it in order; it is free again when the slot is dropped.
    pub fn admit_query(&self, cancel: Option<&CancelToken>) -> Result<Slot> {
        self.core.admit_query(cancel)
    }

    /// Begins a transaction at an isolation level. When all slots are taken it waits for one in order, and fails with
    /// [`Code::TooManyTransactions`] in the end.
    #[inline]
    pub fn begin_at(self: &Arc<Self>, level: IsolationLevel) -> Result<Transaction> {
        self.core.check_open()?;
        Transaction::begin(self.clone(), level, None)
    }

    /// Begins a transaction on what was committed up to `read_ts` ([`Transaction::set_snapshot`]). It goes back as far
    /// as this opening, and each table as far as it has kept its versions ([`Horizon`](crate::Horizon)); a snapshot
    /// that a transaction has is there whole.
    pub fn begin_past(self: &Arc<Self>, read_ts: Timestamp) -> Result<Transaction> {
        let mut txn = self.begin_at(IsolationLevel::RepeatableRead)?;
        txn.set_snapshot(read_ts)?;
        Ok(txn)
    }

    /// As [`Engine::begin_at`], for a session: what stops its statement ends the wait for a slot, and every wait of the
    /// transaction.
    #[inline]
    pub fn begin_stoppable(self: &Arc<Self>, level: IsolationLevel, cancel: CancelToken) -> Result<Transaction> {
        self.core.check_open()?;
        Transaction::begin(self.clone(), level, Some(cancel))
    }

    /// Keeps what speculative snapshots show beside what is published, also while no transaction speculates
    /// ([`Transaction::set_speculative_reads`]).
    pub fn watch_pending(self: &Arc<Self>) -> PendingWatch {
        PendingWatch::new(self.clone())
    }

    /// The version of the newest catalog. What a transaction sees is
    /// [`Transaction::catalog_version`]; caches are keyed by that.
    pub fn catalog_version(&self) -> u64 {
        self.core.catalog.last_ddl().0
    }

    /// The last published timestamp.
    pub fn published(&self) -> Timestamp {
        self.core.timeline.published()
    }

    /// Carries everything committed so far to files, so that recovery starts here, and removes the log before.
    pub fn checkpoint(&self) -> Result<()> {
        self.core.check_leads()?;
        self.core.checkpoint()
    }

    /// Runs all jobs that are offered, in this thread, until there are none; returns how many it ran. A job that fails
    /// keeps no other from running; the first error is returned at the end.
    pub fn run_jobs(&self) -> Result<usize> {
        self.core.check_leads()?;
        let _urgent = self.core.services.load.urgent();
        let (mut count, mut failed) = (0, Failed::default());
        let mut wanted = self.core.services.wanted.take_all();
        let mut has_frozen = false;
        loop {
            match self.core.runner.run_one(&mut failed)? {
                Ran::Job => (count, has_frozen) = (count + 1, false),
                Ran::Busy | Ran::Waits(_) => self.core.runner.wait_for_end(),
                Ran::Nothing => {
                    // What was frozen, and offers nothing but what has failed, is not frozen again and again.
                    has_frozen = !has_frozen && self.core.keep_house(Ran::Nothing);
                    if !has_frozen && !self.core.look_at_these(&mut wanted) {
                        return failed.result().map(|()| count);
                    }
                }
            }
        }
    }

    /// Looks at the columns of a table of which somebody wanted to know more; false: nobody did. Threads of the engine
    /// do that by themselves; this is for who has none, and may be stopped only with the engine.
    pub fn look_at_columns(&self) -> bool {
        self.core.look_at_columns()
    }

    /// Runs one job in this thread if one is offered, the best; returns whether one ran.
    pub fn run_one_job(&self) -> Result<bool> {
        self.core.check_leads()?;
        let _urgent = self.core.services.load.urgent();
        let mut failed = Failed::default();
        let ran = self.core.runner.run_one(&mut failed)?;
        failed.result().map(|()| ran == Ran::Job)
    }

    /// Freezes what is in the memory of every table, so that jobs are offered for it.
    pub fn freeze(&self) -> Result<()> {
        self.core.check_leads()?;
        self.core.freeze_all();
        Ok(())
    }

    /// Copies the database as it is at this moment into `dest`, beside the backups that are there, while transactions
    /// and jobs go on; files that the newest of them has are not copied again. After an error, and after a crash, the
    /// earlier backups are as they were.
    pub fn backup(&self, dest: impl Into<BackupPlace>, cancel: Option<&CancelToken>) -> Result<BackupSummary> {
        backup::backup(&self.core, dest.into(), cancel).map(|(summary, _)| summary)
    }

    /// Makes all commits that were acknowledged asynchronously durable.
    pub fn flush(&self) -> Result<()> {
        self.core.log.flush().map_err(|error| self.core.poison_if_stopped(error))
    }

    /// The log is durable up to here: a follower may read so far.
    pub fn announced(&self) -> Lsn {
        self.core.log.durable_lsn()
    }

    /// From here on every block of the log is announced when it is durable, before anybody else is told; once. How far
    /// it is by now, which may have been announced by then.
    pub fn announce_by(&self, announce: Announce) -> Durable {
        self.core.log.announce_by(announce)
    }

    /// The log is durable up to here, and has these commits.
    pub fn durable(&self) -> Durable {
        self.core.log.durable()
    }

    /// Keeps the log and every data file until what this returns is dropped, for followers in this process: without it
    /// one that is slow finds that they are gone, and joins anew.
    pub fn keep_for_followers(&self) -> Kept {
        Kept { _log: self.core.log.keep(), _files: self.keep_files() }
    }

    /// Fails when another writer has taken the directory: then nothing that is committed here counts any more.
    pub fn check_writes(&self) -> Result<()> {
        self.core.check_leads()?;
        self.core.check_term()?;
        self.core.poison.check()
    }

    /// Fails when another writer has taken the directory: then newer commits may be there.
    pub fn check_directory(&self) -> Result<()> {
        self.core.check_term()
    }

    /// The number of its opening, the epoch of the log; 0 when it follows.
    pub fn epoch(&self) -> u32 {
        self.core.term.as_ref().map_or(0, |term| term.number())
    }

    /// Which database it is: a number that was drawn when it was made, which its copies and nodes have, too. None: a
    /// node of a database that no writer of this release has opened.
    pub fn database_number(&self) -> Option<u64> {
        self.core.services.manifest.database()
    }

    /// Whether another writer has taken its directory.
    pub fn has_lost_directory(&self) -> bool {
        self.core.term.as_ref().is_some_and(|term| term.is_lost())
    }

    /// Bytes of log that are kept for who follows, beyond what recovery needs.
    pub fn followed_log_bytes(&self) -> u64 {
        self.core.log.followed_bytes()
    }

    /// Keeps the log from a position on for who follows from there; none: nobody does.
    pub fn keep_log_from(&self, keeper: LogKeeper, from: Option<Lsn>) {
        self.core.log.keep_from(keeper, from);
    }

    /// Keeps every data file that is there until what this returns is dropped; those that went before are not kept.
    pub fn keep_files(&self) -> KeptFiles {
        let files = self.core.services.files.keep();
        // Behind the pin: what it does not keep was forgotten by one of these edits.
        KeptFiles { edits: self.edits(), _files: files }
    }

    /// So many edits of the manifest are durable.
    pub fn edits(&self) -> u64 {
        self.core.manifest.edit_count().load(Ordering::Acquire)
    }

    /// Bytes of data files that no table has any more, and that stay for who follows.
    pub fn kept_bytes(&self) -> u64 {
        self.core.services.files.followed_bytes()
    }

    /// Whether it was closed: nothing begins any more.
    pub fn is_closed(&self) -> bool {
        self.core.closed.load(Ordering::Acquire)
    }

    /// Whether it follows another engine: then it takes no writes.
    #[inline]
    pub fn is_follower(&self) -> bool {
        self.core.follows
    }

    /// What others are told who try to open the directory: who has it, and on a second line what to do.
    pub fn describe_owner(&self, owner: &str) -> Result<()> {
        let lock = self.core.dir_lock.lock();
        let described = lock.as_ref().map_or(Ok(()), |lock| lock.describe(owner));
        described.map_err(|error| Error::io(format!("writing to the lock of {}", self.core.dir.display()), &error))
    }

    /// Ends the threads, checkpoints, and lets go of the directory. Transactions that are open can still read; their
    /// commits fail. Called again it does nothing. An error of the checkpoint is returned after everything was let go;
    /// nothing acknowledged is lost by it.
    pub fn close(&self) -> Result<()> {
        self.close_and(|| ())
    }

    /// The same; `last` is called while the directory is locked, when nothing is written any more.
    pub fn close_and(&self, last: impl FnOnce()) -> Result<()> {
        {
            let _latch = self.core.sequencer.lock();
            if self.core.closed.swap(true, Ordering::AcqRel) {
                return Ok(());
            }
        }
        self.stop_threads();
        let result = self.core.last_checkpoint();
        if self.core.check_term().is_ok() {
            self.core.log.remove_spares();
        }
        self.core.services.files.let_go();
        last();
        self.core.dir_lock.lock().take();
        result
    }

    /// Tests every checksum and invariant of every table, the log and the manifest; what is wrong, one line each.
    pub fn check(&self) -> Result<Vec<String>> {
        self.core.check_open()?;
        let mut wrong = Vec::new();
        // A follower's are another engine's.
        if !self.core.follows {
            wrong.extend(self.core.log.check()?);
            wrong.extend(self.core.manifest.check()?);
        }
        for relation in self.core.catalog.visible(self.core.timeline.published()) {
            let name = &relation.def().name;
            // What is wrong with one table keeps no other from being looked at.
            let found = relation.upkeep().check().or_else(|error| match error.code() {
                Code::DataCorrupted | Code::Io | Code::UndefinedFile => Ok(vec![error.to_string()]),
                _ => Err(error),
            });
            wrong.extend(found?.into_iter().map(|line| format!("table {name:?}: {line}")));
        }
        Ok(wrong)
    }

    /// Who needs the cores: whoever runs a query says so here, and jobs make room for it.
    pub fn load(&self) -> &Arc<Load> {
        &self.core.services.load
    }

    /// How it was opened.
    pub fn options(&self) -> &EngineOptions {
        &self.core.options
    }

    /// Files, time and threads.
    pub fn env(&self) -> &Env {
        &self.core.env
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.core.dir
    }

    /// The engine in numbers.
    pub fn status(&self) -> EngineStatus {
        status::status(&self.core)
    }

    /// Who lends row memory to the cache: the operators of queries tell it what they have.
    pub fn lending(&self) -> &Arc<Lending> {
        &self.core.lending
    }

    /// The partitions of the cache pool in numbers.
    pub fn cache_partitions(&self) -> Vec<PartitionCounters> {
        self.core.cache.partitions()
    }

    /// Adds a partition to the cache pool while it is used, for more threads side by side; the budget stays. Answers
    /// how many there are now; none when there are as many as there can be.
    pub fn add_cache_partition(&self) -> Option<usize> {
        self.core.cache.add_partition()
    }

    /// The last jobs that were picked and why, oldest first.
    pub fn job_history(&self) -> Vec<String> {
        self.core.runner.history()
    }

    /// The jobs that were started last, oldest first, running ones among them, and those that wait for room.
    pub fn jobs(&self) -> Vec<JobRecord> {
        self.core.runner.jobs()
    }

    /// The data files that could not be read when they were needed last.
    pub fn damaged_files(&self) -> Vec<DamagedFile> {
        status::damaged_files(&self.core)
    }

    /// Why the work between jobs (removing dropped tables, cutting the log) waits, if it failed.
    pub fn house_trouble(&self) -> Option<Trouble> {
        self.core.runner.house_trouble()
    }

    /// What the scheduler of jobs expects, found, and learned.
    pub fn scheduler(&self) -> SchedulerStatus {
        status::scheduler(&self.core)
    }

    /// The objects that a snapshot taken now would see, by kind, schema and name.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.core.catalog.objects.visible(self.core.timeline.published())
    }

    /// The tables that a snapshot taken now would see, by id.
    pub fn tables(&self) -> Vec<TableRef> {
        let relations = self.core.catalog.visible(self.core.timeline.published());
        relations.into_iter().filter_map(Relation::into_table).collect()
    }

    /// The indexes that a snapshot taken now would see, by id, and their tables.
    pub fn indexes(&self) -> Vec<(TableRef, Arc<Index>)> {
        let relations = self.core.catalog.visible(self.core.timeline.published());
        let indexes = relations.into_iter().filter_map(Relation::into_index).map(|index| index.index);
        indexes.filter_map(|index| Some((self.core.catalog.table_by_id(index.table())?, index))).collect()
    }

    /// The column indexes that a snapshot taken now would see, by id, and their tables.
    pub fn column_indexes(&self) -> Vec<(TableRef, ColumnsRef)> {
        let relations = self.core.catalog.visible(self.core.timeline.published());
        let columns = relations.into_iter().filter_map(Relation::into_columns);
        columns.filter_map(|columns| Some((self.core.catalog.table_by_id(columns.table())?, columns))).collect()
    }

    /// The locks of transactions, by name.
    pub fn locks(&self) -> Vec<LockState> {
        self.core.locks.states()
    }
}

/// The log and the files of an engine that stay for who follows it.
pub struct Kept {
    _log: KeptLog,
    _files: KeptFiles,
}

/// The data files of an engine that were there at one moment.
pub struct KeptFiles {
    edits: u64,
    _files: FilePin,
}

impl KeptFiles {
    /// Who has followed the manifest to this edit needs no file that is not kept.
    pub fn edits(&self) -> u64 {
        self.edits
    }
}

impl Core {
    fn last_checkpoint(&self) -> Result<()> {
        if self.follows {
            return Ok(());
        }
        assert!(self.closed.load(Ordering::Acquire), "after the last checkpoint no commit comes");
        self.poison.check()?;
        self.check_term()?;
        self.timeline.settle()?;
        let (published, last) = (self.timeline.published(), self.timeline.last_sequenced());
        assert_eq!(published, last, "after the close no timestamp is handed out");
        self.checkpoint()?;
        self.log.seal().map_err(|error| self.poison_if_stopped(error))?;
        self.name_log_end()
    }

    /// Makes the manifest name the durable end of the log (ends 1).
    pub(super) fn name_log_end(&self) -> Result<()> {
        self.manifest.name_log_end(self.log.durable_lsn()).map_err(|error| self.poison_if_stopped(error))
    }
}
