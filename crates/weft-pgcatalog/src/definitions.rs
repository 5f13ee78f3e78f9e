//! What `pg_get_indexdef`, `pg_get_constraintdef` and the like write.
//!
//! ```text
//!   CREATE UNIQUE INDEX i ON public.t USING btree (a, lower(b)) INCLUDE (c) WHERE (a > 3)
//!   FOREIGN KEY (customer_id) REFERENCES customers(id) ON DELETE CASCADE
//! ```

use std::fmt::Write;

use weft_format::DataType;

use crate::objects::{Constraint, Index, Sequence, Table};
use crate::snapshot::{Snapshot, quoted};
use crate::type_names::{full_type_text, type_text};
use crate::types::type_of;

fn columns(table: Option<&Table>, numbers: &[i64]) -> String {
    let name = |number: &i64| {
        let column = usize::try_from(number - 1).ok().and_then(|at| table?.columns.get(at));
        column.map_or_else(|| "?".into(), |column| quoted(&column.name))
    };
    numbers.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// The name of a relation as a query has to write it.
pub(crate) fn relation_name(snapshot: &Snapshot, oid: u32) -> String {
    match snapshot.relation(oid) {
        Some((_, name)) if snapshot.is_visible(oid) => quoted(name),
        Some((schema, name)) => format!("{}.{}", quoted(snapshot.schema_name(schema)), quoted(name)),
        None if oid == 0 => "-".into(),
        None => oid.to_string(),
    }
}

/// A part of an index: a column's name, or an expression.
pub(crate) fn index_part(snapshot: &Snapshot, index: &Index, at: usize) -> Option<String> {
    let table = snapshot.table(index.table);
    match index.parts.get(at) {
        Some((0, text)) => Some(text.clone()),
        Some((number, _)) => Some(columns(table, &[*number])),
        None => index.included.get(at - index.parts.len()).map(|number| columns(table, &[*number])),
    }
}

/// CREATE INDEX; `full` names the schema in any case.
pub(crate) fn index_definition(snapshot: &Snapshot, index: &Index, full: bool) -> String {
    let unique = if index.unique { "UNIQUE " } else { "" };
    let on = match snapshot.relation(index.table) {
        Some((schema, name)) if full => format!("{}.{}", quoted(snapshot.schema_name(schema)), quoted(name)),
        _ => relation_name(snapshot, index.table),
    };
    let parts: Vec<String> = (0..index.parts.len()).filter_map(|at| index_part(snapshot, index, at)).collect();
    let mut out =
        format!("CREATE {unique}INDEX {} ON {on} USING {} ({})", quoted(&index.name), index.method(), parts.join(", "));
    if !index.included.is_empty() {
        let _ = write!(out, " INCLUDE ({})", columns(snapshot.table(index.table), &index.included));
    }
    if let Some(predicate) = &index.predicate {
        let _ = match full {
            true => write!(out, " WHERE ({predicate})"),
            false => write!(out, " WHERE {predicate}"),
        };
    }
    out
}

fn action(out: &mut String, event: &str, action: char) {
    let words = match action {
        'r' => "RESTRICT",
        'c' => "CASCADE",
        'n' => "SET NULL",
        'd' => "SET DEFAULT",
        _ => return,
    };
    let _ = write!(out, " ON {event} {words}");
}

fn not_valid(table: &Table, constraint: &str) -> &'static str {
    if table.not_valid.iter().any(|known| known == constraint) { " NOT VALID" } else { "" }
}

