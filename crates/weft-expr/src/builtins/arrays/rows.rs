//! The rows of arrays.

use weft_format::{DataType, Element, Result, Value};

use super::super::builtin::{Arg, Builtin, Call, builtin};
use super::bounds::{array_dims, generate_subscripts};
use super::filled::{array_fill, trim_array};
use super::places::{array_position, array_positions};
use crate::routines::{Routine, Signature, call as call_routine};

const INT: Arg = Arg::Of(DataType::Integer);
const INTS: DataType = DataType::Array(Element::Integer);
const BOTH: &[Arg] = &[Arg::AnyArray, Arg::AnyArray];

/// The rows. What is compared with elements is [`Arg::Any`]: it and they meet in a common type.
pub(in super::super) static ROWS: &[Builtin] = &[
    builtin(1193, "array_fill", &[Arg::AnyElement, Arg::Of(INTS)], DataType::Text, array_fill)
        .giving(array_of_first)
        .lenient(),
    builtin(1286, "array_fill", &[Arg::AnyElement, Arg::Of(INTS), Arg::Of(INTS)], DataType::Text, array_fill)
        .giving(array_of_first)
        .lenient(),
    builtin(6172, "trim_array", &[Arg::AnyArray, INT], DataType::Text, trim_array).giving(first),
    builtin(747, "array_dims", &[Arg::AnyArray], DataType::Text, array_dims),
    builtin(1192, "generate_subscripts", &[Arg::AnyArray, INT], INTS, generate_subscripts).set(),
    builtin(1191, "generate_subscripts", &[Arg::AnyArray, INT, Arg::Of(DataType::Boolean)], INTS, generate_subscripts)
        .set(),
    builtin(3278, "array_position", &[Arg::AnyArray, Arg::Any, INT], DataType::Integer, array_position).lenient(),
    builtin(3279, "array_positions", &[Arg::AnyArray, Arg::Any], INTS, array_positions).lenient(),
    builtin(2747, "arrayoverlap", BOTH, DataType::Boolean, |call| operator(call, Routine::ArrayOverlaps)),
    builtin(2748, "arraycontains", BOTH, DataType::Boolean, |call| operator(call, Routine::ArrayContains)),
    builtin(2749, "arraycontained", BOTH, DataType::Boolean, |call| operator(call, Routine::ArrayContained)),
];

fn first(args: &[DataType]) -> DataType {
    args[0]
}

/// An array of the first argument; of an array there is none, which [`array_fill`] says.
fn array_of_first(args: &[DataType]) -> DataType {
    args[0].array().unwrap_or(args[0])
}

fn operator(call: &Call<'_>, routine: Routine) -> Result<Value> {
    call_routine(&Signature::new(routine, call.types, call.result), call.args, call.local, call.random)
}
