//! One transaction of a client: every change goes to the database and into the list of effects.

use std::sync::Arc;

use weft_format::{Code, Error, Result, Value, ValueRef};
use weft_kernel::{Durability, Engine, Mark, NewTable, TableRef, Transaction};

use crate::arrays::batch_of;
use crate::history::History;
use crate::model::{Effect, Effects, Row, State, show};
use crate::placed::{Placed, places_of};
use crate::random::Random;
use crate::scan::scan;
use crate::tables::{LEDGER, MEMBERS, static_name};

/// A transaction under way.
pub(crate) struct Work<'a> {
    pub(crate) txn: Transaction,
    pub(crate) tid: u64,
    history: &'a History,
    effects: Effects,
    durability: Durability,
    /// Whether rows were added in bulk, which only scans show before the commit.
    built: bool,
    /// Whether the engine had said before that it takes no more writes.
    after_poison: bool,
}

/// A point to which a statement is rolled back.
pub(crate) struct Savepoint(Mark, Effects);

impl<'a> Work<'a> {
    /// Begins.
    pub(crate) fn begin(engine: &Arc<Engine>, history: &'a History, durability: Durability) -> Result<Work<'a>> {
        let mut txn = engine.begin()?;
        txn.set_durability(durability);
        let after_poison = history.is_poisoned();
        Ok(Work {
            txn,
            after_poison,
            tid: history.next_tid(),
            history,
            effects: Effects::new(),
            durability,
            built: false,
        })
    }

    pub(crate) fn table(&self, name: &str) -> Result<TableRef> {
        self.txn.table(name)
    }

    /// The row of a key; own writes are checked against the effects.
    pub(crate) fn read(&self, t: &TableRef, key: &[u8]) -> Result<Option<Row>> {
        let row = self.txn.get_row(t, key)?;
        if let Some(effect) = self.effects.get(&place(t, key)) {
            assert_eq!(
                show(row.as_ref()),
                show(effect.after.as_ref()),
                "violation: transaction {} does not read its own write of {}",
                self.tid,
                t.def.name
            );
        }
        Ok(row)
    }

    pub(crate) fn read_values(&self, t: &TableRef, key: &[Value]) -> Result<Option<Vec<Value>>> {
        Ok(self.read(t, &key_of(t, key))?.map(|row| t.codec.decode(&row)))
    }

    pub(crate) fn insert(&mut self, t: &TableRef, values: &[Value]) -> Result<()> {
        let row = row_of(t, values);
        let key = t.keys.of_row(&t.codec, &row);
        self.txn.insert(t, &row)?;
        self.note(t, key, None, Some(row));
        Ok(())
    }

    /// Replaces a row that the transaction sees, whose key may change.
    pub(crate) fn update(&mut self, t: &TableRef, key: &[u8], before: &Row, values: &[Value]) -> Result<()> {
        let row = row_of(t, values);
        let new_key = t.keys.of_row(&t.codec, &row);
        self.txn.update(t, key, &row)?;
        if new_key == key {
            self.note(t, new_key, Some(before.clone()), Some(row));
        } else {
            self.note(t, key.to_vec(), Some(before.clone()), None);
            self.note(t, new_key, None, Some(row));
        }
        Ok(())
    }

    /// Gives a key a row, or none, without saying which row it had: `before` is what the transaction has read.
    pub(crate) fn put(&mut self, t: &TableRef, before: Option<Row>, values: &[Value], stays: bool) -> Result<()> {
        let row = row_of(t, values);
        let key = t.keys.of_row(&t.codec, &row);
        self.txn.put(t, &key, &row)?;
        if !stays {
            let deleted = self.txn.delete(t, &key)?;
            assert!(deleted, "violation: transaction {} does not see the row of {} that it put", self.tid, t.def.name);
        }
        self.note(t, key, before, stays.then_some(row));
        Ok(())
    }

    /// Deletes a row that the transaction sees.
    pub(crate) fn delete(&mut self, t: &TableRef, key: &[u8], before: &Row) -> Result<()> {
        let deleted = self.txn.delete(t, key)?;
        assert!(deleted, "violation: transaction {} sees a row of {} and cannot delete it", self.tid, t.def.name);
        self.note(t, key.to_vec(), Some(before.clone()), None);
        Ok(())
    }

    /// Adds rows in bulk.
    pub(crate) fn build(&mut self, t: &TableRef, rows: &[Vec<Value>], batch_rows: usize) -> Result<()> {
        let batches: Vec<_> = rows.chunks(batch_rows).map(|rows| batch_of(&t.def.schema, rows)).collect();
        let count = self.txn.build(t, &batches)?;
        self.built = true;
        assert_eq!(count, rows.len() as u64, "violation: a bulk statement counts its rows");
        for values in rows {
            let row = row_of(t, values);
            let key = t.keys.of_row(&t.codec, &row);
            self.note(t, key, None, Some(row));
        }
        Ok(())
    }

    /// Notes that a row was replaced.
    pub(crate) fn replaced(&mut self, t: &TableRef, before: &Placed, values: &[Value]) {
        self.note(t, before.key.clone(), Some(before.row.clone()), Some(row_of(t, values)));
    }

    pub(crate) fn create_table(&mut self, new: NewTable) -> Result<TableRef> {
        let name = static_name(&new.name).expect("the workload's tables have known names");
        let table = self.txn.create_table(new)?;
        self.effects.insert(("", name.into()), Effect { before: None, after: Some([].into()) });
        Ok(table)
    }

    /// Drops a table that no other client writes to.
    pub(crate) fn drop_table(&mut self, t: &TableRef, random: &mut Random) -> Result<()> {
        let name = static_name(&t.def.name).expect("the workload's tables have known names");
        let rows = scan(&self.txn, t, random)?;
        self.txn.drop_table(name)?;
        for (key, row) in rows {
            self.note(t, key, Some(row), None);
        }
        self.effects.insert(("", name.into()), Effect { before: Some([].into()), after: None });
        Ok(())
    }

    pub(crate) fn savepoint(&self) -> Savepoint {
        Savepoint(self.txn.mark(), self.effects.clone())
    }

    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) {
        self.txn.rollback_to(savepoint.0);
        self.effects = savepoint.1;
    }

