//! Types that users made, as plain data.

use weft_format::DataType;

/// A type that a user made.
#[derive(Clone, Debug)]
pub struct UserType {
    /// Number.
    pub oid: u32,
    /// Its schema's number.
    pub schema: u32,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: TypeKind,
}

/// A kind of type that users make.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// An enum: labels in their order, with their codes.
    Enum(Vec<(i64, String)>),
    /// A domain.
    Domain(Domain),
}

/// A domain.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The type of its values.
    pub base: DataType,
    /// The number of the domain that it is made of.
    pub below: Option<u32>,
    /// NOT NULL
    pub not_null: bool,
    /// DEFAULT
    pub default: Option<String>,
    /// CHECK constraints: name, condition, whether all values are known to satisfy it.
    pub checks: Vec<(String, String, bool)>,
}

/// The number of the type of arrays of a relation's rows, or of a user's type.
pub fn array_oid(oid: u32) -> u32 {
    0x1000_0000 | oid & 0x0fff_ffff
}
