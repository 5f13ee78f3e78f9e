//! Series; the answers are PostgreSQL 15's.

use super::super::testing::{Case, check};

const SERIES: &[Case] = &[
    ("generate_series", "integer 1 | integer 4", "{1,2,3,4}"),
    ("generate_series", "integer 1 | integer 10 | integer 3", "{1,4,7,10}"),
    ("generate_series", "integer 3 | integer 1 | integer -1", "{3,2,1}"),
    ("generate_series", "integer 1 | integer 0", "{}"),
    ("generate_series", "integer 1 | integer 2 | integer 0", "ERROR: step size cannot equal zero"),
    ("generate_series", "integer NULL | integer 2", "NULL"),
    ("generate_series", "integer 2147483646 | integer 2147483647", "{2147483646,2147483647}"),
    (
        "generate_series",
        "bigint 9223372036854775800 | bigint 9223372036854775807 | bigint 5",
        "{9223372036854775800,9223372036854775805}",
    ),
    (
        "generate_series",
        "bigint -9223372036854775808 | bigint 9223372036854775807",
        "ERROR: an array that a function makes has at most 8388608 elements",
    ),
    (
        "generate_series",
        "timestamp 2024-01-31 00:00:00 | timestamp 2024-04-01 00:00:00 | interval 1 mon",
        r#"{"2024-01-31 00:00:00","2024-02-29 00:00:00","2024-03-29 00:00:00"}"#,
    ),
    (
        "generate_series",
        "timestamp 2024-01-02 00:00:00 | timestamp 2024-01-01 00:00:00 | interval -12:00:00",
        r#"{"2024-01-02 00:00:00","2024-01-01 12:00:00","2024-01-01 00:00:00"}"#,
    ),
    (
        "generate_series",
        "timestamp 2024-01-02 00:00:00 | timestamp 2024-01-01 00:00:00 | interval 00:00:00",
        "ERROR: step size cannot equal zero",
    ),
    (
        "generate_series",
        "moment 2024-01-01 00:00:00+00 | moment 2024-01-02 00:00:00+00 | interval 1 day",
        r#"{"2024-01-01 00:00:00+00","2024-01-02 00:00:00+00"}"#,
    ),
];

#[test]
fn series_go_from_step_to_step() {
    check(SERIES);
}
