//! Functions that catalog queries call.
//!
//! ```text
//!   format_type(1043, 54) = character varying(50)      pg_get_indexdef(16390) = CREATE INDEX ...
//!   generate_subscripts('1 2'::int2vector, 1)          0, 1: a function with many rows gives a list
//! ```

use std::sync::Arc;

use weft_format::{Code, DataType, Error, Result, Value};

use crate::cast::{object_named, text_of};
use crate::definitions::{constraint_definition, index_definition, index_part, unwrapped};
use crate::domain_rows;
use crate::function::{
    Arguments, Function, boolean, function, int4, int8, json_text, lenient, name, nothing, null, oid, set, text, time,
    zero,
};
use crate::function_rows;
use crate::monitor;
use crate::objects::Sequence;
use crate::privileges;
use crate::procs;
use crate::roles::setting;
use crate::server::{SERVER, encoding_name, regex_part};
use crate::snapshot::{Request, Snapshot, quoted};
use crate::type_names::type_text;
use crate::value::{Datum, Type};

/// Functions that are called without parentheses.
pub(crate) const WITHOUT_PARENTHESES: &[&str] =
    &["current_user", "session_user", "user", "current_role", "current_catalog", "current_schema"];

/// The function of a name that takes so many arguments.
pub(crate) fn find(name: &str, arguments: usize) -> Option<&'static Function> {
    let fits = |function: &&Function| function.name == name && (function.least..=function.most).contains(&arguments);
    FUNCTIONS.iter().chain(SERVER).find(fits)
}

/// The names of all functions that queries of the catalog call; those of several forms more than once.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    let named = FUNCTIONS.iter().chain(SERVER).map(|function| function.name).filter(|name| *name != UNNEST_SEVERAL);
    named.chain(WITHOUT_PARENTHESES.iter().copied())
}

/// Whether a name is that of a function which needs the catalog or the session: a query that calls it is ours even
/// when it names no relation.
pub(crate) fn is_of_catalog(name: &str) -> bool {
    !PLAIN.contains(&name) && !is_built_in(name) && FUNCTIONS.iter().chain(SERVER).any(|function| function.name == name)
}

/// Whether the table of functions has it, so that any query may call it. What the table's `pg_typeof` gives is a type's
/// name, and its number here: in a query of the catalog it is the catalog's.
fn is_built_in(name: &str) -> bool {
    name != "pg_typeof" && weft_expr::builtins::is_known(name)
}

/// Whether a function of the catalog has one value for a statement: no rows, nothing that it asks the server for.
pub(crate) fn is_constant(name: &str) -> bool {
    const ASKING: &[&str] =
        &["pg_cancel_backend", "pg_terminate_backend", "pg_reload_conf", "pg_export_snapshot", "pg_promote"];
    let mut known = FUNCTIONS.iter().chain(SERVER).filter(|function| function.name == name);
    is_of_catalog(name) && !ASKING.contains(&name) && known.all(|function| !function.is_set)
}

/// Functions of the catalog that need no relation of it: what a driver asks when it connects.
pub(crate) const OF_SESSION: &[&str] = &[
    "current_catalog",
    "current_database",
    "current_role",
    "current_schema",
    "current_schemas",
    "current_setting",
    "current_user",
    "inet_client_addr",
    "inet_client_port",
    "inet_server_addr",
    "inet_server_port",
    "pg_backend_pid",
    "pg_client_encoding",
    "pg_encoding_to_char",
    "pg_export_snapshot",
    "pg_get_userbyid",
    "pg_is_in_recovery",
    "pg_promote",
    "pg_typeof",
    "quote_ident",
    "quote_literal",
    "session_user",
    "txid_current",
    "user",
    "version",
];

/// Functions whose argument is a regclass, so that a name in quotes is looked up when the query is read.
pub(crate) const TAKING_REGCLASS: &[&str] =
    &["pg_indexes_size", "pg_relation_size", "pg_table_size", "pg_total_relation_size"];

/// Functions that need neither catalog nor session: queries of tables call them, too.
const PLAIN: &[&str] = &[
    "array_length",
    "array_lower",
    "array_position",
    "array_to_string",
    "array_upper",
    "btrim",
    "cardinality",
    "coalesce",
    "concat",
    "format",
    "generate_series",
    "greatest",
    "json_build_object",
    "least",
    "left",
    "length",
    "lower",
    "ltrim",
    "now",
    "nullif",
    "replace",
    "right",
    "round",
    "rtrim",
    "split_part",
    "strpos",
    "substr",
    "array_remove",
    "substring",
    "trim",
    "trunc",
    "unnest",
    "upper",
    "array_append",
    "array_cat",
    "abs",
    "position",
    "string_to_array",
    "json_build_array",
    "to_json",
    "mod",
    "floor",
    "age",
    "bpchar",
    "clock_timestamp",
    "encode",
    "name",
    "num_nulls",
    "regexp_replace",
    "row_to_json",
    "set_config",
    "statement_timestamp",
    "to_char",
];

