//! Routines of arrays.

use std::cmp::Ordering;

use weft_format::predicate::CompareOp;
use weft_format::{ArrayValue, DataType, Result, Value};

use super::routine::{Routine, Signature};
use crate::style::Local;
use crate::text::{parse, print_as};

pub(super) fn call(signature: &Signature, args: &[Value], local: &Local) -> Result<Value> {
    let (routine, types, result) = (signature.routine, signature.args.as_slice(), signature.result);
    use Routine as R;
    let element = types.iter().find_map(|data_type| data_type.element()).or(result.element());
    let element = element.unwrap_or(DataType::Text);
    let list = |value: &Value| match value {
        Value::Array(array) => array.values(element),
        _ => Vec::new(),
    };
    let made = |values: &[Value]| Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref)));
    let count = |value: &Value| list(value).len() as i64;
    Ok(match (routine, args) {
        (R::ArrayMake, values) => made(values),
        (R::ArrayElement, [array, Value::Int(index)]) => {
            let place = usize::try_from(index - 1).ok();
            place.and_then(|place| list(array).into_iter().nth(place)).unwrap_or(Value::Null)
        }
        (R::ArrayLength, [array, Value::Int(1)]) if count(array) > 0 => Value::Int(count(array)),
        (R::ArrayLower, [array, Value::Int(1)]) if count(array) > 0 => Value::Int(1),
        (R::ArrayLength | R::ArrayLower, _) => Value::Null,
        (R::ArrayDimensions, [array]) => {
            if count(array) > 0 {
                Value::Int(1)
            } else {
                Value::Null
            }
        }
        (R::Cardinality, [array]) => Value::Int(count(array)),
        (R::ArrayToString, args) => to_text(args, element, list, local),
        (R::StringToArray, args) => split(args, element, local)?,
        (R::ArrayAppend, [array, value]) => made(&[list(array), vec![value.clone()]].concat()),
        (R::ArrayPrepend, [value, array]) => made(&[vec![value.clone()], list(array)].concat()),
        (R::ArrayConcat, [Value::Null, Value::Null]) => Value::Null,
        (R::ArrayConcat, [a, b]) => made(&[list(a), list(b)].concat()),
        (R::ArrayContains, [a, b]) => Value::Bool(has_all(&list(a), &list(b))),
        (R::ArrayContained, [a, b]) => Value::Bool(has_all(&list(b), &list(a))),
        (R::ArrayOverlaps, [a, b]) => {
            let (a, b) = (list(a), list(b));
            Value::Bool(b.iter().any(|value| has(&a, value)))
        }
        (R::ArrayPosition | R::ArrayRemove | R::ArrayReplace, [Value::Null, ..]) => Value::Null,
        (R::ArrayPosition, [array, value, ..]) => {
            let place = list(array).iter().position(|item| is_same(item, value));
            place.map_or(Value::Null, |place| Value::Int(place as i64 + 1))
        }
        (R::ArrayRemove, [array, value]) => {
            made(&list(array).into_iter().filter(|item| !is_same(item, value)).collect::<Vec<_>>())
        }
        (R::ArrayReplace, [array, from, to]) => {
            let replaced = list(array).into_iter().map(|item| if is_same(&item, from) { to.clone() } else { item });
            made(&replaced.collect::<Vec<_>>())
        }
        (R::AnyOf(op), [value, array]) => quantified(op, value, array, element, true),
        (R::AllOf(op), [value, array]) => quantified(op, value, array, element, false),
        (routine, args) => unreachable!("{routine:?} was found for its types, not {args:?}"),
    })
}

fn is_same(a: &Value, b: &Value) -> bool {
    a.as_ref().compare(b.as_ref()) == Ordering::Equal
}

/// Whether a value is in a list; NULL is in none.
fn has(list: &[Value], value: &Value) -> bool {
    !value.is_null() && list.iter().any(|item| is_same(item, value))
}

fn has_all(list: &[Value], wanted: &[Value]) -> bool {
    wanted.iter().all(|value| has(list, value))
}

/// `value op ANY (array)`, `value op ALL (array)`: NULL where an unknown comparison would decide.
fn quantified(op: CompareOp, value: &Value, array: &Value, element: DataType, any: bool) -> Value {
    let Value::Array(array) = array else { return Value::Null };
    let mut unknown = false;
    for item in array.values(element) {
        if item.is_null() || value.is_null() {
            unknown = true;
        } else if op.holds(value.as_ref().compare(item.as_ref())) == any {
            return Value::Bool(any);
        }
    }
    if unknown { Value::Null } else { Value::Bool(!any) }
}

/// `array_to_string(array, separator [, null text])`
fn to_text(args: &[Value], element: DataType, list: impl Fn(&Value) -> Vec<Value>, local: &Local) -> Value {
    let (Value::Array(_), Value::Text(separator)) = (&args[0], &args[1]) else { return Value::Null };
    let null_text = match args.get(2) {
        Some(Value::Text(text)) => Some(text.to_string()),
        _ => None,
    };
    let texts = list(&args[0]).into_iter().filter_map(|item| match item {
        Value::Null => null_text.clone(),
        item => Some(print_as(item.as_ref(), element, &local.style)),
    });
    Value::Text(texts.collect::<Vec<_>>().join(separator).into())
}

/// `string_to_array(text, separator [, null text])`: without a separator, into characters.
fn split(args: &[Value], element: DataType, local: &Local) -> Result<Value> {
    let Value::Text(text) = &args[0] else { return Ok(Value::Null) };
    let null_text = args.get(2).filter(|value| !value.is_null());
    let parts: Vec<String> = match &args[1] {
        _ if text.is_empty() => Vec::new(),
        Value::Text(separator) if separator.is_empty() => vec![text.to_string()],
        Value::Text(separator) => text.split(&**separator).map(str::to_owned).collect(),
        _ => text.chars().map(String::from).collect(),
    };
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        let part = parse(&part, element, local)?;
        values.push(if Some(&part) == null_text { Value::Null } else { part });
    }
    Ok(Value::Array(ArrayValue::new(element, values.iter().map(Value::as_ref))))
}
