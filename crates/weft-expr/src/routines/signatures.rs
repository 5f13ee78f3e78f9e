//! Functions: name and argument types to routine.

use weft_format::DataType;

use super::routine::{Routine, Signature};
use crate::builtins::{self, find};
use crate::types::{common_type, is_integer, is_number};

/// `ARRAY[...]` as a function.
pub const ARRAY_OF: &str = "array_of";

/// Names of functions that routines compute, for some or all types of arguments; those of the table are not among them.
pub(crate) const NAMES: &[&str] = &[
    "gen_random_uuid",
    "encode",
    "decode",
    "length",
    "octet_length",
    "substr",
    "substring",
    "age",
    "timezone",
    "date_trunc",
    "date_part",
    "extract",
    "to_timestamp",
    "make_timestamp",
    "make_timestamptz",
    "make_date",
    "to_json",
    "to_jsonb",
    "json_typeof",
    "jsonb_typeof",
    "json_array_length",
    "jsonb_array_length",
    "json_build_object",
    "jsonb_build_object",
    "json_build_array",
    "jsonb_build_array",
    "json_object_keys",
    "jsonb_object_keys",
    "json_array_elements",
    "jsonb_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements_text",
    "json_extract_path",
    "jsonb_extract_path",
    "json_extract_path_text",
    "jsonb_extract_path_text",
    "json_strip_nulls",
    "jsonb_strip_nulls",
    "jsonb_pretty",
    "jsonb_set",
    ARRAY_OF,
    "array_length",
    "array_upper",
    "array_lower",
    "array_ndims",
    "cardinality",
    "array_to_string",
    "string_to_array",
    "array_append",
    "array_prepend",
    "array_cat",
    "array_position",
    "array_remove",
    "array_replace",
];

/// All names of functions: those of the table and those above.
pub fn names() -> Vec<&'static str> {
    let mut names = builtins::names();
    names.extend(NAMES.iter().filter(|name| !builtins::is_known(name)));
    names
}

/// Whether a function has many rows, which its routine gives as an array.
pub fn gives_rows(name: &str) -> bool {
    let of_json = [name.strip_prefix("jsonb_"), name.strip_prefix("json_")].into_iter().flatten();
    let mut of_json = of_json.filter(|rest| matches!(*rest, "array_elements" | "array_elements_text" | "object_keys"));
    of_json.next().is_some() || builtins::gives_rows(name)
}

/// The routine of a function; an argument without a type is an untyped literal or parameter. None when a function of
/// that name for these types is none of the routines.
pub fn by_name(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    arrays(name, given).or_else(|| jsons(name, given)).or_else(|| others(name, given)).or_else(|| find(name, given))
}

fn is(given: Option<DataType>, wanted: DataType) -> bool {
    given.is_none_or(|given| given == wanted)
}

fn is_text(given: Option<DataType>) -> bool {
    given.is_none_or(DataType::is_text)
}

fn is_int(given: Option<DataType>) -> bool {
    given.is_none_or(is_integer)
}

fn others(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    use DataType::{Bytea, Integer, Interval, Text, Uuid};
    use Routine as R;
    Some(match (name, given) {
        ("gen_random_uuid" | "uuid_generate_v4", []) => Signature::new(R::RandomUuid, [], Uuid),
        ("encode", [bytes, format]) if is(*bytes, Bytea) && is_text(*format) => {
            Signature::new(R::Encode, [Bytea, Text], Text)
        }
        ("decode", [text, format]) if is_text(*text) && is_text(*format) => {
            Signature::new(R::Decode, [Text, Text], Bytea)
        }
        ("length" | "octet_length", [Some(Bytea)]) => Signature::new(R::BytesLength, [Bytea], Integer),
        ("substr" | "substring", [Some(Bytea), start]) if is_int(*start) => {
            Signature::new(R::BytesSubstring, [Bytea, Integer], Bytea)
        }
        ("substr" | "substring", [Some(Bytea), start, length]) if is_int(*start) && is_int(*length) => {
            Signature::new(R::BytesSubstring, [Bytea, Integer, Integer], Bytea)
        }
        ("length", [Some(bits)]) if bits.is_bits() => return find(builtins::BITS_LENGTH, given),
        ("substring", [Some(bits), ..]) if bits.is_bits() => return find(builtins::BITS_SUBSTRING, given),
        ("age", [Some(a), Some(b)]) if is_stamp(*a) && is_stamp(*b) => {
            let common = common_type(*a, *b).filter(|common| *common != DataType::Date).unwrap_or(DataType::Timestamp);
            Signature::new(R::Age, [common, common], Interval)
        }
        _ => return calendar(name, given),
    })
}

