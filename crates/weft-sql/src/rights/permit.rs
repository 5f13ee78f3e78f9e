//! The rights of a session's role, tested.
//!
//! ```text
//!   role   none          an embedded session: the first superuser, nothing is looked up
//!          bob, 16401    superuser? looked up once per version of the catalog; Access only for who is none
//! ```

use std::sync::Arc;

use sqlparser::ast::Statement;
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, SchemaId, TableDef, TableRef, Transaction};
use weft_pgcatalog::FIRST;
use weft_pgcatalog::rights::{Access, Kind, Rights, Target};

use super::catalog::role_named;
use super::need::{Columns, Need, Needs};
use super::needs::needs_of;
use super::numbers::number_of;
use super::schema_oid;
use crate::engine::SqlEngine;
use crate::resolve::Relation;
use crate::settings::Settings;

/// What is known of the rights of a session's role.
#[derive(Default)]
pub(crate) struct Permit {
    role: Option<u32>,
    version: Option<u64>,
    superuser: bool,
    access: Option<Arc<Access>>,
}

fn denied(kind: &str, name: &str) -> Error {
    Error::new(Code::InsufficientPrivilege, format!("permission denied for {kind} {name}"))
}

fn must_own(kind: &str, name: &str) -> Error {
    Error::new(Code::InsufficientPrivilege, format!("must be owner of {kind} {name}"))
}

impl Permit {
    /// Looks the role up, unless nothing has changed since.
    pub(crate) fn refresh(&mut self, db: &SqlEngine, txn: &Transaction, settings: &Settings) -> Result<()> {
        let Some(role) = settings.role else {
            *self = Permit { superuser: true, ..Permit::default() };
            return Ok(());
        };
        let version = txn.rights_version();
        if version.is_some() && self.version == version && self.role == Some(role) {
            return Ok(());
        }
        let named = role_named(txn, &settings.user).filter(|found| found.oid == role);
        let access = if named.as_ref().is_some_and(|role| role.superuser) { None } else { Some(db.access(txn)?) };
        let superuser = access.as_ref().is_none_or(|access| access.is_superuser(role));
        *self = Permit { role: Some(role), version, superuser, access };
        Ok(())
    }

    /// Whether the role may everything.
    pub(crate) fn is_superuser(&self) -> bool {
        self.superuser
    }

    /// The role's number; that of the first superuser in an embedded session.
    pub(crate) fn oid(&self) -> u32 {
        self.role.unwrap_or(weft_pgcatalog::rights::OWNER)
    }

    /// Roles and lists, for who is no superuser.
    fn access(&self) -> Option<(&Access, u32)> {
        if self.superuser {
            return None;
        }
        Some((self.access.as_deref()?, self.role?))
    }

    /// Whether a role is a superuser, or has the rights of a role.
    pub(crate) fn has_role(&self, name: &str) -> bool {
        self.access()
            .is_none_or(|(access, role)| access.oid(name).is_some_and(|wanted| access.has_rights_of(role, wanted)))
    }

    /// Whether names in a schema may be looked up.
    pub(crate) fn may_look_in(&self, schema: SchemaId) -> bool {
        self.access().is_none_or(|(access, role)| {
            access.rights(role, Target::Schema(schema_oid(schema)), Kind::Schema).has(Rights::USAGE)
        })
    }

    /// What a statement needs; an error when it names a schema that the role may not look into.
    pub(crate) fn needs(&self, txn: &Transaction, statement: &Statement) -> Result<Needs> {
        let needs = needs_of(txn, statement)?;
        if let Some((access, role)) = self.access() {
            for (schema, name) in &needs.schemas {
                if !access.rights(role, Target::Schema(*schema), Kind::Schema).has(Rights::USAGE) {
                    return Err(denied("schema", name));
                }
            }
        }
        Ok(needs)
    }

