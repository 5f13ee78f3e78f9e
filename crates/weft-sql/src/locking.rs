//! FOR UPDATE and FOR SHARE: which rows are locked, and what happens when one is not free.
//!
//! ```text
//!   FOR UPDATE               beside nobody            waits for lock_timeout
//!   FOR SHARE                beside other readers     ... NOWAIT: fails at once    ... SKIP LOCKED: leaves the row out
//! ```
//!
//! A row that changed since the statement's snapshot is a conflict: at READ COMMITTED the session runs the statement
//! again, with the locks it has.

use sqlparser::ast::{LockType, NonBlock, Query};
use weft_format::{Code, Error, Result};
use weft_kernel::{LockMode, TableDef, TableRef, Transaction, Wait};

use crate::ddl::dependents::is_materialized;
use crate::parse::table_name;

/// What a locking clause asks for.
#[derive(Clone, Copy)]
pub(crate) struct RowLocking {
    mode: LockMode,
    never_waits: bool,
    /// Rows that others have locked are left out.
    pub(crate) skips: bool,
}

impl RowLocking {
    /// The locking clauses of a query of one table, whose rows go by the name `shown`; none when there are none.
    pub(crate) fn of_query(query: &Query, table: &TableDef, shown: &str) -> Result<Option<RowLocking>> {
        let mut found: Option<RowLocking> = None;
        for clause in &query.locks {
            if let Some(of) = &clause.of
                && table_name(of)? != shown
            {
                let message = format!("relation \"{of}\" in {} clause not found in FROM clause", clause.lock_type);
                return Err(Error::new(Code::UndefinedTable, message));
            }
            let mode = match clause.lock_type {
                LockType::Update => LockMode::EXCLUSIVE,
                LockType::Share => LockMode::SHARED,
            };
            let before = found.unwrap_or(RowLocking { mode, never_waits: false, skips: false });
            found = Some(RowLocking {
                mode: before.mode.union(mode),
                never_waits: before.never_waits || clause.nonblock.is_some(),
                skips: before.skips || matches!(clause.nonblock, Some(NonBlock::SkipLocked)),
            });
        }
        if found.is_some() && is_materialized(table) {
            let message = format!("cannot lock rows in materialized view \"{}\"", table.name);
            let error = Error::new(Code::WrongObjectType, message);
            return Err(error.hint("REFRESH alone changes them: leave FOR UPDATE and FOR SHARE out"));
        }
        Ok(found)
    }

    /// Locks a row; false when it is left out: gone for this transaction, or locked by another and skipped.
    pub(crate) fn lock(&self, txn: &mut Transaction, table: &TableRef, key: &[u8]) -> Result<bool> {
        let wait = if self.never_waits { Wait::Never } else { txn.lock_wait() };
        match txn.lock_row(table, key, self.mode, wait) {
            Ok(row) => Ok(row.is_some()),
            Err(error) if self.skips && error.code() == Code::LockTimeout => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// For EXPLAIN.
    pub(crate) fn explain(&self) -> String {
        let mode = if self.mode == LockMode::SHARED { "shared" } else { "exclusive" };
        let busy = match (self.skips, self.never_waits) {
            (true, _) => ", locked rows are left out",
            (false, true) => ", without waiting",
            (false, false) => "",
        };
        format!("Lock rows: {mode}{busy}")
    }
}
