//! What the rivals differ in: where the versions of numbered rows are.
//!
//! ```text
//!   table   key k7 ─▶ row 4,097 ─▶ Rows::find(4,097, as of 44, columns 1 and 3) ─▶ since 41, (10, 20)
//!   scan    block 1: rows 4,096 .. 8,191 ─▶ Rows::gather ─▶ those visible, column by column
//! ```
//!
//! 1. Who writes a row holds its key's lock, and comes after all earlier commits of that key.
//! 2. A row that was inserted is not found by snapshots from before that.

use std::ops::Range;

use weft_contract::{JobOffer, LayerStatus, Location};
use weft_format::{RowCodec, Timestamp, Value};

use crate::values::Values;

/// Versions of numbered rows.
pub(crate) trait Rows: Send + Sync + 'static {
    /// Rows of a block, which [`Rows::gather`] reads at once.
    fn block_rows(&self) -> u64;
    /// Gives a row that has none a version of all columns, those of `codec` and perhaps more.
    fn insert(&self, row: u64, ts: Timestamp, codec: &RowCodec, values: Vec<Value>);
    /// Sets some columns of a row that is alive to what they are in `bytes`.
    fn update(&self, row: u64, ts: Timestamp, codec: &RowCodec, bytes: &[u8], columns: &[usize]);
    /// Ends a row that is alive.
    fn delete(&self, row: u64, ts: Timestamp);
    /// Puts the values of some columns as of `read_ts` into `values`, in their order; returns since when they are so.
    /// None: no version is visible, or it is gone since no registered snapshot sees it.
    fn find(
        &self,
        row: u64,
        read_ts: Timestamp,
        codec: &RowCodec,
        columns: &[usize],
        values: &mut Vec<Value>,
    ) -> Option<Timestamp>;
    /// Adds the visible rows of a block that are not hidden.
    fn gather(&self, block: u64, wanted: &Wanted, gathered: &mut Gathered);
    /// Whether a job is due that nobody may have been told of.
    fn is_due(&self) -> bool;
    /// The job that could run now.
    fn offer(&self) -> Option<JobOffer>;
    /// Runs it; rows have the columns of `codec`. What was visible at `needed_from()` or later stays.
    fn run(&self, codec: &RowCodec, needed_from: &dyn Fn() -> Timestamp);
    /// Lets the next job take everything.
    fn freeze(&self);
    /// What is against the invariants, one line each.
    fn check(&self) -> Vec<String>;
    /// What lies where.
    fn layers(&self) -> Vec<LayerStatus>;
}

/// What a scan wants of each block.
pub(crate) struct Wanted {
    pub(crate) read_ts: Timestamp,
    /// Distinct ordinals.
    pub(crate) columns: Vec<usize>,
    pub(crate) codec: RowCodec,
    /// Rows that own writes hide, ascending.
    pub(crate) hidden: Vec<u64>,
}

impl Wanted {
    /// The hidden rows among some.
    pub(crate) fn hidden_in(&self, rows: Range<u64>) -> &[u64] {
        let start = self.hidden.partition_point(|row| *row < rows.start);
        let end = self.hidden.partition_point(|row| *row < rows.end);
        &self.hidden[start..end]
    }
}

/// Rows, column by column.
#[derive(Default)]
pub(crate) struct Gathered {
    pub(crate) rows: Vec<u64>,
    /// As [`Wanted::columns`].
    pub(crate) columns: Vec<Values>,
}

impl Gathered {
    pub(crate) fn new(wanted: &Wanted) -> Gathered {
        Gathered { rows: Vec::new(), columns: wanted.columns.iter().map(|_| Values::default()).collect() }
    }

    /// Adds rows that lie side by side, slots `slots` from row `first` on; `column` has the values of an ordinal.
    pub(crate) fn take_run<'a>(
        &mut self,
        wanted: &Wanted,
        first: u64,
        slots: Range<usize>,
        column: impl Fn(usize) -> Option<&'a Values>,
    ) {
        if slots.is_empty() {
            return;
        }
        self.rows.extend(slots.clone().map(|slot| first + slot as u64));
        for (values, &ordinal) in self.columns.iter_mut().zip(&wanted.columns) {
            match column(ordinal) {
                Some(stored) => values.extend(stored, slots.clone()),
                None => values.fill(self.rows.len(), wanted.codec.missing(ordinal)),
            }
        }
    }

    /// Adds one row; its values are taken out.
    pub(crate) fn take_row(&mut self, row: u64, values: &mut Vec<Value>) {
        assert_eq!(values.len(), self.columns.len(), "a row has a value of each wanted column");
        self.rows.push(row);
        self.columns.iter_mut().zip(values.drain(..)).for_each(|(column, value)| column.push(value));
    }
}

/// A row number as everybody else has it.
pub(crate) fn location_of(row: u64) -> Option<Location> {
    Location::new(row + 1)
}

/// The row number that a location means.
pub(crate) fn row_of(location: Location) -> u64 {
    location.bits() - 1
}
