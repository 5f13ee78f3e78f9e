//! Rights as queries see them: `has_table_privilege` and its like, `aclexplode`, the views of `information_schema`.
//!
//! ```text
//!   has_table_privilege('bob', 't', 'SELECT, UPDATE')    one is enough; WITH GRANT OPTION: it may be granted on
//!   table_privileges   weft bob weft public t SELECT NO  shown to whom it concerns
//! ```

use weft_format::{Code, Error, Result};

use crate::cast::object_named;
use crate::function::Arguments;
use crate::function_rows;
use crate::making::Rows;
use crate::rights::{Acl, AclItem, Kind, PREDEFINED, PUBLIC_ROLE, Rights, Target};
use crate::snapshot::Snapshot;
use crate::type_names::split_name;
use crate::value::{Datum, Type};

/// Who is asked about, and where the other arguments begin.
fn asked(call: &Arguments<'_>, with_role: usize) -> Result<(u32, usize)> {
    if call.values.len() < with_role {
        return Ok((call.snapshot.own_oid(), 0));
    }
    match &call.values[0] {
        Datum::Text(name) if &**name == "public" => Ok((PUBLIC_ROLE, 1)),
        Datum::Text(name) => Ok((role_named(call.snapshot, name)?, 1)),
        other => Ok((other.int().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(u32::MAX), 1)),
    }
}

fn role_named(snapshot: &Snapshot, name: &str) -> Result<u32> {
    snapshot.role_oid(name).ok_or_else(|| Error::new(Code::UndefinedObject, format!("role \"{name}\" does not exist")))
}

/// The rights that a text names, each with whether it is about granting on.
fn wanted(text: &str, kinds: &[Kind]) -> Result<Vec<(Rights, bool)>> {
    let all = kinds.iter().fold(Rights::NONE, |all, kind| all.and(kind.all()));
    let one = |word: &str| {
        let word = word.trim();
        let lower = word.to_lowercase();
        let (name, grants) = match lower.strip_suffix("with grant option") {
            Some(name) => (name.trim().to_owned(), true),
            None => (lower.clone(), false),
        };
        let right = Rights::named(&name).filter(|right| all.has(*right));
        let unknown = || Error::new(Code::InvalidParameterValue, format!("unrecognized privilege type: \"{word}\""));
        right.map(|right| (right, grants)).ok_or_else(unknown)
    };
    text.split(',').map(one).collect()
}

fn oid_of(call: &Arguments<'_>, at: usize, data_type: &Type) -> Result<Option<u32>> {
    let found = match &call.values[at] {
        // A schema is named as it is; a relation as SQL writes it.
        Datum::Text(text) if matches!(data_type, Type::RegNamespace) && call.snapshot.schema_oid(text).is_some() => {
            call.snapshot.schema_oid(text).map(i64::from)
        }
        Datum::Text(text) => match object_named(call.snapshot, text, data_type) {
            Some(found) => Some(found),
            None => {
                let (code, what) = match data_type {
                    Type::RegNamespace => (Code::UndefinedSchema, "schema"),
                    _ => (Code::UndefinedTable, "relation"),
                };
                return Err(Error::new(code, format!("{what} \"{text}\" does not exist")));
            }
        },
        other => other.int(),
    };
    Ok(found.and_then(|oid| u32::try_from(oid).ok()))
}

/// Whether a relation of the catalog may be read: everybody may, but for what passwords are tested with.
fn system(snapshot: &Snapshot, relation: u32) -> Option<Rights> {
    let known = crate::declared::all().iter().find(|known| known.oid == relation)?;
    let _ = snapshot;
    Some(if matches!(known.name, "pg_authid" | "pg_shadow") { Rights::NONE } else { Rights::SELECT })
}

fn has(snapshot: &Snapshot, role: u32, target: Target, kind: Kind, wanted: &[(Rights, bool)]) -> bool {
    let access = &snapshot.access;
    let mut rights = access.rights(role, target, kind);
    if let Target::Relation(oid) = target
        && let Some(of_all) = system(snapshot, oid)
    {
        rights = if access.is_superuser(role) { kind.all() } else { of_all };
    }
    wanted.iter().any(|(right, grants)| match grants {
        true => access.grantable(role, target, kind).has(*right),
        false => rights.has(*right),
    })
}

/// Whether a relation is there.
fn exists(snapshot: &Snapshot, oid: u32) -> bool {
    snapshot.relation(oid).is_some()
}

pub(crate) fn has_table_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    let Some(oid) = oid_of(call, at, &Type::RegClass)?.filter(|oid| exists(call.snapshot, *oid)) else {
        return Ok(Datum::Null);
    };
    let wanted = wanted(&call.text(at + 1), &[Kind::Table])?;
    Ok(Datum::Bool(has(call.snapshot, role, Target::Relation(oid), call.snapshot.kind_of(oid), &wanted)))
}

