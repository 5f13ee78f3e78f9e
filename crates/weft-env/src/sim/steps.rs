//! The named steps that the threads of a simulation passed, and the one after which the machine crashes.
//!
//! ```text
//!   "log: block written" 17   "log: block synced" 16        crash at the 2nd "log: block synced" from now
//! ```

use std::collections::BTreeMap;

/// Counts of steps, and the crash to come.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    counts: BTreeMap<&'static str, u64>,
    /// The name, and how many more times it is to be passed.
    crash_at: Option<(String, u64)>,
    /// The step at which the machine crashed.
    crashed: Option<&'static str>,
}

impl Steps {
    /// Counts a step; true when the machine crashes here.
    pub(crate) fn pass(&mut self, name: &'static str) -> bool {
        *self.counts.entry(name).or_default() += 1;
        let Some((wanted, countdown)) = &mut self.crash_at else { return false };
        if wanted != name {
            return false;
        }
        *countdown -= 1;
        if *countdown > 0 {
            return false;
        }
        self.crash_at = None;
        self.crashed = Some(name);
        true
    }

    /// Plans a crash, or takes the planned one back.
    pub(crate) fn plan_crash(&mut self, crash_at: Option<(String, u64)>) {
        self.crash_at = crash_at;
    }

    /// The step at which the machine crashed, once.
    pub(crate) fn take_crashed(&mut self) -> Option<&'static str> {
        self.crashed.take()
    }

    /// How often each step was passed.
    pub(crate) fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }
}
