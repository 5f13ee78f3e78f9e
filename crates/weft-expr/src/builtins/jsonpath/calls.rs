//! The functions and their arguments.
//!
//! ```text
//!   jsonb_path_query_array('[1, 2, 3]', '$[*] ? (@ > $min)', '{"min": 1}')     [2, 3]
//!   '{"a": 1}' @? 'strict $.b'                                                 NULL: errors are suppressed
//! ```
//!
//! PostgreSQL's functions have defaults; theirs are rows here that `pg_proc` has not, with numbers of our own, from
//! 90100 on.

use weft_format::{ArrayValue, DataType, Element, Error, Result, Value, ValueRef};

use super::errors::Kind;
use super::item::Item;
use super::kept::path_of;
use super::walk::{Outcome, Walk};
use crate::builtins::builtin::{Arg, Builtin, Call, builtin};
use crate::builtins::limits::check_pieces;
use crate::json;

const JSONB: Arg = Arg::Of(DataType::Jsonb);
const PATH: Arg = Arg::Of(DataType::JsonPath);
const BOOL: Arg = Arg::Of(DataType::Boolean);
const BOOLEAN: DataType = DataType::Boolean;
const ROWS_TYPE: DataType = DataType::Array(Element::Jsonb);

const TWO: &[Arg] = &[JSONB, PATH];
const THREE: &[Arg] = &[JSONB, PATH, JSONB];
const FOUR: &[Arg] = &[JSONB, PATH, JSONB, BOOL];

/// The rows.
pub(in super::super) static ROWS: &[Builtin] = &[
    builtin(4005, "jsonb_path_exists", FOUR, BOOLEAN, |call| exists(call, false)),
    builtin(90_100, "jsonb_path_exists", THREE, BOOLEAN, |call| exists(call, false)),
    builtin(90_101, "jsonb_path_exists", TWO, BOOLEAN, |call| exists(call, false)),
    builtin(4009, "jsonb_path_match", FOUR, BOOLEAN, |call| matches(call, false)),
    builtin(90_102, "jsonb_path_match", THREE, BOOLEAN, |call| matches(call, false)),
    builtin(90_103, "jsonb_path_match", TWO, BOOLEAN, |call| matches(call, false)),
    builtin(4006, "jsonb_path_query", FOUR, ROWS_TYPE, |call| query(call, false)).set(),
    builtin(90_104, "jsonb_path_query", THREE, ROWS_TYPE, |call| query(call, false)).set(),
    builtin(90_105, "jsonb_path_query", TWO, ROWS_TYPE, |call| query(call, false)).set(),
    builtin(4007, "jsonb_path_query_array", FOUR, DataType::Jsonb, |call| query_array(call, false)),
    builtin(90_106, "jsonb_path_query_array", THREE, DataType::Jsonb, |call| query_array(call, false)),
    builtin(90_107, "jsonb_path_query_array", TWO, DataType::Jsonb, |call| query_array(call, false)),
    builtin(4008, "jsonb_path_query_first", FOUR, DataType::Jsonb, |call| query_first(call, false)),
    builtin(90_108, "jsonb_path_query_first", THREE, DataType::Jsonb, |call| query_first(call, false)),
    builtin(90_109, "jsonb_path_query_first", TWO, DataType::Jsonb, |call| query_first(call, false)),
    builtin(1177, "jsonb_path_exists_tz", FOUR, BOOLEAN, |call| exists(call, true)).present(),
    builtin(90_110, "jsonb_path_exists_tz", THREE, BOOLEAN, |call| exists(call, true)).present(),
    builtin(90_111, "jsonb_path_exists_tz", TWO, BOOLEAN, |call| exists(call, true)).present(),
    builtin(2030, "jsonb_path_match_tz", FOUR, BOOLEAN, |call| matches(call, true)).present(),
    builtin(90_112, "jsonb_path_match_tz", THREE, BOOLEAN, |call| matches(call, true)).present(),
    builtin(90_113, "jsonb_path_match_tz", TWO, BOOLEAN, |call| matches(call, true)).present(),
    builtin(1179, "jsonb_path_query_tz", FOUR, ROWS_TYPE, |call| query(call, true)).set().present(),
    builtin(90_114, "jsonb_path_query_tz", THREE, ROWS_TYPE, |call| query(call, true)).set().present(),
    builtin(90_115, "jsonb_path_query_tz", TWO, ROWS_TYPE, |call| query(call, true)).set().present(),
    builtin(1180, "jsonb_path_query_array_tz", FOUR, DataType::Jsonb, |call| query_array(call, true)).present(),
    builtin(90_116, "jsonb_path_query_array_tz", THREE, DataType::Jsonb, |call| query_array(call, true)).present(),
    builtin(90_117, "jsonb_path_query_array_tz", TWO, DataType::Jsonb, |call| query_array(call, true)).present(),
    builtin(2023, "jsonb_path_query_first_tz", FOUR, DataType::Jsonb, |call| query_first(call, true)).present(),
    builtin(90_118, "jsonb_path_query_first_tz", THREE, DataType::Jsonb, |call| query_first(call, true)).present(),
    builtin(90_119, "jsonb_path_query_first_tz", TWO, DataType::Jsonb, |call| query_first(call, true)).present(),
    builtin(4010, "jsonb_path_exists_opr", TWO, BOOLEAN, exists_operator),
    builtin(4011, "jsonb_path_match_opr", TWO, BOOLEAN, match_operator),
];

