//! What outlives a simulated process: the script, and how far it has come.

use std::sync::{Arc, Mutex, PoisonError};

use weft_env::sim::Simulation;
use weft_kernel::EngineOptions;

use super::command::Command;

/// What outlives a simulated process.
pub(super) struct Progress {
    pub(super) commands: Vec<Command>,
    /// The output of each command so far.
    pub(super) outputs: Vec<Vec<String>>,
    pub(super) options: EngineOptions,
    /// Lines of the trace that were shown or skipped.
    pub(super) trace_seen: usize,
}

/// Shared by the simulated process and the test outside. Never held across a scheduling point.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) progress: Arc<Mutex<Progress>>,
    pub(super) simulation: Arc<Simulation>,
}

impl Shared {
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Progress) -> R) -> R {
        f(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next command; from now on it counts as run.
    pub(super) fn next(&self) -> Option<Command> {
        self.with(|progress| {
            let command = progress.commands.get(progress.outputs.len()).cloned()?;
            progress.outputs.push(Vec::new());
            Some(command)
        })
    }

    /// Adds to the output of the present command.
    pub(super) fn print(&self, lines: impl IntoIterator<Item = String>) {
        self.with(|progress| progress.outputs.last_mut().expect("a command is being run").extend(lines));
    }

    pub(super) fn is_done(&self) -> bool {
        self.with(|progress| progress.outputs.len() == progress.commands.len())
    }
}
