//! SET CONSTRAINTS: when a transaction tests its deferrable constraints.
//!
//! ```text
//!   c_p_fkey DEFERRABLE               each statement's end
//!   SET CONSTRAINTS ALL DEFERRED      commit                   { all: deferred }
//!   SET CONSTRAINTS c_p_fkey IMMEDIATE      tests all rows touched so far, then each statement's end
//!                                                              { all: deferred, c_p_fkey: immediate }
//! ```
//!
//! 1. What a constraint that becomes immediate left untested is tested in that moment, with all rows of the
//!    transaction.
//! 2. A mode is a step of the journal: rolling back to a savepoint brings the modes back that stood there.
//!
//! Source: PostgreSQL, commands/trigger.c, AfterTriggerSetState.

use std::sync::Arc;

use weft_format::{Code, Error, Result, TableId};

use super::super::constraint_modes::ConstraintModes;
use super::super::journal::Step;
use super::super::transaction::Transaction;
use crate::catalog::{Deferrable, ForeignKey, TableDef};
use crate::fault::{Fault, active};
use crate::index::INDEX_METHOD;

impl Transaction {
    /// SET CONSTRAINTS: from here on, deferrable constraints are tested at commit (`deferred`) or at the end of each
    /// statement; all of them, or those that have one of the names. Those that become immediate are tested now, with
    /// everything staged: on an error nothing has changed. An unknown name is [`Code::UndefinedObject`], a constraint
    /// that cannot be deferred and should be is [`Code::WrongObjectType`].
    pub fn set_constraints(&mut self, names: Option<&[String]>, deferred: bool) -> Result<()> {
        self.check_constraints()?;
        let before = self.journal.constraint_modes.clone();
        let mut modes = before.clone();
        match names {
            None => modes = ConstraintModes::of_all(deferred),
            Some(names) => {
                let tables = self.tables();
                for name in names {
                    self.set_named(&tables, name, deferred, &mut modes)?;
                }
            }
        }
        self.journal.constraint_modes = modes;
        self.journal.note(|| Step::Modes(before.clone()));
        if deferred || active(Fault::SKIP_PENDING_CONSTRAINTS) {
            return Ok(());
        }
        let becomes_immediate = |now: &ConstraintModes, child: TableId, foreign_key: &ForeignKey| {
            before.defers(child, foreign_key) && !now.defers(child, foreign_key)
        };
        let tested = self.test_all(becomes_immediate);
        if tested.is_err() {
            self.journal.constraint_modes = before;
        }
        tested
    }

    /// Sets the mode of all constraints with a name.
    fn set_named(
        &self,
        tables: &[Arc<TableDef>],
        name: &str,
        deferred: bool,
        modes: &mut ConstraintModes,
    ) -> Result<()> {
        let (mut is_known, mut others) = (false, false);
        for def in tables {
            for foreign_key in def.foreign_keys.iter().filter(|foreign_key| foreign_key.name == name) {
                is_known = true;
                match foreign_key.deferrable {
                    Deferrable::No if deferred => return Err(not_deferrable(name)),
                    Deferrable::No => {}
                    _ => modes.set(def.id, name, deferred),
                }
            }
            others |= def.primary_key.as_deref() == Some(name) || def.checks.iter().any(|(check, _)| check == name);
        }
        let relations = self.relations();
        let named = relations.iter().filter(|def| def.name == name && def.method == INDEX_METHOD);
        others |= named.into_iter().any(|def| def.options.contains_key("constraint"));
        match (is_known, others) {
            (_, true) if deferred => Err(not_deferrable(name)),
            (false, false) => Err(Error::new(Code::UndefinedObject, format!("constraint \"{name}\" does not exist"))),
            _ => Ok(()),
        }
    }

    /// Whether a foreign key of a table waits for the commit in this transaction.
    pub(super) fn defers(&self, child: TableId, foreign_key: &ForeignKey) -> bool {
        self.journal.constraint_modes.defers(child, foreign_key)
    }
}

fn not_deferrable(name: &str) -> Error {
    Error::new(Code::WrongObjectType, format!("constraint \"{name}\" is not deferrable"))
        .hint("only a foreign key that was declared DEFERRABLE can wait for the commit")
}
