//! When background jobs start: the switch of the scheduler.

use std::fmt;

/// What decides when offered jobs start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SchedulerMode {
    /// The forecast of the cores that running queries leave idle, and debts; jobs pause for queries.
    #[default]
    Cost,
    /// Nothing: they start as soon as they are offered, and never pause.
    Greedy,
    /// Only those start that memory or the log demand, or somebody who waits for them: CHECKPOINT, VACUUM.
    Off,
}

impl SchedulerMode {
    /// Every mode.
    pub const ALL: [SchedulerMode; 3] = [SchedulerMode::Cost, SchedulerMode::Greedy, SchedulerMode::Off];

    /// Its name, as settings have it.
    pub const fn name(self) -> &'static str {
        match self {
            SchedulerMode::Cost => "cost",
            SchedulerMode::Greedy => "greedy",
            SchedulerMode::Off => "off",
        }
    }

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<SchedulerMode> {
        SchedulerMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for SchedulerMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
