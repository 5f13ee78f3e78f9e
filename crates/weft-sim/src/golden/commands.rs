//! What a process does with a command of the script, one after the other until the machine crashes.

use std::path::Path;

use weft_kernel::Engine;

use super::command::Command;
use super::printed::{Printed, show_error};
use super::process::Process;
use super::{jobs, schedule, show, statements};
use crate::tables::DIR;

impl Process {
    /// Runs commands until one crashes the machine or there are no more.
    pub(super) fn run(mut self) {
        while let Some(command) = self.shared.next() {
            let result = self.execute(&command);
            self.shared.print(result.unwrap_or_else(|text| vec![text]));
        }
    }

    fn execute(&mut self, command: &Command) -> Printed {
        if command.background {
            return self.start(command);
        }
        match command.name.as_str() {
            "options" => self.set_options(command),
            "open" => self.open(),
            "close" => self.close(),
            "crash" | "crash-at" | "fail-sync" | "fill-disk" | "free-disk" => self.trouble(command),
            "until" => self.until(command),
            "begin" => self.begin(command),
            "commit" | "rollback" => self.end(command),
            "wait" => self.wait(command),
            "jobs" | "pick" | "offer" | "running" | "paused" => jobs::execute(self, command),
            "phi" | "query" | "forecast" | "decide" => schedule::execute(self, command),
            "layers" | "status" | "locks" | "log" | "manifest" | "files" | "trace" => show::execute(self, command),
            "freeze" | "run-job" | "run-jobs" | "checkpoint" | "check" => jobs::run(&self.engine()?, command),
            _ => self.statement(command),
        }
    }

    /// Crashes and faults of the disk, now or planned.
    fn trouble(&self, command: &Command) -> Printed {
        let simulation = &self.shared.simulation;
        match command.name.as_str() {
            "crash" => {
                simulation.crash_at_step("golden: crash", 1);
                weft_env::sim::step("golden: crash");
            }
            "crash-at" => simulation.crash_at_step(command.step()?, command.number("nth", 1)?),
            "fail-sync" => {
                let file = command.word(0, "a part of the file's name")?;
                simulation.faults().fail_sync(file, command.number("nth", 1)?);
            }
            "fill-disk" => simulation.faults().fill_disk(),
            _ => simulation.faults().set_capacity(None),
        }
        Ok(Vec::new())
    }

    fn set_options(&mut self, command: &Command) -> Printed {
        self.shared.with(|progress| {
            let options = &mut progress.options;
            for (name, text) in &command.options {
                let number = text.parse().map_err(|_| format!("bad command: {name}={text} is no number"))?;
                match name.as_str() {
                    "seed" => {}
                    "row_table_bytes" => options.row_table_bytes = number,
                    "row_memory_bytes" => options.row_memory_bytes = number,
                    "log_segment_bytes" => options.log_segment_bytes = number,
                    "checkpoint_log_bytes" => options.checkpoint_log_bytes = number,
                    "manifest_bytes" => options.manifest_bytes = number,
                    _ => return Err(format!("bad command: there is no option {name}")),
                }
            }
            Ok(Vec::new())
        })
    }

    fn open(&mut self) -> Printed {
        let options = self.shared.with(|progress| progress.options.clone());
        let methods = crate::methods();
        let engine = Engine::open(self.env.clone(), Path::new(DIR), methods, options).map_err(show_error)?;
        let tables = engine.begin().map_err(show_error)?.tables().len();
        let line = format!("open: {tables} tables, published {}", engine.published());
        self.engine = Some(engine);
        Ok(vec![line])
    }

    fn close(&mut self) -> Printed {
        let engine = self.engine()?;
        self.sessions.clear();
        self.engine = None;
        engine.close().map_err(show_error)?;
        Ok(vec!["closed".into()])
    }

    fn statement(&mut self, command: &Command) -> Printed {
        let engine = self.engine()?;
        match &command.session {
            Some(session) => statements::execute(self.session(session)?, command),
            None => statements::in_a_transaction(&engine, command),
        }
    }

    fn begin(&mut self, command: &Command) -> Printed {
        let name = command.word(0, "the session")?.to_owned();
        let mut txn = self.engine()?.begin().map_err(show_error)?;
        if command.words.iter().any(|word| word == "async") {
            txn.set_durability(weft_kernel::Durability::Async);
        }
        let line = format!("{name} is transaction {}, reads at {}", txn.id(), txn.read_ts());
        self.sessions.insert(name, txn);
        Ok(vec![line])
    }

    fn end(&mut self, command: &Command) -> Printed {
        if command.words.len() > 1 {
            return self.all_at_once(command);
        }
        let name = command.word(0, "the session")?;
        let txn = self.sessions.remove(name).ok_or_else(|| format!("bad command: there is no session {name}"))?;
        if command.name == "rollback" {
            txn.rollback();
            return Ok(Vec::new());
        }
        statements::commit(txn).map(|line| vec![line])
    }
}
