//! What is known of values of any type: whether they are NULL, and their type.
//!
//! ```text
//!   num_nulls(1, NULL, 2)     1
//!   pg_typeof(1.5 + 1)        numeric
//! ```

use weft_format::{Result, Value};

use super::super::builtin::Call;
use super::letters::text;
use crate::text::type_name;

pub(super) fn num_nulls(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.args.iter().filter(|value| value.is_null()).count() as i64))
}

pub(super) fn num_nonnulls(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(call.args.iter().filter(|value| !value.is_null()).count() as i64))
}

/// The name of the argument's type. Whether a constant in quotes has none (`unknown`) is seen before it is called.
pub(super) fn pg_typeof(call: &Call<'_>) -> Result<Value> {
    text(type_name(call.types[0]))
}
