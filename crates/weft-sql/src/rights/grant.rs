//! GRANT and REVOKE of rights on objects, and ALTER DEFAULT PRIVILEGES.
//!
//! ```text
//!   who grants   the owner, or a superuser or a member of the owner in the owner's name; else who has the grant option
//!   REVOKE       takes away what that grantor gave; what others got through it goes with CASCADE, else is in the way
//! ```

use weft_format::{Code, Error, Result};
use weft_kernel::{ObjectKind, Transaction};
use weft_pgcatalog::FIRST;
use weft_pgcatalog::rights::{Access, Acl, AclItem, Entry, Kind, PUBLIC_ROLE, Rights, Target};

use super::catalog::{load, put_defaults, put_entry};
use super::numbers::number_of;
use super::schema_oid;
use super::who::{Who, denied};
use crate::functions::{self, Function};
use crate::notice::Notice;
use crate::parse::{Grant, On, RoleName, Signature, fold, table_name};
use crate::resolve::{self, Relation};
use crate::view_columns::view_columns;

/// One object of a statement.
struct Object {
    target: Target,
    kind: Kind,
    name: String,
    /// What messages call it.
    word: &'static str,
    /// The columns by name and number.
    columns: Vec<(String, i64)>,
}

fn object_of(relation: Relation) -> Result<Object> {
    match relation {
        Relation::Table(table) => {
            let visible = table.def.schema.visible();
            let columns = visible.map(|(at, column)| (column.name.clone(), number_of(&table.def, at))).collect();
            let target = Target::Relation(FIRST + table.def.oid);
            Ok(Object { target, kind: Kind::Table, name: table.def.name.clone(), word: "table", columns })
        }
        Relation::Object(object) => {
            let target = Target::Relation(FIRST + object.id);
            let (kind, word, columns) = match object.kind {
                ObjectKind::Sequence => (Kind::Sequence, "sequence", Vec::new()),
                _ => (Kind::Table, "view", view_columns(&object).into_iter().map(|(name, _)| name).zip(1..).collect()),
            };
            Ok(Object { target, kind, name: object.name.clone(), word, columns })
        }
        Relation::Index(_, index) => {
            Err(Error::new(Code::WrongObjectType, format!("\"{}\" is an index", index.name())))
        }
        Relation::Columns(_, columns) => {
            Err(Error::new(Code::WrongObjectType, format!("\"{}\" is an index", columns.def.name)))
        }
    }
}

fn of_function(function: &Function) -> Object {
    let (target, kind) = (Target::Relation(FIRST + function.id), Kind::Function);
    Object { target, kind, name: function.name.clone(), word: kind.word(), columns: Vec::new() }
}

fn functions_named(txn: &Transaction, names: &[Signature]) -> Result<Vec<Object>> {
    let mut found = Vec::with_capacity(names.len());
    for which in names {
        match functions::find(txn, which)? {
            Some(function) => found.push(of_function(&function)),
            // Those of the system are everybody's.
            None if is_of_system(&which.name) => {}
            None => return Err(functions::missing(which)),
        }
    }
    Ok(found)
}

fn functions_in(txn: &Transaction, schemas: &[String]) -> Result<Vec<Object>> {
    let mut found = Vec::new();
    for name in schemas {
        let id = resolve::schema_of(txn, name).ok_or_else(|| resolve::no_schema(name))?;
        for (object, _) in txn.objects_of(ObjectKind::Function) {
            if object.namespace == id {
                found.push(of_function(&Function::of(&object)?));
            }
        }
    }
    Ok(found)
}

/// Whether the system has a function of a name.
fn is_of_system(name: &sqlparser::ast::ObjectName) -> bool {
    let last = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    name.to_string().starts_with("pg_catalog.") || weft_expr::builtins::is_known(&last) || last.starts_with("pg_")
}

fn relation(txn: &Transaction, name: &sqlparser::ast::ObjectName) -> Result<Object> {
    let name = table_name(name)?;
    object_of(resolve::relation(txn, &name).ok_or_else(|| resolve::undefined(&name))?)
}

