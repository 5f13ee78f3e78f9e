//! The monitor: looks ten times a second at what really runs, and corrects what jobs do.
//!
//! ```text
//!   every 100 ms   compare   idle cores expected 1.4, found 1.1           queries came, ended early or late
//!                  correct   what young queries and others use, how much jobs pause for debts
//!                  lend      row memory that is free to the cache
//!                  start     jobs for which there is room now
//! ```
//!
//! Between its looks jobs that run ask at each step whether a query needs their core
//! ([`Pacer`](crate::sched::Pacer)), and workers wait no longer than to the next moment for which idle cores are
//! foreseen.
//!
//! Concurrency: a thread of its own, which holds no lock while it waits. Source: SynchroStore section 3.3.

use std::time::Duration;

use super::runner::Runner;
use crate::cache::Lending;

/// How often the monitor looks.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// One look.
pub(crate) fn look(runner: &Runner, lending: &Lending) {
    let services = &runner.services;
    services.load.look();
    lending.look();
    services.load.set_debt(runner.debts().urgency());
    if runner.would_start() {
        services.wake_jobs();
    }
}