/// A constraint as CREATE TABLE writes it behind its name.
pub(crate) fn constraint_definition(snapshot: &Snapshot, constraint: Constraint<'_>, pretty: bool) -> String {
    match constraint {
        Constraint::Primary(index) | Constraint::Unique(index) => {
            let numbers: Vec<i64> = index.parts.iter().map(|(number, _)| *number).collect();
            let table = snapshot.table(index.table);
            let what = if index.primary { "PRIMARY KEY" } else { "UNIQUE" };
            let mut out = format!("{what} ({})", columns(table, &numbers));
            if !index.included.is_empty() {
                let _ = write!(out, " INCLUDE ({})", columns(table, &index.included));
            }
            out
        }
        Constraint::Check(table, at) => {
            let condition = unwrapped(&table.checks[at].1);
            // Not pretty: an operator has parentheses of its own.
            let mut out = match pretty || !condition.contains(' ') {
                true => format!("CHECK ({condition})"),
                false => format!("CHECK (({condition}))"),
            };
            if table.no_inherit.contains(&table.checks[at].0) {
                out.push_str(" NO INHERIT");
            }
            out + not_valid(table, &table.checks[at].0)
        }
        Constraint::Foreign(table, at) => {
            let key = &table.foreign_keys[at];
            let own = columns(Some(table), &key.columns);
            let parent = columns(snapshot.table(key.parent), &key.parent_columns);
            let mut out = format!("FOREIGN KEY ({own}) REFERENCES {}({parent})", relation_name(snapshot, key.parent));
            if key.full {
                out.push_str(" MATCH FULL");
            }
            action(&mut out, "UPDATE", key.on_update);
            action(&mut out, "DELETE", key.on_delete);
            if !key.set_on_delete.is_empty() {
                let _ = write!(out, " ({})", columns(Some(table), &key.set_on_delete));
            }
            if key.deferrable.0 {
                out.push_str(" DEFERRABLE");
            }
            if key.deferrable.1 {
                out.push_str(" INITIALLY DEFERRED");
            }
            out + not_valid(table, &key.name)
        }
    }
}

/// The condition of a CHECK, in parentheses.
pub(crate) fn check_condition(table: &Table, at: usize) -> String {
    format!("({})", unwrapped(&table.checks[at].1))
}

/// A DEFAULT as PostgreSQL shows it: a text says its type, a sequence its schema where that is not searched.
pub(crate) fn default_text(snapshot: &Snapshot, data_type: DataType, default: &str) -> String {
    let text = default.trim();
    if let Some(sequence) = sequence_of(snapshot, text) {
        return format!("nextval('{}'::regclass)", relation_name(snapshot, sequence).replace('\'', "''"));
    }
    let own_type = type_text(snapshot, type_of(data_type).0, None);
    let full_type = full_type_text(snapshot, type_of(data_type).0);
    let is_own = |to: &str| to.eq_ignore_ascii_case(&own_type) || full_type.as_deref() == Some(to);
    let text = match text.rsplit_once("::") {
        Some((literal, to)) if literal.ends_with('\'') && is_own(to) => literal,
        _ => text,
    };
    let is_text = text.len() > 1 && text.starts_with('\'') && text.ends_with('\'');
    if !is_text || text[1..text.len() - 1].replace("''", "").contains('\'') {
        return default.to_owned();
    }
    match data_type {
        DataType::Char(_) => format!("{text}::bpchar"),
        _ => format!("{text}::{own_type}"),
    }
}

/// The sequence whose next number a DEFAULT is: `nextval('s.t_id_seq'::regclass)`. A name without schema is of
/// `public`.
fn sequence_of(snapshot: &Snapshot, default: &str) -> Option<u32> {
    let end = default.len().checked_sub("'::regclass)".len())?;
    let (head, tail) = (default.get(..9)?, default.get(end..)?);
    if !head.eq_ignore_ascii_case("nextval('") || !tail.eq_ignore_ascii_case("'::regclass)") {
        return None;
    }
    let name = default.get(9..end)?.replace("''", "'");
    let is_it = |sequence: &&Sequence| {
        let plain = quoted(&sequence.name);
        let is_public = sequence.schema == crate::snapshot::PUBLIC;
        is_public && plain == name || format!("{}.{plain}", quoted(snapshot.schema_name(sequence.schema))) == name
    };
    snapshot.sequences.iter().find(is_it).map(|sequence| sequence.oid)
}

/// A condition without parentheses around all of it.
pub(crate) fn unwrapped(text: &str) -> &str {
    let Some(inner) = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')')) else { return text };
    let mut depth = 0;
    for c in inner.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return text;
        }
    }
    inner
}
