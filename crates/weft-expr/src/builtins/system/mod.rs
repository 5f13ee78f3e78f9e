//! Functions of the server that need neither the session nor the catalog (PostgreSQL's documentation, 9.26 and 9.27).
//!
//! ```text
//!   pg_size_pretty(1500000)       1465 kB       sizes
//!   pg_size_bytes('1.5 GB')       1610612736    sizes
//!   pg_trigger_depth()            0             absent    there are no triggers
//!   pg_try_advisory_lock(7)       t             advisory  what the session is asked for
//! ```

mod absent;
mod advisory;
mod sizes;

use weft_format::DataType;

use super::builtin::{Arg, Builtin, builtin};

const BIGINT: Arg = Arg::Of(DataType::BigInt);
const INT: Arg = Arg::Of(DataType::Integer);
const TEXT: Arg = Arg::Of(DataType::Text);

pub(super) static ROWS: &[Builtin] = &[
    builtin(2288, "pg_size_pretty", &[BIGINT], DataType::Text, sizes::pretty),
    builtin(3166, "pg_size_pretty", &[Arg::Numeric], DataType::Text, sizes::pretty_numeric),
    builtin(3334, "pg_size_bytes", &[TEXT], DataType::BigInt, sizes::bytes),
    builtin(315, "pg_jit_available", &[], DataType::Boolean, absent::no).volatile(),
    builtin(3163, "pg_trigger_depth", &[], DataType::Integer, absent::none).present(),
    builtin(3296, "pg_notification_queue_usage", &[], DataType::DoublePrecision, absent::nothing).volatile(),
    builtin(2880, "pg_advisory_lock", &[BIGINT], DataType::Text, advisory::lock::<false, true>).volatile(),
    builtin(2886, "pg_advisory_lock", &[INT, INT], DataType::Text, advisory::lock::<false, true>).volatile(),
    builtin(2881, "pg_advisory_lock_shared", &[BIGINT], DataType::Text, advisory::lock::<true, true>).volatile(),
    builtin(2887, "pg_advisory_lock_shared", &[INT, INT], DataType::Text, advisory::lock::<true, true>).volatile(),
    builtin(3089, "pg_advisory_xact_lock", &[BIGINT], DataType::Text, advisory::lock::<false, false>).volatile(),
    builtin(3093, "pg_advisory_xact_lock", &[INT, INT], DataType::Text, advisory::lock::<false, false>).volatile(),
    builtin(3090, "pg_advisory_xact_lock_shared", &[BIGINT], DataType::Text, advisory::lock::<true, false>).volatile(),
    builtin(3094, "pg_advisory_xact_lock_shared", &[INT, INT], DataType::Text, advisory::lock::<true, false>)
        .volatile(),
    builtin(2882, "pg_try_advisory_lock", &[BIGINT], DataType::Boolean, advisory::try_lock::<false, true>).volatile(),
    builtin(2888, "pg_try_advisory_lock", &[INT, INT], DataType::Boolean, advisory::try_lock::<false, true>).volatile(),
    builtin(2883, "pg_try_advisory_lock_shared", &[BIGINT], DataType::Boolean, advisory::try_lock::<true, true>)
        .volatile(),
    builtin(2889, "pg_try_advisory_lock_shared", &[INT, INT], DataType::Boolean, advisory::try_lock::<true, true>)
        .volatile(),
    builtin(3091, "pg_try_advisory_xact_lock", &[BIGINT], DataType::Boolean, advisory::try_lock::<false, false>)
        .volatile(),
    builtin(3095, "pg_try_advisory_xact_lock", &[INT, INT], DataType::Boolean, advisory::try_lock::<false, false>)
        .volatile(),
    builtin(3092, "pg_try_advisory_xact_lock_shared", &[BIGINT], DataType::Boolean, advisory::try_lock::<true, false>)
        .volatile(),
    builtin(
        3096,
        "pg_try_advisory_xact_lock_shared",
        &[INT, INT],
        DataType::Boolean,
        advisory::try_lock::<true, false>,
    )
    .volatile(),
    builtin(2884, "pg_advisory_unlock", &[BIGINT], DataType::Boolean, advisory::unlock::<false>).volatile(),
    builtin(2890, "pg_advisory_unlock", &[INT, INT], DataType::Boolean, advisory::unlock::<false>).volatile(),
    builtin(2885, "pg_advisory_unlock_shared", &[BIGINT], DataType::Boolean, advisory::unlock::<true>).volatile(),
    builtin(2891, "pg_advisory_unlock_shared", &[INT, INT], DataType::Boolean, advisory::unlock::<true>).volatile(),
    builtin(2892, "pg_advisory_unlock_all", &[], DataType::Text, advisory::unlock_all).volatile(),
];

#[cfg(test)]
mod tests;
