//! Who a statement runs for: where its rows go while it runs, and where COPY reads and writes.
//!
//! ```text
//!   server     rows go out batch by batch; COPY ... FROM STDIN asks for the next bytes
//!   embedded   rows come back in the outcome; there is no STDIN
//! ```
//!
//! 1. What was handed to a client cannot be taken back: a statement that has handed something over is not run again.

use std::sync::Arc;

use weft_expr::Style;
use weft_format::{Code, Error, Result};

use crate::notice::Notice;
use crate::outcome::{Outcome, OutputColumn, Rows};

/// The format of the bytes of a COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Text or CSV.
    Text,
    /// PostgreSQL's binary form.
    Binary,
}

/// The other side of a session.
pub trait Client {
    /// Whether rows are taken while the statement runs; else they come back in its outcome.
    fn takes_rows(&self) -> bool;

    /// A statement begins, whose values are shown in this style.
    fn begin(&mut self, style: &Style);

    /// The next rows of a query. All calls of one statement have the same columns; a query without rows has no call.
    fn rows(&mut self, columns: &Arc<[OutputColumn]>, rows: &Rows) -> Result<()>;

    /// A statement has ended; rows that were not taken before are in its outcome.
    fn finish(&mut self, outcome: &Outcome) -> Result<()>;

    /// What a statement tells beside its answer.
    fn notice(&mut self, notice: &Notice) -> Result<()>;

    /// COPY FROM STDIN begins, with so many columns.
    fn begin_copy_in(&mut self, format: CopyFormat, columns: usize) -> Result<()>;

    /// Appends the next bytes of COPY FROM STDIN; false at their end.
    fn copy_in(&mut self, bytes: &mut Vec<u8>) -> Result<bool>;

    /// COPY TO STDOUT begins, with so many columns.
    fn begin_copy_out(&mut self, format: CopyFormat, columns: usize) -> Result<()>;

    /// The next row of COPY TO STDOUT.
    fn copy_out(&mut self, bytes: &[u8]) -> Result<()>;

    /// COPY TO STDOUT has written its last row.
    fn end_copy_out(&mut self) -> Result<()>;
}

/// The client of embedded sessions.
pub(crate) struct Embedded;

impl Client for Embedded {
    fn takes_rows(&self) -> bool {
        false
    }

    fn begin(&mut self, _: &Style) {}

    fn rows(&mut self, _: &Arc<[OutputColumn]>, _: &Rows) -> Result<()> {
        Err(Error::internal("an embedded session takes its rows from the outcome"))
    }

    fn finish(&mut self, _: &Outcome) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<()> {
        Ok(())
    }

    fn begin_copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Err(no_stream("COPY FROM STDIN"))
    }

    fn copy_in(&mut self, _: &mut Vec<u8>) -> Result<bool> {
        Err(no_stream("COPY FROM STDIN"))
    }

    fn begin_copy_out(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Err(no_stream("COPY TO STDOUT"))
    }

    fn copy_out(&mut self, _: &[u8]) -> Result<()> {
        Err(no_stream("COPY TO STDOUT"))
    }

    fn end_copy_out(&mut self) -> Result<()> {
        Err(no_stream("COPY TO STDOUT"))
    }
}

fn no_stream(what: &str) -> Error {
    let message = format!("{what} needs a client: an embedded session has no input or output stream");
    Error::new(Code::FeatureNotSupported, message).hint("give a file name: COPY t FROM '/path/file.csv'")
}
