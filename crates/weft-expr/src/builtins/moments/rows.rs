//! The rows of dates and times.
//!
//! PostgreSQL's functions with defaults, and its casts of texts, have rows here that `pg_proc` has not; their numbers
//! are our own, from 90000 on.

use weft_format::DataType;

use super::super::builtin::{Arg, Builtin, builtin};
use super::converted::{converted, date_and_time};
use super::justified::{justify_days, justify_hours, justify_interval};
use super::made::{age_today, clock_time, is_finite, make_interval, make_time, transaction_time};
use super::overlaps::overlaps;
use super::parts::{date_bin, interval_trunc, part, time_part, timestamp_trunc};
use super::waits::{sleep, sleep_for, sleep_until};

const DATE: Arg = Arg::Of(DataType::Date);
const FLOAT: Arg = Arg::Of(DataType::DoublePrecision);
const INT: Arg = Arg::Of(DataType::Integer);
const INTERVAL: Arg = Arg::Of(DataType::Interval);
const MOMENT: Arg = Arg::Of(DataType::TimestampTz);
const TEXT: Arg = Arg::Of(DataType::Text);
const TIME: Arg = Arg::Of(DataType::Time);
const TIMESTAMP: Arg = Arg::Of(DataType::Timestamp);

/// The rows.
pub(in super::super) static ROWS: &[Builtin] = &[
    builtin(3464, "make_interval", &[INT, INT, INT, INT, INT, INT, FLOAT], DataType::Interval, make_interval),
    builtin(90_000, "make_interval", &[], DataType::Interval, make_interval),
    builtin(90_001, "make_interval", &[INT], DataType::Interval, make_interval),
    builtin(90_002, "make_interval", &[INT, INT], DataType::Interval, make_interval),
    builtin(90_003, "make_interval", &[INT, INT, INT], DataType::Interval, make_interval),
    builtin(90_004, "make_interval", &[INT, INT, INT, INT], DataType::Interval, make_interval),
    builtin(90_005, "make_interval", &[INT, INT, INT, INT, INT], DataType::Interval, make_interval),
    builtin(90_006, "make_interval", &[INT, INT, INT, INT, INT, INT], DataType::Interval, make_interval),
    builtin(3847, "make_time", &[INT, INT, FLOAT], DataType::Time, make_time),
    builtin(1175, "justify_hours", &[INTERVAL], DataType::Interval, justify_hours),
    builtin(1295, "justify_days", &[INTERVAL], DataType::Interval, justify_days),
    builtin(2711, "justify_interval", &[INTERVAL], DataType::Interval, justify_interval),
    builtin(1373, "isfinite", &[DATE], DataType::Boolean, is_finite),
    builtin(1389, "isfinite", &[MOMENT], DataType::Boolean, is_finite),
    builtin(1390, "isfinite", &[INTERVAL], DataType::Boolean, is_finite),
    builtin(2048, "isfinite", &[TIMESTAMP], DataType::Boolean, is_finite),
    builtin(2059, "age", &[TIMESTAMP], DataType::Interval, age_today).present(),
    builtin(1386, "age", &[MOMENT], DataType::Interval, age_today).present(),
    builtin(2647, "transaction_timestamp", &[], DataType::TimestampTz, transaction_time).present(),
    builtin(2648, "statement_timestamp", &[], DataType::TimestampTz, transaction_time).present(),
    builtin(2649, "clock_timestamp", &[], DataType::TimestampTz, clock_time).volatile(),
    builtin(2626, "pg_sleep", &[Arg::Of(DataType::DoublePrecision)], DataType::Text, sleep).volatile(),
    builtin(3935, "pg_sleep_for", &[INTERVAL], DataType::Text, sleep_for).volatile(),
    builtin(3936, "pg_sleep_until", &[MOMENT], DataType::Text, sleep_until).volatile(),
    builtin(6177, "date_bin", &[INTERVAL, TIMESTAMP, TIMESTAMP], DataType::Timestamp, date_bin),
    builtin(6178, "date_bin", &[INTERVAL, MOMENT, MOMENT], DataType::TimestampTz, date_bin),
    builtin(1384, "date_part", &[TEXT, DATE], DataType::DoublePrecision, part),
    builtin(1385, "date_part", &[TEXT, TIME], DataType::DoublePrecision, time_part),
    builtin(2021, "date_part", &[TEXT, TIMESTAMP], DataType::DoublePrecision, part),
    builtin(1218, "date_trunc", &[TEXT, INTERVAL], DataType::Interval, interval_trunc),
    // Timestamps are a routine's; these two keep a literal without a type from being taken for an interval.
    builtin(2020, "date_trunc", &[TEXT, TIMESTAMP], DataType::Timestamp, timestamp_trunc),
    builtin(1217, "date_trunc", &[TEXT, MOMENT], DataType::TimestampTz, timestamp_trunc).stable(),
    overlapping(1304, &[MOMENT, MOMENT, MOMENT, MOMENT]),
    overlapping(1305, &[MOMENT, INTERVAL, MOMENT, INTERVAL]).stable(),
    overlapping(1306, &[MOMENT, MOMENT, MOMENT, INTERVAL]).stable(),
    overlapping(1307, &[MOMENT, INTERVAL, MOMENT, MOMENT]).stable(),
    overlapping(1308, &[TIME, TIME, TIME, TIME]),
    overlapping(1309, &[TIME, INTERVAL, TIME, INTERVAL]),
    overlapping(1310, &[TIME, TIME, TIME, INTERVAL]),
    overlapping(1311, &[TIME, INTERVAL, TIME, TIME]),
    overlapping(2041, &[TIMESTAMP, TIMESTAMP, TIMESTAMP, TIMESTAMP]),
    overlapping(2042, &[TIMESTAMP, INTERVAL, TIMESTAMP, INTERVAL]),
    overlapping(2043, &[TIMESTAMP, TIMESTAMP, TIMESTAMP, INTERVAL]),
    overlapping(2044, &[TIMESTAMP, INTERVAL, TIMESTAMP, TIMESTAMP]),
    builtin(2029, "date", &[TIMESTAMP], DataType::Date, converted),
    builtin(1178, "date", &[MOMENT], DataType::Date, converted).stable(),
    builtin(90_010, "date", &[TEXT], DataType::Date, converted).stable(),
    builtin(2024, "timestamp", &[DATE], DataType::Timestamp, converted),
    builtin(2025, "timestamp", &[DATE, TIME], DataType::Timestamp, date_and_time),
    builtin(2027, "timestamp", &[MOMENT], DataType::Timestamp, converted).stable(),
    builtin(90_011, "timestamp", &[TEXT], DataType::Timestamp, converted).stable(),
    builtin(1174, "timestamptz", &[DATE], DataType::TimestampTz, converted).stable(),
    builtin(1176, "timestamptz", &[DATE, TIME], DataType::TimestampTz, date_and_time).stable(),
    builtin(2028, "timestamptz", &[TIMESTAMP], DataType::TimestampTz, converted).stable(),
    builtin(90_012, "timestamptz", &[TEXT], DataType::TimestampTz, converted).stable(),
    builtin(1316, "time", &[TIMESTAMP], DataType::Time, converted),
    builtin(1419, "time", &[INTERVAL], DataType::Time, converted),
    builtin(2019, "time", &[MOMENT], DataType::Time, converted).stable(),
    builtin(90_013, "time", &[TEXT], DataType::Time, converted).stable(),
    builtin(1370, "interval", &[TIME], DataType::Interval, converted),
    builtin(90_014, "interval", &[TEXT], DataType::Interval, converted).stable(),
];

const fn overlapping(oid: u32, args: &'static [Arg; 4]) -> Builtin {
    builtin(oid, "overlaps", args, DataType::Boolean, overlaps).lenient()
}
