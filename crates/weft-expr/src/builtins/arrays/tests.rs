//! Functions of arrays; the answers are PostgreSQL 15's, but where a test says otherwise.

use super::super::testing::{Case, check};

const FILLED: &[Case] = &[
    ("array_fill", "integer 7 | integer[] {3}", "{7,7,7}"),
    ("array_fill", "integer NULL | integer[] {2}", "{NULL,NULL}"),
    ("array_fill", "text a,b | integer[] {2}", r#"{"a,b","a,b"}"#),
    ("array_fill", "numeric 1.50 | integer[] {2}", "{1.50,1.50}"),
    ("array_fill", "date 2024-02-29 | integer[] {2}", "{2024-02-29,2024-02-29}"),
    ("array_fill", "varchar xyz | integer[] {2}", "{xyz,xyz}"),
    ("array_fill", r#"jsonb {"a":1} | integer[] {2}"#, "{\"{\\\"a\\\": 1}\",\"{\\\"a\\\": 1}\"}"),
    ("array_fill", "interval 1 mon 30 days | integer[] {2}", r#"{"1 mon 30 days","1 mon 30 days"}"#),
    ("array_fill", "integer 7 | integer[] {}", "{}"),
    ("array_fill", "integer 7 | integer[] {0}", "{}"),
    ("array_fill", "integer 7 | integer[] {-1}", "ERROR: array size exceeds the maximum allowed (134217727)"),
    ("array_fill", "integer 7 | integer[] {2,0}", "{}"),
    (
        "array_fill",
        "integer 7 | integer[] {1,1,1,1,1,1,1}",
        "ERROR: number of array dimensions (7) exceeds the maximum allowed (6)",
    ),
    ("array_fill", "integer 7 | integer[] {134217728}", "ERROR: array size exceeds the maximum allowed (134217727)"),
    ("array_fill", "integer 7 | integer[] {2147483647}", "ERROR: array size exceeds the maximum allowed (134217727)"),
    ("array_fill", "integer 7 | integer[] {-2147483648}", "ERROR: array size exceeds the maximum allowed (134217727)"),
    ("array_fill", "integer 7 | integer[] NULL", "ERROR: dimension array or low bound array cannot be null"),
    ("array_fill", "integer 7 | integer[] {NULL}", "ERROR: dimension values cannot be null"),
    ("array_fill", "integer 7 | integer[] {2} | integer[] {1}", "{7,7}"),
    ("array_fill", "integer 7 | integer[] {2} | integer[] {1,1}", "ERROR: wrong number of array subscripts"),
    (
        "array_fill",
        "integer 7 | integer[] {2} | integer[] NULL",
        "ERROR: dimension array or low bound array cannot be null",
    ),
    ("array_fill", "integer 7 | integer[] {2} | integer[] {NULL}", "ERROR: dimension values cannot be null"),
    ("array_fill", "integer 7 | integer[] {0} | integer[] {5}", "{}"),
    ("array_fill", "integer 7 | integer[] {} | integer[] {}", "{}"),
];

#[test]
fn filled() {
    check(FILLED);
}

const CUT: &[Case] = &[
    ("trim_array", "integer[] {1,2,NULL,2} | integer 0", "{1,2,NULL,2}"),
    ("trim_array", "integer[] {1,2,NULL,2} | integer 1", "{1,2,NULL}"),
    ("trim_array", "integer[] {1,2,NULL,2} | integer 2", "{1,2}"),
    ("trim_array", "integer[] {1,2,NULL,2} | integer 4", "{}"),
    ("trim_array", "integer[] {1,2,NULL,2} | integer 5", "ERROR: number of elements to trim must be between 0 and 4"),
    ("trim_array", "integer[] {1,2,NULL,2} | integer -1", "ERROR: number of elements to trim must be between 0 and 4"),
    (
        "trim_array",
        "integer[] {1,2,NULL,2} | integer 2147483647",
        "ERROR: number of elements to trim must be between 0 and 4",
    ),
    (
        "trim_array",
        "integer[] {1,2,NULL,2} | integer -2147483648",
        "ERROR: number of elements to trim must be between 0 and 4",
    ),
    ("trim_array", r#"text[] {a,"b c",NULL} | integer 1"#, r#"{a,"b c"}"#),
    ("trim_array", "integer[] {} | integer 0", "{}"),
    ("trim_array", "integer[] {} | integer 1", "ERROR: number of elements to trim must be between 0 and 0"),
    ("trim_array", "integer[] NULL | integer 0", "NULL"),
    ("trim_array", "integer[] {1} | integer NULL", "NULL"),
];

#[test]
fn cut() {
    check(CUT);
}

const PLACES: &[Case] = &[
    ("array_positions", "integer[] {1,2,NULL,2} | integer 2", "{2,4}"),
    ("array_positions", "integer[] {1,2,NULL,2} | integer NULL", "{3}"),
    ("array_positions", "integer[] {1,2,NULL,2} | integer 3", "{}"),
    ("array_positions", "integer[] {1,2,2} | numeric 2.50", "{}"),
    ("array_positions", "integer[] {1,2,2} | numeric 2.00", "{2,3}"),
    ("array_positions", "integer[] {1,2,2} | double 2", "{2,3}"),
    ("array_positions", "integer[] {1,2,2} | bigint 4294967298", "{}"),
    ("array_positions", "integer[] {} | integer 2", "{}"),
    ("array_positions", "integer[] NULL | integer 2", "NULL"),
    ("array_positions", "double[] {NaN,1,-0.0,0} | double NaN", "{1}"),
    ("array_positions", "double[] {NaN,1,-0.0,0} | double 0", "{3,4}"),
    ("array_positions", "text[] {a,B,a,NULL} | text a", "{1,3}"),
    ("array_positions", "text[] {a,B,a,NULL} | varchar a", "{1,3}"),
    ("array_positions", "text[] {a,B,a,NULL} | text NULL", "{4}"),
    ("array_positions", "interval[] {1 mon,30 days,31 days} | interval 720:00", "{1,2}"),
    ("array_positions", "date[] {2024-01-01,2024-02-01} | timestamp 2024-02-01 00:00", "{2}"),
    ("array_positions", "jsonb[] {\"{\\\"a\\\": 1.0}\",2} | jsonb {\"a\":1.0}", "{1}"),
    ("array_positions", "json[] {1,2} | json 1", "ERROR: could not identify an equality operator for type json"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer 3", "4"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer 2", "2"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer 0", "2"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer -2147483648", "2"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer 5", "NULL"),
    ("array_position", "integer[] {1,2,NULL,2} | integer NULL | integer 1", "3"),
    ("array_position", "integer[] {1,2,NULL,2} | integer 2 | integer NULL", "ERROR: initial position must not be null"),
    ("array_position", "integer[] NULL | integer 2 | integer NULL", "NULL"),
];

#[test]
fn places() {
    check(PLACES);
}

const BOUNDS: &[Case] = &[
    ("array_dims", "integer[] {1,2,3}", "[1:3]"),
    ("array_dims", "integer[] {NULL}", "[1:1]"),
    ("array_dims", "integer[] {}", "NULL"),
    ("array_dims", "integer[] NULL", "NULL"),
    ("generate_subscripts", "integer[] {4,5,6} | integer 1", "{1,2,3}"),
    ("generate_subscripts", "integer[] {4,5,6} | integer 1 | boolean t", "{3,2,1}"),
    ("generate_subscripts", "integer[] {4,5,6} | integer 1 | boolean f", "{1,2,3}"),
    ("generate_subscripts", "integer[] {4,5,6} | integer 0", "{}"),
    ("generate_subscripts", "integer[] {4,5,6} | integer 2 | boolean t", "{}"),
    ("generate_subscripts", "integer[] {} | integer 1", "{}"),
    ("generate_subscripts", "text[] {a,NULL} | integer 1", "{1,2}"),
];

#[test]
fn bounds() {
    check(BOUNDS);
}

const OPERATORS: &[Case] = &[
    ("arrayoverlap", "integer[] {1,2} | integer[] {2,3}", "t"),
    ("arrayoverlap", "integer[] {1,NULL} | integer[] {NULL}", "f"),
    ("arraycontains", "integer[] {1,2} | integer[] {2}", "t"),
    ("arraycontains", "integer[] {1,2} | integer[] {}", "t"),
    ("arraycontained", "integer[] {1,2} | integer[] {2}", "f"),
    ("arraycontained", "integer[] {2,2} | integer[] {2}", "t"),
    ("arraycontained", "integer[] NULL | integer[] {2}", "NULL"),
];

#[test]
fn operators() {
    check(OPERATORS);
}

#[test]
fn what_we_do_not_have() {
    check(&[
        ("array_fill", "integer 7 | integer[] {2,3}", "ERROR: arrays have one dimension, and its lower bound is 1"),
        (
            "array_fill",
            "integer 7 | integer[] {2} | integer[] {0}",
            "ERROR: arrays have one dimension, and its lower bound is 1",
        ),
        ("array_fill", "integer[] {1} | integer[] {2}", "ERROR: arrays have one dimension, and its lower bound is 1"),
        // PostgreSQL would fill a gigabyte.
        ("array_fill", "double 7 | integer[] {134217727}", "ERROR: array size exceeds the maximum allowed (134217727)"),
        ("array_positions", "integer[] {1} | boolean t", "ERROR: could not compare integer with boolean"),
        ("array_positions", "integer[] {1,2} | text 2", "{2}"),
        ("array_positions", "integer[] {1,2} | text x", "ERROR: invalid input syntax for type integer: \"x\""),
    ]);
}
