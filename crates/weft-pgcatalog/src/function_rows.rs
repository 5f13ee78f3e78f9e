//! What `pg_proc` and `information_schema` have of users' functions, and how these are written.
//!
//! ```text
//!   f(a integer, b text DEFAULT 'x'::text)      pg_get_function_arguments: a integer, b text DEFAULT 'x'::text
//!   RETURNS TABLE (k integer)                   pg_get_function_result: TABLE(k integer)
//! ```

use std::fmt::Write as _;

use crate::definitions::default_text;
use crate::making::Rows;
use crate::rights::Target;
use crate::snapshot::{Snapshot, quoted};
use crate::type_names::type_text;
use crate::types::{by_name, by_oid, format_type, type_of};
use crate::user_functions::{FunctionArgument, FunctionType, UserFunction};
use crate::value::Datum;

/// The language SQL.
const SQL: i64 = 14;
const RECORD: i64 = 2249;
const VOID: i64 = 2278;
/// What a call costs, and how many rows it gives, when nobody says.
const COST: f64 = 100.0;
const ROWS: f64 = 1000.0;

fn text(text: impl AsRef<str>) -> Datum {
    Datum::text(text)
}

fn type_oid(data_type: FunctionType) -> i64 {
    match data_type {
        FunctionType::Plain(data_type) => type_of(data_type).0,
        FunctionType::Domain(oid) => oid.into(),
        FunctionType::Row(oid) => Snapshot::row_type(oid).into(),
        FunctionType::Record => RECORD,
        FunctionType::Void => VOID,
    }
}

fn type_name(snapshot: &Snapshot, data_type: FunctionType) -> String {
    match data_type {
        FunctionType::Row(oid) => crate::definitions::relation_name(snapshot, oid),
        other => type_text(snapshot, type_oid(other), None),
    }
}

impl UserFunction {
    fn inputs(&self) -> impl Iterator<Item = &FunctionArgument> {
        self.arguments.iter().filter(|argument| matches!(argument.mode, 'i' | 'b' | 'v'))
    }

    fn cost(&self) -> f64 {
        self.cost.unwrap_or(COST)
    }

    fn rows(&self) -> f64 {
        if self.is_set { self.rows.unwrap_or(ROWS) } else { 0.0 }
    }
}

/// The function of a number.
fn of_number(snapshot: &Snapshot, oid: u32) -> Option<&UserFunction> {
    snapshot.functions.iter().find(|function| function.oid == oid)
}

fn default_of(snapshot: &Snapshot, argument: &FunctionArgument) -> Option<String> {
    let default = argument.default.as_ref()?;
    Some(match argument.data_type {
        FunctionType::Plain(data_type) => default_text(snapshot, data_type, default),
        _ => default.clone(),
    })
}

