//! The end of a statement: which rows it touched, what they were, what must hold now.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use weft_contract::{Base, Staged};
use weft_format::{Code, Error, Result, TableId, Timestamp, Value};

use super::super::constraint_modes::ConstraintModes;
use super::super::journal::Step;
use super::super::overlay::overlay;
use super::super::own_ddl::OwnDdl;
use super::super::transaction::Transaction;
use super::changed::{ChangedRows, PlainRows};
use super::points::{Points, describe, point_of, tested_point};
use crate::catalog::{FkAction, ForeignKey, TableDef, TableRef};
use crate::fault::{Fault, active};
use crate::lock::{ColumnSet, LockMode};

/// The rows of a table that some steps of the journal touched.
pub(super) struct Touched {
    pub(super) table: TableRef,
    /// By key: what this transaction had made of it before; none when it was as committed.
    rows: BTreeMap<Arc<[u8]>, Option<Staged>>,
    /// Rows that got another key, by the old one.
    moved: HashMap<Arc<[u8]>, Arc<[u8]>>,
}

/// A row that had values which it no longer has.
pub(super) struct Lost {
    pub(super) point: Vec<u8>,
    pub(super) values: Vec<Value>,
    /// What it has now; none when it was deleted.
    pub(super) now: Option<Vec<Value>>,
}

impl Lost {
    pub(super) fn action(&self, foreign_key: &ForeignKey) -> FkAction {
        if self.now.is_some() { foreign_key.on_update } else { foreign_key.on_delete }
    }
}

impl Transaction {
    /// Ends a statement: does what foreign keys ask for rows that refer to rows that are gone, and tests what was
    /// staged since the last call. An error is the statement's: the caller rolls back to its mark. A commit calls this,
    /// too; what is deferred is tested then only.
    pub fn check_constraints(&mut self) -> Result<()> {
        self.check_constraints_with(&PlainRows)
    }

    /// The same where tables have expressions; `rows` knows them.
    pub fn check_constraints_with(&mut self, rows: &dyn ChangedRows) -> Result<()> {
        let from = self.checked_steps;
        assert!(from <= self.journal.step_count(), "steps that were tested and taken back are tested again");
        if from == self.journal.step_count() {
            return Ok(());
        }
        if self.touches_foreign_keys() && !active(Fault::SKIP_FOREIGN_KEYS) {
            let mut done = from;
            while done < self.journal.step_count() {
                let end = self.journal.step_count();
                for touched in self.touched(done, end) {
                    self.act(&touched, rows)?;
                }
                assert!(self.journal.step_count() >= end, "actions stage more, and take nothing back");
                done = end;
            }
            self.test(from, |modes, child, foreign_key| !modes.defers(child, foreign_key))?;
        }
        self.checked_steps = self.journal.step_count();
        Ok(())
    }

    /// What a commit tests: everything that is left.
    pub(in crate::txn) fn check_at_commit(&mut self) -> Result<()> {
        self.check_constraints()?;
        self.test_all(ConstraintModes::defers)
    }

    /// Tests the chosen constraints with all rows of the transaction.
    pub(super) fn test_all(&mut self, chosen: impl Fn(&ConstraintModes, TableId, &ForeignKey) -> bool) -> Result<()> {
        if self.touches_foreign_keys() && !active(Fault::SKIP_FOREIGN_KEYS) { self.test(0, chosen) } else { Ok(()) }
    }

    /// A row got another key: for foreign keys that is a change of the row, not a deletion and an insertion. Callers
    /// that change keys by [`Transaction::delete`] and [`Transaction::insert`] say so; [`Transaction::update`] does.
    pub fn note_moved(&mut self, t: &TableRef, from: &[u8], to: &[u8]) {
        if self.is_parent(t) {
            let table = t.id();
            self.journal.note(|| Step::Moved { table, from: from.into(), to: to.into() });
        }
    }

    /// Whether a table that was written has foreign keys or is referred to.
    fn touches_foreign_keys(&self) -> bool {
        let written = self.journal.tables.iter().filter(|state| !state.writes.rows.is_empty());
        written.map(|state| &state.table).any(|table| !table.def.foreign_keys.is_empty() || self.is_parent(table))
    }

    fn is_parent(&self, t: &TableRef) -> bool {
        t.is_referenced()
            || self
                .ddl
                .iter()
                .any(|ddl| matches!(ddl, OwnDdl::Create(child) | OwnDdl::Alter(_, child) if refers(child.def(), t)))
    }

