//! `information_schema`: the views of the SQL standard.
//!
//! ```text
//!   tables     weft public customers 'BASE TABLE'
//!   columns    weft public customers name 2 'NO' 'character varying' 50
//! ```

use weft_format::DataType;

use crate::definitions::constraint_definition;
use crate::domain_rows;
use crate::function_rows;
use crate::making::Rows;
use crate::objects::{Constraint, ForeignKey, Index, Table};
use crate::privileges;
use crate::rights::Target;
use crate::snapshot::Snapshot;
use crate::types::{by_oid, format_type, type_of};
use crate::value::Datum;

fn text(text: impl AsRef<str>) -> Datum {
    Datum::text(text)
}

fn yes_no(yes: bool) -> Datum {
    text(if yes { "YES" } else { "NO" })
}

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let database = || text(&snapshot.database);
    match name {
        "information_schema_catalog_name" => rows.add([("catalog_name", database())]),
        "schemata" => schemata(rows, snapshot),
        "tables" => tables(rows, snapshot),
        "columns" => columns(rows, snapshot),
        "views" => {
            for view in rows.scope.views(snapshot) {
                rows.add([
                    ("table_catalog", database()),
                    ("table_schema", text(snapshot.schema_name(view.schema))),
                    ("table_name", text(&view.name)),
                    ("view_definition", text(format!(" {};", view.query))),
                    ("check_option", text(view.option("check_option").map_or("NONE".into(), str::to_uppercase))),
                    ("is_updatable", yes_no(view.takes(20))),
                    ("is_insertable_into", yes_no(view.takes(8))),
                    ("is_trigger_updatable", text("NO")),
                    ("is_trigger_deletable", text("NO")),
                    ("is_trigger_insertable_into", text("NO")),
                ]);
            }
        }
        "sequences" => {
            for sequence in rows.scope.sequences(snapshot) {
                let [start, least, greatest, step, _] = sequence.bounds.map(|bound| text(bound.to_string()));
                let bits = match sequence.data_type {
                    DataType::SmallInt => 16,
                    DataType::Integer => 32,
                    _ => 64,
                };
                rows.add([
                    ("sequence_catalog", database()),
                    ("sequence_schema", text(snapshot.schema_name(sequence.schema))),
                    ("sequence_name", text(&sequence.name)),
                    ("data_type", text(format_type(type_of(sequence.data_type).0, None))),
                    ("numeric_precision", Datum::Int(bits)),
                    ("numeric_precision_radix", Datum::Int(2)),
                    ("start_value", start),
                    ("minimum_value", least),
                    ("maximum_value", greatest),
                    ("increment", step),
                    ("cycle_option", yes_no(sequence.cycle)),
                ]);
            }
        }
        "character_sets" => rows.add([
            ("character_set_name", text("UTF8")),
            ("character_repertoire", text("UCS")),
            ("form_of_use", text("UTF8")),
            ("default_collate_catalog", database()),
        ]),
        "table_privileges"
        | "role_table_grants"
        | "column_privileges"
        | "role_column_grants"
        | "usage_privileges"
        | "applicable_roles"
        | "enabled_roles"
        | "administrable_role_authorizations" => {
            privileges::fill(name, rows, snapshot);
        }
        _ if domain_rows::standard(name, rows, snapshot) => {}
        _ if function_rows::standard(name, rows, snapshot) => {}
        _ => constraints(name, rows, snapshot),
    }
}

fn schemata(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let system = [crate::snapshot::PG_CATALOG, crate::snapshot::INFORMATION_SCHEMA];
    for oid in system.into_iter().chain(snapshot.schemas.iter().map(|(oid, _)| *oid)) {
        rows.add([
            ("catalog_name", text(&snapshot.database)),
            ("schema_name", text(snapshot.schema_name(oid))),
            ("schema_owner", text(snapshot.owner_name(Target::Schema(oid)))),
        ]);
    }
}

fn tables(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let (declared, views) = (rows.scope.declared(), rows.scope.views(snapshot));
    let own = rows.scope.tables(snapshot);
    let mut add = |schema: u32, name: &str, is_view: bool, takes_rows: bool| {
        let is_temporary = snapshot.is_temporary(schema);
        if is_temporary && snapshot.temporary != Some(schema) {
            return;
        }
        let kind = match (is_view, is_temporary) {
            (true, _) => "VIEW",
            (false, true) => "LOCAL TEMPORARY",
            (false, false) => "BASE TABLE",
        };
        rows.add([
            ("table_catalog", text(&snapshot.database)),
            ("table_schema", text(snapshot.schema_name(schema))),
            ("table_name", text(name)),
            ("table_type", text(kind)),
            ("is_insertable_into", yes_no(takes_rows)),
            ("is_typed", text("NO")),
        ]);
    };
    declared.iter().for_each(|known| add(known.schema, known.name, known.is_view, false));
    let tables = own.into_iter().filter(|table| table.materialized.is_none());
    tables.for_each(|table| add(table.schema, &table.name, false, true));
    views.iter().for_each(|view| add(view.schema, &view.name, true, view.takes(8)));
}