/// What is said of the function of a number.
fn of_function(call: &Arguments<'_>, said: fn(&Snapshot, u32) -> Option<String>) -> Datum {
    let oid = u32::try_from(call.int(0)).ok();
    oid.and_then(|oid| said(call.snapshot, oid)).map_or(Datum::Null, Datum::text)
}

fn first(types: &[Type]) -> Type {
    types.iter().find(|known| **known != Type::Unknown).cloned().unwrap_or(Type::Text)
}

/// Of a double precision is one; all else is rounded as a numeric.
fn rounded(types: &[Type]) -> Type {
    if types.first() == Some(&Type::Float8) { Type::Float8 } else { Type::Numeric }
}

fn element(types: &[Type]) -> Type {
    types.first().and_then(Type::element).cloned().unwrap_or(Type::Text)
}

/// `unnest` of several arrays in FROM: a row of their first elements, one of their second ones, ...; no client writes
/// this name.
pub(crate) const UNNEST_SEVERAL: &str = "unnest of several arrays";

/// A column `unnest` for each array.
fn elements(types: &[Type]) -> Type {
    let column = |array: &Type| ("unnest".to_owned(), array.element().cloned().unwrap_or(Type::Text));
    Type::Record(types.iter().map(column).collect())
}

fn rows_of_elements(call: &Arguments<'_>) -> Result<Datum> {
    let longest = call.values.iter().map(|array| array.items().len()).max().unwrap_or(0);
    let row =
        |at: usize| call.values.iter().map(|array| array.items().get(at).cloned().unwrap_or(Datum::Null)).collect();
    Ok(Datum::list((0..longest).map(row).map(Datum::list).collect()))
}

fn texts(_: &[Type]) -> Type {
    Type::Array(Arc::new(Type::Text))
}

fn expanded(types: &[Type]) -> Type {
    Type::Record(vec![("x".to_owned(), element(types)), ("n".to_owned(), Type::Int4)].into())
}

fn exploded(_: &[Type]) -> Type {
    let fields =
        [("grantor", Type::Oid), ("grantee", Type::Oid), ("privilege_type", Type::Text), ("is_grantable", Type::Bool)];
    Type::Record(fields.into_iter().map(|(name, data_type)| (name.to_owned(), data_type)).collect())
}

fn options(_: &[Type]) -> Type {
    Type::Record(vec![("option_name".to_owned(), Type::Text), ("option_value".to_owned(), Type::Text)].into())
}

fn yes(_: &Arguments<'_>) -> Result<Datum> {
    Ok(Datum::Bool(true))
}

fn no(_: &Arguments<'_>) -> Result<Datum> {
    Ok(Datum::Bool(false))
}

fn known(value: Option<impl AsRef<str>>) -> Result<Datum> {
    Ok(value.map_or(Datum::Null, Datum::text))
}

