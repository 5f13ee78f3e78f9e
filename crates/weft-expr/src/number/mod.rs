//! PostgreSQL's `numeric`: numbers with any count of digits, each with a display scale of its own.
//!
//! ```text
//!   1.50                             1.50, not 1.5: the scale is the value's
//!   1.50 + 2.125                     3.625: the larger scale
//!   1.50 * 2.125                     3.18750: the sum of the scales
//!   2 / 3.0                          0.66666666666666666667: at least 16 digits that count
//!   sqrt(2.0)                        1.414213562373095
//!   'Infinity' - 'Infinity'          NaN, which is above all numbers and equal to itself
//!
//!   bytes (weft_format::NumberValue) ── value ── arithmetic, rounding, whole, transcendental, power, sums, convert
//!     └── text, wire                        ├── decimal ── integer     finite numbers; integers of any size
//!                                           └── fixed                  logarithms and exponentials of binary fractions
//! ```
//!
//! 1. A number has at most 131,072 digits before the point and 16,383 behind it; a result with more is an error
//!    (22003).
//! 2. Which scale a result has depends on the values, by PostgreSQL's rules (`numeric.c` of PostgreSQL 15); the golden
//!    file of the tests has its answers. Sums, differences, products, quotients and square roots are exact before they
//!    are rounded, half away from zero. Logarithms, exponentials and powers are computed with more digits than are
//!    shown, so their last digit is right, too.
//! 3. Integers are i128s while they fit: that is what most numbers are.

mod arithmetic;
mod convert;
mod decimal;
mod fixed;
mod integer;
mod power;
mod rounding;
mod sums;
mod text;
mod transcendental;
mod value;
mod whole;
mod wire;

pub use sums::Sums;
pub use text::{parse_number, write_number};
pub use value::Number;
pub use wire::{read_wire, write_wire};

#[cfg(test)]
mod tests;