    /// The foreign keys to a table, each with the table that has it: committed or own, and not dropped.
    pub(in crate::txn) fn references_to(&self, t: &TableRef) -> Vec<(TableRef, ForeignKey)> {
        let committed = t.referencing();
        let own = self.ddl.iter().filter_map(|ddl| match ddl {
            OwnDdl::Create(child) | OwnDdl::Alter(_, child) if refers(child.def(), t) => Some(child.id()),
            _ => None,
        });
        let ids: BTreeSet<TableId> = committed.iter().copied().chain(own).collect();
        let children = ids.into_iter().filter_map(|id| self.current(id));
        let alive = |child: &TableRef| child.drop_ts() == Timestamp::MAX && !OwnDdl::drops(&self.ddl, child.id());
        let mut found = Vec::new();
        for child in children.filter(alive) {
            let keys = child.def.foreign_keys.iter().filter(|foreign_key| foreign_key.parent == t.id());
            found.extend(keys.map(|foreign_key| (child.clone(), foreign_key.clone())));
        }
        found
    }

    /// The rows that the steps of a range touched, by table.
    fn touched(&self, from: usize, to: usize) -> Vec<Touched> {
        let mut tables: Vec<Touched> = Vec::new();
        let mut others = None;
        for step in &self.journal.steps()[from..to] {
            let (Step::Row { table: id, .. } | Step::Moved { table: id, .. }) = step else { continue };
            if others == Some(*id) {
                continue;
            }
            let at = tables.iter().position(|touched| touched.table.id() == *id);
            let at = at.or_else(|| {
                let table = self.journal.find(*id)?.table.clone();
                let linked = !table.def.foreign_keys.is_empty() || self.is_parent(&table);
                if !linked || OwnDdl::drops(&self.ddl, *id) {
                    return None;
                }
                tables.push(Touched { table, rows: BTreeMap::new(), moved: HashMap::new() });
                Some(tables.len() - 1)
            });
            let Some(at) = at else {
                others = Some(*id);
                continue;
            };
            match step {
                Step::Row { key, before, .. } => {
                    tables[at].rows.entry(key.clone()).or_insert_with(|| before.clone());
                }
                Step::Moved { from, to, .. } => {
                    tables[at].moved.entry(from.clone()).or_insert_with(|| to.clone());
                }
                _ => {}
            }
        }
        tables
    }

    /// Tests the rows that the steps from one on touched against the chosen constraints.
    fn test(&mut self, from: usize, chosen: impl Fn(&ConstraintModes, TableId, &ForeignKey) -> bool) -> Result<()> {
        let tables = self.touched(from, self.journal.step_count());
        for touched in &tables {
            for (child, foreign_key) in self.references_to(&touched.table) {
                if chosen(&self.journal.constraint_modes, child.id(), &foreign_key) {
                    self.test_lost(touched, &child, &foreign_key)?;
                }
            }
        }
        for touched in &tables {
            for foreign_key in &touched.table.def.foreign_keys {
                if chosen(&self.journal.constraint_modes, touched.table.id(), foreign_key) {
                    self.test_children(touched, foreign_key)?;
                }
            }
        }
        Ok(())
    }

    /// NO ACTION: nobody refers to values that no row has any more.
    fn test_lost(&mut self, touched: &Touched, child: &TableRef, foreign_key: &ForeignKey) -> Result<()> {
        let parent = &touched.table;
        let mut points = Points::new();
        for lost in self.lost(touched, foreign_key)? {
            if lost.action(foreign_key) == FkAction::NoAction
                && !self.has_own_parent(parent, foreign_key, &lost.values)?
            {
                points.insert(lost.point, lost.values);
            }
        }
        self.test_unreferenced(parent, child, foreign_key, &points)
    }