/// What a call asks for.
struct Asked<'a> {
    target: &'a str,
    vars: Option<&'a str>,
    is_silent: bool,
    has_zone: bool,
}

impl<'a> Asked<'a> {
    /// By a function; without variables every variable is unknown to it.
    fn by_function(call: &'a Call<'_>, has_zone: bool) -> Asked<'a> {
        let vars = if call.count() > 2 { call.text(2) } else { "{}" };
        Asked { target: call.text(0), vars: Some(vars), is_silent: call.count() > 3 && call.bool(3), has_zone }
    }

    /// By an operator, to which every variable is null.
    fn by_operator(call: &'a Call<'_>) -> Asked<'a> {
        Asked { target: call.text(0), vars: None, is_silent: true, has_zone: false }
    }

    /// Goes a path; `then` is told how that went and what was found, if it is to be collected.
    fn go<T>(
        &self,
        call: &Call<'_>,
        collects: bool,
        then: impl FnOnce(Outcome, Vec<Item<'_>>) -> Result<T>,
    ) -> Result<T> {
        let path = path_of(call.text(1))?;
        let mut walk = Walk::new(&path, self.target, self.vars)?;
        walk.tells = !self.is_silent;
        walk.session = self.has_zone.then_some(call.local);
        let mut found = Vec::new();
        let outcome = walk.all(&path, if collects { Some(&mut found) } else { None })?;
        then(outcome, found)
    }

    fn exists(&self, call: &Call<'_>) -> Result<Value> {
        self.go(call, false, |outcome, _| {
            Ok(match outcome {
                Outcome::Found => Value::Bool(true),
                Outcome::NotFound => Value::Bool(false),
                Outcome::Failed => Value::Null,
            })
        })
    }

    fn matches(&self, call: &Call<'_>) -> Result<Value> {
        self.go(call, true, |_, found| match &found[..] {
            [Item::Bool(value)] => Ok(Value::Bool(*value)),
            [Item::Null] => Ok(Value::Null),
            _ if self.is_silent => Ok(Value::Null),
            _ => Err(not_a_condition()),
        })
    }
}

fn not_a_condition() -> Error {
    Kind::SingletonRequired.error("single boolean result is expected")
}

fn exists(call: &Call<'_>, has_zone: bool) -> Result<Value> {
    Asked::by_function(call, has_zone).exists(call)
}

fn matches(call: &Call<'_>, has_zone: bool) -> Result<Value> {
    Asked::by_function(call, has_zone).matches(call)
}

fn exists_operator(call: &Call<'_>) -> Result<Value> {
    Asked::by_operator(call).exists(call)
}

fn match_operator(call: &Call<'_>) -> Result<Value> {
    Asked::by_operator(call).matches(call)
}

fn query(call: &Call<'_>, has_zone: bool) -> Result<Value> {
    Asked::by_function(call, has_zone).go(call, true, |_, found| {
        let texts: Vec<_> = found.iter().map(Item::json).collect();
        check_pieces(texts.iter().map(|text| text.len()))?;
        Ok(Value::Array(ArrayValue::new(DataType::Jsonb, texts.iter().map(|text| ValueRef::Text(text)))))
    })
}

fn query_array(call: &Call<'_>, has_zone: bool) -> Result<Value> {
    Asked::by_function(call, has_zone).go(call, true, |_, found| {
        let texts: Vec<_> = found.iter().map(Item::json).collect();
        check_pieces(texts.iter().map(|text| text.len() + 2))?;
        let array = json::array_text(texts.iter().map(|text| &**text));
        json::validate(&array)?;
        Ok(Value::Text(array.into()))
    })
}

fn query_first(call: &Call<'_>, has_zone: bool) -> Result<Value> {
    Asked::by_function(call, has_zone)
        .go(call, true, |_, found| Ok(found.first().map_or(Value::Null, |first| Value::Text(first.json().into()))))
}
