//! Batches as plain values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType as ArrowType;
use weft_format::{Predicate, Result, Value};
use weft_kernel::TableRef;
use weft_kernel::table::{ReadView, ScanRequest};

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
    let mut output = table.scan(request)?;
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
    match array.data_type() {
        ArrowType::Boolean => Value::Bool(array.as_boolean().value(row)),
        ArrowType::Int16 => Value::Int(array.as_primitive::<Int16Type>().value(row).into()),
        ArrowType::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row).into()),
        ArrowType::Date32 => Value::Int(array.as_primitive::<Date32Type>().value(row).into()),
        ArrowType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        ArrowType::Timestamp(..) => Value::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        ArrowType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row).into()),
        ArrowType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        ArrowType::Decimal128(..) => Value::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        ArrowType::Utf8View => Value::Text(array.as_string_view().value(row).into()),
        other => panic!("no column has Arrow type {other}"),
    }
}
