//! A small method that keeps rows in place: pages of rows in key order that are changed where they lie, older versions
//! in undo records behind each row, changed pages written over what lies there on disk. It is there to hold the
//! contract to its word: nothing of it is known outside this folder.
//!
//! ```text
//!   page 3, from "k"     k1: b @ 44 ─▶ undo: a @ 12..44     update in place, the old version goes behind it
//!                        k2: gone since 38 ─▶ undo ...      a row without a newest version
//!   split                record 812: what page 3 has from "m" on is page 7
//!   write back, cut 40   record 814: page 3 as it is        log durable up to 814 ─▶ page 3 written ─▶ edit {cut 40}
//! ```
//!
//! | module | what |
//! |---|---|
//! | `page` | rows of one stretch of keys, with their older versions |
//! | `bytes` | pages on disk and in the log |
//! | `pages` | the pages of a table: by key, split, recovered |
//! | `store` | a table |
//!
//! 1. A key has one slot, and a slot at most one version that has not ended; it is the newest.
//! 2. A page that changed since it was written is written by the next job, with all that it has; so pages and log
//!    together have everything. Only newest rows are written: nobody reads the past of an opening.
//! 3. What died at or before the horizon and the cut is in no page after a job.

mod bytes;
mod page;
mod pages;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{Derived, JobKind, RecoveredTable, Table, TableDef};
use weft_env::File;
use weft_format::{Code, Error, FileId, Result};
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext, derives_nothing};
use weft_kernel::step::Step;

use self::bytes::{PAGE_BYTES, of_disk};
use self::store::{InPlaceTable, WRITE_BACK};

/// The method `in_place`.
pub struct InPlace;

impl Method for InPlace {
    fn name(&self) -> &'static str {
        "in_place"
    }

    fn job_kinds(&self) -> &'static [JobKind] {
        &[WRITE_BACK]
    }

    fn steps(&self) -> &'static [Step] {
        &[]
    }

    fn faults(&self) -> &'static [Fault] {
        &[]
    }

    fn check_options(&self, options: &BTreeMap<String, String>) -> Result<()> {
        match options.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(Error::new(Code::InvalidParameterValue, format!("method in_place has no option {name:?}"))
                    .hint("leave it out"))
            }
        }
    }

    fn open(&self, context: TableContext, recovered: RecoveredTable) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(InPlaceTable::open(context, &recovered)?))
    }

    fn derive(&self, _: TableContext, _: RecoveredTable) -> Result<Arc<dyn Derived>> {
        Err(derives_nothing(self.name()))
    }

    fn fold(&self, _: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn test_file(&self, _def: &TableDef, _: &[Vec<u8>], file: FileId, handle: Arc<dyn File>) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("reading a file of method in_place", &error);
        let mut bytes = vec![0; PAGE_BYTES];
        for at in 0..handle.len().map_err(failed)? / PAGE_BYTES as u64 {
            handle.read_exact_at(&mut bytes, at * PAGE_BYTES as u64).map_err(failed)?;
            of_disk(&bytes).ok_or_else(|| Error::corrupt(format!("page {at} of file {file} is damaged")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
