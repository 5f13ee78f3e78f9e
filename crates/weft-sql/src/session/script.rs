//! Texts and statements as the server's clients send them.
//!
//! ```text
//!   "INSERT ...; INSERT ..."                    one transaction
//!   "BEGIN; INSERT ...; COMMIT; INSERT ..."     two: BEGIN takes over, what follows COMMIT is one of its own
//! ```

use std::sync::Arc;

use sqlparser::ast::{Set, Statement};
use weft_format::{Code, DataType, Error, Result, Value};

use super::client::Embedded;
use super::explain::explain_options;
use super::typed::{write_casts, write_operands};
use super::{Client, Prepared, Session};
use crate::functions::parse_written;
use crate::outcome::{Outcome, OutputColumn};
use crate::parse::{Own, Parsed, writes};

impl Session {
    /// Runs the statements of a text for a client; several are one transaction, unless they say otherwise. Each outcome
    /// is handed on before the next statement runs. An error ends it, and the transaction.
    pub fn execute_script(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        if let Some(prepared) = self.db.cached(sql, &self.settings) {
            let outcome = self.execute_for(&prepared, &[], client)?;
            return client.finish(&outcome);
        }
        if let Some(outcome) = self.execute_literals(sql) {
            client.begin(&self.settings.style);
            return client.finish(&outcome?);
        }
        let parsed = parse_written(sql).map_err(|error| self.fail(error))?;
        let source: Arc<str> = sql.into();
        let single = parsed.len() == 1;
        for statement in parsed {
            let prepared = Arc::new(Prepared::new(Arc::clone(&source), statement));
            if !single {
                self.begin_implicit()?;
            }
            let result = self.execute_for(&prepared, &[], client).and_then(|outcome| client.finish(&outcome));
            if let Err(error) = result {
                let error = self.fail(error);
                self.end_implicit()?;
                return Err(error);
            }
            if single && prepared.is_worth_keeping() {
                self.db.keep(&prepared, &self.settings);
            }
        }
        self.end_implicit()
    }

    /// Runs a prepared statement for a client.
    pub fn execute_for(&mut self, prepared: &Prepared, params: &[Value], client: &mut dyn Client) -> Result<Outcome> {
        client.begin(&self.settings.style);
        let outcome = self.run_watched(prepared, params, None, client);
        for notice in self.take_notices() {
            client.notice(&notice)?;
        }
        outcome
    }

    /// Prepares a text of one statement or none; `types` are those that the client gives the first parameters.
    pub fn prepare_for(&mut self, sql: &str, types: &[Option<DataType>]) -> Result<Option<Arc<Prepared>>> {
        let is_typed = types.iter().any(Option::is_some);
        if !is_typed && let Some(prepared) = self.db.cached(sql, &self.settings) {
            // Its plan may be of another catalog: what it takes and gives is told as of now.
            return self.describe(&prepared).map(|()| Some(prepared)).map_err(|error| self.fail(error));
        }
        let mut parsed = parse_written(sql).map_err(|error| self.fail(error))?;
        let Some(statement) = parsed.pop() else { return Ok(None) };
        if !parsed.is_empty() {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(self.fail(Error::new(Code::SyntaxError, message)));
        }
        let prepared = self.prepare_typed(sql.into(), statement, types).map_err(|error| self.fail(error))?;
        if !is_typed && prepared.is_worth_keeping() {
            self.db.keep(&prepared, &self.settings);
        }
        Ok(Some(prepared))
    }

    /// Prepares a statement whose first parameters have these types, where they are named.
    pub(super) fn prepare_typed(
        &mut self,
        text: Arc<str>,
        mut statement: Parsed,
        types: &[Option<DataType>],
    ) -> Result<Arc<Prepared>> {
        if let Parsed::Sql { statement: tree, .. } = &mut statement {
            write_operands(tree, types);
        }
        let prepared = Arc::new(Prepared::new(Arc::clone(&text), statement.clone()));
        self.describe(&prepared)?;
        if let (true, Parsed::Sql { statement: tree, .. }) = (types.iter().any(Option::is_some), &mut statement)
            && write_casts(tree, types, &prepared.param_types())
        {
            let prepared = Arc::new(Prepared::new(text, statement));
            self.describe(&prepared)?;
            return Ok(prepared);
        }
        Ok(prepared)
    }

    /// The columns that a statement will return; none when it returns no rows.
    pub fn columns_of(&mut self, prepared: &Prepared) -> Result<Option<Arc<[OutputColumn]>>> {
        match &prepared.parsed {
            Parsed::Own(Own::Backup(_)) => return Ok(Some(super::backup::columns())),
            Parsed::Own(Own::SetConfig(..)) => return Ok(Some(super::utility::set_config_columns())),
            _ => {}
        }
        let Parsed::Sql { statement, .. } = &prepared.parsed else { return Ok(None) };
        match &**statement {
            Statement::ShowVariable { .. } | Statement::ShowTables { .. } => {
                // It changes nothing, so it is simply run.
                self.run(prepared, &[], None, &mut Embedded).map(|outcome| Some(outcome.columns))
            }
            Statement::Fetch { name, .. } => Ok(self.cursor_columns(&crate::parse::fold(name))),
            Statement::Explain { options, .. } => {
                let asked = explain_options(options.as_deref().unwrap_or_default())?;
                Ok(Some(super::explain::columns(if asked.json { DataType::Json } else { DataType::Text })))
            }
            Statement::Execute { name: Some(name), .. } => {
                let named = self.named.get(&super::utility::prepared_name(name)).map(Arc::clone);
                match named {
                    Some(named) => self.columns_of(&named),
                    None => Ok(None),
                }
            }
            // A row may have no columns.
            Statement::Query(query) if !writes(query) => Ok(Some(prepared.columns())),
            _ => Ok(Some(prepared.columns()).filter(|columns| !columns.is_empty())),
        }
    }

    /// Fails an open transaction with an error that no statement of it gave: a message of the client was wrong.
    pub fn fail_with(&mut self, error: Error) -> Error {
        self.fail(error)
    }

    /// Whether a statement must not be part of a transaction that others began.
    pub fn runs_outside_transactions(prepared: &Prepared) -> bool {
        match &prepared.parsed {
            Parsed::Checkpoint | Parsed::Own(Own::Vacuum(_) | Own::Backup(_)) => true,
            Parsed::Own(Own::Reindex(reindex)) => reindex.is_alone(),
            Parsed::Own(_) | Parsed::SetConstraints { .. } => false,
            Parsed::Sql { statement, .. } => match &**statement {
                Statement::CreateIndex(create) => create.concurrently,
                _ => false,
            },
        }
    }

    /// Whether a statement may change settings that clients are told of.
    pub fn may_change_settings(prepared: &Prepared) -> bool {
        let Parsed::Sql { statement, .. } = &prepared.parsed else { return false };
        matches!(
            **statement,
            Statement::Set(Set::SingleAssignment { .. } | Set::SetTimeZone { .. } | Set::SetNames { .. })
                | Statement::Reset(_)
        )
    }
}
