//! Staging: which lock, which conflict, what is written down.
//!
//! ```text
//!   under the key's lock, n = table.newest(key), s = the snapshot
//!   insert   n alive             → unique violation; n newer than s, in a transaction block → serialization failure
//!   update   n none, or newer    → serialization failure (the row that the snapshot shows is gone)
//!   delete   nothing seen at s   → false;  n none, or newer → serialization failure
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use weft_format::row::RowCodec;
use weft_format::{Code, Error, Result, Value, ValueRef};

use super::journal::Journal;
use super::transaction::{LastRead, Transaction};
use crate::catalog::TableRef;
use crate::lock::{LockMode, LockName, LockRequest};
use crate::table::{Newest, Staged};

/// Staged bytes are charged in steps of this.
const CHARGE_BYTES: u64 = 64 << 10;

impl Transaction {
    /// Inserts a row (row codec). A key that exists is [`Code::UniqueViolation`], naming table and key.
    pub fn insert(&mut self, t: &TableRef, row: &[u8]) -> Result<()> {
        let key = t.keys.of_row(&t.codec, row);
        self.insert_at(t, &key, row.into())
    }

    /// Inserts many rows, one by one in order: one array per stored column, in exactly the Arrow type of its column.
    /// The first key that exists is the error; the rows before it stay staged, as after any failed statement, until the
    /// caller rolls back to its mark.
    pub fn insert_batch(&mut self, t: &TableRef, columns: &[ArrayRef]) -> Result<()> {
        let rows = t.codec.encode_columns(columns);
        let mut key = Vec::new();
        for row in rows.iter() {
            t.keys.put_row(&t.codec, row, &mut key);
            self.insert_at(t, &key, row.into())?;
        }
        Ok(())
    }

    fn insert_at(&mut self, t: &TableRef, key: &[u8], row: Arc<[u8]>) -> Result<()> {
        let staged = match self.own_row(t, key)? {
            Some(Staged { row: Some(_), .. }) => return Err(duplicate_key(t, key)),
            // Deleted before by this transaction, and locked since: what differs from the base is not known here.
            Some(Staged { base, .. }) => Staged { base: *base, row: Some(row), columns: all_columns(&t.codec) },
            None => {
                self.lock_key(t, key)?;
                match t.table.newest(key)? {
                    Some(newest) if newest.insert_ts > self.read_ts && !self.autocommit => {
                        return Err(changed_meanwhile(t, key));
                    }
                    Some(_) => return Err(duplicate_key(t, key)),
                    None => Staged { base: None, row: Some(row), columns: Vec::new() },
                }
            }
        };
        self.stage(t, key, staged)
    }

    /// Replaces the row of `key` by a whole new row, whose key may be another one.
    pub fn update(&mut self, t: &TableRef, key: &[u8], row: &[u8]) -> Result<()> {
        let new_key = t.keys.of_row(&t.codec, row);
        if new_key != key {
            if !self.delete(t, key)? {
                return Err(gone(t, key));
            }
            return self.insert_at(t, &new_key, row.into());
        }
        let staged = match self.own_row(t, key)? {
            Some(Staged { row: None, .. }) => return Err(gone(t, key)),
            Some(Staged { base: None, .. }) => Staged { base: None, row: Some(row.into()), columns: Vec::new() },
            Some(Staged { base, row: Some(before), columns }) => {
                let columns = merge(columns, &changed_columns(&t.codec, before, row));
                Staged { base: *base, row: Some(row.into()), columns }
            }
            None => {
                let (newest, before) = self.locked_row(t, key)?.ok_or_else(|| changed_meanwhile(t, key))?;
                let columns = changed_columns(&t.codec, &before, row);
                Staged { base: Some((newest.insert_ts, newest.location)), row: Some(row.into()), columns }
            }
        };
        self.stage(t, key, staged)
    }

    /// Inserts a row, or replaces the row that its key has without reading it: all columns but the key's count as
    /// changed. `key` is the row's own. True when a row was replaced.
    pub fn upsert(&mut self, t: &TableRef, key: &[u8], row: &[u8]) -> Result<bool> {
        let columns = t.def.schema.columns_beside_key();
        let staged = match self.own_row(t, key)? {
            Some(Staged { row: None, .. }) => None,
            Some(Staged { base: None, .. }) => Some(Staged { base: None, row: Some(row.into()), columns: Vec::new() }),
            Some(Staged { base, columns: before, .. }) => {
                Some(Staged { base: *base, row: Some(row.into()), columns: merge(before, &columns) })
            }
            None => self.locked_version(t, key)?.map(|newest| {
                let base = Some((newest.insert_ts, newest.location));
                Staged { base, row: Some(row.into()), columns }
            }),
        };
        match staged {
            Some(staged) => self.stage(t, key, staged).map(|()| true),
            None => self.insert_at(t, key, row.into()).map(|()| false),
        }
    }

