//! What is needed of one relation: rights, and the columns that they are needed on.
//!
//! ```text
//!   SELECT a FROM t WHERE b > 1     t: SELECT, of columns 1 and 2        SELECT count(*) FROM t     t: SELECT, of any
//! ```

use std::collections::BTreeSet;

use weft_kernel::{Object, ObjectKind, TableDef};
use weft_pgcatalog::FIRST;
use weft_pgcatalog::rights::{Kind, Rights};

use super::numbers::number_of;

/// Columns that a right is needed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    pub(crate) all: bool,
    pub(crate) numbers: BTreeSet<i64>,
}

/// What is needed of one relation.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// Its number, as it is shown.
    pub(crate) oid: u32,
    pub(crate) kind: Kind,
    /// What messages call it.
    pub(crate) word: &'static str,
    pub(crate) name: String,
    /// Whose rights count; none: those of who asks.
    pub(crate) as_owner_of: Option<u32>,
    pub(crate) rights: Rights,
    pub(crate) select: Columns,
    pub(crate) insert: Columns,
    pub(crate) update: Columns,
    /// The numbers of all its columns.
    pub(crate) columns: Vec<i64>,
}

impl Need {
    /// Something of a table or a view.
    pub(crate) fn of_table(def: &TableDef, rights: Rights) -> Need {
        Need {
            oid: FIRST + def.oid,
            kind: Kind::Table,
            word: "table",
            name: def.name.clone(),
            as_owner_of: None,
            rights,
            select: Columns::default(),
            insert: Columns::default(),
            update: Columns::default(),
            columns: def.schema.visible().map(|(ordinal, _)| number_of(def, ordinal)).collect(),
        }
    }

    /// Something of a sequence or a view.
    pub(crate) fn of_object(object: &Object, rights: Rights) -> Need {
        let (kind, word) = match object.kind {
            ObjectKind::Sequence => (Kind::Sequence, "sequence"),
            ObjectKind::Type => (Kind::Type, "type"),
            ObjectKind::Function => (Kind::Function, "function"),
            _ => (Kind::Table, "view"),
        };
        Need {
            oid: FIRST + object.id,
            kind,
            word,
            // That of a function has the types of its arguments.
            name: match kind {
                Kind::Function => object.name.split('(').next().unwrap_or_default().to_owned(),
                _ => object.name.clone(),
            },
            as_owner_of: None,
            rights,
            select: Columns::default(),
            insert: Columns::default(),
            update: Columns::default(),
            columns: Vec::new(),
        }
    }
}

/// What a statement needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) relations: Vec<Need>,
    /// Schemas that are named: number and name.
    pub(crate) schemas: Vec<(u32, String)>,
    /// A relation of the catalog that only superusers read.
    pub(crate) superuser: Option<&'static str>,
}
