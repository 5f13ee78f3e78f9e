//! The row that a foreign key refers to: looked up, locked, looked at.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use weft_contract::{ReadView, ScanRequest};
use weft_format::{Code, Error, Evolution, KeyCodec, Result, RowCodec, Schema, Value};

use super::super::own_ddl::OwnDdl;
use super::super::transaction::Transaction;
use super::points::{Points, common, describe, fits, in_order_of, point_of, same_columns, tested_point};
use crate::catalog::{ForeignKey, TableRef};
use crate::fault::{Fault, active};
use crate::index::Index;

/// How often a row is looked for again that others have moved meanwhile.
const MOVES_MAX: usize = 100;

/// How the rows with given values are found.
enum Way {
    Key,
    Index(Arc<Index>),
}

impl Transaction {
    /// Fails when no row has one of these values; locks the rows that have them (foreign keys 1).
    pub(super) fn require_parents(&mut self, child: &TableRef, fk: &ForeignKey, mut points: Points) -> Result<()> {
        if points.is_empty() {
            return Ok(());
        }
        let parent = self.parent_of(child, fk)?;
        self.remove_built(&parent, fk, &mut points)?;
        let missing = match way_to(self, &parent, fk)? {
            Way::Key => self.missing_by_key(&parent, fk, &points)?,
            Way::Index(index) => {
                let mut missing = None;
                for (point, values) in &points {
                    if !self.has_by_index(&parent, fk, &index, point, values)? {
                        missing = Some(values);
                        break;
                    }
                }
                missing
            }
        };
        let Some(values) = missing else { return Ok(()) };
        let (name, parent_name, child_name) = (&fk.name, &parent.def.name, &child.def.name);
        let key = describe(child, &fk.columns, values);
        let message = format!("insert or update on table \"{child_name}\" violates foreign key constraint \"{name}\"");
        Err(Error::new(Code::ForeignKeyViolation, message)
            .detail(format!("{key} is not present in table \"{parent_name}\"."))
            .about(child_name, None, Some(name)))
    }

    /// The table that a foreign key refers to.
    fn parent_of(&self, child: &TableRef, fk: &ForeignKey) -> Result<TableRef> {
        if fk.parent == child.id() {
            return Ok(child.clone());
        }
        self.current(fk.parent)
            .ok_or_else(|| Error::internal(format!("foreign key \"{}\" refers to table {}", fk.name, fk.parent)))
    }

