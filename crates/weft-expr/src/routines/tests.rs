use weft_format::predicate::CompareOp;
use weft_format::{DataType, Value};

use super::operators::quantified;
use super::*;
use crate::text::{parse, print};

fn array(element: DataType) -> DataType {
    element.array().unwrap()
}

fn run(signature: &Signature, args: &[&str]) -> String {
    let value = |(text, data_type): (&&str, &DataType)| match *text {
        "NULL" => Value::Null,
        text => parse(text, *data_type, Local::fixed()).unwrap(),
    };
    let values: Vec<Value> = args.iter().zip(&signature.args).map(value).collect();
    match call(signature, &values, Local::fixed(), &|| 7) {
        Ok(Value::Null) => "NULL".into(),
        Ok(value) => print(value.as_ref(), signature.result),
        Err(error) => error.sqlstate().into(),
    }
}

#[test]
fn operators_of_times_and_intervals() {
    use DataType::{DoublePrecision, Interval, Time, Timestamp};
    let cases = [
        ("+", Timestamp, Interval, "2024-01-31 10:00", "1 mon 1 day", "2024-03-01 10:00:00"),
        ("-", Timestamp, Interval, "2024-03-31", "1 mon", "2024-02-29 00:00:00"),
        ("-", Timestamp, Timestamp, "2024-03-01 01:00", "2024-02-01 02:00", "28 days 23:00:00"),
        ("-", Timestamp, Timestamp, "2024-02-01", "2024-03-01", "-29 days"),
        ("+", Timestamp, Interval, "9999-12-31", "1 day", "22008"),
        ("+", Time, Interval, "23:00", "2 hours", "01:00:00"),
        ("-", Time, Interval, "01:00", "2 hours 1 day", "23:00:00"),
        ("-", Time, Time, "01:00", "02:30", "-01:30:00"),
        ("*", Interval, DoublePrecision, "1 mon 1 day 01:00", "1.5", "1 mon 16 days 13:30:00"),
        ("/", Interval, DoublePrecision, "1 year", "5", "2 mons 12 days"),
        ("/", Interval, DoublePrecision, "1 day", "0", "22012"),
        ("+", Interval, Interval, "1 day", "-25:00", "1 day -25:00:00"),
    ];
    for (sign, left, right, a, b, wanted) in cases {
        let signature = by_operator(sign, Some(left), Some(right)).unwrap();
        assert_eq!(run(&signature, &[a, b]), wanted, "{a} {sign} {b}");
    }
    let age = by_name("age", &[Some(Timestamp), Some(Timestamp)]).unwrap();
    assert_eq!(run(&age, &["2001-04-10", "1957-06-13"]), "43 years 9 mons 27 days");
}

#[test]
fn routines_of_arrays() {
    use DataType::{BigInt, Integer, Text};
    let ints = array(Integer);
    let found = |sign: &str, left, right| by_operator(sign, left, right).unwrap();
    assert_eq!(run(&found("||", Some(ints), None), &["{1}", "{2,NULL}"]), "{1,2,NULL}");
    assert_eq!(run(&found("||", Some(ints), Some(Integer)), &["{1}", "NULL"]), "{1,NULL}");
    assert_eq!(found("||", Some(ints), Some(BigInt)).result, array(BigInt));
    assert_eq!(run(&found("@>", Some(ints), None), &["{1,2}", "{2,2}"]), "t");
    assert_eq!(run(&found("@>", Some(ints), None), &["{1,NULL}", "{NULL}"]), "f");
    assert_eq!(run(&found("&&", None, Some(ints)), &["{1}", "{2}"]), "f");
    let any = |op| quantified(op, true, Some(Integer), None).unwrap();
    assert_eq!(run(&any(CompareOp::Eq), &["1", "{2,NULL}"]), "NULL");
    assert_eq!(run(&any(CompareOp::Eq), &["2", "{2,NULL}"]), "t");
    assert_eq!(run(&any(CompareOp::Eq), &["NULL", "{}"]), "f");
    let all = quantified(CompareOp::NotEq, false, None, Some(ints)).unwrap();
    assert_eq!(run(&all, &["3", "{2,NULL}"]), "NULL");
    assert_eq!(run(&all, &["3", "{2}"]), "t");
    let named = |name: &str, given: &[Option<DataType>]| by_name(name, given).unwrap();
    assert_eq!(run(&named("array_length", &[Some(ints), None]), &["{}", "1"]), "NULL");
    assert_eq!(run(&named("cardinality", &[Some(ints)]), &["{}"]), "0");
    assert_eq!(run(&named("array_to_string", &[Some(ints), None, None]), &["{1,NULL}", "-", "*"]), "1-*");
    assert_eq!(run(&named("string_to_array", &[None, None]), &["a,b,", ","]), "{a,b,\"\"}");
    assert_eq!(run(&named("string_to_array", &[None, None, None]), &["ab", "NULL", "b"]), "{a,NULL}");
    assert_eq!(run(&named("array_position", &[Some(array(Text)), None]), &["{a,b}", "b"]), "2");
    assert_eq!(run(&named("array_prepend", &[None, Some(ints)]), &["0", "{1}"]), "{0,1}");
}

