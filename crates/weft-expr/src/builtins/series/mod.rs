//! `generate_series` of values that a row gives: all its rows, as an array.
//!
//! ```text
//!   (1, 10, 3)  1, 4, 7, 10      (3, 1, -1)  3, 2, 1      (1, 0)  no rows      (1, 2, 0)  22023
//!   (timestamp '2024-01-31', '2024-04-01', '1 mon')  01-31, 02-29, 03-29: each from the one before
//! ```
//!
//! One of constants in FROM is the query engine's, which gives rows as they are asked for.

mod steps;
#[cfg(test)]
mod tests;

use weft_format::{DataType, Element};

use super::builtin::{Arg, Builtin, builtin};

const BIG: Arg = Arg::Of(DataType::BigInt);
const INT: Arg = Arg::Of(DataType::Integer);
const MOMENT: Arg = Arg::Of(DataType::TimestampTz);
const STEP: Arg = Arg::Of(DataType::Interval);
const WALL: Arg = Arg::Of(DataType::Timestamp);

const BIGS: DataType = DataType::Array(Element::BigInt);
const INTS: DataType = DataType::Array(Element::Integer);
const MOMENTS: DataType = DataType::Array(Element::TimestampTz);
const WALLS: DataType = DataType::Array(Element::Timestamp);

/// The rows.
pub(super) static ROWS: &[Builtin] = &[
    builtin(1067, "generate_series", &[INT, INT], INTS, steps::of_integers).set(),
    builtin(1066, "generate_series", &[INT, INT, INT], INTS, steps::of_integers).set(),
    builtin(1069, "generate_series", &[BIG, BIG], BIGS, steps::of_integers).set(),
    builtin(1068, "generate_series", &[BIG, BIG, BIG], BIGS, steps::of_integers).set(),
    builtin(938, "generate_series", &[WALL, WALL, STEP], WALLS, steps::of_moments).set(),
    builtin(939, "generate_series", &[MOMENT, MOMENT, STEP], MOMENTS, steps::of_moments).set().stable(),
];