struct Column<'a> {
    schema: u32,
    table: &'a str,
    name: &'a str,
    number: i64,
    data_type: (i64, i64),
    nullable: bool,
    default: Option<&'a str>,
    identity: Option<bool>,
    generated: Option<&'a str>,
    updatable: bool,
    /// The number of the domain that is its type.
    domain: Option<u32>,
}

fn columns(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let plain = |schema, table, name, number, data_type| Column {
        schema,
        table,
        name,
        number,
        data_type,
        nullable: true,
        default: None,
        identity: None,
        generated: None,
        updatable: false,
        domain: None,
    };
    for known in rows.scope.declared() {
        for ((number, (name, _)), type_name) in (1..).zip(&known.columns).zip(&known.type_names) {
            let oid = crate::types::by_name(&format!("\"{type_name}\"")).map_or(25, |row| row.oid);
            add_column(rows, snapshot, &plain(known.schema, known.name, name, number, (oid, -1)));
        }
    }
    for table in rows.scope.tables(snapshot).into_iter().filter(|table| table.materialized.is_none()) {
        for (number, column) in (1..).zip(&table.columns).filter(|(_, column)| !column.dropped) {
            let described = Column {
                nullable: !column.not_null,
                default: column.default.as_deref().filter(|_| column.identity.is_none() && !column.generated),
                identity: column.identity,
                generated: column.default.as_deref().filter(|_| column.generated),
                updatable: true,
                domain: column.domain.filter(|(_, each)| !each).map(|(oid, _)| oid),
                ..plain(table.schema, &table.name, &column.name, number, type_of(column.data_type))
            };
            add_column(rows, snapshot, &described);
        }
    }
    for view in rows.scope.views(snapshot) {
        for (number, (name, data_type)) in (1..).zip(&view.columns) {
            let described = Column {
                default: view.default_of(number),
                updatable: usize::try_from(number - 1).is_ok_and(|at| view.updatable.get(at) == Some(&true)),
                ..plain(view.schema, &view.name, name, number, type_of(*data_type))
            };
            add_column(rows, snapshot, &described);
        }
    }
}

/// What a column's type is called.
struct Kinds<'s> {
    kind: Datum,
    udt_schema: &'s str,
    udt_name: String,
}

impl Kinds<'_> {
    /// Of the type of a number, which `pg_type` calls so unless it is a user's.
    fn of<'s>(snapshot: &'s Snapshot, oid: i64, name: &str) -> Kinds<'s> {
        let Some((known, is_array)) = snapshot.user_type(oid) else {
            let kind = if name.starts_with('_') { text("ARRAY") } else { text(format_type(oid, None)) };
            return Kinds { kind, udt_schema: "pg_catalog", udt_name: name.to_owned() };
        };
        Kinds {
            kind: text(if is_array { "ARRAY" } else { "USER-DEFINED" }),
            udt_schema: snapshot.schema_name(known.schema),
            udt_name: format!("{}{}", if is_array { "_" } else { "" }, known.name),
        }
    }
}

