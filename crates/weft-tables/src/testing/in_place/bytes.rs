//! Pages as bytes: on disk, and in the log.
//!
//! ```text
//!   page on disk   hash u64 | record u64 | body | zeros        page n of the file is page n of the table
//!   record         01 | body                                   an image: the page is about to be written
//!                  02 | page u64 | body                        a split: what that page has from the body's lowest key
//!                                                              on is this new page
//!   body           page u64 | lowest key | next lowest u8, key | count | count x (key, since u64, row)
//! ```

use std::sync::Arc;

use weft_format::bloom::hash_bytes;
use weft_format::wire::{ByteReader, put_bytes, put_count};
use weft_format::{Error, RecordNo, Result, Timestamp};

use super::page::Page;

/// The length of a page on disk.
pub(super) const PAGE_BYTES: usize = 16 << 10;
const HEADER_BYTES: usize = 16;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a page of method in_place is damaged: {what}")).hint("restore the file from a backup")
}

/// What a record says.
pub(super) enum PageChange {
    /// A page as it was when it was about to be written.
    Image(Page),
    /// What a page has from the lowest key of this one on is this one.
    Split(u64, Page),
}

/// A page's newest rows.
fn body(page: &Page) -> Vec<u8> {
    let mut bytes = page.number.to_le_bytes().to_vec();
    put_bytes(&mut bytes, &page.low);
    bytes.push(u8::from(page.high.is_some()));
    put_bytes(&mut bytes, page.high.as_deref().unwrap_or_default());
    let rows: Vec<_> = page.slots().iter().filter_map(|slot| Some((&slot.key, slot.seen(Timestamp::MAX)?))).collect();
    put_count(&mut bytes, rows.len());
    for (key, version) in rows {
        put_bytes(&mut bytes, key);
        bytes.extend(version.since.0.to_le_bytes());
        put_bytes(&mut bytes, &version.row);
    }
    bytes
}

fn read_body(reader: &mut ByteReader<'_>) -> Result<Page> {
    let (number, low) = (reader.u64()?, reader.byte_string()?.to_vec());
    let has_high = reader.flag()?;
    let high = Some(reader.byte_string()?.to_vec()).filter(|_| has_high);
    let mut rows = Vec::new();
    for _ in 0..reader.count()? {
        let (key, since): (Arc<[u8]>, _) = (reader.byte_string()?.into(), Timestamp(reader.u64()?));
        rows.push((key, since, reader.byte_string()?.into()));
    }
    Ok(Page::of_rows(number, (low, high), rows))
}

/// Whether the page would not fit on disk.
pub(super) fn is_long(page: &Page) -> bool {
    HEADER_BYTES + body(page).len() > PAGE_BYTES
}

/// A page as it lies on disk.
pub(super) fn on_disk(page: &Page) -> Vec<u8> {
    let mut bytes = [&[0; 8][..], &page.record.0.to_le_bytes(), &body(page)].concat();
    assert!(bytes.len() <= PAGE_BYTES, "a page is split before it is too long for the disk");
    bytes.resize(PAGE_BYTES, 0);
    let hash = hash_bytes(&bytes[8..]);
    bytes[..8].copy_from_slice(&hash.to_le_bytes());
    bytes
}

/// The page that lies there; none: it was never written, or is torn.
pub(super) fn of_disk(bytes: &[u8]) -> Option<Page> {
    let (hash, bytes) = bytes.split_at_checked(8)?;
    if hash_bytes(bytes).to_le_bytes() != *hash {
        return None;
    }
    let mut reader = ByteReader::new(bytes, damaged);
    let record = RecordNo(reader.u64().ok()?);
    let mut page = read_body(&mut reader).ok()?;
    page.record = record;
    Some(page)
}

/// The record of a page that is about to be written.
pub(super) fn image_record(page: &Page) -> Vec<u8> {
    [&[1][..], &body(page)].concat()
}

/// The record of a split.
pub(super) fn split_record(number: u64, upper: &Page) -> Vec<u8> {
    [&[2][..], &number.to_le_bytes(), &body(upper)].concat()
}

/// A record, read.
pub(super) fn read_record(bytes: &[u8]) -> Result<PageChange> {
    let mut reader = ByteReader::new(bytes, damaged);
    let change = match reader.u8()? {
        1 => PageChange::Image(read_body(&mut reader)?),
        2 => PageChange::Split(reader.u64()?, read_body(&mut reader)?),
        _ => return Err(damaged("the log has an unknown change of it")),
    };
    reader.end()?;
    Ok(change)
}
