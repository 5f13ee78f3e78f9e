//! Names of types, those of users' among them, by the search path.

use crate::snapshot::{Snapshot, quoted};
use crate::types::{by_name, format_type};
use crate::user_types::{UserType, array_oid};

/// A type as SQL writes it, with its modifier, one of users' among them.
pub(crate) fn type_text(snapshot: &Snapshot, oid: i64, modifier: Option<i64>) -> String {
    match snapshot.user_type(oid) {
        Some((known, is_array)) if snapshot.search_path.contains(&known.schema) => {
            format!("{}{}", quoted(&known.name), if is_array { "[]" } else { "" })
        }
        Some(_) => full_type_text(snapshot, oid).unwrap_or_default(),
        None => format_type(oid, modifier),
    }
}

/// A type of users' with its schema.
pub(crate) fn full_type_text(snapshot: &Snapshot, oid: i64) -> Option<String> {
    let (known, is_array) = snapshot.user_type(oid)?;
    let (schema, ending) = (quoted(snapshot.schema_name(known.schema)), if is_array { "[]" } else { "" });
    Some(format!("{schema}.{}{ending}", quoted(&known.name)))
}

/// The number of the type of a name, one of users' among them.
pub(crate) fn type_oid(snapshot: &Snapshot, name: &str) -> Option<i64> {
    if let Some(row) = by_name(name) {
        return Some(row.oid);
    }
    let (element, is_array) = name.trim().strip_suffix("[]").map_or((name, false), |element| (element, true));
    let (schema, own) = split_name(element);
    let schema = schema.map(|schema| snapshot.schema_oid(&schema));
    let is_it = |known: &&UserType| {
        let is_seen = match schema {
            Some(schema) => schema == Some(known.schema),
            None => snapshot.search_path.contains(&known.schema),
        };
        is_seen && known.name == own
    };
    let found = snapshot.types.iter().find(is_it)?;
    Some(if is_array { array_oid(found.oid) } else { found.oid }.into())
}

/// Schema and name of `schema.name`, with quotes perhaps.
pub(crate) fn split_name(text: &str) -> (Option<String>, String) {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in text.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => {
                let part = parts.last_mut().expect("there is a part");
                if quoted { part.push(c) } else { part.extend(c.to_lowercase()) }
            }
        }
    }
    let name = parts.pop().unwrap_or_default();
    (parts.pop(), name)
}
