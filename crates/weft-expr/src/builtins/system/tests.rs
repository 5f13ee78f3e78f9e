//! Answers of a PostgreSQL 15 server.

use crate::builtins::testing::{Case, check};

#[rustfmt::skip]
const PRETTY: &[Case] = &[
    ("pg_size_pretty", "bigint 10", "10 bytes"),
    ("pg_size_pretty", "bigint 1000", "1000 bytes"),
    ("pg_size_pretty", "bigint 10239", "10239 bytes"),
    ("pg_size_pretty", "bigint 10240", "10 kB"),
    ("pg_size_pretty", "bigint 10241", "10 kB"),
    ("pg_size_pretty", "bigint 20970496", "20 MB"),
    ("pg_size_pretty", "bigint 21474836480", "20 GB"),
    ("pg_size_pretty", "bigint 107374182400", "100 GB"),
    ("pg_size_pretty", "bigint 32985348833280", "30 TB"),
    ("pg_size_pretty", "bigint 9223372036854775807", "8192 PB"),
    ("pg_size_pretty", "bigint -10", "-10 bytes"),
    ("pg_size_pretty", "bigint -10240", "-10 kB"),
    ("pg_size_pretty", "bigint -20970497", "-20 MB"),
    ("pg_size_pretty", "bigint -9223372036854775807", "-8192 PB"),
    ("pg_size_pretty", "bigint 1500000", "1465 kB"),
    ("pg_size_pretty", "bigint 0", "0 bytes"),
];

#[rustfmt::skip]
const BYTES: &[Case] = &[
    ("pg_size_bytes", "text 1", "1"),
    ("pg_size_bytes", "text 123bytes", "123"),
    ("pg_size_bytes", "text 1kB", "1024"),
    ("pg_size_bytes", "text 1MB", "1048576"),
    ("pg_size_bytes", "text  1 GB", "1073741824"),
    ("pg_size_bytes", "text 1.5 GB ", "1610612736"),
    ("pg_size_bytes", "text 1TB", "1099511627776"),
    ("pg_size_bytes", "text 3000 TB", "3298534883328000"),
    ("pg_size_bytes", "text 1e6 MB", "1048576000000"),
    ("pg_size_bytes", "text 99 PB", "111464090777419776"),
    ("pg_size_bytes", "text 45 EB", "ERROR: invalid size: \"45 EB\""),
    ("pg_size_bytes", "text 1", "1"),
    ("pg_size_bytes", "text -1", "-1"),
    ("pg_size_bytes", "text -123bytes", "-123"),
    ("pg_size_bytes", "text .5 kB", "512"),
    ("pg_size_bytes", "text -.5 MB", "-524288"),
    ("pg_size_bytes", "text 1e2", "100"),
    ("pg_size_bytes", "text 1e-1 kB", "102"),
    ("pg_size_bytes", "text 1 b", "ERROR: invalid size: \"1 b\""),
    ("pg_size_bytes", "text 1 B", "ERROR: invalid size: \"1 B\""),
    ("pg_size_bytes", "text 1 Kb", "1024"),
    ("pg_size_bytes", "text 1 KiB", "ERROR: invalid size: \"1 KiB\""),
    ("pg_size_bytes", "text x", "ERROR: invalid size: \"x\""),
    ("pg_size_bytes", "text 1 AB", "ERROR: invalid size: \"1 AB\""),
    ("pg_size_bytes", "text 1 AB A", "ERROR: invalid size: \"1 AB A\""),
    ("pg_size_bytes", "text 1e100", "ERROR: bigint out of range"),
    ("pg_size_bytes", "text 1e", "ERROR: invalid size: \"1e\""),
    ("pg_size_bytes", "text 1e MB", "ERROR: invalid size: \"1e MB\""),
    ("pg_size_bytes", "text 1 .", "ERROR: invalid size: \"1 .\""),
    ("pg_size_bytes", "text .", "ERROR: invalid size: \".\""),
    ("pg_size_bytes", "text +1", "1"),
    ("pg_size_bytes", "text + 1", "ERROR: invalid size: \"+ 1\""),
    ("pg_size_bytes", "text 1. kB", "1024"),
    ("pg_size_bytes", "text 1.5", "2"),
    ("pg_size_bytes", "text 0.5", "1"),
    ("pg_size_bytes", "text 9223372036854775807", "9223372036854775807"),
    ("pg_size_bytes", "text 9223372036854775808", "ERROR: bigint out of range"),
    ("pg_size_bytes", "text 1 kB kB", "ERROR: invalid size: \"1 kB kB\""),
    ("pg_size_bytes", "text 1e+3 kB", "1024000"),
    ("pg_size_bytes", "text 12 3", "ERROR: invalid size: \"12 3\""),
    ("pg_size_bytes", "text ١ kB", "ERROR: invalid size: \"١ kB\""),
    ("pg_size_bytes", "text --1", "ERROR: invalid size: \"--1\""),
    ("pg_size_bytes", "text 1e1000000", "ERROR: value overflows numeric format"),
];

#[rustfmt::skip]
const NUMERIC: &[Case] = &[
    ("pg_size_pretty", "numeric 10.50", "10.50 bytes"),
    ("pg_size_pretty", "numeric 10239.99", "10239.99 bytes"),
    ("pg_size_pretty", "numeric 10240.50", "10 kB"),
    ("pg_size_pretty", "numeric 10240.00", "10 kB"),
    ("pg_size_pretty", "numeric 1000000.25", "977 kB"),
    ("pg_size_pretty", "numeric -1000000.25", "-977 kB"),
    ("pg_size_pretty", "numeric 0.00", "0.00 bytes"),
    ("pg_size_pretty", "numeric -0.40", "-0.40 bytes"),
    ("pg_size_pretty", "numeric 99999999.99", "95 MB"),
];

#[rustfmt::skip]
const ABSENT: &[Case] = &[
    ("pg_jit_available", "", "f"),
    ("pg_trigger_depth", "", "0"),
    ("pg_notification_queue_usage", "", "0"),
];

#[test]
fn sizes_and_what_is_absent() {
    for cases in [PRETTY, BYTES, NUMERIC, ABSENT] {
        check(cases);
    }
}
