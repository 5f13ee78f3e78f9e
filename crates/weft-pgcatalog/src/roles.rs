//! Roles, databases, schemas, tablespaces, settings, sessions.

use crate::making::Rows;
use crate::rights::{Kind, Membership, OWNER, PREDEFINED, Role, Target};
use crate::snapshot::{INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, Snapshot};
use crate::value::Datum;

/// The number of the one database.
pub(crate) const DATABASE: i64 = 5;

/// Default privileges are numbered from here: below the numbers of users' objects, above those of the catalog's.
const FIRST_DEFAULT: i64 = 16_000;

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let text = |text: &str| Datum::text(text);
    match name {
        "pg_roles" | "pg_authid" => roles(name, rows, snapshot),
        "pg_user" | "pg_shadow" => users(name, rows, snapshot),
        "pg_group" => {
            for role in snapshot.access.roles.iter().filter(|role| !role.login) {
                let is_in = |member: &&Role| member.member_of.iter().any(|of| of.role == role.oid);
                let members = snapshot.access.roles.iter().filter(is_in);
                rows.add([
                    ("groname", text(&role.name)),
                    ("grosysid", Datum::Int(role.oid.into())),
                    ("grolist", Datum::list(members.map(|member| Datum::Int(member.oid.into())).collect())),
                ]);
            }
        }
        "pg_auth_members" => {
            let fixed = PREDEFINED.iter().flat_map(|(member, _, of)| {
                of.iter().map(|role| (*member, Membership { role: *role, grantor: OWNER, admin: false }))
            });
            let given = snapshot.access.predefined.iter().flat_map(|(member, of)| of.iter().map(|of| (*member, *of)));
            let own = snapshot.access.roles.iter().flat_map(|role| role.member_of.iter().map(|of| (role.oid, *of)));
            for (member, of) in fixed.chain(given).chain(own) {
                rows.add([
                    ("roleid", Datum::Int(of.role.into())),
                    ("member", Datum::Int(member.into())),
                    ("grantor", Datum::Int(of.grantor.into())),
                    ("admin_option", Datum::Bool(of.admin)),
                ]);
            }
        }
        "pg_database" => rows.add([
            ("oid", Datum::Int(DATABASE)),
            ("datname", text(&snapshot.database)),
            ("datdba", Datum::Int(snapshot.access.owner(Target::Database).into())),
            ("datacl", snapshot.acl_value(snapshot.access.given_acl(Target::Database).as_ref())),
            ("encoding", Datum::Int(6)),
            ("datlocprovider", text("c")),
            ("datallowconn", Datum::Bool(true)),
            ("datconnlimit", Datum::Int(-1)),
            ("dattablespace", Datum::Int(1663)),
            ("datcollate", text("C.UTF-8")),
            ("datctype", text("C.UTF-8")),
        ]),
        "pg_namespace" => {
            let fixed = [(PG_CATALOG, "pg_catalog"), (INFORMATION_SCHEMA, "information_schema")];
            let own = snapshot.schemas.iter().map(|(oid, name)| (*oid, name.as_str()));
            for (oid, name) in fixed.into_iter().chain(own) {
                let target = Target::Schema(oid);
                rows.add([
                    ("oid", Datum::Int(oid.into())),
                    ("nspname", text(name)),
                    ("nspowner", Datum::Int(snapshot.access.owner(target).into())),
                    ("nspacl", snapshot.acl_value(snapshot.access.given_acl(target).as_ref())),
                ]);
            }
            debug_assert!(snapshot.schemas.iter().any(|(oid, _)| *oid == PUBLIC), "public is always there");
        }
        "pg_default_acl" => default_acls(rows, snapshot),
        _ => fill_server(name, rows),
    }
}

/// What ALTER DEFAULT PRIVILEGES said.
fn default_acls(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for (at, (role, schema, kind, acl)) in snapshot.access.defaults.iter().enumerate() {
        let kind = match kind {
            Kind::Table => "r",
            Kind::Sequence => "S",
            Kind::Schema => "n",
            Kind::Function => "f",
            Kind::Database | Kind::Column | Kind::Type => continue,
        };
        rows.add([
            ("oid", Datum::Int(FIRST_DEFAULT + at as i64)),
            ("defaclrole", Datum::Int((*role).into())),
            ("defaclnamespace", Datum::Int((*schema).into())),
            ("defaclobjtype", Datum::text(kind)),
            ("defaclacl", snapshot.acl_value(Some(acl))),
        ]);
    }
}

/// The roles that are always there, as others.
fn predefined() -> impl Iterator<Item = Role> {
    PREDEFINED.iter().map(|(oid, name, _)| Role {
        oid: *oid,
        name: (*name).to_owned(),
        inherit: true,
        connection_limit: -1,
        ..Role::default()
    })
}

fn roles(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    // What a password is tested with is shown to superusers only.
    let shows = name == "pg_authid" && snapshot.access.is_superuser(snapshot.own_oid());
    for role in snapshot.access.roles.iter().cloned().chain(predefined()) {
        let password = match (&role.password, name) {
            (_, "pg_roles") => Datum::text("********"),
            (Some(verifier), _) if shows => Datum::text(verifier),
            _ => Datum::Null,
        };
        rows.add([
            ("oid", Datum::Int(role.oid.into())),
            ("rolname", Datum::text(&role.name)),
            ("rolsuper", Datum::Bool(role.superuser)),
            ("rolinherit", Datum::Bool(role.inherit)),
            ("rolcreaterole", Datum::Bool(role.create_role)),
            ("rolcreatedb", Datum::Bool(role.create_db)),
            ("rolcanlogin", Datum::Bool(role.login)),
            ("rolreplication", Datum::Bool(role.replication)),
            ("rolbypassrls", Datum::Bool(role.bypass_rls)),
            ("rolconnlimit", Datum::Int(role.connection_limit)),
            ("rolvaliduntil", role.valid_until.map_or(Datum::Null, Datum::Int)),
            ("rolpassword", password),
        ]);
    }
}

fn users(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let shows = name == "pg_shadow" && snapshot.access.is_superuser(snapshot.own_oid());
    for role in snapshot.access.roles.iter().filter(|role| role.login) {
        let password = match (&role.password, name) {
            (_, "pg_user") => Datum::text("********"),
            (Some(verifier), _) if shows => Datum::text(verifier),
            _ => Datum::Null,
        };
        rows.add([
            ("usename", Datum::text(&role.name)),
            ("usesysid", Datum::Int(role.oid.into())),
            ("usecreatedb", Datum::Bool(role.create_db)),
            ("usesuper", Datum::Bool(role.superuser)),
            ("userepl", Datum::Bool(role.replication)),
            ("usebypassrls", Datum::Bool(role.bypass_rls)),
            ("passwd", password),
            ("valuntil", role.valid_until.map_or(Datum::Null, Datum::Int)),
        ]);
    }
}

/// Tablespaces and time zones.
fn fill_server(name: &str, rows: &mut Rows<'_>) {
    let text = |text: &str| Datum::text(text);
    match name {
        "pg_tablespace" => {
            for (oid, name) in [(1663, "pg_default"), (1664, "pg_global")] {
                rows.add([("oid", Datum::Int(oid)), ("spcname", text(name)), ("spcowner", Datum::Int(10))]);
            }
        }
        "pg_timezone_names" => rows.add([("name", text("UTC")), ("abbrev", text("UTC"))]),
        _ => {}
    }
}

/// The value of a setting; empty when there is none.
pub(crate) fn setting(snapshot: &Snapshot, name: &str) -> String {
    let found = snapshot.settings.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    found.map_or_else(String::new, |(_, value, _)| value.clone())
}
