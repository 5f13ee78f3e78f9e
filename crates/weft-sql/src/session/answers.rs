//! Answers and refusals of utility statements.

use std::sync::Arc;

use weft_format::{Code, DataType, Error, Value};

use crate::outcome::{Outcome, OutputColumn, Rows, Tag};

/// Rows of text; `values` are those of the rows, one after the other.
pub(super) fn text_rows(names: &[&str], values: impl IntoIterator<Item = String>) -> Outcome {
    let columns: Arc<[OutputColumn]> = names.iter().map(|name| OutputColumn::new(*name, DataType::Text)).collect();
    let values = values.into_iter().map(|text| Value::Text(text.into())).collect();
    let rows = Rows::from_values(columns.len(), values);
    Outcome { tag: Tag::Select(rows.len() as u64), columns, rows }
}

/// What is not there, by name.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported"))
}