/// A jsonb that is neither array nor object is read as an array of one; a json is not.
#[test]
fn a_scalar_jsonb_has_one_element() {
    use DataType::{Integer, Json, Jsonb};
    let step =
        |sign: &str, of, value: &str, at: &str| run(&by_operator(sign, Some(of), Some(Integer)).unwrap(), &[value, at]);
    for (value, at, element, text) in [
        ("\"a\"", "0", "\"a\"", "a"),
        ("\"a\"", "-1", "\"a\"", "a"),
        ("\"a\"", "1", "NULL", "NULL"),
        ("true", "-2", "NULL", "NULL"),
        ("1", "0", "1", "1"),
        ("null", "0", "null", "NULL"),
        ("{\"a\": 1}", "0", "NULL", "NULL"),
    ] {
        assert_eq!(step("->", Jsonb, value, at), element, "{value} -> {at}");
        assert_eq!(step("->>", Jsonb, value, at), text, "{value} ->> {at}");
        assert_eq!(step("->", Json, value, at), "NULL", "json {value} -> {at}");
    }
}

#[test]
fn routines_of_json_and_bytes() {
    use DataType::{Bytea, Integer, Json, Jsonb};
    let found = |sign: &str, left, right| by_operator(sign, left, right).unwrap();
    assert_eq!(run(&found("->", Some(Json), None), &["{\"a\":  [1 ,2]}", "a"]), "[1 ,2]");
    assert_eq!(run(&found("->>", Some(Jsonb), Some(Integer)), &["[1, \"x\"]", "-1"]), "x");
    assert_eq!(run(&found("->>", Some(Jsonb), None), &["{\"a\": null}", "a"]), "NULL");
    assert_eq!(run(&found("#>>", Some(Jsonb), None), &["{\"a\": [{\"b\": 5}]}", "{a,0,b}"]), "5");
    assert_eq!(run(&found("?&", Some(Jsonb), None), &["{\"a\": 1}", "{a,b}"]), "f");
    assert_eq!(run(&found("?|", Some(Jsonb), None), &["{\"a\": 1}", "{a,b}"]), "t");
    assert_eq!(run(&found("-", Some(Jsonb), None), &["{\"a\": 1, \"b\": 2}", "a"]), "{\"b\": 2}");
    assert!(by_operator("@>", Some(Json), None).is_none());
    let built = by_name("jsonb_build_object", &[None, Some(Integer), None, None]).unwrap();
    assert_eq!(run(&built, &["k", "1", "j", "NULL"]), "{\"j\": null, \"k\": 1}");
    assert_eq!(run(&by_name("encode", &[Some(Bytea), None]).unwrap(), &["\\x0001", "base64"]), "AAE=");
    assert_eq!(run(&by_name("decode", &[None, None]).unwrap(), &["AAE=", "base64"]), "\\x0001");
    assert_eq!(run(&by_name("substring", &[Some(Bytea), None, None]).unwrap(), &["\\x010203", "2", "1"]), "\\x02");
    assert_eq!(run(&by_name("gen_random_uuid", &[]).unwrap(), &[]), "00000000-0000-4007-8000-000000000007");
}
