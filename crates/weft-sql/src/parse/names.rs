//! Names: folded to lower case unless quoted; a schema before the name travels with it.

use sqlparser::ast::{Ident, ObjectName};
use weft_format::{Code, Error, Result};

/// A name as the catalog knows it.
pub fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// A name of several parts, folded, with points between them; a part that has a point in it is in quotes.
pub fn fold_all(name: &ObjectName) -> String {
    let apart = |ident: &Ident| {
        let folded = fold(ident);
        if folded.contains('.') { format!("\"{folded}\"") } else { folded }
    };
    let parts = name.0.iter().map(|part| part.as_ident().map_or_else(|| part.to_string(), apart));
    parts.collect::<Vec<_>>().join(".")
}

/// Words that PostgreSQL never takes for a table's name and that the parser does.
const RESERVED: &[&str] = &[
    "all",
    "and",
    "any",
    "as",
    "asc",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "default",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "primary",
    "references",
    "returning",
    "select",
    "some",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "when",
    "where",
    "window",
    "with",
];

/// The name of a relation; with its schema when it has one, as `resolve` knows it.
pub fn table_name(name: &ObjectName) -> Result<String> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        let ident =
            part.as_ident().ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{name}\" is not a table name")))?;
        if ident.quote_style.is_none() && RESERVED.contains(&fold(ident).as_str()) {
            return Err(Error::new(Code::SyntaxError, format!("syntax error at or near \"{}\"", ident.value))
                .hint("a reserved word is a name only in double quotes"));
        }
        parts.push(fold(ident));
    }
    match parts.as_slice() {
        [table] => Ok(table.clone()),
        [schema, table] => Ok(crate::resolve::qualified(schema, table)),
        [_, _, _] => {
            Err(Error::new(Code::FeatureNotSupported, format!("cross-database references are not implemented: {name}")))
        }
        _ => {
            let message = format!("improper qualified name (too many dotted names): {name}");
            Err(Error::new(Code::SyntaxError, message))
        }
    }
}
