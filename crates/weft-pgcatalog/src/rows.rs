//! Relations: `pg_class`, `pg_attribute`, `pg_attrdef`, `pg_index`, `pg_constraint`, `pg_sequence`, `pg_description`,
//! and the views over them: `pg_tables`, `pg_views`, `pg_indexes`, `pg_sequences`, `pg_stats`.
//!
//! ```text
//!   CREATE TABLE t (id int PRIMARY KEY)   pg_class t 'r' and t_pkey 'i'    pg_attribute t.id, t_pkey.id
//!                                         pg_index t_pkey                  pg_constraint t_pkey 'p'
//! ```

use weft_format::DataType;

use crate::definitions::{check_condition, default_text, index_definition};
use crate::dependencies::{self, PG_CLASS, PG_CONSTRAINT, PG_NAMESPACE, PG_PROC};
use crate::domain_rows;
use crate::making::Rows;
use crate::objects::{Constraint, Index, View};
use crate::rights::{Acl, AclItem, Kind, OWNER, PUBLIC_ROLE, Rights, Target};
use crate::snapshot::{INFORMATION_SCHEMA, PG_CATALOG, Snapshot};
use crate::statistics_rows;
use crate::types::{self, METHODS, type_of};
use crate::value::Datum;
use crate::wanted::Scope;

fn int(number: impl Into<i64>) -> Datum {
    Datum::Int(number.into())
}

fn text(text: impl AsRef<str>) -> Datum {
    Datum::text(text)
}

fn ints(numbers: &[i64]) -> Datum {
    Datum::list(numbers.iter().map(|number| Datum::Int(*number)).collect())
}

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    match name {
        "pg_class" | "pg_attribute" => {
            let scope = std::mem::replace(&mut rows.scope, Scope::All);
            if name == "pg_class" { classes(rows, &scope, snapshot) } else { attributes(rows, &scope, snapshot) }
        }
        "pg_attrdef" => defaults(rows, snapshot),
        "pg_index" => indexes(rows, snapshot),
        "pg_constraint" => constraints(rows, snapshot),
        "pg_sequence" => sequences(rows, snapshot),
        "pg_description" => descriptions(rows, snapshot),
        "pg_rewrite" => {
            for view in rows.scope.views(snapshot) {
                rows.add([
                    ("oid", int(Snapshot::rule_oid(view.oid))),
                    ("rulename", text("_RETURN")),
                    ("ev_class", int(view.oid)),
                    ("ev_type", text("1")),
                    ("ev_enabled", text("O")),
                    ("is_instead", Datum::Bool(true)),
                ]);
            }
        }
        "pg_depend" => dependencies::fill(rows, snapshot),
        "pg_tables"
        | "pg_stat_user_tables"
        | "pg_stat_all_tables"
        | "pg_stat_xact_user_tables"
        | "pg_statio_all_tables"
        | "pg_statio_user_tables" => tables(name, rows, snapshot),
        "pg_statio_all_sequences" | "pg_statio_user_sequences" => {
            for sequence in rows.scope.sequences(snapshot) {
                rows.add([
                    ("relid", int(sequence.oid)),
                    ("schemaname", text(snapshot.schema_name(sequence.schema))),
                    ("relname", text(&sequence.name)),
                ]);
            }
        }
        _ => fill_views(name, rows, snapshot),
    }
}