static FUNCTIONS: &[Function] = &[
    function("version", (0, 0), text, |call| Ok(Datum::text(&call.snapshot.version))),
    function("current_database", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.database))),
    function("current_catalog", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.database))),
    function("current_user", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.user))),
    function("session_user", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.session_user))),
    function("current_role", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.user))),
    function("user", (0, 0), name, |call| Ok(Datum::text(&call.snapshot.user))),
    function("current_schema", (0, 0), name, |call| {
        let mut path = call.snapshot.search_path.iter().filter(|oid| Some(**oid) != call.snapshot.temporary);
        known(path.next().map(|oid| call.snapshot.schema_name(*oid)))
    }),
    function(
        "current_schemas",
        (1, 1),
        |_| Type::Array(Arc::new(Type::Name)),
        |call| {
            let snapshot = call.snapshot;
            let name = |oid: u32| snapshot.schema_name(oid);
            let with_implicit = call.values[0].is_true();
            let temporary = snapshot.temporary.filter(|_| with_implicit).map(name);
            let implicit = temporary.into_iter().chain(with_implicit.then_some("pg_catalog"));
            let path = snapshot.search_path.iter().filter(|oid| Some(**oid) != snapshot.temporary);
            Ok(Datum::list(implicit.chain(path.map(|oid| name(*oid))).map(Datum::text).collect()))
        },
    ),
    function("pg_get_userbyid", (1, 1), name, |call| Ok(Datum::text(call.snapshot.role_name(call.int(0))))),
    function("pg_table_is_visible", (1, 1), boolean, |call| {
        Ok(Datum::Bool(call.snapshot.is_visible(call.relation(0))))
    }),
    function("pg_type_is_visible", (1, 1), boolean, yes),
    function("pg_function_is_visible", (1, 1), boolean, |call| {
        let oid = u32::try_from(call.int(0)).unwrap_or(0);
        Ok(Datum::Bool(function_rows::is_visible(call.snapshot, oid)))
    }),
    function("pg_operator_is_visible", (1, 1), boolean, yes),
    function("pg_opclass_is_visible", (1, 1), boolean, yes),
    function("pg_opfamily_is_visible", (1, 1), boolean, yes),
    function("pg_collation_is_visible", (1, 1), boolean, yes),
    function("pg_conversion_is_visible", (1, 1), boolean, yes),
    function("pg_statistics_obj_is_visible", (1, 1), boolean, yes),
    function("pg_ts_config_is_visible", (1, 1), boolean, yes),
    lenient(function("format_type", (2, 2), text, |call| match call.values[0].int() {
        Some(oid) => Ok(Datum::text(type_text(call.snapshot, oid, call.values[1].int()))),
        None => Ok(Datum::Null),
    })),
    function("pg_typeof", (1, 1), |_| Type::RegType, |call| Ok(Datum::Int(call.types[0].oid()))),
    function("pg_get_expr", (2, 3), text, |call| match &call.values[0] {
        Datum::Text(text) if call.values.get(2).is_some_and(Datum::is_true) => Ok(Datum::text(unwrapped(text))),
        other => Ok(other.clone()),
    }),
    function("pg_get_indexdef", (1, 3), text, indexdef),
    function("pg_get_constraintdef", (1, 2), text, |call| {
        let found = call.snapshot.constraint(call.int(0));
        let pretty = call.values.get(1).is_some_and(Datum::is_true);
        let text = found.map(|constraint| constraint_definition(call.snapshot, constraint, pretty));
        known(text.or_else(|| domain_rows::definition(call.snapshot, call.int(0), pretty)))
    }),
    function("pg_get_viewdef", (1, 2), text, |call| {
        let oid = call.known_relation(0)?;
        let view = call.snapshot.view(oid).map(|view| &view.query);
        let materialized = || call.snapshot.table(oid).and_then(|table| Some(&table.materialized.as_ref()?.query));
        known(view.or_else(materialized).map(|query| format!(" {query};")))
    }),
    function("pg_get_partkeydef", (1, 1), text, null),
    function("pg_get_triggerdef", (1, 2), text, null),
    function("pg_get_ruledef", (1, 2), text, |call| {
        let wanted = call.int(0);
        let found = call.snapshot.views.iter().find(|view| i64::from(Snapshot::rule_oid(view.oid)) == wanted);
        known(found.map(|view| {
            let (schema, name) = (quoted(call.snapshot.schema_name(view.schema)), quoted(&view.name));
            let query = &view.query;
            format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {schema}.{name} DO INSTEAD  {query};")
        }))
    }),
    function("pg_get_functiondef", (1, 1), text, |call| Ok(of_function(call, function_rows::definition))),
    function("pg_get_function_result", (1, 1), text, |call| {
        Ok(of_function(call, |snapshot, oid| function_rows::result(snapshot, oid).or_else(|| procs::result(oid))))
    }),
    function("pg_get_function_arguments", (1, 1), text, |call| {
        Ok(of_function(call, |snapshot, oid| {
            function_rows::arguments(snapshot, oid, true).or_else(|| procs::arguments(oid))
        }))
    }),
    function("pg_get_function_identity_arguments", (1, 1), text, |call| {
        Ok(of_function(call, |snapshot, oid| {
            function_rows::arguments(snapshot, oid, false).or_else(|| procs::arguments(oid))
        }))
    }),
    function("pg_get_function_sqlbody", (1, 1), text, |call| Ok(of_function(call, function_rows::sql_body))),
    function("pg_get_statisticsobjdef_columns", (1, 1), text, null),
    function("pg_get_statisticsobjdef", (1, 1), text, null),
    function("pg_get_serial_sequence", (2, 2), text, serial_sequence),
    lenient(function("obj_description", (1, 2), text, |call| {
        known(call.snapshot.comments.get(&(u32::try_from(call.int(0)).unwrap_or(0), 0)))
    })),
    lenient(function("col_description", (2, 2), text, |call| {
        known(
            call.snapshot
                .comments
                .get(&(u32::try_from(call.int(0)).unwrap_or(0), call.int(1)))
                .filter(|_| call.int(1) > 0),
        )
    })),
    function("shobj_description", (2, 2), text, null),
    function("has_table_privilege", (2, 3), boolean, privileges::has_table_privilege),
    function("has_any_column_privilege", (2, 3), boolean, privileges::has_any_column_privilege),
    function("has_column_privilege", (3, 4), boolean, privileges::has_column_privilege),
    function("has_schema_privilege", (2, 3), boolean, privileges::has_schema_privilege),
    function("has_database_privilege", (2, 3), boolean, privileges::has_database_privilege),
    function("has_sequence_privilege", (2, 3), boolean, privileges::has_sequence_privilege),
    function("has_function_privilege", (2, 3), boolean, privileges::has_function_privilege),
    function("has_type_privilege", (2, 3), boolean, yes),
    function("has_tablespace_privilege", (2, 3), boolean, yes),
    function("has_language_privilege", (2, 3), boolean, yes),
    function("pg_has_role", (2, 3), boolean, privileges::pg_has_role),
    function("row_security_active", (1, 1), boolean, no),
    function("pg_relation_is_publishable", (1, 1), boolean, no),
    function("pg_relation_is_updatable", (2, 2), int4, |call| {
        let relation = call.relation(0);
        let of_view = || call.snapshot.view(relation).map_or(0, |view| view.events);
        let is_table = call.snapshot.table(relation).is_some_and(|table| table.materialized.is_none());
        Ok(Datum::Int(if is_table { 28 } else { of_view() }))
    }),
    function("pg_column_is_updatable", (3, 3), boolean, |call| {
        let (relation, number) = (call.relation(0), call.int(1));
        let is_table = call.snapshot.table(relation).is_some_and(|table| table.materialized.is_none());
        let place = usize::try_from(number - 1).ok();
        let of_view = |place: usize| Some(*call.snapshot.view(relation)?.updatable.get(place)?);
        Ok(Datum::Bool(place.is_some_and(|place| is_table || of_view(place) == Some(true))))
    }),
    function("pg_table_size", (1, 1), int8, |call| size(call, |own, _| own)),
    function("pg_relation_size", (1, 2), int8, |call| size(call, |own, _| own)),
    function("pg_total_relation_size", (1, 1), int8, |call| size(call, u64::saturating_add)),
    function("pg_indexes_size", (1, 1), int8, |call| size(call, |_, indexes| indexes)),
    function("pg_database_size", (1, 1), int8, |call| {
        let figures = &call.snapshot.figures;
        let tables = call.snapshot.tables.iter().map(|table| figures.table(table.oid).1);
        let indexes = call.snapshot.indexes.iter().map(|index| figures.index(index.oid));
        let all = tables.chain(indexes).sum::<u64>();
        Ok(Datum::Int(i64::try_from(all).unwrap_or(i64::MAX)))
    }),
    function("pg_tablespace_size", (1, 1), int8, zero),
    function("pg_size_pretty", (1, 1), text, |call| Ok(Datum::text(size_text(call.int(0))))),
    function("pg_encoding_to_char", (1, 1), name, |call| Ok(Datum::text(encoding_name(call.int(0))))),
    function("pg_is_in_recovery", (0, 0), boolean, |call| Ok(Datum::Bool(call.snapshot.in_recovery))),
    function("pg_is_wal_replay_paused", (0, 0), boolean, no),
    function("pg_is_other_temp_schema", (1, 1), boolean, |call| {
        let (oid, own) = (u32::try_from(call.int(0)).unwrap_or(0), call.snapshot.temporary);
        Ok(Datum::Bool(call.snapshot.is_temporary(oid) && own != Some(oid)))
    }),
    function("pg_my_temp_schema", (0, 0), oid, |call| Ok(Datum::Int(call.snapshot.temporary.map_or(0, i64::from)))),
    function("pg_backend_pid", (0, 0), int4, |call| Ok(Datum::Int(call.snapshot.backend))),
    function("pg_cancel_backend", (1, 1), boolean, |call| {
        monitor::stop(call.snapshot, call.int(0), false).map(Datum::Bool)
    }),
    function("pg_terminate_backend", (1, 2), boolean, |call| {
        monitor::stop(call.snapshot, call.int(0), true).map(Datum::Bool)
    }),
    function("pg_reload_conf", (0, 0), boolean, |call| {
        call.snapshot.requests.lock().push(Request::Reload);
        Ok(Datum::Bool(true))
    }),
    function("pg_promote", (0, 2), boolean, |call| {
        call.snapshot.requests.lock().push(Request::Promote);
        Ok(Datum::Bool(true))
    }),
    function("pg_export_snapshot", (0, 0), text, |call| {
        call.snapshot.requests.lock().push(Request::Export);
        Ok(Datum::text(call.snapshot.read_ts.to_string()))
    }),
    function("pg_postmaster_start_time", (0, 0), time, |call| Ok(Datum::Int(call.snapshot.now_micros))),
    function("pg_conf_load_time", (0, 0), time, |call| Ok(Datum::Int(call.snapshot.now_micros))),
    function("now", (0, 0), time, |call| Ok(Datum::Int(call.snapshot.now_micros))),
    function("txid_current", (0, 0), int8, |call| Ok(Datum::Int(call.snapshot.txid))),
    function("pg_current_xact_id", (0, 0), int8, |call| Ok(Datum::Int(call.snapshot.txid))),
    function("txid_current_if_assigned", (0, 0), int8, null),
    function("inet_server_addr", (0, 0), text, null),
    function("inet_server_port", (0, 0), int4, null),
    function("inet_client_addr", (0, 0), text, null),
    function("inet_client_port", (0, 0), int4, null),
    function("pg_stat_get_numscans", (1, 1), int8, zero),
    function("pg_stat_get_live_tuples", (1, 1), int8, zero),
    function("pg_tablespace_location", (1, 1), text, |_| Ok(Datum::text(""))),
    function("pg_client_encoding", (0, 0), name, |_| Ok(Datum::text("UTF8"))),
    function("pg_char_to_encoding", (1, 1), int4, |call| {
        Ok(Datum::Int(if call.text(0).to_uppercase().starts_with("UTF") { 6 } else { -1 }))
    }),
    lenient(function("array_to_string", (2, 3), text, |call| {
        let (Datum::List(items), false) = (&call.values[0], call.values[1].is_null()) else { return Ok(Datum::Null) };
        let of = call.types[0].element().cloned().unwrap_or(Type::Text);
        let null = call.values.get(2).filter(|null| !null.is_null()).map(Datum::plain);
        let item = |item: &Datum| match item {
            Datum::Null => null.clone(),
            item => Some(text_of(call.snapshot, item, &of)),
        };
        let texts: Vec<String> = items.iter().filter_map(item).collect();
        Ok(Datum::text(texts.join(&call.values[1].plain())))
    })),
    lenient(function("array_position", (2, 3), int4, |call| {
        let at = call.values[0].items().iter().position(|item| item.order(&call.values[1]).is_eq());
        Ok(at.map_or(Datum::Null, |at| Datum::Int(at as i64 + i64::from(!matches!(call.types[0], Type::Vector(_))))))
    })),
    function("array_length", (2, 2), int4, |call| Ok(count(&call.values[0]))),
    function("cardinality", (1, 1), int4, |call| Ok(Datum::Int(call.values[0].items().len() as i64))),
    function("array_lower", (2, 2), int4, |call| Ok(Datum::Int(i64::from(!matches!(call.types[0], Type::Vector(_)))))),
    function("array_upper", (2, 2), int4, |call| match count(&call.values[0]) {
        Datum::Int(count) => Ok(Datum::Int(count - i64::from(matches!(call.types[0], Type::Vector(_))))),
        other => Ok(other),
    }),
    lenient(function("array_append", (2, 2), first, |call| {
        Ok(Datum::list(call.values[0].items().iter().cloned().chain([call.values[1].clone()]).collect()))
    })),
    lenient(function("array_remove", (2, 2), first, |call| match &call.values[0] {
        Datum::List(items) => {
            Ok(Datum::list(items.iter().filter(|item| item.order(&call.values[1]).is_ne()).cloned().collect()))
        }
        _ => Ok(Datum::Null),
    })),
    lenient(function("array_cat", (2, 2), first, |call| {
        Ok(Datum::list(call.values.iter().flat_map(Datum::items).cloned().collect()))
    })),
    function("string_to_array", (2, 2), texts, |call| {
        let (text, separator) = (call.text(0), call.text(1));
        Ok(Datum::list(text.split(separator.as_str()).map(Datum::text).collect()))
    }),
    lenient(set(function(UNNEST_SEVERAL, (2, 100), elements, rows_of_elements))),
    set(function("unnest", (1, 1), element, |call| Ok(Datum::list(call.values[0].items().to_vec())))),
    set(function("generate_subscripts", (2, 3), int4, |call| {
        let from = i64::from(!matches!(call.types[0], Type::Vector(_)));
        Ok(Datum::list((from..).take(call.values[0].items().len()).map(Datum::Int).collect()))
    })),
    set(function("generate_series", (2, 3), int4, series)),
    set(function("_pg_expandarray", (1, 1), expanded, |call| {
        let row = |(number, item): (i64, &Datum)| Datum::list(vec![item.clone(), Datum::Int(number)]);
        Ok(Datum::list((1..).zip(call.values[0].items()).map(row).collect()))
    })),
    set(function("pg_partition_ancestors", (1, 1), |_| Type::RegClass, nothing)),
    set(function("pg_inherits", (1, 1), |_| Type::RegClass, nothing)),
    set(function("aclexplode", (1, 1), exploded, privileges::aclexplode)),
    function("acldefault", (2, 2), texts, privileges::acldefault),
    set(function("pg_options_to_table", (1, 1), options, nothing)),
    function("quote_ident", (1, 1), text, |call| Ok(Datum::text(quoted(&call.text(0))))),
    function("quote_literal", (1, 1), text, |call| Ok(Datum::text(literal(&call.text(0))))),
    lenient(function("quote_nullable", (1, 1), text, |call| match call.values[0] {
        Datum::Null => Ok(Datum::text("NULL")),
        _ => Ok(Datum::text(literal(&call.text(0)))),
    })),
    function("to_regclass", (1, 1), |_| Type::RegClass, |call| Ok(named(call, &Type::RegClass))),
    function("to_regtype", (1, 1), |_| Type::RegType, |call| Ok(named(call, &Type::RegType))),
    function("to_regnamespace", (1, 1), |_| Type::RegNamespace, |call| Ok(named(call, &Type::RegNamespace))),
    function("to_regrole", (1, 1), |_| Type::RegRole, |call| Ok(named(call, &Type::RegRole))),
    function("to_regproc", (1, 1), |_| Type::RegProc, |call| Ok(Datum::text(call.text(0)))),
    function("current_setting", (1, 2), text, |call| {
        let name = call.text(0);
        let is_known = call.snapshot.settings.iter().any(|(known, ..)| known.eq_ignore_ascii_case(&name));
        match (is_known, call.values.get(1).is_some_and(Datum::is_true)) {
            (true, _) => Ok(Datum::text(setting(call.snapshot, &name))),
            (false, true) => Ok(Datum::Null),
            (false, false) => {
                let message = format!("unrecognized configuration parameter \"{name}\"");
                Err(Error::new(Code::UndefinedObject, message))
            }
        }
    }),
    lenient(function("coalesce", (1, 100), first, |call| {
        Ok(call.values.iter().find(|value| !value.is_null()).cloned().unwrap_or(Datum::Null))
    })),
    lenient(function("nullif", (2, 2), first, |call| {
        let equal = call.values[0].compare(&call.values[1]).is_some_and(std::cmp::Ordering::is_eq);
        Ok(if equal { Datum::Null } else { call.values[0].clone() })
    })),
    lenient(function("greatest", (1, 100), first, |call| {
        let known = call.values.iter().filter(|value| !value.is_null());
        Ok(known.max_by(|a, b| a.order(b)).cloned().unwrap_or(Datum::Null))
    })),
    lenient(function("least", (1, 100), first, |call| {
        let known = call.values.iter().filter(|value| !value.is_null());
        Ok(known.min_by(|a, b| a.order(b)).cloned().unwrap_or(Datum::Null))
    })),
    lenient(function("concat", (1, 100), text, |call| {
        Ok(Datum::text((0..call.values.len()).map(|at| call.text(at)).collect::<String>()))
    })),
    lenient(function("format", (1, 100), text, formatted)),
    function("lower", (1, 1), text, |call| Ok(Datum::text(call.text(0).to_lowercase()))),
    function("upper", (1, 1), text, |call| Ok(Datum::text(call.text(0).to_uppercase()))),
    function("length", (1, 1), int4, |call| Ok(Datum::Int(call.text(0).chars().count() as i64))),
    function("replace", (3, 3), text, |call| Ok(Datum::text(call.text(0).replace(&call.text(1), &call.text(2))))),
    function("strpos", (2, 2), int4, |call| {
        let (text, part) = (call.text(0), call.text(1));
        Ok(Datum::Int(text.find(&part).map_or(0, |at| text[..at].chars().count() as i64 + 1)))
    }),
    function("substr", (2, 3), text, substring),
    function("substring", (2, 3), text, substring),
    function("left", (2, 2), text, |call| {
        let (text, count) = (call.text(0), call.int(1));
        let all = text.chars().count() as i64;
        let count = if count < 0 { all + count } else { count };
        Ok(Datum::text(text.chars().take(usize::try_from(count).unwrap_or(0)).collect::<String>()))
    }),
    function("right", (2, 2), text, |call| {
        let (text, count) = (call.text(0), call.int(1));
        let all = text.chars().count() as i64;
        let skipped = if count < 0 { -count } else { all - count };
        Ok(Datum::text(text.chars().skip(usize::try_from(skipped).unwrap_or(0)).collect::<String>()))
    }),
    function("btrim", (1, 2), text, |call| trimmed(call, true, true)),
    function("trim", (1, 2), text, |call| trimmed(call, true, true)),
    function("ltrim", (1, 2), text, |call| trimmed(call, true, false)),
    function("rtrim", (1, 2), text, |call| trimmed(call, false, true)),
    function("split_part", (3, 3), text, |call| {
        let (text, separator, place) = (call.text(0), call.text(1), call.int(2));
        let part = usize::try_from(place - 1).ok().and_then(|at| text.split(separator.as_str()).nth(at));
        Ok(Datum::text(part.unwrap_or("")))
    }),
    function("round", (1, 2), rounded, |call| {
        if let (Type::Float8, Some(value)) = (&call.types[0], call.values[0].float()) {
            return Ok(Datum::Float(value.round_ties_even()));
        }
        let numeric = DataType::Numeric { precision: 38, scale: 10 };
        let digits = u8::try_from(call.int(1).clamp(0, 10)).unwrap_or(0);
        let to = DataType::Numeric { precision: 38, scale: digits };
        let value = Value::Text(call.values[0].plain().into());
        let value = weft_expr::cast(value, DataType::Text, numeric, weft_expr::Local::fixed())?;
        let value = weft_expr::cast(value, numeric, to, weft_expr::Local::fixed())?;
        let text = weft_expr::text::print(value.as_ref(), to);
        Ok(text.parse().map_or(Datum::Null, Datum::Float))
    }),
    function("trunc", (1, 1), first, |call| Ok(Datum::Float(call.values[0].float().unwrap_or(0.0).trunc()))),
    lenient(function(
        "json_build_object",
        (0, 100),
        |_| Type::Json,
        |call| {
            let text = |at: usize| match (&call.values[at], &call.types[at]) {
                (Datum::Bool(_) | Datum::Null | Datum::Int(_) | Datum::Float(_), _) => json_text(&call.values[at]),
                _ => json_text(&Datum::text(call.text(at))),
            };
            let pairs = (0..call.values.len() / 2)
                .map(|pair| format!("{} : {}", json_text(&Datum::text(call.text(2 * pair))), text(2 * pair + 1)));
            Ok(Datum::text(format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))))
        },
    )),
];

