//! What the bytes of expressions have in common: numbers of kinds, limits, errors.

use weft_format::{Code, Error};

/// The most operands within each other.
pub const EXPR_DEPTH_MAX: usize = 64;
/// The most bytes of an encoded expression.
pub const EXPR_BYTES_MAX: usize = 16 << 10;

/// First byte of an encoded expression.
pub(super) const FORMAT_VERSION: u8 = 1;
/// The same of one that calls built-in functions, which the release before does not know.
pub(super) const FORMAT_WITH_BUILTINS: u8 = 2;

/// The numbers of the kinds of nodes.
pub(super) mod kind {
    pub(in crate::codec) const LITERAL: u8 = 1;
    pub(in crate::codec) const COLUMN: u8 = 2;
    pub(in crate::codec) const ARITHMETIC: u8 = 3;
    pub(in crate::codec) const NEGATE: u8 = 4;
    pub(in crate::codec) const COMPARE: u8 = 5;
    pub(in crate::codec) const AND: u8 = 6;
    pub(in crate::codec) const OR: u8 = 7;
    pub(in crate::codec) const NOT: u8 = 8;
    pub(in crate::codec) const IS_NULL: u8 = 9;
    pub(in crate::codec) const IS_BOOL: u8 = 10;
    pub(in crate::codec) const IS_DISTINCT: u8 = 11;
    pub(in crate::codec) const IN_LIST: u8 = 12;
    pub(in crate::codec) const CALL: u8 = 13;
    pub(in crate::codec) const LIKE: u8 = 14;
    pub(in crate::codec) const CASE: u8 = 15;
    pub(in crate::codec) const CAST: u8 = 16;
    pub(in crate::codec) const CONCAT: u8 = 17;
    pub(in crate::codec) const BUILTIN: u8 = 18;
}

pub(super) fn too_complex() -> Error {
    Error::new(Code::StatementTooComplex, "the expression is nested too deeply or too long to be stored")
        .hint(format!("at most {EXPR_DEPTH_MAX} operands within each other and {EXPR_BYTES_MAX} bytes"))
}

pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a stored expression is damaged: {what}")).hint("restore the directory from a backup")
}
