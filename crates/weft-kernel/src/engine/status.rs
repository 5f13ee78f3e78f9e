//! The engine in numbers.

use weft_format::Timestamp;

use super::core::Core;
use crate::admission::PoolStatus;
use crate::cache::CacheCounters;
use crate::log::LogCounters;
use crate::sched::{Comparison, Forecast, Phi, PhiSet, SchedulerMode};
use crate::table::JobKind;

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
    /// Jobs that ended well.
    pub jobs_run: u64,
    /// Jobs that failed.
    pub jobs_failed: u64,
    /// By kind: jobs that ended, and the time they took, nanoseconds.
    pub jobs_by_kind: Vec<(JobKind, u64, u64)>,
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
    /// Queries of the column engine that run.
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

pub(super) fn status(core: &Core) -> EngineStatus {
    let (jobs_run, jobs_failed) = core.runner.counts();
    EngineStatus {
        poisoned: core.poison.cause().map(str::to_owned),
        log_bytes: core.log.bytes(),
        log: core.log.counters(),
        cache: core.cache.counters(),
        row_memory_bytes: core.services.row_budget.used_bytes(),
        row_memory_limit_bytes: core.services.row_budget.limit_bytes(),
        jobs_run,
        jobs_failed,
        jobs_by_kind: core.runner.by_kind(),
        jobs_worked_nanos: core.services.load.worked_nanos(),
        last_sequenced: core.timeline.last_sequenced(),
        published: core.timeline.published(),
        horizon: core.timeline.horizon(),
        snapshot_count: core.timeline.snapshot_count(),
        lock_count: core.locks.lock_count(),
        transactions: core.transaction_slots.status(),
        queries: core.query_slots.status(),
    }
}
