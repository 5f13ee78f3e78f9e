//! A small method that keeps rows in place: pages of rows in key order that are changed where they lie, older versions
//! in undo records behind each row, changed pages written now and then. It is there to hold the contract to its word:
//! nothing of it is known outside this folder.
//!
//! ```text
//!   page 3, from "k"     k1: b @ 44 ─▶ undo: a @ 12..44     update in place, the old version goes behind it
//!                        k2: gone since 38 ─▶ undo ...      a row without a newest version
//!   write back, cut 40   page 3 as of 40 into file 9        edit {cut 40, page 3: file 9}   file 5 has none left: goes
//! ```
//!
//! | module | what |
//! |---|---|
//! | `page` | rows of one stretch of keys, with their older versions |
//! | `files` | pages as bytes, and which file has which page |
//! | `store` | a table |
//!
//! 1. A key has one slot, and a slot at most one version that has not ended; it is the newest.
//! 2. A page that changed since it was written is written by the next job, as of the cut; so pages and log together
//!    have everything.
//! 3. What died at or before the horizon and the cut is in no page after a job.

mod files;
mod page;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::{JobKind, RecoveredTable, Table, TableDef};
use weft_env::File;
use weft_format::{Code, Error, FileId, Result};
use weft_kernel::fault::Fault;
use weft_kernel::method::{Method, TableContext};
use weft_kernel::step::Step;

use self::files::{Places, read_pages};
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

    fn fold(&self, payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
        Ok(Places::from_payloads(payloads)?.encode())
    }

    fn test_file(&self, _def: &TableDef, _file: FileId, handle: Arc<dyn File>) -> Result<()> {
        read_pages(&*handle).map(|_| ())
    }
}

#[cfg(test)]
mod tests;
