//! FOR UPDATE and FOR SHARE: which rows are locked, and what happens when one is not free.
//!
//! ```text
//!   FOR UPDATE               beside nobody            waits for lock_timeout
//!   FOR NO KEY UPDATE        beside FOR KEY SHARE     only columns of keys may still be read under a lock
//!   FOR KEY SHARE            beside who writes other columns than those of keys
//!   FOR SHARE                beside other readers     ... NOWAIT: fails at once    ... SKIP LOCKED: leaves the row out
//! ```
//!
//! A row that changed since the statement's snapshot is a conflict: at READ COMMITTED the session runs the statement
//! again, with the locks it has.

use sqlparser::ast::{LockClause, LockType, NonBlock, ObjectName, Query};
use weft_format::{Code, Error, Result};
use weft_kernel::{ColumnSet, LockMode, TableRef, Transaction, Wait};

use crate::ddl::dependents::is_materialized;
use crate::parse::{clause_of, table_name};

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
    pub(crate) fn of_query(query: &Query, table: &TableRef, shown: &str) -> Result<Option<RowLocking>> {
        for clause in &query.locks {
            if let (_, Some(of)) = clause_of(clause)
                && table_name(&of)? != shown
            {
                return Err(not_in_from(clause, &of));
            }
        }
        RowLocking::of_clauses(&query.locks, table)
    }

    /// What locking clauses that are all of one table ask for together; none when there are none.
    pub(crate) fn of_clauses(clauses: &[LockClause], table: &TableRef) -> Result<Option<RowLocking>> {
        let mut found: Option<RowLocking> = None;
        for clause in clauses {
            let mode = match (clause.lock_type, clause_of(clause).0) {
                (LockType::Update, false) => LockMode::EXCLUSIVE,
                (LockType::Share, false) => LockMode::SHARED,
                (LockType::Update, true) => without_key(table),
                (LockType::Share, true) => LockMode::columns(key_columns(table), ColumnSet::NONE),
            };
            let before = found.unwrap_or(RowLocking { mode, never_waits: false, skips: false });
            found = Some(RowLocking {
                mode: before.mode.union(mode),
                never_waits: before.never_waits || clause.nonblock.is_some(),
                skips: before.skips || matches!(clause.nonblock, Some(NonBlock::SkipLocked)),
            });
        }
        let table = &table.def;
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
        let mode = self.mode;
        let busy = match (self.skips, self.never_waits) {
            (true, _) => ", locked rows are left out",
            (false, true) => ", without waiting",
            (false, false) => "",
        };
        format!("Lock rows: {mode}{busy}")
    }
}

/// The columns of a table's primary key and unique indexes.
fn key_columns(table: &TableRef) -> ColumnSet {
    let indexes = table.indexes();
    let unique = indexes.iter().filter(|index| index.index.is_unique());
    let unique = unique.flat_map(|index| index.index.deciding().iter().copied());
    table.def.schema.key.iter().copied().chain(unique).collect()
}

/// What writes all columns but those of keys; all, where there are no others.
fn without_key(table: &TableRef) -> LockMode {
    let key = key_columns(table);
    let others: ColumnSet = (0..table.def.schema.columns.len()).filter(|ordinal| !key.contains(*ordinal)).collect();
    if others.is_empty() { LockMode::EXCLUSIVE } else { LockMode::columns(ColumnSet::ALL, others) }
}

/// A locking clause names what is not there.
pub(crate) fn not_in_from(clause: &LockClause, of: &ObjectName) -> Error {
    let message = format!("relation \"{of}\" in FOR {} clause not found in FROM clause", clause.lock_type);
    Error::new(Code::UndefinedTable, message)
}
