//! The rows that refer to given values.
//!
//! ```text
//!   own rows                    staged, with the columns that others committed meanwhile
//!   committed rows, newest      by an index whose first columns are the foreign key's, else by a scan
//! ```

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use weft_contract::ReadView;
use weft_format::{CompareOp, Predicate, Result, Timestamp, Value};

use super::super::own_ddl::OwnDdl;
use super::super::transaction::Transaction;
use super::parents::{each_row, projected};
use super::points::{Points, fits, point_of, same_columns};
use crate::catalog::{ForeignKey, TableRef};
use crate::index::{Direction, Index};

/// A row's key, and which of the values it has.
type Child = (Vec<u8>, Vec<u8>);

impl Transaction {
    /// Which of the values some row has; that row is locked. Who is about to change or delete a row is waited for.
    pub(super) fn find_child(
        &mut self,
        child: &TableRef,
        foreign_key: &ForeignKey,
        points: &Points,
    ) -> Result<Option<Vec<u8>>> {
        while let Some((key, point)) = self.children(child, foreign_key, points, 1)?.pop() {
            if self.has_built(child) {
                return Ok(Some(point));
            }
            self.lock_columns(child, &key, &foreign_key.columns)?;
            let row = self.current_row(child, &key)?;
            let found = row.and_then(|row| point_of(&child.codec, &child.def.schema, &foreign_key.columns, &row));
            if let Some(found) = found
                && points.contains_key(&found.bytes)
            {
                return Ok(Some(found.bytes));
            }
        }
        Ok(None)
    }

    /// The rows that have one of the values as this transaction would leave them, at most `limit`.
    pub(super) fn children(
        &self,
        child: &TableRef,
        foreign_key: &ForeignKey,
        points: &Points,
        limit: usize,
    ) -> Result<Vec<Child>> {
        if points.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.own_children(child, foreign_key, points)?;
        if found.len() < limit {
            self.at_newest(|newest| match self.index_of(child, foreign_key, newest) {
                Some(index) => self.children_by_index(child, foreign_key, &index, points, newest, limit, &mut found),
                None => self.children_by_scan(child, foreign_key, points, newest, limit, &mut found),
            })?;
        }
        Ok(found)
    }

    fn own_children(&self, child: &TableRef, foreign_key: &ForeignKey, points: &Points) -> Result<Vec<Child>> {
        let mut found = Vec::new();
        let Some(state) = self.journal.find(child.id()) else { return Ok(found) };
        for (key, staged) in &state.writes.rows {
            if staged.row.is_none() {
                continue;
            }
            let row = self.current_row(child, key)?;
            let point = row.and_then(|row| point_of(&child.codec, &child.def.schema, &foreign_key.columns, &row));
            if let Some(point) = point.filter(|point| points.contains_key(&point.bytes)) {
                found.push((key.to_vec(), point.bytes));
            }
        }
        Ok(found)
    }

    /// An index that finds all rows by the columns of a foreign key.
    fn index_of(&self, child: &TableRef, foreign_key: &ForeignKey, newest: Timestamp) -> Option<Arc<Index>> {
        let count = foreign_key.columns.len();
        let fits = |index: &&Arc<Index>| {
            index.columns().get(..count).is_some_and(|first| same_columns(first, &foreign_key.columns))
                && !index.is_partial()
                && index.is_usable(newest)
                && !OwnDdl::drops(&self.ddl, index.id())
        };
        if self.has_built(child) {
            return None;
        }
        child.indexes().iter().map(|index| &index.index).find(fits).cloned()
    }

    #[allow(clippy::too_many_arguments, reason = "the state of one search")]
    fn children_by_index(
        &self,
        child: &TableRef,
        foreign_key: &ForeignKey,
        index: &Index,
        points: &Points,
        newest: Timestamp,
        limit: usize,
        found: &mut Vec<Child>,
    ) -> Result<()> {
        let count = foreign_key.columns.len();
        for (point, values) in points {
            let at = |column: &usize| foreign_key.columns.iter().position(|known| known == column);
            let ordered: Vec<Value> =
                index.columns()[..count].iter().filter_map(at).map(|at| values[at].clone()).collect();
            assert_eq!(ordered.len(), count, "the first columns of the index are those of the foreign key");
            let Some(prefix) = index.prefix(&ordered) else { continue };
            let mut seen = HashSet::new();
            let mut cursor =
                index.store().scan(Bound::Included(&prefix), Bound::Included(&prefix), Direction::Forward)?;
            while let Some(entry) = cursor.next()? {
                if self.own_staged(child, entry.key).is_some() {
                    continue;
                }
                let Some(row) = child.table.read_row(entry.key, newest)? else { continue };
                let now = point_of(&child.codec, &child.def.schema, &foreign_key.columns, &row);
                // An index with more columns may have several entries of one row, all but one outdated.
                let is_new = index.columns().len() == count || seen.insert(entry.key.to_vec());
                if now.is_some_and(|now| now.bytes == *point) && is_new {
                    found.push((entry.key.to_vec(), point.clone()));
                    if found.len() == limit {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn children_by_scan(
        &self,
        child: &TableRef,
        foreign_key: &ForeignKey,
        points: &Points,
        newest: Timestamp,
        limit: usize,
        found: &mut Vec<Child>,
    ) -> Result<()> {
        let schema = &child.def.schema;
        let mut predicates = Vec::new();
        if let (1, Some(values)) = (points.len(), points.values().next()) {
            for (&column, value) in foreign_key.columns.iter().zip(values) {
                if !fits(schema.columns[column].data_type, value) {
                    return Ok(());
                }
                predicates.push(Predicate::Compare { column, op: CompareOp::Eq, value: value.clone() });
            }
        }
        let projection: Vec<usize> = foreign_key.columns.iter().chain(&schema.key).copied().collect();
        let (projected, codec) = projected(child, &projection);
        let count = foreign_key.columns.len();
        let columns: Vec<usize> = (0..count).collect();
        // Own rows were looked at before; only files of bulk statements are left.
        let own = if self.has_built(child) { self.journal.find(child.id()) } else { None };
        let view = ReadView { read_ts: newest, own: own.map(|state| state.writes.clone()), reads: None };
        each_row(child, view, &projection, predicates, &codec, |row| {
            let Some(point) = point_of(&codec, &projected, &columns, row) else { return Ok(true) };
            if points.contains_key(&point.bytes) {
                let key = child.keys.encode((count..projection.len()).map(|at| codec.get(row, at)));
                if self.own_staged(child, &key).is_none() {
                    found.push((key, point.bytes));
                }
            }
            Ok(found.len() < limit)
        })
    }
}
