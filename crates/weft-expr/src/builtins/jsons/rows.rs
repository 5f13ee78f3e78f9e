//! The rows of JSON.
//!
//! PostgreSQL's functions with defaults have rows here that `pg_proc` has not; their numbers are our own, from 90030
//! on. A path of one step is a routine's.

use weft_format::{DataType, Element, Result, Value};

use super::super::builtin::{Arg, Builtin, Call, builtin};
use super::collected::{
    self, JSON_ITEM, JSON_LIST, JSON_OBJECT, JSON_PAIR, JSONB_OBJECT, JSONB_PAIR, json_object_of, jsonb_object_of,
};
use super::inserted::jsonb_insert;
use super::made::{array_to_json, object_of_lists, object_of_pairs};
use super::members;
use super::read::{delete_keys, extract_path, extract_path_text, jsonb_set_lax};
use super::records::{self, JSON_FIELD, JSON_ROW, ROW_TEXT};
use crate::routines::{Routine, Signature, call as call_routine};

const BOOL: Arg = Arg::Of(DataType::Boolean);
const INT: Arg = Arg::Of(DataType::Integer);
const JSON: Arg = Arg::Of(DataType::Json);
const JSONB: Arg = Arg::Of(DataType::Jsonb);
const TEXT: Arg = Arg::Of(DataType::Text);
const JSONS: DataType = DataType::Array(Element::Json);
const STRINGS: DataType = DataType::Array(Element::Text);
const TEXTS: Arg = Arg::Of(DataType::Array(Element::Text));

