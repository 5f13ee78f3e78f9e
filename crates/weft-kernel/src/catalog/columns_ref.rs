//! What the catalog, jobs and statements hold of a column index.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_contract::{TableDef, Upkeep};
use weft_format::{TableId, Timestamp};

use super::life::Life;
use crate::index::ColumnIndex;

/// A column index as statements use it. Cheap to clone; valid for as long as it is held, even after a drop.
#[derive(Clone)]
pub struct ColumnsRef {
    /// Name, columns, options.
    pub def: Arc<TableDef>,
    /// Its rows; none when its files could not be opened.
    pub index: Option<Arc<ColumnIndex>>,
    /// The table it belongs to.
    table: TableId,
    /// Whose jobs, cut and files are meant: the index, or what stands for one whose files could not be opened.
    upkeep: Arc<dyn Upkeep>,
    life: Arc<Life>,
    /// The commit that made it; MAX before.
    made_at: Arc<AtomicU64>,
}

impl ColumnsRef {
    /// A reference to a column index that is alive.
    pub(crate) fn new(def: Arc<TableDef>, index: Arc<ColumnIndex>) -> ColumnsRef {
        let life = Arc::new(Life::new(def.schema.version));
        let made_at = Arc::new(AtomicU64::new(Timestamp::MAX.0));
        ColumnsRef { def, table: index.table(), upkeep: index.clone(), index: Some(index), life, made_at }
    }

    /// One whose files cannot be opened: it is in the catalog, and its table is scanned without it.
    pub(crate) fn unopened(def: Arc<TableDef>, table: TableId, upkeep: Arc<dyn Upkeep>) -> ColumnsRef {
        let life = Arc::new(Life::new(def.schema.version));
        let made_at = Arc::new(AtomicU64::new(Timestamp::MAX.0));
        ColumnsRef { def, index: None, table, upkeep, life, made_at }
    }

    /// The same, of which a file cannot be read.
    pub(crate) fn kept_by(&self, upkeep: Arc<dyn Upkeep>) -> ColumnsRef {
        ColumnsRef { upkeep, index: None, ..self.clone() }
    }

    /// The same column index under a later definition.
    pub(crate) fn with_def(&self, def: Arc<TableDef>) -> ColumnsRef {
        assert_eq!(def.id, self.def.id, "a definition is of its own relation");
        assert_eq!(def.options, self.def.options, "a column index keeps its table and its columns");
        ColumnsRef { def, ..self.clone() }
    }

    /// Its id: indexes and tables have ids of one space.
    pub fn id(&self) -> TableId {
        self.def.id
    }

    /// The table it belongs to.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// When it was dropped; [`Timestamp::MAX`] while it is alive.
    pub(crate) fn drop_ts(&self) -> Timestamp {
        self.life.drop_ts()
    }

    /// The version of the newest definition that is committed.
    pub(crate) fn committed_version(&self) -> u32 {
        self.life.version()
    }

    /// The commit that made it; another definition changes nothing in that.
    pub(crate) fn made_at(&self) -> Timestamp {
        Timestamp(self.made_at.load(Ordering::Acquire))
    }

    pub(super) fn set_made(&self, ts: Timestamp) {
        let before = self.made_at.swap(ts.0, Ordering::AcqRel);
        assert_eq!(before, Timestamp::MAX.0, "another definition changes nothing in when it was made (columns 2)");
        if let Some(index) = &self.index {
            index.set_ready(ts);
        }
    }

    pub(super) fn life(&self) -> &Life {
        &self.life
    }

    /// Jobs, cut and files.
    pub(crate) fn upkeep(&self) -> &dyn Upkeep {
        &*self.upkeep
    }
}

impl std::fmt::Debug for ColumnsRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ColumnsRef({} {})", self.def.id, self.def.name)
    }
}