    /// The first values that no row has; the rows of the others are locked.
    fn missing_by_key<'a>(
        &mut self,
        parent: &TableRef,
        fk: &ForeignKey,
        points: &'a Points,
    ) -> Result<Option<&'a Vec<Value>>> {
        let mut looked_up = Vec::with_capacity(points.len());
        for values in points.values() {
            let Some(key) = key_of(parent, fk, values) else { return Ok(Some(values)) };
            match self.own_staged(parent, &key) {
                Some(staged) if staged.row.is_some() => {}
                Some(_) => return Ok(Some(values)),
                None => {
                    self.lock_parent(parent, fk, &key)?;
                    looked_up.push((key, values));
                }
            }
        }
        self.at_newest(|newest| {
            for (key, values) in looked_up {
                if parent.table.read_row(&key, newest)?.is_none() {
                    return Ok(Some(values));
                }
            }
            Ok(None)
        })
    }

    fn lock_parent(&mut self, parent: &TableRef, fk: &ForeignKey, key: &[u8]) -> Result<()> {
        if active(Fault::SKIP_PARENT_LOCK) {
            return Ok(());
        }
        self.lock_columns(parent, key, &fk.parent_columns)
    }

    /// Whether a row has these values of a unique index; then it is locked. Another transaction may give them to
    /// another row while this one waits.
    fn has_by_index(
        &mut self,
        parent: &TableRef,
        fk: &ForeignKey,
        index: &Arc<Index>,
        point: &[u8],
        values: &[Value],
    ) -> Result<bool> {
        let Some(value) = index_value(parent, fk, index, values) else { return Ok(false) };
        if self.own_by_index(parent, fk, index, &value, point)? {
            return Ok(true);
        }
        let same = |row: &[u8]| is_at(parent, fk, row, point);
        for _ in 0..MOVES_MAX {
            let candidates = self.at_newest(|newest| {
                let mut candidates = Vec::new();
                let mut cursor = index.store().lookup(&value)?;
                while let Some(entry) = cursor.next()? {
                    let row = match self.own_staged(parent, entry.key) {
                        Some(_) => self.current_row(parent, entry.key)?,
                        None => parent.table.read_row(entry.key, newest)?,
                    };
                    if row.is_some_and(|row| same(&row)) {
                        candidates.push(entry.key.to_vec());
                    }
                }
                Ok(candidates)
            })?;
            if candidates.is_empty() {
                return Ok(false);
            }
            for key in candidates {
                self.lock_parent(parent, fk, &key)?;
                if self.current_row(parent, &key)?.is_some_and(|row| same(&row)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a row that this transaction wrote has values of a unique index.
    fn own_by_index(
        &self,
        parent: &TableRef,
        fk: &ForeignKey,
        index: &Index,
        value: &[u8],
        point: &[u8],
    ) -> Result<bool> {
        let own = self.own_values.get(&(index.id(), value.into()));
        for key in own.into_iter().flatten() {
            if self.own_staged(parent, key).is_some()
                && self.current_row(parent, key)?.is_some_and(|row| is_at(parent, fk, &row, point))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a row that this transaction wrote has the referenced values.
    pub(super) fn has_own_parent(&self, parent: &TableRef, fk: &ForeignKey, values: &[Value]) -> Result<bool> {
        match way_to(self, parent, fk)? {
            Way::Key => Ok(key_of(parent, fk, values)
                .is_some_and(|key| self.own_staged(parent, &key).is_some_and(|staged| staged.row.is_some()))),
            Way::Index(index) => {
                let types = fk.parent_columns.iter().map(|&column| parent.def.schema.columns[column].data_type);
                let point = super::points::point_bytes(types, values.iter().map(Value::as_ref));
                match (point, index_value(parent, fk, &index, values)) {
                    (Some(point), Some(value)) => self.own_by_index(parent, fk, &index, &value, &point),
                    _ => Ok(false),
                }
            }
        }
    }

    /// Takes out the values of rows that this transaction added to the parent in bulk.
    fn remove_built(&self, parent: &TableRef, fk: &ForeignKey, points: &mut Points) -> Result<()> {
        if !self.has_built(parent) {
            return Ok(());
        }
        let own = self.journal.find(parent.id()).map(|state| state.writes.clone());
        let view = ReadView { read_ts: self.read_ts, own, reads: None };
        let (schema, codec) = projected(parent, &fk.parent_columns);
        let columns: Vec<usize> = (0..fk.parent_columns.len()).collect();
        each_row(parent, view, &fk.parent_columns, Vec::new(), &codec, |row| {
            if let Some(point) = point_of(&codec, &schema, &columns, row) {
                points.remove(&point.bytes);
            }
            Ok(true)
        })
    }

    /// Whether rows can be added in bulk: their foreign keys are tested at once, against rows that are there.
    pub(in crate::txn) fn check_buildable(&self, t: &TableRef) -> Result<()> {
        let late = |fk: &&ForeignKey| self.defers(t.id(), fk) || fk.parent == t.id();
        let Some(fk) = t.def.foreign_keys.iter().find(late) else { return Ok(()) };
        let message = format!("rows with foreign key \"{}\" cannot be added in bulk", fk.name);
        let error = Error::new(Code::FeatureNotSupported, message).about(&t.def.name, None, Some(&fk.name));
        Err(error.hint("insert them row by row"))
    }

    /// Tests rows that were added in bulk.
    pub(in crate::txn) fn check_built(&mut self, t: &TableRef, batches: &[RecordBatch]) -> Result<()> {
        if active(Fault::SKIP_FOREIGN_KEYS) {
            return Ok(());
        }
        t.def.foreign_keys.iter().try_for_each(|fk| self.check_rows(t, fk, batches))
    }

    /// Tests rows of a table against one of its foreign keys; batches have the stored columns in schema order.
    pub fn check_foreign_key(&mut self, t: &TableRef, name: &str, batches: &[RecordBatch]) -> Result<()> {
        match t.def.foreign_keys.iter().find(|fk| fk.name == name) {
            Some(fk) => self.check_rows(t, fk, batches),
            None => Err(Error::internal(format!("table {:?} has no foreign key \"{name}\"", t.def.name))),
        }
    }

    fn check_rows(&mut self, t: &TableRef, fk: &ForeignKey, batches: &[RecordBatch]) -> Result<()> {
        let (schema, codec) = projected(t, &fk.columns);
        let columns: Vec<usize> = (0..fk.columns.len()).collect();
        let mut points = Points::new();
        for batch in batches {
            let batch = batch.project(&fk.columns).map_err(|error| Error::internal(format!("rows: {error}")))?;
            for row in codec.encode_columns(batch.columns()).iter() {
                if let Some(point) = tested_point(t, fk, (&codec, &schema, &columns), row)? {
                    points.insert(point.bytes, point.values);
                }
            }
        }
        self.require_parents(t, fk, points)
    }
}

/// How rows with the referenced values are found.
fn way_to(txn: &Transaction, parent: &TableRef, fk: &ForeignKey) -> Result<Way> {
    if same_columns(&parent.def.schema.key, &fk.parent_columns) {
        return Ok(Way::Key);
    }
    let indexes = parent.indexes();
    let fits = |index: &&Arc<Index>| {
        is_key(index) && same_columns(index.columns(), &fk.parent_columns) && !OwnDdl::drops(&txn.ddl, index.id())
    };
    let index = indexes.iter().map(|index| &index.index).find(fits).cloned();
    index
        .map(Way::Index)
        .ok_or_else(|| Error::internal(format!("foreign key \"{}\" refers to columns that are not unique", fk.name)))
}

fn key_of(parent: &TableRef, fk: &ForeignKey, values: &[Value]) -> Option<Vec<u8>> {
    let schema = &parent.def.schema;
    let values = in_order_of(&schema.key, fk, values);
    assert_eq!(values.len(), schema.key.len(), "a row is looked up by its whole key");
    let types = schema.key.iter().map(|&column| schema.columns[column].data_type);
    if !types.zip(&values).all(|(data_type, value)| fits(data_type, value)) {
        return None;
    }
    let keys: &KeyCodec = &parent.keys;
    Some(keys.encode(values.iter().map(Value::as_ref)))
}

fn index_value(parent: &TableRef, fk: &ForeignKey, index: &Index, values: &[Value]) -> Option<Vec<u8>> {
    let values = in_order_of(index.columns(), fk, values);
    assert_eq!(values.len(), index.columns().len(), "a row is looked up by all columns of a unique index");
    let types = index.columns().iter().map(|&column| parent.def.schema.columns[column].data_type);
    if !types.zip(&values).all(|(data_type, value)| fits(data_type, value)) {
        return None;
    }
    index.prefix(&values)
}

fn is_at(parent: &TableRef, fk: &ForeignKey, row: &[u8], point: &[u8]) -> bool {
    point_of(&parent.codec, &parent.def.schema, &fk.parent_columns, row).is_some_and(|other| other.bytes == point)
}

/// The schema and the codec of some columns of a table, in this order.
pub(super) fn projected(t: &TableRef, columns: &[usize]) -> (Schema, RowCodec) {
    let columns = columns.iter().map(|&column| t.def.schema.columns[column].clone()).collect();
    let schema = Schema {
        columns,
        key: Vec::new(),
        hidden_row_id: false,
        version: t.def.schema.version,
        evolution: Evolution::default(),
    };
    let codec = RowCodec::new(&schema);
    (schema, codec)
}

/// Rows of a scan.
const BATCH_ROWS: usize = 4096;

/// Calls `visit` with some columns of the rows that a view shows, until it returns false.
pub(super) fn each_row(
    t: &TableRef,
    view: ReadView,
    columns: &[usize],
    predicates: Vec<weft_format::Predicate>,
    codec: &RowCodec,
    mut visit: impl FnMut(&[u8]) -> Result<bool>,
) -> Result<()> {
    let request =
        ScanRequest { view, projection: columns.to_vec(), predicates, partition_count: 1, batch_rows: BATCH_ROWS };
    for partition in &mut t.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            for row in codec.encode_columns(batch.columns()).iter() {
                if !visit(row)? {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Whether a table has values that are unique in these columns: the key or an index.
pub(super) fn is_unique(parent: &TableRef, columns: &[usize], without: &BTreeSet<weft_format::TableId>) -> bool {
    (!parent.def.schema.hidden_row_id && same_columns(&parent.def.schema.key, columns))
        || parent
            .indexes()
            .iter()
            .map(|index| &index.index)
            .any(|index| is_key(index) && !without.contains(&index.id()) && same_columns(index.columns(), columns))
}

/// Whether no two rows of the table have the same values in an index: not when it has only some of them.
fn is_key(index: &Index) -> bool {
    index.is_unique() && !index.is_partial()
}

/// Whether values of two types can be compared by foreign keys.
pub(super) fn is_comparable(a: weft_format::DataType, b: weft_format::DataType) -> bool {
    common(a) == common(b)
}
