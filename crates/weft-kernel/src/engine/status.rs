//! The engine in numbers.

use weft_contract::{Damage, JobKind};
use weft_env::HandleCounters;
use weft_format::{TableId, Timestamp};

use crate::account::Kept;
use crate::admission::PoolStatus;
use crate::cache::CacheCounters;
use crate::log::LogCounters;
use crate::sched::{Comparison, Forecast, JobTotal, Phi, PhiSet, SchedulerMode};
use crate::txn::Core;

/// What an engine is and did since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineStatus {
    /// Why no writes are accepted, if so.
    pub poisoned: Option<String>,
    /// Bytes of log that recovery would read.
    pub log_bytes: u64,
    /// Blocks, commits and bytes written to the log.
    pub log: LogCounters,
    /// The cache pool.
    pub cache: CacheCounters,
    /// Memory of row tables and staged writes.
    pub row_memory_bytes: u64,
    /// Its limit.
    pub row_memory_limit_bytes: u64,
    /// Of it, what serializable transactions have read and what was committed beside them.
    pub serializable_memory_bytes: u64,
    /// What is known of data files: footers, filters of keys, statistics. The cache keeps less by as much.
    pub file_memory_bytes: u64,
    /// Delete marks; the same.
    pub mark_memory_bytes: u64,
    /// Payloads of the manifest; the same.
    pub manifest_memory_bytes: u64,
    /// Jobs that ended well.
    pub jobs_run: u64,
    /// Jobs that failed.
    pub jobs_failed: u64,
    /// Jobs that failed and rest until they are tried again, the work between jobs among them.
    pub jobs_resting: u64,
    /// Data files and tables that could not be read when they were needed last.
    pub damaged_files: u64,
    /// Open data files.
    pub handles: HandleCounters,
    /// By kind: the jobs that ended, and what they took.
    pub jobs_by_kind: Vec<(JobKind, JobTotal)>,
    /// How long jobs have worked, also those that still run, without their pauses, nanoseconds.
    pub jobs_worked_nanos: u64,
    /// The last timestamp handed out.
    pub last_sequenced: Timestamp,
    /// The last published timestamp.
    pub published: Timestamp,
    /// No snapshot reads below this.
    pub horizon: Timestamp,
    /// Snapshots registered.
    pub snapshot_count: u64,
    /// Locks held.
    pub lock_count: usize,
    /// Open transactions and who waits to begin one.
    pub transactions: PoolStatus,
    /// Long queries and who waits to run one.
    pub queries: PoolStatus,
}

/// A data file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// Its table, or index.
    pub table: TableId,
    /// The name of that.
    pub name: String,
    /// What is wrong; names the file.
    pub error: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What the scheduler of jobs expects, found, and learned.
#[derive(Clone, Debug)]
pub struct SchedulerStatus {
    /// The switch.
    pub mode: SchedulerMode,
    /// The busy cores of the next moments, without those of jobs.
    pub forecast: Forecast,
    /// What the monitor expected and found.
    pub comparison: Comparison,
    /// By kind of operator: how much longer operators take than the cost model says.
    pub operators: PhiSet,
    /// By kind of job: how much longer jobs take than their prices say.
    pub jobs: Vec<(JobKind, Phi)>,
    /// Queries of the query engine that run.
    pub query_count: usize,
    /// Jobs that run.
    pub job_count: usize,
}

pub(super) fn scheduler(core: &Core) -> SchedulerStatus {
    let load = &core.services.load;
    SchedulerStatus {
        mode: load.mode(),
        forecast: load.forecast(),
        comparison: load.comparison(),
        operators: load.phis(),
        jobs: core.runner.phis(),
        query_count: load.query_count(),
        job_count: core.runner.running_count(),
    }
}

/// The files of all relations that could not be read.
pub(super) fn damaged_files(core: &Core) -> Vec<DamagedFile> {
    let relations = core.catalog.all();
    let alive = relations.iter().filter(|relation| relation.is_alive());
    alive
        .flat_map(|relation| {
            let told = |Damage { error, .. }: Damage| DamagedFile {
                table: relation.id(),
                name: relation.def().name.clone(),
                error: error.message().to_owned(),
                hint: error.hint_text().map(str::to_owned),
            };
            relation.upkeep().damage().into_iter().map(told).collect::<Vec<_>>()
        })
        .collect()
}

pub(super) fn status(core: &Core) -> EngineStatus {
    let (jobs_run, jobs_failed) = core.runner.counts();
    let account = &core.services.account;
    EngineStatus {
        poisoned: core.poison.cause().map(str::to_owned),
        log_bytes: core.log.bytes(),
        log: core.log.counters(),
        cache: core.cache.counters(),
        row_memory_bytes: core.services.row_budget.used_bytes(),
        row_memory_limit_bytes: core.services.row_budget.limit_bytes(),
        serializable_memory_bytes: core.recent.memory_bytes().1 + core.read_sets.used_bytes(),
        file_memory_bytes: account.bytes(Kept::Files),
        mark_memory_bytes: account.bytes(Kept::Marks),
        manifest_memory_bytes: account.bytes(Kept::Manifest),
        jobs_run,
        jobs_failed,
        jobs_resting: core.runner.resting_count() as u64 + u64::from(core.runner.house_trouble().is_some()),
        damaged_files: damaged_files(core).len() as u64,
        handles: core.services.files.counters(),
        jobs_by_kind: core.runner.by_kind(),
        jobs_worked_nanos: core.services.load.worked_nanos(),
        last_sequenced: core.timeline.last_sequenced(),
        published: core.timeline.published(),
        horizon: core.timeline.oldest(),
        snapshot_count: core.timeline.snapshot_count(),
        lock_count: core.locks.lock_count(),
        transactions: core.transaction_slots.status(),
        queries: core.query_slots.status(),
    }
}
