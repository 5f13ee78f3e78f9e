//! Waiting: `pg_sleep` and its kin. They give PostgreSQL's `void`, an empty text here.

use weft_format::{Result, Value};

use super::super::builtin::Call;

fn wait(call: &Call<'_>, micros: f64) -> Result<Value> {
    // What is below zero, or no number, is no time.
    call.local.sleep(micros.clamp(0.0, 9e18) as u64)?;
    Ok(Value::Text("".into()))
}

/// `pg_sleep(seconds)`
pub(super) fn sleep(call: &Call<'_>) -> Result<Value> {
    wait(call, call.float(0) * 1e6)
}

/// `pg_sleep_for(interval)`
pub(super) fn sleep_for(call: &Call<'_>) -> Result<Value> {
    let Value::Interval(interval) = &call.args[0] else { unreachable!("the argument was cast to an interval") };
    wait(call, interval.span() as f64)
}

/// `pg_sleep_until(timestamptz)`: by the time of the call.
pub(super) fn sleep_until(call: &Call<'_>) -> Result<Value> {
    wait(call, call.int(0).saturating_sub(call.local.clock_micros()) as f64)
}
