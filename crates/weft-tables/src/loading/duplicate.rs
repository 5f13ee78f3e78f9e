//! The error of a key that is there already.

use weft_format::{Code, Error, KeyCodec, Value};
use weft_kernel::TableDef;

/// The key is in the table.
pub(crate) const ALREADY: &str = "already exists.";
/// The statement has it twice, or the transaction has loaded it before.
pub(crate) const TWICE: &str = "is there twice in the rows to load";

/// A unique violation of the primary key.
pub(crate) fn duplicate_key(def: &TableDef, keys: &KeyCodec, key: &[u8], what: &str) -> Error {
    let names: Vec<&str> = def.schema.key.iter().map(|&ordinal| def.schema.columns[ordinal].name.as_str()).collect();
    let values = keys.decode(key).unwrap_or_default();
    let values: Vec<String> = values.iter().map(value_text).collect();
    let key = format!("({})=({})", names.join(", "), values.join(", "));
    let constraint = def.primary_key.clone().unwrap_or_else(|| format!("{}_pkey", def.name));
    Error::new(Code::UniqueViolation, format!("duplicate key value violates unique constraint \"{constraint}\""))
        .detail(format!("Key {key} {what}"))
        .hint("load each key once; INSERT ... ON CONFLICT changes rows that exist")
        .about(&def.name, None, Some(&constraint))
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Decimal(v) => v.to_string(),
        Value::Text(v) => v.to_string(),
        other => format!("{other:?}"),
    }
}
