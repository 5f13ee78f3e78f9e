//! Background jobs: which start now. Who runs them: `jobs`.
//!
//! ```text
//!   queries  ── plans ──→ forecast  busy cores: 2 for 30 ms, then 1      (stages × φ, which actual times correct)
//!   tables   ── offers ─┐     │
//!   debts    ───────────┴→  decide  →  convert t3 #2  "memory first; ...; 1.0 of 2 cores are expected to be idle
//!                             │                        for its 70 ms"
//!   monitor  ── 100 ms ───────┘        to-baseline t3 #5  waits
//!
//!   Pacer     a job that runs pauses while queries need its core
//! ```
//!
//! 1. Of one table at most one job of a kind that frees memory runs at a time; other jobs may run beside it.
//! 2. A job that failed, or panicked, is tried again after a pause that grows, and keeps only its own table and kind
//!    waiting. What makes the state of the disk unknown (the log or the manifest stopped) or parts memory from it
//!    ([`Unfollowed`](crate::services::Unfollowed)) stops the engine.
//! 3. No lock is held while a job runs.
//! 4. Whoever waits for jobs (CHECKPOINT, VACUUM, [`Engine::run_jobs`](crate::Engine::run_jobs)) runs them himself,
//!    whatever is forecast, by the order of [`pick()`].
//!
//! | module | what |
//! |---|---|
//! | `phi` | φ per kind of operator: actual over estimated time |
//! | `forecast` | plans → busy cores; a pure function |
//! | `decide`, `pick` | offers, debts, forecast → jobs to start and reasons; pure functions |
//! | `load` | queries that run, and what they used lately |
//! | `pacer` | pauses of running jobs |
//! | `jobs`, `wake` | the records of jobs, the bell of the workers |
//! | `rest` | jobs that failed, and when they are tried again |
//! | `spent` | what a job really took: time on a core, bytes |
//!
//! Source: DESIGN section 7, SynchroStore section 3.3.

mod decide;
mod forecast;
mod jobs;
mod load;
mod mode;
mod pacer;
mod patience;
mod phi;
mod pick;
mod rest;
mod spent;
mod wake;

pub use decide::{Debts, Decision, Occupied, Offered, Situation, decide};
pub use forecast::{Forecast, HORIZON_US, Lately, PlanForecast, RunningPlan, Stage, forecast};
pub use jobs::{JobRecord, JobState, JobTotal};
pub use load::{Comparison, Counted, Load, QueryRun, Waiting};
pub use mode::SchedulerMode;
pub use pacer::Pacer;
pub use phi::{OperatorKind, Phi, PhiSet};
pub use pick::{Choice, Running, pick};
pub use rest::{Setback, Trouble, pause_after};
pub use spent::Spent;
pub use wake::Wake;

pub(crate) use jobs::History;
pub(crate) use pacer::take_seat;
pub(crate) use pick::{cost_us, fits_beside};
pub(crate) use rest::Rests;
pub(crate) use spent::Meter;
