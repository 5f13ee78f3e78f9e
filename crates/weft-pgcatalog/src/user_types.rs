//! Types that users made, as plain data.

/// An enum that a user made.
#[derive(Clone, Debug)]
pub struct UserType {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// In their order, with their codes.
    pub labels: Vec<(i64, String)>,
}

/// The number of the type of arrays of a relation's rows, or of a user's type.
pub fn array_oid(oid: u32) -> u32 {
    0x1000_0000 | oid & 0x0fff_ffff
}
