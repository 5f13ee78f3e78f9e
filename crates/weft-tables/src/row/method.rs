//! The door: `USING row`.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{
    Blind, Bulk, BulkReplace, Derived, InPlace, JobKind, Ordered, RecoveredTable, Table, TableDef, Versions,
};
use weft_env::File;
use weft_format::{Error, FileId, Result};
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext, derives_nothing};
use weft_kernel::step::Step;

use super::bytes::{DiskPage, FURTHER};
use super::faults;
use super::job_kinds;
use super::options::Options;
use super::pool::Pools;
use super::space::Payload;
use super::steps;
use super::store::Store;

/// The method `row`.
#[derive(Debug, Default)]
pub struct RowMethod {
    pools: Arc<Pools>,
}

/// The method `row`, as an engine takes it.
pub fn row_method() -> Arc<dyn Method> {
    Arc::new(RowMethod::default())
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
        Some(self)
    }

    fn ordered(&self) -> Option<&dyn Ordered> {
        Some(self)
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }
}

impl Method for RowMethod {
    fn name(&self) -> &'static str {
        "row"
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
        Options::parse(options).map(drop)
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(Store::open(context, &recovered, &self.pools)?)
    }

    fn derive(&self, _: TableContext, _: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Err(derives_nothing(self.name()))
    }

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        let last = payloads.last().map_or_else(|| Ok(Payload::default()), |last| Payload::decode(last))?;
        Ok(last.encode())
    }

    fn test_file(&self, def: &TableDef, payloads: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("reading a file of method row", &error);
        let page_bytes = Options::parse(&def.options)?.page_bytes;
        let mut bytes = vec![0; page_bytes];
        let space = payloads.last().map(|payload| Payload::decode(payload)).transpose()?.map(|payload| payload.space);
        for page in 0..handle.len().map_err(failed)? / page_bytes as u64 {
            // A crash tore it, and then nobody wanted it: who uses it writes it as a whole, into the log first.
            if space.as_ref().is_some_and(|space| space.is_free(page)) {
                continue;
            }
            handle.read_exact_at(&mut bytes, page * page_bytes as u64).map_err(failed)?;
            // One of zeros was never written.
            let has = |number| DiskPage::read(&bytes, number).is_some();
            let is_whole = has(page) || has(page | FURTHER) || bytes.iter().all(|&byte| byte == 0);
            if !is_whole {
                return Err(Error::corrupt(format!("page {page} of file {file} is damaged")));
            }
        }
        Ok(())
    }
}