/// The views over these relations.
fn fill_views(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    match name {
        "pg_views" => {
            for view in rows.scope.views(snapshot) {
                rows.add([
                    ("schemaname", text(snapshot.schema_name(view.schema))),
                    ("viewname", text(&view.name)),
                    ("viewowner", text(snapshot.owner_name(Target::Relation(view.oid)))),
                    ("definition", text(format!(" {};", view.query))),
                ]);
            }
        }
        "pg_matviews" => {
            for table in rows.scope.tables(snapshot) {
                let Some(view) = &table.materialized else { continue };
                rows.add([
                    ("schemaname", text(snapshot.schema_name(table.schema))),
                    ("matviewname", text(&table.name)),
                    ("matviewowner", text(snapshot.owner_name(Target::Relation(table.oid)))),
                    ("hasindexes", Datum::Bool(snapshot.indexes_of(table.oid).next().is_some())),
                    ("ispopulated", Datum::Bool(view.populated)),
                    ("definition", text(format!(" {};", view.query))),
                ]);
            }
        }
        "pg_indexes" => {
            for index in rows.scope.indexes(snapshot) {
                rows.add([
                    ("schemaname", text(snapshot.schema_name(index.schema))),
                    ("tablename", text(snapshot.table(index.table).map_or("", |table| &table.name))),
                    ("indexname", text(&index.name)),
                    ("indexdef", text(index_definition(snapshot, index, true))),
                ]);
            }
        }
        "pg_stat_user_indexes" | "pg_stat_all_indexes" | "pg_statio_user_indexes" | "pg_statio_all_indexes" => {
            for index in rows.scope.indexes(snapshot) {
                rows.add([
                    ("relid", int(index.table)),
                    ("indexrelid", int(index.oid)),
                    ("schemaname", text(snapshot.schema_name(index.schema))),
                    ("relname", text(snapshot.table(index.table).map_or("", |table| &table.name))),
                    ("indexrelname", text(&index.name)),
                ]);
            }
        }
        "pg_stats" => statistics_rows::fill(rows, snapshot),
        "pg_sequences" => {
            for sequence in rows.scope.sequences(snapshot) {
                let [start, least, greatest, step, cache] = sequence.bounds.map(int);
                rows.add([
                    ("schemaname", text(snapshot.schema_name(sequence.schema))),
                    ("sequencename", text(&sequence.name)),
                    ("sequenceowner", text(snapshot.owner_name(Target::Relation(sequence.oid)))),
                    ("data_type", int(type_of(sequence.data_type).0)),
                    ("start_value", start),
                    ("min_value", least),
                    ("max_value", greatest),
                    ("increment_by", step),
                    ("cycle", Datum::Bool(sequence.cycle)),
                    ("cache_size", cache),
                    ("last_value", snapshot.figures.last(sequence.oid).map_or(Datum::Null, int)),
                ]);
            }
        }
        _ => {}
    }
}

struct Class<'a> {
    oid: u32,
    schema: u32,
    name: &'a str,
    kind: &'a str,
    columns: usize,
    method: i64,
    bytes: u64,
    rows: f64,
    checks: usize,
    has_index: bool,
    has_triggers: bool,
    options: Datum,
    populated: bool,
    /// The relation whose owner is its.
    owned_as: u32,
}

/// Everybody reads the catalog, but for what passwords are tested with.
fn system_acl(name: &str) -> Acl {
    let public = if matches!(name, "pg_authid" | "pg_shadow") { Rights::NONE } else { Rights::SELECT };
    let mut acl = Kind::Table.initial(OWNER);
    acl.grant(AclItem { grantee: PUBLIC_ROLE, grantor: OWNER, rights: public, grantable: Rights::NONE });
    acl
}

fn class_of_index<'a>(snapshot: &Snapshot, index: &'a Index) -> Class<'a> {
    let columns = index.parts.len() + index.included.len();
    let class = plain_class(index.oid, index.schema, &index.name, "i", columns);
    let (method, bytes) = (if index.of_columns { 9004 } else { 403 }, snapshot.figures.index(index.oid));
    Class { method, bytes, rows: 0.0, owned_as: index.table, ..class }
}

fn plain_class<'a>(oid: u32, schema: u32, name: &'a str, kind: &'a str, columns: usize) -> Class<'a> {
    Class {
        oid,
        schema,
        name,
        kind,
        columns,
        method: 0,
        bytes: 0,
        rows: -1.0,
        checks: 0,
        has_index: false,
        has_triggers: false,
        options: Datum::Null,
        populated: true,
        owned_as: oid,
    }
}

