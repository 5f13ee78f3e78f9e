//! `pg_type` and what goes with types: collations, access methods, operator classes.

use std::sync::LazyLock;

use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::{DataType, Element, enums};

use crate::enum_rows;
use crate::making::Rows;
use crate::rights::Target;
use crate::snapshot::{PG_CATALOG, Snapshot};
use crate::user_types::array_oid;
use crate::value::Datum;

/// A line of `pg_type`.
pub(crate) struct TypeRow {
    pub(crate) oid: i64,
    pub(crate) name: &'static str,
    fields: Vec<&'static str>,
}

impl TypeRow {
    fn number(&self, place: usize) -> i64 {
        self.fields[place].parse().unwrap_or(0)
    }

    pub(crate) fn length(&self) -> i64 {
        self.number(2)
    }

    pub(crate) fn by_value(&self) -> bool {
        self.fields[3] == "t"
    }

    pub(crate) fn element(&self) -> i64 {
        self.number(7)
    }

    pub(crate) fn array(&self) -> i64 {
        self.number(8)
    }

    pub(crate) fn align(&self) -> &'static str {
        self.fields[10]
    }

    pub(crate) fn storage(&self) -> &'static str {
        self.fields[11]
    }

    pub(crate) fn category(&self) -> &'static str {
        self.fields[5]
    }

    /// The name of its input function, with another ending.
    pub(crate) fn function(&self, ending: &str) -> String {
        let stem = self.fields[9].strip_suffix("in").unwrap_or(self.fields[9]);
        let stem = if self.fields[9] == "array_in" { "array_" } else { stem };
        format!("{stem}{ending}")
    }

    pub(crate) fn collation(&self) -> i64 {
        self.number(12)
    }
}

static TYPES: LazyLock<Vec<TypeRow>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let fields: Vec<&str> = line.split('|').collect();
        Some(TypeRow { oid: fields[0].parse().ok()?, name: fields.get(1)?, fields })
    };
    include_str!("../data/types.txt").lines().filter_map(line).collect()
});

/// The type of a number.
pub(crate) fn by_oid(oid: i64) -> Option<&'static TypeRow> {
    TYPES.iter().find(|row| row.oid == oid)
}

/// Names of types that SQL has beside those in `pg_type`.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("bigint", "int8"),
    ("bit varying", "varbit"),
    ("boolean", "bool"),
    ("character", "bpchar"),
    ("character varying", "varchar"),
    ("decimal", "numeric"),
    ("double precision", "float8"),
    ("int", "int4"),
    ("integer", "int4"),
    ("real", "float4"),
    ("smallint", "int2"),
    ("time with time zone", "timetz"),
    ("time without time zone", "time"),
    ("timestamp with time zone", "timestamptz"),
    ("timestamp without time zone", "timestamp"),
];

/// The type of a name as SQL writes it: with a schema perhaps, `[]` behind it perhaps.
pub(crate) fn by_name(name: &str) -> Option<&'static TypeRow> {
    let name = name.trim();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
    if let Some(element) = name.strip_suffix("[]") {
        return by_oid(by_name(element)?.array());
    }
    let plain = name.split('(').next().unwrap_or(name).trim();
    let quoted = plain.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    let folded = plain.to_lowercase();
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == folded).map_or(folded.as_str(), |(_, name)| name);
    // Quoted, char is another type than char.
    let known = quoted.unwrap_or(if known == "char" { "bpchar" } else { known });
    TYPES.iter().find(|row| row.name == known)
}

