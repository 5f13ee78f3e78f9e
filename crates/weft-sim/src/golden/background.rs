//! Commands in threads of their own: a session that waits for a lock, a job that is under way, commits side by side.
//!
//! ```text
//!   background b: update t 1-5       thread b runs until it waits: for a lock, for the disk
//!   until manifest: edit written     it passed this step and waits again
//!   a: ...
//!   wait b                           what it printed
//! ```

use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::Mutex;

use super::command::Command;
use super::printed::Printed;
use super::process::Process;
use super::thread::{Background, Done};
use super::{jobs, statements};

/// How long the script waits after it started a thread: that one runs until it waits, as threads change only then.
const HEAD_START: Duration = Duration::from_micros(1);

/// How often `until` looks, and how often at most.
const LOOK: Duration = Duration::from_millis(1);
const LOOKS_MAX: u32 = 10_000;

impl Process {
    /// Starts a command in a thread and lets it run until it waits.
    pub(super) fn start(&mut self, command: &Command) -> Printed {
        let name = command.session.clone().ok_or("bad command: name the thread, as in background a: commit")?;
        self.steps_before = self.shared.simulation.step_counts();
        self.spawn(&name, command)?;
        self.env.clock.sleep(HEAD_START);
        Ok(Vec::new())
    }

    fn spawn(&mut self, name: &str, command: &Command) -> Result<(), String> {
        let engine = self.engine()?;
        let mut txn = self.sessions.remove(name);
        let done: Arc<Mutex<Option<Done>>> = Arc::default();
        let (command, result) = (command.clone(), done.clone());
        let body = move || {
            let printed = match (command.name.as_str(), txn.take()) {
                ("commit", Some(txn)) => statements::commit(txn).map(|line| vec![line]),
                (_, Some(mut own)) => {
                    let printed = statements::execute(&mut own, &command);
                    txn = Some(own);
                    printed
                }
                ("run-job" | "run-jobs" | "checkpoint", None) => jobs::run(&engine, &command),
                (_, None) => statements::in_a_transaction(&engine, &command),
            };
            *result.lock() = Some(Done { txn, printed });
        };
        let handle = self.env.spawn.spawn(name, Box::new(body)).map_err(|error| error.to_string())?;
        self.threads.insert(name.to_owned(), Background { handle, done });
        Ok(())
    }

    /// Waits until a step was passed that had not been when the last thread was started, and its thread waits again.
    pub(super) fn until(&mut self, command: &Command) -> Printed {
        let step = command.step()?;
        let before = self.steps_before.get(step).copied().unwrap_or_default();
        for _ in 0..LOOKS_MAX {
            if self.shared.simulation.step_counts().get(step).is_some_and(|count| *count > before) {
                return Ok(Vec::new());
            }
            self.env.clock.sleep(LOOK);
        }
        Err(format!("bad command: no thread passes {step}"))
    }

    /// Waits for the named threads and prints what they did.
    pub(super) fn wait(&mut self, command: &Command) -> Printed {
        let mut lines = Vec::new();
        for name in &command.words {
            lines.extend(self.join(name)?.into_iter().map(|line| format!("{name}: {line}")));
        }
        Ok(lines)
    }

    fn join(&mut self, name: &str) -> Result<Vec<String>, String> {
        let thread = self.threads.remove(name).ok_or_else(|| format!("bad command: there is no thread {name}"))?;
        thread.handle.join()?;
        let Done { txn, printed } = thread.done.lock().take().expect("a thread leaves what it printed");
        if let Some(txn) = txn {
            self.sessions.insert(name.to_owned(), txn);
        }
        Ok(printed.unwrap_or_else(|text| vec![text]))
    }

    /// `commit a b c`: every session in its thread, started before any is waited for.
    pub(super) fn all_at_once(&mut self, command: &Command) -> Printed {
        for name in &command.words {
            self.session(name)?;
            self.spawn(name, command)?;
        }
        self.wait(command)
    }
}
