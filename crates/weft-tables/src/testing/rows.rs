//! Batches as plain values.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType as ArrowType;
use weft_contract::{ReadView, ScanOutput, ScanRequest};
use weft_format::arrow_values::{stored_value_at, value_at};
use weft_format::{DataType, Element, Predicate, Result, Value};
use weft_kernel::TableRef;

/// All rows of a scan, one partition after the other.
pub fn scan_rows(
    table: &TableRef,
    view: ReadView,
    projection: &[usize],
    predicates: &[Predicate],
    partition_count: usize,
    batch_rows: usize,
) -> Result<Vec<Vec<Value>>> {
    let request = ScanRequest {
        view,
        projection: projection.to_vec(),
        predicates: predicates.to_vec(),
        partition_count,
        batch_rows,
    };
    rows_of(table.scan(request)?, partition_count, batch_rows)
}

/// All rows of what a scan has started, which was asked for so many partitions, and rows of a batch.
pub fn rows_of(mut output: ScanOutput, partition_count: usize, batch_rows: usize) -> Result<Vec<Vec<Value>>> {
    assert_eq!(output.partitions.len(), partition_count, "a scan has as many partitions as were asked for");
    let mut rows = Vec::new();
    for partition in &mut output.partitions {
        while let Some(batch) = partition.next()? {
            assert!((1..=batch_rows).contains(&batch.num_rows()), "a batch has 1 to {batch_rows} rows");
            rows.extend(rows_of_batch(&batch));
        }
    }
    Ok(rows)
}

/// The rows of a batch.
pub fn rows_of_batch(batch: &RecordBatch) -> Vec<Vec<Value>> {
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| value(column, row)).collect()).collect()
}

fn value(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    if let ArrowType::List(_) = array.data_type() {
        return value_at(array, row, DataType::Array(Element::Integer));
    }
    match stored_value_at(array, row) {
        Some(value) => value.to_value(),
        None => panic!("no column has Arrow type {}", array.data_type()),
    }
}
