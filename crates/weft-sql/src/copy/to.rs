//! COPY TO.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlparser::ast::{CopySource, Expr, Ident, Query, SelectItem};
use weft_env::{Env, File, OpenMode};
use weft_format::{Code, Error, Result, ValueRef};

use super::from::not_generated;
use super::json_document::{check_document, document_column};
use super::json_to::JsonWriter;
use super::options::{CopyOptions, Form};
use super::source::{columns_of, format_of};
use super::writer::Writer;
use crate::context::StatementContext;
use crate::dml::{exact, select, table_relation};
use crate::outcome::{Outcome, OutputColumn, Tag};
use crate::queries::PreparedQuery;
use crate::row::generated;
use crate::session::Client;
use crate::values::{stored_columns, value_ref_at};

const STEP_BYTES: usize = 1 << 20;

/// Runs COPY table TO and COPY (query) TO; rows go to a file, or to the client when none is named.
pub(super) fn copy_to(
    context: &mut StatementContext<'_>,
    source: &CopySource,
    file_name: Option<&str>,
    options: &CopyOptions,
    text: &str,
    client: &mut dyn Client,
) -> Result<Outcome> {
    let query = match source {
        CopySource::Query(query) => (**query).clone(),
        CopySource::Table { table_name, columns } => {
            table_query(context, &crate::parse::table_name(table_name)?, columns, options)?
        }
    };
    let prepared = context.engine.prepare_query(&*context.txn, &query, text, None, context.local)?;
    let forced = forced(&prepared, options)?;
    if options.form == Form::JsonDocument {
        check_document(prepared.columns())?;
    }
    let Some(file_name) = file_name else {
        client.begin_copy_out(format_of(options), columns_of(options, prepared.columns().len()))?;
        let count = write_rows(context, &prepared, options, &forced, &mut |row| {
            client.copy_out(row)?;
            row.clear();
            Ok(())
        })?;
        client.end_copy_out()?;
        return Ok(Outcome::done(Tag::Copy(count)));
    };
    let env = context.txn.engine().env().clone();
    let mut output = Output::create(&env, file_name)?;
    let written = write_rows(context, &prepared, options, &forced, &mut |rows| output.flush(rows, STEP_BYTES));
    match written.and_then(|count| output.finish().map(|()| count)) {
        Ok(count) => Ok(Outcome::done(Tag::Copy(count))),
        Err(error) => {
            output.discard();
            Err(error)
        }
    }
}

/// Whether each column's values are always quoted.
fn forced(query: &PreparedQuery, options: &CopyOptions) -> Result<Vec<bool>> {
    let columns = query.columns();
    if let Some(name) = options.force_quote.iter().find(|name| !columns.iter().any(|column| column.name == **name)) {
        let message = format!("FORCE_QUOTE column \"{name}\" not referenced by COPY");
        return Err(Error::new(Code::InvalidColumnReference, message));
    }
    Ok(columns.iter().map(|column| options.force_quote.contains(&column.name)).collect())
}

fn table_query(context: &StatementContext<'_>, name: &str, columns: &[Ident], options: &CopyOptions) -> Result<Query> {
    let shape = context.shape(name)?;
    let names: Vec<String> = match columns {
        [] if options.form == Form::JsonDocument => {
            vec![shape.columns()[document_column(&shape, &[])?].name.clone()]
        }
        [] => {
            let visible = shape.table.def.schema.visible();
            let shown = visible.filter(|(ordinal, _)| generated(&shape.table.def, *ordinal).is_none());
            shown.map(|(_, column)| column.name.clone()).collect()
        }
        some => {
            let mut names = Vec::with_capacity(some.len());
            for column in some {
                let ordinal = shape.ordinal(&crate::parse::fold(column))?;
                not_generated(&shape, ordinal)?;
                names.push(shape.columns()[ordinal].name.clone());
            }
            names
        }
    };
    let items = names.iter().map(|name| SelectItem::UnnamedExpr(Expr::Identifier(exact(name)))).collect();
    select(items, vec![table_relation(name)], None)
}

/// Writes the rows of a query; `each` takes what a row added, or leaves it for later.
fn write_rows(
    context: &StatementContext<'_>,
    query: &PreparedQuery,
    options: &CopyOptions,
    forced: &[bool],
    each: &mut dyn FnMut(&mut Vec<u8>) -> Result<()>,
) -> Result<u64> {
    let columns = query.columns();
    let mut rows = RowWriter::new(context, columns, options, forced);
    let mut out = Vec::new();
    rows.head(&mut out, columns);
    // The head of the binary form goes with the first row, as PostgreSQL sends it: a message holds a row.
    if !out.is_empty() && options.form != Form::Binary {
        each(&mut out)?;
    }
    let mut stream = context.engine.execute(query, context.binding(query)?)?;
    let mut count = 0;
    while let Some(batch) = stream.next_batch()? {
        let stored = stored_columns(&batch, columns.iter().map(|column| column.data_type));
        for row in 0..batch.num_rows() {
            rows.row(&mut out, columns, &|index| value_ref_at(&stored[index], row, columns[index].data_type))?;
            each(&mut out)?;
        }
        count += batch.num_rows() as u64;
    }
    rows.foot(&mut out);
    if !out.is_empty() {
        each(&mut out)?;
    }
    // What a file has left for later is written when it is finished.
    Ok(count)
}

