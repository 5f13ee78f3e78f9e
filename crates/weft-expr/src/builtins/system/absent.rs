//! What is known of parts that PostgreSQL has and Weft has not.
//!
//! ```text
//!   pg_jit_available()     false     no code is compiled for a query
//!   pg_trigger_depth()     0         nothing runs within a trigger
//! ```

use weft_format::{Result, Value};

use crate::builtins::builtin::Call;

pub(super) fn no(_: &Call<'_>) -> Result<Value> {
    Ok(Value::Bool(false))
}

pub(super) fn none(_: &Call<'_>) -> Result<Value> {
    Ok(Value::Int(0))
}

pub(super) fn nothing(_: &Call<'_>) -> Result<Value> {
    Ok(Value::Float(0.0))
}
