//! Functions and operators of uuid, bytea, time, interval, json and arrays: found by name or sign and the types given,
//! computed value by value, the same for both engines.
//!
//! ```text
//!   by_operator("->>", jsonb, untyped)     JsonGetText   takes (jsonb, text)        gives text
//!   by_name("array_length", int[], int)    ArrayLength   takes (integer[], integer) gives integer
//!   call(JsonGetText, ['{"a": 1}', 'a'])   '1'
//! ```
//!
//! 1. A routine that is found has a type for every argument; who calls it casts them first ([`cast`](fn@crate::cast)).
//! 2. NULL arguments make the result NULL, but for routines that are made of any values ([`Routine::takes_null`]).

mod arrays;
mod bytes;
mod calendar;
mod jsons;
mod operators;
mod signatures;
mod times;

pub use calendar::{is_field, part_type};
pub use operators::{by_operator, quantified};
pub use signatures::by_name;
pub use times::{add_to_moment, add_to_timestamp};

use weft_format::predicate::CompareOp;
use weft_format::{DataType, Result, Value};

use crate::style::Local;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Routine {
    /// `integer # integer`: bits that one of them has.
    IntegerXor,
    RandomUuid,
    Encode,
    Decode,
    BytesLength,
    BytesSubstring,
    BytesConcat,
    TimePlusInterval,
    TimeMinusInterval,
    TimeMinusTime,
    DatePlusTime,
    /// `date + integer`
    DatePlusDays,
    /// `date - integer`
    DateMinusDays,
    TimestampPlusInterval,
    TimestampMinusInterval,
    TimestampMinusTimestamp,
    /// Of timestamps: months and days of the calendar.
    Age,
    /// `timestamp AT TIME ZONE zone`, a text or an interval: the moment that its clocks mean.
    MomentIn,
    /// `timestamptz AT TIME ZONE zone`: what its clocks show.
    WallIn,
    /// `date_trunc(field, value [, zone])`
    Trunc,
    /// `extract(field FROM value)`, `date_part(field, value)`
    Part,
    /// `to_timestamp(seconds)`
    ToTimestamp,
    /// `make_timestamp(year, month, day, hour, minute, seconds)`, `make_timestamptz(... [, zone])`
    MakeTimestamp,
    MakeDate,
    IntervalPlus,
    IntervalMinus,
    IntervalTimes,
    IntervalDivide,
    IntervalNegate,
    JsonGet,
    JsonGetText,
    JsonPath,
    JsonPathText,
    JsonContains,
    JsonContained,
    JsonHasKey,
    JsonHasAny,
    JsonHasAll,
    JsonConcat,
    JsonDelete,
    JsonDeletePath,
    JsonTypeof,
    JsonArrayLength,
    JsonBuildObject,
    JsonBuildArray,
    ToJson,
    JsonKeys,
    JsonElements,
    JsonElementsText,
    JsonSet,
    JsonPretty,
    JsonStripNulls,
    ArrayMake,
    ArrayElement,
    ArrayLength,
    ArrayLower,
    ArrayDimensions,
    Cardinality,
    ArrayToString,
    StringToArray,
    ArrayAppend,
    ArrayPrepend,
    ArrayConcat,
    ArrayContains,
    ArrayContained,
    ArrayOverlaps,
    ArrayPosition,
    ArrayRemove,
    ArrayReplace,
    /// `value op ANY (array)`
    AnyOf(CompareOp),
    /// `value op ALL (array)`
    AllOf(CompareOp),
}

/// A routine for arguments of some types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// What is computed.
    pub routine: Routine,
    /// The types that the arguments are cast to.
    pub args: Vec<DataType>,
    /// The type of the result.
    pub result: DataType,
}

impl Signature {
    pub(crate) fn new(routine: Routine, args: impl Into<Vec<DataType>>, result: DataType) -> Signature {
        Signature { routine, args: args.into(), result }
    }
}

