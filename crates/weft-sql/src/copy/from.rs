//! COPY FROM.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use sqlparser::ast::{Ident, ObjectName};
use weft_env::OpenMode;
use weft_format::{Code, Error, Result, Value};

use super::columns::ColumnBuilder;
use super::options::CsvOptions;
use super::reader::{Reader, Record};
use crate::context::StatementContext;
use crate::expr::EvalContext;
use crate::outcome::{Outcome, Tag};
use crate::row::{TableShape, insert_batches};
use crate::values::value_at;

const BATCH_ROWS: usize = 8192;

/// Runs COPY table FROM file.
pub(super) fn copy_from(
    context: &mut StatementContext<'_>,
    table: &ObjectName,
    columns: &[Ident],
    file_name: &str,
    options: &CsvOptions,
) -> Result<Outcome> {
    let shape = context.shape(&crate::parse::table_name(table)?)?;
    let ordinals = ordinals(&shape, columns)?;
    let env = context.txn.engine().env().clone();
    let file = env.fs.open(Path::new(file_name), OpenMode::Read);
    let file = file.map_err(|error| Error::io(format!("could not open file {file_name:?} for reading"), &error))?;
    let mut reader = Reader::new(file, file_name, options)?;
    let mut input = Input { shape: &shape, ordinals: &ordinals, options, file_name, record: Record::default() };
    if options.header {
        reader.next(&mut input.record)?;
    }
    let mut batches = Vec::new();
    while let Some(batch) = input.batch(&mut reader, context)? {
        context.cancel.check()?;
        batches.push(batch);
    }
    let eval = EvalContext { params: context.params, now_micros: context.now_micros, rng: Some(&*env.rng) };
    let count = insert_batches(&shape, context.txn, &batches, &eval, context.cancel)?;
    Ok(Outcome::done(Tag::Copy(count)))
}

fn ordinals(shape: &TableShape, columns: &[Ident]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok((0..shape.columns().len()).collect());
    }
    let mut ordinals = Vec::with_capacity(columns.len());
    for column in columns {
        let ordinal = shape.ordinal(&crate::parse::fold(column))?;
        if ordinals.contains(&ordinal) {
            let message = format!("column \"{}\" specified more than once", column.value);
            return Err(Error::new(Code::DuplicateColumn, message));
        }
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

struct Input<'a> {
    shape: &'a TableShape,
    ordinals: &'a [usize],
    options: &'a CsvOptions,
    file_name: &'a str,
    record: Record,
}

impl Input<'_> {
    /// The next rows, as arrays of the visible columns, tested against the table's constraints.
    fn batch(&mut self, reader: &mut Reader, context: &StatementContext<'_>) -> Result<Option<RecordBatch>> {
        let columns = self.shape.columns();
        let mut builders: Vec<ColumnBuilder> = columns.iter().map(|c| ColumnBuilder::new(c.data_type)).collect();
        let defaults: Vec<usize> = (0..columns.len()).filter(|ordinal| !self.ordinals.contains(ordinal)).collect();
        let first_line = self.record.line + 1;
        let mut rows = 0;
        while rows < BATCH_ROWS && reader.next(&mut self.record)? {
            if self.record.is_blank() && self.ordinals.len() != 1 {
                continue;
            }
            self.read_row(&mut builders)?;
            for &ordinal in &defaults {
                builders[ordinal].append(self.shape.default_value(ordinal, &context.eval_context())?);
            }
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        // Null fits every field here; that NOT NULL columns have none is what the check is for.
        let fields = columns.iter().map(|column| Field::new(&column.name, column.data_type.arrow(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let arrays = builders.iter_mut().map(ColumnBuilder::finish).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(|error| Error::internal(format!("rows of COPY: {error}")))?;
        match self.shape.check_batch(&batch, &context.eval_context()) {
            Ok(()) => Ok(Some(batch)),
            Err(error) => Err(self.locate(&batch, context, error, first_line)),
        }
    }

    fn read_row(&self, builders: &mut [ColumnBuilder]) -> Result<()> {
        let (found, wanted) = (self.record.len(), self.ordinals.len());
        if found > wanted {
            return Err(self.bad("extra data after last expected column".into()));
        }
        if found < wanted {
            let name = &self.shape.columns()[self.ordinals[found]].name;
            return Err(self.bad(format!("missing data for column \"{name}\"")));
        }
        for (index, &ordinal) in self.ordinals.iter().enumerate() {
            let column = &self.shape.columns()[ordinal];
            let (field, quoted) = self.record.field(index).map_err(|error| {
                let message =
                    format!("invalid byte sequence for encoding \"UTF8\": {error}{}", self.place(&column.name));
                Error::new(Code::CharacterNotInRepertoire, message).hint("convert the file to UTF-8")
            })?;
            if !quoted && field == self.options.null {
                builders[ordinal].append(Value::Null);
                continue;
            }
            if field.contains('\0') {
                let message = format!("invalid byte sequence for encoding \"UTF8\": 0x00{}", self.place(&column.name));
                return Err(Error::new(Code::CharacterNotInRepertoire, message));
            }
            builders[ordinal].read(field).map_err(|error| {
                let message = format!("{}{}", error.message(), self.place(&column.name));
                Error::new(error.code(), message).about(self.shape.name(), Some(&column.name), None)
            })?;
        }
        Ok(())
    }

    fn place(&self, column: &str) -> String {
        format!(" ({}, line {}, column {column})", self.file_name, self.record.line)
    }

    fn bad(&self, message: String) -> Error {
        let message = format!("{message} ({}, line {})", self.file_name, self.record.line);
        Error::new(Code::BadCopyFormat, message).about(self.shape.name(), None, None)
    }

    /// A constraint failed somewhere in the batch: says at which row of it.
    fn locate(&self, batch: &RecordBatch, context: &StatementContext<'_>, error: Error, first_line: u64) -> Error {
        let failed = |row: &usize| {
            let one = batch.slice(*row, 1);
            self.shape.check_batch(&one, &context.eval_context()).is_err()
        };
        let row = (0..batch.num_rows()).find(failed).unwrap_or(0);
        let values: Vec<String> = (0..batch.num_columns())
            .take(8)
            .map(|column| {
                let data_type = self.shape.columns()[column].data_type;
                match value_at(batch.column(column), row, data_type) {
                    Value::Null => "null".to_owned(),
                    value => crate::text::print(value.as_ref(), data_type),
                }
            })
            .collect();
        let place = format!("row {} after line {first_line}: ({})", row + 1, values.join(", "));
        let message = format!("{} ({}, {place})", error.message(), self.file_name);
        Error::new(error.code(), message).about(self.shape.name(), error.column(), error.constraint())
    }
}