fn count(value: &Datum) -> Datum {
    if value.items().is_empty() { Datum::Null } else { Datum::Int(value.items().len() as i64) }
}

fn named(call: &Arguments<'_>, data_type: &Type) -> Datum {
    object_named(call.snapshot, &call.text(0), data_type).map_or(Datum::Null, Datum::Int)
}

fn indexdef(call: &Arguments<'_>) -> Result<Datum> {
    let oid = call.relation(0);
    let Some(index) = call.snapshot.index(oid) else { return Ok(Datum::Null) };
    match usize::try_from(call.int(1)) {
        Ok(number) if number > 0 => Ok(Datum::text(index_part(call.snapshot, index, number - 1).unwrap_or_default())),
        _ => {
            Ok(Datum::text(index_definition(call.snapshot, index, call.values.len() < 3 || !call.values[2].is_true())))
        }
    }
}

/// The sequence of a column: the table is a name as SQL writes it, the column its name as it is.
fn serial_sequence(call: &Arguments<'_>) -> Result<Datum> {
    let (oid, column) = (call.known_relation(0)?, call.text(1));
    let Some(table) = call.snapshot.table(oid) else { return Ok(Datum::Null) };
    let number = table.columns.iter().position(|known| known.name == column && !known.dropped);
    let number = number.ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
        Error::new(Code::UndefinedColumn, message)
    })?;
    let is_it = |sequence: &&Sequence| {
        sequence.owner.is_some_and(|(table, column, _)| (table, column) == (oid, number as i64 + 1))
    };
    let found = call.snapshot.sequences_of(oid).find(is_it);
    known(found.map(|s| format!("{}.{}", quoted(call.snapshot.schema_name(s.schema)), quoted(&s.name))))
}

