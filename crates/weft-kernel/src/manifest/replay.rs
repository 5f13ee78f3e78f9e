//! A manifest's bytes, read back: every record applied, and the end told from damage.

use weft_format::{Lsn, Result, TableId};

use super::edit::Edit;
use super::layout::{
    FILE_HEADER_BYTES, FileHeader, KIND_DATABASE, KIND_EDIT, KIND_FORGET, KIND_MARK, RECORD_ALIGN, RecordView, damaged,
    manifest_name,
};
use super::tables::Tables;

/// What the records of a file add up to.
pub(super) struct Replayed {
    pub(super) header: FileHeader,
    pub(super) tables: Tables,
    /// Where the next record goes.
    pub(super) end: u64,
    /// Everything before this is proved durable by what was read.
    pub(super) durable: u64,
    /// It depends on everything in the log before this.
    pub(super) log: Lsn,
    /// How many edits there were since the database was made.
    pub(super) edits: u64,
}

/// Applies every record of a manifest's bytes.
pub(super) fn replay(bytes: &[u8], number: u64) -> Result<Replayed> {
    let name = manifest_name(number);
    let header = FileHeader::decode(bytes, number)?;
    let mut tables = Tables { file_max: header.file_max, table_max: header.table_max, ..Tables::default() };
    let mut offset = FILE_HEADER_BYTES;
    let mut durable = header.snapshot_end;
    let (mut log, mut edits) = (header.log, header.edits);
    while let Some(record) = RecordView::decode(bytes, offset, &header) {
        let unreadable = || damaged(&name, offset, "a record cannot be read although its checksum fits");
        match record.kind {
            KIND_EDIT => {
                let edit = Edit::decode(record.payload).ok_or_else(unreadable)?;
                tables.check(&edit).map_err(|error| damaged(&name, offset, error.message()))?;
                tables.apply(edit);
            }
            KIND_FORGET => {
                let id: [u8; 4] = record.payload.try_into().map_err(|_| unreadable())?;
                tables.forget(TableId(u32::from_le_bytes(id)));
            }
            KIND_MARK => {}
            KIND_DATABASE => {
                tables.database = u64::from_le_bytes(record.payload.try_into().map_err(|_| unreadable())?);
                if i64::try_from(tables.database).map_or(true, |number| number <= 0) {
                    return Err(unreadable());
                }
            }
            _ => return Err(unreadable()),
        }
        durable = durable.max(record.durable);
        log = log.max(record.log);
        edits += u64::from(record.kind != KIND_MARK && offset as u64 >= header.snapshot_end);
        offset += record.size;
    }
    if (offset as u64) < header.snapshot_end {
        return Err(damaged(&name, offset, "its snapshot was durable before the file was used"));
    }
    let mut later = offset + RECORD_ALIGN;
    while later < bytes.len() {
        if RecordView::decode(bytes, later, &header).is_some_and(|record| record.durable > offset as u64) {
            return Err(damaged(&name, offset, &format!("the record at {later} proves that this was durable")));
        }
        later += RECORD_ALIGN;
    }
    let end = offset as u64;
    if durable > end {
        return Err(damaged(&name, offset, "a record before it claims that more was durable"));
    }
    Ok(Replayed { header, tables, end, durable, log, edits })
}
