//! One operation of a transaction, as histories have it.
//!
//! ```text
//!   l5+31   append    l5=[31]  read of a list    r7.0:=9  write of a register    r7.0=9  read of it
//! ```

/// One operation of a transaction, with what it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op<'a> {
    /// Added an element at the end of a list; an absent list is empty.
    Append {
        /// The list's key.
        key: u64,
        /// Never appended to this list before.
        element: u64,
    },
    /// Read a whole list; absent is empty.
    ReadList {
        /// The list's key.
        key: u64,
        /// What was there.
        elements: &'a [u64],
    },
    /// Set one column of a key.
    WriteRegister {
        /// The row's key.
        key: u64,
        /// The column.
        column: u16,
        /// Never written to this register before.
        value: u64,
    },
    /// Read one column of a key.
    ReadRegister {
        /// The row's key.
        key: u64,
        /// The column.
        column: u16,
        /// What was there; none before the first write.
        value: Option<u64>,
    },
    /// Read all keys of a range; what they held follows as reads of single keys.
    ReadRange {
        /// The first key of the range.
        low: u64,
        /// The last key of the range, included.
        high: u64,
        /// The column of the registers; none for lists.
        column: Option<u16>,
        /// The keys that were found, ascending.
        keys: &'a [u64],
    },
}

/// Stands for the column of a list.
pub(super) const LIST: u16 = u16::MAX;
