//! Values as PostgreSQL reads and writes them as text.
//!
//! ```text
//!   '  42 '        integer            Int(42)                 42
//!   't'            boolean            Bool(true)              t
//!   '1e3'          numeric(10,2)      Decimal(100000)         1000.00
//!   '0.1'          double precision   Float(0.1)              0.1
//!   '2013-01-01'   date               Int(15706)              2013-01-01
//!   '2013-01-01 05:15+01'  timestamptz  Int(1357013700000000)  2013-01-01 04:15:00+00
//!   '{1,NULL}'     integer[]          Array(...)              {1,NULL}
//! ```
//!
//! 1. `parse(print_as(v, t, style), t) == v` for every value of every type and every style, but for moments that a
//!    clock shows twice and that the style tells apart by an abbreviation only.
//! 2. Dates lie in the years 0001 to 9999; `infinity` is refused, not approximated.
//! 3. What depends on the session says so: it takes a [`Local`](crate::style::Local) or its
//!    [`Style`](crate::style::Style). [`print()`] and [`write()`] are the engine's own text: ISO, UTC.

mod array;
mod bits;
mod bytes;
mod datetime;
mod float;
mod interval;
mod messages;
mod number;
mod parse;
mod print;
mod read_scalar;
mod set_zone;
mod uuid;
mod write_scalar;

pub use crate::days::{date_parts, days_of};
pub use array::{parse_array, write_array};
pub use bits::parse_bits;
pub use bytes::{decode, encode, parse_bytes, write_hex};
pub(crate) use datetime::offset_seconds;
pub use datetime::{parse_date, parse_time, parse_timestamp, parse_timestamptz, reads_present};
pub(crate) use datetime::{write_date, write_xsd, write_xsd_at, write_xsd_time};
pub use interval::{parse_interval, write_interval};
pub use messages::shorten;
pub use messages::type_name;
pub use number::{
    NUMERIC_DEFAULT, decimal_overflow, fits_integer, parse_decimal, parse_float, parse_integer, pow10, rescale,
};
pub use parse::{depends_on_session, parse};
pub use print::{print, print_as, write, write_as};
pub use uuid::{parse_uuid, random_uuid, uuid_text};

#[cfg(test)]
mod styles_tests;
#[cfg(test)]
mod tests;
