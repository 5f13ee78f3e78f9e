//! Roles, memberships, owners and lists of rights as objects of the catalog.
//!
//! ```text
//!   role bob                 oid (of the first superuser only), superuser, login, inherit, createrole, createdb,
//!                            replication, bypassrls: "t"; limit, password, until
//!   member 16405 16401       grantor, admin            role and member by number
//!   rights relation 17       owner, acl, "acl 2"       numbers of the kernel; "rights schema 21", "rights database"
//!   defaults 10 0 table      acl                       of role 10, in every schema (0), for tables
//! ```

use std::sync::Arc;

use weft_format::{Error, Result};
use weft_kernel::{Object, ObjectKind, SchemaId, Transaction};
use weft_pgcatalog::rights::{Access, Acl, Entry, Kind, Membership, OWNER, Role, Target};
use weft_pgcatalog::{FIRST, PUBLIC};

/// The number under which a schema is shown.
pub(crate) fn schema_oid(id: SchemaId) -> u32 {
    if id == SchemaId::PUBLIC { PUBLIC } else { FIRST + id.0 }
}

const FLAGS: &[&str] = &["superuser", "login", "inherit", "createrole", "createdb", "replication", "bypassrls"];

fn find(txn: &Transaction, name: &str) -> Option<Arc<Object>> {
    txn.object(ObjectKind::Other, SchemaId::PUBLIC, name)
}

fn put(txn: &mut Transaction, name: &str, change: impl FnOnce(&mut Object)) -> Result<Arc<Object>> {
    let known = find(txn, name);
    let mut object =
        known.map_or_else(|| Object::new(ObjectKind::Other, SchemaId::PUBLIC, name), |known| (*known).clone());
    change(&mut object);
    txn.put_object(object)
}

fn remove(txn: &mut Transaction, name: &str) -> Result<()> {
    find(txn, name).map_or(Ok(()), |known| txn.drop_object(&known))
}

fn damaged(name: &str) -> Error {
    Error::corrupt(format!("the catalog's entry \"{name}\" is damaged")).hint("restore the directory from a backup")
}

/// Roles and rights as a transaction sees them.
pub(crate) fn load(txn: &Transaction) -> Result<Access> {
    let mut access = Access::default();
    let mut members = Vec::new();
    for object in txn.objects().iter().filter(|object| object.kind == ObjectKind::Other) {
        let wrong = || damaged(&object.name);
        let acl = |text: &str| Acl::read(text).ok_or_else(wrong);
        let words: Vec<&str> = object.name.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok()).ok_or_else(wrong);
        match words.first().copied() {
            Some("role") => access.roles.push(role_of(object)?),
            Some("member") => {
                let grantor = object.property("grantor").and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
                let admin = object.property("admin") == Some("t");
                members.push((number(2)?, Membership { role: number(1)?, grantor, admin }));
            }
            Some("rights") => {
                let target = target_of(&object.name).ok_or_else(wrong)?;
                let mut entry = Entry { owner: OWNER, ..Entry::default() };
                for (name, value) in &object.properties {
                    match name.as_str() {
                        "owner" => entry.owner = value.parse().map_err(|_| wrong())?,
                        "acl" => entry.acl = Some(acl(value)?),
                        column => {
                            let number = column.strip_prefix("acl ").and_then(|number| number.parse().ok());
                            entry.columns.insert(number.ok_or_else(wrong)?, acl(value)?);
                        }
                    }
                }
                access.entries.insert(target, entry);
            }
            Some("defaults") => {
                let kind = match words.get(3).copied() {
                    Some("table") => Kind::Table,
                    Some("sequence") => Kind::Sequence,
                    Some("schema") => Kind::Schema,
                    Some("function") => Kind::Function,
                    _ => return Err(wrong()),
                };
                let acl = acl(object.property("acl").unwrap_or_default())?;
                access.defaults.push((number(1)?, number(2)?, kind, acl));
            }
            _ => {}
        }
    }
    access.roles.sort_by_key(|role| role.oid);
    if access.role(OWNER).is_none() {
        let first = Role { oid: OWNER, name: crate::settings::USER.to_owned(), ..all_rights() };
        access.roles.insert(0, first);
    }
    for (member, membership) in members {
        match access.roles.iter_mut().find(|role| role.oid == member) {
            Some(role) => role.member_of.push(membership),
            None => access.predefined.entry(member).or_default().push(membership),
        }
    }
    Ok(access)
}

/// A role that may everything.
pub(super) fn all_rights() -> Role {
    Role {
        superuser: true,
        login: true,
        inherit: true,
        create_role: true,
        create_db: true,
        replication: true,
        bypass_rls: true,
        connection_limit: -1,
        ..Role::default()
    }
}

fn role_of(object: &Object) -> Result<Role> {
    let wrong = || damaged(&object.name);
    let flag = |name: &str| object.property(name) == Some("t");
    let number = |name: &str| object.property(name).map(|text| text.parse::<i64>().map_err(|_| wrong())).transpose();
    Ok(Role {
        oid: if flag("first") { OWNER } else { FIRST + object.id },
        name: object.name.strip_prefix("role ").ok_or_else(wrong)?.to_owned(),
        superuser: flag(FLAGS[0]),
        login: flag(FLAGS[1]),
        inherit: flag(FLAGS[2]),
        create_role: flag(FLAGS[3]),
        create_db: flag(FLAGS[4]),
        replication: flag(FLAGS[5]),
        bypass_rls: flag(FLAGS[6]),
        connection_limit: number("limit")?.unwrap_or(-1),
        password: object.property("password").map(str::to_owned),
        valid_until: number("until")?,
        member_of: Vec::new(),
    })
}

