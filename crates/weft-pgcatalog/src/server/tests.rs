use super::*;
use crate::snapshot::Snapshot;

fn call(name: &str, arguments: &[&str]) -> String {
    let values: Vec<Datum> = arguments.iter().map(Datum::text).collect();
    let types = vec![Type::Text; values.len()];
    let found = crate::functions::find(name, values.len()).unwrap();
    let call = Arguments { snapshot: &Snapshot::default(), values: &values, types: &types };
    (found.call)(&call).unwrap().plain()
}

#[test]
fn texts_are_replaced_and_cut_by_patterns_as_in_postgresql() {
    assert_eq!(call("regexp_replace", &["foobarbaz", "b(..)", "X\\1Y", "g"]), "fooXarYXazY");
    assert_eq!(call("regexp_replace", &["foobarbaz", "b..", "[\\&]"]), "foo[bar]baz");
    assert_eq!(call("regexp_replace", &["abc", "x*", "-", "g"]), "-a-b-c-");
    assert_eq!(call("regexp_replace", &["AbC", "b", "-", "i"]), "A-C");
    assert_eq!(call("substring", &["check_option=local", "check_option=([a-z]*)"]), "local");
    assert_eq!(call("substring", &["foobar", "o.b"]), "oob");
    assert_eq!(call("substring", &["foobar", "(z)"]), "");
    assert_eq!(call("parse_ident", &["Shop.\"Big Table\""]), "{shop,\"Big Table\"}");
}

#[test]
fn what_is_not_a_dotted_name_is_not_taken_apart() {
    let parse = |values: &[Datum]| {
        let types = [Type::Text, Type::Bool];
        parse_ident(&Arguments { snapshot: &Snapshot::default(), values, types: &types[..values.len()] })
    };
    let strict = |text: &str| parse(&[Datum::text(text)]).map(|parts| parts.plain());
    assert_eq!(strict("  Shop . \"a\"\"B\" ").unwrap(), "{shop,\"a\\\"B\"}");
    assert_eq!(strict("a1$_é.B").unwrap(), "{a1$_é,b}");
    for wrong in ["no'such", "a.", ".a", "a b", "\"a", "\"\"", "", "1a", "a..b"] {
        let error = strict(wrong).unwrap_err();
        assert_eq!(error.code(), Code::InvalidParameterValue, "{wrong}");
        assert_eq!(error.message(), format!("string is not a valid identifier: \"{wrong}\""));
    }
    assert_eq!(parse(&[Datum::text("no'such"), Datum::Bool(false)]).unwrap().plain(), "{no}");
}

#[test]
fn times_are_written_in_patterns() {
    let values = [Datum::Int(1_700_000_000_000_000), Datum::text("YYYY-MM-DD HH24:MI:SS TZ")];
    let call = Arguments { snapshot: &Snapshot::default(), values: &values, types: &[Type::Timestamptz, Type::Text] };
    assert_eq!(to_char(&call).unwrap().plain(), "2023-11-14 22:13:20 UTC");
    let values = [Datum::Int(0), Datum::text("Month")];
    let call = Arguments { snapshot: &Snapshot::default(), values: &values, types: &[Type::Timestamptz, Type::Text] };
    assert!(to_char(&call).is_err());
}
