//! Sessions: one user's statements, one after the other.
//!
//! ```text
//!   execute("INSERT ...; SELECT ...")       split, each statement on its own
//!     statement ── cache by text ── plan (per catalog version) ── transaction ── engine ── outcome
//!
//!   outside BEGIN   each statement is a transaction; one that meets a concurrent change is run again
//!   inside BEGIN    one snapshot until COMMIT; after an error only ROLLBACK (or ROLLBACK TO a savepoint) is accepted
//! ```
//!
//! 1. A statement happens in full or not at all.
//! 2. A plan is used only in a transaction whose catalog version it was made for; a transaction with DDL of its own
//!    plans every statement anew.
//! 3. A statement outside of BEGIN is acknowledged after its commit; its rows are read before.
//!
//! [`Session::execute`]: a text of several statements is no transaction by itself; put BEGIN and COMMIT around.
//! [`Session::execute_script`], which the server uses: it is one, as in PostgreSQL.

mod alone;
mod alter_view;
mod answers;
mod append;
mod asking;
mod asks;
mod backup;
mod block;
mod calls;
mod catalog;
mod client;
mod constants;
mod cursor;
mod cursors;
mod definitions;
pub(crate) mod described;
mod domains;
mod execute;
mod explain;
mod functions;
mod locks;
mod maintenance;
mod materialized;
mod modes;
mod monitor;
mod numbers;
mod objects;
mod own_schema;
mod parts;
mod past;
mod plan;
mod planned;
mod reindex;
mod rights;
mod run;
mod schemas;
mod script;
mod setval_rows;
mod stars;
mod state;
pub(crate) mod statement;
mod temporary;
mod transaction;
mod type_objects;
mod typed;
mod user_types;
mod utility;
mod views;
mod watched;
mod work;

pub use client::{Client, CopyFormat};
pub use state::Session;
pub use statement::Prepared;

use std::sync::Arc;

use arrow::array::RecordBatch;
use weft_format::{Code, Error, Result, Value};

use crate::activity::{Activity, Origin};
use crate::binding::CancelToken;
use crate::engine::SqlEngine;
use crate::functions::parse_written;
use crate::notice::Notice;
use crate::outcome::Outcome;
use crate::parse::{parse, scan_literals};
use crate::settings::Settings;
use client::Embedded;

impl SqlEngine {
    /// A new session.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
    }
}

