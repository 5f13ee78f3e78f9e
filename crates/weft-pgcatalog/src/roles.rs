//! Roles, databases, schemas, tablespaces, settings, sessions.

use crate::relations::Rows;
use crate::snapshot::{INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, Snapshot};
use crate::value::Datum;

/// The number of the one database.
pub(crate) const DATABASE: i64 = 5;

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows, snapshot: &Snapshot) {
    let text = |text: &str| Datum::text(text);
    match name {
        "pg_roles" | "pg_authid" => {
            for role in &snapshot.roles {
                let all = Datum::Bool(role.superuser);
                let mut add = |password: Datum| {
                    rows.add([
                        ("oid", Datum::Int(snapshot.role_oid(&role.name).map_or(0, i64::from))),
                        ("rolname", text(&role.name)),
                        ("rolsuper", all.clone()),
                        ("rolinherit", Datum::Bool(true)),
                        ("rolcreaterole", all.clone()),
                        ("rolcreatedb", all.clone()),
                        ("rolcanlogin", Datum::Bool(role.login)),
                        ("rolreplication", all.clone()),
                        ("rolbypassrls", all.clone()),
                        ("rolconnlimit", Datum::Int(-1)),
                        ("rolpassword", password),
                    ]);
                };
                // What a password is tested with is shown to nobody.
                add(if name == "pg_roles" { text("********") } else { Datum::Null });
            }
        }
        "pg_user" => {
            for role in snapshot.roles.iter().filter(|role| role.login) {
                rows.add([
                    ("usename", text(&role.name)),
                    ("usesysid", Datum::Int(snapshot.role_oid(&role.name).map_or(0, i64::from))),
                    ("usecreatedb", Datum::Bool(role.superuser)),
                    ("usesuper", Datum::Bool(role.superuser)),
                    ("userepl", Datum::Bool(role.superuser)),
                    ("usebypassrls", Datum::Bool(role.superuser)),
                    ("passwd", text("********")),
                ]);
            }
        }
        "pg_database" => rows.add([
            ("oid", Datum::Int(DATABASE)),
            ("datname", text(&snapshot.database)),
            ("datdba", Datum::Int(10)),
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
                let values = [("oid", Datum::Int(oid.into())), ("nspname", text(name)), ("nspowner", Datum::Int(10))];
                rows.add(values);
            }
            debug_assert!(snapshot.schemas.iter().any(|(oid, _)| *oid == PUBLIC), "public is always there");
        }
        _ => fill_server(name, rows),
    }
}

/// Tablespaces and time zones.
fn fill_server(name: &str, rows: &mut Rows) {
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
