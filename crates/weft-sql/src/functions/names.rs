//! The names of functions in stored queries, which survive their renaming.

use sqlparser::ast::{Ident, ObjectName};

/// What they begin with.
const FIXED: &str = "weft.function.";

/// The name of a function in stored queries.
pub(crate) fn fixed_name(id: u32) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', format!("{FIXED}{id}"))])
}

/// The number in a fixed name.
pub(crate) fn of_fixed_name(name: &ObjectName) -> Option<u32> {
    match name.0.as_slice() {
        [part] => of_fixed_text(&part.as_ident()?.value),
        _ => None,
    }
}

/// As [`of_fixed_name`], of its text.
pub(crate) fn of_fixed_text(text: &str) -> Option<u32> {
    text.strip_prefix(FIXED)?.parse().ok()
}
