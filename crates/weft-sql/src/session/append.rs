//! Bulk append of Arrow batches.
//!
//! Columns are matched by name when every field of the batches names a column of the table; columns that the batches do
//! not have get their default. Types are cast where no meaning is lost (a value that does not fit is an error):
//! integers and floats among themselves, all kinds of Arrow strings and dictionaries of them, decimals of another
//! scale, dates and timestamps of other units. NOT NULL, CHECK and varchar lengths are tested as for INSERT.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType as ArrowType, Schema as ArrowSchema};
use weft_expr::Local;
use weft_format::types::Element;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::Transaction;
use weft_pgcatalog::rights::Rights;

use super::Session;
use crate::ddl::dependents::is_materialized;
use crate::expr::EvalContext;
use crate::rights::Need;
use crate::row::{RowDefault, TableShape, generated, insert_batches};
use crate::values::{array_of, value_at};

pub(super) fn append(session: &mut Session, table: &str, batches: &[RecordBatch]) -> Result<u64> {
    session.in_statement(|work| {
        work.check_writable("append")?;
        let found = crate::resolve::table(work.txn, table)?;
        if is_materialized(&found.def) {
            let message = format!("cannot change materialized view \"{}\"", found.def.name);
            return Err(Error::new(Code::WrongObjectType, message));
        }
        work.permit.check_need(&Need::of_table(&found.def, Rights::INSERT))?;
        let shape = work.db.shapes().shape(&found)?;
        let rng = Arc::clone(&work.txn.engine().env().rng);
        let eval = EvalContext { params: &[], local: &work.local, rng: Some(&*rng) };
        let mut stored = Vec::with_capacity(batches.len());
        for batch in batches {
            stored.push(shape.generate_batch(to_storage(work.txn, batch, &shape, &eval)?, &eval)?);
        }
        insert_batches(&shape, work.txn, &stored, &eval, work.cancel)
    })
}

/// The visible columns of the table, in their storage types.
fn to_storage(
    txn: &Transaction,
    batch: &RecordBatch,
    shape: &TableShape,
    eval: &EvalContext<'_>,
) -> Result<RecordBatch> {
    let schema = batch.schema();
    for field in schema.fields() {
        let ordinal = shape.ordinal(field.name())?;
        if generated(&shape.table.def, ordinal).is_some() {
            let message = format!("column \"{}\" is a generated column", field.name());
            return Err(Error::new(Code::GeneratedAlways, message).hint("leave it out of the batch"));
        }
    }
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(shape.columns().len());
    for (ordinal, column) in shape.columns().iter().enumerate() {
        let mut found = schema.fields().iter().enumerate().filter(|(_, field)| *field.name() == column.name);
        arrays.push(match (found.next(), found.next()) {
            (Some((at, _)), None) => cast_array(batch.column(at), column.data_type, &column.name)?,
            (Some(_), Some(_)) => {
                let message = format!("column \"{}\" is in the batch twice", column.name);
                return Err(Error::new(Code::DuplicateColumn, message));
            }
            (None, _) => default_array(txn, shape, ordinal, batch.num_rows(), eval)?,
        });
    }
    let visible: Vec<usize> = (0..arrays.len()).collect();
    let fields = shape.table.def.schema.arrow(&visible);
    // Nullable fields: NOT NULL is tested later, with an error that names the column.
    let fields: Vec<_> = fields.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays)
        .map_err(|error| Error::internal(format!("a batch for \"{}\" does not fit together: {error}", shape.name())))
}

fn default_array(
    txn: &Transaction,
    shape: &TableShape,
    ordinal: usize,
    rows: usize,
    eval: &EvalContext<'_>,
) -> Result<ArrayRef> {
    let data_type = shape.columns()[ordinal].data_type;
    if matches!(shape.defaults[ordinal], Some(RowDefault::NextOf(_))) {
        let numbers = (0..rows).map(|_| shape.default_value(txn, ordinal, eval));
        return Ok(array_of(numbers.collect::<Result<Vec<Value>>>()?.iter(), data_type));
    }
    let value = shape.default_value(txn, ordinal, eval)?;
    let values: Vec<&Value> = std::iter::repeat_n(&value, rows).collect();
    Ok(array_of(values.into_iter(), data_type))
}

fn cast_array(array: &ArrayRef, to: DataType, column: &str) -> Result<ArrayRef> {
    if let DataType::Enum(_) | DataType::Array(Element::Enum(_)) = to {
        return labels(array, to, column);
    }
    let target = to.arrow();
    if *array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    if !is_safe(array.data_type(), to) {
        let message = format!("column \"{column}\" is of type {to}, which Arrow's {} does not fit", array.data_type());
        return Err(Error::new(Code::DatatypeMismatch, message).hint(format!("give it as {target}")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, &target, &options).map_err(|error| {
        Error::new(Code::NumericOutOfRange, format!("a value of column \"{column}\" does not fit {to}: {error}"))
    })
}

/// Values of an enum from their labels: which enum Arrow's own form of them is of only this process knows.
fn labels(array: &ArrayRef, to: DataType, column: &str) -> Result<ArrayRef> {
    let is_text =
        matches!(array.data_type(), ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View | ArrowType::Null);
    if !is_text {
        let message = format!("column \"{column}\" is of an enum, which Arrow's {} does not fit", array.data_type());
        return Err(Error::new(Code::DatatypeMismatch, message).hint("give labels, as Utf8"));
    }
    let texts = cast_with_options(array, &ArrowType::Utf8View, &CastOptions::default())
        .map_err(|error| Error::internal(format!("texts did not become views: {error}")))?;
    let read = |row: usize| match value_at(&texts, row, DataType::Text) {
        Value::Text(text) => weft_expr::text::parse(&text, to, Local::fixed()),
        _ => Ok(Value::Null),
    };
    let values = (0..texts.len()).map(read).collect::<Result<Vec<Value>>>()?;
    Ok(array_of(values.iter(), to))
}

fn is_safe(from: &ArrowType, to: DataType) -> bool {
    match (from, to) {
        (ArrowType::Null, _) => true,
        (ArrowType::Dictionary(_, values), _) => is_safe(values, to) || **values == to.arrow(),
        (ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View, _) => to.is_text(),
        (ArrowType::Decimal32(..) | ArrowType::Decimal64(..) | ArrowType::Decimal128(..), DataType::Numeric { .. }) => {
            true
        }
        (ArrowType::Date32 | ArrowType::Date64, DataType::Date) => true,
        (ArrowType::Timestamp(_, None), DataType::Timestamp) => true,
        (ArrowType::Timestamp(_, Some(_)), DataType::TimestampTz) => true,
        (from, DataType::SmallInt | DataType::Integer | DataType::BigInt) => from.is_integer(),
        (from, DataType::Real) => matches!(from, ArrowType::Float16 | ArrowType::Float32),
        (from, DataType::DoublePrecision) => from.is_floating(),
        _ => false,
    }
}
