//! `pg_proc`: the table of built-in functions as its rows.
//!
//! ```text
//!   3060 left   pg_catalog   i (immutable)   strict   (25 23) → 25      pg_get_function_arguments: text, integer
//! ```

use weft_expr::builtins::{Arg, Builtin, Gives, Volatility, all};
use weft_expr::routines::Signature;
use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::DataType;

use crate::making::Rows;
use crate::schemas::PG_CATALOG;
use crate::types::{format_type, type_of};
use crate::value::Datum;

const ANY: i64 = 2276;
const ANY_ARRAY: i64 = 2277;
const ANY_ENUM: i64 = 3500;
const ANY_ELEMENT: i64 = 2283;
/// The language of functions that are part of the server.
const INTERNAL: i64 = 12;

/// Fills `pg_proc`.
pub(crate) fn fill(rows: &mut Rows<'_>) {
    for builtin in all() {
        let volatility = match builtin.volatility {
            Volatility::Immutable => "i",
            Volatility::Stable | Volatility::Present => "s",
            Volatility::Volatile => "v",
        };
        let args: Vec<Datum> = arg_oids(builtin).into_iter().map(Datum::Int).collect();
        rows.add([
            ("oid", Datum::Int(builtin.oid.into())),
            ("proname", Datum::text(builtin.name)),
            ("pronamespace", Datum::Int(PG_CATALOG.into())),
            ("proowner", Datum::Int(10)),
            ("prolang", Datum::Int(INTERNAL)),
            ("procost", Datum::Float(1.0)),
            ("prorows", Datum::Float(if builtin.is_set { 1000.0 } else { 0.0 })),
            ("provariadic", Datum::Int(variadic(builtin))),
            ("prosupport", Datum::text("-")),
            ("prokind", Datum::text("f")),
            ("proisstrict", Datum::Bool(builtin.is_strict)),
            ("proretset", Datum::Bool(builtin.is_set)),
            ("provolatile", Datum::text(volatility)),
            ("proparallel", Datum::text("s")),
            ("pronargs", Datum::Int(builtin.args.len() as i64)),
            ("prorettype", Datum::Int(result_oid(builtin))),
            ("proargtypes", Datum::list(args)),
            ("prosrc", Datum::text(builtin.name)),
        ]);
    }
}

/// What `pg_get_function_arguments` says.
pub(crate) fn arguments(oid: u32) -> Option<String> {
    let builtin = all().find(|builtin| builtin.oid == oid)?;
    let count = builtin.args.len();
    let shown = |(at, oid): (usize, i64)| {
        let name = name_of(oid);
        if builtin.is_variadic && at + 1 == count { format!("VARIADIC {name}") } else { name }
    };
    Some(arg_oids(builtin).into_iter().enumerate().map(shown).collect::<Vec<_>>().join(", "))
}

/// What `pg_get_function_result` says.
pub(crate) fn result(oid: u32) -> Option<String> {
    let builtin = all().find(|builtin| builtin.oid == oid)?;
    let name = name_of(result_oid(builtin));
    Some(if builtin.is_set { format!("SETOF {name}") } else { name })
}

fn name_of(oid: i64) -> String {
    match oid {
        ANY => "\"any\"".into(),
        ANY_ARRAY => "anyarray".into(),
        ANY_ENUM => "anyenum".into(),
        ANY_ELEMENT => "anyelement".into(),
        oid => format_type(oid, None),
    }
}

fn variadic(builtin: &Builtin) -> i64 {
    match builtin.args.last() {
        Some(last) if builtin.is_variadic => oid_of(*last),
        _ => 0,
    }
}

/// The types of the arguments; the last one of a function that takes any number of them is their array.
fn arg_oids(builtin: &Builtin) -> Vec<i64> {
    let mut oids: Vec<i64> = builtin.args.iter().map(|arg| oid_of(*arg)).collect();
    if let (Some(last), Some(Arg::Of(of)), true) = (oids.last_mut(), builtin.args.last(), builtin.is_variadic) {
        *last = of.array().map_or(*last, |array| type_of(array).0);
    }
    oids
}

fn oid_of(arg: Arg) -> i64 {
    match arg {
        Arg::Of(data_type) => type_of(data_type).0,
        Arg::Numeric => type_of(NUMERIC_DEFAULT).0,
        Arg::Any => ANY,
        Arg::AnyArray => ANY_ARRAY,
        Arg::AnyElement => ANY_ELEMENT,
        Arg::AnyEnum => ANY_ENUM,
    }
}

/// The type of the result; of rows the type of one.
fn result_oid(builtin: &'static Builtin) -> i64 {
    let gives = match builtin.gives {
        Gives::Of(data_type) => data_type,
        Gives::By(_) if builtin.args.contains(&Arg::AnyArray) => return ANY_ARRAY,
        Gives::By(_) if builtin.args.contains(&Arg::AnyEnum) => {
            return if builtin.name == "enum_range" { ANY_ARRAY } else { ANY_ENUM };
        }
        Gives::By(_) => {
            let given: Vec<Option<DataType>> = vec![None; builtin.args.len()];
            let result = builtin.signature(&given).map_or(DataType::Text, |Signature { result, .. }| result);
            match (builtin.args.contains(&Arg::AnyElement), result.element()) {
                (true, Some(_)) => return ANY_ARRAY,
                (true, None) => return ANY_ELEMENT,
                (false, _) => result,
            }
        }
    };
    let one = if builtin.is_set { gives.element().unwrap_or(gives) } else { gives };
    type_of(one).0
}
