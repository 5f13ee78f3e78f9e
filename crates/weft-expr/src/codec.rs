//! Immutable expressions as bytes; docs/format/catalog.md is the specification.
//!
//! ```text
//!   lower(b), b being column 1     01                     format version
//!                                  0d 07  08  01 00 00 00   a call of lower that gives text, one argument
//!                                    02  08  01 00 00 00    column 1, text
//! ```
//!
//! A node is its kind, what belongs to the kind, its type, and its operands. Little-endian; counts are u32.
//!
//! 1. Bytes that do not follow the specification are [`Code::DataCorrupted`]: an
//!    unknown kind, a tree that is too deep, an end too early. Whoever decodes knows the columns, and tests the types
//!    ([`Expr::check_types`]).
//! 2. `decode(encode(e)) == e` for every immutable expression within the limits.

mod input;
mod output;

use weft_format::{Code, Error, Result};

use crate::tree::Expr;

/// The most operands within each other.
pub const EXPR_DEPTH_MAX: usize = 64;
/// The most bytes of an encoded expression.
pub const EXPR_BYTES_MAX: usize = 16 << 10;

/// First byte of an encoded expression.
const FORMAT_VERSION: u8 = 1;

/// The numbers of the kinds of nodes.
mod kind {
    pub(super) const LITERAL: u8 = 1;
    pub(super) const COLUMN: u8 = 2;
    pub(super) const ARITHMETIC: u8 = 3;
    pub(super) const NEGATE: u8 = 4;
    pub(super) const COMPARE: u8 = 5;
    pub(super) const AND: u8 = 6;
    pub(super) const OR: u8 = 7;
    pub(super) const NOT: u8 = 8;
    pub(super) const IS_NULL: u8 = 9;
    pub(super) const IS_BOOL: u8 = 10;
    pub(super) const IS_DISTINCT: u8 = 11;
    pub(super) const IN_LIST: u8 = 12;
    pub(super) const CALL: u8 = 13;
    pub(super) const LIKE: u8 = 14;
    pub(super) const CASE: u8 = 15;
    pub(super) const CAST: u8 = 16;
    pub(super) const CONCAT: u8 = 17;
}

impl Expr {
    /// The bytes of an immutable expression; an error when it is too deep or too long to be stored.
    pub fn encode(&self) -> Result<Vec<u8>> {
        assert!(self.is_immutable(), "only immutable expressions are stored");
        let mut bytes = vec![FORMAT_VERSION];
        output::put(&mut bytes, self, EXPR_DEPTH_MAX)?;
        if bytes.len() > EXPR_BYTES_MAX { Err(too_complex()) } else { Ok(bytes) }
    }

    /// Reads an expression that is all of `bytes`. Its types are still to be tested.
    pub fn decode(bytes: &[u8]) -> Result<Expr> {
        if bytes.len() > EXPR_BYTES_MAX {
            return Err(damaged("it is too long"));
        }
        input::read(bytes)
    }
}

fn too_complex() -> Error {
    Error::new(Code::StatementTooComplex, "the expression is nested too deeply or too long to be stored")
        .hint(format!("at most {EXPR_DEPTH_MAX} operands within each other and {EXPR_BYTES_MAX} bytes"))
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a stored expression is damaged: {what}")).hint("restore the directory from a backup")
}

#[cfg(test)]
mod tests;