/// A type as SQL writes it, with its modifier.
pub(crate) fn format_type(oid: i64, modifier: Option<i64>) -> String {
    let Some(row) = by_oid(oid) else { return if oid == 0 { "-".into() } else { "???".into() } };
    if row.element() != 0 && row.length() == -1 && row.name.starts_with('_') {
        return format!("{}[]", format_type(row.element(), modifier));
    }
    let modifier = modifier.unwrap_or(-1);
    let length = if modifier >= 4 { format!("({})", modifier - 4) } else { String::new() };
    match row.name {
        "bpchar" if modifier < 0 => "character".into(),
        "bpchar" => format!("character{length}"),
        "varchar" => format!("character varying{length}"),
        "numeric" if modifier >= 4 => format!("numeric({},{})", (modifier - 4) >> 16, (modifier - 4) & 0xffff),
        "char" => "\"char\"".into(),
        "time" => "time without time zone".into(),
        "timetz" => "time with time zone".into(),
        "timestamp" => "timestamp without time zone".into(),
        "timestamptz" => "timestamp with time zone".into(),
        "bit" if modifier < 0 => "\"bit\"".into(),
        "bit" => format!("bit({modifier})"),
        "varbit" if modifier > 0 => format!("bit varying({modifier})"),
        "varbit" => "bit varying".into(),
        // The shorter names are read only.
        name => {
            let is_it = |(other, known): &&(&str, &str)| *known == name && !matches!(*other, "int" | "decimal");
            OTHER_NAMES.iter().find(is_it).map_or(name, |(other, _)| other).into()
        }
    }
}

/// The number and the modifier of a column's type.
pub(crate) fn type_of(data_type: DataType) -> (i64, i64) {
    match data_type {
        DataType::Enum(id) => return (enums::oid_of(id).into(), -1),
        DataType::Array(Element::Enum(id)) => return (array_oid(enums::oid_of(id)).into(), -1),
        _ => {}
    }
    let plain = |data_type: DataType| match data_type {
        DataType::Boolean => "bool",
        DataType::SmallInt => "int2",
        DataType::Integer => "int4",
        DataType::BigInt => "int8",
        DataType::Oid => "oid",
        DataType::Real => "float4",
        DataType::DoublePrecision => "float8",
        DataType::Numeric { .. } => "numeric",
        DataType::Text => "text",
        DataType::Varchar(_) => "varchar",
        DataType::Char(_) => "bpchar",
        DataType::Bytea => "bytea",
        DataType::Uuid => "uuid",
        DataType::Date => "date",
        DataType::Time => "time",
        DataType::Timestamp => "timestamp",
        DataType::TimestampTz => "timestamptz",
        DataType::Interval => "interval",
        DataType::Json => "json",
        DataType::Jsonb => "jsonb",
        DataType::JsonPath => "jsonpath",
        DataType::Bit(_) => "bit",
        DataType::VarBit(_) => "varbit",
        DataType::Array(_) | DataType::Enum(_) => "_text",
    };
    let element = data_type.element().unwrap_or(data_type);
    let row = TYPES.iter().find(|row| row.name == plain(element));
    let oid = row.map_or(25, |row| if data_type.element().is_some() { row.array() } else { row.oid });
    let modifier = match element {
        DataType::Varchar(length) | DataType::Char(length) if length < 0x7fff_fff0 => i64::from(length) + 4,
        DataType::Bit(length) | DataType::VarBit(length) if length > 0 => length.into(),
        NUMERIC_DEFAULT => -1,
        DataType::Numeric { precision, scale } => (i64::from(precision) << 16 | i64::from(scale)) + 4,
        _ => -1,
    };
    (oid, modifier)
}

