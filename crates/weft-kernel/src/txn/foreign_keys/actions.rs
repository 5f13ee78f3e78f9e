//! CASCADE, SET NULL and SET DEFAULT: what happens to the rows that refer to a row that is gone.

use std::collections::HashMap;

use weft_format::{Code, Error, Result, Value};

use super::super::transaction::Transaction;
use super::changed::{ChangedRows, check_fits};
use super::points::Points;
use super::statement::{Lost, Touched};
use crate::catalog::{FkAction, ForeignKey, TableRef};

impl Transaction {
    /// Does what the foreign keys to a table ask for, and tests those that ask for a test at once (RESTRICT).
    pub(super) fn act(&mut self, touched: &Touched, rows: &dyn ChangedRows) -> Result<()> {
        for (child, foreign_key) in self.references_to(&touched.table) {
            if (foreign_key.on_delete, foreign_key.on_update) == (FkAction::NoAction, FkAction::NoAction) {
                continue;
            }
            let lost = self.lost(touched, &foreign_key)?;
            let (mut restricted, mut followed, mut defaulted) = (Points::new(), HashMap::new(), Points::new());
            for lost in lost {
                let action = lost.action(&foreign_key);
                if action == FkAction::SetDefault && !self.has_own_parent(&touched.table, &foreign_key, &lost.values)? {
                    defaulted.insert(lost.point.clone(), lost.values.clone());
                }
                match action {
                    FkAction::NoAction => {}
                    FkAction::Restrict => drop(restricted.insert(lost.point, lost.values)),
                    FkAction::Cascade | FkAction::SetNull | FkAction::SetDefault => {
                        followed.insert(lost.point.clone(), lost);
                    }
                }
            }
            self.test_unreferenced(&touched.table, &child, &foreign_key, &restricted)?;
            self.follow(&child, &foreign_key, &followed, rows)?;
            // The default may be what is gone.
            self.test_unreferenced(&touched.table, &child, &foreign_key, &defaulted)?;
        }
        Ok(())
    }

    /// Deletes or changes the rows that have one of the values.
    fn follow(
        &mut self,
        child: &TableRef,
        foreign_key: &ForeignKey,
        lost: &HashMap<Vec<u8>, Lost>,
        rows: &dyn ChangedRows,
    ) -> Result<()> {
        let points: Points = lost.iter().map(|(point, lost)| (point.clone(), lost.values.clone())).collect();
        for (key, point) in self.children(child, foreign_key, &points, usize::MAX)? {
            let lost = &lost[&point];
            let set = match (&lost.now, foreign_key.set_on_delete.as_slice()) {
                (None, some) if !some.is_empty() => some,
                _ => &foreign_key.columns,
            };
            let values = match (lost.action(foreign_key), &lost.now) {
                (FkAction::Cascade, None) if self.delete(child, &key)? => continue,
                (FkAction::Cascade, None) => return Err(unseen(child)),
                (FkAction::Cascade, Some(now)) => {
                    foreign_key.columns.iter().copied().zip(now.iter().cloned()).collect()
                }
                (FkAction::SetDefault, _) => set
                    .iter()
                    .map(|&column| Ok((column, rows.default_of(self, child, column)?)))
                    .collect::<Result<Vec<_>>>()?,
                _ => set.iter().map(|&column| (column, Value::Null)).collect(),
            };
            self.set_columns(child, &key, &values, rows)?;
        }
        Ok(())
    }

    fn set_columns(
        &mut self,
        child: &TableRef,
        key: &[u8],
        values: &[(usize, Value)],
        rows: &dyn ChangedRows,
    ) -> Result<()> {
        values.iter().try_for_each(|(column, value)| check_fits(child, *column, value))?;
        let mode = rows.lock_mode(child, values.iter().map(|(column, _)| *column).collect())?;
        let Some(row) = self.lock_row(child, key, mode, self.lock_wait())? else { return Err(unseen(child)) };
        let new = rows.changed(child, &row, values)?;
        self.update_columns(child, key, &new, mode)
    }
}

/// The snapshot does not show a row that refers to one that goes (foreign keys 3).
fn unseen(child: &TableRef) -> Error {
    let message = format!("a row of table {:?} that a foreign key changes came after this snapshot", child.def.name);
    Error::new(Code::SerializationFailure, message)
        .about(&child.def.name, None, None)
        .hint("roll back and run the transaction again")
}
