//! Functions of the server that need neither the session nor the catalog (PostgreSQL's documentation, 9.26 and 9.27).
//!
//! ```text
//!   pg_size_pretty(1500000)       1465 kB       sizes
//!   pg_size_bytes('1.5 GB')       1610612736    sizes
//!   pg_trigger_depth()            0             absent    there are no triggers
//! ```

mod absent;
mod sizes;

use weft_format::DataType;

use super::builtin::{Arg, Builtin, builtin};

const BIGINT: Arg = Arg::Of(DataType::BigInt);
const TEXT: Arg = Arg::Of(DataType::Text);

pub(super) static ROWS: &[Builtin] = &[
    builtin(2288, "pg_size_pretty", &[BIGINT], DataType::Text, sizes::pretty),
    builtin(3166, "pg_size_pretty", &[Arg::Numeric], DataType::Text, sizes::pretty_numeric),
    builtin(3334, "pg_size_bytes", &[TEXT], DataType::BigInt, sizes::bytes),
    builtin(315, "pg_jit_available", &[], DataType::Boolean, absent::no).volatile(),
    builtin(3163, "pg_trigger_depth", &[], DataType::Integer, absent::none).present(),
    builtin(3296, "pg_notification_queue_usage", &[], DataType::DoublePrecision, absent::nothing).volatile(),
];

#[cfg(test)]
mod tests;