/// Fills the relations of this family.
pub(crate) fn fill(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) {
    let text = |text: &str| Datum::text(text);
    let catalog = || Datum::Int(PG_CATALOG.into());
    match name {
        "pg_type" => {
            TYPES.iter().for_each(|row| add_type(rows, row));
            let (tables, views) = (rows.scope.tables(snapshot), rows.scope.views(snapshot));
            let tables = tables.into_iter().map(|table| (table.oid, table.schema, &table.name));
            let views = views.into_iter().map(|view| (view.oid, view.schema, &view.name));
            tables.chain(views).for_each(|(oid, schema, name)| add_row_types(rows, oid, schema, name));
            let owner = |oid| snapshot.access.owner(Target::Relation(oid));
            snapshot.types.iter().for_each(|known| enum_rows::types(rows, known, owner(known.oid)));
        }
        "pg_enum" => snapshot.types.iter().for_each(|known| enum_rows::labels(rows, known)),
        "pg_opclass" => {
            for (oid, name, family, type_oid, _) in CLASSES {
                rows.add([
                    ("oid", Datum::Int(*oid)),
                    ("opcmethod", Datum::Int(403)),
                    ("opcname", text(name)),
                    ("opcnamespace", catalog()),
                    ("opcowner", Datum::Int(10)),
                    ("opcfamily", Datum::Int(*family)),
                    ("opcintype", Datum::Int(*type_oid)),
                    ("opcdefault", Datum::Bool(true)),
                ]);
            }
        }
        "pg_collation" => {
            for (oid, name) in [(100, "default"), (950, "C"), (951, "POSIX")] {
                rows.add([
                    ("oid", Datum::Int(oid)),
                    ("collname", text(name)),
                    ("collnamespace", catalog()),
                    ("collowner", Datum::Int(10)),
                    ("collprovider", text(if oid == 100 { "d" } else { "c" })),
                    ("collisdeterministic", Datum::Bool(true)),
                    ("collencoding", Datum::Int(-1)),
                    ("collcollate", if oid == 100 { Datum::Null } else { text(name) }),
                    ("collctype", if oid == 100 { Datum::Null } else { text(name) }),
                ]);
            }
        }
        "pg_am" => {
            for (oid, name, kind) in METHODS {
                let handler =
                    if *kind == "t" { "heap_tableam_handler".into() } else { format!("{}handler", &name[..2]) };
                let values = [
                    ("oid", Datum::Int(*oid)),
                    ("amname", text(name)),
                    ("amhandler", text(&handler)),
                    ("amtype", text(kind)),
                ];
                rows.add(values);
            }
        }
        "pg_language" => rows.add([
            ("oid", Datum::Int(14)),
            ("lanname", text("sql")),
            ("lanowner", Datum::Int(10)),
            ("lanpltrusted", Datum::Bool(true)),
        ]),
        _ => {}
    }
}

/// Operator classes of btree by type: number, name, family, type, collation of a column.
const CLASSES: &[(i64, &str, i64, i64, i64)] = &[
    (1978, "int4_ops", 1976, 23, 0),
    (1979, "int2_ops", 1976, 21, 0),
    (1981, "oid_ops", 1989, 26, 0),
    (3122, "date_ops", 434, 1082, 0),
    (3123, "float8_ops", 1970, 701, 0),
    (3124, "int8_ops", 1976, 20, 0),
    (3125, "numeric_ops", 1988, 1700, 0),
    (3126, "text_ops", 1994, 25, 100),
    (3127, "timestamptz_ops", 434, 1184, 0),
    (3128, "timestamp_ops", 434, 1114, 0),
    (10_000, "array_ops", 397, 2277, 0),
    (10_003, "bool_ops", 424, 16, 0),
    (10_004, "bpchar_ops", 426, 1042, 100),
    (10_006, "bytea_ops", 428, 17, 0),
    (10_005, "bit_ops", 423, 1560, 0),
    (10_007, "char_ops", 429, 18, 0),
    (10_012, "float4_ops", 1970, 700, 0),
    (10_022, "interval_ops", 1982, 1186, 0),
    (10_028, "name_ops", 1994, 19, 950),
    (10_038, "time_ops", 1996, 1083, 0),
    (10_043, "varbit_ops", 2002, 1562, 0),
    (10_065, "uuid_ops", 2968, 2950, 0),
    (10_088, "jsonb_ops", 4033, 3802, 0),
];

/// The operator class of an index's column, and its collation.
pub(crate) fn class_of(type_oid: i64) -> (i64, i64) {
    // varchar has the class of text.
    let wanted = if type_oid == 1043 { 25 } else { type_oid };
    let found = CLASSES.iter().find(|(.., known, _)| *known == wanted);
    let is_array = by_oid(type_oid).is_some_and(|row| row.name.starts_with('_'));
    found.map_or(if is_array { (10_000, 0) } else { (0, 0) }, |(oid, .., collation)| (*oid, *collation))
}

