//! `pg_advisory_lock` and its kin ([`AdvisoryLocks`]).

use weft_format::{Code, Error, Result, Value};

use super::super::builtin::Call;
use crate::advisory::{AdvisoryKey, AdvisoryLocks, AdvisoryRequest};
use crate::style::Local;

fn locks(local: &Local) -> Result<&dyn AdvisoryLocks> {
    let missing = || Error::new(Code::FeatureNotSupported, "advisory locks are not supported here");
    local.clock.advisory().ok_or_else(missing)
}

fn key(call: &Call<'_>) -> AdvisoryKey {
    match call.count() {
        1 => {
            let number = call.int(0) as u64;
            AdvisoryKey { class: (number >> 32) as u32, object: number as u32, kind: 1 }
        }
        _ => AdvisoryKey { class: call.int(0) as u32, object: call.int(1) as u32, kind: 2 },
    }
}

/// `pg_advisory_lock` and its kin, which wait, and give PostgreSQL's `void`, an empty text here.
pub(super) fn lock<const SHARED: bool, const SESSION: bool>(call: &Call<'_>) -> Result<Value> {
    let request = AdvisoryRequest { shared: SHARED, of_session: SESSION, waits: true };
    locks(call.local)?.lock(key(call), request).map(|_| Value::Text("".into()))
}

/// `pg_try_advisory_lock` and its kin: whether the lock was taken.
pub(super) fn try_lock<const SHARED: bool, const SESSION: bool>(call: &Call<'_>) -> Result<Value> {
    let request = AdvisoryRequest { shared: SHARED, of_session: SESSION, waits: false };
    locks(call.local)?.lock(key(call), request).map(Value::Bool)
}

/// `pg_advisory_unlock`, `pg_advisory_unlock_shared`
pub(super) fn unlock<const SHARED: bool>(call: &Call<'_>) -> Result<Value> {
    Ok(Value::Bool(locks(call.local)?.unlock(key(call), SHARED)))
}

/// `pg_advisory_unlock_all()`
pub(super) fn unlock_all(call: &Call<'_>) -> Result<Value> {
    locks(call.local)?.unlock_all();
    Ok(Value::Text("".into()))
}