/// The objects of a statement.
fn objects(who: &Who<'_>, on: &On) -> Result<Vec<Object>> {
    let txn = &*who.txn;
    let plain = |target, kind: Kind, name: &str| Object {
        target,
        kind,
        name: name.to_owned(),
        word: kind.word(),
        columns: Vec::new(),
    };
    match on {
        On::Tables(names) => names.iter().map(|name| relation(txn, name)).collect(),
        On::Sequences(names) => names
            .iter()
            .map(|name| {
                let found = relation(txn, name)?;
                if found.kind == Kind::Sequence {
                    return Ok(found);
                }
                Err(Error::new(Code::WrongObjectType, format!("\"{}\" is not a sequence", found.name)))
            })
            .collect(),
        On::Databases(names) => names
            .iter()
            .map(|name| {
                if name != who.database {
                    let message = format!("database \"{name}\" does not exist");
                    return Err(Error::new(Code::UndefinedDatabase, message));
                }
                Ok(plain(Target::Database, Kind::Database, name))
            })
            .collect(),
        On::Schemas(names) => names
            .iter()
            .map(|name| {
                let id = resolve::schema_of(txn, name).ok_or_else(|| resolve::no_schema(name))?;
                Ok(plain(Target::Schema(schema_oid(id)), Kind::Schema, name))
            })
            .collect(),
        On::AllTables(schemas) | On::AllSequences(schemas) => {
            let mut found = Vec::new();
            for name in schemas {
                let id = resolve::schema_of(txn, name).ok_or_else(|| resolve::no_schema(name))?;
                let all_tables = matches!(on, On::AllTables(_));
                let tables = txn.tables().into_iter().filter(|def| all_tables && def.namespace == id);
                for table in tables.filter_map(|def| txn.table_of(def.id)) {
                    found.push(object_of(Relation::Table(table))?);
                }
                let wanted = if all_tables { ObjectKind::View } else { ObjectKind::Sequence };
                let objects = txn.objects().into_iter();
                // What stands for a materialised view has no rights of its own.
                let is_it = |object: &weft_kernel::Object| object.kind == wanted && !object.name.starts_with('\0');
                for object in objects.filter(|object| is_it(object) && object.namespace == id) {
                    found.push(object_of(Relation::Object(object))?);
                }
            }
            Ok(found)
        }
        On::Functions(names) => functions_named(txn, names),
        On::AllFunctions(schemas) => functions_in(txn, schemas),
        On::Nothing => Ok(Vec::new()),
    }
}

/// The rights that are named, for an object as a whole and for columns.
struct Wanted {
    is_all: bool,
    whole: Rights,
    columns: Vec<(Rights, Vec<String>)>,
}

fn wanted(grant: &Grant, object: &Object) -> Result<Wanted> {
    let plural = object.word;
    if grant.rights.is_empty() {
        if grant.all_columns.is_empty() {
            return Ok(Wanted { is_all: true, whole: object.kind.all(), columns: Vec::new() });
        }
        let columns = vec![(Kind::Column.all(), grant.all_columns.clone())];
        return Ok(Wanted { is_all: true, whole: Rights::NONE, columns });
    }
    let mut wanted = Wanted { is_all: false, whole: Rights::NONE, columns: Vec::new() };
    for (name, columns) in &grant.rights {
        let unknown = || Error::new(Code::SyntaxError, format!("unrecognized privilege type \"{name}\""));
        let right = match Rights::named(name) {
            Some(right) => right,
            None if matches!(name.as_str(), "execute" | "set") || name == "alter system" => Rights(1 << 7),
            None => return Err(unknown()),
        };
        let shown = right.names().next().unwrap_or_default();
        if columns.is_empty() {
            // GRANT ... ON a sequence without the word SEQUENCE, as of old.
            if !object.kind.all().has(right) {
                let kind = if object.word == "view" { "table" } else { plural };
                let message = format!("invalid privilege type {shown} for {kind}");
                return Err(Error::new(Code::InvalidGrant, message));
            }
            wanted.whole = wanted.whole.and(right);
            continue;
        }
        if object.kind != Kind::Table {
            return Err(Error::new(Code::InvalidGrant, "column privileges are only valid for relations"));
        }
        if !Kind::Column.all().has(right) {
            return Err(Error::new(Code::InvalidGrant, format!("invalid privilege type {shown} for column")));
        }
        wanted.columns.push((right, columns.clone()));
    }
    Ok(wanted)
}

/// Who gets or loses rights.
fn grantees(who: &Who<'_>, access: &Access, grant: &Grant) -> Result<Vec<u32>> {
    let one = |name: &RoleName| match name {
        RoleName::Public if grant.option && !grant.revokes => {
            Err(Error::new(Code::InvalidGrant, "grant options can only be granted to roles"))
        }
        RoleName::Public => Ok(PUBLIC_ROLE),
        other => who.oid(access, other),
    };
    grant.roles.iter().map(one).collect()
}