fn classes(rows: &mut Rows<'_>, scope: &Scope, snapshot: &Snapshot) {
    let mut add = |class: Class<'_>| {
        let has_type = matches!(class.kind, "r" | "v" | "m");
        let is_system = class.schema == PG_CATALOG || class.schema == INFORMATION_SCHEMA;
        let acl = match class.kind {
            "i" => None,
            _ if is_system => Some(system_acl(class.name)),
            _ => snapshot.access.given_acl(Target::Relation(class.oid)),
        };
        rows.add([
            ("oid", int(class.oid)),
            ("relname", text(class.name)),
            ("relnamespace", int(class.schema)),
            ("reltype", int(if has_type { Snapshot::row_type(class.oid) } else { 0 })),
            ("relowner", int(snapshot.access.owner(Target::Relation(class.owned_as)))),
            ("relacl", snapshot.acl_value(acl.as_ref())),
            ("relam", int(class.method)),
            ("relfilenode", int(class.oid)),
            ("relpages", int((class.bytes / 8192) as i64)),
            ("reltuples", Datum::Float(class.rows)),
            ("relhasindex", Datum::Bool(class.has_index)),
            ("relpersistence", text(if snapshot.is_temporary(class.schema) { "t" } else { "p" })),
            ("relkind", text(class.kind)),
            ("relnatts", int(class.columns as i64)),
            ("relchecks", int(class.checks as i64)),
            ("relhasrules", Datum::Bool(class.kind == "v")),
            ("relhastriggers", Datum::Bool(class.has_triggers)),
            ("relispopulated", Datum::Bool(class.populated)),
            ("relreplident", text(if class.kind == "r" { "d" } else { "n" })),
            ("reloptions", class.options),
        ]);
    };
    for known in scope.declared() {
        let kind = if known.is_view { "v" } else { "r" };
        let method = if known.is_view { 0 } else { 2 };
        add(Class { method, ..plain_class(known.oid, known.schema, known.name, kind, known.columns.len()) });
    }
    for table in scope.tables(snapshot) {
        let (row_count, bytes) = snapshot.figures.table(table.oid);
        let method = METHODS.iter().find(|(_, name, _)| *name == table.method).map_or(2, |(oid, ..)| *oid);
        let options = table.options.iter().map(text).collect::<Vec<_>>();
        let kind = if table.materialized.is_some() { "m" } else { "r" };
        add(Class {
            method,
            bytes,
            rows: row_count as f64,
            checks: table.checks.len(),
            has_index: snapshot.indexes_of(table.oid).next().is_some(),
            has_triggers: !table.foreign_keys.is_empty() || snapshot.is_referred_to(table.oid),
            options: if options.is_empty() { Datum::Null } else { Datum::list(options) },
            populated: table.materialized.as_ref().is_none_or(|view| view.populated),
            ..plain_class(table.oid, table.schema, &table.name, kind, table.columns.len())
        });
    }
    for index in scope.indexes(snapshot) {
        add(class_of_index(snapshot, index));
    }
    for view in scope.views(snapshot) {
        let options = view.options.iter().map(text).collect::<Vec<_>>();
        add(Class {
            options: if options.is_empty() { Datum::Null } else { Datum::list(options) },
            ..plain_class(view.oid, view.schema, &view.name, "v", view.columns.len())
        });
    }
    for sequence in scope.sequences(snapshot) {
        add(Class { rows: 1.0, ..plain_class(sequence.oid, sequence.schema, &sequence.name, "S", 3) });
    }
}

struct Attribute<'a> {
    relation: u32,
    name: &'a str,
    number: i64,
    data_type: (i64, i64),
    not_null: bool,
    has_default: bool,
    identity: &'a str,
    generated: bool,
    dropped: bool,
}

fn plain_attribute(relation: u32, name: &str, number: i64, data_type: (i64, i64)) -> Attribute<'_> {
    Attribute {
        relation,
        name,
        number,
        data_type,
        not_null: false,
        has_default: false,
        identity: "",
        generated: false,
        dropped: false,
    }
}

