//! A transaction's staged writes to one table: what a commit applies, and what recovery makes again of the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{FileId, Timestamp};

use crate::location::Location;
use crate::replaced::Replaced;

/// The committed version that a staged state replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// None: the key was free.
    Free,
    /// This one: its insert timestamp, and where it was seen.
    Version(Timestamp, Option<Location>),
    /// Whatever there is; nobody looked (abilities 3).
    Unseen,
}

impl Base {
    /// The version, when it is known.
    pub fn version(self) -> Option<(Timestamp, Option<Location>)> {
        match self {
            Base::Version(insert_ts, location) => Some((insert_ts, location)),
            Base::Free | Base::Unseen => None,
        }
    }
}

/// The staged state of one key.
#[derive(Clone, Debug)]
pub struct Staged {
    /// What it replaces.
    pub base: Base,
    /// The whole new row (row codec), or none when the key ends up without a row.
    pub row: Option<Arc<[u8]>>,
    /// Ordinals of the columns that may differ from the base, ascending; meaningful when both are there.
    pub columns: Vec<usize>,
}

impl Staged {
    /// Whether it is a known version with some columns set: others may set the rest.
    pub fn is_partial(&self) -> bool {
        matches!(self.base, Base::Version(..)) && self.row.is_some()
    }
}

/// Files that a bulk statement built; they become parts of the table at commit.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// The files, durable before the commit record that names them.
    pub files: Vec<FileId>,
    /// Rows in them.
    pub rows: u64,
    /// What the method wants to know about them again when they are applied, by the commit or by recovery.
    pub payload: Vec<u8>,
    /// What their rows replace; none when they are rows more, and when recovery applies them: the payload says then
    /// whether they replace anything.
    pub replaced: Option<Arc<Replaced>>,
}

/// All staged writes of one transaction to one table. Copied when a scan holds it while the transaction writes on.
#[derive(Clone, Debug, Default)]
pub struct TableWrites {
    /// By key bytes.
    pub rows: BTreeMap<Arc<[u8]>, Staged>,
    /// In statement order.
    pub attachments: Vec<Attachment>,
}

impl TableWrites {
    /// Whether nothing is staged.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.attachments.is_empty()
    }
}