pub(crate) fn has_sequence_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    let Some(oid) = oid_of(call, at, &Type::RegClass)?.filter(|oid| exists(call.snapshot, *oid)) else {
        return Ok(Datum::Null);
    };
    if call.snapshot.kind_of(oid) != Kind::Sequence {
        let name = call.snapshot.relation(oid).map_or("", |(_, name)| name);
        return Err(Error::new(Code::WrongObjectType, format!("\"{name}\" is not a sequence")));
    }
    let wanted = wanted(&call.text(at + 1), &[Kind::Sequence])?;
    Ok(Datum::Bool(has(call.snapshot, role, Target::Relation(oid), Kind::Sequence, &wanted)))
}

/// Whether a right is on a column, by its table or by itself.
fn has_column(snapshot: &Snapshot, role: u32, oid: u32, number: i64, wanted: &[(Rights, bool)]) -> bool {
    let target = Target::Relation(oid);
    has(snapshot, role, target, Kind::Table, wanted)
        || wanted.iter().any(|(right, grants)| match grants {
            true => snapshot.access.column_grantable(role, target, number).has(*right),
            false => snapshot.access.column_rights(role, target, number).has(*right),
        })
}

pub(crate) fn has_any_column_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    let Some(oid) = oid_of(call, at, &Type::RegClass)?.filter(|oid| exists(call.snapshot, *oid)) else {
        return Ok(Datum::Null);
    };
    let wanted = wanted(&call.text(at + 1), &[Kind::Column])?;
    let entry = call.snapshot.access.entries.get(&Target::Relation(oid));
    let numbers: Vec<i64> = entry.into_iter().flat_map(|entry| entry.columns.keys().copied()).chain([0]).collect();
    Ok(Datum::Bool(numbers.into_iter().any(|number| has_column(call.snapshot, role, oid, number, &wanted))))
}

pub(crate) fn has_column_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 4)?;
    let Some(oid) = oid_of(call, at, &Type::RegClass)?.filter(|oid| exists(call.snapshot, *oid)) else {
        return Ok(Datum::Null);
    };
    let columns = columns_of(call.snapshot, oid);
    let number = match &call.values[at + 1] {
        Datum::Text(name) => {
            let (_, relation) = call.snapshot.relation(oid).unwrap_or((0, ""));
            let missing = || {
                let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
                Error::new(Code::UndefinedColumn, message)
            };
            columns.iter().find(|(_, known)| *known == **name).map(|(number, _)| *number).ok_or_else(missing)?
        }
        other => match other.int().filter(|number| columns.iter().any(|(known, _)| known == number)) {
            Some(number) => number,
            None => return Ok(Datum::Null),
        },
    };
    let wanted = wanted(&call.text(at + 2), &[Kind::Column])?;
    Ok(Datum::Bool(has_column(call.snapshot, role, oid, number, &wanted)))
}

pub(crate) fn has_schema_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    let Some(oid) = oid_of(call, at, &Type::RegNamespace)? else { return Ok(Datum::Null) };
    if call.snapshot.schema_name(oid) == "???" {
        return Ok(Datum::Null);
    }
    let wanted = wanted(&call.text(at + 1), &[Kind::Schema])?;
    Ok(Datum::Bool(has(call.snapshot, role, Target::Schema(oid), Kind::Schema, &wanted)))
}

/// Everybody may call the functions of the system.
pub(crate) fn has_function_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    let oid = match &call.values[at] {
        Datum::Text(text) => function_rows::named(call.snapshot, text),
        other => other.int().and_then(|oid| u32::try_from(oid).ok()),
    };
    let Some(oid) = oid.filter(|oid| function_rows::is_one(call.snapshot, *oid)) else { return Ok(Datum::Bool(true)) };
    let wanted = wanted(&call.text(at + 1), &[Kind::Function])?;
    Ok(Datum::Bool(has(call.snapshot, role, Target::Relation(oid), Kind::Function, &wanted)))
}

pub(crate) fn has_database_privilege(call: &Arguments<'_>) -> Result<Datum> {
    let (role, at) = asked(call, 3)?;
    match &call.values[at] {
        Datum::Text(name) if **name != *call.snapshot.database => {
            return Err(Error::new(Code::UndefinedDatabase, format!("database \"{name}\" does not exist")));
        }
        Datum::Int(oid) if *oid != crate::roles::DATABASE => return Ok(Datum::Null),
        _ => {}
    }
    let wanted = wanted(&call.text(at + 1), &[Kind::Database])?;
    Ok(Datum::Bool(has(call.snapshot, role, Target::Database, Kind::Database, &wanted)))
}

