//! A column index of the suite's table: made, renamed, dropped and made again, and its scans compared with the model as
//! the table's are, at every snapshot.

use weft_contract::{ReadView, ScanRequest};
use weft_format::{Code, Value};
use weft_kernel::index::NewColumnIndex;
use weft_kernel::{SchemaId, TableRef};

use super::{Scanned, Suite, TABLE, values_for};
use crate::testing::rows::rows_of;

impl Suite {
    /// Makes a column index where there is none, in a transaction that may have rows of its own; else perhaps renames
    /// or drops it.
    pub(super) fn change_columns(&mut self) {
        let (mut txn, table) = self.begin();
        let known = txn.column_indexes_of(&table).first().map(|columns| columns.def.name.clone());
        let mut changed = None;
        match known {
            Some(name) => match self.random.below(4) {
                0 => txn.drop_column_index_in(SchemaId::PUBLIC, &name).expect("drops"),
                1 => {
                    let index = txn.column_index_in(SchemaId::PUBLIC, &name).expect("is there");
                    let other = if name == "c1" { "c2" } else { "c1" };
                    txn.rename_column_index(&index, SchemaId::PUBLIC, other).expect("renames");
                }
                2 => txn.rebuild_column_index(SchemaId::PUBLIC, &name).expect("rebuilds"),
                _ => return,
            },
            None => {
                if self.random.below(2) == 0 {
                    let k = self.random.below(self.options.keys);
                    let values = values_for(&table.def.schema, k, &mut self.random);
                    let row: std::sync::Arc<[u8]> = table.codec.encode(values.iter().map(Value::as_ref)).into();
                    let key = table.keys.of_row(&table.codec, &row);
                    let there = self.model.rows(txn.read_ts()).contains_key(&key);
                    let goes = there && self.random.below(2) == 0;
                    match there {
                        true if goes => assert!(txn.delete(&table, &key).expect("deletes")),
                        true => txn.update(&table, &key, &row).expect("updates"),
                        false => txn.insert(&table, &row).expect("inserts"),
                    }
                    changed = Some((key, (!goes).then_some(row)));
                }
                let visible: Vec<usize> = table.def.schema.visible().map(|(ordinal, _)| ordinal).collect();
                let mut named: Vec<usize> = visible.iter().copied().filter(|_| self.random.below(3) > 0).collect();
                if named.is_empty() {
                    named.push(visible[0]);
                }
                let options = [("granularity_bytes".to_owned(), "32768".to_owned())].into();
                let new = NewColumnIndex { options, ..NewColumnIndex::new("c1", named) };
                txn.create_column_index(&table, new).expect("makes it");
            }
        }
        if self.random.below(6) == 0 {
            txn.rollback();
            return;
        }
        let ts = txn.commit().expect("commits");
        if let Some((key, row)) = changed {
            self.model.set(ts, &key, row);
        }
        self.look();
    }

    /// The same scan by a column index, if one has the columns: the rows that the table gave.
    pub(super) fn look_at_columns(&mut self, table: &TableRef, view: ReadView, scanned: Scanned<'_>) {
        let (partition_count, batch_rows) = (1 + self.random.below(3) as usize, 64);
        let Scanned { projection, predicates, expected } = scanned;
        let request = ScanRequest {
            view: view.clone(),
            projection: projection.to_vec(),
            predicates: predicates.to_vec(),
            partition_count,
            batch_rows,
        };
        let Some(output) = table.scan_columns(&request, &[]).expect("scans") else { return };
        self.by_columns += 1;
        let mut found = rows_of(output, partition_count, batch_rows).expect("scans");
        found.sort_by(|a, b| super::compare_rows(a, b));
        let (seed, ts) = (self.options.seed, view.read_ts);
        assert!(found == expected, "seed {seed}: column index at {ts}: {projection:?} where {predicates:?}");
    }

    /// A table that is stored as columns has none.
    pub(super) fn refuses_columns(&self) {
        let (mut txn, table) = self.begin();
        if table.table.in_place().is_none() {
            let error = txn.create_column_index(&table, NewColumnIndex::new("c1", vec![0])).expect_err("it is refused");
            assert_eq!(error.code(), Code::FeatureNotSupported, "{TABLE}: {error}");
        }
    }
}
