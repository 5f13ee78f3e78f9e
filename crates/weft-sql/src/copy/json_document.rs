//! The column that COPY has documents of.
//!
//! ```text
//!   CREATE TABLE t (id bigserial, doc jsonb)      COPY t FROM ..., COPY t (doc) FROM ... doc; id by default
//!   CREATE TABLE u (a jsonb, b jsonb)             COPY u (b) FROM ...                    b; an error without the list
//! ```

use weft_format::{Code, DataType, Error, Result};

use crate::outcome::OutputColumn;
use crate::row::{TableShape, generated};

/// The column that documents go to: the one of the list, or the only one of json or jsonb.
pub(super) fn document_column(shape: &TableShape, listed: &[usize]) -> Result<usize> {
    let is_json = |ordinal: &usize| matches!(shape.columns()[*ordinal].data_type, DataType::Json | DataType::Jsonb);
    let is_given = |ordinal: &usize| generated(&shape.table.def, *ordinal).is_none();
    let visible;
    let among = match listed {
        [_] => listed,
        [] => {
            visible = shape.visible();
            &visible[..]
        }
        _ => return Err(no_document(shape, "write one column alone in the list")),
    };
    let mut found = among.iter().copied().filter(|ordinal| is_json(ordinal) && is_given(ordinal));
    match (found.next(), found.next()) {
        (Some(ordinal), None) => Ok(ordinal),
        (None, _) => Err(no_document(shape, "documents go to a column of json or jsonb")),
        (Some(_), Some(_)) => Err(no_document(shape, "the table has several of json and jsonb: name one in the list")),
    }
}

/// Tests that what a query gives is one column of documents.
pub(super) fn check_document(columns: &[OutputColumn]) -> Result<()> {
    match columns {
        [only] if matches!(only.data_type, DataType::Json | DataType::Jsonb) => Ok(()),
        _ => Err(wrong("FORMAT json writes the columns of rows as members of objects")),
    }
}

fn no_document(shape: &TableShape, hint: &str) -> Error {
    wrong(hint).about(shape.name(), None, None)
}

fn wrong(hint: &str) -> Error {
    let message = "COPY with FORMAT json_document reads and writes one column of json or jsonb";
    Error::new(Code::FeatureNotSupported, message).hint(hint)
}
