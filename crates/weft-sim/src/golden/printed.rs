//! What commands print.

use weft_format::Error;

/// What a command prints.
pub(super) type Printed = Result<Vec<String>, String>;

/// An error as scripts show it.
pub(super) fn show_error(error: Error) -> String {
    format!("error {:?}: {}", error.code(), error.message())
}
