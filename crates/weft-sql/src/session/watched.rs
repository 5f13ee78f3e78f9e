//! Statements as others see them: their text, state and times, and what they add to the counters.

use std::sync::Arc;

use weft_format::{Result, Value};

use super::{Client, Prepared, Session};
use crate::activity::State;
use crate::binding::Attended;
use crate::outcome::Outcome;
use crate::parse::Literals;

impl Session {
    /// Runs a statement, from the time limit on that `statement_timeout` gives it.
    pub(super) fn run_watched(
        &mut self,
        prepared: &Prepared,
        params: &[Value],
        literals: Option<(&str, &Literals)>,
        client: &mut dyn Client,
    ) -> Result<Outcome> {
        let _attended = self.cancel.attend();
        self.cancel.limit(self.settings.statement_timeout_ms);
        self.activity.begin(prepared.shown(), self.db.activities().now_nanos());
        let before = Arc::as_ptr(&self.settings);
        let result = self.run(prepared, params, literals, client);
        if Arc::as_ptr(&self.settings) != before || prepared.may_set() {
            self.activity.rename(&self.settings.application_name);
        }
        let outcome = result.as_ref().map(|outcome| outcome.tag.row_count()).map_err(|_| ());
        self.db.activities().end(&self.activity, self.state(), outcome);
        result
    }

    /// Hears requests to cancel while the guard lives, also while a statement is only parsed and planned; a server
    /// holds one for each message. Without it they are heard from the start of each statement or script to its end.
    pub fn attend(&self) -> Attended {
        self.cancel.attend()
    }

    /// An error when what is attended to was cancelled.
    pub fn check_cancelled(&mut self) -> Result<()> {
        self.cancel.check().map_err(|error| self.fail(error))
    }

    /// Where the session is between two statements.
    fn state(&self) -> State {
        match &self.block {
            None => State::Idle,
            Some(block) if block.failed => State::Aborted,
            Some(_) => State::IdleInTransaction,
        }
    }

    /// Tells others where the session is, after what is no statement: the end of an implicit transaction.
    pub fn note_state(&self) {
        self.activity.enter(self.state(), self.db.activities().now_nanos());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.block.is_some() {
            self.activity.note_transaction(false);
        }
        self.end_temporary();
        drop(self.block.take());
        self.locks.release_all();
        self.db.activities().leave(self.place);
    }
}
