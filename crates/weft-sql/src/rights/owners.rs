//! Who owns what: new objects, OWNER TO, REASSIGN OWNED, DROP OWNED, and what stands in the way of DROP ROLE.

use std::collections::BTreeMap;

use sqlparser::ast::ObjectName;
use weft_format::{Code, Error, Result};
use weft_kernel::{DdlSince, ObjectKind, SchemaId, Transaction};
use weft_pgcatalog::FIRST;
use weft_pgcatalog::rights::{Access, Acl, Entry, Kind, OWNER, Rights, Target};

use super::catalog::{drop_entry, load, put_entry};
use super::numbers::number_of;
use super::permit::Permit;
use super::schema_oid;
use super::who::{Who, denied, no_role, target_word};
use crate::domains::is_domain;
use crate::functions;
use crate::parse::{Owned, RoleName, table_name};
use crate::resolve::{self, Relation};
use crate::types;

/// What objects of a kind that a role makes in a schema begin with; none: with what they always do.
fn initial(access: &Access, owner: u32, schema: u32, kind: Kind) -> Option<Acl> {
    let find = |of: u32| {
        let is_it = |(role, at, what, _): &&(u32, u32, Kind, Acl)| (*role, *at, *what) == (owner, of, kind);
        access.defaults.iter().find(is_it).map(|(.., acl)| acl.clone())
    };
    let (everywhere, here) = (find(0), find(schema).filter(|_| schema != 0));
    if everywhere.is_none() && here.is_none() {
        return None;
    }
    let mut acl = everywhere.unwrap_or_else(|| kind.initial(owner));
    here.into_iter().flat_map(|here| here.0).for_each(|item| acl.grant(item));
    Some(acl)
}

/// Gives what a statement made to its maker, and forgets the rights on what it dropped.
pub(crate) fn adopt(txn: &mut Transaction, permit: &Permit, since: &DdlSince) -> Result<()> {
    let made: Vec<(Target, u32, Kind)> = made_of(since);
    let gone = since.dropped.iter().copied().filter(|oid| !since.made.iter().any(|table| table.def.oid == *oid));
    let gone: Vec<Target> = gone.map(|oid| Target::Relation(FIRST + oid)).collect();
    let objects = since.dropped_objects.iter().filter_map(|object| match object.kind {
        ObjectKind::Schema => Some(Target::Schema(FIRST + object.id)),
        ObjectKind::View | ObjectKind::Sequence | ObjectKind::Type | ObjectKind::Function => {
            Some(Target::Relation(FIRST + object.id))
        }
        ObjectKind::Comment | ObjectKind::Other => None,
    });
    for target in gone.into_iter().chain(objects) {
        drop_entry(txn, target)?;
    }
    if made.is_empty() || !txn.has_objects(ObjectKind::Other) {
        return Ok(());
    }
    let access = load(txn)?;
    let maker = permit.oid();
    for (target, schema, kind) in made {
        if access.entries.contains_key(&target) {
            // Stored anew.
            continue;
        }
        let owner = owner_of(&access, since, target).unwrap_or(maker);
        let acl = initial(&access, owner, schema, kind);
        if owner != OWNER || acl.is_some() {
            put_entry(txn, target, &Entry { owner, acl, columns: BTreeMap::new() })?;
        }
    }
    for table in &since.made {
        for key in table.def.foreign_keys.iter().filter(|key| key.parent != table.id()) {
            if let Some(parent) = txn.table_of(key.parent)
                && !since.dropped.contains(&table.def.oid)
            {
                permit.check_references(&parent.def, &key.parent_columns)?;
            }
        }
    }
    Ok(())
}

/// CREATE SCHEMA ... AUTHORIZATION
pub(crate) fn give_schema(who: &mut Who<'_>, schema: SchemaId, owner: &str) -> Result<()> {
    let access = load(who.txn)?;
    let name = match owner {
        "current_user" | "current_role" => RoleName::Current,
        "session_user" => RoleName::Session,
        name => RoleName::Named(name.to_owned()),
    };
    let owner = who.oid(&access, &name)?;
    if !access.is_member(who.role, owner) {
        return Err(denied(format!("must be member of role \"{}\"", access.shown(owner))));
    }
    put_entry(who.txn, Target::Schema(schema_oid(schema)), &Entry { owner, ..Entry::default() })
}