impl Routine {
    /// Whether it is computed though an argument is NULL.
    pub fn takes_null(self) -> bool {
        matches!(
            self,
            Routine::JsonBuildObject
                | Routine::JsonBuildArray
                | Routine::ArrayMake
                | Routine::ArrayToString
                | Routine::StringToArray
                | Routine::ArrayAppend
                | Routine::ArrayPrepend
                | Routine::ArrayConcat
                | Routine::ArrayPosition
                | Routine::ArrayRemove
                | Routine::ArrayReplace
                | Routine::AnyOf(_)
                | Routine::AllOf(_)
        )
    }

    /// Whether equal arguments give equal results in every session: PostgreSQL's IMMUTABLE.
    pub fn depends_on_session(self, args: &[DataType]) -> bool {
        let reads_zone = args.contains(&DataType::TimestampTz);
        match self {
            Routine::MomentIn | Routine::WallIn | Routine::ToTimestamp | Routine::TimestampMinusTimestamp => false,
            Routine::MakeTimestamp => args.len() == 6,
            Routine::TimestampPlusInterval
            | Routine::TimestampMinusInterval
            | Routine::Age
            | Routine::Trunc
            | Routine::Part => reads_zone,
            Routine::ToJson | Routine::JsonBuildArray | Routine::JsonBuildObject | Routine::ArrayToString => true,
            _ => false,
        }
    }

    /// Whether equal arguments give equal results.
    pub fn is_volatile(self) -> bool {
        self == Routine::RandomUuid
    }
}

/// Computes a routine for a session; the values have the types of the signature. `random` gives 64 random bits.
pub fn call(signature: &Signature, args: &[Value], local: &Local, random: &dyn Fn() -> u64) -> Result<Value> {
    use Routine as R;
    if args.iter().any(Value::is_null) && !signature.routine.takes_null() {
        return Ok(Value::Null);
    }
    match signature.routine {
        R::IntegerXor => match args {
            [Value::Int(a), Value::Int(b)] => Ok(Value::Int(a ^ b)),
            _ => unreachable!("the arguments were cast to an integer type"),
        },
        R::RandomUuid => Ok(Value::Uuid(crate::text::random_uuid(random(), random()))),
        R::Encode | R::Decode | R::BytesLength | R::BytesSubstring | R::BytesConcat => {
            bytes::call(signature.routine, args)
        }
        R::TimePlusInterval
        | R::TimeMinusInterval
        | R::TimeMinusTime
        | R::DatePlusTime
        | R::DatePlusDays
        | R::DateMinusDays
        | R::TimestampPlusInterval
        | R::TimestampMinusInterval
        | R::TimestampMinusTimestamp
        | R::Age
        | R::IntervalPlus
        | R::IntervalMinus
        | R::IntervalTimes
        | R::IntervalDivide
        | R::IntervalNegate => times::call(signature, args, local),
        R::MomentIn | R::WallIn | R::Trunc | R::Part | R::ToTimestamp | R::MakeTimestamp | R::MakeDate => {
            calendar::call(signature, args, local)
        }
        R::JsonGet
        | R::JsonGetText
        | R::JsonPath
        | R::JsonPathText
        | R::JsonContains
        | R::JsonContained
        | R::JsonHasKey
        | R::JsonHasAny
        | R::JsonHasAll
        | R::JsonConcat
        | R::JsonDelete
        | R::JsonDeletePath
        | R::JsonTypeof
        | R::JsonArrayLength
        | R::JsonBuildObject
        | R::JsonBuildArray
        | R::ToJson
        | R::JsonKeys
        | R::JsonElements
        | R::JsonElementsText
        | R::JsonSet
        | R::JsonPretty
        | R::JsonStripNulls => jsons::call(signature, args, &local.style),
        _ => arrays::call(signature, args, local),
    }
}

#[cfg(test)]
mod tests;