fn add_column(rows: &mut Rows<'_>, snapshot: &Snapshot, column: &Column<'_>) {
    let (oid, modifier) = column.data_type;
    let domain = column.domain.and_then(|oid| snapshot.user_type(oid.into())).map(|(known, _)| known);
    let name = by_oid(oid).map_or("text", |row| row.name);
    let Kinds { kind, udt_schema, udt_name } = Kinds::of(snapshot, oid, name);
    let number = |number: i64| Datum::Int(number);
    let length = match name {
        "varchar" | "bpchar" if modifier >= 4 => number(modifier - 4),
        _ => Datum::Null,
    };
    let bytes = match name {
        "varchar" | "bpchar" if modifier >= 4 => number((modifier - 4).saturating_mul(4)),
        "text" | "varchar" => number(1_073_741_824),
        _ => Datum::Null,
    };
    let (precision, radix, scale) = match name {
        "int2" => (number(16), number(2), number(0)),
        "int4" => (number(32), number(2), number(0)),
        "int8" => (number(64), number(2), number(0)),
        "float4" => (number(24), number(2), Datum::Null),
        "float8" => (number(53), number(2), Datum::Null),
        "numeric" if modifier >= 4 => (number((modifier - 4) >> 16), number(10), number((modifier - 4) & 0xffff)),
        "numeric" => (Datum::Null, number(10), Datum::Null),
        _ => (Datum::Null, Datum::Null, Datum::Null),
    };
    let of_time = match name {
        "date" => number(0),
        "time" | "timestamp" | "timestamptz" | "interval" => number(6),
        _ => Datum::Null,
    };
    rows.add([
        ("table_catalog", text(&snapshot.database)),
        ("table_schema", text(snapshot.schema_name(column.schema))),
        ("table_name", text(column.table)),
        ("column_name", text(column.name)),
        ("ordinal_position", number(column.number)),
        ("column_default", column.default.map_or(Datum::Null, text)),
        ("is_nullable", yes_no(column.nullable)),
        ("data_type", kind),
        ("character_maximum_length", length),
        ("character_octet_length", bytes),
        ("numeric_precision", precision),
        ("numeric_precision_radix", radix),
        ("numeric_scale", scale),
        ("datetime_precision", of_time),
        ("udt_catalog", text(&snapshot.database)),
        ("udt_schema", text(udt_schema)),
        ("udt_name", text(&udt_name)),
        ("dtd_identifier", text(column.number.to_string())),
        ("is_self_referencing", text("NO")),
        ("is_identity", yes_no(column.identity.is_some())),
        (
            "identity_generation",
            match column.identity {
                Some(true) => text("ALWAYS"),
                Some(false) => text("BY DEFAULT"),
                None => Datum::Null,
            },
        ),
        ("identity_cycle", text("NO")),
        ("is_generated", text(if column.generated.is_some() { "ALWAYS" } else { "NEVER" })),
        ("generation_expression", column.generated.map_or(Datum::Null, text)),
        ("is_updatable", yes_no(column.updatable)),
        ("domain_catalog", domain.map_or(Datum::Null, |_| text(&snapshot.database))),
        ("domain_schema", domain.map_or(Datum::Null, |known| text(snapshot.schema_name(known.schema)))),
        ("domain_name", domain.map_or(Datum::Null, |known| text(&known.name))),
    ]);
}

/// A constraint in parts: its table, name, kind, columns, and the foreign key that it is.
struct Parts<'a> {
    table: &'a Table,
    name: &'a str,
    kind: &'static str,
    columns: Vec<i64>,
    key: Option<&'a ForeignKey>,
    definition: String,
}

fn parts(snapshot: &Snapshot) -> Vec<Parts<'_>> {
    let of = |constraint: Constraint<'_>| constraint_definition(snapshot, constraint, false);
    let all = snapshot.constraints().into_iter().filter_map(|(_, constraint)| {
        let definition = of(constraint);
        let numbers = |index: &Index| index.parts.iter().map(|(number, _)| *number).collect();
        Some(match constraint {
            Constraint::Primary(index) => {
                let table = snapshot.table(index.table)?;
                Parts { table, name: &index.name, kind: "PRIMARY KEY", columns: numbers(index), key: None, definition }
            }
            Constraint::Unique(index) => {
                let table = snapshot.table(index.table)?;
                Parts { table, name: &index.name, kind: "UNIQUE", columns: numbers(index), key: None, definition }
            }
            Constraint::Check(table, at) => {
                Parts { table, name: &table.checks[at].0, kind: "CHECK", columns: Vec::new(), key: None, definition }
            }
            Constraint::Foreign(table, at) => {
                let key = &table.foreign_keys[at];
                let columns = key.columns.clone();
                Parts { table, name: &key.name, kind: "FOREIGN KEY", columns, key: Some(key), definition }
            }
        })
    });
    all.collect()
}

fn column_name(table: &Table, number: i64) -> Datum {
    let column = usize::try_from(number - 1).ok().and_then(|at| table.columns.get(at));
    column.map_or(Datum::Null, |column| text(&column.name))
}

fn constraints(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let all = parts(snapshot);
    for part in all.iter().filter(|part| rows.scope.has(part.table.oid)).collect::<Vec<_>>() {
        let named = || part.named(snapshot);
        match name {
            "table_constraints" => table_constraint(rows, snapshot, part),
            "check_constraints" if part.kind == "CHECK" => {
                let [a, b, c] = named();
                let clause = part.definition.trim_start_matches("CHECK ").to_owned();
                rows.add([a, b, c, ("check_clause", text(clause))]);
            }
            "key_column_usage" => key_columns(rows, snapshot, part, &all),
            "constraint_column_usage" | "constraint_table_usage" => usage(name, rows, snapshot, part),
            "referential_constraints" => reference(rows, snapshot, part, &all),
            _ => {}
        }
    }
}