    /// Deletes the row of `key`; false when the transaction sees none.
    pub fn delete(&mut self, t: &TableRef, key: &[u8]) -> Result<bool> {
        let base = match self.own_row(t, key)? {
            Some(Staged { row: None, .. }) => return Ok(false),
            Some(Staged { base, .. }) => *base,
            None => match self.locked_version(t, key)? {
                Some(newest) => Some((newest.insert_ts, newest.location)),
                None => return Ok(false),
            },
        };
        self.stage(t, key, Staged { base, row: None, columns: Vec::new() })?;
        Ok(true)
    }

    /// Locks a key and reads its row; none when the transaction sees none. A row that changed since the snapshot is
    /// [`Code::SerializationFailure`].
    pub fn get_for_update(&mut self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        if let Some(staged) = self.own_row(t, key)? {
            return Ok(staged.row.clone());
        }
        let Some((newest, row)) = self.locked_row(t, key)? else { return Ok(None) };
        self.last_read = Some(LastRead { table: t.def.id, key: key.into(), newest, row: row.clone() });
        Ok(Some(row))
    }

    /// Adds many rows at once as files of their own; the table is locked against other writers until the end. Batches
    /// have the stored columns in schema order. Returns the number of rows.
    pub fn build(&mut self, t: &TableRef, batches: &[RecordBatch]) -> Result<u64> {
        self.core().check_writable()?;
        self.lock_table(t, LockMode::Exclusive)?;
        if self.journal.find(t.def.id).is_some_and(|state| !state.writes.is_empty()) {
            // Rows of this transaction are invisible to the method's check of the keys.
            let message = format!("table {:?} has uncommitted changes of this transaction", t.def.name);
            let error = Error::new(Code::FeatureNotSupported, message).about(&t.def.name, None, None);
            return Err(error.hint("run the bulk statement first, or insert row by row"));
        }
        let attachment = t.table.build(batches)?;
        let rows = attachment.rows;
        self.journal.attach(t, attachment);
        Ok(rows)
    }

    /// Whether [`Transaction::build`] can be used: the transaction has not written to the table yet.
    pub fn can_build(&self, t: &TableRef) -> bool {
        self.journal.find(t.def.id).is_none_or(|state| state.writes.is_empty())
    }

    /// The locked row of a key as the snapshot shows it.
    fn locked_row(&mut self, t: &TableRef, key: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        if let Some(last) = self.last_read.take()
            && last.table == t.def.id
            && *last.key == *key
        {
            return Ok(Some((last.newest, last.row)));
        }
        let Some(newest) = self.locked_version(t, key)? else { return Ok(None) };
        let row = t.table.read_row(key, self.read_ts)?;
        let row =
            row.ok_or_else(|| Error::internal(format!("the row of {} is newest but unseen", describe(t, key))))?;
        Ok(Some((newest, row)))
    }

    /// Locks a key; its newest version when the snapshot shows that one, none when the snapshot shows nothing. Anything
    /// else is a conflict (txn 5).
    fn locked_version(&mut self, t: &TableRef, key: &[u8]) -> Result<Option<Newest>> {
        self.lock_key(t, key)?;
        let newest = t.table.newest(key)?;
        match newest {
            Some(newest) if newest.insert_ts <= self.read_ts => Ok(Some(newest)),
            _ if t.table.read(key, self.read_ts, &[], &mut Vec::new())? => Err(changed_meanwhile(t, key)),
            _ => Ok(None),
        }
    }

    fn lock_key(&mut self, t: &TableRef, key: &[u8]) -> Result<()> {
        self.core().check_writable()?;
        if !self.journal.state(t).locked {
            self.lock_table(t, LockMode::Shared)?;
        } else if !self.ddl.is_empty() {
            self.check_alive(t)?;
        }
        self.lock(LockName::key(t.def.id, key), LockMode::Exclusive, &|| describe(t, key))
    }

