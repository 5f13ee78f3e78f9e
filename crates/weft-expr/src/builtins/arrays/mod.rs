//! Arrays: filled and cut ones, places of elements, bounds, and the functions behind operators.
//!
//! ```text
//!   array_fill(7, '{3}')                      {7,7,7}           filled
//!   trim_array('{1,2,3}', 1)                  {1,2}             filled
//!   array_positions('{A,B,A}', 'A')           {1,3}             places
//!   array_dims('{1,2,3}')                     [1:3]             bounds
//!   generate_subscripts('{1,2,3}', 1, true)   3 2 1, as rows    bounds
//! ```
//!
//! Arrays have one dimension, and the first subscript is 1.

mod bounds;
mod filled;
mod items;
mod places;
mod rows;
#[cfg(test)]
mod tests;

pub(super) use rows::ROWS;