pub(crate) fn pg_has_role(call: &Arguments<'_>) -> Result<Datum> {
    let (member, at) = asked(call, 3)?;
    let access = &call.snapshot.access;
    let role = match &call.values[at] {
        Datum::Text(name) => role_named(call.snapshot, name)?,
        other => other.int().and_then(|oid| u32::try_from(oid).ok()).unwrap_or(u32::MAX),
    };
    let text = call.text(at + 1);
    let mut found = false;
    for word in text.split(',') {
        let lower = word.trim().to_lowercase();
        found |= match lower.as_str() {
            "usage" => access.has_rights_of(member, role),
            "member" => access.is_member(member, role),
            "usage with grant option"
            | "usage with admin option"
            | "member with grant option"
            | "member with admin option" => access.is_admin(member, role),
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", word.trim());
                return Err(Error::new(Code::InvalidParameterValue, message));
            }
        };
    }
    Ok(Datum::Bool(found))
}

/// The items of a list that was printed.
fn read(call: &Arguments<'_>, item: &str) -> Option<AclItem> {
    let (grantee, rest) = item.rsplit_once('=')?;
    let (letters, grantor) = rest.split_once('/')?;
    let oid = |name: &str| call.snapshot.role_oid(&split_name(name).1);
    let grantee = if grantee.is_empty() { PUBLIC_ROLE } else { oid(grantee)? };
    let numbers = format!("{grantee}={letters}/{}", oid(grantor)?);
    Acl::read(&numbers)?.0.pop()
}

pub(crate) fn aclexplode(call: &Arguments<'_>) -> Result<Datum> {
    let mut rows = Vec::new();
    for item in call.values[0].items() {
        let Datum::Text(text) = item else { continue };
        let Some(item) = read(call, text) else { continue };
        for right in item.rights.each() {
            rows.push(Datum::list(vec![
                Datum::Int(item.grantor.into()),
                Datum::Int(item.grantee.into()),
                Datum::text(right.names().next().unwrap_or_default()),
                Datum::Bool(item.grantable.has(right)),
            ]));
        }
    }
    Ok(Datum::list(rows))
}

pub(crate) fn acldefault(call: &Arguments<'_>) -> Result<Datum> {
    let kind = match call.text(0).as_str() {
        "r" => Kind::Table,
        "s" => Kind::Sequence,
        "n" => Kind::Schema,
        "d" => Kind::Database,
        _ => return Ok(Datum::list(Vec::new())),
    };
    let owner = u32::try_from(call.int(1)).unwrap_or(0);
    Ok(call.snapshot.acl_value(Some(&kind.initial(owner))))
}

/// The columns of a relation that users see.
fn columns_of(snapshot: &Snapshot, oid: u32) -> Vec<(i64, String)> {
    if let Some(table) = snapshot.table(oid) {
        let columns = (1..).zip(&table.columns).filter(|(_, column)| !column.dropped);
        return columns.map(|(number, column)| (number, column.name.clone())).collect();
    }
    if let Some(view) = snapshot.views.iter().find(|view| view.oid == oid) {
        return (1..).zip(&view.columns).map(|(number, (name, _))| (number, name.clone())).collect();
    }
    let known = crate::declared::all().iter().find(|known| known.oid == oid);
    let names = known.into_iter().flat_map(|known| &known.columns);
    (1..).zip(names).map(|(number, (name, _))| (number, (*name).to_owned())).collect()
}

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    match name {
        "enabled_roles" | "applicable_roles" | "administrable_role_authorizations" => members(name, rows, snapshot),
        "table_privileges" | "role_table_grants" => {
            for (oid, schema, table) in relations_of(snapshot) {
                let acl = snapshot.access.acl(Target::Relation(oid), Kind::Table);
                each(snapshot, name == "role_table_grants", Target::Relation(oid), &acl, &mut |item| {
                    let [a, b, c, d] = item.columns(snapshot);
                    rows.add([
                        a,
                        b,
                        c,
                        d,
                        ("table_catalog", Datum::text(&snapshot.database)),
                        ("table_schema", Datum::text(snapshot.schema_name(schema))),
                        ("table_name", Datum::text(table)),
                        ("with_hierarchy", yes_no(item.right == "SELECT")),
                    ]);
                });
            }
        }
        "column_privileges" | "role_column_grants" => {
            for (oid, schema, table) in relations_of(snapshot) {
                columns(name, rows, snapshot, (oid, schema, table));
            }
        }
        "usage_privileges" => {
            for sequence in &snapshot.sequences {
                let target = Target::Relation(sequence.oid);
                let acl = snapshot.access.acl(target, Kind::Sequence);
                each(snapshot, false, target, &acl, &mut |item| {
                    if item.right == "USAGE" {
                        let [a, b, c, d] = item.columns(snapshot);
                        rows.add([
                            a,
                            b,
                            c,
                            d,
                            ("object_catalog", Datum::text(&snapshot.database)),
                            ("object_schema", Datum::text(snapshot.schema_name(sequence.schema))),
                            ("object_name", Datum::text(&sequence.name)),
                            ("object_type", Datum::text("SEQUENCE")),
                        ]);
                    }
                });
            }
        }
        _ => {}
    }
}

