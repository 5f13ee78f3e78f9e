use sqlparser::ast::Expr as SqlExpr;
use weft_format::{Code, DataType, Error, Value};

use super::*;
use crate::parse::parse_expression;
use crate::text::{NUMERIC_DEFAULT, print};

const ROW: &[(&str, DataType)] = &[
    ("i", DataType::Integer),
    ("b", DataType::BigInt),
    ("n", DataType::Numeric { precision: 10, scale: 2 }),
    ("f", DataType::DoublePrecision),
    ("t", DataType::Text),
    ("d", DataType::Date),
    ("x", DataType::Integer),
];

fn values() -> Vec<Value> {
    vec![
        Value::Int(7),
        Value::Int(1 << 40),
        Value::Decimal(1250),
        Value::Float(0.5),
        Value::Text("Hello".into()),
        Value::Int(15_706),
        Value::Null,
    ]
}

fn bound(sql: &str) -> BindResult<Expr> {
    let tree: SqlExpr = parse_expression(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let scope = Scope::empty().with("r", ROW.iter().copied());
    Binder::new(sql).bind(&tree, &scope, None)
}

fn value(sql: &str) -> std::result::Result<String, Error> {
    let expr = bound(sql)?;
    let local = weft_expr::Local { now_micros: 1_357_017_307_000_000, ..weft_expr::Local::fixed().clone() };
    let context = EvalContext { params: &[], local: &local, rng: None };
    let value = expr.eval(&values(), &context)?;
    Ok(match value {
        Value::Null => "NULL".into(),
        value => print(value.as_ref(), expr.data_type),
    })
}

#[test]
fn expressions_give_what_postgresql_gives() {
    for (sql, expected) in [
        ("1 + 2 * 3", "7"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("i + b", "1099511627783"),
        ("n * 1.1", "13.750"),
        ("n + 1", "13.50"),
        ("n / 3", "4.1666666666666667"),
        ("n - f", "12"),
        ("f / 2", "0.25"),
        ("i::float8 / 2", "3.5"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("d + 1", "2013-01-02"),
        ("d - '2012-12-31'", "1"),
        ("i = 7.0", "t"),
        ("n < 13 AND t LIKE 'H_l%'", "t"),
        ("t ILIKE '%LL%'", "t"),
        ("t LIKE 'h%'", "f"),
        ("'a%c' LIKE 'a\\%c'", "t"),
        ("'abc' LIKE 'a!%c' ESCAPE '!'", "f"),
        ("x = 1", "NULL"),
        ("x = 1 OR i = 7", "t"),
        ("x = 1 AND i = 8", "f"),
        ("x = 1 AND i = 7", "NULL"),
        ("x IS NULL", "t"),
        ("(x > 1) IS NOT TRUE", "t"),
        ("x IS DISTINCT FROM 1", "t"),
        ("x IS NOT DISTINCT FROM NULL", "t"),
        ("i IN (1, 7, NULL)", "t"),
        ("i IN (1, NULL)", "NULL"),
        ("i NOT IN (1, 2)", "t"),
        ("i BETWEEN 1 AND 7", "t"),
        ("i NOT BETWEEN 1 AND 7", "f"),
        ("CASE WHEN i > 7 THEN 'big' WHEN i = 7 THEN 'seven' END", "seven"),
        ("CASE i WHEN 1 THEN 1 ELSE 2.5 END", "2.5"),
        ("CAST('42' AS integer) + 1", "43"),
        ("'2013-01-01'::date = d", "t"),
        ("d >= '2013-01-01'", "t"),
        ("2.5::int", "3"),
        ("2.5::float8::int", "2"),
        ("(-2.5)::int", "-3"),
        ("true::int", "1"),
        ("f::numeric(4,1)", "0.5"),
        ("i::text || '!'", "7!"),
        ("t || 1", "Hello1"),
        ("t || NULL", "NULL"),
        ("coalesce(x, i, 3)", "7"),
        ("nullif(i, 7)", "NULL"),
        ("greatest(1, x, i, 2.5)", "7.0"),
        ("least('b', t)", "Hello"),
        ("abs(-i)", "7"),
        ("round(n)", "13"),
        ("round(2.5::float8)", "2"),
        ("lower(t)", "hello"),
        ("upper(t)", "HELLO"),
        ("length('häß')", "3"),
        ("substr(t, 2)", "ello"),
        ("substring(t from 2 for 3)", "ell"),
        ("substr(t, -1, 4)", "He"),
        ("now()", "2013-01-01 05:15:07+00"),
        ("current_date = d", "t"),
        ("r.i", "7"),
        ("'Hello'::varchar(3)", "Hel"),
        ("2147483647 + 1::bigint", "2147483648"),
    ] {
        assert_eq!(value(sql).unwrap_or_else(|error| panic!("{sql}: {error}")), expected, "{sql}");
    }
}

#[test]
fn errors_are_raised_not_wrapped() {
    for (sql, code) in [
        ("2147483647 + 1", Code::NumericOutOfRange),
        ("b * b", Code::NumericOutOfRange),
        ("i / 0", Code::DivisionByZero),
        ("i % (i - 7)", Code::DivisionByZero),
        ("f / 0", Code::DivisionByZero),
        ("n / 0", Code::DivisionByZero),
        ("1e300::float8 * 1e300::float8", Code::NumericOutOfRange),
        ("b::int", Code::NumericOutOfRange),
        ("'NaN'::float8::int", Code::NumericOutOfRange),
        ("1000::numeric(3,0)", Code::NumericOutOfRange),
        ("d + 99999999", Code::DatetimeOverflow),
        ("i = 'x'", Code::InvalidText),
        ("i = t", Code::UndefinedFunction),
        ("t + 1", Code::UndefinedFunction),
        ("i AND true", Code::DatatypeMismatch),
        ("CASE WHEN true THEN 1 ELSE t END", Code::DatatypeMismatch),
        ("d::int", Code::CannotCoerce),
        ("nope", Code::UndefinedColumn),
        ("q.i", Code::UndefinedTable),
        ("substr(t, 1, -1)", Code::InvalidParameterValue),
    ] {
        let error = value(sql).expect_err(sql);
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
}

#[test]
fn what_the_point_engine_does_not_know_is_left_to_the_other() {
    for sql in
        ["sqrt(n)", "count(*)", "(SELECT 1)", "i IN (SELECT 1)", "d + interval '1 day'", "i # 3", "sum(i) OVER ()"]
    {
        match bound(sql) {
            Err(BindError::Unsupported(_)) => {}
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn parameters_take_the_other_side_s_type() {
    let scope = Scope::empty().with("r", ROW.iter().copied());
    let mut binder = Binder::new("");
    let tree = parse_expression("$1 = b AND n > $2 AND t LIKE $3 AND d IN ($4) AND $1 + 1 > $5").unwrap();
    binder.bind_condition(&tree, &scope).unwrap();
    let numeric = NUMERIC_DEFAULT;
    assert_eq!(binder.param_types(), [DataType::BigInt, numeric, DataType::Text, DataType::Date, DataType::BigInt]);
}

#[test]
fn assignments_round_cut_or_refuse() {
    let text = |text: &str| Value::Text(text.into());
    let limit = DataType::Varchar(3);
    assert_eq!(assign(text("äöü  "), DataType::Text, limit, "c", weft_expr::Local::fixed()).unwrap(), text("äöü"));
    assert_eq!(
        assign(text("äöüx"), DataType::Text, limit, "c", weft_expr::Local::fixed()).unwrap_err().code(),
        Code::StringTooLong
    );
    assert_eq!(assign(Value::Int(12), DataType::Integer, limit, "c", weft_expr::Local::fixed()).unwrap(), text("12"));
    let numeric = DataType::Numeric { precision: 5, scale: 1 };
    assert_eq!(
        assign(Value::Float(0.25), DataType::DoublePrecision, numeric, "c", weft_expr::Local::fixed()).unwrap(),
        Value::Decimal(3)
    );
    assert_eq!(
        assign(text("1"), DataType::Text, DataType::Integer, "c", weft_expr::Local::fixed()).unwrap_err().code(),
        Code::DatatypeMismatch
    );
}
