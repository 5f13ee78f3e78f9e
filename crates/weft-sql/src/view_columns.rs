//! The columns and options of a stored view.
//!
//! ```text
//!   columns     a<1f>b             names, SEPARATOR between
//!   types       integer<1f>text
//!   options     check_option=local<1f>security_invoker=true       as they were given
//!   default.1   'x'                the default of the second column
//! ```

use weft_format::DataType;
use weft_kernel::Object;

use crate::expr::data_type_of;
use crate::parse::parse_expression;

/// Between the names in a view's property.
pub(crate) const SEPARATOR: char = '\u{1f}';

/// What a view calls a list of its options.
pub(crate) const OPTIONS: &str = "options";

/// The columns of a view.
pub(crate) fn view_columns(view: &Object) -> Vec<(String, DataType)> {
    let list = |name: &str| view.property(name).unwrap_or_default().split(SEPARATOR).map(str::to_owned);
    let data_type = |name: String| match parse_expression(&format!("CAST(NULL AS {name})")) {
        Ok(sqlparser::ast::Expr::Cast { data_type, .. }) => data_type_of(&data_type).unwrap_or(DataType::Text),
        _ => DataType::Text,
    };
    list("columns").zip(list("types").map(data_type)).collect()
}

/// The options of a view as they were given: names and values.
pub(crate) fn options(view: &Object) -> Vec<(String, String)> {
    let texts = view.property(OPTIONS).into_iter().flat_map(|text| text.split(SEPARATOR));
    texts.filter_map(|text| text.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// An option of a view.
pub(crate) fn option(view: &Object, name: &str) -> Option<String> {
    options(view).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Whether an option of a view is there, and on.
pub(crate) fn is_on(view: &Object, name: &str) -> bool {
    option(view, name).is_some_and(|value| boolean(&value) == Some(true))
}

/// What a value says of an option that is on or off: some beginning of a word.
pub(crate) fn boolean(value: &str) -> Option<bool> {
    let value = value.to_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    match value.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || begins("on", 2) => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

/// Whether a check option is of the views below, too.
pub(crate) fn cascades(check_option: &str) -> bool {
    check_option.eq_ignore_ascii_case("cascaded")
}

/// What a view calls the default of a column.
pub(crate) fn default_property(column: usize) -> String {
    format!("default.{column}")
}

/// Whether a property is such a default.
pub(crate) fn is_default_property(name: &str) -> bool {
    name.starts_with("default.")
}

/// The default that ALTER VIEW gave a column.
pub(crate) fn default_of(view: &Object, column: usize) -> Option<&str> {
    view.property(&default_property(column))
}