impl Session {
    /// What the statements so far told beside their answers, oldest first; they are forgotten here.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let notices = std::mem::take(&mut self.notices);
        if self.settings.sends_notices() { notices } else { Vec::new() }
    }

    /// The holder of the session keeps a prepared statement under a name, or does not any more: DEALLOCATE knows it.
    pub fn note_statement(&mut self, name: &str, is_kept: bool) {
        if is_kept {
            self.of_client.names.insert(name.to_owned());
        } else {
            self.of_client.names.remove(name);
        }
    }

    /// Whether a statement of the holder is still there; asked once [`Session::take_deallocated`] said yes.
    pub fn has_statement(&self, name: &str) -> bool {
        self.of_client.names.contains(name)
    }

    /// Whether DEALLOCATE or DISCARD took statements of the holder since this was asked last.
    pub fn take_deallocated(&mut self) -> bool {
        std::mem::take(&mut self.of_client.changed)
    }

    /// Runs the statements of a text and returns what each gave. The first error ends it; what ran before has happened.
    pub fn execute(&mut self, sql: &str) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        self.execute_each(sql, &mut |outcome| outcomes.push(outcome))?;
        Ok(outcomes)
    }

    /// Runs the statements of a text; each outcome is handed on before the next statement runs.
    pub fn execute_each(&mut self, sql: &str, each: &mut dyn FnMut(Outcome)) -> Result<()> {
        let _attended = self.cancel.attend();
        if let Some(prepared) = self.db.cached(sql, &self.settings) {
            each(self.execute_prepared(&prepared, &[])?);
            return Ok(());
        }
        if let Some(outcome) = self.execute_literals(sql) {
            each(outcome?);
            return Ok(());
        }
        let parsed = match parse_written(sql) {
            Ok(parsed) => parsed,
            Err(error) => return Err(self.fail(error)),
        };
        let source: Arc<str> = sql.into();
        let single = parsed.len() == 1;
        for statement in parsed {
            let prepared = Arc::new(Prepared::new(Arc::clone(&source), statement));
            each(self.execute_prepared(&prepared, &[])?);
            if single && prepared.is_worth_keeping() {
                self.db.keep(&prepared, &self.settings);
            }
        }
        Ok(())
    }

    /// Runs an INSERT of plain literals by its template; none when the text is anything else.
    fn execute_literals(&mut self, sql: &str) -> Option<Result<Outcome>> {
        let literals = scan_literals(sql)?;
        let template = match self.db.cached(&literals.template, &self.settings) {
            Some(template) => template,
            None => {
                let parsed = parse(&literals.template).ok()?.pop()?;
                let made = Arc::new(Prepared::new(Arc::clone(&literals.template), parsed));
                self.db.keep(&made, &self.settings);
                made
            }
        };
        if !template.is_template() {
            return None;
        }
        Some(self.run_watched(&template, &[], Some((sql, &literals)), &mut Embedded))
    }

    /// Prepares one statement with parameters `$1`, `$2`, ...; tables and types are looked up now, and again whenever
    /// the catalog has changed.
    pub fn prepare(&mut self, sql: &str) -> Result<Arc<Prepared>> {
        if let Some(prepared) = self.db.cached(sql, &self.settings) {
            return Ok(prepared);
        }
        let mut parsed = parse_written(sql)?;
        let (Some(statement), true) = (parsed.pop(), parsed.is_empty()) else {
            let message = "a prepared statement is one statement: the text has none or several";
            return Err(Error::new(Code::SyntaxError, message));
        };
        let prepared = Arc::new(Prepared::new(sql.into(), statement));
        self.describe(&prepared)?;
        if prepared.is_worth_keeping() {
            self.db.keep(&prepared, &self.settings);
        }
        Ok(prepared)
    }

    /// Runs a prepared statement. Parameters are brought to the types that the statement gives them: numbers are
    /// widened, text is read as the type, a `Decimal` is taken in the parameter's scale.
    pub fn execute_prepared(&mut self, prepared: &Prepared, params: &[Value]) -> Result<Outcome> {
        self.run_watched(prepared, params, None, &mut Embedded)
    }

    /// Prepares and runs one statement with parameters.
    pub fn execute_params(&mut self, sql: &str, params: &[Value]) -> Result<Outcome> {
        let _attended = self.cancel.attend();
        let prepared = self.prepare(sql)?;
        self.execute_prepared(&prepared, params)
    }

    /// Appends batches to a table. Returns how many rows.
    pub fn append(&mut self, table: &str, batches: &[RecordBatch]) -> Result<u64> {
        let _attended = self.cancel.attend();
        self.cancel.limit(self.settings.statement_timeout_ms);
        append::append(self, table, batches)
    }

    /// What others see of the session.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Cancels this session's running statement from another thread.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Whether a BEGIN is open (failed or not).
    pub fn in_transaction(&self) -> bool {
        self.block.is_some()
    }

    /// Whether its database was closed, or another has taken its place: nothing begins in it any more.
    pub fn is_over(&self) -> bool {
        self.db.kernel().is_closed()
    }

    /// Whether the open transaction failed and only takes ROLLBACK.
    pub fn is_failed(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.failed)
    }

    /// The settings now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets a setting, as SET does.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        Arc::make_mut(&mut self.settings).set(&name.to_lowercase(), value)?;
        self.activity.rename(&self.settings.application_name);
        Ok(())
    }

    /// Sets a setting that the client names as it begins: RESET goes back to it.
    pub fn begin_with(&mut self, name: &str, value: &str) -> Result<()> {
        self.set(name, value)?;
        Arc::make_mut(&mut self.defaults).set(&name.to_lowercase(), value)
    }

    /// Says who the session is: what `current_user` and `pg_backend_pid()` tell, and whose rights count. `role` is the
    /// number that the login gave; none: the session may everything.
    pub fn set_identity(&mut self, user: &str, role: Option<u32>, database: &str, backend: i64) {
        for settings in [&mut self.settings, &mut self.defaults] {
            let settings = Arc::make_mut(settings);
            user.clone_into(&mut settings.user);
            user.clone_into(&mut settings.session_user);
            (settings.role, settings.session_role) = (role, role);
            database.clone_into(&mut settings.database);
            settings.backend = backend;
        }
        let origin = Origin { user: user.to_owned(), ..self.activity.origin() };
        self.activity.set_origin(u64::try_from(backend).unwrap_or(0), origin);
    }

    /// The database.
    pub fn database(&self) -> &Arc<SqlEngine> {
        &self.db
    }
}
