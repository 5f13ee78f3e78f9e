//! Which routines there are.

use weft_format::DataType;
use weft_format::predicate::CompareOp;

use crate::builtins::{BuiltinRef, Volatility};

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
    /// A row of the table of functions.
    Builtin(BuiltinRef),
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
    /// Its name, in lower case; of operators one that says what they do.
    pub fn name(self) -> String {
        match self {
            Routine::Builtin(builtin) => builtin.0.name.to_owned(),
            routine => format!("{routine:?}").to_lowercase(),
        }
    }

    /// Whether it is computed though an argument is NULL.
    pub fn takes_null(self) -> bool {
        if let Routine::Builtin(builtin) = self {
            return !builtin.0.is_strict;
        }
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
            Routine::Builtin(builtin) => builtin.0.volatility != Volatility::Immutable,
            Routine::ToJson | Routine::JsonBuildArray | Routine::JsonBuildObject | Routine::ArrayToString => true,
            _ => false,
        }
    }

    /// Whether equal arguments give equal results.
    pub fn is_volatile(self) -> bool {
        match self {
            Routine::Builtin(builtin) => builtin.0.volatility == Volatility::Volatile,
            routine => routine == Routine::RandomUuid,
        }
    }
}
