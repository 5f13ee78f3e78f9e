//! How a column table asks for blocks: through a cache that the kernel provides.

use std::sync::Arc;

use crate::encoding::Block;
use crate::error::Result;
use crate::ids::FileId;

/// Names a block in every file that there ever was (file numbers are not used again).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockKey {
    /// The file.
    pub file: FileId,
    /// The number in the file of the block, or of the slice of it: in the order of columns, then rows.
    pub block: u32,
}

/// Keeps parsed blocks.
pub trait BlockCache: Send + Sync {
    /// The block of this key; `load` reads it when it is not here. An error of `load` is handed on and not kept.
    fn get(&self, key: BlockKey, load: &mut dyn FnMut() -> Result<Block>) -> Result<Arc<Block>>;
}

/// Keeps nothing: every access reads the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCache;

impl BlockCache for NoCache {
    fn get(&self, _key: BlockKey, load: &mut dyn FnMut() -> Result<Block>) -> Result<Arc<Block>> {
        load().map(Arc::new)
    }
}
