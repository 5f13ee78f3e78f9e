//! The columns of a stored view.

use weft_format::DataType;
use weft_kernel::Object;

use crate::expr::data_type_of;
use crate::parse::parse_expression;

/// Between the names in a view's property.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// The columns of a view.
pub(crate) fn view_columns(view: &Object) -> Vec<(String, DataType)> {
    let list = |name: &str| view.property(name).unwrap_or_default().split(SEPARATOR).map(str::to_owned);
    let data_type = |name: String| match parse_expression(&format!("CAST(NULL AS {name})")) {
        Ok(sqlparser::ast::Expr::Cast { data_type, .. }) => data_type_of(&data_type).unwrap_or(DataType::Text),
        _ => DataType::Text,
    };
    list("columns").zip(list("types").map(data_type)).collect()
}
