//! Functions of smallint, integer and bigint, which keep the type.
//!
//! ```text
//!   mod(-9, 4)                 -1
//!   gcd(1071, 462)             21
//!   abs((-32768)::smallint)    smallint out of range
//! ```

use weft_format::{Result, Value};

use super::super::builtin::Call;
use super::numerics::{greatest_divisor, modulo};
use crate::arithmetic::{negate, out_of_range};
use crate::text::fits_integer;

pub(super) fn abs(call: &Call<'_>) -> Result<Value> {
    let value = call.args[0].clone();
    if call.int(0) < 0 { negate(value, call.result) } else { Ok(value) }
}

pub(super) fn remainder(call: &Call<'_>) -> Result<Value> {
    modulo(call)
}

fn fit(call: &Call<'_>, value: Option<u128>) -> Result<Value> {
    let value = value.and_then(|value| i64::try_from(value).ok()).filter(|value| fits_integer(*value, call.result));
    value.map(Value::Int).ok_or_else(|| out_of_range(call.result))
}

fn sizes(call: &Call<'_>) -> (u128, u128) {
    (call.int(0).unsigned_abs().into(), call.int(1).unsigned_abs().into())
}

pub(super) fn gcd(call: &Call<'_>) -> Result<Value> {
    let (a, b) = sizes(call);
    fit(call, Some(greatest_divisor(a, b)))
}

pub(super) fn lcm(call: &Call<'_>) -> Result<Value> {
    let (a, b) = sizes(call);
    if a == 0 || b == 0 {
        return Ok(Value::Int(0));
    }
    fit(call, (a / greatest_divisor(a, b)).checked_mul(b))
}
