//! Functions of JSON; the answers are PostgreSQL 15's, but where a test says otherwise.

use weft_format::DataType;

use super::super::testing::{Case, answer, check};
use crate::json::JSON_DEPTH_MAX;

const MADE: &[Case] = &[
    ("json_object", "text[] {}", "{}"),
    ("json_object", "text[] {a,1,b}", "ERROR: array must have even number of elements"),
    ("json_object", "text[] {a,1,a,NULL}", r#"{"a" : "1", "a" : null}"#),
    ("json_object", "text[] {NULL,1}", "ERROR: null value not allowed for object key"),
    ("json_object", "text[] {\"a\\\"b\",\"c\\\\d\n\"}", "{\"a\\\"b\" : \"c\\\\d\\n\"}"),
    ("json_object", r#"text[] {"",1}"#, r#"{"" : "1"}"#),
    ("json_object", r#"text[] {é,""}"#, "{\"é\" : \"\\u0001\"}"),
    ("jsonb_object", "text[] {}", "{}"),
    ("jsonb_object", "text[] {a,1,b}", "ERROR: array must have even number of elements"),
    ("jsonb_object", "text[] {a,1,a,NULL}", r#"{"a": null}"#),
    ("jsonb_object", "text[] {bb,1,a,NULL}", r#"{"a": null, "bb": "1"}"#),
    ("jsonb_object", "text[] {NULL,1}", "ERROR: null value not allowed for object key"),
    ("jsonb_object", r#"text[] {"",1}"#, r#"{"": "1"}"#),
    ("json_object", "text[] {a,b} | text[] {1,NULL}", r#"{"a" : "1", "b" : null}"#),
    ("json_object", "text[] {a,b} | text[] {1}", "ERROR: mismatched array dimensions"),
    ("json_object", "text[] {a,NULL} | text[] {1,2}", "ERROR: null value not allowed for object key"),
    ("json_object", "text[] {} | text[] {}", "{}"),
    ("json_object", "text[] {a,a} | text[] {1,2}", r#"{"a" : "1", "a" : "2"}"#),
    ("json_object", "text[] {} | text[] {1}", "ERROR: wrong number of array subscripts"),
    ("jsonb_object", "text[] {a,b} | text[] {1,NULL}", r#"{"a": "1", "b": null}"#),
    ("jsonb_object", "text[] {a,b} | text[] {1}", "ERROR: mismatched array dimensions"),
    ("jsonb_object", "text[] {a,NULL} | text[] {1,2}", "ERROR: null value not allowed for object key"),
    ("jsonb_object", "text[] {} | text[] {}", "{}"),
    ("jsonb_object", "text[] {a,a} | text[] {1,2}", r#"{"a": "2"}"#),
    ("jsonb_object", "text[] {} | text[] {1}", "ERROR: wrong number of array subscripts"),
    ("json_object", "text[] NULL", "NULL"),
    ("json_object", "text[] {a} | text[] NULL", "NULL"),
];

#[test]
fn made() {
    check(MADE);
}

const ARRAYS: &[Case] = &[
    ("array_to_json", "integer[] {1,2,NULL}", "[1,2,null]"),
    ("array_to_json", "integer[] {}", "[]"),
    ("array_to_json", "integer[] NULL", "NULL"),
    (
        "array_to_json",
        "double[] {1.5,NaN,Infinity,1e300,1e-300,100000}",
        r#"[1.5,"NaN","Infinity",1e+300,1e-300,100000]"#,
    ),
    ("array_to_json", "real[] {1.5,0.1,1e20}", "[1.5,0.1,1e+20]"),
    ("array_to_json", "boolean[] {t,f,NULL}", "[true,false,null]"),
    ("array_to_json", "json[] {\"{\\\"a\\\" :  1}\",2}", r#"[{"a" :  1},2]"#),
    ("array_to_json", "jsonb[] {\"{\\\"a\\\" :  1}\",2}", r#"[{"a": 1},2]"#),
    ("array_to_json", "oid[] {5}", r#"["5"]"#),
    ("array_to_json", "date[] {2024-01-01}", r#"["2024-01-01"]"#),
    ("array_to_json", "timestamp[] {2024-01-01 12:34:56.5}", r#"["2024-01-01T12:34:56.5"]"#),
    ("array_to_json", "moment[] {2024-01-01 12:34:56+02}", r#"["2024-01-01T10:34:56+00:00"]"#),
    ("array_to_json", "bytea[] {\"\\\\x0102\"}", "[\"\\\\x0102\"]"),
    ("array_to_json", "interval[] {1 mon 35 days 27:00}", r#"["1 mon 35 days 27:00:00"]"#),
    ("array_to_json", "numeric[] {2.25,-1.00,NULL}", "[2.25,-1.00,null]"),
    ("array_to_json", "text[] {\"a\\\"b\\\\c\",NULL,\"\",x y}", "[\"a\\\"b\\\\c\",null,\"\",\"x y\"]"),
    ("array_to_json", "uuid[] {a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", r#"["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]"#),
    ("array_to_json", "char[] {a,bcd}", r#"["a  ","bcd"]"#),
    ("array_to_json", "integer[] {1,2,NULL} | boolean t", "[1,\n 2,\n null]"),
    ("array_to_json", "integer[] {1,2,NULL} | boolean f", "[1,2,null]"),
    ("array_to_json", "integer[] {} | boolean t", "[]"),
    ("array_to_json", "integer[] {1} | boolean NULL", "NULL"),
];

#[test]
fn arrays() {
    check(ARRAYS);
}

const INSERTED: &[Case] = &[
    ("jsonb_insert", "jsonb [1,2,3] | text[] {1} | jsonb 9", "[1, 9, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {1} | jsonb 9 | boolean t", "[1, 2, 9, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-1} | jsonb 9", "[1, 2, 9, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-1} | jsonb 9 | boolean t", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-3} | jsonb 9", "[9, 1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-3} | jsonb 9 | boolean t", "[1, 9, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-4} | jsonb 9", "[9, 1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-4} | jsonb 9 | boolean t", "[9, 1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {3} | jsonb 9", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {3} | jsonb 9 | boolean t", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {30} | jsonb 9", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {30} | jsonb 9 | boolean t", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {0} | jsonb 9", "[9, 1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {0} | jsonb 9 | boolean t", "[1, 9, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {2147483647} | jsonb 9", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {2147483647} | jsonb 9 | boolean t", "[1, 2, 3, 9]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-2147483648} | jsonb 9", "[9, 1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {-2147483648} | jsonb 9 | boolean t", "[9, 1, 2, 3]"),
    (
        "jsonb_insert",
        "jsonb [1,2,3] | text[] {x} | jsonb 9",
        r#"ERROR: path element at position 1 is not an integer: "x""#,
    ),
    (
        "jsonb_insert",
        "jsonb [1,2,3] | text[] {x} | jsonb 9 | boolean t",
        r#"ERROR: path element at position 1 is not an integer: "x""#,
    ),
    ("jsonb_insert", r#"jsonb [1,2,3] | text[] {" 1"} | jsonb 9"#, "[1, 9, 2, 3]"),
    ("jsonb_insert", r#"jsonb [1,2,3] | text[] {" 1"} | jsonb 9 | boolean t"#, "[1, 2, 9, 3]"),
    (
        "jsonb_insert",
        r#"jsonb [1,2,3] | text[] {"1 "} | jsonb 9"#,
        r#"ERROR: path element at position 1 is not an integer: "1 ""#,
    ),
    (
        "jsonb_insert",
        r#"jsonb [1,2,3] | text[] {"1 "} | jsonb 9 | boolean t"#,
        r#"ERROR: path element at position 1 is not an integer: "1 ""#,
    ),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {+1} | jsonb 9", "[1, 9, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {+1} | jsonb 9 | boolean t", "[1, 2, 9, 3]"),
    (
        "jsonb_insert",
        r#"jsonb [1,2,3] | text[] {""} | jsonb 9"#,
        r#"ERROR: path element at position 1 is not an integer: """#,
    ),
    (
        "jsonb_insert",
        r#"jsonb [1,2,3] | text[] {""} | jsonb 9 | boolean t"#,
        r#"ERROR: path element at position 1 is not an integer: """#,
    ),
    (
        "jsonb_insert",
        "jsonb [1,2,3] | text[] {9999999999} | jsonb 9",
        r#"ERROR: path element at position 1 is not an integer: "9999999999""#,
    ),
    (
        "jsonb_insert",
        "jsonb [1,2,3] | text[] {9999999999} | jsonb 9 | boolean t",
        r#"ERROR: path element at position 1 is not an integer: "9999999999""#,
    ),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {NULL} | jsonb 9", "ERROR: path element at position 1 is null"),
    (
        "jsonb_insert",
        "jsonb [1,2,3] | text[] {NULL} | jsonb 9 | boolean t",
        "ERROR: path element at position 1 is null",
    ),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {0,0} | jsonb 9", "[1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {0,0} | jsonb 9 | boolean t", "[1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {7,0} | jsonb 9", "[1, 2, 3]"),
    ("jsonb_insert", "jsonb [1,2,3] | text[] {7,0} | jsonb 9 | boolean t", "[1, 2, 3]"),
    ("jsonb_insert", "jsonb [] | text[] {5} | jsonb 9", "[9]"),
    ("jsonb_insert", "jsonb [] | text[] {-5} | jsonb 9 | boolean t", "[9]"),
    ("jsonb_insert", "jsonb [] | text[] {0,x} | jsonb 9", "[]"),
    (
        "jsonb_insert",
        "jsonb [[]] | text[] {0,x} | jsonb 9",
        r#"ERROR: path element at position 2 is not an integer: "x""#,
    ),
    ("jsonb_insert", "jsonb {} | text[] {a} | jsonb 9", r#"{"a": 9}"#),
    ("jsonb_insert", "jsonb {} | text[] {a,b} | jsonb 9", "{}"),
    ("jsonb_insert", r#"jsonb {"a":1} | text[] {a} | jsonb 9"#, "ERROR: cannot replace existing key"),
    ("jsonb_insert", r#"jsonb {"a":1} | text[] {a} | jsonb 9 | boolean t"#, "ERROR: cannot replace existing key"),
    ("jsonb_insert", r#"jsonb {"a":1} | text[] {a,b} | jsonb 9"#, r#"{"a": 1}"#),
    ("jsonb_insert", r#"jsonb {"a":1} | text[] {b} | jsonb 9"#, r#"{"a": 1, "b": 9}"#),
    ("jsonb_insert", r#"jsonb {"a":1} | text[] {} | jsonb 9"#, r#"{"a": 1}"#),
    ("jsonb_insert", "jsonb 5 | text[] {a} | jsonb 9", "ERROR: cannot set path in scalar"),
    ("jsonb_insert", "jsonb 5 | text[] {} | jsonb 9", "ERROR: cannot set path in scalar"),
    ("jsonb_insert", r#"jsonb "x" | text[] {0} | jsonb 9"#, "ERROR: cannot set path in scalar"),
    ("jsonb_insert", "jsonb [1,[2]] | text[] {1,0} | jsonb [9]", "[1, [[9], 2]]"),
    (
        "jsonb_insert",
        r#"jsonb {"a":{"b":[1]}} | text[] {a,b,0} | jsonb {"z":1,"y":2} | boolean f"#,
        r#"{"a": {"b": [{"y": 2, "z": 1}, 1]}}"#,
    ),
    ("jsonb_insert", r#"jsonb {"a":{"b":1}} | text[] {a,NULL} | jsonb 9"#, "ERROR: path element at position 2 is null"),
    ("jsonb_insert", r#"jsonb {"x":{"b":1}} | text[] {a,NULL} | jsonb 9"#, r#"{"x": {"b": 1}}"#),
    ("jsonb_insert", r#"jsonb {"a":{"b":1}} | text[] {a,b,c,d} | jsonb 9"#, r#"{"a": {"b": 1}}"#),
    ("jsonb_insert", r#"jsonb {"bb":1} | text[] {a} | jsonb null"#, r#"{"a": null, "bb": 1}"#),
    ("jsonb_insert", "jsonb NULL | text[] {a} | jsonb 1", "NULL"),
    ("jsonb_insert", "jsonb {} | text[] NULL | jsonb 1", "NULL"),
    ("jsonb_insert", "jsonb {} | text[] {a} | jsonb NULL", "NULL"),
    ("jsonb_insert", "jsonb {} | text[] {a} | jsonb 1 | boolean NULL", "NULL"),
];

#[test]
fn inserted() {
    check(INSERTED);
}

const LAX: &[Case] = &[
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL"#, r#"{"a": null, "b": 2}"#),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb 7"#, r#"{"a": 7, "b": 2}"#),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {c} | jsonb NULL | boolean f"#, r#"{"a": 1, "b": 2}"#),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {c} | jsonb NULL | boolean t"#, r#"{"a": 1, "b": 2, "c": null}"#),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {c} | jsonb 7 | boolean f"#, r#"{"a": 1, "b": 2}"#),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text delete_key"#, r#"{"b": 2}"#),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text return_target"#,
        r#"{"a": 1, "b": 2}"#,
    ),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text use_json_null"#,
        r#"{"a": null, "b": 2}"#,
    ),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text raise_exception"#,
        "ERROR: JSON value must not be null",
    ),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text x"#,
        r#"ERROR: null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception""#,
    ),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text DELETE_KEY"#,
        r#"ERROR: null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception""#,
    ),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean t | text "#,
        r#"ERROR: null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception""#,
    ),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb 5 | boolean t | text x"#, r#"{"a": 5, "b": 2}"#),
    (
        "jsonb_set_lax",
        r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb 5 | boolean t | text NULL"#,
        r#"ERROR: null_value_treatment must be "delete_key", "return_target", "use_json_null", or "raise_exception""#,
    ),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] {a} | jsonb NULL | boolean NULL | text x"#, "NULL"),
    ("jsonb_set_lax", r#"jsonb {"a":1,"b":2} | text[] NULL | jsonb NULL"#, "NULL"),
    ("jsonb_set_lax", "jsonb NULL | text[] {a} | jsonb NULL", "NULL"),
    ("jsonb_set_lax", "jsonb 5 | text[] {a} | jsonb NULL", "ERROR: cannot set path in scalar"),
    (
        "jsonb_set_lax",
        "jsonb 5 | text[] {a} | jsonb NULL | boolean t | text delete_key",
        "ERROR: cannot delete path in scalar",
    ),
    ("jsonb_set_lax", "jsonb 5 | text[] {a} | jsonb NULL | boolean t | text return_target", "5"),
];

#[test]
fn lax() {
    check(LAX);
}

const PATHS: &[Case] = &[
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a"#, r#"[1,{"b":"x"}]"#),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 0"#, "1"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text b"#, r#""x""#),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text -1 | text b"#, r#""x""#),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text x"#, "NULL"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text n | text x"#, "NULL"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 5 | text b"#, "NULL"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text c"#, "NULL"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a"#, r#"[1,{"b":"x"}]"#),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 0"#, "1"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text b"#, "x"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text -1 | text b"#, "x"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text x"#, "NULL"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text n | text x"#, "NULL"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 5 | text b"#, "NULL"),
    ("json_extract_path_text", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text c"#, "NULL"),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a"#, r#"[1, {"b": "x"}]"#),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 0"#, "1"),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text b"#, r#""x""#),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text -1 | text b"#, r#""x""#),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text x"#, "NULL"),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text n | text x"#, "NULL"),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 5 | text b"#, "NULL"),
    ("jsonb_extract_path", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text c"#, "NULL"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a"#, r#"[1, {"b": "x"}]"#),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 0"#, "1"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text b"#, "x"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text -1 | text b"#, "x"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text x"#, "NULL"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text n | text x"#, "NULL"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 5 | text b"#, "NULL"),
    ("jsonb_extract_path_text", r#"jsonb {"a":[1,{"b":"x"}],"n":null} | text a | text 1 | text c"#, "NULL"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text a | text NULL"#, "NULL"),
    ("json_extract_path", r#"json {"a":[1,{"b":"x"}],"n":null} | text NULL | text a"#, "NULL"),
    ("jsonb_extract_path", "jsonb NULL | text a | text b", "NULL"),
    ("jsonb_extract_path", r#"jsonb "x" | text 0 | text 0"#, "NULL"),
    ("jsonb_extract_path_text", "jsonb [[null]] | text 0 | text 0", "NULL"),
    ("json_extract_path", r#"json {"a" : { "b" :  [1,2] } } | text a | text b"#, "[1,2]"),
];

#[test]
fn paths() {
    check(PATHS);
}

const OPERATORS: &[Case] = &[
    ("jsonb_exists", r#"jsonb ["a"] | text a"#, "t"),
    ("jsonb_exists", r#"jsonb "a" | text a"#, "t"),
    ("jsonb_exists", r#"jsonb {"a":null} | text a"#, "t"),
    ("jsonb_exists", "jsonb 1 | text 1", "f"),
    ("jsonb_exists_any", r#"jsonb {"a":1,"b":2} | text[] {a,x}"#, "t"),
    ("jsonb_exists_any", r#"jsonb {"a":1,"b":2} | text[] {a,b}"#, "t"),
    ("jsonb_exists_any", r#"jsonb {"a":1,"b":2} | text[] {}"#, "f"),
    ("jsonb_exists_any", r#"jsonb {"a":1,"b":2} | text[] {NULL}"#, "f"),
    ("jsonb_exists_any", r#"jsonb {"a":1,"b":2} | text[] {a,NULL}"#, "t"),
    ("jsonb_exists_all", r#"jsonb {"a":1,"b":2} | text[] {a,x}"#, "f"),
    ("jsonb_exists_all", r#"jsonb {"a":1,"b":2} | text[] {a,b}"#, "t"),
    ("jsonb_exists_all", r#"jsonb {"a":1,"b":2} | text[] {}"#, "t"),
    ("jsonb_exists_all", r#"jsonb {"a":1,"b":2} | text[] {NULL}"#, "t"),
    ("jsonb_exists_all", r#"jsonb {"a":1,"b":2} | text[] {a,NULL}"#, "t"),
    ("jsonb_contains", "jsonb [1,2] | jsonb [1]", "t"),
    ("jsonb_contains", "jsonb [1,2] | jsonb 1", "t"),
    ("jsonb_contained", "jsonb [1,2] | jsonb [1]", "f"),
    ("jsonb_contained", r#"jsonb {"a":1} | jsonb {"a":1.0,"b":2}"#, "t"),
    ("jsonb_concat", r#"jsonb [1] | jsonb {"a":1}"#, r#"[1, {"a": 1}]"#),
    ("jsonb_concat", r#"jsonb {"b":1} | jsonb {"a":1}"#, r#"{"a": 1, "b": 1}"#),
    ("jsonb_concat", r#"jsonb 1 | jsonb "x""#, r#"[1, "x"]"#),
    ("jsonb_delete", r#"jsonb {"a":1,"b":2,"c":3} | text a"#, r#"{"b": 2, "c": 3}"#),
    ("jsonb_delete", r#"jsonb {"a":1,"b":2,"c":3} | text a | text c"#, r#"{"b": 2}"#),
    ("jsonb_delete", r#"jsonb {"a":1,"b":2,"c":3} | text a | text NULL"#, r#"{"b": 2, "c": 3}"#),
    ("jsonb_delete", r#"jsonb {"a":1} | text NULL"#, "NULL"),
    ("jsonb_delete", "jsonb NULL | text a | text b", "NULL"),
    ("jsonb_delete", r#"jsonb ["a","b","a"] | text a | text b"#, "[]"),
    ("jsonb_delete", r#"jsonb ["a","b","a"] | integer 1"#, r#"["a", "a"]"#),
    ("jsonb_delete", r#"jsonb ["a","b","a"] | integer -1"#, r#"["a", "b"]"#),
    ("jsonb_delete", r#"jsonb ["a","b","a"] | integer -2147483648"#, r#"["a", "b", "a"]"#),
    ("jsonb_delete", r#"jsonb {"a":1} | integer 1"#, "ERROR: cannot delete from object using integer index"),
    ("jsonb_delete", "jsonb 5 | text a", "ERROR: cannot delete from scalar"),
    ("jsonb_delete", "jsonb 5 | text a | text b", "ERROR: cannot delete from scalar"),
    ("jsonb_delete_path", r#"jsonb {"a":[1,2]} | text[] {}"#, r#"{"a": [1, 2]}"#),
    ("jsonb_delete_path", r#"jsonb {"a":[1,2]} | text[] {a,0}"#, r#"{"a": [2]}"#),
    ("jsonb_delete_path", r#"jsonb {"a":[1,2]} | text[] {a,-1}"#, r#"{"a": [1]}"#),
    ("jsonb_delete_path", r#"jsonb {"a":[1,2]} | text[] {a,9}"#, r#"{"a": [1, 2]}"#),
    ("jsonb_delete_path", r#"jsonb {"a":[1,2]} | text[] {x,9}"#, r#"{"a": [1, 2]}"#),
    ("jsonb_delete_path", "jsonb 5 | text[] {a}", "ERROR: cannot delete path in scalar"),
    ("json_array_element", "json [1, 2] | integer 1", "2"),
    ("json_array_element", "json [1,2] | integer -1", "2"),
    ("json_array_element", "json {} | integer 0", "NULL"),
    ("json_array_element", "json 5 | integer 0", "NULL"),
    ("jsonb_array_element", "jsonb [1,2] | integer 1", "2"),
    ("jsonb_array_element", "jsonb 5 | integer 0", "5"),
    ("jsonb_array_element_text", r#"jsonb ["x",null] | integer 0"#, "x"),
    ("jsonb_array_element_text", r#"jsonb ["x",null] | integer 1"#, "NULL"),
    ("json_array_element_text", r#"json ["x",null] | integer 0"#, "x"),
    ("json_object_field", r#"json {"a":{"b" : 1}} | text a"#, r#"{"b" : 1}"#),
    ("json_object_field_text", r#"json {"a":"x"} | text a"#, "x"),
    ("jsonb_object_field", r#"jsonb {"a":{"b" : 1}} | text a"#, r#"{"b": 1}"#),
    ("jsonb_object_field_text", "jsonb [1] | text a", "NULL"),
];

#[test]
fn operators() {
    check(OPERATORS);
}

#[test]
fn nothing_is_nested_too_deeply() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let insert = |depth: usize| {
        let new = deep(depth);
        let path = DataType::Text.array().expect("a type of elements");
        let args = [(DataType::Jsonb, Some("[]")), (path, Some("{0}")), (DataType::Jsonb, Some(&*new))];
        answer("jsonb_insert", &args)
    };
    assert_eq!(insert(JSON_DEPTH_MAX - 1).len(), 2 * JSON_DEPTH_MAX);
    assert!(insert(JSON_DEPTH_MAX).starts_with("ERROR: a json value is nested more than"));
}
