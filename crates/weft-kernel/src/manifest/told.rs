//! What the log tells of an edit: a switch of layout in the one stream that a follower reads.
//!
//! ```text
//!   log        ... commit 41 · commit 42 · layout: edit 12 {table 5, cut 40, +files 9, -files 3 7} · commit 43 ...
//!   manifest   ... edit 12                                        durable before the log tells of it
//!
//!   01 edit, as in the manifest, that of the catalog without its image      02 table u32: forgotten
//!   03              everything is as the manifest has it now
//! ```
//!
//! 1. The log tells of each edit once, in their order, behind everything that it depends on. An opening that finds
//!    edits of which nothing was told (a crash came between) tells of all with one switch that says: read the manifest.
//! 2. Recovery needs none of it: the manifest has every edit that is told of.

use weft_format::{Error, FileId, Result, TableId};

use super::edit::Edit;

const EDIT: u8 = 1;
const FORGET: u8 = 2;
const ANEW: u8 = 3;

/// A switch of layout, as the log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutSwitch {
    /// A table has other files. Of the catalog (table 0) only the cut is told: its content comes with commits.
    Edit(Edit),
    /// A dropped table is forgotten.
    Forget(TableId),
    /// The manifest is to be read: nothing was told of its last edits.
    Anew,
}

impl LayoutSwitch {
    /// The bytes of an edit.
    pub(crate) fn encode_edit(edit: &Edit) -> Vec<u8> {
        let mut bytes = vec![EDIT];
        if edit.table == TableId(0) {
            Edit { table: edit.table, cut: edit.cut, ..Edit::default() }.encode(&mut bytes);
        } else {
            edit.encode(&mut bytes);
        }
        bytes
    }

    /// The bytes of a forgotten table.
    pub(crate) fn encode_forget(table: TableId) -> Vec<u8> {
        let mut bytes = vec![FORGET];
        bytes.extend_from_slice(&table.0.to_le_bytes());
        bytes
    }

    /// The bytes of the manifest as it is.
    pub(crate) fn encode_anew() -> Vec<u8> {
        vec![ANEW]
    }

    /// The switch that `bytes` are, when they are exactly one.
    pub fn decode(bytes: &[u8]) -> Option<LayoutSwitch> {
        let (&kind, bytes) = bytes.split_first()?;
        match kind {
            EDIT => Edit::decode(bytes).map(LayoutSwitch::Edit),
            FORGET => Some(LayoutSwitch::Forget(TableId(u32::from_le_bytes(bytes.try_into().ok()?)))),
            ANEW if bytes.is_empty() => Some(LayoutSwitch::Anew),
            _ => None,
        }
    }
}

/// The files that edit `number` adds, as the log tells of it; none: the manifest is to be read.
pub(crate) fn files_named(number: u64, switch: &[u8]) -> Result<Option<Vec<(TableId, FileId)>>> {
    let damaged = || Error::corrupt(format!("edit {number} of the manifest in the log is damaged"));
    Ok(match LayoutSwitch::decode(switch).ok_or_else(damaged)? {
        LayoutSwitch::Edit(edit) => Some(edit.added.into_iter().map(|file| (edit.table, file)).collect()),
        LayoutSwitch::Forget(_) => Some(Vec::new()),
        LayoutSwitch::Anew => None,
    })
}