/// The functions in `pg_proc`.
pub(crate) fn fill(rows: &mut Rows<'_>, snapshot: &Snapshot) {
    for function in &snapshot.functions {
        let target = Target::Relation(function.oid);
        let inputs: Vec<Datum> = function.inputs().map(|input| Datum::Int(type_oid(input.data_type))).collect();
        let is_plain = function.arguments.iter().all(|argument| argument.mode == 'i');
        let all = |of: &dyn Fn(&FunctionArgument) -> Datum| Datum::list(function.arguments.iter().map(of).collect());
        let unless_plain = |list: Datum| if is_plain { Datum::Null } else { list };
        let has_names = function.arguments.iter().any(|argument| argument.name.is_some());
        let defaults: Vec<String> = function.inputs().filter_map(|argument| default_of(snapshot, argument)).collect();
        let variadic = function.inputs().find(|argument| argument.mode == 'v').and_then(|argument| {
            let FunctionType::Plain(data_type) = argument.data_type else { return None };
            data_type.element().map(|element| type_of(element).0)
        });
        let sql_body = if function.is_return { text(format!("RETURN {}", function.body)) } else { Datum::Null };
        rows.add([
            ("oid", Datum::Int(function.oid.into())),
            ("proname", text(&function.name)),
            ("pronamespace", Datum::Int(function.schema.into())),
            ("proowner", Datum::Int(snapshot.access.owner(target).into())),
            ("prolang", Datum::Int(SQL)),
            ("procost", Datum::Float(function.cost())),
            ("prorows", Datum::Float(function.rows())),
            ("provariadic", Datum::Int(variadic.unwrap_or(0))),
            ("prosupport", text("-")),
            ("prokind", text("f")),
            ("prosecdef", Datum::Bool(function.definer)),
            ("proleakproof", Datum::Bool(function.leak_proof)),
            ("proisstrict", Datum::Bool(function.strict)),
            ("proretset", Datum::Bool(function.is_set)),
            ("provolatile", text(function.volatility.to_string())),
            ("proparallel", text(function.parallel.to_string())),
            ("pronargs", Datum::Int(inputs.len() as i64)),
            ("pronargdefaults", Datum::Int(defaults.len() as i64)),
            ("prorettype", Datum::Int(type_oid(function.result))),
            ("proargtypes", Datum::list(inputs)),
            ("proallargtypes", unless_plain(all(&|argument| Datum::Int(type_oid(argument.data_type))))),
            ("proargmodes", unless_plain(all(&|argument| text(argument.mode.to_string())))),
            (
                "proargnames",
                if has_names {
                    all(&|argument| text(argument.name.as_deref().unwrap_or_default()))
                } else {
                    Datum::Null
                },
            ),
            ("proargdefaults", if defaults.is_empty() { Datum::Null } else { text(defaults.join(", ")) }),
            ("prosrc", text(if function.is_return { "" } else { &function.body })),
            ("prosqlbody", sql_body),
            ("proacl", snapshot.acl_value(snapshot.access.given_acl(target).as_ref())),
        ]);
    }
}

fn argument_text(snapshot: &Snapshot, argument: &FunctionArgument, with_defaults: bool) -> String {
    let mode = match argument.mode {
        'o' => "OUT ",
        'b' => "INOUT ",
        'v' => "VARIADIC ",
        _ => "",
    };
    let name = argument.name.as_ref().map_or_else(String::new, |name| format!("{} ", quoted(name)));
    let default = default_of(snapshot, argument).filter(|_| with_defaults);
    let default = default.map_or_else(String::new, |default| format!(" DEFAULT {default}"));
    format!("{mode}{name}{}{default}", type_name(snapshot, argument.data_type))
}

/// The arguments of a function as CREATE FUNCTION writes them, perhaps with their defaults.
pub(crate) fn arguments(snapshot: &Snapshot, oid: u32, with_defaults: bool) -> Option<String> {
    let function = of_number(snapshot, oid)?;
    let arguments = function.arguments.iter().filter(|argument| argument.mode != 't');
    Some(arguments.map(|argument| argument_text(snapshot, argument, with_defaults)).collect::<Vec<_>>().join(", "))
}

/// What a function gives, as CREATE FUNCTION writes it.
pub(crate) fn result(snapshot: &Snapshot, oid: u32) -> Option<String> {
    let function = of_number(snapshot, oid)?;
    let columns: Vec<&FunctionArgument> = function.arguments.iter().filter(|argument| argument.mode == 't').collect();
    if !columns.is_empty() {
        let columns: Vec<String> = columns.into_iter().map(|column| argument_text(snapshot, column, false)).collect();
        return Some(format!("TABLE({})", columns.join(", ")));
    }
    let name = type_name(snapshot, function.result);
    Some(if function.is_set { format!("SETOF {name}") } else { name })
}

/// `RETURN` and what is behind it, of a function that is written so.
pub(crate) fn sql_body(snapshot: &Snapshot, oid: u32) -> Option<String> {
    let function = of_number(snapshot, oid).filter(|function| function.is_return)?;
    Some(format!("RETURN {}", function.body))
}

