//! Computes a routine.

use weft_format::{Result, Value};

use super::routine::{Routine, Signature};
use super::{arrays, bytes, calendar, jsons, times};
use crate::builtins::Call;
use crate::style::Local;

/// Computes a routine for a session; the values have the types of the signature. `random` gives 64 random bits.
pub fn call(signature: &Signature, args: &[Value], local: &Local, random: &dyn Fn() -> u64) -> Result<Value> {
    use Routine as R;
    if args.iter().any(Value::is_null) && !signature.routine.takes_null() {
        return Ok(Value::Null);
    }
    match signature.routine {
        R::Builtin(builtin) => {
            let (types, result) = (&*signature.args, signature.result);
            (builtin.0.compute)(&Call { args, types, result, local, random })
        }
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
