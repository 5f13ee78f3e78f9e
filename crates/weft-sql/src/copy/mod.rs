//! COPY between tables and files of the server, or the client: text, CSV, binary, JSON.
//!
//! ```text
//!   COPY t (a, b) FROM '/data/t.csv' WITH (FORMAT csv, HEADER)         COPY t FROM STDIN
//!   source ── reader (records of fields, tuples, or JSON) ── columns (typed arrays) ── rows staged, or built in parts
//!   COPY (SELECT ...) TO '/data/out.csv' WITH (FORMAT csv)             COPY t TO STDOUT
//!   query ── writer ── file, written beside its place and renamed, or the client, row by row
//! ```
//!
//! 1. CSV: an unquoted field that equals the null string (by default: the empty one) is NULL, a quoted one is not,
//!    unless FORCE_NULL and FORCE_NOT_NULL say otherwise. Text: a field that is the null string (by default `\N`)
//!    before its backslashes are resolved.
//! 2. An error names the line and the column; nothing of the input is in the table then (the session rolls back).
//! 3. What a client has sent cannot be read twice: a COPY FROM STDIN is not run again after a conflict.

mod columns;
mod from;
mod json_document;
mod json_from;
mod json_lines;
mod json_to;
mod options;
mod reader;
mod source;
mod to;
mod tuples;
mod writer;

use sqlparser::ast::{CopySource, CopyTarget, Statement};
use weft_format::{Code, Error, Result};

use crate::context::StatementContext;
use crate::outcome::Outcome;
use crate::session::Client;
use options::CopyOptions;

/// Runs a COPY statement.
pub(crate) fn execute(
    context: &mut StatementContext<'_>,
    statement: &Statement,
    text: &str,
    client: &mut dyn Client,
) -> Result<Outcome> {
    let Statement::Copy { source, to, target, options, legacy_options, .. } = statement else {
        return Err(Error::internal("only COPY is run as COPY"));
    };
    let options = CopyOptions::read(options, legacy_options)?;
    let file = match target {
        CopyTarget::File { filename } => Some(filename.as_str()),
        CopyTarget::Stdin if !to => None,
        CopyTarget::Stdout if *to => None,
        CopyTarget::Program { .. } => {
            let error = Error::new(Code::FeatureNotSupported, "COPY with a PROGRAM is not supported");
            return Err(error.hint("run the program yourself and COPY FROM STDIN or TO STDOUT"));
        }
        CopyTarget::Stdin | CopyTarget::Stdout => {
            return Err(Error::new(Code::SyntaxError, "COPY reads FROM STDIN and writes TO STDOUT"));
        }
    };
    if options.force_array && !to {
        let error = Error::new(Code::FeatureNotSupported, "COPY FORCE_ARRAY cannot be used with COPY FROM");
        return Err(error.hint("leave it out: an array of rows is read as one"));
    }
    match (source, to) {
        (source, true) => to::copy_to(context, source, file, &options, text, client),
        (CopySource::Table { table_name, columns }, false) => {
            from::copy_from(context, table_name, columns, file, &options, client)
        }
        (CopySource::Query(_), false) => Err(Error::new(Code::SyntaxError, "COPY query FROM is not possible")),
    }
}

/// Whether a statement reads what its client sends.
pub(crate) fn reads_client(statement: &Statement) -> bool {
    matches!(statement, Statement::Copy { to: false, target: CopyTarget::Stdin, .. })
}