/// The rows.
pub(in super::super) static ROWS: &[Builtin] = &[
    builtin(3202, "json_object", &[TEXTS], DataType::Json, object_of_pairs),
    builtin(3203, "json_object", &[TEXTS, TEXTS], DataType::Json, object_of_lists),
    builtin(3263, "jsonb_object", &[TEXTS], DataType::Jsonb, object_of_pairs),
    builtin(3264, "jsonb_object", &[TEXTS, TEXTS], DataType::Jsonb, object_of_lists),
    builtin(3153, "array_to_json", &[Arg::AnyArray], DataType::Json, array_to_json).stable(),
    builtin(3154, "array_to_json", &[Arg::AnyArray, BOOL], DataType::Json, array_to_json).stable(),
    builtin(3579, "jsonb_insert", &[JSONB, TEXTS, JSONB, BOOL], DataType::Jsonb, jsonb_insert),
    builtin(90_030, "jsonb_insert", &[JSONB, TEXTS, JSONB], DataType::Jsonb, jsonb_insert),
    builtin(5054, "jsonb_set_lax", &[JSONB, TEXTS, JSONB, BOOL, TEXT], DataType::Jsonb, jsonb_set_lax).lenient(),
    builtin(90_031, "jsonb_set_lax", &[JSONB, TEXTS, JSONB, BOOL], DataType::Jsonb, jsonb_set_lax).lenient(),
    builtin(90_032, "jsonb_set_lax", &[JSONB, TEXTS, JSONB], DataType::Jsonb, jsonb_set_lax).lenient(),
    builtin(3951, "json_extract_path", &[JSON, TEXT], DataType::Json, extract_path).variadic(),
    builtin(3953, "json_extract_path_text", &[JSON, TEXT], DataType::Text, extract_path_text).variadic(),
    builtin(3217, "jsonb_extract_path", &[JSONB, TEXT], DataType::Jsonb, extract_path).variadic(),
    builtin(3940, "jsonb_extract_path_text", &[JSONB, TEXT], DataType::Text, extract_path_text).variadic(),
    builtin(3947, "json_object_field", &[JSON, TEXT], DataType::Json, |call| operator(call, Routine::JsonGet)),
    builtin(3948, "json_object_field_text", &[JSON, TEXT], DataType::Text, |call| operator(call, Routine::JsonGetText)),
    builtin(3949, "json_array_element", &[JSON, INT], DataType::Json, |call| operator(call, Routine::JsonGet)),
    builtin(3950, "json_array_element_text", &[JSON, INT], DataType::Text, |call| operator(call, Routine::JsonGetText)),
    builtin(3478, "jsonb_object_field", &[JSONB, TEXT], DataType::Jsonb, |call| operator(call, Routine::JsonGet)),
    builtin(3214, "jsonb_object_field_text", &[JSONB, TEXT], DataType::Text, |call| {
        operator(call, Routine::JsonGetText)
    }),
    builtin(3215, "jsonb_array_element", &[JSONB, INT], DataType::Jsonb, |call| operator(call, Routine::JsonGet)),
    builtin(3216, "jsonb_array_element_text", &[JSONB, INT], DataType::Text, |call| {
        operator(call, Routine::JsonGetText)
    }),
    builtin(4047, "jsonb_exists", &[JSONB, TEXT], DataType::Boolean, |call| operator(call, Routine::JsonHasKey)),
    builtin(4048, "jsonb_exists_any", &[JSONB, TEXTS], DataType::Boolean, |call| operator(call, Routine::JsonHasAny)),
    builtin(4049, "jsonb_exists_all", &[JSONB, TEXTS], DataType::Boolean, |call| operator(call, Routine::JsonHasAll)),
    builtin(4046, "jsonb_contains", &[JSONB, JSONB], DataType::Boolean, |call| operator(call, Routine::JsonContains)),
    builtin(4050, "jsonb_contained", &[JSONB, JSONB], DataType::Boolean, |call| operator(call, Routine::JsonContained)),
    builtin(3301, "jsonb_concat", &[JSONB, JSONB], DataType::Jsonb, |call| operator(call, Routine::JsonConcat)),
    builtin(3302, "jsonb_delete", &[JSONB, TEXT], DataType::Jsonb, |call| operator(call, Routine::JsonDelete)),
    builtin(3303, "jsonb_delete", &[JSONB, INT], DataType::Jsonb, |call| operator(call, Routine::JsonDelete)),
    // Of one key it is the function above.
    builtin(3343, "jsonb_delete", &[JSONB, TEXT, TEXT], DataType::Jsonb, delete_keys).variadic().lenient(),
    builtin(3304, "jsonb_delete_path", &[JSONB, TEXTS], DataType::Jsonb, |call| {
        operator(call, Routine::JsonDeletePath)
    }),
    // What aggregates, functions in FROM and whole rows are written as.
    builtin(90_033, JSON_ITEM, &[Arg::Any], DataType::Json, collected::json_item).stable(),
    builtin(90_039, JSON_ITEM, &[Arg::Any, BOOL], DataType::Json, collected::json_item).stable(),
    builtin(90_034, JSON_LIST, &[Arg::AnyArray], DataType::Json, collected::json_list).stable(),
    builtin(90_035, JSON_PAIR, &[Arg::Any, Arg::Any], DataType::Json, collected::json_pair).stable().lenient(),
    builtin(90_036, JSON_OBJECT, &[Arg::Of(JSONS)], DataType::Json, json_object_of),
    builtin(90_037, JSONB_PAIR, &[Arg::Any, Arg::Any], DataType::Json, collected::jsonb_pair).stable().lenient(),
    builtin(90_038, JSONB_OBJECT, &[Arg::Of(JSONS)], DataType::Jsonb, jsonb_object_of),
    builtin(90_040, "weft_json_keys", &[JSON, TEXT], STRINGS, members::keys),
    builtin(90_041, "weft_jsonb_keys", &[JSONB, TEXT], STRINGS, members::keys),
    builtin(90_042, "weft_json_values", &[JSON, TEXT], JSONS, members::values),
    builtin(90_043, "weft_jsonb_values", &[JSONB, TEXT], DataType::Array(Element::Jsonb), members::values),
    builtin(90_044, "weft_json_texts", &[JSON, TEXT], STRINGS, members::plain_texts),
    builtin(90_045, "weft_jsonb_texts", &[JSONB, TEXT], STRINGS, members::plain_texts),
    builtin(90_046, "weft_json_members", &[JSON, TEXT], STRINGS, members::rows),
    builtin(90_047, "weft_jsonb_members", &[JSONB, TEXT], STRINGS, members::rows),
    builtin(90_050, JSON_ROW, &[BOOL, TEXT, Arg::Any], DataType::Json, records::json_row).stable().lenient().variadic(),
    builtin(90_051, ROW_TEXT, &[TEXT, Arg::Any], DataType::Text, records::row_text).stable().lenient().variadic(),
    builtin(90_052, "weft_json_record", &[JSON, TEXT], DataType::Json, records::record),
    builtin(90_053, "weft_jsonb_record", &[JSONB, TEXT], DataType::Jsonb, records::record),
    builtin(90_054, "weft_json_records", &[JSON, TEXT], JSONS, records::records),
    builtin(90_055, "weft_jsonb_records", &[JSONB, TEXT], DataType::Array(Element::Jsonb), records::records),
    builtin(90_056, JSON_FIELD, &[JSON, TEXT, Arg::Any], DataType::Text, records::field)
        .stable()
        .lenient()
        .giving(|args| args[2]),
    builtin(90_057, JSON_FIELD, &[JSONB, TEXT, Arg::Any], DataType::Text, records::field)
        .stable()
        .lenient()
        .giving(|args| args[2]),
];

fn operator(call: &Call<'_>, routine: Routine) -> Result<Value> {
    call_routine(&Signature::new(routine, call.types, call.result), call.args, call.local, call.random)
}
