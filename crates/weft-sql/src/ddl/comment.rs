//! COMMENT ON: texts about relations, columns, constraints and schemas.
//!
//! ```text
//!   COMMENT ON COLUMN t.a IS 'x'               object of kind comment, name "column 17 0", property text: x
//!   COMMENT ON CONSTRAINT t_pkey ON t IS 'x'   name "constraint 17 t_pkey"
//! ```
//!
//! A name is what it is about, its number, and for a column its ordinal, for a constraint its name.

use std::sync::Arc;

use weft_format::Result;
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};

/// What a comment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A table, an index, a view, a sequence.
    Relation(u32),
    /// A column of a table, by ordinal.
    Column(u32, usize),
    /// A constraint of a table, by name.
    Constraint(u32, String),
    /// A schema.
    Schema(SchemaId),
    /// The database.
    Database,
}

impl About {
    fn name(&self) -> String {
        match self {
            About::Relation(id) => format!("relation {id}"),
            About::Column(id, ordinal) => format!("column {id} {ordinal}"),
            About::Constraint(id, name) => format!("constraint {id} {name}"),
            About::Schema(SchemaId(id)) => format!("schema {id}"),
            About::Database => "database".into(),
        }
    }
}

/// The comment about something.
pub(crate) fn find(txn: &Transaction, about: &About) -> Option<Arc<Object>> {
    txn.object(ObjectKind::Comment, SchemaId::PUBLIC, &about.name())
}

/// Sets the comment about something; none takes it away.
pub(crate) fn set(txn: &mut Transaction, about: &About, text: Option<&str>) -> Result<()> {
    let known = find(txn, about);
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return known.map_or(Ok(()), |known| txn.drop_object(&known));
    };
    let mut comment = known
        .map_or_else(|| Object::new(ObjectKind::Comment, SchemaId::PUBLIC, about.name()), |known| (*known).clone());
    comment.properties.insert("text".into(), text.to_owned());
    txn.put_object(comment).map(|_| ())
}

/// A constraint of a table has another name.
pub(crate) fn rename_constraint(txn: &mut Transaction, table: u32, old: &str, new: &str) -> Result<()> {
    let old = About::Constraint(table, old.to_owned());
    let text = find(txn, &old).and_then(|comment| comment.property("text").map(str::to_owned));
    let Some(text) = text else { return Ok(()) };
    set(txn, &old, None)?;
    set(txn, &About::Constraint(table, new.to_owned()), Some(&text))
}

/// Takes the comments about a relation, or one column of it, away.
pub(crate) fn drop_of(txn: &mut Transaction, id: u32, column: Option<usize>) -> Result<()> {
    let names = match column {
        Some(ordinal) => vec![About::Column(id, ordinal).name()],
        None => vec![About::Relation(id).name(), format!("column {id} "), format!("constraint {id} ")],
    };
    let is_about = |object: &Arc<Object>| {
        object.kind == ObjectKind::Comment
            && names.iter().any(|name| object.name == *name || name.ends_with(' ') && object.name.starts_with(name))
    };
    let comments: Vec<Arc<Object>> = txn.objects().into_iter().filter(is_about).collect();
    comments.iter().try_for_each(|comment| txn.drop_object(comment))
}
