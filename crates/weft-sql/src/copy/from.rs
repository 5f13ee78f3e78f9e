//! COPY FROM.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use sqlparser::ast::{Ident, ObjectName};
use weft_expr::Local;
use weft_format::{Code, Error, Result, Value};

use super::columns::ColumnBuilder;
use super::json_document::document_column;
use super::json_lines::JsonReader;
use super::options::{CopyOptions, Form};
use super::reader::{Reader, Record, Stood};
use super::source::Source;
use super::tuples::BinaryReader;
use crate::context::StatementContext;
use crate::outcome::{Outcome, Tag};
use crate::row::{Load, TableShape, generated};
use crate::session::Client;
use crate::values::value_at;

const BATCH_ROWS: usize = 8192;
/// Bytes of the input in one batch, but for its last row.
const BATCH_BYTES: usize = 16 << 20;

/// Runs COPY table FROM; the rows come from a file, or from the client when none is named.
pub(super) fn copy_from(
    context: &mut StatementContext<'_>,
    table: &ObjectName,
    columns: &[Ident],
    file_name: Option<&str>,
    options: &CopyOptions,
    client: &mut dyn Client,
) -> Result<Outcome> {
    let shape = context.shape(&crate::parse::table_name(table)?)?;
    let mut ordinals = ordinals(&shape, columns)?;
    if options.form == Form::JsonDocument {
        let listed = if columns.is_empty() { &[][..] } else { &ordinals[..] };
        ordinals = vec![document_column(&shape, listed)?];
    }
    let forced = Forced::new(&shape, options)?;
    let env = context.txn.engine().env().clone();
    let source = match file_name {
        Some(name) => Source::file(&env, name)?,
        None => Source::client(client, options, ordinals.len())?,
    };
    let place = |(index, &ordinal): (usize, &usize)| (shape.columns()[ordinal].name.clone(), index);
    let mut input = Input {
        shape: &shape,
        ordinals: &ordinals,
        places: ordinals.iter().enumerate().map(place).collect(),
        forced,
        source_name: source.name().to_owned(),
        record: Record::default(),
        lines: Vec::new(),
    };
    let mut rows = match options.form {
        Form::Binary => Rows::Binary(BinaryReader::new(source)?),
        Form::Text | Form::Csv => Rows::Lines(Reader::new(source, options)?),
        Form::Json => Rows::Objects(JsonReader::new(source, true)?, Vec::new()),
        Form::JsonDocument => Rows::Documents(JsonReader::new(source, false)?, Vec::new()),
    };
    if let (Rows::Lines(reader), true) = (&mut rows, options.header) {
        reader.next(&mut input.record)?;
    }
    let mut load = Load::new(&shape, context.engine, context.txn, context.cancel);
    while let Some(batch) = input.batch(&mut rows, context)? {
        context.cancel.check()?;
        load.push(context.txn, batch)?;
    }
    Ok(Outcome::done(Tag::Copy(load.finish(context.txn)?)))
}