/// AT TIME ZONE, which is `timezone(zone, value)`, and what reads parts of timestamps with time zone and intervals, or
/// makes dates and timestamps of theirs.
fn calendar(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    use DataType::{Date, DoublePrecision, Integer, Interval, Text, Timestamp, TimestampTz};
    use Routine as R;
    let is_number = |given: &Option<DataType>| given.is_none_or(is_number);
    Some(match (name, given) {
        ("timezone", [zone, value]) => {
            let zone = match zone {
                Some(Interval) => Interval,
                zone if is_text(*zone) => Text,
                _ => return None,
            };
            match value {
                Some(Timestamp) => Signature::new(R::MomentIn, [zone, Timestamp], TimestampTz),
                None | Some(TimestampTz | Date) => Signature::new(R::WallIn, [zone, TimestampTz], Timestamp),
                _ => return None,
            }
        }
        ("date_trunc", [unit, Some(TimestampTz | Date)]) if is_text(*unit) => {
            Signature::new(R::Trunc, [Text, TimestampTz], TimestampTz)
        }
        ("date_trunc", [unit, Some(Timestamp)]) if is_text(*unit) => {
            Signature::new(R::Trunc, [Text, Timestamp], Timestamp)
        }
        ("date_trunc", [unit, value, zone]) if is_text(*unit) && value.is_none_or(is_stamp) && is_text(*zone) => {
            Signature::new(R::Trunc, [Text, TimestampTz, Text], TimestampTz)
        }
        ("date_part", [unit, Some(TimestampTz)]) if is_text(*unit) => {
            Signature::new(R::Part, [Text, TimestampTz], DoublePrecision)
        }
        ("date_part", [unit, Some(Interval)]) if is_text(*unit) => {
            Signature::new(R::Part, [Text, Interval], DoublePrecision)
        }
        ("to_timestamp", [seconds]) if is_number(seconds) => {
            Signature::new(R::ToTimestamp, [DoublePrecision], TimestampTz)
        }
        ("make_date", [year, month, day]) if is_int(*year) && is_int(*month) && is_int(*day) => {
            Signature::new(R::MakeDate, [Integer, Integer, Integer], Date)
        }
        ("make_timestamp" | "make_timestamptz", [parts @ .., seconds])
            if parts.len() == 5 && parts.iter().all(|part| is_int(*part)) && is_number(seconds) =>
        {
            let args = [Integer, Integer, Integer, Integer, Integer, DoublePrecision];
            Signature::new(R::MakeTimestamp, args, if name == "make_timestamp" { Timestamp } else { TimestampTz })
        }
        ("make_timestamptz", [parts @ .., seconds, zone])
            if parts.len() == 5 && parts.iter().all(|part| is_int(*part)) && is_number(seconds) && is_text(*zone) =>
        {
            let args = [Integer, Integer, Integer, Integer, Integer, DoublePrecision, Text];
            Signature::new(R::MakeTimestamp, args, TimestampTz)
        }
        _ => return None,
    })
}

fn is_stamp(given: DataType) -> bool {
    matches!(given, DataType::Timestamp | DataType::TimestampTz | DataType::Date)
}

