//! What is kept: blocks of two kinds. Files of tables and of indexes have numbers of their own, so a key is of one kind
//! for ever.

use std::sync::Arc;

use weft_format::encoding::Block;

/// A block in the pool or on its way out of it.
#[derive(Clone)]
pub(super) enum Cached {
    /// A parsed block of a column table.
    Columns(Arc<Block>),
    /// A block, or a segment of the filter, of an index's run.
    Bytes(Arc<[u8]>),
}

impl Cached {
    pub(super) fn columns(self) -> Arc<Block> {
        match self {
            Cached::Columns(block) => block,
            Cached::Bytes(_) => unreachable!("a file of an index is read as a column table"),
        }
    }

    pub(super) fn bytes(self) -> Arc<[u8]> {
        match self {
            Cached::Bytes(bytes) => bytes,
            Cached::Columns(_) => unreachable!("a column table is read as a file of an index"),
        }
    }

    /// Whether somebody holds it beside who asks. Once no, it stays no when nobody can find it any more.
    pub(super) fn is_held(&self) -> bool {
        match self {
            Cached::Columns(block) => Arc::strong_count(block) > 1,
            Cached::Bytes(bytes) => Arc::strong_count(bytes) > 1,
        }
    }
}

/// A block that left its partition.
pub(super) struct Evicted {
    pub(super) block: Cached,
    /// What it counted for.
    pub(super) bytes: usize,
}
