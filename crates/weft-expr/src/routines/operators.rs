//! Operators: sign and operand types to routine.

use weft_format::DataType;
use weft_format::predicate::CompareOp;

use super::routine::{Routine, Signature};
use crate::builtins::find;
use crate::types::{common_type, is_integer, is_number};

/// The routine of an operator; an operand without a type is an untyped literal or parameter. None when the operator of
/// these types is none of the routines.
pub fn by_operator(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    let found = arrays(sign, left, right).or_else(|| jsons(sign, left, right)).or_else(|| others(sign, left, right));
    found.or_else(|| patterns(sign, left, right)).or_else(|| bits(sign, left, right))
}

/// Operators of strings of bits.
fn bits(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    let are = |given: Option<DataType>| given.is_none_or(DataType::is_bits);
    let (bit, varbit) = (Some(DataType::Bit(0)), Some(DataType::VarBit(0)));
    if let "<<" | ">>" = sign {
        let is_count = |given: Option<DataType>| given.is_none_or(|t| is_integer(t) && t != DataType::BigInt);
        let name = if sign == "<<" { "bitshiftleft" } else { "bitshiftright" };
        let is_shift = left.is_some_and(DataType::is_bits) && is_count(right);
        return if is_shift { find(name, &[bit, Some(DataType::Integer)]) } else { None };
    }
    if !are(left) || !are(right) || left.or(right).is_none() {
        return None;
    }
    match sign {
        "||" => find("bitcat", &[varbit, varbit]),
        "&" => find("bitand", &[bit, bit]),
        "|" => find("bitor", &[bit, bit]),
        "#" => find("bitxor", &[bit, bit]),
        _ => None,
    }
}

/// Whether a text matches a regular expression.
fn patterns(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    let name = match sign {
        "~" => "textregexeq",
        "!~" => "textregexne",
        "~*" => "texticregexeq",
        "!~*" => "texticregexne",
        _ => return None,
    };
    let is_text = |given: Option<DataType>| given.is_none_or(DataType::is_text);
    let text = Some(DataType::Text);
    if is_text(left) && is_text(right) { find(name, &[text, text]) } else { None }
}

fn text_array() -> DataType {
    DataType::Text.array().expect("text is a type of elements")
}

fn others(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    use DataType::{Bytea, Date, DoublePrecision, Interval, Time, Timestamp, TimestampTz};
    use Routine as R;
    let stamp = |t: DataType| matches!(t, Timestamp | TimestampTz);
    let signature = |routine, a, b, result| Some(Signature::new(routine, [a, b], result));
    match (sign, left, right) {
        ("||", Some(Bytea), None | Some(Bytea)) | ("||", None, Some(Bytea)) => {
            signature(R::BytesConcat, Bytea, Bytea, Bytea)
        }
        ("+", Some(Time), Some(Interval) | None) => signature(R::TimePlusInterval, Time, Interval, Time),
        ("+", Some(Interval), Some(Time)) => None,
        ("-", Some(Time), Some(Interval)) => signature(R::TimeMinusInterval, Time, Interval, Time),
        ("-", Some(Time), Some(Time) | None) | ("-", None, Some(Time)) => {
            signature(R::TimeMinusTime, Time, Time, Interval)
        }
        ("+", Some(Date), Some(Time)) => signature(R::DatePlusTime, Date, Time, Timestamp),
        ("+", Some(t), Some(Interval) | None) if stamp(t) => signature(R::TimestampPlusInterval, t, Interval, t),
        ("-", Some(t), Some(Interval)) if stamp(t) => signature(R::TimestampMinusInterval, t, Interval, t),
        ("-", Some(t), None) | ("-", None, Some(t)) if stamp(t) => {
            signature(R::TimestampMinusTimestamp, t, t, Interval)
        }
        ("-", Some(a), Some(b)) if (stamp(a) || a == Date) && (stamp(b) || b == Date) && (stamp(a) || stamp(b)) => {
            let common = common_type(a, b)?;
            signature(R::TimestampMinusTimestamp, common, common, Interval)
        }
        ("+", Some(Interval), Some(Interval) | None) | ("+", None, Some(Interval)) => {
            signature(R::IntervalPlus, Interval, Interval, Interval)
        }
        ("-", Some(Interval), Some(Interval) | None) | ("-", None, Some(Interval)) => {
            signature(R::IntervalMinus, Interval, Interval, Interval)
        }
        ("*", Some(Interval), factor) if factor.is_none_or(is_number) => {
            signature(R::IntervalTimes, Interval, DoublePrecision, Interval)
        }
        ("/", Some(Interval), divisor) if divisor.is_none_or(is_number) => {
            signature(R::IntervalDivide, Interval, DoublePrecision, Interval)
        }
        ("#", a, b) => {
            let common = match (a, b) {
                (Some(a), Some(b)) => common_type(a, b),
                (known, other) => known.or(other),
            };
            let common = common.filter(|common| is_integer(*common))?;
            signature(R::IntegerXor, common, common, common)
        }
        _ => None,
    }
}

