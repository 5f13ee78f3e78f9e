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
mod limits;
mod output;

#[cfg(doc)]
use weft_format::Code;
use weft_format::Result;

pub use self::limits::{EXPR_BYTES_MAX, EXPR_DEPTH_MAX};
use self::limits::{FORMAT_VERSION, FORMAT_WITH_BUILTINS, damaged, too_complex};
use crate::tree::{Expr, Node};

impl Expr {
    /// The bytes of an immutable expression; an error when it is too deep or too long to be stored.
    pub fn encode(&self) -> Result<Vec<u8>> {
        assert!(self.is_immutable(), "only immutable expressions are stored");
        let mut bytes = vec![if calls_builtin(self) { FORMAT_WITH_BUILTINS } else { FORMAT_VERSION }];
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

fn calls_builtin(expr: &Expr) -> bool {
    let mut found = matches!(expr.node, Node::Routine(..));
    expr.for_each_operand(&mut |operand| found |= calls_builtin(operand));
    found
}

#[cfg(test)]
mod tests;
