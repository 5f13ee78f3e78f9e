//! What an index knows of the table whose rows it has: less than the catalog does, which knows the index.

use std::sync::{Arc, Weak};

use weft_format::{KeyCodec, RowCodec, TableId};

use weft_contract::{Table, TableDef};

/// The table of an index that is opened.
pub(crate) struct Indexed {
    /// Name and schema.
    pub(crate) def: Arc<TableDef>,
    /// Its rows.
    pub(crate) table: Arc<dyn Table>,
    /// Rows of the table.
    pub(crate) codec: Arc<RowCodec>,
    /// Keys of the table.
    pub(crate) keys: Arc<KeyCodec>,
    /// Who feeds the table's indexes.
    pub(crate) feeder: Weak<dyn Feeder>,
}

/// Who feeds the indexes of a table.
pub(crate) trait Feeder: Send + Sync {
    /// An index was dropped: it is fed no more.
    fn let_go(&self, index: TableId);
}
