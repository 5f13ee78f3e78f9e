//! Large updates: rows replaced in bulk, by the places that a scan gives.

use weft_format::{Result, Value};
use weft_kernel::TableRef;
use weft_kernel::table::Location;

use crate::arrays::batch_of;
use crate::client::Client;
use crate::placed::{Placed, placed};
use crate::tables::{ACCOUNTS, EVENTS, PAIRS, balance_column, random_amount, random_note, random_rate};
use crate::work::Work;

impl Client {
    /// Changes many rows of a table at once; the transaction may change some of them again.
    pub(crate) fn large_update(&mut self, work: &mut Work<'_>) -> Result<()> {
        let name = self.random.pick(&[ACCOUNTS, PAIRS, EVENTS]);
        let table = work.table(name)?;
        let columns: Vec<usize> = match name {
            EVENTS => vec![0, 2],
            _ => vec![balance_column(name) + 1, balance_column(name) + 3, balance_column(name) + 4],
        };
        let percent = self.random.pick(&[5, 50, 100]);
        let mut rows = placed(&work.txn, &table, &mut self.random)?;
        rows.retain(|_| self.random.chance(percent));
        if self.random.chance(30) {
            self.pause();
        }
        if !work.txn.can_replace(&table, &columns)? {
            return Ok(());
        }
        let savepoint = self.random.chance(20).then(|| work.savepoint());
        let parts = 1 + self.random.below(3) as usize;
        for part in rows.chunks(rows.len().div_ceil(parts).max(1)) {
            let changed = part.iter().map(|placed| self.changed(name, table.codec.decode(&placed.row))).collect();
            work.replace(&table, &columns, part, changed)?;
        }
        if self.random.chance(30) {
            work.check_own_scan(&table, &mut self.random)?;
        }
        if let Some(savepoint) = savepoint {
            work.rollback_to(savepoint);
        }
        if self.random.chance(10) {
            // As ALTER TABLE does: the rows are staged one by one from here on.
            work.txn.lock_definition(&table)?;
        }
        Ok(())
    }

    /// The row as it will be.
    fn changed(&mut self, name: &str, mut values: Vec<Value>) -> Vec<Value> {
        let random = &mut self.random;
        if name == EVENTS {
            values[0] = random_note(random);
            values[2] = Value::Int(random.below(1 << 40) as i64);
            return values;
        }
        let balance = balance_column(name);
        if let Value::Int(version) = &mut values[balance + 1] {
            *version += 1;
        }
        values[balance + 3] = random_note(random);
        values[balance + 4] = if name == ACCOUNTS { random_rate(random) } else { random_amount(random) };
        values
    }
}

impl Work<'_> {
    /// Replaces rows that the transaction sees, whose keys stay.
    pub(crate) fn replace(
        &mut self,
        t: &TableRef,
        columns: &[usize],
        rows: &[Placed],
        changed: Vec<Vec<Value>>,
    ) -> Result<()> {
        let batches: Vec<_> = changed.chunks(50).map(|rows| batch_of(&t.def.schema, rows)).collect();
        let places: Vec<Option<Location>> = rows.iter().map(|row| row.place).collect();
        let count = self.txn.replace(t, columns, &batches, &places)?;
        assert_eq!(count, rows.len() as u64, "violation: a large update counts its rows");
        for (placed, values) in rows.iter().zip(&changed) {
            self.replaced(t, placed, values);
        }
        Ok(())
    }
}
