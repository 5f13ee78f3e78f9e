//! The client of a running statement: rows go out while it runs, COPY reads and writes in between.

use std::sync::Arc;

use weft::{Outcome, OutputColumn, Rows, Style};
use weft_format::{Code, Error, Result};
use weft_sql::{Client, CopyFormat, Notice};

use super::rows;
use crate::types::Format;
use weft_wire::net::Channel;
use weft_wire::protocol::{Frontend, decode, violation};

/// Where a statement's answers go.
pub(super) struct Sink<'a> {
    channel: &'a mut Channel,
    formats: &'a [Format],
    /// The simple protocol: columns are described before the rows.
    describes: bool,
    /// RowDescription of the statement that runs is written.
    described: bool,
    /// Rows are wanted in the outcome.
    collects: bool,
    statements: usize,
    /// What values are shown in.
    style: Style,
    text: String,
}

impl<'a> Sink<'a> {
    /// A sink that writes into a channel.
    pub(super) fn new(channel: &'a mut Channel, formats: &'a [Format], describes: bool) -> Sink<'a> {
        Sink {
            channel,
            formats,
            describes,
            described: false,
            collects: false,
            statements: 0,
            style: Style::default(),
            text: String::new(),
        }
    }

    /// Leaves rows in the outcome: those of a portal that may be suspended.
    pub(super) fn collecting(mut self) -> Sink<'a> {
        self.collects = true;
        self
    }

    /// How many statements have ended.
    pub(super) fn statements(&self) -> usize {
        self.statements
    }

    fn describe(&mut self, columns: &Arc<[OutputColumn]>) {
        if self.describes && !self.described {
            rows::describe(&mut self.channel.out, columns, self.formats);
            self.described = true;
        }
    }
}

impl Client for Sink<'_> {
    fn takes_rows(&self) -> bool {
        !self.collects
    }

    fn begin(&mut self, style: &Style) {
        self.style.clone_from(style);
    }

    fn rows(&mut self, columns: &Arc<[OutputColumn]>, rows: &Rows) -> Result<()> {
        self.describe(columns);
        for row in 0..rows.len() {
            rows::write_row(&mut self.channel.out, columns, rows, row, (self.formats, &self.style), &mut self.text);
            if self.channel.wants_flush() {
                self.channel.flush()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<()> {
        if !outcome.columns.is_empty() {
            self.describe(&outcome.columns);
            self.rows(&outcome.columns, &outcome.rows)?;
        }
        self.channel.out.complete(&outcome.tag.to_string());
        self.described = false;
        self.statements += 1;
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<()> {
        self.channel.out.notice(notice);
        Ok(())
    }

    fn begin_copy_in(&mut self, format: CopyFormat, columns: usize) -> Result<()> {
        self.channel.out.copy_response(b'G', code(format), columns);
        self.channel.flush()
    }

    fn copy_in(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        loop {
            let Some(frame) = self.channel.read()? else {
                return Err(Error::new(Code::Io, "the client went in the middle of COPY FROM STDIN"));
            };
            match decode(frame.tag, self.channel.body(&frame))? {
                Frontend::CopyData(data) => {
                    bytes.extend_from_slice(data);
                    return Ok(true);
                }
                Frontend::CopyDone => return Ok(false),
                Frontend::CopyFail(message) => {
                    return Err(Error::new(Code::QueryCanceled, format!("COPY from stdin failed: {message}")));
                }
                // As PostgreSQL: clients send these with the extended protocol.
                Frontend::Flush | Frontend::Sync => {}
                _ => return Err(violation("unexpected message type during COPY from stdin")),
            }
        }
    }

    fn begin_copy_out(&mut self, format: CopyFormat, columns: usize) -> Result<()> {
        self.channel.out.copy_response(b'H', code(format), columns);
        Ok(())
    }

    fn copy_out(&mut self, bytes: &[u8]) -> Result<()> {
        self.channel.out.copy_data(bytes);
        if self.channel.wants_flush() {
            self.channel.flush()?;
        }
        Ok(())
    }

    fn end_copy_out(&mut self) -> Result<()> {
        self.channel.out.empty(b'c');
        Ok(())
    }
}

fn code(format: CopyFormat) -> i16 {
    match format {
        CopyFormat::Text => 0,
        CopyFormat::Binary => 1,
    }
}
