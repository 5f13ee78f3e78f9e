//! Numbers of columns as users see them.

use weft_kernel::TableDef;

/// The number of a column as users see it; 0 of the hidden row id.
pub(crate) fn number_of(def: &TableDef, ordinal: usize) -> i64 {
    match def.schema.row_id() {
        Some(hidden) if hidden == ordinal => 0,
        Some(hidden) if hidden < ordinal => ordinal as i64,
        _ => ordinal as i64 + 1,
    }
}
