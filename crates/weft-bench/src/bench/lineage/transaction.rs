//! The short transactions: reads and writes of single rows, READ COMMITTED, each statement on a snapshot of its own.
//!
//! ```text
//!   8 reads    4 columns of a row                       2 writes    4 of the 9 columns of a row that are no key: 40 %
//! ```

use weft::{Code, Value};
use weft_kernel::{ColumnSet, IsolationLevel, LockMode, Transaction};

use super::contender::{COLUMNS, Contender};
use crate::bench::numbers::Numbers;
use crate::subcommand::Failure;

/// Columns that a write sets, of [`COLUMNS`].
const SET_COLUMNS: usize = 4;

/// Statements of a transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) reads: u64,
    pub(super) writes: u64,
    /// Columns that a read fetches.
    pub(super) read_columns: usize,
}

impl Mix {
    /// The paper's: 8 reads, 2 writes.
    pub(super) const PAPER: Mix = Mix { reads: 8, writes: 2, read_columns: 4 };
}

/// Who runs transactions, one after the other.
pub(super) struct Client<'a> {
    contender: &'a Contender,
    mix: Mix,
    /// Rows that are touched.
    active: u64,
    numbers: Numbers,
    values: Vec<Value>,
}

impl Client<'_> {
    /// A client; another number is another sequence.
    pub(super) fn new(contender: &Contender, mix: Mix, active: u64, number: u64) -> Client<'_> {
        Client { contender, mix, active, numbers: Numbers::new(number), values: Vec::new() }
    }

    /// Runs a transaction.
    pub(super) fn run(&mut self) -> Result<(), Failure> {
        let _inside = self.contender.enter();
        let mut txn = self.contender.engine.begin_at(IsolationLevel::ReadCommitted)?;
        // Writes come in the order of keys: nobody waits in a circle.
        let mut writes: Vec<u64> = (0..self.mix.writes).map(|_| self.numbers.below(self.active)).collect();
        writes.sort_unstable();
        for statement in 0..self.mix.reads {
            if statement > 0 {
                txn.refresh_snapshot()?;
            }
            self.read(&txn)?;
        }
        for k in writes {
            txn.refresh_snapshot()?;
            self.write(&mut txn, k)?;
        }
        txn.commit()?;
        Ok(())
    }

    fn key(&self, k: u64) -> Vec<u8> {
        self.contender.table.keys.encode([weft::ValueRef::Int(k as i64)])
    }

    /// Some columns beside the key.
    fn columns(&mut self, count: usize) -> Vec<usize> {
        let first = self.numbers.below(COLUMNS as u64 - 1) as usize;
        (0..count.min(COLUMNS - 1)).map(|at| 1 + (first + at) % (COLUMNS - 1)).collect()
    }

    fn read(&mut self, txn: &Transaction) -> Result<(), Failure> {
        let k = self.numbers.below(self.active);
        let mut columns = self.columns(self.mix.read_columns);
        if self.mix.read_columns == COLUMNS {
            columns.push(0);
        }
        let mut values = std::mem::take(&mut self.values);
        let found = txn.get(&self.contender.table, &self.key(k), &columns, &mut values)?;
        assert!(found && values.len() == columns.len(), "no row is ever deleted");
        self.values = values;
        Ok(())
    }

    fn write(&mut self, txn: &mut Transaction, k: u64) -> Result<(), Failure> {
        let (table, key) = (&self.contender.table, self.key(k));
        let columns = self.columns(SET_COLUMNS);
        let mut writes = ColumnSet::NONE;
        columns.iter().for_each(|&column| writes.insert(column));
        let mode = LockMode::columns(ColumnSet::NONE, writes);
        let row = loop {
            match txn.lock_row(table, &key, mode, txn.lock_wait()) {
                // Another was first; its row is read now, and the lock stays.
                Err(error) if error.code() == Code::SerializationFailure => txn.refresh_snapshot()?,
                found => break found?,
            }
        };
        let mut values = table.codec.decode(&row.expect("no row is ever deleted"));
        for column in columns {
            values[column] = Value::Int(self.numbers.below(1 << 40) as i64);
        }
        txn.update_columns(table, &key, &table.codec.encode(values.iter().map(Value::as_ref)), mode)?;
        Ok(())
    }
}