fn attributes(rows: &mut Rows<'_>, scope: &Scope, snapshot: &Snapshot) {
    let mut add = |attribute: Attribute<'_>| {
        let (oid, modifier) = attribute.data_type;
        let row = types::by_oid(oid);
        let entry = snapshot.access.entries.get(&Target::Relation(attribute.relation));
        let acl = entry.and_then(|entry| entry.columns.get(&attribute.number));
        rows.add([
            ("attrelid", int(attribute.relation)),
            ("attname", text(attribute.name)),
            ("atttypid", int(if attribute.dropped { 0 } else { oid })),
            ("attstattarget", int(-1)),
            ("attlen", int(row.map_or(-1, types::TypeRow::length))),
            ("attnum", int(attribute.number)),
            ("attndims", int(i64::from(row.is_some_and(|row| row.name.starts_with('_'))))),
            ("attcacheoff", int(-1)),
            ("atttypmod", int(modifier)),
            ("attbyval", Datum::Bool(row.is_some_and(types::TypeRow::by_value))),
            ("attalign", text(row.map_or("i", types::TypeRow::align))),
            ("attstorage", text(row.map_or("p", types::TypeRow::storage))),
            ("attnotnull", Datum::Bool(attribute.not_null)),
            ("atthasdef", Datum::Bool(attribute.has_default)),
            ("attidentity", text(attribute.identity)),
            ("attgenerated", text(if attribute.generated { "s" } else { "" })),
            ("attisdropped", Datum::Bool(attribute.dropped)),
            ("attislocal", Datum::Bool(true)),
            ("attcollation", int(row.map_or(0, types::TypeRow::collation))),
            ("attacl", snapshot.acl_value(acl)),
        ]);
    };
    for known in scope.declared() {
        for ((number, (name, _)), type_name) in (1..).zip(&known.columns).zip(&known.type_names) {
            let oid = types::by_name(&format!("\"{type_name}\"")).map_or(25, |row| row.oid);
            let not_null = matches!(*type_name, "oid" | "name" | "bool") && !known.is_view;
            add(Attribute { not_null, ..plain_attribute(known.oid, name, number, (oid, -1)) });
        }
    }
    for table in scope.tables(snapshot) {
        for (number, column) in (1..).zip(&table.columns) {
            add(Attribute {
                not_null: column.not_null,
                has_default: column.default.is_some() && column.identity.is_none(),
                identity: column.identity.map_or("", |always| if always { "a" } else { "d" }),
                generated: column.generated,
                dropped: column.dropped,
                ..plain_attribute(table.oid, &column.name, number, domain_rows::column_type(column))
            });
        }
    }
    for index in scope.indexes(snapshot) {
        let Some(table) = snapshot.table(index.table) else { continue };
        let included = index.included.iter().map(|number| (*number, ""));
        let parts = index.parts.iter().map(|(number, text)| (*number, text.as_str()));
        for (number, (column, text)) in (1..).zip(parts.chain(included)) {
            let of = usize::try_from(column - 1).ok().and_then(|at| table.columns.get(at));
            let (name, data_type) = of
                .map_or((expression_name(text), (25, -1)), |column| (column.name.as_str(), type_of(column.data_type)));
            add(plain_attribute(index.oid, name, number, data_type));
        }
    }
    for view in scope.views(snapshot) {
        for (number, (name, data_type)) in (1..).zip(&view.columns) {
            add(attribute_of_view(view, number, name, *data_type));
        }
    }
    for sequence in scope.sequences(snapshot) {
        for (number, (name, oid)) in (1..).zip([("last_value", 20), ("log_cnt", 20), ("is_called", 16)]) {
            add(Attribute { not_null: true, ..plain_attribute(sequence.oid, name, number, (oid, -1)) });
        }
    }
}

fn attribute_of_view<'a>(view: &View, number: i64, name: &'a str, data_type: DataType) -> Attribute<'a> {
    let has_default = view.default_of(number).is_some();
    Attribute { has_default, ..plain_attribute(view.oid, name, number, type_of(data_type)) }
}

/// The column of an expression: named as the function that it calls.
fn expression_name(text: &str) -> &str {
    let name = text.split('(').next().unwrap_or("");
    let is_name = name.len() < text.len() && !name.is_empty();
    if is_name && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') { name } else { "expr" }
}

