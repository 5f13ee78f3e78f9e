//! One column of up to 8192 rows as encoded bytes, and everything that reads it.
//!
//! ```text
//!   values ──▶ builder ──▶ encode (chooses) ──▶ bytes ──▶ block ──┬─▶ value, int_at      one value
//!                  dictionary · encode_text                       ├─▶ decode             an Arrow array
//!                  packed · text · symbols · letters              └─▶ filter, int_test   a predicate into a mask
//! ```

mod block;
mod builder;
mod decode;
mod dictionary;
mod encode;
mod encode_text;
mod filter;
mod finish;
mod hashes;
mod int_test;
mod kind;
pub(crate) mod layout;
pub(crate) mod letters;
mod packed;
mod pieces;
pub(crate) mod slices;
pub(crate) mod symbols;
#[cfg(test)]
pub(crate) mod tests;
mod text;

pub use block::Block;
pub use builder::{BlockBuilder, EncodedBlock, HashesWanted};
pub(crate) use encode_text::plain_block;
pub(crate) use filter::and_where;
pub(crate) use int_test::IntTest;
pub use kind::Kind;
pub use layout::{BLOCK_ROWS, Encoding};
pub use packed::UNIT_ROWS;
pub use symbols::SymbolTable;
pub use text::TEXT_GROUP_ROWS;
