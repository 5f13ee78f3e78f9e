//! Functions of texts and bytes (PostgreSQL's documentation, 9.4 and 9.5), and of what is known of any value.
//!
//! ```text
//!   left('abcde', -2)                  abc              letters     characters
//!   split_part('a,b,c', ',', -1)       c                pieces      trimmed, split, put together
//!   quote_literal('it''s')             'it''s'          quoting     as SQL writes them
//!   format('%I = %L', 'Foo', 1)        "Foo" = '1'      format
//!   get_bit('\x02', 1)                 1                bytes
//!   convert_to('ä', 'LATIN1')          \xe4             encodings
//!   md5('abc')                         900150983cd2...  hashes
//!   num_nulls(1, NULL)                 1                kinds       of any value
//! ```
//!
//! 1. Characters count, not bytes, but where the name says so.
//! 2. Nothing makes more than 256 MB: it is an error before it is made (`limits`).

mod bytes;
mod encodings;
mod format;
mod hashes;
mod kinds;
mod letters;
mod pieces;
mod quoting;

use weft_format::{DataType, Element};

use super::builtin::{Arg, Builtin, builtin};
use super::internal::FIRST;

const TEXT: Arg = Arg::Of(DataType::Text);
const BYTES: Arg = Arg::Of(DataType::Bytea);
const INT: Arg = Arg::Of(DataType::Integer);
const BIGINT: Arg = Arg::Of(DataType::BigInt);
const TEXTS: DataType = DataType::Array(Element::Text);

/// `parse_ident` without its second argument, for which PostgreSQL has a default and no row of its own.
const PARSE_IDENT_STRICT: u32 = FIRST + 500;

