//! Where COPY reads from: a file of the server, or the client.

use std::path::Path;
use std::sync::Arc;

use weft_env::{Env, File, OpenMode};
use weft_format::{Error, Result};

use super::options::{CopyOptions, Form};
use crate::session::{Client, CopyFormat};

const STEP_BYTES: usize = 1 << 20;

/// A source, and the step of it that is read.
pub(super) struct Steps<'a> {
    pub(super) source: Source<'a>,
    pub(super) buffer: Vec<u8>,
    /// Where in the buffer the next byte is.
    pub(super) at: usize,
    ended: bool,
}

impl<'a> Steps<'a> {
    /// The first step; a byte order mark is passed over.
    pub(super) fn new(source: Source<'a>) -> Result<Steps<'a>> {
        let mut steps = Steps { source, buffer: Vec::new(), at: 0, ended: false };
        steps.fill()?;
        if steps.buffer.starts_with(&[0xef, 0xbb, 0xbf]) {
            steps.at = 3;
        }
        Ok(steps)
    }

    /// Reads on; false at the end of the source.
    pub(super) fn fill(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.clear();
        self.at = 0;
        self.ended = !self.source.read(&mut self.buffer)?;
        Ok(!self.ended)
    }

    /// The next byte, which stays the next; none at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        if self.at == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }
}

/// Bytes, in large steps.
pub(super) enum Source<'a> {
    /// A file, and how far it was read.
    File(Arc<dyn File>, String, u64),
    /// What the client sends, and whether it has said that this is all.
    Client(&'a mut dyn Client, bool),
}

impl<'a> Source<'a> {
    /// A file of the server.
    pub(super) fn file(env: &Env, name: &str) -> Result<Source<'a>> {
        let file = env.fs.open(Path::new(name), OpenMode::Read);
        let file = file.map_err(|error| Error::io(format!("could not open file {name:?} for reading"), &error))?;
        Ok(Source::File(file, name.into(), 0))
    }

    /// The client, which is told to begin.
    pub(super) fn client(client: &'a mut dyn Client, options: &CopyOptions, columns: usize) -> Result<Source<'a>> {
        client.begin_copy_in(format_of(options), columns_of(options, columns))?;
        Ok(Source::Client(client, false))
    }

    /// Appends the next bytes; false at their end.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        match self {
            Source::Client(client, ended) => {
                let start = buffer.len();
                // A client may send messages without bytes, or one for each row.
                while !*ended && buffer.len() - start < STEP_BYTES / 16 {
                    *ended = !client.copy_in(buffer)?;
                }
                Ok(buffer.len() > start)
            }
            Source::File(file, name, offset) => {
                let start = buffer.len();
                buffer.resize(start + STEP_BYTES, 0);
                let read = file.read_at(&mut buffer[start..], *offset);
                let count = read.map_err(|error| Error::io(format!("reading {name:?}"), &error))?;
                buffer.truncate(start + count);
                *offset += count as u64;
                Ok(count > 0)
            }
        }
    }

    /// How errors call it.
    pub(super) fn name(&self) -> &str {
        match self {
            Source::Client(..) => "STDIN",
            Source::File(_, name, _) => name,
        }
    }
}

/// What the client is told of the bytes.
pub(super) fn format_of(options: &CopyOptions) -> CopyFormat {
    match options.form {
        Form::Binary => CopyFormat::Binary,
        Form::Text | Form::Csv | Form::Json | Form::JsonDocument => CopyFormat::Text,
    }
}

/// How many columns the client is told of: a row of JSON is one.
pub(super) fn columns_of(options: &CopyOptions, columns: usize) -> usize {
    if matches!(options.form, Form::Json | Form::JsonDocument) { 1 } else { columns }
}