/// GRANT or REVOKE.
pub(crate) fn grant(who: &mut Who<'_>, grant: &Grant) -> Result<()> {
    let access = load(who.txn)?;
    let grantees = grantees(who, &access, grant)?;
    if let Some(by) = &grant.by
        && who.oid(&access, by)? != who.role
    {
        return Err(Error::new(Code::FeatureNotSupported, "grantor must be current user"));
    }
    for object in objects(who, &grant.on)? {
        let wanted = wanted(grant, &object)?;
        let access = load(who.txn)?;
        change(who, &access, grant, &object, &wanted, &grantees)?;
    }
    Ok(())
}

/// In whose name a role grants, and what it may grant.
fn grantor(access: &Access, role: u32, target: Target, has: impl Fn(u32) -> Rights, wanted: Rights) -> (u32, Rights) {
    let owner = access.owner(target);
    if access.has_rights_of(role, owner) {
        return (owner, Rights(u16::MAX));
    }
    let mut best = (role, has(role).common(wanted));
    for of in access.roles_of(role, true) {
        let may = has(of).common(wanted);
        if may.0.count_ones() > best.1.0.count_ones() {
            best = (of, may);
        }
    }
    best
}

/// What one role alone may grant on by a list.
fn option_in(acl: &Acl, role: u32) -> Rights {
    acl.0.iter().filter(|item| item.grantee == role).fold(Rights::NONE, |all, item| all.and(item.grantable))
}

fn change(
    who: &mut Who<'_>,
    access: &Access,
    grant: &Grant,
    object: &Object,
    wanted: &Wanted,
    grantees: &[u32],
) -> Result<()> {
    let target = object.target;
    let mut entry = access
        .entries
        .get(&target)
        .cloned()
        .unwrap_or_else(|| Entry { owner: access.owner(target), ..Entry::default() });
    let before = entry.clone();
    if !wanted.whole.is_empty() {
        let mut acl = access.acl(target, object.kind);
        let list = acl.clone();
        let (by, may) = grantor(access, who.role, target, |role| option_in(&list, role), wanted.whole);
        let has_any = !access.rights(who.role, target, object.kind).is_empty()
            || access.has_any_column(who.role, target, Rights::SELECT);
        let rights = restrict(who, grant, object, wanted, (wanted.whole, may, has_any))?;
        apply(&mut acl, entry.owner, grant, grantees, (by, rights))?;
        entry.acl = Some(acl);
        if grant.revokes && object.kind == Kind::Table {
            for acl in entry.columns.values_mut() {
                apply(acl, entry.owner, grant, grantees, (by, rights.common(Kind::Column.all())))?;
            }
        }
    }
    for (right, names) in &wanted.columns {
        for name in names {
            let found = object.columns.iter().find(|(known, _)| known == name);
            let number = found.map(|(_, number)| *number).ok_or_else(|| {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", object.name);
                Error::new(Code::UndefinedColumn, message)
            })?;
            let table_acl = access.acl(target, object.kind);
            let acl = entry.columns.entry(number).or_default();
            let own = acl.clone();
            let has = |role| option_in(&table_acl, role).and(option_in(&own, role));
            let (by, may) = grantor(access, who.role, target, has, *right);
            let has_any = !access.rights(who.role, target, object.kind).is_empty()
                || !access.column_rights(who.role, target, number).is_empty();
            let rights = restrict(who, grant, object, wanted, (*right, may, has_any))?;
            apply(acl, entry.owner, grant, grantees, (by, rights))?;
        }
    }
    entry.columns.retain(|_, acl| !acl.0.is_empty());
    if entry == before { Ok(()) } else { put_entry(who.txn, target, &entry) }
}

/// What of the rights may be granted; it is an error when the role has none at all, else a warning.
fn restrict(
    who: &mut Who<'_>,
    grant: &Grant,
    object: &Object,
    wanted: &Wanted,
    (rights, may, has_any): (Rights, Rights, bool),
) -> Result<Rights> {
    let left = rights.common(may);
    if left.is_empty() && !has_any {
        return Err(denied(format!("permission denied for {} {}", object.word, object.name)));
    }
    let name = &object.name;
    let warning = match (grant.revokes, left.is_empty(), left == rights || wanted.is_all) {
        (false, true, _) => Some(("01007", format!("no privileges were granted for \"{name}\""))),
        (false, false, false) => Some(("01007", format!("not all privileges were granted for \"{name}\""))),
        (true, true, _) => Some(("01006", format!("no privileges could be revoked for \"{name}\""))),
        (true, false, false) => Some(("01006", format!("not all privileges could be revoked for \"{name}\""))),
        _ => None,
    };
    who.notices.extend(warning.map(|(code, message)| Notice::warning(code, message)));
    Ok(left)
}