    /// An error when the role has not what a statement needs.
    pub(crate) fn check(&self, needs: &Needs) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if let Some(secret) = needs.superuser {
            return Err(denied("table", secret));
        }
        needs.relations.iter().try_for_each(|need| check_one(access, role, need))
    }

    /// Tests a whole statement; what it needs, for [`Permit::check_tables`].
    pub(crate) fn check_statement(&self, txn: &Transaction, statement: &Statement) -> Result<Needs> {
        if self.superuser {
            return Ok(Needs::default());
        }
        let needs = self.needs(txn, statement)?;
        self.check(&needs)?;
        Ok(needs)
    }

    /// An error when the owner of a relation, whoever asks, has not what a query that fills it needs.
    pub(crate) fn check_as_owner(db: &SqlEngine, txn: &Transaction, relation: u32, query: &Statement) -> Result<()> {
        let access = db.access(txn)?;
        let owner = access.owner(Target::Relation(FIRST + relation));
        if access.is_superuser(owner) {
            return Ok(());
        }
        let needs = needs_of(txn, query)?;
        if let Some(secret) = needs.superuser {
            return Err(denied("table", secret));
        }
        needs.relations.iter().try_for_each(|need| check_one(&access, owner, need))
    }

    /// An error when a plan has a table that the needs of its statement do not name (rights 4).
    pub(crate) fn check_tables<'a>(&self, needs: &Needs, tables: impl IntoIterator<Item = &'a TableRef>) -> Result<()> {
        if self.superuser {
            return Ok(());
        }
        let is_named = |table: &TableRef| needs.relations.iter().any(|need| need.oid == FIRST + table.def.oid);
        match tables.into_iter().find(|table| !is_named(table)) {
            Some(table) => Err(denied("table", &table.def.name)),
            None => Ok(()),
        }
    }

    /// Tests one need.
    pub(crate) fn check_need(&self, need: &Need) -> Result<()> {
        self.access().map_or(Ok(()), |(access, role)| check_one(access, role, need))
    }

    /// An error when the role has none of some rights on a sequence.
    pub(crate) fn check_sequence(&self, sequence: &Object, any_of: Rights) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        let has = access.rights(role, Target::Relation(FIRST + sequence.id), Kind::Sequence);
        if has.common(any_of).is_empty() { Err(denied("sequence", &sequence.name)) } else { Ok(()) }
    }

    /// An error when the role owns a relation not.
    pub(crate) fn check_owns(&self, relation: &Relation) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        let (oid, kind, name) = of_relation(relation);
        if access.owns(role, Target::Relation(oid)) { Ok(()) } else { Err(must_own(kind, &name)) }
    }

    /// An error when the role owns neither a relation nor its schema.
    pub(crate) fn check_drops(&self, relation: &Relation) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if access.owns(role, Target::Schema(schema_oid(relation.namespace()))) {
            return Ok(());
        }
        self.check_owns(relation)
    }

    /// An error when the role owns a table not.
    pub(crate) fn check_owns_table(&self, table: &TableRef) -> Result<()> {
        if self.superuser { Ok(()) } else { self.check_owns(&Relation::Table(table.clone())) }
    }

    /// An error when the role owns a schema not.
    pub(crate) fn check_owns_schema(&self, schema: SchemaId, name: &str) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if access.owns(role, Target::Schema(schema_oid(schema))) { Ok(()) } else { Err(must_own("schema", name)) }
    }

    /// An error when the role may not make something in a schema.
    pub(crate) fn check_creates_in(&self, txn: &Transaction, schema: SchemaId) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if access.rights(role, Target::Schema(schema_oid(schema)), Kind::Schema).has(Rights::CREATE) {
            return Ok(());
        }
        Err(denied("schema", &crate::resolve::schema_name(txn, schema)))
    }

    /// An error when the role may not do something with the database.
    pub(crate) fn check_database(&self, right: Rights, name: &str) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if access.rights(role, Target::Database, Kind::Database).has(right) {
            return Ok(());
        }
        Err(denied("database", name))
    }

    /// An error when the role may not make temporary relations.
    pub(crate) fn check_temporary(&self, database: &str) -> Result<()> {
        self.check_database(Rights::TEMPORARY, database).map_err(|_| {
            let message = format!("permission denied to create temporary tables in database \"{database}\"");
            Error::new(Code::InsufficientPrivilege, message)
        })
    }

    /// An error when the role owns the database not.
    pub(crate) fn check_owns_database(&self, name: &str) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        if access.owns(role, Target::Database) { Ok(()) } else { Err(must_own("database", name)) }
    }

    /// An error when columns of a table may not be referred to by foreign keys.
    pub(crate) fn check_references(&self, def: &TableDef, columns: &[usize]) -> Result<()> {
        let Some((access, role)) = self.access() else { return Ok(()) };
        let target = Target::Relation(FIRST + def.oid);
        let may =
            |ordinal: &usize| access.column_rights(role, target, number_of(def, *ordinal)).has(Rights::REFERENCES);
        let of_table = access.rights(role, target, Kind::Table).has(Rights::REFERENCES);
        if of_table || !columns.is_empty() && columns.iter().all(may) {
            return Ok(());
        }
        Err(denied("table", &def.name))
    }
}

/// The number of a relation as it is shown, what messages call it, and its name; an index is owned as its table is.
fn of_relation(relation: &Relation) -> (u32, &'static str, String) {
    match relation {
        Relation::Table(table) => (FIRST + table.def.oid, "table", table.def.name.clone()),
        Relation::Index(table, index) => (FIRST + table.def.oid, "index", index.name().to_string()),
        Relation::Columns(table, columns) => (FIRST + table.def.oid, "index", columns.def.name.clone()),
        Relation::Object(object) => {
            let need = Need::of_object(object, Rights::NONE);
            (need.oid, need.word, need.name)
        }
    }
}

fn check_one(access: &Access, role: u32, need: &Need) -> Result<()> {
    let role = need.as_owner_of.map_or(role, |view| access.owner(Target::Relation(view)));
    let target = Target::Relation(need.oid);
    let has = access.rights(role, target, need.kind);
    let missing = need.rights.without(has);
    let mut left = missing;
    let columns = [(Rights::SELECT, &need.select), (Rights::INSERT, &need.insert), (Rights::UPDATE, &need.update)];
    for (right, columns) in columns {
        if missing.has(right) && has_columns(access, role, need, right, columns) {
            left = left.without(right);
        }
    }
    // A number may be taken by who may use, or set, the sequence.
    if need.kind == Kind::Sequence && left.has(Rights::USAGE) && has.has(Rights::UPDATE) {
        left = left.without(Rights::USAGE);
    }
    if left.is_empty() { Ok(()) } else { Err(denied(need.word, &need.name)) }
}

fn has_columns(access: &Access, role: u32, need: &Need, right: Rights, columns: &Columns) -> bool {
    let target = Target::Relation(need.oid);
    let may = |number: &i64| access.column_rights(role, target, *number).has(right);
    if columns.all {
        return !need.columns.is_empty() && need.columns.iter().all(may);
    }
    if columns.numbers.is_empty() {
        return access.has_any_column(role, target, right);
    }
    columns.numbers.iter().all(may)
}
