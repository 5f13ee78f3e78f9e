//! What bytes mean: identifiers, types and values, rows and keys, column encodings, statistics, Bloom filters, files.
//!
//! ```text
//!   ids  error                      the words every layer shares
//!   types ── value ── schema        logical types and the values they hold
//!      enums                        the labels of enums, for the whole process
//!      interval ── array            values of several parts
//!      number                       numbers of any count of digits as bytes
//!      ordered                      values as bytes that compare with memcmp
//!      row ── key ── row_arrays     a row as bytes (slot per column), a key as bytes
//!         key_rows                  the keys of many rows
//!         key_range                 the keys that rows have which satisfy predicates
//!      predicate ── mask            what a scan asks of a column, and the rows that satisfy it
//!         array_filter              the same of an Arrow array, or of rows
//!      stats ── bloom               what rules a block or file out without reading it
//!      summary/                     how many values a column has, which are common, how they are spread
//!      encoding/ ── table/          a column as encoded blocks; a column table as one file image
//!      document/                    documents as columns: what a block of jsonb is made of, and its fields
//!      wire                         numbers, texts, types, values as bytes; the reader of bytes that may be damaged
//! ```
//!
//! Nothing here reads a clock or starts a thread; files are read through [`weft_env::File`] handed in by the caller.

pub mod array;
pub mod array_filter;
pub mod arrow_values;
pub mod bloom;
mod bytes;
pub mod document;
pub mod encoding;
pub mod enums;
pub mod error;
mod evolution;
pub mod ids;
pub mod interval;
pub mod key;
mod key_range;
pub mod key_rows;
pub mod mask;
pub mod number;
mod ordered;
pub mod predicate;
pub mod row;
pub mod row_arrays;
pub mod row_batch;
pub mod schema;
pub mod stats;
pub mod summary;
pub mod table;
pub mod types;
pub mod value;
pub mod wire;

pub use array::ArrayValue;
pub use bloom::BloomFilter;
pub use encoding::{BLOCK_ROWS, Block};
pub use error::{Code, Error, ErrorKind, Result};
pub use ids::{FileId, Lsn, RecordNo, TableId, Timestamp, TxnId, file_name};
pub use interval::Interval;
pub use key::KeyCodec;
pub use key_range::KeyRange;
pub use key_rows::KeyRows;
pub use mask::Mask;
pub use number::{NumberRef, NumberValue};
pub use predicate::{CompareOp, Predicate};
pub use row::RowCodec;
pub use row_batch::EncodedRows;
pub use schema::{Column, Evolution, Schema};
pub use stats::ColumnStats;
pub use summary::ColumnSummary;
pub use table::{
    BlockCache, BlockKey, ColumnTable, ColumnTableBuilder, ColumnTableImage, ColumnTableOptions, InsertTimestamps,
    NoCache,
};
pub use types::{DataType, Element};
pub use value::{Value, ValueRef};