    fn lock_table(&mut self, t: &TableRef, mode: LockMode) -> Result<()> {
        self.lock(LockName::table(t.def.id), mode, &|| format!("table {:?}", t.def.name))?;
        self.check_alive(t)?;
        self.journal.state(t).locked = true;
        Ok(())
    }

    /// Takes a lock that lasts until the end.
    #[inline]
    pub(super) fn lock(&mut self, name: LockName, mode: LockMode, what: &dyn Fn() -> String) -> Result<()> {
        let core = &self.engine.core;
        let request = LockRequest {
            txn: self.id,
            mode,
            timeout: core.options.lock_timeout,
            cancel: self.cancel.as_ref(),
            clock: &*core.env.clock,
            what,
        };
        core.locks.acquire(name, &request, &mut self.locks)
    }

    fn stage(&mut self, t: &TableRef, key: &[u8], staged: Staged) -> Result<()> {
        self.journal.stage(t, key, staged);
        self.charge(CHARGE_BYTES)
    }

    /// Charges staged bytes to the row budget once `step_bytes` have come together, and waits when memory is short.
    pub(super) fn charge(&mut self, step_bytes: u64) -> Result<()> {
        let Journal { staged_bytes, .. } = self.journal;
        let new_bytes = staged_bytes - self.charged_bytes;
        if new_bytes < step_bytes {
            return Ok(());
        }
        let core = &self.engine.core;
        core.services.row_budget.charge(new_bytes);
        self.charged_bytes = staged_bytes;
        core.admit(staged_bytes)
    }
}

/// Ordinals of the columns whose stored values differ.
fn changed_columns(codec: &RowCodec, before: &[u8], after: &[u8]) -> Vec<usize> {
    (0..codec.column_count()).filter(|&column| !same(codec.get(before, column), codec.get(after, column))).collect()
}

/// Equal as stored: -0.0 is not 0.0, and a NaN is itself.
fn same(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    match (a, b) {
        (ValueRef::Float(a), ValueRef::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}

fn all_columns(codec: &RowCodec) -> Vec<usize> {
    (0..codec.column_count()).collect()
}

fn merge(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut merged: Vec<usize> = a.iter().chain(b).copied().collect();
    merged.sort_unstable();
    merged.dedup();
    merged
}

/// `key (7, 'a') of table "t"`
fn describe(t: &TableRef, key: &[u8]) -> String {
    let values = match t.keys.decode(key) {
        Ok(values) => values.iter().map(text_of).collect::<Vec<_>>().join(", "),
        Err(_) => format!("{key:02x?}"),
    };
    format!("key ({values}) of table {:?}", t.def.name)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Decimal(v) => v.to_string(),
        Value::Text(v) => format!("'{v}'"),
    }
}

fn duplicate_key(t: &TableRef, key: &[u8]) -> Error {
    let constraint = t.def.primary_key.as_deref();
    Error::new(Code::UniqueViolation, format!("{} exists already", describe(t, key))).about(
        &t.def.name,
        None,
        constraint,
    )
}

fn changed_meanwhile(t: &TableRef, key: &[u8]) -> Error {
    let message = format!("{} was changed by a concurrent transaction", describe(t, key));
    Error::new(Code::SerializationFailure, message)
        .about(&t.def.name, None, None)
        .hint("roll back and run the transaction again")
}

fn gone(t: &TableRef, key: &[u8]) -> Error {
    let message = format!("{} was deleted before by this transaction", describe(t, key));
    Error::new(Code::CardinalityViolation, message).about(&t.def.name, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_format::{Column, DataType, Schema};

    #[test]
    fn changed_columns_are_found_bit_by_bit() {
        let types = [DataType::Integer, DataType::DoublePrecision, DataType::Text];
        let column = |(i, &data_type): (usize, &DataType)| Column { name: format!("c{i}"), data_type, not_null: false };
        let codec = RowCodec::new(&Schema::new(types.iter().enumerate().map(column).collect(), vec![0]));
        let row = |float: f64, text| codec.encode([ValueRef::Int(1), ValueRef::Float(float), text]);
        let before = row(0.0, ValueRef::Text("a"));
        assert_eq!(changed_columns(&codec, &before, &before), Vec::<usize>::new());
        assert_eq!(changed_columns(&codec, &before, &row(-0.0, ValueRef::Null)), vec![1, 2]);
        let same = row(f64::NAN, ValueRef::Null);
        assert_eq!(changed_columns(&codec, &same, &same.clone()), Vec::<usize>::new());
    }
}
