//! What is known of a table: names, schema, constraints, options.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_expr::Expr;
use weft_format::{Predicate, Schema, TableId};

/// The id of a schema, in which names of relations are unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(pub u32);

impl SchemaId {
    /// The schema `public`, which is always there and no object.
    pub const PUBLIC: SchemaId = SchemaId(0);
}

/// What happens to the rows that refer to a row that goes, or whose referenced values change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FkAction {
    /// There may be none at the end of the statement, or of the transaction when the constraint is deferred.
    #[default]
    NoAction,
    /// There may be none, even when another row takes the values over.
    Restrict,
    /// They go, or follow.
    Cascade,
    /// Their columns become NULL.
    SetNull,
    /// Their columns get what DEFAULT says.
    SetDefault,
}

/// When a foreign key is tested: at the end of each statement, or at commit. RESTRICT, CASCADE, SET NULL and SET
/// DEFAULT are done at the end of the statement in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deferrable {
    /// At the end of each statement, always.
    #[default]
    No,
    /// At the end of each statement, unless the transaction says otherwise.
    InitiallyImmediate,
    /// At commit, unless the transaction says otherwise.
    InitiallyDeferred,
}

/// A foreign key: the values of some columns are those of a row of a table, or one of them is NULL (MATCH SIMPLE).
/// With MATCH FULL all of them are NULL then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Name of the constraint.
    pub name: String,
    /// Ordinals of the referencing columns.
    pub columns: Vec<usize>,
    /// The referenced table; [`ForeignKey::ITSELF`] in a table that is to be made.
    pub parent: TableId,
    /// Ordinals of the referenced columns, in the order of `columns`: the primary key or those of a unique index.
    pub parent_columns: Vec<usize>,
    /// When a referenced row is deleted.
    pub on_delete: FkAction,
    /// When the referenced columns of a row change.
    pub on_update: FkAction,
    /// When it is tested.
    pub deferrable: Deferrable,
    /// MATCH FULL.
    pub full: bool,
    /// Ordinals of the columns that SET NULL and SET DEFAULT set when a referenced row is deleted; empty: all.
    pub set_on_delete: Vec<usize>,
}

impl ForeignKey {
    /// Stands for the id of a [`NewTable`], which has none yet.
    pub const ITSELF: TableId = TableId(0);
}

/// A table's definition. Immutable; a schema change makes a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    /// Never used again after a drop.
    pub id: TableId,
    /// The number of the relation among all relations and objects: its first id. It stays when the rows are stored anew
    /// under another id (TRUNCATE, a new primary key).
    pub oid: u32,
    /// The schema that its name is in.
    pub namespace: SchemaId,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Stored columns and key.
    pub schema: Arc<Schema>,
    /// The method after USING.
    pub method: String,
    /// The options of WITH.
    pub options: BTreeMap<String, String>,
    /// Per stored column: the DEFAULT expression as SQL text, if any.
    pub defaults: Vec<Option<String>>,
    /// CHECK constraints: name and expression as SQL text.
    pub checks: Vec<(String, String)>,
    /// Name of the primary key constraint, if one was declared.
    pub primary_key: Option<String>,
    /// Foreign keys of the table's own rows.
    pub foreign_keys: Vec<ForeignKey>,
    /// Of a partial index: the rows of its table that it has satisfy all of these; columns are the table's.
    pub predicate: Vec<Predicate>,
    /// Of an index on expressions: they, over the columns of its table; immutable.
    pub expressions: Vec<Expr>,
    /// What the layers above note of it; the kernel does not look.
    pub properties: BTreeMap<String, String>,
}

/// A table to be made: a [`TableDef`] that has no id yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTable {
    /// The number of the relation that it replaces; none: its id.
    pub oid: Option<u32>,
    /// The schema that its name is in.
    pub namespace: SchemaId,
    /// Name, folded to lower case unless it was quoted.
    pub name: String,
    /// Stored columns and key.
    pub schema: Schema,
    /// The method after USING.
    pub method: String,
    /// The options of WITH.
    pub options: BTreeMap<String, String>,
    /// Per stored column: the DEFAULT expression as SQL text, if any.
    pub defaults: Vec<Option<String>>,
    /// CHECK constraints: name and expression as SQL text.
    pub checks: Vec<(String, String)>,
    /// Name of the primary key constraint, if one was declared.
    pub primary_key: Option<String>,
    /// Foreign keys of the table's own rows.
    pub foreign_keys: Vec<ForeignKey>,
    /// Of a partial index: the rows of its table that it has satisfy all of these; columns are the table's.
    pub predicate: Vec<Predicate>,
    /// Of an index on expressions: they, over the columns of its table; immutable.
    pub expressions: Vec<Expr>,
    /// What the layers above note of it; the kernel does not look.
    pub properties: BTreeMap<String, String>,
}

impl NewTable {
    /// A table with a name, a schema and a method, and nothing else.
    pub fn new(name: impl Into<String>, schema: Schema, method: impl Into<String>) -> NewTable {
        let defaults = vec![None; schema.columns.len()];
        NewTable {
            oid: None,
            namespace: SchemaId::PUBLIC,
            name: name.into(),
            schema,
            method: method.into(),
            options: BTreeMap::new(),
            defaults,
            checks: Vec::new(),
            primary_key: None,
            foreign_keys: Vec::new(),
            predicate: Vec::new(),
            expressions: Vec::new(),
            properties: BTreeMap::new(),
        }
    }

    /// What it takes to store a table anew: a definition without its id.
    pub fn of(def: &TableDef) -> NewTable {
        NewTable {
            oid: Some(def.oid),
            namespace: def.namespace,
            name: def.name.clone(),
            schema: (*def.schema).clone(),
            method: def.method.clone(),
            options: def.options.clone(),
            defaults: def.defaults.clone(),
            checks: def.checks.clone(),
            primary_key: def.primary_key.clone(),
            foreign_keys: def.foreign_keys.clone(),
            predicate: def.predicate.clone(),
            expressions: def.expressions.clone(),
            properties: def.properties.clone(),
        }
    }

    /// The definition under an id.
    pub fn into_def(mut self, id: TableId) -> TableDef {
        for foreign_key in self.foreign_keys.iter_mut().filter(|key| key.parent == ForeignKey::ITSELF) {
            foreign_key.parent = id;
        }
        TableDef {
            id,
            oid: self.oid.unwrap_or(id.0),
            namespace: self.namespace,
            name: self.name,
            schema: Arc::new(self.schema),
            method: self.method,
            options: self.options,
            defaults: self.defaults,
            checks: self.checks,
            primary_key: self.primary_key,
            foreign_keys: self.foreign_keys,
            predicate: self.predicate,
            expressions: self.expressions,
            properties: self.properties,
        }
    }
}
