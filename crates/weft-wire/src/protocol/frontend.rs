//! What clients send once they are let in.

use weft_format::Result;

use super::{Fields, violation};

/// A message of a client. Texts and values lie in its body.
#[derive(Debug, PartialEq)]
pub enum Frontend<'a> {
    /// A text of statements, answered in full.
    Query(&'a str),
    /// Makes a prepared statement.
    Parse {
        /// Its name; empty: the unnamed one.
        name: &'a str,
        /// One statement, or none.
        sql: &'a str,
        /// OIDs of the types of the first parameters; 0: the server finds out.
        types: Vec<u32>,
    },
    /// Makes a portal: a prepared statement with the values of its parameters.
    Bind {
        /// The portal's name; empty: the unnamed one.
        portal: &'a str,
        /// The statement's name.
        statement: &'a str,
        /// 0 text, 1 binary: none = all text, one = all that, else one per parameter.
        formats: Vec<i16>,
        /// The values; none is NULL.
        values: Vec<Option<&'a [u8]>>,
        /// Formats of the columns of the result, in the same way.
        results: Vec<i16>,
    },
    /// Asks what a statement takes and gives, or a portal gives.
    Describe(Target<'a>),
    /// Runs a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// The most rows; 0: all.
        rows_max: u32,
    },
    /// Forgets a statement or portal.
    Close(Target<'a>),
    /// Asks for what was answered so far.
    Flush,
    /// Ends a series of messages and the transaction they made.
    Sync,
    /// Ends the connection.
    Terminate,
    /// Bytes of COPY FROM STDIN.
    CopyData(&'a [u8]),
    /// The end of COPY FROM STDIN.
    CopyDone,
    /// COPY FROM STDIN fails at the client's wish.
    CopyFail(&'a str),
    /// The answer to an authentication request.
    Password(&'a [u8]),
}

/// What Describe and Close are about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'a> {
    /// A prepared statement.
    Statement(&'a str),
    /// A portal.
    Portal(&'a str),
}

/// Whether there is a message of this type; behind any other nothing can be read.
pub fn is_known(tag: u8) -> bool {
    b"QPBDECHSXdcfp".contains(&tag)
}

/// Reads a message from its tag and its body.
pub fn decode(tag: u8, body: &[u8]) -> Result<Frontend<'_>> {
    let mut fields = Fields::new(body);
    let f = &mut fields;
    let message = match tag {
        b'Q' => Frontend::Query(f.text()?),
        b'P' => Frontend::Parse { name: f.text()?, sql: f.text()?, types: f.counted(Fields::u32)? },
        b'B' => Frontend::Bind {
            portal: f.text()?,
            statement: f.text()?,
            formats: f.counted(format)?,
            values: f.counted(value)?,
            results: f.counted(format)?,
        },
        b'D' => Frontend::Describe(target(f)?),
        b'E' => Frontend::Execute { portal: f.text()?, rows_max: u32::try_from(f.i32()?).unwrap_or(0) },
        b'C' => Frontend::Close(target(f)?),
        b'H' => Frontend::Flush,
        b'S' => Frontend::Sync,
        b'X' => Frontend::Terminate,
        b'd' => return Ok(Frontend::CopyData(body)),
        b'c' => Frontend::CopyDone,
        b'f' => Frontend::CopyFail(f.text()?),
        b'p' => return Ok(Frontend::Password(body)),
        other => return Err(violation(format!("there is no message of type {:?}", char::from(other)))),
    };
    fields.end()?;
    Ok(message)
}

fn format(fields: &mut Fields<'_>) -> Result<i16> {
    match fields.i16()? {
        known @ (0 | 1) => Ok(known),
        other => Err(violation(format!("unsupported format code: {other}"))),
    }
}

fn value<'a>(fields: &mut Fields<'a>) -> Result<Option<&'a [u8]>> {
    match fields.i32()? {
        -1 => Ok(None),
        length => {
            let length = usize::try_from(length).map_err(|_| violation("a parameter has a negative length"))?;
            fields.bytes(length).map(Some)
        }
    }
}

fn target<'a>(fields: &mut Fields<'a>) -> Result<Target<'a>> {
    match fields.u8()? {
        b'S' => Ok(Target::Statement(fields.text()?)),
        b'P' => Ok(Target::Portal(fields.text()?)),
        other => Err(violation(format!("invalid message subtype {other}"))),
    }
}