/// The role of a name, without its memberships: one look, for the test of each statement.
pub(super) fn role_named(txn: &Transaction, name: &str) -> Option<Role> {
    role_of(&*find(txn, &format!("role {name}"))?).ok()
}

/// Stores a role, but for its memberships; its number.
pub(super) fn put_role(txn: &mut Transaction, role: &Role, before: Option<&str>) -> Result<u32> {
    let name = format!("role {}", before.unwrap_or(&role.name));
    let object = put(txn, &name, |object| {
        object.name = format!("role {}", role.name);
        let values = [
            role.superuser,
            role.login,
            role.inherit,
            role.create_role,
            role.create_db,
            role.replication,
            role.bypass_rls,
        ];
        object.properties.clear();
        for (name, value) in FLAGS.iter().zip(values) {
            if value {
                object.properties.insert((*name).to_owned(), "t".to_owned());
            }
        }
        if role.oid == OWNER {
            object.properties.insert("first".to_owned(), "t".to_owned());
        }
        if role.connection_limit >= 0 {
            object.properties.insert("limit".to_owned(), role.connection_limit.to_string());
        }
        if let Some(until) = role.valid_until {
            object.properties.insert("until".to_owned(), until.to_string());
        }
        if let Some(password) = &role.password {
            object.properties.insert("password".to_owned(), password.clone());
        }
    })?;
    Ok(if role.oid == OWNER { OWNER } else { FIRST + object.id })
}

/// Makes the first superuser, or gives a role another verifier.
pub(crate) fn put_first(txn: &mut Transaction, name: &str, verifier: Option<&str>) -> Result<()> {
    let access = load(txn)?;
    let stored = role_named(txn, name);
    let is_first = find_first(txn, &access).is_none();
    let mut role = match stored {
        Some(role) => role,
        None => Role { oid: if is_first { OWNER } else { 0 }, name: name.to_owned(), ..all_rights() },
    };
    role.password = verifier.map(str::to_owned);
    put_role(txn, &role, None).map(|_| ())
}

/// Stores a role of an earlier release.
pub(crate) fn put_old(
    txn: &mut Transaction,
    name: &str,
    superuser: bool,
    login: bool,
    verifier: Option<&str>,
) -> Result<()> {
    if superuser && find_first(txn, &load(txn)?).is_none() {
        return put_first(txn, name, verifier);
    }
    let mut role =
        if superuser { all_rights() } else { Role { inherit: true, connection_limit: -1, ..Role::default() } };
    role.name = name.to_owned();
    role.login = login;
    role.password = verifier.map(str::to_owned);
    put_role(txn, &role, None).map(|_| ())
}

/// Whether the first superuser was made.
pub(crate) fn has_first(txn: &Transaction) -> Result<bool> {
    Ok(find_first(txn, &load(txn)?).is_some())
}

/// The first superuser, when it was ever made.
fn find_first(txn: &Transaction, access: &Access) -> Option<Arc<Object>> {
    find(txn, &format!("role {}", access.role(OWNER)?.name))
}

pub(super) fn drop_role(txn: &mut Transaction, role: &Role) -> Result<()> {
    remove(txn, &format!("role {}", role.name))
}

pub(super) fn put_member(txn: &mut Transaction, member: u32, of: Membership) -> Result<()> {
    put(txn, &format!("member {} {member}", of.role), |object| {
        object.properties.insert("grantor".to_owned(), of.grantor.to_string());
        object.properties.insert("admin".to_owned(), if of.admin { "t" } else { "f" }.to_owned());
    })
    .map(|_| ())
}

pub(super) fn drop_member(txn: &mut Transaction, member: u32, role: u32) -> Result<()> {
    remove(txn, &format!("member {role} {member}"))
}

fn target_name(target: Target) -> String {
    match target {
        Target::Relation(oid) => format!("rights relation {}", oid.saturating_sub(FIRST)),
        Target::Schema(PUBLIC) => "rights schema 0".to_owned(),
        Target::Schema(oid) => format!("rights schema {}", oid.saturating_sub(FIRST)),
        Target::Database => "rights database".to_owned(),
    }
}

fn target_of(name: &str) -> Option<Target> {
    let mut words = name.split(' ').skip(1);
    let kind = words.next()?;
    let mut number = || words.next()?.parse::<u32>().ok();
    match kind {
        "relation" => Some(Target::Relation(FIRST.checked_add(number()?)?)),
        "schema" => Some(Target::Schema(schema_oid(SchemaId(number()?)))),
        "database" => Some(Target::Database),
        _ => None,
    }
}

/// Stores who owns an object and who may what with it.
pub(super) fn put_entry(txn: &mut Transaction, target: Target, entry: &Entry) -> Result<()> {
    put(txn, &target_name(target), |object| {
        object.properties.clear();
        object.properties.insert("owner".to_owned(), entry.owner.to_string());
        if let Some(acl) = &entry.acl {
            object.properties.insert("acl".to_owned(), acl.store());
        }
        for (number, acl) in &entry.columns {
            if !acl.0.is_empty() {
                object.properties.insert(format!("acl {number}"), acl.store());
            }
        }
    })
    .map(|_| ())
}

/// Forgets an object's owner and lists.
pub(super) fn drop_entry(txn: &mut Transaction, target: Target) -> Result<()> {
    remove(txn, &target_name(target))
}

/// Stores what objects that a role will make begin with.
pub(super) fn put_defaults(txn: &mut Transaction, (role, schema, kind): (u32, u32, Kind), acl: &Acl) -> Result<()> {
    let name = format!("defaults {role} {schema} {}", kind.word());
    if acl.0.is_empty() && schema != 0 || schema == 0 && *acl == kind.initial(role) {
        return remove(txn, &name);
    }
    put(txn, &name, |object| {
        object.properties.insert("acl".to_owned(), acl.store());
    })
    .map(|_| ())
}
