//! What the work of a statement is given.

use std::sync::Arc;

use weft_expr::Local;
use weft_format::{Code, Error, Result};
use weft_kernel::{SessionLocks, Transaction};

use super::asking::Asking;
use super::numbers::Numbers;
use super::own_schema::Temporary;
use crate::activity::Activity;
use crate::binding::{CancelToken, Views};
use crate::context::StatementContext;
use crate::engine::SqlEngine;
use crate::notice::Notice;
use crate::rights::{Permit, adopt};
use crate::row::ShapedRows;
use crate::settings::Settings;

/// What a statement's work is given.
pub(super) struct Work<'a> {
    pub(super) db: &'a SqlEngine,
    pub(super) settings: &'a Arc<Settings>,
    pub(super) cancel: &'a CancelToken,
    pub(super) txn: &'a mut Transaction,
    /// The session's zone and styles, and the transaction's time.
    pub(super) local: Local,
    pub(super) read_only: bool,
    /// It has taken or given what cannot be taken or given again, so it is not run again after a conflict.
    pub(super) is_final: bool,
    /// What the statement tells beside its answer.
    pub(super) notices: &'a mut Vec<Notice>,
    /// The numbers that the session took from sequences.
    pub(super) numbers: &'a mut Numbers,
    /// The rights of the session's role.
    pub(super) permit: &'a mut Permit,
    /// What others see of the session.
    pub(super) activity: &'a Activity,
    /// What queries read, when the statement has written already.
    pub(super) views: Option<Arc<Views>>,
    /// The session's temporary relations.
    pub(super) temporary: &'a mut Temporary,
    /// Settings that change when the statement has ended.
    pub(super) changes: &'a mut Vec<SettingChange>,
    /// The session's advisory locks.
    pub(super) locks: &'a SessionLocks,
}

/// A setting that a statement changes by set_config.
pub(super) struct SettingChange {
    pub(super) name: String,
    /// None: what the session began with.
    pub(super) value: Option<String>,
    /// Until the end of the transaction.
    pub(super) local: bool,
}

impl Work<'_> {
    /// Who asks.
    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            db: self.db,
            settings: self.settings,
            cancel: self.cancel,
            local: &self.local,
            permit: self.permit,
            temporary: self.temporary,
            read_only: self.read_only,
        }
    }

    /// What follows a statement: what it made has an owner, and its constraints hold.
    pub(super) fn finish(&mut self, ddl_before: usize) -> Result<()> {
        if self.txn.ddl_count() > ddl_before {
            let since = self.txn.ddl_since(ddl_before);
            adopt(self.txn, self.permit, &since)?;
        }
        let rng = &self.db.kernel().env().rng;
        let rows = ShapedRows { shapes: self.db.shapes(), local: &self.local, rng: &**rng };
        self.txn.check_constraints_with(&rows)
    }

    /// An error when the transaction is read-only.
    pub(super) fn check_writable(&self, what: &str) -> Result<()> {
        if !self.read_only {
            return Ok(());
        }
        let message = format!("cannot execute {what} in a read-only transaction");
        Err(Error::new(Code::ReadOnlyTransaction, message))
    }
}

/// Runs what writes by a context of a statement without parameters.
pub(super) fn with_context<T>(
    work: &mut Work<'_>,
    run: impl FnOnce(&mut StatementContext<'_>) -> Result<T>,
) -> Result<T> {
    let engine = work.db.queries()?;
    let asking = Asking {
        db: work.db,
        settings: work.settings,
        cancel: work.cancel,
        local: &work.local,
        permit: work.permit,
        temporary: work.temporary,
        read_only: work.read_only,
    };
    run(&mut StatementContext {
        txn: work.txn,
        engine: &*engine,
        shapes: work.db.shapes(),
        params: &[],
        param_types: &[],
        cancel: work.cancel,
        local: &work.local,
        settings: work.settings,
        views: work.views.clone(),
        catalog: &asking,
    })
}
