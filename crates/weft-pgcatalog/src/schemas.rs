//! Numbers of schemas, which are PostgreSQL's.

/// The number of the schema `public`.
pub const PUBLIC: u32 = 2200;
/// The number of `pg_catalog`.
pub const PG_CATALOG: u32 = 11;
/// The number of `information_schema`.
pub const INFORMATION_SCHEMA: u32 = 13_178;
/// The number of the first object that users make.
pub const FIRST: u32 = 16_384;