/// A function as CREATE FUNCTION makes it.
pub(crate) fn definition(snapshot: &Snapshot, oid: u32) -> Option<String> {
    let function = of_number(snapshot, oid)?;
    let schema = quoted(snapshot.schema_name(function.schema));
    let (name, arguments) = (quoted(&function.name), arguments(snapshot, oid, true)?);
    let mut out = format!("CREATE OR REPLACE FUNCTION {schema}.{name}({arguments})\n");
    let _ = write!(out, " RETURNS {}\n LANGUAGE sql\n", result(snapshot, oid)?);
    let mut words = String::new();
    let parts = [
        (function.volatility == 'i', " IMMUTABLE"),
        (function.volatility == 's', " STABLE"),
        (function.parallel == 's', " PARALLEL SAFE"),
        (function.parallel == 'r', " PARALLEL RESTRICTED"),
        (function.strict, " STRICT"),
        (function.definer, " SECURITY DEFINER"),
        (function.leak_proof, " LEAKPROOF"),
    ];
    parts.iter().filter(|(is_set, _)| *is_set).for_each(|(_, word)| words.push_str(word));
    if (function.cost() - COST).abs() > f64::EPSILON {
        let _ = write!(words, " COST {}", function.cost());
    }
    if function.is_set && (function.rows() - ROWS).abs() > f64::EPSILON {
        let _ = write!(words, " ROWS {}", function.rows());
    }
    if !words.is_empty() {
        out += &format!("{words}\n");
    }
    if let Some(body) = sql_body(snapshot, oid) {
        return Some(out + &body + "\n");
    }
    let mut quote = "$function".to_owned();
    while function.body.contains(&quote) {
        quote.push('x');
    }
    let _ = writeln!(out, "AS {quote}${}{quote}$", function.body);
    Some(out)
}

/// Whether a function is found by its name and the types of its arguments; those of the system are.
pub(crate) fn is_visible(snapshot: &Snapshot, oid: u32) -> bool {
    let Some(function) = of_number(snapshot, oid) else { return true };
    let types = |function: &UserFunction| function.inputs().map(|input| input.data_type).collect::<Vec<_>>();
    let first = snapshot.search_path.iter().find_map(|schema| {
        snapshot
            .functions
            .iter()
            .find(|known| known.schema == *schema && known.name == function.name && types(known) == types(function))
    });
    first.is_some_and(|first| first.oid == oid)
}

/// The function that a text names with the types of its arguments: `s.f(integer, text)`.
pub(crate) fn named(snapshot: &Snapshot, said: &str) -> Option<u32> {
    let (name, types) = said.trim().strip_suffix(')')?.split_once('(')?;
    let plain = |part: &str| match part.strip_prefix('"').and_then(|part| part.strip_suffix('"')) {
        Some(quoted) => quoted.to_owned(),
        None => part.to_lowercase(),
    };
    let (schema, name) = match name.split_once('.') {
        Some((schema, name)) => (Some(plain(schema.trim())), plain(name.trim())),
        None => (None, plain(name.trim())),
    };
    let type_of = |text: &str| {
        let text = text.trim();
        by_name(&text.to_lowercase()).map_or_else(|| text.to_owned(), |row| format_type(row.oid, None))
    };
    let wanted: Vec<String> = types.split(',').filter(|text| !text.trim().is_empty()).map(type_of).collect();
    let is_it = |function: &&UserFunction| {
        let types: Vec<String> = function.inputs().map(|input| type_name(snapshot, input.data_type)).collect();
        let in_place = match &schema {
            Some(schema) => snapshot.schema_name(function.schema) == schema,
            None => snapshot.search_path.contains(&function.schema),
        };
        in_place && function.name == name && types == wanted
    };
    snapshot.functions.iter().find(is_it).map(|function| function.oid)
}

/// Whether a number is that of a function of users.
pub(crate) fn is_one(snapshot: &Snapshot, oid: u32) -> bool {
    of_number(snapshot, oid).is_some()
}

