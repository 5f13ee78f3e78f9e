//! What `pg_type`, `pg_constraint` and `information_schema` have of users' domains.

use weft_format::bloom::hash_bytes;

use crate::definitions::{default_text, unwrapped};
use crate::making::Rows;
use crate::objects::Column;
use crate::rights::Target;
use crate::snapshot::Snapshot;
use crate::types::{by_oid, format_type, type_of};
use crate::user_types::{Domain, TypeKind, UserType, array_oid};
use crate::value::Datum;

fn text(text: impl AsRef<str>) -> Datum {
    Datum::text(text)
}

/// The domains.
fn domains(snapshot: &Snapshot) -> impl Iterator<Item = (&UserType, &Domain)> {
    snapshot.types.iter().filter_map(|known| match &known.kind {
        TypeKind::Domain(domain) => Some((known, domain)),
        TypeKind::Enum(_) => None,
    })
}

/// The number and the modifier of a column's type.
pub(crate) fn column_type(column: &Column) -> (i64, i64) {
    match column.domain {
        Some((oid, false)) => (oid.into(), -1),
        Some((oid, true)) => (array_oid(oid).into(), -1),
        None => type_of(column.data_type),
    }
}

/// The domains in `pg_type`.
pub(crate) fn types(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    domains(snapshot).for_each(|(known, domain)| types_of(rows, snapshot, known, domain));
}

/// A domain's DEFAULT.
fn default_of(snapshot: &Snapshot, domain: &Domain) -> Datum {
    domain.default.as_ref().map_or(Datum::Null, |default| text(default_text(snapshot, domain.base, default)))
}

/// A domain, and the type of arrays of it.
fn types_of(rows: &mut Rows<'_>, snapshot: &Snapshot, known: &UserType, domain: &Domain) {
    let (base, modifier) = type_of(domain.base);
    let owner = snapshot.access.owner(Target::Relation(known.oid)).into();
    let row = by_oid(base);
    let array = array_oid(known.oid);
    // An enum is as a number of four bytes, an array as a text.
    let is_array = domain.base.element().is_some();
    let plain = if is_array { (-1, "i", "x", "A") } else { (4, "i", "p", "E") };
    let (length, align, storage, category) = match row {
        Some(row) => (row.length(), row.align(), row.storage(), row.category()),
        None => plain,
    };
    rows.add([
        ("oid", Datum::Int(known.oid.into())),
        ("typname", text(&known.name)),
        ("typnamespace", Datum::Int(known.schema.into())),
        ("typowner", Datum::Int(owner)),
        ("typlen", Datum::Int(length)),
        ("typbyval", Datum::Bool(row.map_or(!is_array, |row| row.by_value()))),
        ("typtype", text("d")),
        ("typcategory", text(category)),
        ("typispreferred", Datum::Bool(false)),
        ("typisdefined", Datum::Bool(true)),
        ("typdelim", text(",")),
        ("typsubscript", text("-")),
        ("typarray", Datum::Int(array.into())),
        ("typinput", text("domain_in")),
        ("typoutput", text(row.map_or("enum_out".into(), |row| row.function("out")))),
        ("typreceive", text("domain_recv")),
        ("typsend", text(row.map_or("enum_send".into(), |row| row.function("send")))),
        ("typmodin", text("-")),
        ("typmodout", text("-")),
        ("typanalyze", text("-")),
        ("typalign", text(align)),
        ("typstorage", text(storage)),
        ("typnotnull", Datum::Bool(domain.not_null)),
        ("typbasetype", Datum::Int(domain.below.map_or(base, i64::from))),
        ("typtypmod", Datum::Int(if domain.below.is_some() { -1 } else { modifier })),
        ("typcollation", Datum::Int(row.map_or(0, |row| row.collation()))),
        ("typdefault", default_of(snapshot, domain)),
        ("typdefaultbin", default_of(snapshot, domain)),
    ]);
    rows.add([
        ("oid", Datum::Int(array.into())),
        ("typname", text(format!("_{}", known.name))),
        ("typnamespace", Datum::Int(known.schema.into())),
        ("typowner", Datum::Int(owner)),
        ("typlen", Datum::Int(-1)),
        ("typtype", text("b")),
        ("typcategory", text("A")),
        ("typisdefined", Datum::Bool(true)),
        ("typdelim", text(",")),
        ("typsubscript", text("array_subscript_handler")),
        ("typelem", Datum::Int(known.oid.into())),
        ("typinput", text("array_in")),
        ("typoutput", text("array_out")),
        ("typreceive", text("array_recv")),
        ("typsend", text("array_send")),
        ("typmodin", text("-")),
        ("typmodout", text("-")),
        ("typanalyze", text("array_typanalyze")),
        ("typalign", text("i")),
        ("typstorage", text("x")),
        ("typtypmod", Datum::Int(-1)),
    ]);
}