/// A column's sequence belongs to who owns the table, when that was there before.
fn owner_of(access: &Access, since: &DdlSince, target: Target) -> Option<u32> {
    let object = since.made_objects.iter().find(|object| Target::Relation(FIRST + object.id) == target)?;
    let table = object.property("table")?.parse::<u32>().ok()?;
    let is_new = since.made.iter().any(|made| made.def.oid == table);
    (!is_new).then(|| access.owner(Target::Relation(FIRST + table)))
}

fn made_of(since: &DdlSince) -> Vec<(Target, u32, Kind)> {
    let tables = since.made.iter().filter(|table| !since.dropped.contains(&table.def.oid));
    let tables =
        tables.map(|table| (Target::Relation(FIRST + table.def.oid), schema_oid(table.def.namespace), Kind::Table));
    let objects = since.made_objects.iter().filter_map(|object| {
        let schema = schema_oid(object.namespace);
        match object.kind {
            // That of a session's temporary relations is the system's.
            ObjectKind::Schema if object.name.starts_with(crate::resolve::TEMPORARY_PREFIX) => None,
            ObjectKind::Schema => Some((Target::Schema(FIRST + object.id), 0, Kind::Schema)),
            // What stands for a materialised view is its table's owner's.
            ObjectKind::View if object.name.starts_with('\0') => None,
            ObjectKind::View => Some((Target::Relation(FIRST + object.id), schema, Kind::Table)),
            ObjectKind::Sequence => Some((Target::Relation(FIRST + object.id), schema, Kind::Sequence)),
            ObjectKind::Type => Some((Target::Relation(FIRST + object.id), schema, Kind::Type)),
            ObjectKind::Function => Some((Target::Relation(FIRST + object.id), schema, Kind::Function)),
            ObjectKind::Comment | ObjectKind::Other => None,
        }
    });
    tables.chain(objects).collect()
}

/// What of the database depends on a role.
pub(super) fn dependents(txn: &Transaction, access: &Access, role: u32, database: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (target, entry) in &access.entries {
        let Some(word) = target_word(txn, *target, database) else { continue };
        if entry.owner == role {
            found.push(format!("owner of {word}"));
        } else if entry.acl.iter().any(|acl| acl.names(role)) {
            found.push(format!("privileges for {word}"));
        }
        for (number, acl) in &entry.columns {
            if acl.names(role) && entry.owner != role {
                let name = column_name(txn, *target, *number);
                found.push(format!("privileges for column {name} of {word}"));
            }
        }
    }
    for (of, _, kind, acl) in &access.defaults {
        if *of == role || acl.names(role) {
            let (of, kind) = (access.shown(*of), kind.word());
            found.push(format!("privileges for default privileges on new {kind}s belonging to role {of}"));
        }
    }
    found
}

fn column_name(txn: &Transaction, target: Target, number: i64) -> String {
    let tables = txn.tables();
    let def = tables.iter().find(|def| Target::Relation(FIRST + def.oid) == target);
    let found = def.and_then(|def| def.schema.visible().find(|(at, _)| number_of(def, *at) == number));
    found.map_or_else(|| number.to_string(), |(_, column)| column.name.clone())
}

/// Another owner for an object, whose rights the old one had.
fn hand_over(txn: &mut Transaction, access: &Access, target: Target, new: u32) -> Result<()> {
    let old = access.owner(target);
    let mut entry = access.entries.get(&target).cloned().unwrap_or_default();
    entry.acl = access.given_acl(target);
    entry.owner = new;
    let replace = |acl: &mut Acl| {
        let items = std::mem::take(&mut acl.0);
        for mut item in items {
            if item.grantee == old {
                item.grantee = new;
            }
            if item.grantor == old {
                item.grantor = new;
            }
            acl.grant(item);
        }
    };
    entry.acl.iter_mut().chain(entry.columns.values_mut()).for_each(replace);
    put_entry(txn, target, &entry)
}