fn jsons(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    use DataType::{Boolean, Integer, Json, Jsonb, Text};
    use Routine as R;
    let text_array = Text.array().expect("text is a type of elements");
    let (short, of) = match name {
        "to_json" => ("to", Json),
        "to_jsonb" => ("to", Jsonb),
        _ => match (name.strip_prefix("jsonb_"), name.strip_prefix("json_")) {
            (Some(rest), _) => (rest, Jsonb),
            (None, Some(rest)) => (rest, Json),
            (None, None) => return None,
        },
    };
    let whole = |given: &[Option<DataType>]| given.first().is_some_and(|first| is(*first, of));
    let typed = |given: &[Option<DataType>]| given.iter().map(|t| t.unwrap_or(Text)).collect::<Vec<_>>();
    Some(match (short, given) {
        ("to", [value]) => Signature::new(R::ToJson, [value.unwrap_or(Text)], of),
        ("typeof", [_]) if whole(given) => Signature::new(R::JsonTypeof, [of], Text),
        ("array_length", [_]) if whole(given) => Signature::new(R::JsonArrayLength, [of], Integer),
        ("build_object", args) => Signature::new(R::JsonBuildObject, typed(args), of),
        ("build_array", args) => Signature::new(R::JsonBuildArray, typed(args), of),
        ("object_keys", [_]) if whole(given) => Signature::new(R::JsonKeys, [of], text_array),
        ("array_elements", [_]) if whole(given) => Signature::new(R::JsonElements, [of], of.array()?),
        ("array_elements_text", [_]) if whole(given) => Signature::new(R::JsonElementsText, [of], text_array),
        ("extract_path", [_, path @ ..]) if whole(given) && path.len() == 1 => {
            Signature::new(R::JsonGet, [of, Text], of)
        }
        ("extract_path_text", [_, path @ ..]) if whole(given) && path.len() == 1 => {
            Signature::new(R::JsonGetText, [of, Text], Text)
        }
        ("strip_nulls", [_]) if whole(given) => Signature::new(R::JsonStripNulls, [of], of),
        ("pretty", [_]) if whole(given) && of == Jsonb => Signature::new(R::JsonPretty, [of], Text),
        ("set", [_, path, new]) if whole(given) && is(*path, text_array) && is(*new, of) => {
            Signature::new(R::JsonSet, [of, text_array, of], of)
        }
        ("set", [_, path, new, create])
            if whole(given) && is(*path, text_array) && is(*new, of) && is(*create, Boolean) =>
        {
            Signature::new(R::JsonSet, [of, text_array, of, Boolean], of)
        }
        _ => return None,
    })
}

fn arrays(name: &str, given: &[Option<DataType>]) -> Option<Signature> {
    use DataType::{Integer, Text};
    use Routine as R;
    if name == "string_to_array" && (2..=3).contains(&given.len()) && given.iter().all(|given| is_text(*given)) {
        return Some(Signature::new(R::StringToArray, vec![Text; given.len()], Text.array()?));
    }
    if name == ARRAY_OF {
        let mut element = None;
        for given in given.iter().flatten() {
            element = Some(element.map_or(Some(*given), |known| common_type(known, *given))?);
        }
        let element = element.unwrap_or(Text);
        return Some(Signature::new(R::ArrayMake, vec![element; given.len()], element.array()?));
    }
    let at = usize::from(name == "array_prepend");
    let mut array = given.get(at).copied().flatten().filter(|t| t.element().is_some())?;
    let element = array.element()?;
    // The array and a value meet in a common type.
    let mut meet = |value: Option<DataType>| -> Option<DataType> {
        let common = common_type(element, value.unwrap_or(element))?;
        array = common.array()?;
        Some(common)
    };
    Some(match (name, given) {
        ("array_length" | "array_upper", [_, n]) if is_int(*n) => {
            Signature::new(R::ArrayLength, [array, Integer], Integer)
        }
        ("array_lower", [_, n]) if is_int(*n) => Signature::new(R::ArrayLower, [array, Integer], Integer),
        ("array_ndims", [_]) => Signature::new(R::ArrayDimensions, [array], Integer),
        ("cardinality", [_]) => Signature::new(R::Cardinality, [array], Integer),
        ("array_to_string", [_, separator]) if is_text(*separator) => {
            Signature::new(R::ArrayToString, [array, Text], Text)
        }
        ("array_to_string", [_, separator, null]) if is_text(*separator) && is_text(*null) => {
            Signature::new(R::ArrayToString, [array, Text, Text], Text)
        }
        ("array_append", [_, value]) => {
            let value = meet(*value)?;
            Signature::new(R::ArrayAppend, [array, value], array)
        }
        ("array_prepend", [value, _]) => {
            let value = meet(*value)?;
            Signature::new(R::ArrayPrepend, [value, array], array)
        }
        ("array_cat", [_, other]) => {
            let both = common_type(array, other.unwrap_or(array))?;
            Signature::new(R::ArrayConcat, [both, both], both)
        }
        ("array_position", [_, value]) => {
            let value = meet(*value)?;
            Signature::new(R::ArrayPosition, [array, value], Integer)
        }
        ("array_remove", [_, value]) => {
            let value = meet(*value)?;
            Signature::new(R::ArrayRemove, [array, value], array)
        }
        ("array_replace", [_, from, to]) if from.is_none_or(|from| to.is_none_or(|to| from == to)) => {
            let value = meet(*from)?;
            Signature::new(R::ArrayReplace, [array, value, value], array)
        }
        _ => return None,
    })
}