fn jsons(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    use DataType::{Boolean, Integer, Json, JsonPath, Jsonb, Text};
    use Routine as R;
    let signature = |routine, a, b, result| Some(Signature::new(routine, [a, b], result));
    let is_path = |given: Option<DataType>| given.is_none_or(|given| given == JsonPath);
    match (sign, left) {
        ("@?", None | Some(Jsonb)) if is_path(right) => {
            return find("jsonb_path_exists_opr", &[Some(Jsonb), Some(JsonPath)]);
        }
        ("@@", _) if is_path(right) && (left == Some(Jsonb) || left.is_none() && right.is_some()) => {
            return find("jsonb_path_match_opr", &[Some(Jsonb), Some(JsonPath)]);
        }
        ("<@", _) if right == Some(Jsonb) && left.is_none_or(|left| left == Jsonb) => {
            return signature(R::JsonContained, Jsonb, Jsonb, Boolean);
        }
        ("@>" | "||", None) if right == Some(Jsonb) => {
            let (routine, result) = if sign == "||" { (R::JsonConcat, Jsonb) } else { (R::JsonContains, Boolean) };
            return signature(routine, Jsonb, Jsonb, result);
        }
        _ => {}
    }
    let left = left.filter(|left| matches!(left, Json | Jsonb))?;
    let step = match right {
        Some(index) if is_integer(index) => Some(Integer),
        Some(key) if key.is_text() => Some(Text),
        None => Some(Text),
        Some(_) => None,
    };
    let is_like = |wanted: DataType| right.is_none_or(|right| right == wanted);
    match sign {
        "->" => signature(R::JsonGet, left, step?, left),
        "->>" => signature(R::JsonGetText, left, step?, Text),
        "#>" if is_like(text_array()) => signature(R::JsonPath, left, text_array(), left),
        "#>>" if is_like(text_array()) => signature(R::JsonPathText, left, text_array(), Text),
        _ if left == Json => None,
        "@>" if is_like(Jsonb) => signature(R::JsonContains, Jsonb, Jsonb, Boolean),
        "<@" if is_like(Jsonb) => signature(R::JsonContained, Jsonb, Jsonb, Boolean),
        "||" if is_like(Jsonb) => signature(R::JsonConcat, Jsonb, Jsonb, Jsonb),
        "?" if right.is_none_or(DataType::is_text) => signature(R::JsonHasKey, Jsonb, Text, Boolean),
        "?|" if is_like(text_array()) => signature(R::JsonHasAny, Jsonb, text_array(), Boolean),
        "?&" if is_like(text_array()) => signature(R::JsonHasAll, Jsonb, text_array(), Boolean),
        "#-" if is_like(text_array()) => signature(R::JsonDeletePath, Jsonb, text_array(), Jsonb),
        "-" if right == Some(text_array()) => signature(R::JsonDelete, Jsonb, text_array(), Jsonb),
        "-" => signature(R::JsonDelete, Jsonb, step?, Jsonb),
        _ => None,
    }
}

fn arrays(sign: &str, left: Option<DataType>, right: Option<DataType>) -> Option<Signature> {
    let is_array = |data_type: Option<DataType>| data_type.is_some_and(|t| t.element().is_some());
    if !is_array(left) && !is_array(right) {
        return None;
    }
    let both = match (left, right) {
        (Some(left), Some(right)) => common_type(left, right),
        (known, other) => known.or(other),
    };
    let routine = match sign {
        "@>" => Routine::ArrayContains,
        "<@" => Routine::ArrayContained,
        "&&" => Routine::ArrayOverlaps,
        "||" => {
            if let Some(array) = both {
                return Some(Signature::new(Routine::ArrayConcat, [array, array], array));
            }
            let is_append = is_array(left);
            let (array, value) = if is_append { (left?, right?) } else { (right?, left?) };
            let element = common_type(array.element()?, value)?;
            let array = element.array()?;
            return Some(if is_append {
                Signature::new(Routine::ArrayAppend, [array, element], array)
            } else {
                Signature::new(Routine::ArrayPrepend, [element, array], array)
            });
        }
        _ => return None,
    };
    Some(Signature::new(routine, [both?, both?], DataType::Boolean))
}

/// `value op ANY (array)` and `value op ALL (array)`.
pub fn quantified(op: CompareOp, any: bool, value: Option<DataType>, array: Option<DataType>) -> Option<Signature> {
    let element = match (value, array.map(DataType::element)) {
        (Some(value), Some(element)) => common_type(value, element?)?,
        (Some(value), None) => value,
        (None, Some(element)) => element?,
        (None, None) => DataType::Text,
    };
    let routine = if any { Routine::AnyOf(op) } else { Routine::AllOf(op) };
    Some(Signature::new(routine, [element, element.array()?], DataType::Boolean))
}
