//! Rows by random ranges of keys, from both ends, so many at a time: those of the model, each once, in order; of a
//! table that gives them out.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::Direction;
use weft_format::{CompareOp, Predicate, Value};
use weft_kernel::{RangeRows, RowRange, TableRef, Transaction};

use super::{Suite, random_columns, row_values};
use crate::testing::random::Prng;

impl Suite {
    /// What a transaction sees of ranges; `state` is what it should, by key.
    pub(super) fn look_at_ranges(&mut self, table: &TableRef, txn: &Transaction, state: &BTreeMap<Vec<u8>, Arc<[u8]>>) {
        // Numbers of its own: what comes later in the history does not depend on this look.
        let mut random = Prng(self.options.seed ^ txn.read_ts().0 ^ state.len() as u64);
        for _ in 0..3 {
            let predicates = bounds_of_keys(&mut random, self.options.keys);
            let columns = random_columns(&table.def.schema, &mut random);
            let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
            let limit = [1, 2, 7, 1000][random.below(4) as usize];
            let is_in_range = |row: &Arc<[u8]>| {
                predicates.iter().all(|predicate| predicate.matches(table.codec.get(row, predicate.column())))
            };
            let of_row = |row: &Arc<[u8]>| -> Vec<Value> {
                columns.iter().map(|&column| table.codec.get(row, column).to_value()).collect()
            };
            let mut expected: Vec<(Vec<u8>, Vec<Value>)> =
                state.iter().filter(|(_, row)| is_in_range(row)).map(|(key, row)| (key.clone(), of_row(row))).collect();
            if direction == Direction::Backward {
                expected.reverse();
            }
            let mut found: Vec<(Vec<u8>, Vec<Value>)> = Vec::new();
            let mut after: Option<Vec<u8>> = None;
            loop {
                let range =
                    RowRange { predicates: &predicates, direction, after: after.as_deref(), limit, columns: &columns };
                let Some(RangeRows { rows, behind }) = txn.range_rows(table, range).expect("reads") else {
                    // Of rows that it has built itself a transaction sees by scans alone.
                    let own = txn.view(table).expect("it is kept").own;
                    assert!(table.table.ordered().is_none() || own.is_some_and(|own| !own.attachments.is_empty()));
                    return;
                };
                assert!(rows.len() <= limit, "no more than were wanted");
                let width = columns.len();
                let values = (0..rows.len()).map(|at| rows.values[at * width..(at + 1) * width].to_vec());
                found.extend(rows.keys.iter().cloned().zip(values));
                after = behind;
                if after.is_none() {
                    break;
                }
            }
            let ts = txn.read_ts();
            assert_eq!(found, expected, "range {predicates:?} {direction:?} by {limit} at {ts}");
        }
    }
}

/// Conditions on the key (b, a): none, an end or two of b, or all of one b between two ends of a.
fn bounds_of_keys(random: &mut Prng, keys: u64) -> Vec<Predicate> {
    const ENDS: [[CompareOp; 2]; 2] = [[CompareOp::Gt, CompareOp::GtEq], [CompareOp::Lt, CompareOp::LtEq]];
    let compare = |column: usize, op, random: &mut Prng| {
        let value = row_values(random.below(keys), random)[column].clone();
        Predicate::Compare { column, op, value }
    };
    let mut predicates = Vec::new();
    let column = match random.below(3) {
        0 => return predicates,
        1 => 1,
        _ => {
            predicates.push(compare(1, CompareOp::Eq, random));
            0
        }
    };
    for ops in ENDS {
        if random.below(2) == 0 {
            predicates.push(compare(column, ops[random.below(2) as usize], random));
        }
    }
    predicates
}