fn defaults(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for view in rows.scope.views(snapshot) {
        for (number, (_, data_type)) in (1..).zip(&view.columns) {
            let Some(default) = view.default_of(number) else { continue };
            rows.add([
                ("oid", int(Snapshot::default_oid(view.oid, number))),
                ("adrelid", int(view.oid)),
                ("adnum", int(number)),
                ("adbin", text(default_text(snapshot, *data_type, default))),
            ]);
        }
    }
    for table in rows.scope.tables(snapshot) {
        for (number, column) in (1..).zip(&table.columns) {
            let Some(default) = column.default.as_ref().filter(|_| column.identity.is_none()) else { continue };
            rows.add([
                ("oid", int(Snapshot::default_oid(table.oid, number))),
                ("adrelid", int(table.oid)),
                ("adnum", int(number)),
                ("adbin", text(default_text(snapshot, column.data_type, default))),
            ]);
        }
    }
}

fn indexes(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for index in rows.scope.indexes(snapshot) {
        let mut numbers: Vec<i64> = index.parts.iter().map(|(number, _)| *number).collect();
        numbers.extend(&index.included);
        let expressions: Vec<&str> =
            index.parts.iter().filter(|(number, _)| *number == 0).map(|(_, text)| text.as_str()).collect();
        let nulls = vec![0; index.parts.len()];
        let table = snapshot.table(index.table);
        let class = |(number, _): &(i64, String)| {
            let column = usize::try_from(number - 1).ok().and_then(|at| table?.columns.get(at));
            types::class_of(column.map_or(25, |column| type_of(column.data_type).0))
        };
        let classes: Vec<(i64, i64)> = index.parts.iter().map(class).collect();
        rows.add([
            ("indexrelid", int(index.oid)),
            ("indrelid", int(index.table)),
            ("indnatts", int(numbers.len() as i64)),
            ("indnkeyatts", int(index.parts.len() as i64)),
            ("indisunique", Datum::Bool(index.unique)),
            ("indisprimary", Datum::Bool(index.primary)),
            ("indimmediate", Datum::Bool(true)),
            ("indisvalid", Datum::Bool(true)),
            ("indisready", Datum::Bool(true)),
            ("indislive", Datum::Bool(true)),
            ("indkey", ints(&numbers)),
            ("indcollation", ints(&classes.iter().map(|(_, collation)| *collation).collect::<Vec<i64>>())),
            ("indclass", ints(&classes.iter().map(|(class, _)| *class).collect::<Vec<i64>>())),
            ("indoption", ints(&nulls)),
            ("indexprs", if expressions.is_empty() { Datum::Null } else { text(expressions.join(", ")) }),
            ("indpred", index.predicate.as_ref().map_or(Datum::Null, text)),
        ]);
    }
}

fn constraints(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    domain_rows::constraints(rows, snapshot);
    let mut all = Vec::new();
    rows.scope.tables(snapshot).into_iter().for_each(|table| snapshot.add_constraints(table, &mut all));
    for (oid, constraint) in all {
        let (name, kind, table, columns, index) = match constraint {
            Constraint::Primary(index) | Constraint::Unique(index) => {
                let columns: Vec<i64> = index.parts.iter().map(|(number, _)| *number).collect();
                (&index.name, if index.primary { "p" } else { "u" }, snapshot.table(index.table), columns, index.oid)
            }
            Constraint::Check(table, at) => {
                let columns = dependencies::named_in(table, &table.checks[at].1);
                (&table.checks[at].0, "c", Some(table), columns, 0)
            }
            Constraint::Foreign(table, at) => {
                let key = &table.foreign_keys[at];
                let index = snapshot.unique_index(key.parent, &key.parent_columns).map_or(0, |index| index.oid);
                (&key.name, "f", Some(table), key.columns.clone(), index)
            }
        };
        let Some(table) = table else { continue };
        let foreign = match constraint {
            Constraint::Foreign(table, at) => Some(&table.foreign_keys[at]),
            _ => None,
        };
        let action = |action: Option<char>| text(action.unwrap_or(' ').to_string());
        rows.add([
            ("oid", int(oid)),
            ("conname", text(name)),
            ("connamespace", int(table.schema)),
            ("contype", text(kind)),
            ("condeferrable", Datum::Bool(foreign.is_some_and(|key| key.deferrable.0))),
            ("condeferred", Datum::Bool(foreign.is_some_and(|key| key.deferrable.1))),
            ("convalidated", Datum::Bool(!table.not_valid.iter().any(|known| known == name))),
            ("conrelid", int(table.oid)),
            ("conindid", int(index)),
            ("confrelid", int(foreign.map_or(0, |key| key.parent))),
            ("confupdtype", action(foreign.map(|key| key.on_update))),
            ("confdeltype", action(foreign.map(|key| key.on_delete))),
            ("confmatchtype", action(foreign.map(|key| if key.full { 'f' } else { 's' }))),
            ("conislocal", Datum::Bool(true)),
            ("connoinherit", Datum::Bool(kind != "c" || table.no_inherit.iter().any(|known| known == name))),
            ("conkey", ints(&columns)),
            ("confkey", foreign.map_or(Datum::Null, |key| ints(&key.parent_columns))),
            (
                "confdelsetcols",
                foreign.filter(|key| !key.set_on_delete.is_empty()).map_or(Datum::Null, |key| ints(&key.set_on_delete)),
            ),
            (
                "conbin",
                match constraint {
                    Constraint::Check(table, at) => text(check_condition(table, at)),
                    _ => Datum::Null,
                },
            ),
        ]);
    }
}

