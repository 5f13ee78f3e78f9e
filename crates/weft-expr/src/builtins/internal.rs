//! Numbers that are not PostgreSQL's: of forms that there are defaults for there, and of functions that a statement's
//! text is rewritten to.

use weft_format::{DataType, Result, Value};

use super::builtin::{Arg, Builtin, Call, builtin};

/// From here on numbers are not PostgreSQL's, and `pg_proc` does not have them.
pub(super) const FIRST: u32 = 90_000;

/// `weft_next_number`
const NEXT_NUMBER: u32 = FIRST + 900;

pub(super) static ROWS: &[Builtin] =
    &[builtin(NEXT_NUMBER, "weft_next_number", &[Arg::Of(DataType::BigInt)], DataType::BigInt, next_number).volatile()];

/// The next number of one of the statement's sequences ([`crate::Numbers`]).
fn next_number(call: &Call<'_>) -> Result<Value> {
    call.local.numbers.next(call.int(0)).map(Value::Int)
}
