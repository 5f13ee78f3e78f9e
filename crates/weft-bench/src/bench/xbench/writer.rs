//! The writes of the mix, one after the other, and the keys and the sum that they leave.
//!
//! ```text
//!   keys low..next: 0..1,000,000      Insert → next      Update → any      Upsert → any, or next      Delete → low
//! ```
//!
//! 1. Keys are without gaps: a table has `next - low` rows.
//! 2. `low` rises before its row is deleted and `next` after its row was inserted: keys between them are there, but for
//!    the ones that are being deleted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft::{Error, Prepared, Session, Value};

use super::statements;
use super::table::Shape;
use crate::bench::data;
use crate::bench::numbers::Numbers;

/// One kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// SQL1 with a new key.
    Insert,
    /// SQL2 of a random row.
    Update,
    /// SQL1 with ON CONFLICT DO UPDATE: half of the keys are new.
    Upsert,
    /// The same; no key is new.
    Replace,
    /// The row with the lowest key.
    Delete,
}

impl Write {
    /// Those that `--writes` may name.
    pub(super) const NAMED: [Write; 3] = [Write::Insert, Write::Update, Write::Upsert];

    /// How results are named.
    pub(super) fn name(self) -> &'static str {
        match self {
            Write::Insert => "insert",
            Write::Update => "update",
            Write::Upsert | Write::Replace => "upsert",
            Write::Delete => "delete",
        }
    }
}

/// The keys that the table has.
pub(super) struct Keys {
    low: AtomicU64,
    next: AtomicU64,
}

impl Keys {
    /// The lowest key, and the one after the highest.
    pub(super) fn bounds(&self) -> (u64, u64) {
        (self.low.load(Ordering::Acquire), self.next.load(Ordering::Acquire))
    }
}

/// Makes writes.
pub(super) struct Writer {
    pub(super) keys: Arc<Keys>,
    /// The sum of col_1 that the table has after the writes so far.
    pub(super) sum: i64,
    /// col_1 of each row, from the lowest key on, and that key: four bytes a row, as the process's memory is measured.
    values: VecDeque<i32>,
    first_key: u64,
    numbers: Numbers,
    written: u64,
    shape: Shape,
    update_columns: u64,
    insert: Arc<Prepared>,
    update: Arc<Prepared>,
    upsert: Arc<Prepared>,
    delete: Arc<Prepared>,
}

impl Writer {
    /// Writes to a table that has the rows `0..rows`.
    pub(super) fn new(session: &mut Session, shape: Shape, rows: u64, update_columns: u64) -> Result<Writer, Error> {
        Ok(Writer {
            keys: Arc::new(Keys { low: AtomicU64::new(0), next: AtomicU64::new(rows) }),
            sum: (0..rows).map(|row| data::integer(row, 1)).sum(),
            values: (0..rows).map(|row| data::integer(row, 1) as i32).collect(),
            first_key: 0,
            numbers: Numbers::new(1),
            written: 0,
            shape,
            update_columns,
            insert: session.prepare(&statements::insert())?,
            update: session.prepare(&statements::update(update_columns))?,
            upsert: session.prepare(&statements::upsert())?,
            delete: session.prepare(statements::DELETE)?,
        })
    }

    /// The next write, which must be run and then told to [`Writer::done`].
    pub(super) fn next(&mut self, write: Write) -> (Arc<Prepared>, Vec<Value>, Change) {
        let (low, next) = self.keys.bounds();
        self.written += 1;
        let of = self.written;
        let any = low + self.numbers.below(next - low);
        let new = |value| Change { key: next, value: Some(value), is_new: true };
        let old = |value| Change { key: any, value: Some(value), is_new: false };
        match write {
            Write::Insert => {
                let change = new(data::integer(next, 1));
                (Arc::clone(&self.insert), self.shape.row(next, next), change)
            }
            Write::Update => {
                let values = (1..=self.update_columns).map(|column| self.shape.value(of, column));
                let params = values.chain([Value::Int(any as i64)]).collect();
                (Arc::clone(&self.update), params, old(data::integer(of, 1)))
            }
            Write::Upsert | Write::Replace => {
                let value = data::integer(of, 1);
                let change = if write == Write::Upsert && of.is_multiple_of(2) { new(value) } else { old(value) };
                (Arc::clone(&self.upsert), self.shape.row(change.key, of), change)
            }
            Write::Delete => {
                self.keys.low.store(low + 1, Ordering::Release);
                let change = Change { key: low, value: None, is_new: false };
                (Arc::clone(&self.delete), vec![Value::Int(low as i64)], change)
            }
        }
    }

    /// Notes that a write has committed.
    pub(super) fn done(&mut self, change: Change) {
        let Change { key, value, is_new } = change;
        let after = value.unwrap_or(0);
        if value.is_none() {
            assert_eq!(key, self.first_key, "the lowest row goes");
            let before = self.values.pop_front().expect("an insert comes before each delete");
            self.first_key += 1;
            self.sum -= i64::from(before);
        } else if is_new {
            self.values.push_back(after as i32);
            self.sum += after;
            self.keys.next.store(key + 1, Ordering::Release);
        } else {
            let before = std::mem::replace(&mut self.values[(key - self.first_key) as usize], after as i32);
            self.sum += after - i64::from(before);
        }
    }
}

/// What a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    key: u64,
    /// The new value of col_1; none when the row goes.
    value: Option<i64>,
    is_new: bool,
}