fn sequences(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for sequence in rows.scope.sequences(snapshot) {
        let [start, least, greatest, step, cache] = sequence.bounds.map(int);
        rows.add([
            ("seqrelid", int(sequence.oid)),
            ("seqtypid", int(type_of(sequence.data_type).0)),
            ("seqstart", start),
            ("seqincrement", step),
            ("seqmax", greatest),
            ("seqmin", least),
            ("seqcache", cache),
            ("seqcycle", Datum::Bool(sequence.cycle)),
        ]);
    }
}

/// What PostgreSQL says of the schemas that it makes itself.
const SCHEMAS_SAID: [(i64, &str); 2] = [(11, "system catalog schema"), (99, "reserved schema for TOAST tables")];

fn descriptions(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for (oid, said) in SCHEMAS_SAID {
        if snapshot.schemas.iter().any(|(known, _)| i64::from(*known) == oid) {
            rows.add([
                ("objoid", int(oid)),
                ("classoid", int(PG_NAMESPACE)),
                ("objsubid", int(0)),
                ("description", text(said)),
            ]);
        }
    }
    for ((about, column), comment) in &snapshot.comments {
        if !rows.scope.has(*about) {
            continue;
        }
        let class = match () {
            () if snapshot.schemas.iter().any(|(oid, _)| oid == about) => PG_NAMESPACE,
            () if snapshot.own_relation(*about).is_some() => PG_CLASS,
            () if snapshot.functions.iter().any(|function| function.oid == *about) => PG_PROC,
            () if snapshot.constraint(i64::from(*about)).is_some() => PG_CONSTRAINT,
            () => PG_CLASS,
        };
        rows.add([
            ("objoid", int(*about)),
            ("classoid", int(class)),
            ("objsubid", int(*column)),
            ("description", text(comment)),
        ]);
    }
}

fn tables(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for table in rows.scope.tables(snapshot).into_iter().filter(|table| table.materialized.is_none()) {
        let schema = text(snapshot.schema_name(table.schema));
        if name == "pg_tables" {
            rows.add([
                ("schemaname", schema),
                ("tablename", text(&table.name)),
                ("tableowner", text(snapshot.owner_name(Target::Relation(table.oid)))),
                ("hasindexes", Datum::Bool(snapshot.indexes_of(table.oid).next().is_some())),
            ]);
        } else {
            rows.add_known([
                ("relid", int(table.oid)),
                ("schemaname", schema),
                ("relname", text(&table.name)),
                ("n_live_tup", int(snapshot.figures.table(table.oid).0 as i64)),
            ]);
        }
    }
    if name == "pg_tables" {
        for known in rows.scope.declared().into_iter().filter(|known| !known.is_view) {
            rows.add([
                ("schemaname", text(snapshot.schema_name(known.schema))),
                ("tablename", text(known.name)),
                ("tableowner", text(snapshot.role_name(10))),
            ]);
        }
    }
}
