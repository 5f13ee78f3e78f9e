//! What the catalog, jobs and statements hold of an index.

use std::sync::Arc;

use weft_contract::{TableDef, Upkeep};
use weft_format::{TableId, Timestamp};

use super::life::Life;
use crate::index::Index;

/// An index as statements use it. Cheap to clone; valid for as long as it is held, even after a drop.
#[derive(Clone)]
pub struct IndexRef {
    /// Name, columns, options.
    pub def: Arc<TableDef>,
    /// Its entries.
    pub index: Arc<Index>,
    /// Whose jobs, cut and files are meant: the index, or what stands for one whose files could not be opened.
    upkeep: Arc<dyn Upkeep>,
    life: Arc<Life>,
}

impl IndexRef {
    /// A reference to an index that is alive.
    pub(crate) fn new(def: Arc<TableDef>, index: Arc<Index>) -> IndexRef {
        let life = Arc::new(Life::new(def.schema.version));
        IndexRef { def, upkeep: index.clone(), index, life }
    }

    /// The same index, of which a file cannot be read: it says what it is of what, and its table neither feeds it nor
    /// looks at it. Its jobs, cut and files are the other's.
    pub(crate) fn kept_by(&self, upkeep: Arc<dyn Upkeep>) -> IndexRef {
        IndexRef { upkeep, ..self.clone() }
    }

    /// The same index under a later definition.
    pub(crate) fn with_def(&self, def: Arc<TableDef>) -> IndexRef {
        assert_eq!(def.id, self.def.id, "a definition is of its own relation");
        IndexRef { def, ..self.clone() }
    }

    /// Its id: indexes and tables have ids of one space.
    pub fn id(&self) -> TableId {
        self.def.id
    }

    /// When the index was dropped; [`Timestamp::MAX`] while it is alive.
    pub(crate) fn drop_ts(&self) -> Timestamp {
        self.life.drop_ts()
    }

    /// The version of the newest definition that is committed.
    pub(crate) fn committed_version(&self) -> u32 {
        self.life.version()
    }

    pub(super) fn life(&self) -> &Life {
        &self.life
    }

    /// Jobs, cut and files.
    pub(crate) fn upkeep(&self) -> &dyn Upkeep {
        &*self.upkeep
    }
}

impl std::fmt::Debug for IndexRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IndexRef({} {})", self.def.id, self.def.name)
    }
}
