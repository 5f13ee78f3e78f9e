//! How far one call goes that gives out rows by a range of keys.

use weft_contract::{LOOKS_MAX, ORDERED_BYTES_MAX, OrderedRows, Wanted};

/// Counts what a call has looked at and given.
pub(crate) struct Taking<'a> {
    pub(crate) wanted: &'a Wanted<'a>,
    /// As many rows as are wanted.
    rows_max: usize,
    looks: usize,
    /// What was given is counted up to this value.
    counted: usize,
    bytes: usize,
}

impl<'a> Taking<'a> {
    pub(crate) fn new(wanted: &'a Wanted<'a>, rows: &OrderedRows) -> Taking<'a> {
        assert!(wanted.limit > 0, "who calls wants a row at least");
        Taking { wanted, rows_max: rows.len() + wanted.limit, looks: 0, counted: rows.values.len(), bytes: 0 }
    }

    /// Whether the call ends here; asked behind each version that was looked at.
    pub(crate) fn is_enough(&mut self, rows: &OrderedRows) -> bool {
        self.looks += 1;
        self.bytes += rows.bytes_from(self.counted);
        self.counted = rows.values.len();
        rows.len() >= self.rows_max || self.looks >= LOOKS_MAX + self.wanted.limit || self.bytes >= ORDERED_BYTES_MAX
    }
}
