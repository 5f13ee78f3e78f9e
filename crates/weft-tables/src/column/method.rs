//! The door: `USING column`.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_env::File;
use weft_format::table::ColumnTable;
use weft_format::{FileId, Result};
use weft_kernel::TableDef;
use weft_kernel::table::{Method, RecoveredTable, Table, TableContext};

use super::options::Options;
use super::payload::PartSet;
use super::store::Store;

/// The method `column`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnMethod;

/// The method `column`, as an engine takes it.
pub fn column_method() -> Arc<dyn Method> {
    Arc::new(ColumnMethod)
}

impl ColumnMethod {
    /// The method.
    pub fn new() -> ColumnMethod {
        ColumnMethod
    }
}

impl Method for ColumnMethod {
    fn name(&self) -> &'static str {
        "column"
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        Options::parse(options).map(|_| ())
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(Store::open(context, &recovered)?))
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(PartSet::from_payloads(payloads)?.to_payload().encode())
    }

    fn test_file(&self, def: &TableDef, file: FileId, handle: Arc<dyn File>) -> Result<()> {
        ColumnTable::open(handle, def.id, file, &def.schema)?.verify_checksums()
    }
}