/// Roles and who is a member of them.
fn members(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for member in all_roles(snapshot) {
        if !snapshot.access.is_member(snapshot.own_oid(), member) {
            continue;
        }
        if name == "enabled_roles" {
            rows.add([("role_name", Datum::text(snapshot.access.shown(member)))]);
            continue;
        }
        let of = snapshot.access.role(member).map(|role| &role.member_of);
        for of in of.or_else(|| snapshot.access.predefined.get(&member)).into_iter().flatten() {
            if of.admin || name == "applicable_roles" {
                rows.add([
                    ("grantee", Datum::text(snapshot.access.shown(member))),
                    ("role_name", Datum::text(snapshot.access.shown(of.role))),
                    ("is_grantable", yes_no(of.admin)),
                ]);
            }
        }
    }
}

fn columns(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot, (oid, schema, table): (u32, u32, &str)) {
    let target = Target::Relation(oid);
    let of_table = snapshot.access.acl(target, Kind::Table);
    let entry = snapshot.access.entries.get(&target);
    for (number, column) in columns_of(snapshot, oid) {
        let mut acl = Acl::default();
        let own = entry.and_then(|entry| entry.columns.get(&number));
        for item in of_table.0.iter().chain(own.into_iter().flat_map(|acl| &acl.0)) {
            let rights = item.rights.common(Kind::Column.all());
            acl.grant(AclItem { rights, grantable: item.grantable.common(rights), ..*item });
        }
        each(snapshot, name == "role_column_grants", target, &acl, &mut |item| {
            let [a, b, c, d] = item.columns(snapshot);
            rows.add([
                a,
                b,
                c,
                d,
                ("table_catalog", Datum::text(&snapshot.database)),
                ("table_schema", Datum::text(snapshot.schema_name(schema))),
                ("table_name", Datum::text(table)),
                ("column_name", Datum::text(&column)),
            ]);
        });
    }
}

/// All roles.
fn all_roles(snapshot: &Snapshot) -> Vec<u32> {
    let own = snapshot.access.roles.iter().map(|role| role.oid);
    own.chain(PREDEFINED.iter().map(|(oid, ..)| *oid)).collect()
}

fn relations_of(snapshot: &Snapshot) -> Vec<(u32, u32, &str)> {
    let tables = snapshot.tables.iter().map(|table| (table.oid, table.schema, table.name.as_str()));
    tables.chain(snapshot.views.iter().map(|view| (view.oid, view.schema, view.name.as_str()))).collect()
}

/// One right of a list.
struct One {
    grantor: u32,
    grantee: u32,
    right: &'static str,
    grantable: bool,
}

impl One {
    fn columns(&self, snapshot: &Snapshot) -> [(&'static str, Datum); 4] {
        let grantee =
            if self.grantee == PUBLIC_ROLE { "PUBLIC".to_owned() } else { snapshot.access.shown(self.grantee) };
        [
            ("grantor", Datum::text(snapshot.access.shown(self.grantor))),
            ("grantee", Datum::text(grantee)),
            ("privilege_type", Datum::text(self.right)),
            ("is_grantable", yes_no(self.grantable)),
        ]
    }
}

/// The rights of a list that who asks gave or has; those of everybody unless only roles are asked for.
fn each(snapshot: &Snapshot, only_roles: bool, target: Target, acl: &Acl, add: &mut dyn FnMut(&One)) {
    let access = &snapshot.access;
    let own = snapshot.own_oid();
    let concerns = |role: u32| role != PUBLIC_ROLE && access.has_rights_of(own, role);
    for item in &acl.0 {
        let of_all = item.grantee == PUBLIC_ROLE && !only_roles;
        if !of_all && !concerns(item.grantee) && !concerns(item.grantor) {
            continue;
        }
        for right in item.rights.each() {
            let is_owner = item.grantee != PUBLIC_ROLE && access.has_rights_of(item.grantee, access.owner(target));
            let grantable = item.grantable.has(right) || is_owner;
            let right = right.names().next().unwrap_or_default();
            add(&One { grantor: item.grantor, grantee: item.grantee, right, grantable });
        }
    }
}

fn yes_no(yes: bool) -> Datum {
    Datum::text(if yes { "YES" } else { "NO" })
}
