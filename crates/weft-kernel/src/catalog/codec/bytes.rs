//! The parts of definitions as bytes, beside those that everything has ([`weft_format::wire`]).

use weft_format::wire::{ByteReader, put_bytes, put_count};
use weft_format::{Code, DataType, Error, Result};

use weft_contract::FkAction;

/// First byte of an encoded definition.
pub(super) const FORMAT_VERSION: u8 = 8;

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_bytes(bytes, text.as_bytes());
}

pub(super) fn put_pairs<'a>(bytes: &mut Vec<u8>, pairs: impl ExactSizeIterator<Item = (&'a String, &'a String)>) {
    put_count(bytes, pairs.len());
    for (name, value) in pairs {
        put_text(bytes, name);
        put_text(bytes, value);
    }
}

pub(super) fn damaged(what: String) -> Error {
    Error::corrupt(format!("a catalog entry is damaged: {what}")).hint("restore the directory from a backup")
}

/// All of some bytes of the catalog.
pub(super) fn reader(bytes: &[u8]) -> ByteReader<'_> {
    ByteReader::new(bytes, |what| damaged(what.to_owned()))
}

pub(super) fn read_text(input: &mut ByteReader<'_>) -> Result<String> {
    input.text().map(str::to_owned)
}

pub(super) fn read_optional(input: &mut ByteReader<'_>) -> Result<Option<String>> {
    Ok(input.optional()?.map(str::to_owned))
}

pub(super) fn read_pairs(input: &mut ByteReader<'_>) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for _ in 0..input.count()? {
        pairs.push((read_text(input)?, read_text(input)?));
    }
    Ok(pairs)
}

pub(super) fn read_type(input: &mut ByteReader<'_>) -> Result<DataType> {
    match input.data_type()? {
        DataType::Numeric { precision, scale } if precision == 0 || precision > 38 || scale > precision => {
            Err(damaged(format!("numeric({precision},{scale})")))
        }
        data_type => Ok(data_type),
    }
}

pub(super) fn read_action(input: &mut ByteReader<'_>) -> Result<FkAction> {
    Ok(match input.u8()? {
        0 => FkAction::NoAction,
        1 => FkAction::Restrict,
        2 => FkAction::Cascade,
        3 => FkAction::SetNull,
        4 => FkAction::SetDefault,
        other => return Err(damaged(format!("the action of a foreign key is {other}"))),
    })
}

/// The first byte of what exists in versions up to `newest`.
pub(super) fn read_version(input: &mut ByteReader<'_>, newest: u8) -> Result<u8> {
    let version = input.u8()?;
    if !(1..=newest).contains(&version) {
        let message = format!("a catalog entry has format version {version}, this release reads 1 to {newest}");
        return Err(
            Error::new(Code::VersionMismatch, message).hint("open the directory with the release that wrote it")
        );
    }
    Ok(version)
}