    /// A whole scan shows every own write, and each of its rows as point reads do.
    pub(crate) fn check_own_scan(&self, t: &TableRef, random: &mut Random) -> Result<()> {
        let rows = scan(&self.txn, t, random)?;
        let name = static_name(&t.def.name).expect("the workload's tables have known names");
        for ((_, key), effect) in self.effects.iter().filter(|(place, _)| place.0 == name) {
            let tid = self.tid;
            let (found, expected) = (show(rows.get(key)), show(effect.after.as_ref()));
            assert_eq!(found, expected, "violation: a scan of {name} by transaction {tid} does not show its own write");
        }
        if !self.built {
            crate::scan::check_reads(&self.txn, t, &rows, random)?;
        }
        Ok(())
    }

    /// Inserts the ledger row and commits.
    pub(crate) fn commit(mut self, client: usize) -> Result<()> {
        let ledger = self.table(LEDGER)?;
        let changes = self.effects.len() as i64;
        self.insert(&ledger, &[Value::Int(self.tid as i64), Value::Int(client as i64), Value::Int(changes)])?;
        self.effects.retain(|_, effect| effect.before != effect.after);
        self.history.committing(self.tid, self.effects, self.durability);
        let read_ts = self.txn.read_ts().0;
        match self.txn.commit() {
            Ok(ts) => {
                assert!(!self.after_poison, "violation: a commit at {ts} after the engine said that it takes no more");
                assert!(ts.0 > read_ts, "violation: a commit at {ts} with a snapshot at {read_ts}");
                self.history.acknowledged(self.tid, ts.0);
                Ok(())
            }
            Err(error) => {
                // Only a stopped engine leaves it open whether the commit is there.
                if error.code() != Code::Poisoned {
                    self.history.failed(self.tid);
                }
                Err(error)
            }
        }
    }

    /// Rolls back, by word or by letting go.
    pub(crate) fn rollback(self, random: &mut Random) {
        self.history.count(|counts| counts.rolled_back += 1);
        if random.chance(50) {
            self.txn.rollback();
        }
    }

    /// Notes what became of a row, or of those of its columns that have changed.
    pub(crate) fn note(&mut self, t: &TableRef, key: Vec<u8>, before: Option<Row>, after: Option<Row>) {
        if t.def.name != MEMBERS {
            self.effects.entry(place(t, &key)).or_insert(Effect { before, after: None }).after = after;
            return;
        }
        let places = |row: Option<Row>| {
            row.map_or_else(State::new, |row| places_of(MEMBERS, t, &key, &row).into_iter().collect())
        };
        let (before, mut after) = (places(before), places(after));
        for (place, value) in before {
            let now = after.remove(&place);
            if now.as_ref() != Some(&value) {
                self.effects.entry(place).or_insert(Effect { before: Some(value), after: None }).after = now;
            }
        }
        for (place, value) in after {
            self.effects.entry(place).or_insert(Effect { before: None, after: None }).after = Some(value);
        }
    }
}

fn place(t: &TableRef, key: &[u8]) -> (&'static str, Vec<u8>) {
    (static_name(&t.def.name).expect("the workload's tables have known names"), key.to_vec())
}

pub(crate) fn key_of(t: &TableRef, key: &[Value]) -> Vec<u8> {
    t.keys.encode(key.iter().map(Value::as_ref))
}

fn row_of(t: &TableRef, values: &[Value]) -> Row {
    t.codec.encode(values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>()).into()
}

/// Whether a client may meet this error in a run without injected faults: another transaction won, or a limit.
pub(crate) fn is_expected(error: &Error) -> bool {
    let expected = [
        Code::SerializationFailure,
        Code::DeadlockDetected,
        Code::LockTimeout,
        Code::UniqueViolation,
        Code::OutOfMemory,
    ];
    expected.contains(&error.code())
}