/// The type of a relation's rows, and that of arrays of them.
fn add_row_types(rows: &mut Rows<'_>, relation: u32, schema: u32, name: &str) {
    let (row, array) = (Snapshot::row_type(relation), Snapshot::rows_type(relation));
    let mut add = |oid: u32, name: String, (of, element, own): (u32, u32, u32), input: &str| {
        let is_row = of != 0;
        let stem = input.trim_end_matches("in");
        let function = |ending: &str| Datum::text(format!("{stem}{ending}"));
        rows.add([
            ("oid", Datum::Int(oid.into())),
            ("typname", Datum::text(name)),
            ("typnamespace", Datum::Int(schema.into())),
            ("typowner", Datum::Int(10)),
            ("typlen", Datum::Int(-1)),
            ("typtype", Datum::text(if is_row { "c" } else { "b" })),
            ("typcategory", Datum::text(if is_row { "C" } else { "A" })),
            ("typisdefined", Datum::Bool(true)),
            ("typdelim", Datum::text(",")),
            ("typrelid", Datum::Int(of.into())),
            ("typsubscript", Datum::text(if is_row { "-" } else { "array_subscript_handler" })),
            ("typelem", Datum::Int(element.into())),
            ("typarray", Datum::Int(own.into())),
            ("typinput", Datum::text(input)),
            ("typoutput", function("out")),
            ("typreceive", function("recv")),
            ("typsend", function("send")),
            ("typmodin", Datum::text("-")),
            ("typmodout", Datum::text("-")),
            ("typanalyze", Datum::text(if is_row { "-" } else { "array_typanalyze" })),
            ("typalign", Datum::text("d")),
            ("typstorage", Datum::text("x")),
            ("typtypmod", Datum::Int(-1)),
        ]);
    };
    add(row, name.to_owned(), (relation, 0, array), "record_in");
    add(array, format!("_{name}"), (0, row, 0), "array_in");
}

/// Access methods: those of Weft's tables beside `heap`, which clients look for.
pub(crate) const METHODS: &[(i64, &str, &str)] = &[
    (2, "heap", "t"),
    (403, "btree", "i"),
    (9001, "row", "t"),
    (9002, "column", "t"),
    (9003, "lineage", "t"),
    (9004, "columns", "i"),
];

fn add_type(rows: &mut Rows<'_>, row: &'static TypeRow) {
    let text = |place: usize| Datum::text(row.fields[place]);
    let number = |place: usize| Datum::Int(row.number(place));
    let flag = |place: usize| Datum::Bool(row.fields[place] == "t");
    let function = |ending: &str| Datum::text(row.function(ending));
    // Types with a length or a precision, and arrays of them.
    let of = by_oid(row.element()).filter(|_| row.fields[9] == "array_in").map_or(row.name, |element| element.name);
    let modified =
        ["bit", "bpchar", "interval", "numeric", "time", "timestamp", "timestamptz", "timetz", "varbit", "varchar"];
    let modifier = |ending: &str| match modified.contains(&of) {
        true => Datum::text(format!("{of}typmod{ending}")),
        false => Datum::text("-"),
    };
    rows.add([
        ("oid", number(0)),
        ("typname", text(1)),
        ("typnamespace", Datum::Int(PG_CATALOG.into())),
        ("typowner", Datum::Int(10)),
        ("typlen", number(2)),
        ("typbyval", flag(3)),
        ("typtype", text(4)),
        ("typcategory", text(5)),
        ("typispreferred", flag(6)),
        ("typisdefined", Datum::Bool(true)),
        ("typdelim", Datum::text(",")),
        ("typsubscript", text(13)),
        ("typelem", number(7)),
        ("typarray", number(8)),
        ("typinput", text(9)),
        ("typoutput", function("out")),
        ("typreceive", function("recv")),
        ("typsend", function("send")),
        ("typmodin", modifier("in")),
        ("typmodout", modifier("out")),
        ("typanalyze", Datum::text(if row.fields[9] == "array_in" { "array_typanalyze" } else { "-" })),
        ("typalign", text(10)),
        ("typstorage", text(11)),
        ("typtypmod", Datum::Int(-1)),
        ("typcollation", number(12)),
    ]);
}