fn apply(acl: &mut Acl, owner: u32, grant: &Grant, grantees: &[u32], (by, rights): (u32, Rights)) -> Result<()> {
    for &grantee in grantees {
        if !grant.revokes {
            // The owner may grant in any case, so it is given no option.
            let grantable = if grant.option && grantee != owner { rights } else { Rights::NONE };
            check_circle(acl, owner, (by, grantee), grantable)?;
            acl.grant(AclItem { grantee, grantor: by, rights, grantable });
            continue;
        }
        let before = option_in(acl, grantee);
        acl.revoke(AclItem { grantee, grantor: by, rights, grantable: rights }, grant.option);
        if grantee != PUBLIC_ROLE && grantee != owner {
            let lost = before.without(option_in(acl, grantee));
            follow(acl, owner, grantee, lost, grant.cascade)?;
        }
    }
    Ok(())
}

/// A grant option may not come back to who gave it.
fn check_circle(acl: &Acl, owner: u32, (by, grantee): (u32, u32), grantable: Rights) -> Result<()> {
    if grantable.is_empty() || by == owner {
        return Ok(());
    }
    let mut from = vec![by];
    let mut at = 0;
    while let Some(&role) = from.get(at) {
        at += 1;
        if role == grantee {
            return Err(Error::new(Code::InvalidGrant, "grant options cannot be granted back to your own grantor"));
        }
        let gave = acl.0.iter().filter(|item| item.grantee == role && !item.grantable.common(grantable).is_empty());
        let gave: Vec<u32> = gave.map(|item| item.grantor).filter(|grantor| !from.contains(grantor)).collect();
        from.extend(gave);
    }
    Ok(())
}

/// What a role gave on that may do so no more.
fn follow(acl: &mut Acl, owner: u32, role: u32, lost: Rights, cascade: bool) -> Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    let given: Vec<AclItem> = acl.0.iter().filter(|item| item.grantor == role).copied().collect();
    for item in given {
        let rights = item.rights.common(lost);
        if rights.is_empty() || item.grantee == owner {
            continue;
        }
        if !cascade {
            return Err(Error::new(Code::DependentObjects, "dependent privileges exist")
                .hint("Use CASCADE to revoke them too."));
        }
        let before = option_in(acl, item.grantee);
        acl.revoke(AclItem { rights, grantable: rights, ..item }, false);
        let lost = before.without(option_in(acl, item.grantee));
        follow(acl, owner, item.grantee, lost, cascade)?;
    }
    Ok(())
}

/// ALTER DEFAULT PRIVILEGES
pub(crate) fn alter_defaults(who: &mut Who<'_>, of: &[RoleName], schemas: &[String], change: &Grant) -> Result<()> {
    let access = load(who.txn)?;
    let kind = match &change.on {
        On::Tables(_) => Kind::Table,
        On::Sequences(_) => Kind::Sequence,
        On::Schemas(_) => Kind::Schema,
        On::Functions(_) => Kind::Function,
        // What has no rights of its own here begins with none.
        _ => return Ok(()),
    };
    if kind == Kind::Schema && !schemas.is_empty() {
        return Err(Error::new(Code::InvalidGrant, "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS"));
    }
    let mut owners = of.iter().map(|role| who.oid(&access, role)).collect::<Result<Vec<u32>>>()?;
    if owners.is_empty() {
        owners.push(who.role);
    }
    let mut places = Vec::new();
    for name in schemas {
        let id = resolve::schema_of(who.txn, name).ok_or_else(|| resolve::no_schema(name))?;
        places.push(schema_oid(id));
    }
    if places.is_empty() {
        places.push(0);
    }
    let stand_in =
        Object { target: Target::Database, kind, name: String::new(), word: kind.word(), columns: Vec::new() };
    let wanted = wanted(change, &stand_in)?;
    let grantees = grantees(who, &access, change)?;
    for owner in owners {
        if !access.has_rights_of(who.role, owner) {
            return Err(denied("permission denied to change default privileges"));
        }
        for &place in &places {
            let known = access.defaults.iter().find(|(role, at, what, _)| (*role, *at, *what) == (owner, place, kind));
            let mut acl = match known {
                Some((.., acl)) => acl.clone(),
                None if place == 0 => kind.initial(owner),
                None => Acl::default(),
            };
            apply(&mut acl, owner, change, &grantees, (owner, wanted.whole))?;
            put_defaults(who.txn, (owner, place, kind), &acl)?;
        }
    }
    Ok(())
}