type Named = [(&'static str, Datum); 3];

impl Parts<'_> {
    /// Where the constraint is, and its name.
    fn named(&self, snapshot: &Snapshot) -> Named {
        let schema = text(snapshot.schema_name(self.table.schema));
        [
            ("constraint_catalog", text(&snapshot.database)),
            ("constraint_schema", schema),
            ("constraint_name", text(self.name)),
        ]
    }
}

/// Where a table is, and its name.
fn located(snapshot: &Snapshot, table: &Table) -> Named {
    let schema = text(snapshot.schema_name(table.schema));
    [("table_catalog", text(&snapshot.database)), ("table_schema", schema), ("table_name", text(&table.name))]
}

/// The constraint whose columns a foreign key refers to.
fn unique_of<'a>(all: &'a [Parts<'_>], key: &ForeignKey) -> Option<&'a Parts<'a>> {
    let is_it = |other: &&Parts<'_>| {
        other.table.oid == key.parent
            && matches!(other.kind, "PRIMARY KEY" | "UNIQUE")
            && other.columns.len() == key.parent_columns.len()
            && other.columns.iter().all(|column| key.parent_columns.contains(column))
    };
    all.iter().find(is_it)
}

fn table_constraint(rows: &mut Rows<'_>, snapshot: &Snapshot, part: &Parts<'_>) {
    let ([a, b, c], [d, e, f]) = (part.named(snapshot), located(snapshot, part.table));
    rows.add([
        a,
        b,
        c,
        d,
        e,
        f,
        ("constraint_type", text(part.kind)),
        ("is_deferrable", yes_no(part.key.is_some_and(|key| key.deferrable.0))),
        ("initially_deferred", yes_no(part.key.is_some_and(|key| key.deferrable.1))),
        ("enforced", text("YES")),
    ]);
}

fn key_columns(rows: &mut Rows<'_>, snapshot: &Snapshot, part: &Parts<'_>, all: &[Parts<'_>]) {
    for (at, column) in part.columns.iter().enumerate() {
        let ([a, b, c], [d, e, f]) = (part.named(snapshot), located(snapshot, part.table));
        let place = part.key.and_then(|key| {
            let wanted = key.parent_columns.get(at)?;
            unique_of(all, key)?.columns.iter().position(|column| column == wanted)
        });
        rows.add([
            a,
            b,
            c,
            d,
            e,
            f,
            ("column_name", column_name(part.table, *column)),
            ("ordinal_position", Datum::Int(at as i64 + 1)),
            ("position_in_unique_constraint", place.map_or(Datum::Null, |at| Datum::Int(at as i64 + 1))),
        ]);
    }
}

fn usage(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot, part: &Parts<'_>) {
    let (of, columns) = match part.key {
        Some(key) => (snapshot.table(key.parent), &key.parent_columns),
        None => (Some(part.table), &part.columns),
    };
    let Some(of) = of else { return };
    let numbers: &[i64] = if name == "constraint_table_usage" { &[0] } else { columns };
    for number in numbers {
        let ([a, b, c], [d, e, f]) = (part.named(snapshot), located(snapshot, of));
        rows.add_known([a, b, c, d, e, f, ("column_name", column_name(of, *number))]);
    }
}

fn reference(rows: &mut Rows<'_>, snapshot: &Snapshot, part: &Parts<'_>, all: &[Parts<'_>]) {
    let Some(key) = part.key else { return };
    let rule = |action| match action {
        'c' => "CASCADE",
        'n' => "SET NULL",
        'd' => "SET DEFAULT",
        'r' => "RESTRICT",
        _ => "NO ACTION",
    };
    let unique = unique_of(all, key);
    let of = unique.map_or(Datum::Null, |unique| text(snapshot.schema_name(unique.table.schema)));
    let [a, b, c] = part.named(snapshot);
    rows.add([
        a,
        b,
        c,
        ("unique_constraint_catalog", text(&snapshot.database)),
        ("unique_constraint_schema", of),
        ("unique_constraint_name", unique.map_or(Datum::Null, |unique| text(unique.name))),
        ("match_option", text(if key.full { "FULL" } else { "NONE" })),
        ("update_rule", text(rule(key.on_update))),
        ("delete_rule", text(rule(key.on_delete))),
    ]);
}
