//! What a script makes up for the scheduler.

use weft_kernel::sched::{PhiSet, PlanForecast};

/// A made up query.
pub(super) struct Query {
    pub(super) plan: PlanForecast,
    pub(super) ran_us: f64,
    pub(super) age_us: f64,
}

/// What the script made up for the scheduler.
#[derive(Default)]
pub(super) struct MadeUp {
    pub(super) queries: Vec<Query>,
    pub(super) phis: PhiSet,
    /// How long the running jobs go on, microseconds.
    pub(super) left_us: Vec<f64>,
}