    /// Fails when a row of the child has one of these values.
    pub(super) fn test_unreferenced(
        &mut self,
        parent: &TableRef,
        child: &TableRef,
        foreign_key: &ForeignKey,
        points: &Points,
    ) -> Result<()> {
        let Some(point) = self.find_child(child, foreign_key, points)? else { return Ok(()) };
        let (name, child_name) = (&foreign_key.name, &child.def.name);
        let key = describe(parent, &foreign_key.parent_columns, &points[&point]);
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{name}\" on table \"{child_name}\"",
            parent.def.name
        );
        Err(Error::new(Code::ForeignKeyViolation, message)
            .detail(format!("{key} is still referenced from table \"{child_name}\"."))
            .about(child_name, None, Some(name)))
    }

    /// The rows touched have a row to refer to.
    fn test_children(&mut self, touched: &Touched, foreign_key: &ForeignKey) -> Result<()> {
        let child = &touched.table;
        let mut points = Points::new();
        for key in touched.rows.keys() {
            let Some(staged) = self.own_staged(child, key) else { continue };
            let is_partial = staged.is_partial();
            if staged.row.is_none()
                || (is_partial && !staged.columns.iter().any(|column| foreign_key.columns.contains(column)))
            {
                continue;
            }
            if is_partial && foreign_key.columns.len() > 1 {
                self.lock_columns(child, key, &foreign_key.columns)?;
            }
            let row = self.current_row(child, key)?;
            let Some(row) = row else { continue };
            let place = (&*child.codec, &*child.def.schema, &*foreign_key.columns);
            if let Some(point) = tested_point(child, foreign_key, place, &row)? {
                points.insert(point.bytes, point.values);
            }
        }
        self.require_parents(child, foreign_key, points)
    }

    /// The rows of a parent that no longer have the values which they had before these steps.
    pub(super) fn lost(&mut self, touched: &Touched, foreign_key: &ForeignKey) -> Result<Vec<Lost>> {
        let parent = &touched.table;
        let columns = &foreign_key.parent_columns;
        let mut found = Vec::new();
        for (key, before) in &touched.rows {
            let Some(now) = self.own_staged(parent, key) else { continue };
            let keeps =
                |staged: &Staged| staged.row.is_some() && !staged.columns.iter().any(|column| columns.contains(column));
            match before {
                None if now.base == Base::Free || keeps(now) => continue,
                Some(Staged { row: None, .. }) => continue,
                _ => {}
            }
            if columns.len() > 1 {
                self.lock_columns(parent, key, columns)?;
            }
            let old = match before {
                Some(staged) => self.row_of(parent, key, staged)?,
                None => self.committed_row(parent, key)?,
            };
            let point = |row: &[u8]| point_of(&parent.codec, &parent.def.schema, columns, row);
            let Some(old) = old.and_then(|row| point(&row)) else { continue };
            let new = match touched.moved.get(key) {
                Some(to) => self.current_row(parent, to)?,
                None => self.current_row(parent, key)?,
            };
            if new.as_ref().and_then(|row| point(row)).is_some_and(|new| new.bytes == old.bytes) {
                continue;
            }
            let value = |row: &[u8], column: usize| parent.codec.get(row, column).to_value();
            let now = new.map(|row| columns.iter().map(|&column| value(&row, column)).collect());
            found.push(Lost { point: old.bytes, values: old.values, now });
        }
        Ok(found)
    }

    /// What the transaction made of a key, one by one.
    pub(super) fn own_staged(&self, t: &TableRef, key: &[u8]) -> Option<&Staged> {
        self.journal.find(t.id())?.writes.rows.get(key)
    }

    /// Keeps others from writing some columns of a row.
    pub(super) fn lock_columns(&mut self, t: &TableRef, key: &[u8], columns: &[usize]) -> Result<()> {
        let mode = LockMode::columns(columns.iter().copied().collect(), ColumnSet::NONE);
        self.lock_key(t, key, mode, self.lock_wait())
    }

    /// Calls `read` with a snapshot of everything published now.
    pub(in crate::txn) fn at_newest<T>(&self, read: impl FnOnce(Timestamp) -> Result<T>) -> Result<T> {
        let timeline = &self.core().timeline;
        let newest = timeline.register();
        assert!(newest >= self.read_ts, "what is published has what the snapshot shows (foreign keys 3)");
        let result = read(newest);
        timeline.release(newest);
        result
    }

    /// The newest committed row of a key.
    pub(super) fn committed_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        self.at_newest(|newest| t.table.read_row(key, newest))
    }

    /// The row of a key as this transaction would leave it.
    pub(in crate::txn) fn current_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        match self.own_staged(t, key) {
            Some(staged) => self.row_of(t, key, staged),
            None if self.has_built(t) => self.committed_row(t, key),
            // A row that was replaced in bulk, perhaps.
            None => match self.own_row(t, key)? {
                Some(own) => self.row_of(t, key, &own),
                None => self.committed_row(t, key),
            },
        }
    }

    /// A staged row with the columns that others have committed meanwhile.
    fn row_of(&self, t: &TableRef, key: &[u8], staged: &Staged) -> Result<Option<Arc<[u8]>>> {
        match (staged.base, &staged.row) {
            (Base::Version(..), Some(row)) if self.may_be_behind() => Ok(Some(match self.committed_row(t, key)? {
                Some(onto) => overlay(&t.codec, &onto, row, &staged.columns),
                None => row.clone(),
            })),
            (_, row) => Ok(row.clone()),
        }
    }
}

fn refers(child: &TableDef, parent: &TableRef) -> bool {
    child.foreign_keys.iter().any(|foreign_key| foreign_key.parent == parent.id())
}
