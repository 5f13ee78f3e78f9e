//! The parts of definitions as bytes: numbers, texts, lists, types.
//!
//! ```text
//!   text "id"       02 00 00 00  69 64
//!   none, "x"       00           01  01 00 00 00  78
//!   numeric(10,2)   07 0a 02
//! ```

use weft_format::{Code, DataType, Error, Result};

use weft_contract::FkAction;

/// First byte of an encoded definition and of an encoded catalog.
pub(super) const FORMAT_VERSION: u8 = 6;
pub(super) fn put_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_le_bytes());
}

pub(super) fn put_count(bytes: &mut Vec<u8>, count: usize) {
    put_u32(bytes, u32::try_from(count).expect("definitions have fewer than 2^32 parts"));
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_count(bytes, text.len());
    bytes.extend(text.as_bytes());
}

pub(super) fn put_optional(bytes: &mut Vec<u8>, text: Option<&str>) {
    bytes.push(u8::from(text.is_some()));
    if let Some(text) = text {
        put_text(bytes, text);
    }
}

pub(super) fn put_pairs<'a>(bytes: &mut Vec<u8>, pairs: impl ExactSizeIterator<Item = (&'a String, &'a String)>) {
    put_count(bytes, pairs.len());
    for (name, value) in pairs {
        put_text(bytes, name);
        put_text(bytes, value);
    }
}

pub(super) fn put_type(bytes: &mut Vec<u8>, data_type: DataType) {
    match data_type {
        DataType::Boolean => bytes.push(1),
        DataType::SmallInt => bytes.push(2),
        DataType::Integer => bytes.push(3),
        DataType::BigInt => bytes.push(4),
        DataType::Real => bytes.push(5),
        DataType::DoublePrecision => bytes.push(6),
        DataType::Numeric { precision, scale } => bytes.extend([7, precision, scale]),
        DataType::Text => bytes.push(8),
        DataType::Varchar(limit) => {
            bytes.push(9);
            put_u32(bytes, limit);
        }
        DataType::Date => bytes.push(10),
        DataType::Timestamp => bytes.push(11),
        DataType::TimestampTz => bytes.push(12),
        other => bytes.extend(other.code()),
    }
}

pub(super) fn damaged(what: String) -> Error {
    Error::corrupt(format!("a catalog entry is damaged: {what}")).hint("restore the directory from a backup")
}

/// What is left to read.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Input<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(damaged(format!("{count} bytes expected, {} are left", self.bytes.len())));
        };
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A count of items of at least one byte each.
    pub(super) fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.bytes.len() {
            return Err(damaged(format!("{count} items in {} bytes", self.bytes.len())));
        }
        Ok(count)
    }

    pub(super) fn flag(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(damaged(format!("a flag is {other}"))),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let count = self.u32()? as usize;
        let bytes = self.take(count)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| damaged("a text is not UTF-8".into()))
    }

    pub(super) fn optional(&mut self) -> Result<Option<String>> {
        if self.flag()? { self.text().map(Some) } else { Ok(None) }
    }

    pub(super) fn pairs(&mut self) -> Result<Vec<(String, String)>> {
        let mut pairs = Vec::new();
        for _ in 0..self.count()? {
            pairs.push((self.text()?, self.text()?));
        }
        Ok(pairs)
    }

    pub(super) fn action(&mut self) -> Result<FkAction> {
        Ok(match self.u8()? {
            0 => FkAction::NoAction,
            1 => FkAction::Restrict,
            2 => FkAction::Cascade,
            3 => FkAction::SetNull,
            other => return Err(damaged(format!("the action of a foreign key is {other}"))),
        })
    }

    pub(super) fn version(&mut self) -> Result<u8> {
        let version = self.u8()?;
        if !(1..=FORMAT_VERSION).contains(&version) {
            let message =
                format!("a catalog entry has format version {version}, this release reads 1 to {FORMAT_VERSION}");
            return Err(
                Error::new(Code::VersionMismatch, message).hint("open the directory with the release that wrote it")
            );
        }
        Ok(version)
    }

    pub(super) fn data_type(&mut self) -> Result<DataType> {
        Ok(match self.u8()? {
            1 => DataType::Boolean,
            2 => DataType::SmallInt,
            3 => DataType::Integer,
            4 => DataType::BigInt,
            5 => DataType::Real,
            6 => DataType::DoublePrecision,
            7 => {
                let [precision, scale] = self.array()?;
                if precision == 0 || precision > 38 || scale > precision {
                    return Err(damaged(format!("numeric({precision},{scale})")));
                }
                DataType::Numeric { precision, scale }
            }
            8 => DataType::Text,
            9 => DataType::Varchar(self.u32()?),
            10 => DataType::Date,
            11 => DataType::Timestamp,
            12 => DataType::TimestampTz,
            tag => {
                let [a, b, c, d, e, f, g] = self.array()?;
                let code = [tag, a, b, c, d, e, f, g];
                DataType::from_code(code).map_err(|error| damaged(error.message().into()))?
            }
        })
    }
}
