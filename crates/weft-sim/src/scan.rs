//! Scans of whole tables at a transaction's snapshot, and what must hold of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{Result, Value};
use weft_kernel::table::{ReadView, ScanRequest};
use weft_kernel::{TableRef, Transaction};

use crate::arrays::value_at;
use crate::model::{Row, show};
use crate::random::Random;

/// All rows of a table by key, as the transaction sees them.
pub(crate) fn scan(txn: &Transaction, t: &TableRef, random: &mut Random) -> Result<BTreeMap<Vec<u8>, Row>> {
    scan_where(txn, t, Vec::new(), random)
}

fn scan_where(
    txn: &Transaction,
    t: &TableRef,
    predicates: Vec<Predicate>,
    random: &mut Random,
) -> Result<BTreeMap<Vec<u8>, Row>> {
    scan_at(txn.view(t).expect("it is kept"), t, predicates, random)
}

/// The rows of a view that satisfy predicates.
pub(crate) fn scan_at(
    view: ReadView,
    t: &TableRef,
    predicates: Vec<Predicate>,
    random: &mut Random,
) -> Result<BTreeMap<Vec<u8>, Row>> {
    let columns = &t.def.schema.columns;
    // All columns, in an order that begins anywhere.
    let shift = random.below(columns.len() as u64) as usize;
    let projection: Vec<usize> = (0..columns.len()).map(|i| (i + shift) % columns.len()).collect();
    let request = ScanRequest {
        view,
        projection: projection.clone(),
        predicates,
        partition_count: 1 + random.below(3) as usize,
        batch_rows: random.pick(&[3, 64, 8192]),
    };
    let partition_count = request.partition_count;
    // Of a row table with a column index every other scan goes to that one, if it may.
    let by_columns = !t.column_indexes().is_empty() && random.chance(50);
    let by_columns = if by_columns { t.scan_columns(&request, &[])? } else { None };
    let mut output = by_columns.map_or_else(|| t.scan(request), Ok)?;
    assert_eq!(output.partitions.len(), partition_count, "violation: a scan has as many partitions as were asked for");
    let mut rows = BTreeMap::new();
    while !output.partitions.is_empty() {
        let at = random.below(output.partitions.len() as u64) as usize;
        let Some(batch) = output.partitions[at].next()? else {
            drop(output.partitions.swap_remove(at));
            continue;
        };
        assert!(batch.num_rows() > 0, "violation: an empty batch");
        for index in 0..batch.num_rows() {
            let values = (0..columns.len()).map(|column| {
                let position = (column + columns.len() - shift) % columns.len();
                value_at(batch.column(position).as_ref(), index, columns[column].data_type)
            });
            let row: Row = t.codec.encode(values).into();
            let key = t.keys.of_row(&t.codec, &row);
            if let Some(other) = rows.insert(key, Arc::clone(&row)) {
                let name = &t.def.name;
                panic!(
                    "violation: a scan of {name} returned a key twice: {} and {}",
                    show(Some(&other)),
                    show(Some(&row))
                );
            }
        }
    }
    Ok(rows)
}

/// Compares point reads, a count and a scan with a predicate with `rows`, a whole scan of the same snapshot.
pub(crate) fn check_reads(
    txn: &Transaction,
    t: &TableRef,
    rows: &BTreeMap<Vec<u8>, Row>,
    random: &mut Random,
) -> Result<()> {
    let name = &t.def.name;
    for _ in 0..3.min(rows.len()) {
        let (key, row) =
            rows.iter().nth(random.below(rows.len() as u64) as usize).expect("the index is below the length");
        let read = txn.get_row(t, key)?;
        assert_eq!(
            show(read.as_ref()),
            show(Some(row)),
            "violation: point read and scan of {name} differ at {}",
            txn.read_ts()
        );
        let column = random.below(t.codec.column_count() as u64) as usize;
        let mut values = Vec::new();
        let found = txn.get(t, key, &[column], &mut values)?;
        let expected = t.codec.get(row, column).to_value();
        assert!(found && values == [expected], "violation: column {column} of {name} reads as {values:?}");
        let mut absent = t.keys.decode(key)?;
        if let Some(Value::Int(last)) = absent.last_mut() {
            *last += random.pick(&[-1, 1, 1_000_000]);
        }
        let absent = t.keys.encode(absent.iter().map(Value::as_ref));
        let read = txn.get_row(t, &absent)?;
        let expected = rows.get(&absent);
        assert_eq!(
            show(read.as_ref()),
            show(expected),
            "violation: point read and scan of {name} differ at {}",
            txn.read_ts()
        );
    }
    if let Some((_, row)) = rows.iter().nth(random.below(rows.len().max(1) as u64) as usize) {
        let column = random.below(t.codec.column_count() as u64) as usize;
        let value = t.codec.get(row, column).to_value();
        if !value.is_null() {
            check_predicate(txn, t, rows, column, value, random)?;
        }
    }
    Ok(())
}

fn check_predicate(
    txn: &Transaction,
    t: &TableRef,
    rows: &BTreeMap<Vec<u8>, Row>,
    column: usize,
    value: Value,
    random: &mut Random,
) -> Result<()> {
    let op =
        random.pick(&[CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt, CompareOp::LtEq, CompareOp::Gt, CompareOp::GtEq]);
    let satisfies = |row: &Row| {
        let found = t.codec.get(row, column);
        !found.is_null() && op.holds(found.compare(value.as_ref()))
    };
    let expected: BTreeMap<Vec<u8>, Row> =
        rows.iter().filter(|(_, row)| satisfies(row)).map(|(key, row)| (key.clone(), Arc::clone(row))).collect();
    let found = scan_where(txn, t, vec![Predicate::Compare { column, op, value: value.clone() }], random)?;
    assert!(
        found == expected,
        "violation: {} where column {column} {op:?} {value:?} has {} rows, a whole scan says {}",
        t.def.name,
        found.len(),
        expected.len()
    );
    Ok(())
}