/// Bytes of a relation: what is chosen of its own and those of its indexes; NULL when there is none of the number.
fn size(call: &Arguments<'_>, chosen: fn(u64, u64) -> u64) -> Result<Datum> {
    let oid = call.known_relation(0)?;
    if call.snapshot.relation(oid).is_none() {
        return Ok(Datum::Null);
    }
    let figures = &call.snapshot.figures;
    let own = if call.snapshot.table(oid).is_some() { figures.table(oid).1 } else { figures.index(oid) };
    let indexes = call.snapshot.indexes_of(oid).map(|index| figures.index(index.oid)).sum();
    let bytes = chosen(own, indexes);
    Ok(Datum::Int(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

fn size_text(bytes: i64) -> String {
    let mut size = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        let is_small = if unit == "bytes" { size.abs() < 10 * 1024 } else { size.abs() < 20 * 1024 - 1 };
        if is_small || unit == "TB" {
            // Beyond bytes there is one more binary digit, to round by.
            return if unit == "bytes" { format!("{size} bytes") } else { format!("{} {unit}", (size + 1) / 2) };
        }
        size = if unit == "bytes" { size >> 9 } else { size >> 10 };
    }
    format!("{bytes} bytes")
}

/// The most numbers of one series.
const SERIES_MAX: usize = 1_000_000;

fn series(call: &Arguments<'_>) -> Result<Datum> {
    let (from, to) = (call.int(0), call.int(1));
    let step = if call.values.len() > 2 { call.int(2) } else { 1 };
    if step == 0 {
        let message = "step size cannot equal zero";
        return Err(Error::new(Code::InvalidParameterValue, message));
    }
    let mut all = Vec::new();
    let mut at = from;
    while (step > 0 && at <= to || step < 0 && at >= to) && all.len() < SERIES_MAX {
        all.push(Datum::Int(at));
        let Some(next) = at.checked_add(step) else { break };
        at = next;
    }
    Ok(Datum::list(all))
}

/// `format('%I.%s', a, b)`
fn formatted(call: &Arguments<'_>) -> Result<Datum> {
    let (pattern, mut next) = (call.text(0), 1);
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let kind = chars.next().unwrap_or('%');
        if kind == '%' {
            out.push('%');
            continue;
        }
        let argument = call.text(next);
        next += 1;
        match kind {
            'I' => out.push_str(&quoted(&argument)),
            'L' if call.values.get(next - 1).is_some_and(Datum::is_null) => out.push_str("NULL"),
            'L' => out.push_str(&literal(&argument)),
            _ => out.push_str(&argument),
        }
    }
    Ok(Datum::text(out))
}

/// A text in quotes; one with a backslash as `E'...'`, which is read alike whatever standard_conforming_strings says.
fn literal(text: &str) -> String {
    let escaped = text.replace('\'', "''");
    if text.contains('\\') { format!("E'{}'", escaped.replace('\\', "\\\\")) } else { format!("'{escaped}'") }
}

fn substring(call: &Arguments<'_>) -> Result<Datum> {
    if call.values.len() == 2 && !call.types[1].is_integer() && matches!(call.values[1], Datum::Text(_)) {
        return regex_part(call);
    }
    let (text, from) = (call.text(0), call.int(1));
    let end = if call.values.len() > 2 { from.saturating_add(call.int(2)) } else { i64::MAX };
    let chars = (1..).zip(text.chars()).filter(|(at, _)| (from..end).contains(at)).map(|(_, c)| c);
    Ok(Datum::text(chars.collect::<String>()))
}

fn trimmed(call: &Arguments<'_>, start: bool, end: bool) -> Result<Datum> {
    let (text, of) = (call.text(0), if call.values.len() > 1 { call.text(1) } else { " ".into() });
    let mut rest = text.as_str();
    if start {
        rest = rest.trim_start_matches(|c| of.contains(c));
    }
    if end {
        rest = rest.trim_end_matches(|c| of.contains(c));
    }
    Ok(Datum::text(rest))
}
