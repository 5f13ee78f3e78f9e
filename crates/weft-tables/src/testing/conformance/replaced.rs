//! Rows replaced in bulk, by their places, which jobs move between the scan and the installation.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{LOCATION, Location};
use weft_format::Value;
use weft_kernel::{TableRef, Transaction};

use super::{Suite, values_for};
use crate::column::rows_to_batch;
use crate::testing::scan_rows;

type Rows = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// A row as it will be, and where the old one was seen.
type Update = (Arc<[u8]>, Option<Location>);

impl Suite {
    /// A large update, changes of its rows one by one after it, and rollbacks to points before and after it.
    pub(super) fn replace(&mut self) {
        let (mut txn, table) = self.begin();
        if table.table.bulk_replace().is_none() {
            assert!(!txn.can_replace(&table, &[2]).expect("asks"), "rows are staged one by one then");
            return txn.rollback();
        }
        let state = self.model.rows(txn.read_ts());
        let updates = self.updates(&txn, &table);
        self.jobs();
        let columns: Vec<usize> =
            (0..table.def.schema.columns.len()).filter(|column| !table.def.schema.key.contains(column)).collect();
        assert!(txn.can_replace(&table, &columns).expect("asks"));
        let mut after = state.clone();
        let mark = txn.mark();
        let parts = 1 + self.random.below(3) as usize;
        for part in updates.chunks(updates.len().div_ceil(parts).max(1)) {
            self.replace_rows(&mut txn, &table, &columns, part);
        }
        for (row, _) in &updates {
            after.insert(table.keys.of_row(&table.codec, row), row.clone());
        }
        self.look_at(&table, txn.view(&table).expect("it is kept"), &after);
        let replaced = txn.mark();
        self.change_some(&mut txn, &table, &mut after.clone());
        match self.random.below(4) {
            0 => txn.rollback_to(replaced),
            1 => {
                txn.rollback_to(mark);
                after = state.clone();
            }
            2 => {
                txn.rollback_to(replaced);
                // As before DDL: the rows are staged one by one from here on.
                txn.lock_definition(&table).expect("locks");
                self.look_at(&table, txn.view(&table).expect("it is kept"), &after);
                if self.random.below(2) == 0 {
                    txn.rollback_to(replaced);
                    self.look_at(&table, txn.view(&table).expect("it is kept"), &after);
                }
            }
            _ => txn.rollback_to(replaced),
        }
        self.change_some(&mut txn, &table, &mut after);
        self.look_at(&table, txn.view(&table).expect("it is kept"), &after);
        self.jobs();
        if self.random.below(6) == 0 {
            return txn.rollback();
        }
        let ts = txn.commit().expect("commits");
        for key in state.keys().chain(after.keys()) {
            if state.get(key) != after.get(key) {
                self.model.set(ts, key, after.get(key).cloned());
            }
        }
    }

    fn jobs(&mut self) {
        match self.random.below(5) {
            0 => self.engine.freeze().expect("freezes"),
            1 => {
                self.engine.run_one_job().expect("a job runs");
            }
            2 => {
                self.engine.freeze().expect("freezes");
                self.engine.run_jobs().expect("jobs run");
            }
            _ => {}
        }
    }

    /// New rows for some that a scan shows.
    fn updates(&mut self, txn: &Transaction, table: &TableRef) -> Vec<Update> {
        let schema = &table.def.schema;
        let mut projection: Vec<usize> = (0..schema.columns.len()).collect();
        projection.push(LOCATION);
        let rows = scan_rows(table, txn.view(table).expect("it is kept"), &projection, &[], 2, 100).expect("scans");
        let share = 1 + self.random.below(4);
        let mut updates = Vec::new();
        for mut row in rows {
            if self.random.below(share) > 0 {
                continue;
            }
            let place = match row.pop() {
                Some(Value::Int(number)) => Location::of_number(number),
                _ => None,
            };
            let mut values = values_for(schema, self.random.below(100), &mut self.random);
            schema.key.iter().for_each(|&column| values[column] = row[column].clone());
            updates.push((table.codec.encode(values.iter().map(Value::as_ref)).into(), place));
        }
        updates
    }

    fn replace_rows(&mut self, txn: &mut Transaction, table: &TableRef, columns: &[usize], updates: &[Update]) {
        let rows = |updates: &[Update]| {
            let rows = updates.iter().map(|(row, _)| &**row).collect::<Vec<_>>();
            rows_to_batch(&table.def.schema, &table.codec, rows.into_iter()).expect("fits")
        };
        let batches: Vec<_> = updates.chunks(29).map(rows).collect();
        let places: Vec<Option<Location>> = updates.iter().map(|(_, place)| *place).collect();
        let count = txn.replace(table, columns, &batches, &places).expect("replaces");
        assert_eq!(count, updates.len() as u64);
    }

    /// Updates, deletes and inserts rows one by one.
    fn change_some(&mut self, txn: &mut Transaction, table: &TableRef, state: &mut Rows) {
        for _ in 0..self.random.below(12) {
            let k = self.random.below(self.options.keys);
            let values = values_for(&table.def.schema, k, &mut self.random);
            let row: Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
            let key = table.keys.of_row(&table.codec, &row);
            let visible = || table.def.schema.visible().map(|(ordinal, _)| ordinal);
            let values = |row: &Arc<[u8]>| -> Vec<Value> {
                visible().map(|ordinal| table.codec.get(row, ordinal).to_value()).collect()
            };
            let read = txn.get_row(table, &key).expect("reads");
            assert_eq!(read.as_ref().map(values), state.get(&key).map(values), "a row is read by its key");
            if read.is_some() && self.random.below(3) == 0 {
                assert!(txn.delete(table, &key).expect("deletes"));
                state.remove(&key);
                continue;
            }
            match read {
                Some(_) => txn.update(table, &key, &row).expect("updates"),
                None => txn.insert(table, &row).expect("a free key"),
            }
            state.insert(key, row);
        }
    }
}
