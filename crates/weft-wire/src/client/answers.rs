//! The answers to a text of statements, as they come.

use weft_format::{Code, Error};

use super::connect::{Client, unexpected};
use super::report::{ClientError, Report, Result};
use crate::protocol::Fields;

/// How much of COPY FROM STDIN is gathered before it is sent, bytes.
const COPY_BYTES: usize = 64 << 10;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The OID of its type.
    pub oid: u32,
    /// Bytes of a value; negative: they differ.
    pub length: i16,
    /// The type's modifier; -1: none.
    pub modifier: i32,
}

/// One thing that the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A result begins.
    Columns(Vec<Column>),
    /// A row of it: values as text, none is NULL.
    Row(Vec<Option<String>>),
    /// A statement has ended: its tag, `SELECT 1`.
    Complete(String),
    /// The text had no statement.
    Empty,
    /// What a statement tells beside its answer.
    Notice(Report),
    /// COPY TO STDOUT begins; whether its bytes are binary.
    CopyOut(bool),
    /// The next bytes of COPY TO STDOUT, in text form one row.
    CopyData(Vec<u8>),
    /// COPY TO STDOUT has sent its last row.
    CopyDone,
    /// COPY FROM STDIN waits for bytes: [`Answers::copy_data`] and [`Answers::copy_end`] must follow.
    CopyIn(bool),
}

/// What a statement returned, collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Its columns; none for a statement without rows.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Option<String>>>,
    /// Its tag.
    pub tag: String,
}

impl Client {
    /// Runs a text of statements; their answers come one after the other.
    pub fn simple(&mut self, sql: &str) -> Result<Answers<'_>> {
        Answers::begin(self, sql)
    }

    /// Runs a text of statements and collects what they return.
    pub fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>> {
        self.simple(sql)?.collect()
    }

    /// Runs `COPY ... TO STDOUT` and hands on its bytes as they come; returns the tag, `COPY 3`.
    pub fn copy_out(&mut self, sql: &str, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<String> {
        self.simple(sql)?.copy_out(each)
    }

    /// Sends a statement after which the connection carries CopyData both ways, and nothing else: on the
    /// [channel](Client::channel) from then on.
    pub fn copy_both(&mut self, sql: &str) -> Result<()> {
        let mut answers = self.simple(sql)?;
        loop {
            let (tag, body) = answers.client.message().inspect_err(|_| answers.ended = true)?;
            match tag {
                b'W' => {
                    answers.ended = true;
                    return Ok(());
                }
                b'N' => answers.client.notices.push(Report::read(&body)),
                b'E' => return Err(ClientError::Server(Box::new(Report::read(&body)))),
                other => return Err(unexpected(other).into()),
            }
        }
    }

    /// Begins `COPY ... FROM STDIN`.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>> {
        CopyIn::begin(self, sql)
    }
}

/// The answers that have not come yet. Dropping it reads and passes over what is left (client 2).
pub struct Answers<'a> {
    client: &'a mut Client,
    ended: bool,
}

