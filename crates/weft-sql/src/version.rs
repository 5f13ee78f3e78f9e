//! Which PostgreSQL this is like.

/// The version of PostgreSQL whose dialect and protocol this is: what drivers and tools look at.
pub const SERVER_VERSION: &str = concat!("15.10 (Weft ", env!("CARGO_PKG_VERSION"), ")");
/// The same as a number: 10,000 times the major version, and the minor one.
pub const SERVER_VERSION_NUM: u32 = 150_010;
