//! Where a version was seen, in the geometry of this method, and as the kernel carries it.
//!
//! ```text
//!   column table 7, position 5     0x0000_0007_0000_0005     a scan's batches have it as a number
//!   row table 6                    0x8000_0000_0000_0006     by its number in the table's life
//! ```

use weft_contract::Location;
use weft_format::FileId;

/// Set for a row table.
const ROW_TABLE: u64 = 1 << 63;

/// See above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    RowTable(u64),
    ColumnTable(FileId, u32),
}

impl Seen {
    /// As the kernel carries it; none for a file beyond 2^31, whose rows are found by their keys.
    pub(crate) fn location(self) -> Option<Location> {
        match self {
            Seen::RowTable(number) => Location::new(ROW_TABLE | number),
            Seen::ColumnTable(file, _) if file.0 >= 1 << 31 => None,
            Seen::ColumnTable(file, position) => Location::new(file.0 << 32 | u64::from(position)),
        }
    }

    /// What such a location says.
    pub(crate) fn of(location: Location) -> Seen {
        let bits = location.bits();
        if bits & ROW_TABLE == 0 {
            Seen::ColumnTable(FileId(bits >> 32), bits as u32)
        } else {
            Seen::RowTable(bits & !ROW_TABLE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_say_what_was_seen() {
        let (first, last) = (FileId(1), FileId((1 << 31) - 1));
        let columns = [Seen::ColumnTable(first, 0), Seen::ColumnTable(first, u32::MAX), Seen::ColumnTable(last, 3)];
        for seen in columns.into_iter().chain([Seen::RowTable(0), Seen::RowTable(77)]) {
            let location = seen.location().unwrap();
            assert_eq!(Seen::of(location), seen);
            assert_eq!(Location::of_number(location.number()), Some(location));
        }
        assert_eq!(Seen::ColumnTable(FileId(1 << 31), 0).location(), None);
    }
}
