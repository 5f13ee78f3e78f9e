use super::super::super::testing::{Case, check};

/// A call of JSON_VALUE for an integer, of a document or a cell.
const VALUES: &[Case] = &[
    ("json_value", "jsonb 1 | jsonpath $ | jsonb {} | text nn | integer NULL | integer NULL | integer NULL", "1"),
    ("json_value", "jsonb \"7\" | jsonpath $ | jsonb {} | text nn | integer NULL | integer NULL | integer NULL", "7"),
    ("json_value", "jsonb 1.5 | jsonpath $ | jsonb {} | text nd | integer NULL | integer NULL | integer 9", "9"),
    ("json_value", "jsonb {} | jsonpath $.a | jsonb {} | text dn | integer NULL | integer 8 | integer NULL", "8"),
    ("json_value", "jsonb {} | jsonpath strict $.a | jsonb {} | text dd | integer NULL | integer 8 | integer 9", "9"),
    ("json_value", "jsonb [1,2] | jsonpath $[*] | jsonb {} | text nd | integer NULL | integer NULL | integer 9", "9"),
    ("json_value", "jsonb null | jsonpath $ | jsonb {} | text ee | integer NULL | integer NULL | integer NULL", "NULL"),
    ("json_value", "jsonb NULL | jsonpath $ | jsonb {} | text ee | integer NULL | integer NULL | integer NULL", "NULL"),
    (
        "json_value",
        "jsonb {} | jsonpath $.a | jsonb {} | text ed | integer NULL | integer NULL | integer 9",
        "ERROR: no SQL/JSON item found for specified path",
    ),
    (
        "json_value",
        "jsonb [1] | jsonpath $ | jsonb {} | text ne | integer NULL | integer NULL | integer NULL",
        "ERROR: JSON path expression in JSON_VALUE must return single scalar item",
    ),
    // The path's variables are no business of ON ERROR.
    (
        "json_value",
        "jsonb 1 | jsonpath $x | jsonb {} | text nn | integer NULL | integer NULL | integer NULL",
        "ERROR: could not find jsonpath variable \"x\"",
    ),
    ("json_value", "jsonb [3] | text nn | text a | integer NULL | integer NULL | integer NULL", "3"),
    ("json_value", "jsonb [] | text dn | text a | integer NULL | integer 8 | integer NULL", "8"),
    ("json_value", "jsonb {} | text dd | text a | integer NULL | integer 8 | integer 9", "9"),
    ("json_value", "jsonb null | text ee | text a | integer NULL | integer 8 | integer 9", "NULL"),
    (
        "json_value",
        "jsonb [1, 2] | text ne | text a | integer NULL | integer NULL | integer NULL",
        "ERROR: JSON path expression for column \"a\" must return single scalar item",
    ),
];

const QUERIES: &[Case] = &[
    (
        "json_query",
        "jsonb [1,2] | jsonpath $[*] | jsonb {} | text nnuk | jsonb NULL | jsonb NULL | jsonb NULL",
        "[1, 2]",
    ),
    ("json_query", "jsonb [1,2] | jsonpath $[*] | jsonb {} | text nnwk | jsonb NULL | jsonb NULL | jsonb NULL", "NULL"),
    ("json_query", "jsonb [1] | jsonpath $[*] | jsonb {} | text nnck | jsonb NULL | jsonb NULL | jsonb NULL", "1"),
    ("json_query", "jsonb [1] | jsonpath $[*] | jsonb {} | text nnuk | jsonb NULL | jsonb NULL | jsonb NULL", "[1]"),
    ("json_query", "jsonb null | jsonpath $ | jsonb {} | text nnwk | jsonb NULL | jsonb NULL | jsonb NULL", "null"),
    ("json_query", "jsonb \"a\" | jsonpath $ | jsonb {} | text nnwk | text NULL | text NULL | text NULL", "\"a\""),
    ("json_query", "jsonb \"a\" | jsonpath $ | jsonb {} | text nnwo | text NULL | text NULL | text NULL", "a"),
    ("json_query", "jsonb \"a\" | jsonpath $ | jsonb {} | text nnwo | jsonb NULL | jsonb NULL | jsonb NULL", "NULL"),
    ("json_query", "jsonb [1,2] | jsonpath $ | jsonb {} | text nnwk | integer[] NULL | text NULL | text NULL", "{1,2}"),
    ("json_query", "jsonb 1 | jsonpath $ | jsonb {} | text nnwk | integer[] NULL | text NULL | text NULL", "NULL"),
    ("json_query", "jsonb {} | jsonpath $.a | jsonb {} | text anwk | jsonb NULL | jsonb NULL | jsonb NULL", "[]"),
    ("json_query", "jsonb {} | jsonpath $.a | jsonb {} | text onwk | text NULL | text NULL | text NULL", "{}"),
];

