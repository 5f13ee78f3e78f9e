//! Functions and operators of uuid, bytea, time, interval, json and arrays: found by name or sign and the types given,
//! computed value by value, the same for both engines.
//!
//! ```text
//!   by_operator("->>", jsonb, untyped)     JsonGetText   takes (jsonb, text)        gives text
//!   by_name("array_length", int[], int)    ArrayLength   takes (integer[], integer) gives integer
//!   call(JsonGetText, ['{"a": 1}', 'a'])   '1'
//! ```
//!
//! 1. A routine that is found has a type for every argument; who calls it casts them first ([`cast`](fn@crate::cast)).
//! 2. NULL arguments make the result NULL, but for routines that are made of any values ([`Routine::takes_null`]).

mod arrays;
mod bytes;
mod calendar;
mod call;
mod jsons;
mod operators;
mod routine;
mod signatures;
mod times;

pub use calendar::{is_field, part_type};
pub use call::call;
pub use operators::{by_operator, quantified};
pub use routine::{Routine, Signature};
pub use signatures::{ARRAY_OF, by_name, gives_rows, names};
pub use times::{add_to_moment, add_to_timestamp};

#[cfg(test)]
mod tests;
