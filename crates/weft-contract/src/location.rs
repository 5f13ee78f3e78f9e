//! Where a version of a row lies.

use std::num::NonZeroU64;

/// Where a method saw a committed version: 64 bits of its own, which mean nothing to anybody else. A hint: installation
/// finds the version again when a job has moved it (invariant 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location(NonZeroU64);

impl Location {
    /// A method's own bits; none for zero, which stands for a version that only its key finds.
    pub fn new(bits: u64) -> Option<Location> {
        NonZeroU64::new(bits).map(Location)
    }

    /// The method's own bits.
    pub fn bits(self) -> u64 {
        self.0.get()
    }

    /// As a column of a scan has it ([`LOCATION`](crate::LOCATION)).
    pub fn number(self) -> i64 {
        self.bits().cast_signed()
    }

    /// The location that a column of a scan has.
    pub fn of_number(number: i64) -> Option<Location> {
        Location::new(number.cast_unsigned())
    }
}
