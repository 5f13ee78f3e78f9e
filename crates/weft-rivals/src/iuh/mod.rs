//! In-place Update + History: pages of the newest rows, changed where they lie, and one table of what was before.
//!
//! ```text
//!   page 1, latched     slot 4: since 52, back 3, columns (7, 20)
//!   history             record 3: since 44, back 1, {column 1: 10}     record 1: since 41, {column 0: 6}
//!   as of 45            (7, 20) ─▶ record 3 ─▶ (7, 10), since 44: visible
//! ```
//!
//! | module | what |
//! |---|---|
//! | `page` | rows that share a latch |
//! | `history` | what was before, of all pages |
//! | `store` | the table's pages |
//!
//! 1. Who reads or changes a page has its latch: shared by readers, alone for a writer.
//! 2. A record is in history before a row points to it, and never changes.
//!
//! The latch is one for all columns of a page's rows. With a latch per column page the column that says since when a
//! row is so would be latched by everybody just the same, and each operation would pay for several.
//!
//! Source: L-Store (papers/002), section 6.1.

mod history;
mod page;
mod store;

use std::collections::BTreeMap;

use weft_format::{Code, Error, Result};

pub(crate) use self::store::Iuh;

/// How an IUH table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IuhOptions {
    /// Rows of a page, which share a latch. 4,096 values of 8 bytes are the paper's 32 KB.
    pub page_rows: u64,
}

impl Default for IuhOptions {
    fn default() -> IuhOptions {
        IuhOptions { page_rows: 4096 }
    }
}

impl IuhOptions {
    /// No option of WITH is known: who makes the method says how its tables are.
    pub(crate) fn check(options: &BTreeMap<String, String>) -> Result<()> {
        match options.keys().next() {
            None => Ok(()),
            Some(name) => {
                let message = format!("method iuh has no option {name:?}");
                Err(Error::new(Code::InvalidParameterValue, message).hint("leave it out"))
            }
        }
    }
}
