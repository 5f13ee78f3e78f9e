//! When the deferrable constraints of a transaction are tested, as far as SET CONSTRAINTS said so.

use weft_format::TableId;

use crate::catalog::{Deferrable, ForeignKey};

/// What SET CONSTRAINTS has said in a transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct ConstraintModes {
    /// Of constraints that were not named since; true: at commit.
    all: Option<bool>,
    /// By the table that has the foreign key, and its name.
    named: Vec<(TableId, String, bool)>,
}

impl ConstraintModes {
    /// The same mode for all that can have one.
    pub(super) fn of_all(deferred: bool) -> ConstraintModes {
        ConstraintModes { all: Some(deferred), named: Vec::new() }
    }

    /// Whether a foreign key of a table waits for the commit.
    pub(super) fn defers(&self, child: TableId, foreign_key: &ForeignKey) -> bool {
        let said = || {
            let is_it = |(table, name, _): &&(TableId, String, bool)| *table == child && *name == foreign_key.name;
            self.named.iter().find(is_it).map(|(.., deferred)| *deferred).or(self.all)
        };
        match foreign_key.deferrable {
            Deferrable::No => false,
            Deferrable::InitiallyImmediate => said().unwrap_or(false),
            Deferrable::InitiallyDeferred => said().unwrap_or(true),
        }
    }

    /// Sets the mode of one constraint.
    pub(super) fn set(&mut self, table: TableId, name: &str, deferred: bool) {
        match self.named.iter_mut().find(|(known, constraint, _)| *known == table && constraint == name) {
            Some((.., mode)) => *mode = deferred,
            None => self.named.push((table, name.to_owned(), deferred)),
        }
    }
}
