use weft_format::{Code, DataType, Result, Value};

use super::*;
use crate::style::Local;

fn parse(text: &str, data_type: DataType) -> Result<Value> {
    super::parse(text, data_type, Local::fixed())
}

fn round_trip(text: &str, data_type: DataType) -> String {
    let value = parse(text, data_type).unwrap_or_else(|error| panic!("{text}: {error}"));
    let printed = print(value.as_ref(), data_type);
    assert_eq!(parse(&printed, data_type).unwrap(), value, "{text} as {data_type}");
    printed
}

const NUMERIC: DataType = DataType::Numeric { precision: 10, scale: 2 };

#[test]
fn values_print_as_postgresql_prints_them() {
    for (text, data_type, printed) in [
        (" TRUE ", DataType::Boolean, "t"),
        ("n", DataType::Boolean, "f"),
        ("-32768", DataType::SmallInt, "-32768"),
        (" +42 ", DataType::Integer, "42"),
        ("-9223372036854775808", DataType::BigInt, "-9223372036854775808"),
        ("0.1", DataType::DoublePrecision, "0.1"),
        ("1e15", DataType::DoublePrecision, "1e+15"),
        ("123456789012345", DataType::DoublePrecision, "123456789012345"),
        ("0.0001", DataType::DoublePrecision, "0.0001"),
        ("0.00001", DataType::DoublePrecision, "1e-05"),
        ("-0", DataType::DoublePrecision, "-0"),
        ("1.5e300", DataType::DoublePrecision, "1.5e+300"),
        ("-inf", DataType::DoublePrecision, "-Infinity"),
        ("0.1", DataType::Real, "0.1"),
        ("1000000", DataType::Real, "1e+06"),
        ("16777217", DataType::Real, "1.6777216e+07"),
        ("1.005", NUMERIC, "1.01"),
        ("-1.005", NUMERIC, "-1.01"),
        ("-.5", NUMERIC, "-0.50"),
        ("1e3", NUMERIC, "1000.00"),
        ("125e-3", NUMERIC, "0.13"),
        ("2013-01-01", DataType::Date, "2013-01-01"),
        ("20240229", DataType::Date, "2024-02-29"),
        ("0001-01-01", DataType::Date, "0001-01-01"),
        ("9999-12-31 23:59", DataType::Date, "9999-12-31"),
        ("2013-01-01T05:15:07.1234567", DataType::Timestamp, "2013-01-01 05:15:07.123457"),
        ("1969-12-31 23:59:59.5", DataType::Timestamp, "1969-12-31 23:59:59.5"),
        ("2013-01-01 24:00", DataType::Timestamp, "2013-01-02 00:00:00"),
        ("2013-01-01 05:15+01", DataType::TimestampTz, "2013-01-01 04:15:00+00"),
        ("2013-01-01 05:15:00 -0530", DataType::TimestampTz, "2013-01-01 10:45:00+00"),
        ("2013-01-01 05:15Z", DataType::TimestampTz, "2013-01-01 05:15:00+00"),
    ] {
        assert_eq!(round_trip(text, data_type), printed, "{text} as {data_type}");
    }
}

#[test]
fn what_does_not_read_is_an_error_of_its_kind() {
    for (text, data_type, code) in [
        ("maybe", DataType::Boolean, Code::InvalidText),
        ("", DataType::Integer, Code::InvalidText),
        ("1.0", DataType::Integer, Code::InvalidText),
        ("32768", DataType::SmallInt, Code::NumericOutOfRange),
        ("99999999999999999999", DataType::BigInt, Code::NumericOutOfRange),
        ("1e400", DataType::DoublePrecision, Code::NumericOutOfRange),
        ("1e39", DataType::Real, Code::NumericOutOfRange),
        ("infinit", DataType::DoublePrecision, Code::InvalidText),
        ("1e", DataType::DoublePrecision, Code::InvalidText),
        ("99999999.995", NUMERIC, Code::NumericOutOfRange),
        ("1e999999999", NUMERIC, Code::NumericOutOfRange),
        (".", NUMERIC, Code::InvalidText),
        ("1.2.3", NUMERIC, Code::InvalidText),
        ("NaN", NUMERIC, Code::FeatureNotSupported),
        ("2013-02-30", DataType::Date, Code::DatetimeOverflow),
        ("0000-01-01", DataType::Date, Code::DatetimeOverflow),
        ("10000-01-01", DataType::Date, Code::DatetimeOverflow),
        ("0044-03-15 BC", DataType::Date, Code::DatetimeOverflow),
        ("13/01/2013", DataType::Date, Code::DatetimeOverflow),
        ("infinity", DataType::Timestamp, Code::FeatureNotSupported),
        ("2013-01-01 25:00", DataType::Timestamp, Code::DatetimeOverflow),
        ("2013-01-01 05", DataType::Timestamp, Code::InvalidDatetime),
        ("2013-01-01 05:15 Europe/Atlantis", DataType::TimestampTz, Code::InvalidParameterValue),
        ("2013-01-01 05:15+99", DataType::TimestampTz, Code::InvalidZoneOffset),
        ("2013-01-01é", DataType::TimestampTz, Code::InvalidDatetime),
    ] {
        let error = parse(text, data_type).map(|_| ()).expect_err(text);
        assert_eq!(error.code(), code, "{text} as {data_type}: {error}");
    }
}

#[test]
fn every_day_and_random_numbers_survive() {
    for day in (-719_162..=2_932_896).step_by(97).chain([-719_162, 2_932_896]) {
        let (year, month, day_of_month) = date_parts(day);
        assert_eq!(days_of(year, month, day_of_month), day);
        round_trip(&print(Value::Int(day).as_ref(), DataType::Date), DataType::Date);
    }
    let mut state = 7u64;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let float = f64::from_bits(state.rotate_left(17));
        if float.is_finite() {
            let text = print(Value::Float(float).as_ref(), DataType::DoublePrecision);
            assert_eq!(parse_float(&text, DataType::DoublePrecision).unwrap().to_bits(), float.to_bits(), "{text}");
        }
        let decimal = i128::from(state as i64) * 1_000_003 % pow10(18);
        let wide = DataType::Numeric { precision: 18, scale: 7 };
        assert_eq!(parse(&print(Value::Decimal(decimal).as_ref(), wide), wide).unwrap(), Value::Decimal(decimal));
    }
    assert_eq!(print(Value::Int(days_of(-43, 3, 15)).as_ref(), DataType::Date), "0044-03-15 BC");
}
