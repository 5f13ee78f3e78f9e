//! What the server sends: messages written one after the other into one buffer.

use weft_format::{Code, Error};
use weft_sql::Notice;

/// Bytes that wait to be sent.
#[derive(Default)]
pub struct Out {
    bytes: Vec<u8>,
}

/// A column of a result, as RowDescription tells it.
pub struct Described<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type's OID.
    pub oid: u32,
    /// Bytes of a value; negative: they differ.
    pub length: i16,
    /// The type's modifier; -1: none.
    pub modifier: i32,
    /// 0 text, 1 binary.
    pub format: i16,
}

/// What ReadyForQuery says of the session's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// There is none.
    Idle = b'I' as isize,
    /// It is open.
    Open = b'T' as isize,
    /// It is open and has failed.
    Failed = b'E' as isize,
}

impl Out {
    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the bytes; a buffer that grew large is given back.
    pub fn clear(&mut self) {
        const KEPT_BYTES_MAX: usize = 1 << 18;
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
    }

    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes a message: its tag, its length, and the body that `body` writes.
    pub fn message(&mut self, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(tag);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - start).expect("a message is shorter than 4 GiB");
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// One byte outside of any message: the answer to a request for encryption.
    pub fn plain_byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A packet without a tag: what a client sends first.
    pub fn packet(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - start).expect("a packet is shorter than 4 GiB");
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// AuthenticationOk
    pub fn authentication_ok(&mut self) {
        self.authentication(0, |_| {});
    }

    /// An authentication request of a kind, with its data.
    pub fn authentication(&mut self, kind: u32, data: impl FnOnce(&mut Vec<u8>)) {
        self.message(b'R', |body| {
            body.extend_from_slice(&kind.to_be_bytes());
            data(body);
        });
    }

    /// ParameterStatus
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    /// BackendKeyData
    pub fn key_data(&mut self, id: u32, secret: &[u8]) {
        self.message(b'K', |body| {
            body.extend_from_slice(&id.to_be_bytes());
            body.extend_from_slice(secret);
        });
    }

    /// NegotiateProtocolVersion: the newest minor version that is spoken, and the options nobody knows.
    pub fn negotiate(&mut self, minor: u16, unknown: &[&str]) {
        self.message(b'v', |body| {
            body.extend_from_slice(&(3 << 16 | u32::from(minor)).to_be_bytes());
            body.extend_from_slice(&(unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| text(body, name));
        });
    }

    /// ReadyForQuery
    pub fn ready(&mut self, status: TransactionStatus) {
        self.message(b'Z', |body| body.push(status as u8));
    }

    /// A message without a body: ParseComplete `1`, BindComplete `2`, CloseComplete `3`, NoData `n`,
    /// EmptyQueryResponse `I`, PortalSuspended `s`, CopyDone `c`.
    pub fn empty(&mut self, tag: u8) {
        self.message(tag, |_| {});
    }

    /// CommandComplete
    pub fn complete(&mut self, tag: &str) {
        self.message(b'C', |body| text(body, tag));
    }

    /// RowDescription
    pub fn row_description<'a>(&mut self, columns: impl ExactSizeIterator<Item = Described<'a>>) {
        self.message(b'T', |body| {
            body.extend_from_slice(&(columns.len() as u16).to_be_bytes());
            for column in columns {
                text(body, column.name);
                // Neither the table nor the column in it are told.
                body.extend_from_slice(&[0; 6]);
                body.extend_from_slice(&column.oid.to_be_bytes());
                body.extend_from_slice(&column.length.to_be_bytes());
                body.extend_from_slice(&column.modifier.to_be_bytes());
                body.extend_from_slice(&column.format.to_be_bytes());
            }
        });
    }

    /// ParameterDescription
    pub fn parameters(&mut self, oids: &[u32]) {
        self.message(b't', |body| {
            body.extend_from_slice(&(oids.len() as u16).to_be_bytes());
            oids.iter().for_each(|oid| body.extend_from_slice(&oid.to_be_bytes()));
        });
    }

    /// CopyInResponse `G` or CopyOutResponse `H`: `columns` columns in one format.
    pub fn copy_response(&mut self, tag: u8, format: i16, columns: usize) {
        self.message(tag, |body| {
            body.push(format as u8);
            body.extend_from_slice(&(columns as u16).to_be_bytes());
            (0..columns).for_each(|_| body.extend_from_slice(&format.to_be_bytes()));
        });
    }

    /// CopyData
    pub fn copy_data(&mut self, bytes: &[u8]) {
        self.message(b'd', |body| body.extend_from_slice(bytes));
    }

    /// ErrorResponse; `severity` is ERROR or FATAL.
    pub fn error(&mut self, severity: &str, error: &Error) {
        self.message(b'E', |body| {
            report(body, severity, error.sqlstate(), error.message());
            for (tag, text) in [(b'D', error.detail_text()), (b'H', error.hint_text())] {
                if let Some(text) = text {
                    field(body, tag, text);
                }
            }
            if let Some(position) = error.position() {
                field(body, b'P', &position.to_string());
            }
            if error.table().is_some() {
                field(body, b's', "public");
            }
            for (tag, name) in [(b't', error.table()), (b'c', error.column()), (b'n', error.constraint())] {
                if let Some(name) = name {
                    field(body, tag, name);
                }
            }
            body.push(0);
        });
    }

    /// NoticeResponse
    pub fn notice(&mut self, notice: &Notice) {
        self.message(b'N', |body| {
            report(body, &notice.severity.to_string(), notice.sqlstate, &notice.message);
            for (tag, text) in [(b'D', &notice.detail), (b'H', &notice.hint)] {
                if let Some(text) = text {
                    field(body, tag, text);
                }
            }
            body.push(0);
        });
    }

    /// A refusal before the session begins.
    pub fn fatal(&mut self, error: &Error) {
        self.error("FATAL", error);
    }
}

fn report(body: &mut Vec<u8>, severity: &str, code: &str, message: &str) {
    field(body, b'S', severity);
    field(body, b'V', severity);
    field(body, b'C', code);
    field(body, b'M', message);
}

fn field(body: &mut Vec<u8>, tag: u8, value: &str) {
    body.push(tag);
    text(body, value);
}

/// A text and the zero byte behind it; zero bytes inside are left out.
pub fn text(body: &mut Vec<u8>, value: &str) {
    body.extend(value.bytes().filter(|&byte| byte != 0));
    body.push(0);
}

/// Whether the connection cannot go on after this error. A message whose body is wrong was read to its end, so what
/// follows it can be read.
pub fn is_fatal(error: &Error) -> bool {
    matches!(
        error.code(),
        Code::ShuttingDown
            | Code::IdleInTransaction
            | Code::InvalidPassword
            | Code::InvalidAuthorization
            | Code::UndefinedDatabase
    )
}