fn ordinals(shape: &TableShape, columns: &[Ident]) -> Result<Vec<usize>> {
    if columns.is_empty() {
        let is_given = |ordinal: &usize| generated(&shape.table.def, *ordinal).is_none();
        return Ok(shape.visible().into_iter().filter(is_given).collect());
    }
    let mut ordinals = Vec::with_capacity(columns.len());
    for column in columns {
        let ordinal = shape.ordinal(&crate::parse::fold(column))?;
        if ordinals.contains(&ordinal) {
            let message = format!("column \"{}\" specified more than once", column.value);
            return Err(Error::new(Code::DuplicateColumn, message));
        }
        not_generated(shape, ordinal)?;
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

/// An error when a column is generated: COPY neither reads nor writes it.
pub(super) fn not_generated(shape: &TableShape, ordinal: usize) -> Result<()> {
    if generated(&shape.table.def, ordinal).is_none() {
        return Ok(());
    }
    let name = &shape.columns()[ordinal].name;
    let error = Error::new(Code::InvalidColumnReference, format!("column \"{name}\" is a generated column"));
    Err(error.hint("Generated columns cannot be used in COPY.").about(shape.name(), Some(name), None))
}

/// Where rows are read from.
enum Rows<'a> {
    Lines(Reader<'a>),
    Binary(BinaryReader<'a>),
    /// With the value at hand.
    Objects(JsonReader<'a>, Vec<u8>),
    Documents(JsonReader<'a>, Vec<u8>),
}

/// Columns whose null strings are read in another way.
struct Forced {
    not_null: Vec<usize>,
    null: Vec<usize>,
}

impl Forced {
    fn new(shape: &TableShape, options: &CopyOptions) -> Result<Forced> {
        let find = |names: &[String]| names.iter().map(|name| shape.ordinal(name)).collect::<Result<Vec<usize>>>();
        Ok(Forced { not_null: find(&options.force_not_null)?, null: find(&options.force_null)? })
    }

    /// Whether a field is NULL.
    fn is_null(&self, ordinal: usize, stood: Stood) -> bool {
        let counts = if stood.quoted { self.null.contains(&ordinal) } else { !self.not_null.contains(&ordinal) };
        stood.null && counts
    }
}

/// Rows on their way into a table.
pub(super) struct Input<'a> {
    pub(super) shape: &'a TableShape,
    pub(super) ordinals: &'a [usize],
    /// Where a column of a name is among the ordinals.
    pub(super) places: HashMap<String, usize>,
    forced: Forced,
    source_name: String,
    record: Record,
    /// Where the rows of the batch begin.
    lines: Vec<u64>,
}

impl Input<'_> {
    /// The next rows, as arrays of the visible columns, tested against the table's constraints.
    fn batch(&mut self, source: &mut Rows<'_>, context: &StatementContext<'_>) -> Result<Option<RecordBatch>> {
        let columns = self.shape.columns();
        let mut builders: Vec<ColumnBuilder> = columns.iter().map(|c| ColumnBuilder::new(c.data_type)).collect();
        let defaults: Vec<usize> = (0..columns.len()).filter(|ordinal| !self.ordinals.contains(ordinal)).collect();
        self.lines.clear();
        let mut bytes = 0;
        while self.lines.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(of_row) = self.next_row(source, &mut builders, context)? else { break };
            for &ordinal in &defaults {
                builders[ordinal].append(self.shape.default_value(context.txn, ordinal, &context.eval_context())?);
            }
            self.lines.push(self.record.line);
            bytes += of_row;
        }
        if self.lines.is_empty() {
            return Ok(None);
        }
        // Null fits every field here; that NOT NULL columns have none is what the check is for.
        let fields = columns.iter().map(|column| Field::new(&column.name, column.data_type.arrow(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let arrays = builders.iter_mut().map(ColumnBuilder::finish).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(|error| Error::internal(format!("rows of COPY: {error}")))?;
        let batch = self.shape.generate_batch(batch, &context.eval_context())?;
        match self.shape.check_batch(&batch, &context.eval_context()) {
            Ok(()) => Ok(Some(batch)),
            Err(error) => Err(self.locate(&batch, context, error)),
        }
    }

    /// Appends the next row, and says how many bytes it had; none at the end.
    fn next_row(
        &mut self,
        source: &mut Rows<'_>,
        builders: &mut [ColumnBuilder],
        context: &StatementContext<'_>,
    ) -> Result<Option<usize>> {
        match source {
            Rows::Lines(reader) => {
                while reader.next(&mut self.record)? {
                    if !self.record.is_blank() || self.ordinals.len() == 1 {
                        self.read_row(builders, context.local)?;
                        return Ok(Some(self.record.byte_count()));
                    }
                }
                Ok(None)
            }
            Rows::Binary(reader) => {
                self.record.line += 1;
                Ok(self.read_tuple(reader, builders)?.then_some(0))
            }
            Rows::Objects(reader, value) => {
                if !reader.next(value, &mut self.record.line)? {
                    return Ok(None);
                }
                let made = self.read_object(builders, value, context)?;
                Ok(Some(value.len().max(made)))
            }
            Rows::Documents(reader, value) => {
                if !reader.next(value, &mut self.record.line)? {
                    return Ok(None);
                }
                let made = self.read_document(builders, value, context.local)?;
                Ok(Some(value.len().max(made)))
            }
        }
    }

    fn read_row(&self, builders: &mut [ColumnBuilder], local: &Local) -> Result<()> {
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
            let (field, stood) = self.record.field(index).map_err(|error| {
                let message =
                    format!("invalid byte sequence for encoding \"UTF8\": {error}{}", self.place(&column.name));
                Error::new(Code::CharacterNotInRepertoire, message).hint("convert the file to UTF-8")
            })?;
            if self.forced.is_null(ordinal, stood) {
                builders[ordinal].append(Value::Null);
                continue;
            }
            if field.contains('\0') {
                let message = format!("invalid byte sequence for encoding \"UTF8\": 0x00{}", self.place(&column.name));
                return Err(Error::new(Code::CharacterNotInRepertoire, message));
            }
            builders[ordinal].read(field, local).map_err(|error| {
                let message = format!("{}{}", error.message(), self.place(&column.name));
                Error::new(error.code(), message).about(self.shape.name(), Some(&column.name), None)
            })?;
        }
        Ok(())
    }

    /// A row of the binary form; false at the end.
    fn read_tuple(&self, reader: &mut BinaryReader<'_>, builders: &mut [ColumnBuilder]) -> Result<bool> {
        let Some(count) = reader.begin_row()? else { return Ok(false) };
        if count != self.ordinals.len() {
            let wanted = self.ordinals.len();
            return Err(self.bad(format!("row field count is {count}, expected {wanted}")));
        }
        for &ordinal in self.ordinals {
            let column = &self.shape.columns()[ordinal];
            let value = match reader.field()? {
                None => Value::Null,
                Some(bytes) => crate::binary::read(bytes, column.data_type).map_err(|error| {
                    let message = format!("{}{}", error.message(), self.place(&column.name));
                    Error::new(error.code(), message).about(self.shape.name(), Some(&column.name), None)
                })?,
            };
            builders[ordinal].append(value);
        }
        Ok(true)
    }

    fn place(&self, column: &str) -> String {
        format!(" ({}, line {}, column {column})", self.source_name, self.record.line)
    }

    /// An error with the place of the row, and perhaps a column.
    pub(super) fn located(&self, error: &Error, column: Option<&str>) -> Error {
        let place = match column {
            Some(column) => self.place(column),
            None => format!(" ({}, line {})", self.source_name, self.record.line),
        };
        let located = Error::new(error.code(), format!("{}{place}", error.message()));
        let located = located.about(self.shape.name(), column, None);
        match error.hint_text() {
            Some(hint) => located.hint(hint),
            None => located,
        }
    }

    pub(super) fn bad(&self, message: String) -> Error {
        let message = format!("{message} ({}, line {})", self.source_name, self.record.line);
        Error::new(Code::BadCopyFormat, message).about(self.shape.name(), None, None)
    }

    /// A constraint failed somewhere in the batch: says at which row of it.
    fn locate(&self, batch: &RecordBatch, context: &StatementContext<'_>, error: Error) -> Error {
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
        let place = format!("line {}: ({})", self.lines[row], values.join(", "));
        let message = format!("{} ({}, {place})", error.message(), self.source_name);
        Error::new(error.code(), message).about(self.shape.name(), error.column(), error.constraint())
    }
}