impl<'a> Answers<'a> {
    pub(super) fn begin(client: &'a mut Client, sql: &str) -> Result<Answers<'a>> {
        if client.broken {
            let message = format!("the connection to {} is over", client.target().place());
            return Err(Error::new(Code::Io, message).hint("connect again").into());
        }
        if sql.contains('\0') {
            return Err(Error::new(Code::CharacterNotInRepertoire, "a statement cannot contain a zero byte").into());
        }
        client.channel.out.message(b'Q', |body| {
            body.extend_from_slice(sql.as_bytes());
            body.push(0);
        });
        let sent = client.channel.flush();
        client.broken |= sent.is_err();
        sent?;
        Ok(Answers { client, ended: false })
    }

    /// The next answer; none when all statements have ended. After an error of the server nothing more comes.
    #[allow(clippy::should_implement_trait, reason = "an error is no item: nothing comes after it")]
    pub fn next(&mut self) -> Result<Option<Answer>> {
        if self.ended {
            return Ok(None);
        }
        let (tag, body) = self.client.message().inspect_err(|_| self.ended = true)?;
        if tag == b'Z' {
            self.ended = true;
            self.client.status = body.first().copied().unwrap_or(b'I');
            return Ok(None);
        }
        match read(tag, &body) {
            Ok(answer) => Ok(Some(answer)),
            Err(error @ ClientError::Server(_)) => {
                self.drain();
                Err(error)
            }
            Err(error) => {
                self.ended = true;
                self.client.broken = true;
                Err(error)
            }
        }
    }

    /// The next bytes for COPY FROM STDIN.
    pub fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.client.channel.out.message(b'd', |body| body.extend_from_slice(bytes));
        if self.client.channel.out.len() >= COPY_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends COPY FROM STDIN; with a reason it fails with it.
    pub fn copy_end(&mut self, failure: Option<&str>) -> Result<()> {
        match failure {
            None => self.client.channel.out.empty(b'c'),
            Some(reason) => self.client.channel.out.message(b'f', |body| crate::protocol::text(body, reason)),
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        let sent = self.client.channel.flush();
        self.client.broken |= sent.is_err();
        Ok(sent?)
    }

    pub(super) fn collect(mut self) -> Result<Vec<ResultSet>> {
        let mut results = Vec::new();
        let mut current = ResultSet::default();
        while let Some(answer) = self.next()? {
            match answer {
                Answer::Columns(columns) => current.columns = columns,
                Answer::Row(row) => current.rows.push(row),
                Answer::Complete(tag) => {
                    current.tag = tag;
                    results.push(std::mem::take(&mut current));
                }
                Answer::Notice(notice) => self.client.notices.push(notice),
                Answer::CopyIn(_) => self.copy_end(Some("no bytes were given"))?,
                Answer::Empty | Answer::CopyOut(_) | Answer::CopyData(_) | Answer::CopyDone => {}
            }
        }
        Ok(results)
    }

    pub(super) fn copy_out(mut self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<String> {
        let mut tag = String::new();
        while let Some(answer) = self.next()? {
            match answer {
                Answer::CopyData(bytes) => each(&bytes)?,
                Answer::Complete(given) => tag = given,
                Answer::Notice(notice) => self.client.notices.push(notice),
                Answer::CopyIn(_) => self.copy_end(Some("no bytes were given"))?,
                Answer::CopyOut(_) | Answer::CopyDone | Answer::Columns(_) | Answer::Row(_) | Answer::Empty => {}
            }
        }
        Ok(tag)
    }

    /// Reads on until the server is ready.
    fn drain(&mut self) {
        while !self.ended && !self.client.broken {
            match self.client.message() {
                Ok((b'Z', body)) => {
                    self.ended = true;
                    self.client.status = body.first().copied().unwrap_or(b'I');
                }
                Ok((b'G', _)) => {
                    if self.copy_end(Some("nobody gives bytes")).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

impl Drop for Answers<'_> {
    fn drop(&mut self) {
        self.drain();
    }
}

/// COPY FROM STDIN that takes bytes. Dropping it without [`CopyIn::finish`] makes it fail.
pub struct CopyIn<'a> {
    answers: Answers<'a>,
    binary: bool,
    open: bool,
}

impl<'a> CopyIn<'a> {
    pub(super) fn begin(client: &'a mut Client, sql: &str) -> Result<CopyIn<'a>> {
        let mut answers = client.simple(sql)?;
        loop {
            match answers.next()? {
                Some(Answer::CopyIn(binary)) => return Ok(CopyIn { answers, binary, open: true }),
                Some(Answer::Notice(notice)) => answers.client.notices.push(notice),
                Some(Answer::CopyOut(_)) | Some(Answer::Columns(_)) | None => {
                    return Err(Error::new(Code::InvalidParameterValue, "the statement is no COPY FROM STDIN").into());
                }
                Some(_) => {}
            }
        }
    }

    /// Whether the server expects PostgreSQL's binary form.
    pub fn is_binary(&self) -> bool {
        self.binary
    }

    /// The next bytes; they may end anywhere in a row.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.answers.copy_data(bytes)
    }

    /// Ends it and returns the tag, `COPY 3`.
    pub fn finish(mut self) -> Result<String> {
        self.open = false;
        self.answers.copy_end(None)?;
        let mut tag = String::new();
        while let Some(answer) = self.answers.next()? {
            match answer {
                Answer::Complete(given) => tag = given,
                Answer::Notice(notice) => self.answers.client.notices.push(notice),
                _ => {}
            }
        }
        Ok(tag)
    }
}

impl Drop for CopyIn<'_> {
    fn drop(&mut self) {
        if self.open {
            // What is left is read when the answers are dropped; a connection that is broken is not read.
            let _ = self.answers.copy_end(Some("the client gave up"));
        }
    }
}

fn read(tag: u8, body: &[u8]) -> Result<Answer> {
    let mut fields = Fields::new(body);
    Ok(match tag {
        b'T' => Answer::Columns(fields.counted(column)?),
        b'D' => Answer::Row(fields.counted(value)?),
        b'C' => Answer::Complete(fields.text()?.to_owned()),
        b'I' => Answer::Empty,
        b'N' => Answer::Notice(Report::read(body)),
        b'E' => return Err(ClientError::Server(Box::new(Report::read(body)))),
        b'G' => Answer::CopyIn(fields.u8()? == 1),
        b'H' => Answer::CopyOut(fields.u8()? == 1),
        b'd' => Answer::CopyData(body.to_vec()),
        b'c' => Answer::CopyDone,
        other => return Err(unexpected(other).into()),
    })
}

fn column(fields: &mut Fields<'_>) -> weft_format::Result<Column> {
    let name = fields.text()?.to_owned();
    fields.bytes(6)?;
    let (oid, length, modifier) = (fields.u32()?, fields.i16()?, fields.i32()?);
    fields.i16()?;
    Ok(Column { name, oid, length, modifier })
}

fn value(fields: &mut Fields<'_>) -> weft_format::Result<Option<String>> {
    let length = fields.i32()?;
    if length == -1 {
        return Ok(None);
    }
    let length = usize::try_from(length).map_err(|_| crate::protocol::violation("a value has a negative length"))?;
    let bytes = fields.bytes(length)?;
    let text = std::str::from_utf8(bytes).map_err(|_| crate::protocol::violation("a value is not UTF-8"))?;
    Ok(Some(text.to_owned()))
}
