//! What jobs there are, waiting, running and recent, for people.

use std::collections::VecDeque;

use weft_contract::{JobKind, JobOffer, Price};

use super::pick::Running;
use super::rest::{Rest, Trouble};
use super::spent::Spent;
use weft_format::TableId;

/// How many jobs are remembered.
const HISTORY_COUNT: usize = 100;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Offered, and told to wait.
    Waiting,
    /// Being run.
    Running,
    /// Ended well.
    Done,
    /// Ended with an error, such as a full disk.
    Failed,
    /// Failed, and waits until it is tried again.
    Resting,
}

impl JobState {
    /// Its name in views.
    pub fn name(self) -> &'static str {
        match self {
            JobState::Waiting => "waiting",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Resting => "resting",
        }
    }
}

/// A job, as views tell of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    /// Its table, or its index.
    pub table: TableId,
    /// What it does.
    pub kind: JobKind,
    /// Its number, of the table's own.
    pub number: u64,
    /// Where it stands.
    pub state: JobState,
    /// When it was started, microseconds since 1970 UTC; of a waiting one, none.
    pub started_micros: Option<i64>,
    /// How long it took or has been running, nanoseconds; how long a waiting one has waited.
    pub duration_nanos: u64,
    /// What it really took; known when it ended.
    pub spent: Option<Spent>,
    /// What it was expected to cost and to bring.
    pub price: Price,
    /// Why it was started, or why it waits.
    pub reason: String,
    /// Of a resting one: what went wrong, and when it is tried again.
    pub trouble: Option<Trouble>,
}

impl JobRecord {
    /// The record of a job that rests.
    pub(crate) fn resting(job: Running, rest: &Rest, now_nanos: u64) -> JobRecord {
        let trouble = rest.trouble(now_nanos);
        JobRecord {
            table: job.table,
            kind: job.kind,
            number: job.number,
            state: JobState::Resting,
            started_micros: None,
            duration_nanos: now_nanos.saturating_sub(rest.failed_nanos),
            spent: None,
            price: rest.price,
            reason: format!(
                "failed {} times, is tried again in {} s: {} ({})",
                trouble.tries,
                trouble.again_in.as_secs(),
                trouble.error,
                trouble.hint.as_deref().unwrap_or("see the log of the server")
            ),
            trouble: Some(trouble),
        }
    }
}

/// The jobs of one kind that have ended, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobTotal {
    /// How many.
    pub count: u64,
    /// The time from their starts to their ends, nanoseconds.
    pub nanos: u64,
    /// What they really took.
    pub spent: Spent,
}

/// The jobs that were started last, oldest first; running ones are among them.
#[derive(Debug, Default)]
pub(crate) struct History {
    jobs: VecDeque<(JobRecord, u64)>,
}

impl History {
    /// A job starts.
    pub(crate) fn start(&mut self, offer: &JobOffer, reason: String, wall_micros: i64, now_nanos: u64) {
        let is_same = |(job, _): &(JobRecord, u64)| {
            job.state == JobState::Running
                && (job.table, job.kind, job.number) == (offer.table, offer.kind, offer.number)
        };
        debug_assert!(!self.jobs.iter().any(is_same), "a job runs once at a time");
        if self.jobs.len() == HISTORY_COUNT {
            // One that still runs is forgotten only when all are older than it.
            let oldest = self.jobs.iter().position(|(job, _)| job.state != JobState::Running).unwrap_or(0);
            self.jobs.remove(oldest);
        }
        let record = JobRecord {
            table: offer.table,
            kind: offer.kind,
            number: offer.number,
            state: JobState::Running,
            started_micros: Some(wall_micros),
            duration_nanos: 0,
            spent: None,
            price: offer.price,
            reason,
            trouble: None,
        };
        self.jobs.push_back((record, now_nanos));
        debug_assert!(self.jobs.len() <= HISTORY_COUNT, "so many jobs are remembered at most");
    }

    /// A running job ended.
    pub(crate) fn end(&mut self, job: Running, state: JobState, now_nanos: u64, spent: Spent) {
        let is_it = |record: &JobRecord| {
            record.state == JobState::Running
                && (record.table, record.kind, record.number) == (job.table, job.kind, job.number)
        };
        if let Some((record, begun_nanos)) = self.jobs.iter_mut().rev().find(|(record, _)| is_it(record)) {
            record.state = state;
            record.duration_nanos = now_nanos.saturating_sub(*begun_nanos);
            record.spent = Some(spent);
        }
    }

    /// All of them, the running ones as they are now.
    pub(crate) fn all(&self, now_nanos: u64) -> Vec<JobRecord> {
        let shown = |(record, begun_nanos): &(JobRecord, u64)| {
            let mut record = record.clone();
            if record.state == JobState::Running {
                record.duration_nanos = now_nanos.saturating_sub(*begun_nanos);
            }
            record
        };
        self.jobs.iter().map(shown).collect()
    }

    /// A line for each.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line =
            |(job, _): &(JobRecord, u64)| format!("{:?} t{} #{}: {}", job.kind, job.table, job.number, job.reason);
        self.jobs.iter().map(line).collect()
    }
}
