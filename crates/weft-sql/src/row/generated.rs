//! Which columns are generated, and how: properties of a table.
//!
//! ```text
//!   t (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED)     property generated.2 = a + b
//! ```

use weft_format::{Code, Error, Result};
use weft_kernel::TableDef;

use crate::expr::{BindResult, Binder, Expr, Scope};
use crate::parse::parse_expression;

/// What the property of a generated column begins with.
pub(crate) const GENERATED: &str = "generated.";

/// The property of a table that makes a column a generated one.
pub(crate) fn generated_property(ordinal: usize) -> String {
    format!("{GENERATED}{ordinal}")
}

/// The expression of a generated column.
pub(crate) fn generated(def: &TableDef, ordinal: usize) -> Option<&str> {
    def.properties.get(&generated_property(ordinal)).map(String::as_str)
}

/// Ordinals and expressions of the generated columns.
pub(crate) fn all_generated(def: &TableDef) -> Vec<(usize, &str)> {
    let of_def = |ordinal: usize| generated(def, ordinal).map(|text| (ordinal, text));
    (0..def.schema.columns.len()).filter_map(of_def).collect()
}

/// Binds the expression of a generated column.
pub(crate) fn bind_generated(source: &str, scope: &Scope, column: &weft_format::Column) -> BindResult<Expr> {
    let mut binder = Binder { is_stored: true, ..Binder::new(source) };
    binder.bind_assignment(&parse_expression(source)?, scope, column.data_type, &column.name)
}

/// An error when an UPDATE sets a generated column to anything but DEFAULT.
pub(crate) fn check_not_set(def: &TableDef, ordinal: usize) -> Result<()> {
    if generated(def, ordinal).is_none() {
        return Ok(());
    }
    let name = &def.schema.columns[ordinal].name;
    let message = format!("column \"{name}\" can only be updated to DEFAULT");
    Err(Error::new(Code::GeneratedAlways, message)
        .hint(format!("Column \"{name}\" is a generated column: set the columns that it is computed from."))
        .about(&def.name, Some(name), None))
}