/// What has an owner: itself, its schema, what messages call it.
type Ownable = (Target, Option<SchemaId>, &'static str, String);

/// A relation that may have another owner; none when it is not there and need not be.
fn owned_relation(who: &mut Who<'_>, name: &ObjectName, if_exists: bool) -> Result<Option<Ownable>> {
    let known_as = table_name(name)?;
    match resolve::relation(who.txn, &known_as) {
        Some(Relation::Table(table)) => {
            let of = Target::Relation(FIRST + table.def.oid);
            Ok(Some((of, Some(table.def.namespace), "table", table.def.name.clone())))
        }
        Some(Relation::Object(object)) => {
            let word = if object.kind == ObjectKind::View { "view" } else { "sequence" };
            let of = Target::Relation(FIRST + object.id);
            if let Some(table) = object.property("table") {
                let message = format!("cannot change owner of sequence \"{}\"", object.name);
                return Err(Error::new(Code::FeatureNotSupported, message)
                    .hint(format!("it belongs to a column of table {table}")));
            }
            Ok(Some((of, Some(object.namespace), word, object.name.clone())))
        }
        Some(Relation::Index(..) | Relation::Columns(..)) => {
            let name = resolve::split(&known_as).1;
            let error = Error::new(Code::WrongObjectType, format!("cannot change owner of index \"{name}\""));
            Err(error.hint("Change the ownership of the index's table, instead."))
        }
        None if if_exists => {
            let message = format!("relation \"{}\" does not exist, skipping", resolve::shown(&known_as));
            who.notices.push(crate::notice::Notice::plain(message));
            Ok(None)
        }
        None => Err(resolve::undefined(&known_as)),
    }
}

/// ALTER ... OWNER TO
pub(crate) fn change_owner(who: &mut Who<'_>, owned: &Owned, to: &RoleName) -> Result<()> {
    let access = load(who.txn)?;
    let new = who.oid(&access, to)?;
    let (target, schema, word, name) = match owned {
        Owned::Schema(name) => {
            let id = resolve::schema_of(who.txn, name).ok_or_else(|| resolve::no_schema(name))?;
            (Target::Schema(schema_oid(id)), None, "schema", name.clone())
        }
        Owned::Database(name) if name != who.database => {
            return Err(Error::new(Code::UndefinedDatabase, format!("database \"{name}\" does not exist")));
        }
        Owned::Database(name) => (Target::Database, None, "database", name.clone()),
        Owned::Type(kind, name) => {
            let found = types::find(who.txn, name).ok_or_else(|| types::missing(name))?;
            if *kind == "domain" && !is_domain(&found) {
                let message = format!("\"{}\" is not a domain", found.name);
                return Err(Error::new(Code::WrongObjectType, message).hint("ALTER TYPE is for other types"));
            }
            (Target::Relation(FIRST + found.id), Some(found.namespace), "type", found.name.clone())
        }
        Owned::Function(which) => {
            let found = functions::find(who.txn, which)?.ok_or_else(|| functions::missing(which))?;
            (Target::Relation(FIRST + found.id), Some(found.namespace), "function", found.name)
        }
        Owned::Relation(_, name, if_exists) => match owned_relation(who, name, *if_exists)? {
            Some(found) => found,
            None => return Ok(()),
        },
    };
    if access.owner(target) == new {
        return Ok(());
    }
    if !access.is_superuser(who.role) {
        if !access.owns(who.role, target) {
            return Err(denied(format!("must be owner of {word} {name}")));
        }
        if !access.is_member(who.role, new) {
            return Err(denied(format!("must be member of role \"{}\"", access.shown(new))));
        }
        let may = match (target, schema) {
            (Target::Schema(_), _) => access.rights(who.role, Target::Database, Kind::Database).has(Rights::CREATE),
            (_, Some(schema)) => {
                access.rights(new, Target::Schema(schema_oid(schema)), Kind::Schema).has(Rights::CREATE)
            }
            _ => true,
        };
        if !may {
            let what = match schema {
                Some(schema) => format!("schema {}", resolve::schema_name(who.txn, schema)),
                None => format!("database {}", who.database),
            };
            return Err(denied(format!("permission denied for {what}")));
        }
    }
    give(who.txn, &access, target, new)
}

/// Gives an object, and the sequences of a table's columns with it.
fn give(txn: &mut Transaction, access: &Access, target: Target, new: u32) -> Result<()> {
    hand_over(txn, access, target, new)?;
    let Target::Relation(oid) = target else { return Ok(()) };
    let table = (oid - FIRST).to_string();
    let is_owned = |object: &std::sync::Arc<weft_kernel::Object>| {
        object.kind == ObjectKind::Sequence && object.property("table") == Some(&table)
    };
    let owned: Vec<u32> = txn.objects().iter().filter(|object| is_owned(object)).map(|object| object.id).collect();
    owned.into_iter().try_for_each(|id| hand_over(txn, access, Target::Relation(FIRST + id), new))
}

fn roles_of(who: &Who<'_>, access: &Access, names: &[RoleName]) -> Result<Vec<u32>> {
    let mut roles = Vec::new();
    for name in names {
        let oid = who.oid(access, name)?;
        if !access.has_rights_of(who.role, oid) {
            return Err(denied("permission denied to reassign objects"));
        }
        roles.push(oid);
    }
    Ok(roles)
}

/// REASSIGN OWNED
pub(crate) fn reassign_owned(who: &mut Who<'_>, from: &[RoleName], to: &RoleName) -> Result<()> {
    let access = load(who.txn)?;
    let roles = roles_of(who, &access, from)?;
    let new = roles_of(who, &access, std::slice::from_ref(to))?;
    let new = new.first().copied().ok_or_else(|| no_role(""))?;
    for (target, entry) in &access.entries {
        if roles.contains(&entry.owner) && target_word(who.txn, *target, who.database).is_some() {
            hand_over(who.txn, &access, *target, new)?;
        }
    }
    Ok(())
}

/// DROP OWNED: the relations that are to be dropped, then; the rights are taken away here.
pub(crate) fn drop_owned(who: &mut Who<'_>, from: &[RoleName]) -> Result<(Vec<u32>, Vec<SchemaId>)> {
    let access = load(who.txn)?;
    let mut roles = Vec::new();
    for name in from {
        let oid = who.oid(&access, name)?;
        if !access.has_rights_of(who.role, oid) {
            return Err(denied("permission denied to drop objects"));
        }
        roles.push(oid);
    }
    let (mut relations, mut schemas) = (Vec::new(), Vec::new());
    for (target, entry) in &access.entries {
        if target_word(who.txn, *target, who.database).is_none() {
            continue;
        }
        if roles.contains(&entry.owner) {
            match target {
                Target::Relation(oid) => relations.push(oid - FIRST),
                Target::Schema(oid) if *oid != weft_pgcatalog::PUBLIC => schemas.push(SchemaId(oid - FIRST)),
                _ => {}
            }
            continue;
        }
        let mut left = entry.clone();
        let lists = left.acl.iter_mut().chain(left.columns.values_mut());
        lists.for_each(|acl| acl.0.retain(|item| !roles.contains(&item.grantee)));
        if left != *entry {
            put_entry(who.txn, *target, &left)?;
        }
    }
    for (of, schema, kind, acl) in &access.defaults {
        if roles.contains(of) {
            let empty = if *schema == 0 { kind.initial(*of) } else { Acl::default() };
            super::catalog::put_defaults(who.txn, (*of, *schema, *kind), &empty)?;
        } else if acl.0.iter().any(|item| roles.contains(&item.grantee)) {
            let mut left = acl.clone();
            left.0.retain(|item| !roles.contains(&item.grantee));
            super::catalog::put_defaults(who.txn, (*of, *schema, *kind), &left)?;
        }
    }
    Ok((relations, schemas))
}
