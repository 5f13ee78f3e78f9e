//! COPY TO.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlparser::ast::{CopySource, Expr, Ident, Query, SelectItem};
use weft_env::{Env, File, OpenMode};
use weft_format::{DataType, Error, Result, ValueRef};

use super::options::CsvOptions;
use crate::column::PreparedQuery;
use crate::context::StatementContext;
use crate::dml::{exact, select, table_relation};
use crate::outcome::{Outcome, Tag};
use crate::text;
use crate::values::{stored_columns, value_ref_at};

const STEP_BYTES: usize = 1 << 20;

/// Runs COPY table TO file and COPY (query) TO file.
pub(super) fn copy_to(
    context: &mut StatementContext<'_>,
    source: &CopySource,
    file_name: &str,
    options: &CsvOptions,
    text: &str,
) -> Result<Outcome> {
    let query = match source {
        CopySource::Query(query) => (**query).clone(),
        CopySource::Table { table_name, columns } => {
            table_query(context, &crate::parse::table_name(table_name)?, columns)?
        }
    };
    let prepared = context.engine.prepare_query(&*context.txn, &query, text, None)?;
    let env = context.txn.engine().env().clone();
    let mut output = Output::create(&env, file_name)?;
    let written = write_rows(context, &prepared, options, &mut output).and_then(|count| {
        output.finish()?;
        Ok(count)
    });
    match written {
        Ok(count) => Ok(Outcome::done(Tag::Copy(count))),
        Err(error) => {
            output.discard();
            Err(error)
        }
    }
}

fn table_query(context: &StatementContext<'_>, name: &str, columns: &[Ident]) -> Result<Query> {
    let shape = context.shape(name)?;
    let names: Vec<String> = match columns {
        [] => shape.columns().iter().map(|column| column.name.clone()).collect(),
        some => {
            let mut names = Vec::with_capacity(some.len());
            for column in some {
                names.push(shape.columns()[shape.ordinal(&crate::parse::fold(column))?].name.clone());
            }
            names
        }
    };
    let items = names.iter().map(|name| SelectItem::UnnamedExpr(Expr::Identifier(exact(name)))).collect();
    select(items, vec![table_relation(name)], None)
}

fn write_rows(
    context: &StatementContext<'_>,
    query: &PreparedQuery,
    options: &CsvOptions,
    output: &mut Output,
) -> Result<u64> {
    let columns = query.columns();
    if options.header {
        for (index, column) in columns.iter().enumerate() {
            field(&mut output.buffer, &column.name, index, options, columns.len() == 1);
        }
        output.buffer.push('\n');
    }
    let mut stream = context.engine.execute(query, context.binding(query.tables()))?;
    let mut count = 0;
    let mut printed = String::new();
    while let Some(batch) = stream.next()? {
        let stored = stored_columns(&batch, columns.iter().map(|column| column.data_type));
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                match value_ref_at(&stored[index], row, column.data_type) {
                    ValueRef::Null => {
                        delimit(&mut output.buffer, index, options);
                        output.buffer.push_str(&options.null);
                    }
                    ValueRef::Text(value) if !matches!(column.data_type, DataType::Char(_)) => {
                        field(&mut output.buffer, value, index, options, columns.len() == 1)
                    }
                    value => {
                        printed.clear();
                        text::write(&mut printed, value, column.data_type);
                        field(&mut output.buffer, &printed, index, options, false);
                    }
                }
            }
            output.buffer.push('\n');
            output.flush(STEP_BYTES)?;
        }
        count += batch.num_rows() as u64;
    }
    Ok(count)
}

fn delimit(out: &mut String, index: usize, options: &CsvOptions) {
    if index > 0 {
        out.push(options.delimiter as char);
    }
}

/// Writes one field, quoted where it would not read back as it is.
fn field(out: &mut String, value: &str, index: usize, options: &CsvOptions, alone: bool) {
    delimit(out, index, options);
    let special = |byte: u8| {
        byte == options.delimiter || byte == options.quote || byte == options.escape || byte == b'\n' || byte == b'\r'
    };
    if value != options.null && !(alone && value == "\\.") && !value.bytes().any(special) {
        out.push_str(value);
        return;
    }
    out.push(options.quote as char);
    for c in value.chars() {
        if c == options.quote as char || c == options.escape as char {
            out.push(options.escape as char);
        }
        out.push(c);
    }
    out.push(options.quote as char);
}

/// The file being written, under another name until it is whole.
struct Output {
    env: Env,
    path: PathBuf,
    part: PathBuf,
    file: Arc<dyn File>,
    offset: u64,
    buffer: String,
}

impl Output {
    fn create(env: &Env, name: &str) -> Result<Output> {
        let path = PathBuf::from(name);
        let part = PathBuf::from(format!("{name}.part{:08x}", env.rng.next_u64() as u32));
        let file = env.fs.open(&part, OpenMode::CreateNew);
        let file = file.map_err(|error| Error::io(format!("could not open file {name:?} for writing"), &error))?;
        Ok(Output { env: env.clone(), path, part, file, offset: 0, buffer: String::new() })
    }

    fn flush(&mut self, keep_below: usize) -> Result<()> {
        if self.buffer.is_empty() || self.buffer.len() < keep_below {
            return Ok(());
        }
        let written = self.file.write_at(self.buffer.as_bytes(), self.offset);
        written.map_err(|error| Error::io(format!("writing {:?}", self.path), &error))?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.flush(0)?;
        let wrong = |error| Error::io(format!("finishing {:?}", self.path), &error);
        self.file.sync_data().map_err(wrong)?;
        self.env.fs.rename(&self.part, &self.path).map_err(wrong)?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.env.fs.sync_dir(dir).map_err(wrong)
    }

    fn discard(&self) {
        // The statement's own error is what the caller sees; a part that stays behind harms nobody.
        let _ = self.env.fs.remove(&self.part);
    }
}
