//! The door: `USING column`.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{
    Blind, Bulk, BulkReplace, Derived, Fields, InPlace, JobKind, Ordered, RecoveredTable, Summaries, Table, TakenOut,
    Versions,
};
use weft_env::File;
use weft_format::table::ColumnTable;
use weft_format::{FileId, KeyCodec, Result};
use weft_kernel::TableDef;
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext};
use weft_kernel::step::Step;

use super::derived::DerivedRows;
use super::faults;
use super::job_kinds;
use super::options::{Conflict, Options};
use super::payload::{PartSet, Payload};
use super::steps;
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

impl Table for Store {
    fn bulk(&self) -> Option<&dyn Bulk> {
        Some(self)
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        Some(self)
    }

    /// Only where what was there is found by reads (`conflict = antimatter`).
    fn blind(&self) -> Option<&dyn Blind> {
        (self.options.conflict == Conflict::Antimatter).then_some(self)
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        None
    }

    fn ordered(&self) -> Option<&dyn Ordered> {
        Some(self)
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }

    fn fields(&self) -> Option<&dyn Fields> {
        Some(self)
    }

    fn summaries(&self) -> Option<&dyn Summaries> {
        Some(self)
    }
}

impl Method for ColumnMethod {
    fn name(&self) -> &'static str {
        "column"
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
        Ok(Arc::new(Store::open(context, &recovered)?))
    }

    fn derive(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Ok(Arc::new(DerivedRows::open(context, &recovered)?))
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(PartSet::from_payloads(payloads)?.to_payload().encode())
    }

    fn test_file(&self, def: &TableDef, _: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        ColumnTable::open(handle, def.id, file, &def.schema)?.verify_checksums()
    }

    fn take_out(
        &self,
        def: &TableDef,
        payloads: &[Vec<u8>],
        file: FileId,
        handle: Option<Arc<dyn File>>,
    ) -> Result<TakenOut> {
        let set = PartSet::from_payloads(payloads)?;
        let listed = set.parts.get(&file).map(|(part, dead)| u64::from(part.row_count) - dead.len() as u64);
        let opened = handle.and_then(|handle| ColumnTable::open(handle, def.id, file, &def.schema).ok());
        let rows = listed.or_else(|| Some(u64::from(opened.as_ref()?.row_count()))).unwrap_or_default();
        let codec = KeyCodec::new(&def.schema);
        let keys = opened.and_then(|table| {
            let ends = [table.min_key(), table.max_key()].map(|key| codec.decode(key).ok());
            let [low, high] = ends;
            low.zip(high)
        });
        let payload = Payload { removed: vec![file], ..Payload::default() };
        Ok(TakenOut { payload: payload.encode(), rows, keys })
    }
}
