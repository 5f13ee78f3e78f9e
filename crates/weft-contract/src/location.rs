//! Where a version of a row lies.

use weft_format::FileId;

/// Where a committed version was seen. A hint: installation finds it again when a job has moved it (invariant 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a row table, by its number in the table's life.
    RowTable(u64),
    /// In a column table at a position.
    ColumnTable(FileId, u32),
}

impl Location {
    /// A position in a column table as one number: the file in the upper, the position in the lower half. None for row
    /// tables, and for files beyond 2^31.
    pub fn number(self) -> Option<i64> {
        match self {
            Location::ColumnTable(file, position) => {
                let file = i64::from(i32::try_from(file.0).ok()?);
                Some(file << 32 | i64::from(position))
            }
            Location::RowTable(_) => None,
        }
    }

    /// The location that has a number.
    pub fn of_number(number: i64) -> Location {
        Location::ColumnTable(FileId((number >> 32) as u64), number as u32)
    }
}
