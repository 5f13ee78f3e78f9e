//! Numbers that are not PostgreSQL's: of forms that there are defaults for there, and of functions that a statement's
//! text is rewritten to.

use weft_format::{Code, DataType, Element, Error, Result, Value};

use super::builtin::{Arg, Builtin, Call, builtin};
use super::parts::{put_element, put_json, put_slice, slice};
use super::patterns::quantified;
use crate::domains;
use crate::tree::EvalContext;

/// From here on numbers are not PostgreSQL's, and `pg_proc` does not have them.
pub(super) const FIRST: u32 = 90_000;

/// `weft_next_number`
const NEXT_NUMBER: u32 = FIRST + 900;

/// `weft_as_domain`
const AS_DOMAIN: u32 = FIRST + 901;

/// `weft_put_element`, `weft_put_slice`, `weft_put_json`
const PUT_ELEMENT: u32 = FIRST + 902;
const PUT_SLICE: u32 = FIRST + 903;
const PUT_JSON: u32 = FIRST + 904;
/// `weft_slice`
const SLICE_OF: u32 = FIRST + 905;
/// `weft_quantified`
const QUANTIFIED: u32 = FIRST + 906;

pub(super) static ROWS: &[Builtin] = &[
    builtin(NEXT_NUMBER, "weft_next_number", &[Arg::Of(DataType::BigInt)], DataType::BigInt, next_number).volatile(),
    builtin(AS_DOMAIN, "weft_as_domain", &[Arg::Any, Arg::Of(DataType::Text)], DataType::Text, as_domain)
        .lenient()
        .stable()
        .giving(|args| args[0]),
    builtin(PUT_ELEMENT, "weft_put_element", &[Arg::AnyArray, Arg::AnyElement, INT], DataType::Text, put_element)
        .lenient()
        .giving(|args| args[0]),
    builtin(PUT_SLICE, "weft_put_slice", SLICE, DataType::Text, put_slice).lenient().giving(|args| args[0]),
    builtin(SLICE_OF, "weft_slice", &[Arg::AnyArray, INT, INT], DataType::Text, slice).giving(|args| args[0]),
    builtin(QUANTIFIED, "weft_quantified", PATTERNS, DataType::Boolean, quantified).lenient(),
    builtin(PUT_JSON, "weft_put_json", &[JSONB, JSONB, Arg::Any], DataType::Jsonb, put_json).variadic().lenient(),
];

const INT: Arg = Arg::Of(DataType::Integer);
const JSONB: Arg = Arg::Of(DataType::Jsonb);
const TEXT: Arg = Arg::Of(DataType::Text);
const PATTERNS: &[Arg] = &[TEXT, Arg::Of(DataType::Boolean), TEXT, Arg::Of(DataType::Array(Element::Text))];
const SLICE: &[Arg] = &[Arg::AnyArray, Arg::AnyArray, Arg::Of(DataType::Text), INT, INT];

/// The next number of one of the statement's sequences ([`crate::Numbers`]).
fn next_number(call: &Call<'_>) -> Result<Value> {
    call.local.numbers.next(call.int(0)).map(Value::Int)
}

/// A value, if the rules of a domain allow it ([`domains::note`]).
fn as_domain(call: &Call<'_>) -> Result<Value> {
    let hash = if call.args[1].is_null() { None } else { u64::from_str_radix(call.text(1), 16).ok() };
    let known = hash.and_then(domains::known);
    let domain = known.ok_or_else(|| Error::new(Code::UndefinedObject, "the rules of the domain are not known"))?;
    let value = call.args[0].clone();
    domain.test(&value, &EvalContext { params: &[], local: call.local, rng: None })?;
    Ok(value)
}