pub(super) static ROWS: &[Builtin] = &[
    builtin(1620, "ascii", &[TEXT], DataType::Integer, letters::ascii),
    builtin(1621, "chr", &[INT], DataType::Text, letters::chr),
    builtin(1811, "bit_length", &[TEXT], DataType::Integer, letters::bit_length),
    builtin(1810, "bit_length", &[BYTES], DataType::Integer, letters::bit_length),
    builtin(1374, "octet_length", &[TEXT], DataType::Integer, letters::octet_length),
    builtin(872, "initcap", &[TEXT], DataType::Text, letters::initcap),
    builtin(3060, "left", &[TEXT, INT], DataType::Text, letters::left),
    builtin(3061, "right", &[TEXT, INT], DataType::Text, letters::right),
    builtin(879, "lpad", &[TEXT, INT], DataType::Text, letters::lpad),
    builtin(873, "lpad", &[TEXT, INT, TEXT], DataType::Text, letters::lpad),
    builtin(880, "rpad", &[TEXT, INT], DataType::Text, letters::rpad),
    builtin(874, "rpad", &[TEXT, INT, TEXT], DataType::Text, letters::rpad),
    builtin(1622, "repeat", &[TEXT, INT], DataType::Text, letters::repeat),
    builtin(2087, "replace", &[TEXT, TEXT, TEXT], DataType::Text, letters::replace),
    builtin(3062, "reverse", &[TEXT], DataType::Text, letters::reverse),
    builtin(878, "translate", &[TEXT, TEXT, TEXT], DataType::Text, letters::translate),
    builtin(3696, "starts_with", &[TEXT, TEXT], DataType::Boolean, letters::starts_with),
    builtin(849, "position", &[TEXT, TEXT], DataType::Integer, letters::position),
    builtin(868, "strpos", &[TEXT, TEXT], DataType::Integer, letters::position),
    builtin(1405, "overlay", &[TEXT, TEXT, INT], DataType::Text, letters::overlay),
    builtin(1404, "overlay", &[TEXT, TEXT, INT, INT], DataType::Text, letters::overlay),
    builtin(2089, "to_hex", &[INT], DataType::Text, letters::to_hex),
    builtin(2090, "to_hex", &[BIGINT], DataType::Text, letters::to_hex),
    builtin(885, "btrim", &[TEXT], DataType::Text, pieces::btrim),
    builtin(884, "btrim", &[TEXT, TEXT], DataType::Text, pieces::btrim),
    builtin(881, "ltrim", &[TEXT], DataType::Text, pieces::ltrim),
    builtin(875, "ltrim", &[TEXT, TEXT], DataType::Text, pieces::ltrim),
    builtin(882, "rtrim", &[TEXT], DataType::Text, pieces::rtrim),
    builtin(876, "rtrim", &[TEXT, TEXT], DataType::Text, pieces::rtrim),
    builtin(2088, "split_part", &[TEXT, TEXT, INT], DataType::Text, pieces::split_part),
    builtin(6160, "string_to_table", &[TEXT, TEXT], TEXTS, pieces::string_to_table).lenient().set(),
    builtin(6161, "string_to_table", &[TEXT, TEXT, TEXT], TEXTS, pieces::string_to_table).lenient().set(),
    builtin(3058, "concat", &[Arg::Any], DataType::Text, pieces::concat).variadic().lenient().stable(),
    builtin(3059, "concat_ws", &[TEXT, Arg::Any], DataType::Text, pieces::concat_ws).variadic().lenient().stable(),
    builtin(1282, "quote_ident", &[TEXT], DataType::Text, quoting::quote_ident),
    builtin(1283, "quote_literal", &[TEXT], DataType::Text, quoting::quote_literal),
    builtin(1285, "quote_literal", &[Arg::Any], DataType::Text, quoting::quote_literal).stable(),
    builtin(1289, "quote_nullable", &[TEXT], DataType::Text, quoting::quote_nullable).lenient(),
    builtin(1290, "quote_nullable", &[Arg::Any], DataType::Text, quoting::quote_nullable).lenient().stable(),
    builtin(PARSE_IDENT_STRICT, "parse_ident", &[TEXT], TEXTS, quoting::parse_ident),
    builtin(1268, "parse_ident", &[TEXT, Arg::Of(DataType::Boolean)], TEXTS, quoting::parse_ident),
    builtin(6198, "unistr", &[TEXT], DataType::Text, quoting::unistr),
    builtin(3540, "format", &[TEXT], DataType::Text, format::format).lenient().stable(),
    builtin(3539, "format", &[TEXT, Arg::Any], DataType::Text, format::format).variadic().lenient().stable(),
    builtin(723, "get_bit", &[BYTES, BIGINT], DataType::Integer, bytes::get_bit),
    builtin(724, "set_bit", &[BYTES, BIGINT, INT], DataType::Bytea, bytes::set_bit),
    builtin(721, "get_byte", &[BYTES, INT], DataType::Integer, bytes::get_byte),
    builtin(722, "set_byte", &[BYTES, INT, INT], DataType::Bytea, bytes::set_byte),
    builtin(6163, "bit_count", &[BYTES], DataType::BigInt, bytes::bit_count),
    builtin(2015, "btrim", &[BYTES, BYTES], DataType::Bytea, bytes::btrim),
    builtin(6195, "ltrim", &[BYTES, BYTES], DataType::Bytea, bytes::ltrim),
    builtin(6196, "rtrim", &[BYTES, BYTES], DataType::Bytea, bytes::rtrim),
    builtin(752, "overlay", &[BYTES, BYTES, INT], DataType::Bytea, bytes::overlay),
    builtin(749, "overlay", &[BYTES, BYTES, INT, INT], DataType::Bytea, bytes::overlay),
    builtin(2014, "position", &[BYTES, BYTES], DataType::Integer, bytes::position),
    builtin(1714, "convert_from", &[BYTES, TEXT], DataType::Text, encodings::convert_from).stable(),
    builtin(1717, "convert_to", &[TEXT, TEXT], DataType::Bytea, encodings::convert_to).stable(),
    builtin(1813, "convert", &[BYTES, TEXT, TEXT], DataType::Bytea, encodings::convert).stable(),
    builtin(2311, "md5", &[TEXT], DataType::Text, hashes::md5),
    builtin(2321, "md5", &[BYTES], DataType::Text, hashes::md5),
    builtin(3419, "sha224", &[BYTES], DataType::Bytea, hashes::sha224),
    builtin(3420, "sha256", &[BYTES], DataType::Bytea, hashes::sha256),
    builtin(3421, "sha384", &[BYTES], DataType::Bytea, hashes::sha384),
    builtin(3422, "sha512", &[BYTES], DataType::Bytea, hashes::sha512),
    builtin(438, "num_nulls", &[Arg::Any], DataType::Integer, kinds::num_nulls).variadic().lenient(),
    builtin(440, "num_nonnulls", &[Arg::Any], DataType::Integer, kinds::num_nonnulls).variadic().lenient(),
    builtin(1619, "pg_typeof", &[Arg::Any], DataType::Text, kinds::pg_typeof).lenient().stable(),
];

#[cfg(test)]
pub(super) mod tests;
