//! COPY between tables and CSV files.
//!
//! ```text
//!   COPY t (a, b) FROM '/data/t.csv' WITH (FORMAT csv, HEADER)
//!   file ── reader (records of fields) ── columns (typed arrays) ── rows staged, or one build when it is large
//!   COPY (SELECT ...) TO '/data/out.csv' WITH (FORMAT csv)
//!   query ── writer (quoted where needed) ── file, written beside its place and renamed
//! ```
//!
//! 1. An unquoted field that equals the null string (by default: the empty one) is NULL, a quoted one never is.
//! 2. An error names the line and the column; nothing of the file is in the table then (the session rolls back).

mod columns;
mod from;
mod options;
mod reader;
mod to;

use sqlparser::ast::{CopySource, CopyTarget, Statement};
use weft_format::{Code, Error, Result};

use crate::context::StatementContext;
use crate::outcome::Outcome;
use crate::session::Client;
use options::CsvOptions;

/// Runs a COPY statement.
pub(crate) fn execute(
    context: &mut StatementContext<'_>,
    statement: &Statement,
    text: &str,
    _client: &mut dyn Client,
) -> Result<Outcome> {
    let Statement::Copy { source, to, target, options, legacy_options, .. } = statement else {
        return Err(Error::internal("only COPY is run as COPY"));
    };
    let options = CsvOptions::read(options, legacy_options)?;
    let CopyTarget::File { filename } = target else {
        let message = "COPY reads and writes files of the server only";
        return Err(
            Error::new(Code::FeatureNotSupported, message).hint("give a file name: COPY t FROM '/path/file.csv'")
        );
    };
    match (source, to) {
        (source, true) => to::copy_to(context, source, filename, &options, text),
        (CopySource::Table { table_name, columns }, false) => {
            from::copy_from(context, table_name, columns, filename, &options)
        }
        (CopySource::Query(_), false) => Err(Error::new(Code::SyntaxError, "COPY query FROM is not possible")),
    }
}
