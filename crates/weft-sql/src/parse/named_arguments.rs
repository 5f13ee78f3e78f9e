//! Named arguments of functions that PostgreSQL's catalog names the arguments of, as arguments by place.
//!
//! ```text
//!   make_interval(days => 3)                         make_interval(0, 0, 0, 3)
//!   jsonb_set(j, '{a}', replacement => '1')          jsonb_set(j, '{a}', '1')
//!   jsonb_path_query(j, '$.a', silent := true)       jsonb_path_query(j, '$.a', '{}', true)
//! ```
//!
//! A call whose names are not those of such a function stays as it is: users' functions have names, too.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, Statement, TableFactor, Value, VisitorMut,
};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use super::names::fold;

/// What stands for an argument that is left out before one that is given.
#[derive(Clone, Copy)]
enum Absent {
    /// It cannot be left out.
    Required,
    Zero,
    True,
    False,
    EmptyObject,
    /// The last one, for which nothing needs to stand.
    Last,
}

use Absent::{EmptyObject, False, Last, Required, True, Zero};

type Names = &'static [(&'static str, Absent)];

/// `vars` and `silent`.
const PATH: Names = &[("target", Required), ("path", Required), ("vars", EmptyObject), ("silent", False)];

/// The names of a function's arguments in PostgreSQL 15's `pg_proc`.
fn names_of(function: &str) -> Option<Names> {
    const JSON: Names = &[("from_json", Required)];
    const ELEMENT: Names = &[("from_json", Required), ("element_index", Required)];
    const FIELD: Names = &[("from_json", Required), ("field_name", Required)];
    Some(match function {
        "json_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements"
        | "jsonb_array_elements_text"
        | "json_each"
        | "json_each_text"
        | "jsonb_each"
        | "jsonb_each_text" => JSON,
        "json_array_element" | "json_array_element_text" | "jsonb_array_element" | "jsonb_array_element_text" => {
            ELEMENT
        }
        "json_object_field" | "json_object_field_text" | "jsonb_object_field" | "jsonb_object_field_text" => FIELD,
        "json_populate_record" | "json_populate_recordset" => {
            &[("base", Required), ("from_json", Required), ("use_json_as_text", False)]
        }
        "jsonb_insert" => {
            &[("jsonb_in", Required), ("path", Required), ("replacement", Required), ("insert_after", False)]
        }
        "jsonb_path_exists"
        | "jsonb_path_exists_tz"
        | "jsonb_path_match"
        | "jsonb_path_match_tz"
        | "jsonb_path_query"
        | "jsonb_path_query_tz"
        | "jsonb_path_query_array"
        | "jsonb_path_query_array_tz"
        | "jsonb_path_query_first"
        | "jsonb_path_query_first_tz" => PATH,
        "jsonb_set" => {
            &[("jsonb_in", Required), ("path", Required), ("replacement", Required), ("create_if_missing", True)]
        }
        "jsonb_set_lax" => &[
            ("jsonb_in", Required),
            ("path", Required),
            ("replacement", Required),
            ("create_if_missing", True),
            ("null_value_treatment", Last),
        ],
        "make_date" => &[("year", Required), ("month", Required), ("day", Required)],
        "make_interval" => &[
            ("years", Zero),
            ("months", Zero),
            ("weeks", Zero),
            ("days", Zero),
            ("hours", Zero),
            ("mins", Zero),
            ("secs", Zero),
        ],
        "make_time" => &[("hour", Required), ("min", Required), ("sec", Required)],
        "make_timestamp" => &MOMENT[..6],
        "make_timestamptz" => MOMENT,
        "parse_ident" => &[("str", Required), ("strict", Last)],
        _ => return None,
    })
}

const MOMENT: Names = &[
    ("year", Required),
    ("month", Required),
    ("mday", Required),
    ("hour", Required),
    ("min", Required),
    ("sec", Required),
    ("timezone", Last),
];

