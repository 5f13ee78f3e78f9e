//! What a server tells of an error or a notice, and what can go wrong on this side.

use std::fmt;

use crate::protocol::Fields;

/// An ErrorResponse or a NoticeResponse with all its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    fields: Vec<(u8, String)>,
}

impl Report {
    /// Reads the fields of a message's body; what cannot be read ends them.
    pub fn read(body: &[u8]) -> Report {
        let mut fields = Fields::new(body);
        let mut read = Vec::new();
        while let Ok(tag @ 1..) = fields.u8() {
            let Ok(text) = fields.text() else { break };
            read.push((tag, text.to_owned()));
        }
        Report { fields: read }
    }

    /// A field by the letter that the protocol gives it (PostgreSQL's manual, 55.8).
    pub fn field(&self, tag: char) -> Option<&str> {
        self.fields.iter().find(|(known, _)| char::from(*known) == tag).map(|(_, text)| text.as_str())
    }

    /// All fields with their letters, as they came.
    pub fn fields(&self) -> impl Iterator<Item = (char, &str)> {
        self.fields.iter().map(|(tag, text)| (char::from(*tag), text.as_str()))
    }

    /// ERROR, FATAL, NOTICE, WARNING, ...
    pub fn severity(&self) -> &str {
        self.field('V').or(self.field('S')).unwrap_or("ERROR")
    }

    /// Five characters; empty when the server gave none.
    pub fn sqlstate(&self) -> &str {
        self.field('C').unwrap_or("")
    }

    /// What happened.
    pub fn message(&self) -> &str {
        self.field('M').unwrap_or("")
    }

    /// More about it.
    pub fn detail(&self) -> Option<&str> {
        self.field('D')
    }

    /// The remedy.
    pub fn hint(&self) -> Option<&str> {
        self.field('H')
    }

    /// Characters from the start of the statement, counted from 1.
    pub fn position(&self) -> Option<usize> {
        self.field('P')?.parse().ok()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message(), self.sqlstate())?;
        if let Some(detail) = self.detail() {
            write!(f, "; detail: {detail}")?;
        }
        match self.hint() {
            Some(hint) => write!(f, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// Why a statement or a connection failed.
#[derive(Clone, Debug)]
pub enum ClientError {
    /// The server said so.
    Server(Box<Report>),
    /// The connection, or what was asked of it.
    Local(weft_format::Error),
}

/// The result of everything that a client does.
pub type Result<T> = std::result::Result<T, ClientError>;

impl ClientError {
    /// Five characters.
    pub fn sqlstate(&self) -> &str {
        match self {
            ClientError::Server(report) => report.sqlstate(),
            ClientError::Local(error) => error.sqlstate(),
        }
    }

    /// What happened.
    pub fn message(&self) -> &str {
        match self {
            ClientError::Server(report) => report.message(),
            ClientError::Local(error) => error.message(),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Server(report) => report.fmt(f),
            ClientError::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<weft_format::Error> for ClientError {
    fn from(error: weft_format::Error) -> ClientError {
        ClientError::Local(error)
    }
}
