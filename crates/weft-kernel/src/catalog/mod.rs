//! The catalog: which tables there are, as of any timestamp.
//!
//! ```text
//!   name      created  dropped
//!   flights        3       40      a snapshot at 39 sees this one,
//!   flights       41        ∞      a snapshot at 41 this one, a snapshot at 40 none
//!   t (a)              5       60      ALTER TABLE t ADD b: another definition of the same table
//!   t (a, b)          60        ∞
//! ```
//!
//! 1. Of one name, at most one version is alive at any timestamp; the lock on the name keeps creators apart.
//! 2. A version is installed before its timestamp is published, so a snapshot at `ts` finds every DDL up to `ts`.
//! 3. The manifest's catalog edit with cut C holds exactly the tables alive at C, and a table id above every id ever
//!    used.
//! 4. A table is forgotten by the manifest only after a catalog edit without it is durable, and after no snapshot sees
//!    it.
//!
//! 5. Definitions of one table follow each other without a gap; who alters it holds its lock alone, so nobody writes
//!    under an older one.
//!
//! Concurrency: one RwLock, held for map operations only. Crash: redo applies the CREATE and DROP records after the
//! cut.

mod building;
mod codec;
mod columns_ref;
mod fields;
mod index_ref;
mod known;
mod life;
mod looked;
mod objects;
mod paths;
mod relation;
mod select;
mod sequence;
mod table_ref;
mod versions;

pub use crate::log::SequenceValue;
pub use codec::{decode_def, encode_def};
pub use columns_ref::ColumnsRef;
pub use index_ref::IndexRef;
pub use known::KnownColumns;
pub use objects::{Object, ObjectKind};
pub use paths::{ColumnPaths, Documents};
pub use sequence::SequenceOptions;
pub use table_ref::{TableRef, WeakTableRef};
pub use weft_contract::{Deferrable, FkAction, ForeignKey, NewTable, SchemaId, TableDef};

pub(crate) use codec::{decode_image, decode_object, encode_image, encode_object};
pub(crate) use relation::Relation;
pub(crate) use sequence::Sequence;
pub(crate) use versions::Catalog;
