//! The SQL/JSON query functions, and the rows of JSON_TABLE (SQL:2016, part 2, sections 6.27 to 6.31 and 7.11), as
//! calls that the parser writes them as.
//!
//! ```text
//!   JSON_VALUE(j, '$.a' RETURNING int DEFAULT 0 ON EMPTY)
//!       "json_value"(j, '$.a', vars, 'dn', CAST(NULL AS int), CAST(0 AS int), NULL)
//!   JSON_TABLE(j, '$[*]' COLUMNS (n FOR ORDINALITY, a int PATH '$.a'))
//!       (SELECT v ->> 0 AS n, "json_value"(v -> 1, 'nn', 'a', CAST(NULL AS int), NULL, NULL) AS a
//!        FROM unnest(weft_json_table(j, ARRAY['($[*]', '#', 'v$.a', ')'], vars)) AS i (v))
//!
//!   found         what a path finds, or the error that it meets
//!   clauses       what a function does where there is nothing, or an error: ON EMPTY and ON ERROR
//!   functions     the functions, of a document and of a cell of such a row
//!   plan          the levels of JSON_TABLE; rows     their rows
//! ```
//!
//! 1. A function of a document and of a cell is the same from what was found on.
//! 2. What ON ERROR answers is an error of the path or of the value's type, never one of the document, the path's text
//!    or its variables.
//!
//! What SQL leaves open is as PostgreSQL 17 answers.

mod clauses;
mod found;
mod functions;
mod plan;
mod rows;

pub(in crate::builtins) use functions::ROWS;
pub use functions::{JSON_EXISTS, JSON_QUERY, JSON_VALUE};
pub use rows::JSON_TABLE;

#[cfg(test)]
mod tests;