/// The type of an argument in `information_schema`: its kind, its schema and its name.
fn standard_type(snapshot: &Snapshot, data_type: FunctionType) -> (String, String, String) {
    let oid = type_oid(data_type);
    let own =
        |schema: u32, name: &str| ("USER-DEFINED".to_owned(), snapshot.schema_name(schema).to_owned(), name.to_owned());
    if let FunctionType::Row(relation) = data_type
        && let Some((schema, name)) = snapshot.relation(relation)
    {
        return own(schema, name);
    }
    if let Some((known, false)) = snapshot.user_type(oid) {
        return own(known.schema, &known.name);
    }
    let name = by_oid(oid).map_or("", |row| row.name);
    let kind = if name.starts_with('_') { "ARRAY".to_owned() } else { format_type(oid, None) };
    (kind, "pg_catalog".to_owned(), name.to_owned())
}

/// Relations of `information_schema`; whether the name is that of one.
pub(crate) fn standard(name: &str, rows: &mut Rows<'_>, snapshot: &Snapshot) -> bool {
    match name {
        "routines" => snapshot.functions.iter().for_each(|function| routine(rows, snapshot, function)),
        "parameters" => snapshot.functions.iter().for_each(|function| parameters(rows, snapshot, function)),
        _ => return false,
    }
    true
}

fn specific_name(function: &UserFunction) -> Datum {
    text(format!("{}_{}", function.name, function.oid))
}

fn yes_no(is_so: bool) -> Datum {
    text(if is_so { "YES" } else { "NO" })
}

fn routine(rows: &mut Rows<'_>, snapshot: &Snapshot, function: &UserFunction) {
    let (kind, schema, name) = standard_type(snapshot, function.result);
    let own_schema = || text(snapshot.schema_name(function.schema));
    let database = || text(&snapshot.database);
    let role = snapshot.own_oid();
    let is_own = snapshot.access.owns(role, Target::Relation(function.oid));
    rows.add_known([
        ("specific_catalog", database()),
        ("specific_schema", own_schema()),
        ("specific_name", specific_name(function)),
        ("routine_catalog", database()),
        ("routine_schema", own_schema()),
        ("routine_name", text(&function.name)),
        ("routine_type", text("FUNCTION")),
        ("data_type", text(kind)),
        ("type_udt_catalog", database()),
        ("type_udt_schema", text(schema)),
        ("type_udt_name", text(name)),
        ("dtd_identifier", text("0")),
        ("routine_body", text("SQL")),
        ("routine_definition", if is_own { text(&function.body) } else { Datum::Null }),
        ("external_language", text("SQL")),
        ("parameter_style", text("GENERAL")),
        ("is_deterministic", yes_no(function.volatility == 'i')),
        ("sql_data_access", text("MODIFIES")),
        ("is_null_call", yes_no(function.strict)),
        ("schema_level_routine", text("YES")),
        ("max_dynamic_result_sets", Datum::Int(0)),
        ("security_type", text(if function.definer { "DEFINER" } else { "INVOKER" })),
        ("as_locator", text("NO")),
        ("is_udt_dependent", text("NO")),
    ]);
}

fn parameters(rows: &mut Rows<'_>, snapshot: &Snapshot, function: &UserFunction) {
    for (number, argument) in (1..).zip(&function.arguments) {
        let (kind, schema, name) = standard_type(snapshot, argument.data_type);
        let mode = match argument.mode {
            'o' | 't' => "OUT",
            'b' => "INOUT",
            _ => "IN",
        };
        rows.add([
            ("specific_catalog", text(&snapshot.database)),
            ("specific_schema", text(snapshot.schema_name(function.schema))),
            ("specific_name", specific_name(function)),
            ("ordinal_position", Datum::Int(number)),
            ("parameter_mode", text(mode)),
            ("is_result", text("NO")),
            ("as_locator", text("NO")),
            ("parameter_name", argument.name.as_ref().map_or(Datum::Null, text)),
            ("data_type", text(kind)),
            ("udt_catalog", text(&snapshot.database)),
            ("udt_schema", text(schema)),
            ("udt_name", text(name)),
            ("dtd_identifier", text(number.to_string())),
            ("parameter_default", default_of(snapshot, argument).map_or(Datum::Null, text)),
        ]);
    }
}
