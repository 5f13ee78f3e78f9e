//! The door: `USING lineage`.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{Blind, Bulk, BulkReplace, Derived, InPlace, JobKind, RecoveredTable, Table, Versions};
use weft_env::File;
use weft_format::table::ColumnTable;
use weft_format::{Error, FileId, Result};
use weft_kernel::TableDef;
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext, derives_nothing};
use weft_kernel::step::Step;

use super::faults;
use super::gate::GateWaits;
use super::job_kinds;
use super::options::Options;
use super::payload::FileSet;
use super::shapes::{Shape, key_alone};
use super::steps;
use super::store::Store;

/// The method `lineage`.
#[derive(Clone, Debug, Default)]
pub struct LineageMethod {
    gate_waits: Arc<GateWaits>,
}

impl LineageMethod {
    /// How often and how long writers of its tables have waited at their gates.
    pub fn gate_waits(&self) -> &GateWaits {
        &self.gate_waits
    }
}

/// The method `lineage`, as an engine takes it.
pub fn lineage_method() -> Arc<dyn Method> {
    Arc::new(LineageMethod::default())
}

impl Table for Store {
    fn bulk(&self) -> Option<&dyn Bulk> {
        Some(self)
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        None
    }

    fn blind(&self) -> Option<&dyn Blind> {
        None
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        None
    }

    fn versions(&self) -> Option<&dyn Versions> {
        Some(self)
    }
}

impl Method for LineageMethod {
    fn name(&self) -> &'static str {
        "lineage"
    }

    fn job_kinds(&self) -> &'static [JobKind] {
        &job_kinds::ALL
    }

    fn steps(&self) -> &'static [Step] {
        &steps::ALL
    }

    fn faults(&self) -> &'static [Fault] {
        faults::ALL
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        Options::parse(options).map(|_| ())
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(Store::open(context, &recovered, self.gate_waits.clone())?))
    }

    fn derive(&self, _: TableContext, _: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Err(derives_nothing(self.name()))
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(FileSet::from_payloads(payloads)?.to_payload().encode())
    }

    fn test_file(&self, def: &TableDef, _: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        let mut wrong = None;
        for shape in Shape::ALL {
            match ColumnTable::open(handle.clone(), def.id, file, &key_alone(shape, &def.schema)) {
                Ok(table) if table.schema_version() == shape.version() => return table.verify_checksums(),
                // It has another shape, or is damaged.
                Ok(_) => {}
                Err(error) => wrong = Some(error),
            }
        }
        let no_shape = || Error::corrupt(format!("file {file} has none of the shapes of method lineage"));
        Err(wrong.unwrap_or_else(no_shape))
    }
}
