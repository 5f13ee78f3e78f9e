//! Moments of the past that a statement reads tables at, whatever its transaction sees.

use weft_contract::ReadView;
use weft_format::{Result, Timestamp};

use super::held::HeldSnapshot;
use super::transaction::Transaction;
use crate::catalog::TableRef;

/// A moment of the past that tables are read at. What it shows is kept until it is dropped.
pub struct PastSnapshot(HeldSnapshot);

impl PastSnapshot {
    /// What a table showed then, as it is defined now.
    ///
    /// # Errors
    /// [`weft_format::Code::SnapshotTooOld`] when the table has dropped that.
    pub fn view(&self, t: &TableRef) -> Result<ReadView> {
        // Registered first: from here on the floor does not pass it (horizon 1).
        t.horizon().check(self.read_ts(), || format!("table {:?}", t.def.name))?;
        Ok(ReadView { read_ts: self.read_ts(), own: None, reads: None })
    }

    /// The last commit that it shows.
    pub fn read_ts(&self) -> Timestamp {
        self.0.read_ts()
    }
}

impl Transaction {
    /// A moment of the past to read tables at, whatever this transaction sees itself.
    ///
    /// # Errors
    /// [`weft_format::Code::SnapshotTooOld`] before everything that is known,
    /// [`weft_format::Code::InvalidParameterValue`] beyond what is published.
    pub fn past(&self, read_ts: Timestamp) -> Result<PastSnapshot> {
        HeldSnapshot::of_rows(&self.engine, read_ts).map(PastSnapshot)
    }

    /// Whether the snapshot was taken of the past.
    pub fn is_past(&self) -> bool {
        self.is_past
    }
}