/// Writes such calls so; `tokens` are the statement's.
pub(super) fn placed(tree: &mut Statement, tokens: &[TokenWithSpan]) -> Result<()> {
    if !tokens.iter().any(|token| matches!(token.token, Token::RArrow | Token::Assignment)) {
        return Ok(());
    }
    match VisitMut::visit(tree, &mut Placer) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Placer;

impl VisitorMut for Placer {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let placed = match expr {
            Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) => place_list(name, list),
            _ => Ok(()),
        };
        placed.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let placed = match factor {
            TableFactor::Table { name, args: Some(args), .. } => place(name, &mut args.args),
            TableFactor::Function { name, args, .. } => place(name, args),
            _ => Ok(()),
        };
        placed.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

fn place_list(name: &ObjectName, list: &mut FunctionArgumentList) -> Result<()> {
    place(name, &mut list.args)
}

fn place(function: &ObjectName, args: &mut Vec<FunctionArg>) -> Result<()> {
    let Some(first) = args.iter().position(|arg| name_of(arg).is_some()) else { return Ok(()) };
    let named = &args[first..];
    if let Some(plain) = named.iter().find(|arg| name_of(arg).is_none()) {
        let message = "positional argument cannot follow named argument";
        return Err(Error::new(Code::SyntaxError, message).detail(format!("{plain} stands behind a named argument.")));
    }
    let given: Vec<String> = named.iter().filter_map(name_of).map(fold).collect();
    if let Some(twice) = (1..given.len()).find(|&at| given[..at].contains(&given[at])) {
        let message = format!("argument name \"{}\" used more than once", given[twice]);
        return Err(Error::new(Code::SyntaxError, message));
    }
    let parts: Vec<String> = function.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
    let known = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [name] | ["pg_catalog", name] => names_of(name),
        _ => None,
    };
    let Some(known) = known.filter(|known| first <= known.len()) else { return Ok(()) };
    let places: Option<Vec<usize>> =
        given.iter().map(|name| (first..known.len()).find(|&at| known[at].0 == *name)).collect();
    let Some(places) = places else { return Ok(()) };
    let count = places.iter().max().map_or(first, |last| last + 1);
    let mut made = args[..first].to_vec();
    for (at, (_, absent)) in known.iter().enumerate().take(count).skip(first) {
        match (places.iter().position(|place| *place == at), value_of(*absent)) {
            (Some(place), _) => made.push(unnamed(&args[first + place])),
            (None, Some(value)) => made.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(value)))),
            (None, None) => return Ok(()),
        }
    }
    // What must be there, is.
    if known[count..].iter().all(|(_, absent)| !matches!(absent, Required)) {
        *args = made;
    }
    Ok(())
}

fn name_of(arg: &FunctionArg) -> Option<&Ident> {
    match arg {
        FunctionArg::Named { name, .. } => Some(name),
        // The parser takes `name := value` for an operator.
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
            left, op: BinaryOperator::Assignment, ..
        })) => match &**left {
            Expr::Identifier(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn unnamed(arg: &FunctionArg) -> FunctionArg {
    match arg {
        FunctionArg::Named { arg, .. } => FunctionArg::Unnamed(arg.clone()),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
            op: BinaryOperator::Assignment, right, ..
        })) => FunctionArg::Unnamed(FunctionArgExpr::Expr((**right).clone())),
        other => other.clone(),
    }
}

fn value_of(absent: Absent) -> Option<Value> {
    match absent {
        Required | Last => None,
        Zero => Some(Value::Number("0".into(), false)),
        True => Some(Value::Boolean(true)),
        False => Some(Value::Boolean(false)),
        EmptyObject => Some(Value::SingleQuotedString("{}".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Parsed, parse};

    #[test]
    fn named_arguments_come_to_their_places() {
        let cases = [
            ("SELECT make_interval(days => 3)", "SELECT make_interval(0, 0, 0, 3)"),
            ("SELECT make_interval(1, hours := 2, months => 5)", "SELECT make_interval(1, 5, 0, 0, 2)"),
            ("SELECT jsonb_set(path => p, jsonb_in => j, replacement => r)", "SELECT jsonb_set(j, p, r)"),
            (
                "SELECT * FROM jsonb_path_query(j, '$', silent => true)",
                "SELECT * FROM jsonb_path_query(j, '$', '{}', true)",
            ),
            ("SELECT make_interval(dayz => 3)", "SELECT make_interval(dayz => 3)"),
            ("SELECT make_date(year => 3)", "SELECT make_date(year => 3)"),
            ("SELECT s.make_interval(days => 3)", "SELECT s.make_interval(days => 3)"),
        ];
        for (sql, wanted) in cases {
            let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap().pop() else { panic!("{sql}") };
            assert_eq!(statement.to_string(), wanted);
        }
        assert!(parse("SELECT make_interval(days => 3, 1)").is_err());
        assert!(parse("SELECT make_interval(days => 3, days => 1)").is_err());
    }
}