/// The number of a constraint of a domain: of a range of its own, and the same while it has its name.
fn constraint_oid(domain: u32, name: &str) -> u32 {
    0x7000_0000 | (hash_bytes(name.as_bytes()) as u32).wrapping_add(domain.wrapping_mul(0x9e37_79b1)) & 0x0fff_ffff
}

/// The CHECK constraints of domains.
pub(crate) fn constraints(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for (known, domain) in domains(snapshot) {
        for (name, condition, is_valid) in &domain.checks {
            rows.add([
                ("oid", Datum::Int(constraint_oid(known.oid, name).into())),
                ("conname", text(name)),
                ("connamespace", Datum::Int(known.schema.into())),
                ("contype", text("c")),
                ("convalidated", Datum::Bool(*is_valid)),
                ("contypid", Datum::Int(known.oid.into())),
                ("confupdtype", text(" ")),
                ("confdeltype", text(" ")),
                ("confmatchtype", text(" ")),
                ("conislocal", Datum::Bool(true)),
                ("conkey", Datum::Null),
                ("confkey", Datum::Null),
                ("conbin", text(format!("({})", unwrapped(condition)))),
            ]);
        }
    }
}

/// A constraint as CREATE DOMAIN writes it behind its name.
pub(crate) fn definition(snapshot: &Snapshot, oid: i64, pretty: bool) -> Option<String> {
    let mut checks =
        domains(snapshot).flat_map(|(known, domain)| domain.checks.iter().map(move |check| (known, check)));
    let (_, (_, condition, is_valid)) =
        checks.find(|(known, (name, ..))| i64::from(constraint_oid(known.oid, name)) == oid)?;
    let (condition, ending) = (unwrapped(condition), if *is_valid { "" } else { " NOT VALID" });
    let is_plain = pretty || !condition.contains(' ');
    Some(if is_plain { format!("CHECK ({condition}){ending}") } else { format!("CHECK (({condition})){ending}") })
}

/// Relations of `information_schema`; whether the name is that of one.
pub(crate) fn standard(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) -> bool {
    let database = || text(&snapshot.database);
    let schema = |known: &UserType| text(snapshot.schema_name(known.schema));
    match name {
        "domains" => {
            for (known, domain) in domains(snapshot) {
                let (oid, modifier) = type_of(domain.base);
                let kind = match domain.below {
                    Some(_) => "USER-DEFINED".into(),
                    None => format_type(oid, None),
                };
                let length = match by_oid(oid).map(|row| row.name) {
                    Some("varchar" | "bpchar") if modifier >= 4 => Datum::Int(modifier - 4),
                    _ => Datum::Null,
                };
                rows.add([
                    ("domain_catalog", database()),
                    ("domain_schema", schema(known)),
                    ("domain_name", text(&known.name)),
                    ("data_type", text(kind)),
                    ("character_maximum_length", length),
                    ("domain_default", default_of(snapshot, domain)),
                    ("udt_catalog", database()),
                    ("udt_schema", text("pg_catalog")),
                    ("udt_name", text(by_oid(oid).map_or("", |row| row.name))),
                    ("dtd_identifier", text("1")),
                ]);
            }
        }
        "domain_constraints" => {
            for (known, domain) in domains(snapshot) {
                for (name, ..) in &domain.checks {
                    rows.add([
                        ("constraint_catalog", database()),
                        ("constraint_schema", schema(known)),
                        ("constraint_name", text(name)),
                        ("domain_catalog", database()),
                        ("domain_schema", schema(known)),
                        ("domain_name", text(&known.name)),
                        ("is_deferrable", text("NO")),
                        ("initially_deferred", text("NO")),
                    ]);
                }
            }
        }
        "column_domain_usage" => {
            for table in rows.scope.tables(snapshot) {
                for column in &table.columns {
                    let Some((oid, false)) = column.domain.filter(|_| !column.dropped) else { continue };
                    let Some((known, _)) = snapshot.user_type(oid.into()) else { continue };
                    rows.add([
                        ("domain_catalog", database()),
                        ("domain_schema", schema(known)),
                        ("domain_name", text(&known.name)),
                        ("table_catalog", database()),
                        ("table_schema", text(snapshot.schema_name(table.schema))),
                        ("table_name", text(&table.name)),
                        ("column_name", text(&column.name)),
                    ]);
                }
            }
        }
        _ => return false,
    }
    true
}
