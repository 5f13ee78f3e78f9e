//! The tables and views of a transaction's catalog, for planners.

use std::sync::Arc;

use weft_format::Result;
use weft_kernel::index::Index;
use weft_kernel::{Engine, TableRef, Transaction};
use weft_pgcatalog::CatalogRelation;

use crate::binding::Tables;
use crate::updatable::{UpdatableView, Verb};

impl Tables for Transaction {
    fn table(&self, name: &str) -> Result<TableRef> {
        // Whatever moment it is read at.
        crate::resolve::table(self, crate::queries::moment_of(name).0)
    }

    fn can_use_index(&self, table: &TableRef, index: &Index) -> bool {
        Transaction::can_use_index(self, table, index)
    }

    fn engine(&self) -> &Arc<Engine> {
        Transaction::engine(self)
    }

    fn of_catalog(&self, name: &str) -> Option<CatalogRelation> {
        crate::resolve::of_catalog(self, name)
    }

    fn updatable(&self, name: &str, verb: Verb) -> Result<Option<UpdatableView>> {
        crate::updatable::find(self, name, verb)
    }
}