const OTHERS: &[Case] = &[
    ("json_exists", "jsonb {\"a\": 1} | jsonpath $.a | jsonb {} | text f", "t"),
    ("json_exists", "jsonb {} | jsonpath $.a | jsonb {} | text f", "f"),
    ("json_exists", "jsonb {} | jsonpath strict $.a | jsonb {} | text t", "t"),
    ("json_exists", "jsonb {} | jsonpath strict $.a | jsonb {} | text n", "NULL"),
    ("json_exists", "jsonb {\"a\": 3} | jsonpath $.a ? (@ > $x) | jsonb {\"x\": 2} | text f", "t"),
    ("weft_json_table", "jsonb [5,\"x\"] | text[] {($[*],#,v$,)} | jsonb {}", "{\"[1, [5]]\",\"[2, [\\\"x\\\"]]\"}"),
    (
        "weft_json_table",
        "jsonb {} | text[] {($[*],v$.a,\"vstrict $.b\",xfstrict $.c,)} | jsonb {}",
        "{\"[[], {}, false]\"}",
    ),
    (
        "weft_json_table",
        "jsonb {\"b\": [1,2]} | text[] {($,#,($.b[*],#,v$,),($.c[*],v$,),)} | jsonb {}",
        "{\"[1, 1, [1], null]\",\"[1, 2, [2], null]\"}",
    ),
    (
        "weft_json_table",
        "jsonb {\"b\": [1], \"c\": [2]} | text[] {($,($.b[*],v$,),($.c[*],v$,),)} | jsonb {}",
        "{\"[[1], null]\",\"[null, [2]]\"}",
    ),
    ("weft_json_table", "jsonb {} | text[] {\"(strict $.a\",v$,)} | jsonb {}", "{}"),
    (
        "weft_json_table",
        "jsonb {} | text[] {\"[strict $.a\",v$,)} | jsonb {}",
        "ERROR: JSON object does not contain key \"a\"",
    ),
];

#[test]
fn what_is_not_there_and_what_does_not_fit_is_as_the_clauses_say() {
    check(VALUES);
    check(QUERIES);
}

/// Whatever is given to them.
const ODD: &[Case] = &[
    ("json_value", "jsonb [1] | text NULL | text a | integer NULL | integer NULL | integer NULL", "NULL"),
    ("json_value", "jsonb [1] | text nn | text NULL | integer NULL | integer NULL | integer NULL", "NULL"),
    ("json_value", "jsonb 1 | jsonpath $ | jsonb NULL | text nn | integer NULL | integer NULL | integer NULL", "NULL"),
    ("json_value", "jsonb 1 | jsonpath $ | jsonb {} | text NULL | integer NULL | integer NULL | integer NULL", "NULL"),
    ("json_value", "jsonb {} | jsonpath $.a | jsonb {} | text dn | integer NULL | text 7 | integer NULL", "7"),
    (
        "json_value",
        "jsonb {} | jsonpath $.a | jsonb {} | text dn | integer NULL | date 2020-01-01 | integer NULL",
        "ERROR: cannot cast type date to integer",
    ),
    (
        "json_value",
        "jsonb {} | jsonpath $.a | jsonb {} | text éé | integer NULL | integer NULL | integer NULL",
        "ERROR: a clause of JSON functions is not \"\u{c3}\"",
    ),
    ("json_value", "jsonb [{\"b\": 1}] | text nn | text a | jsonb NULL | jsonb NULL | jsonb NULL", "{\"b\": 1}"),
];

#[test]
fn odd_arguments_are_null_or_errors() {
    check(ODD);
}

#[test]
fn rows_have_cells_of_what_paths_find() {
    check(OTHERS);
}

#[test]
fn plans_are_read_whole() {
    let deep: Vec<&str> = std::iter::repeat_n("($", 100_000).chain(std::iter::repeat_n(")", 100_000)).collect();
    for broken in [&deep[..], &["v$", ")"], &["($", "v$"], &["($", "y$", ")"], &["", ")"], &["($", "xq$", ")"], &[]] {
        let plan: Vec<String> = broken.iter().map(|&item| item.to_owned()).collect();
        assert!(super::plan::read(&plan).is_err(), "{broken:?}");
    }
}
