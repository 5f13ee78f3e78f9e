//! What the catalog knows of a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{Schema, TableId};

/// A table's definition. Immutable; a schema change makes a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Never used again after a drop.
    pub id: TableId,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Stored columns and key.
    pub schema: Arc<Schema>,
    /// The method after USING.
    pub method: String,
    /// The options of WITH.
    pub options: BTreeMap<String, String>,
    /// Per visible column: the DEFAULT expression as SQL text, if any.
    pub defaults: Vec<Option<String>>,
    /// CHECK constraints: name and expression as SQL text.
    pub checks: Vec<(String, String)>,
    /// Name of the primary key constraint, if one was declared.
    pub primary_key: Option<String>,
}

/// A table to be made: a [`TableDef`] that has no id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Stored columns and key.
    pub schema: Schema,
    /// The method after USING.
    pub method: String,
    /// The options of WITH.
    pub options: BTreeMap<String, String>,
    /// Per visible column: the DEFAULT expression as SQL text, if any.
    pub defaults: Vec<Option<String>>,
    /// CHECK constraints: name and expression as SQL text.
    pub checks: Vec<(String, String)>,
    /// Name of the primary key constraint, if one was declared.
    pub primary_key: Option<String>,
}

impl NewTable {
    /// A table with a name, a schema and a method, and nothing else.
    pub fn new(name: impl Into<String>, schema: Schema, method: impl Into<String>) -> NewTable {
        let defaults = vec![None; schema.visible().len()];
        NewTable {
            name: name.into(),
            schema,
            method: method.into(),
            options: BTreeMap::new(),
            defaults,
            checks: Vec::new(),
            primary_key: None,
        }
    }

    /// The definition under an id.
    pub(crate) fn into_def(self, id: TableId) -> TableDef {
        TableDef {
            id,
            name: self.name,
            schema: Arc::new(self.schema),
            method: self.method,
            options: self.options,
            defaults: self.defaults,
            checks: self.checks,
            primary_key: self.primary_key,
        }
    }
}