/// Writes the rows of the form that is asked for.
enum RowWriter<'a> {
    Fields(Writer<'a>),
    Json(JsonWriter<'a>),
}

impl<'a> RowWriter<'a> {
    fn new(
        context: &StatementContext<'a>,
        columns: &[OutputColumn],
        options: &'a CopyOptions,
        forced: &'a [bool],
    ) -> RowWriter<'a> {
        let style = &context.local.style;
        match options.form {
            Form::Json | Form::JsonDocument => RowWriter::Json(JsonWriter::new(columns, options, style)),
            Form::Text | Form::Csv | Form::Binary => {
                let alone = columns.len() == 1;
                RowWriter::Fields(Writer { options, forced, alone, printed: String::new(), style })
            }
        }
    }

    fn head(&mut self, out: &mut Vec<u8>, columns: &[OutputColumn]) {
        match self {
            RowWriter::Fields(writer) => writer.head(out, columns),
            RowWriter::Json(writer) => writer.head(out),
        }
    }

    fn row<'v>(
        &mut self,
        out: &mut Vec<u8>,
        columns: &[OutputColumn],
        value: &dyn Fn(usize) -> ValueRef<'v>,
    ) -> Result<()> {
        let types = columns.iter().map(|column| column.data_type).enumerate();
        match self {
            RowWriter::Fields(writer) => {
                writer.begin_row(out, columns.len());
                types.for_each(|(index, data_type)| writer.value(out, value(index), data_type, index));
                writer.end_row(out);
            }
            RowWriter::Json(writer) => {
                writer.begin_row(out);
                for (index, data_type) in types {
                    writer.value(out, value(index), data_type, index)?;
                }
                writer.end_row(out);
            }
        }
        Ok(())
    }

    fn foot(&self, out: &mut Vec<u8>) {
        match self {
            RowWriter::Fields(writer) => writer.foot(out),
            RowWriter::Json(writer) => writer.foot(out),
        }
    }
}

/// The file being written, under another name until it is whole; a device or a pipe, which is written to as it is.
struct Output {
    env: Env,
    path: PathBuf,
    /// None: a device or a pipe.
    part: Option<PathBuf>,
    file: Arc<dyn File>,
    offset: u64,
    rest: Vec<u8>,
}

impl Output {
    fn create(env: &Env, name: &str) -> Result<Output> {
        let path = PathBuf::from(name);
        let wrong = |error| Error::io(format!("could not open file {name:?} for writing"), &error);
        let (part, file) = if env.fs.is_stream(&path).map_err(wrong)? {
            (None, env.fs.open(&path, OpenMode::ReadWrite))
        } else {
            let part = PathBuf::from(format!("{name}.part{:08x}", env.rng.next_u64() as u32));
            let file = env.fs.open(&part, OpenMode::CreateNew);
            (Some(part), file)
        };
        let file = file.map_err(wrong)?;
        Ok(Output { env: env.clone(), path, part, file, offset: 0, rest: Vec::new() })
    }

    /// Writes rows when there are enough of them.
    fn flush(&mut self, rows: &mut Vec<u8>, keep_below: usize) -> Result<()> {
        self.rest.append(rows);
        if self.rest.is_empty() || self.rest.len() < keep_below {
            return Ok(());
        }
        let written = self.file.write_at(&self.rest, self.offset);
        written.map_err(|error| Error::io(format!("writing {:?}", self.path), &error))?;
        self.offset += self.rest.len() as u64;
        self.rest.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.flush(&mut Vec::new(), 0)?;
        let wrong = |error| Error::io(format!("finishing {:?}", self.path), &error);
        let Some(part) = &self.part else { return Ok(()) };
        self.file.sync_data().map_err(wrong)?;
        self.env.fs.rename(part, &self.path).map_err(wrong)?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.env.fs.sync_dir(dir).map_err(wrong)
    }

    fn discard(&self) {
        // The statement's own error is what the caller sees; a part that stays behind harms nobody.
        if let Some(part) = &self.part {
            let _ = self.env.fs.remove(part);
        }
    }
}
