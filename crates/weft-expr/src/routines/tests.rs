use weft_format::predicate::CompareOp;
use weft_format::{DataType, Value};

use super::operators::quantified;
use super::*;
use crate::style::Local;
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
    for (routine, date, days, wanted) in [
        (Routine::DatePlusDays, "2024-02-28", "2", "2024-03-01"),
        (Routine::DateMinusDays, "2024-03-01", "1", "2024-02-29"),
        (Routine::DatePlusDays, "9999-12-31", "1", "22008"),
        (Routine::DateMinusDays, "1970-01-01", "-2147483648", "22008"),
    ] {
        let signature = Signature::new(routine, [DataType::Date, DataType::Integer], DataType::Date);
        assert_eq!(run(&signature, &[date, days]), wanted, "{routine:?}");
    }
    let xor = by_operator("#", Some(DataType::SmallInt), Some(DataType::Integer)).unwrap();
    assert_eq!((run(&xor, &["12", "10"]), run(&xor, &["NULL", "1"])), ("6".into(), "NULL".into()));
    assert_eq!(xor.result, DataType::Integer);
    assert!(by_operator("#", Some(DataType::Text), None).is_none());
    let age = by_name("age", &[Some(Timestamp), Some(Timestamp)]).unwrap();
    assert_eq!(run(&age, &["2001-04-10", "1957-06-13"]), "43 years 9 mons 27 days");
}

/// Each beside PostgreSQL 15's answer: of `extract`, then of `date_part`.
#[test]
fn parts_of_intervals() {
    use DataType::{DoublePrecision, Interval, Text};
    for (unit, interval, wanted, as_float) in [
        ("epoch", "1 year", "31557600.000000", "31557600"),
        ("epoch", "2 years", "63115200.000000", "63115200"),
        ("epoch", "14 mons 3 days 04:05:06.789", "37015506.789000", "37015506.789000005"),
        ("epoch", "-25 mons", "-65707200.000000", "-65707200"),
        ("epoch", "11 mons -1 days", "28425600.000000", "28425600"),
        ("epoch", "178956970 years 7 mons", "5647452494616000.000000", "5.647452494616e+15"),
        ("second", "-00:00:06.789", "-6.789000", "-6.789"),
        ("milliseconds", "00:01:06.789", "6789.000", "6789"),
        ("microseconds", "00:01:06.789", "6789000", "6789000"),
        ("minute", "-04:05:06", "-5", "-5"),
        ("hour", "100:00:00.5", "100", "100"),
        ("day", "25:00", "0", "0"),
        ("day", "1 mon 40 days", "40", "40"),
        ("month", "-25 mons", "-1", "-1"),
        ("quarter", "-11 mons", "-2", "-2"),
        ("quarter", "11 mons", "4", "4"),
        ("year", "-25 mons", "-2", "-2"),
        ("decade", "-15 years", "-1", "-1"),
        ("century", "-1200 years", "-12", "-12"),
        ("millennium", "1999 years", "1", "1"),
        ("dow", "1 day", "0A000", "0A000"),
        ("timezone", "1 day", "0A000", "0A000"),
        ("fortnight", "1 day", "22023", "22023"),
    ] {
        let result = part_type(unit).unwrap_or(DoublePrecision);
        let extract = Signature::new(Routine::Part, [Text, Interval], result);
        assert_eq!(run(&extract, &[unit, interval]), wanted, "extract({unit} from {interval})");
        let date_part = by_name("date_part", &[None, Some(Interval)]).unwrap();
        assert_eq!(run(&date_part, &[unit, interval]), as_float, "date_part({unit}, {interval})");
    }
}

#[test]
fn dates_and_timestamps_of_their_parts() {
    use DataType::{DoublePrecision, Integer, Text};
    let date = by_name("make_date", &[Some(Integer), Some(Integer), None]).unwrap();
    for (parts, wanted) in [
        (["2024", "2", "29"], "2024-02-29"),
        (["9999", "12", "31"], "9999-12-31"),
        (["1", "1", "1"], "0001-01-01"),
        (["2023", "2", "29"], "22008"),
        (["2024", "13", "1"], "22008"),
        (["2024", "1", "0"], "22008"),
        (["0", "1", "1"], "22008"),
        (["NULL", "13", "1"], "NULL"),
        // PostgreSQL: 0044-03-15 BC and 10000-01-01.
        (["-44", "3", "15"], "22008"),
        (["10000", "1", "1"], "22008"),
    ] {
        assert_eq!(run(&date, &parts), wanted, "{parts:?}");
    }
    let types = [Some(Integer), Some(Integer), Some(Integer), Some(Integer), Some(Integer), Some(DoublePrecision)];
    let moment = by_name("make_timestamptz", &[&types[..], &[Some(Text)]].concat()).unwrap();
    for (place, wanted) in [
        ("+03", "2023-12-31 21:00:00+00"),
        ("+3", "2023-12-31 21:00:00+00"),
        ("-05:30", "2024-01-01 05:30:00+00"),
        ("+0330", "2023-12-31 20:30:00+00"),
        ("+03:30:15", "2023-12-31 20:29:45+00"),
        ("+15:59", "2023-12-31 08:01:00+00"),
        ("EST", "2024-01-01 05:00:00+00"),
        ("Europe/Berlin", "2023-12-31 23:00:00+00"),
        ("UTC+3", "2024-01-01 03:00:00+00"),
        ("3", "22023"),
        ("1:30", "22023"),
        ("+16", "22023"),
        ("+03:60", "22023"),
        ("-x", "22023"),
        ("nowhere", "22023"),
    ] {
        assert_eq!(run(&moment, &["2024", "1", "1", "0", "0", "0", place]), wanted, "{place}");
    }
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
