//! Names: folded to lower case unless quoted; the only schema is `public`.

use sqlparser::ast::{Ident, ObjectName};
use weft_format::{Code, Error, Result};

/// A name as the catalog knows it.
pub fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// The table of a possibly qualified name.
pub fn table_name(name: &ObjectName) -> Result<String> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        let ident = part.as_ident().ok_or_else(|| {
            Error::new(Code::SyntaxError, format!("\"{name}\" is not a table name"))
        })?;
        parts.push(fold(ident));
    }
    match parts.as_slice() {
        [table] => Ok(table.clone()),
        [schema, table] if schema == "public" => Ok(table.clone()),
        _ => Err(Error::new(Code::UndefinedTable, format!("relation \"{name}\" does not exist"))
            .hint("all tables are in the schema public")),
    }
}
