//! ALTER TABLE: one operation after the other, each on the definition that the one before left.
//!
//! ```text
//!   ADD COLUMN c int DEFAULT 7      another definition; rows that are there are not touched
//!   ADD COLUMN c int DEFAULT nextval('s'), ALTER COLUMN a TYPE bigint, ADD PRIMARY KEY
//!                                   the table is stored anew: its rows, changed, go into a new one under the same name
//!   ADD CONSTRAINT, SET NOT NULL    the rows are read; whoever writes waits until the commit
//! ```
//!
//! 1. Ordinals of columns never change, whatever happens (schema 1): indexes, foreign keys and comments name columns by
//!    them.
//! 2. The table's lock is held alone from the first operation on, so what was tested stays true until the commit.

mod columns;
mod constraints;
mod domains;
mod generated;
mod renames;
mod rows;

use sqlparser::ast::{AlterTable, AlterTableOperation, DropBehavior, SqlOption};
use weft_format::{Code, Error, Result};
use weft_kernel::{History, TableRef, Transaction};

use super::create::options_in;
use crate::expr::EvalContext;
use crate::notice::Notice;
use crate::parse::{TableOperation, operation_of};

pub(crate) use renames::{move_object, move_table, rename_relation};
pub(crate) use rows::{emptied, has_rows, truncate};

/// One ALTER TABLE under way.
pub(crate) struct Altering<'a> {
    pub(crate) txn: &'a mut Transaction,
    /// The table as the operations so far have left it.
    pub(crate) table: TableRef,
    /// The statement's text.
    pub(crate) source: &'a str,
    pub(crate) eval: EvalContext<'a>,
    pub(crate) notices: &'a mut Vec<Notice>,
}

impl Altering<'_> {
    /// Runs all operations.
    pub(crate) fn run(&mut self, alter: &AlterTable) -> Result<()> {
        if alter.location.is_some() || alter.on_cluster.is_some() || alter.table_type.is_some() {
            return Err(unsupported("this form of ALTER TABLE"));
        }
        self.txn.lock_definition(&self.table)?;
        alter.operations.iter().try_for_each(|operation| self.operation(operation))
    }

    fn operation(&mut self, operation: &AlterTableOperation) -> Result<()> {
        use AlterTableOperation as Op;
        match operation {
            Op::AddColumn { if_not_exists, column_def, column_position: None, .. } => {
                self.add_column(column_def, *if_not_exists)
            }
            Op::DropColumn { column_names, if_exists, drop_behavior, .. } => {
                column_names.iter().try_for_each(|name| self.drop_column(name, *if_exists, cascades(drop_behavior)))
            }
            Op::AlterColumn { column_name, op } => self.alter_column(column_name, op),
            Op::AddConstraint { constraint, not_valid } => self.add_constraint(constraint, *not_valid),
            Op::DropConstraint { if_exists, name, drop_behavior } => {
                self.drop_constraint(name, *if_exists, cascades(drop_behavior))
            }
            Op::RenameColumn { old_column_name, new_column_name } => {
                self.rename_column(old_column_name, new_column_name)
            }
            Op::RenameConstraint { old_name, new_name } => self.rename_constraint(old_name, new_name),
            Op::RenameTable { table_name } => self.rename_table(table_name),
            Op::ValidateConstraint { name } => self.validate_constraint(name),
            Op::OwnerTo { .. } => {
                self.notices.push(Notice::plain("OWNER TO has no effect: tables have no owners"));
                Ok(())
            }
            Op::SetOptionsParens { options } => match operation_of(options)? {
                Some(operation) => self.own_operation(operation),
                None => self.set_options(options),
            },
            other => Err(unsupported(&format!("ALTER TABLE ... {other}"))),
        }
    }

    fn own_operation(&mut self, operation: TableOperation) -> Result<()> {
        match operation {
            TableOperation::AlterConstraint(name, can, deferred) => self.alter_constraint(&name, can, deferred),
        }
    }

    /// How long the table keeps its past; what else there is counts when a table is made.
    fn set_options(&mut self, options: &[SqlOption]) -> Result<()> {
        let mut options = options_in(options)?;
        if let Some(text) = options.remove(History::OPTION) {
            History::parse(&text)?;
            self.alter(|def| {
                def.options.insert(History::OPTION.into(), text);
                Ok(())
            })?;
        }
        if !options.is_empty() {
            self.notices.push(Notice::plain("storage parameters have no effect"));
        }
        Ok(())
    }

    /// Gives the table another definition.
    fn alter(&mut self, change: impl FnOnce(&mut weft_kernel::TableDef) -> Result<()>) -> Result<()> {
        self.table = self.txn.alter_table(&self.table, change)?;
        Ok(())
    }

    fn name(&self) -> &str {
        &self.table.def.name
    }
}

fn cascades(behavior: &Option<DropBehavior>) -> bool {
    matches!(behavior, Some(DropBehavior::Cascade))
}

pub(super) fn unsupported(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported"))
}
