//! Dates and times: intervals made and justified, times made, bins, parts and lengths of timestamps, whether two
//! stretches of time overlap, and the functions behind casts.
//!
//! ```text
//!   make_interval(1, 2, 0, 3)               1 year 2 mons 3 days           made
//!   justify_interval('1 mon -1 hour')       29 days 23:00:00               justified
//!   date_trunc('year', interval '20 mons')  1 year                         parts
//!   overlaps(10:00, '1 h', 10:30, 12:00)    true                           overlaps
//!   date('2024-03-01 02:00+01')             2024-03-01                     converted
//! ```

mod converted;
mod justified;
mod made;
mod overlaps;
mod parts;
mod rows;
#[cfg(test)]
mod tests;
mod waits;

pub(super) use rows::ROWS;
