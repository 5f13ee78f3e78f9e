//! Functions of dates and times; the answers are PostgreSQL 15's, but where a test says otherwise.

use weft_format::DataType;

use super::super::find;
use super::super::testing::{Case, answer_in, check};
use crate::style::{Local, Style};
use crate::zone::Zone;

const MADE: &[Case] = &[
    ("make_interval", "", "00:00:00"),
    ("make_interval", "integer 1", "1 year"),
    ("make_interval", "integer 1 | integer 2", "1 year 2 mons"),
    ("make_interval", "integer 1 | integer 2 | integer 3", "1 year 2 mons 21 days"),
    ("make_interval", "integer 1 | integer 2 | integer 3 | integer 4", "1 year 2 mons 25 days"),
    ("make_interval", "integer 1 | integer 2 | integer 3 | integer 4 | integer 5", "1 year 2 mons 25 days 05:00:00"),
    (
        "make_interval",
        "integer 1 | integer 2 | integer 3 | integer 4 | integer 5 | integer 6",
        "1 year 2 mons 25 days 05:06:00",
    ),
    (
        "make_interval",
        "integer 1 | integer 2 | integer 3 | integer 4 | integer 5 | integer 6 | double 7.5",
        "1 year 2 mons 25 days 05:06:07.5",
    ),
    (
        "make_interval",
        "integer -1 | integer 2 | integer -3 | integer 4 | integer -5 | integer 6 | double -7.5",
        "-10 mons -17 days -04:54:07.5",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double 0.0000005",
        "00:00:00",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double 0.0000015",
        "00:00:00.000002",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double -1.0000005",
        "-00:00:01.000001",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double 1e12",
        "277777777:46:40",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double NaN",
        "ERROR: interval out of range",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double -Infinity",
        "ERROR: interval out of range",
    ),
    ("make_interval", "integer 0 | integer 2147483647", "178956970 years 7 mons"),
    ("make_interval", "integer 178956970 | integer 7", "178956970 years 7 mons"),
    ("make_interval", "integer -178956970 | integer -8", "-178956970 years -8 mons"),
    ("make_interval", "integer 0 | integer 0 | integer 0 | integer 2147483647", "2147483647 days"),
    ("make_interval", "integer 0 | integer 0 | integer 0 | integer -2147483648", "-2147483648 days"),
    ("make_interval", "integer 0 | integer 0 | integer 306783378 | integer 1", "2147483647 days"),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 2147483647 | integer 0 | double 0",
        "2147483647:00:00",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer -2147483648 | integer -2147483648 | double 0",
        "-2183275042:08:00",
    ),
    (
        "make_interval",
        "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double -0.0",
        "00:00:00",
    ),
    ("make_interval", "integer NULL", "NULL"),
    ("make_interval", "integer 1 | integer NULL", "NULL"),
    ("make_interval", "smallint 3", "3 years"),
];

#[test]
fn made() {
    check(MADE);
}

const TIMES: &[Case] = &[
    ("make_time", "integer 8 | integer 15 | double 23.5", "08:15:23.5"),
    ("make_time", "integer 0 | integer 0 | double 0", "00:00:00"),
    ("make_time", "integer 24 | integer 0 | double 0", "24:00:00"),
    ("make_time", "integer 24 | integer 0 | double 1", "ERROR: time field value out of range: 24:00:01"),
    ("make_time", "integer 23 | integer 59 | double 60", "24:00:00"),
    ("make_time", "integer 23 | integer 59 | double 59.9999999", "24:00:00"),
    ("make_time", "integer 23 | integer 59 | double 60.0000001", "24:00:00"),
    ("make_time", "integer 23 | integer 60 | double 0", "ERROR: time field value out of range: 23:60:00"),
    ("make_time", "integer -1 | integer 0 | double 0", "ERROR: time field value out of range: -1:00:00"),
    ("make_time", "integer 1 | integer -2 | double 3.5", "ERROR: time field value out of range: 1:-2:3.5"),
    (
        "make_time",
        "integer 1 | integer 2 | double 1234567.891",
        "ERROR: time field value out of range: 1:02:1.23457e+06",
    ),
    ("make_time", "integer 1 | integer 2 | double 1e20", "ERROR: time field value out of range: 1:02:1e+20"),
    ("make_time", "integer 1 | integer 2 | double 60.5", "ERROR: time field value out of range: 1:02:60.5"),
    ("make_time", "integer 1 | integer 2 | double -0.5", "ERROR: time field value out of range: 1:02:-0.5"),
    ("make_time", "integer 1 | integer 2 | double -0.0000001", "01:02:00"),
    ("make_time", "integer 1 | integer 2 | double NaN", "ERROR: time field value out of range: 1:02:NaN"),
    ("make_time", "integer 1 | integer 2 | double Infinity", "ERROR: time field value out of range: 1:02:Infinity"),
    ("make_time", "integer 1 | integer 2 | double -Infinity", "ERROR: time field value out of range: 1:02:-Infinity"),
    ("make_time", "integer 1 | integer 2 | double 0.00001234", "01:02:00.000012"),
    (
        "make_time",
        "integer 25 | integer 2 | double 0.00001234",
        "ERROR: time field value out of range: 25:02:1.234e-05",
    ),
    ("make_time", "integer 25 | integer 2 | double 123456.7", "ERROR: time field value out of range: 25:02:123457"),
    ("make_time", "integer 25 | integer 2 | double 999999.9", "ERROR: time field value out of range: 25:02:1e+06"),
    ("make_time", "integer 25 | integer 2 | double 99999.95", "ERROR: time field value out of range: 25:02:99999.9"),
    ("make_time", "integer 25 | integer 2 | double -1e-200", "ERROR: time field value out of range: 25:02:-1e-200"),
    ("make_time", "integer 25 | integer 2 | double 100000", "ERROR: time field value out of range: 25:02:100000"),
    ("make_time", "integer 25 | integer 1 | double 5", "ERROR: time field value out of range: 25:01:05"),
    ("make_time", "integer 25 | integer 1 | double 0", "ERROR: time field value out of range: 25:01:00"),
    (
        "make_time",
        "integer 2147483647 | integer 2147483647 | double 1e300",
        "ERROR: time field value out of range: 2147483647:2147483647:1e+300",
    ),
    (
        "make_time",
        "integer -2147483648 | integer -2147483648 | double -1e300",
        "ERROR: time field value out of range: -2147483648:-2147483648:-1e+300",
    ),
    ("make_time", "integer 12 | integer 0 | double 1e-300", "12:00:00"),
    ("make_time", "integer NULL | integer 1 | double 1", "NULL"),
];

#[test]
fn times() {
    check(TIMES);
}

const JUSTIFIED: &[Case] = &[
    ("justify_hours", "interval 1 mon 35 days 27:00", "1 mon 36 days 03:00:00"),
    ("justify_days", "interval 1 mon 35 days 27:00", "2 mons 5 days 27:00:00"),
    ("justify_interval", "interval 1 mon 35 days 27:00", "2 mons 6 days 03:00:00"),
    ("justify_hours", "interval 27:00", "1 day 03:00:00"),
    ("justify_days", "interval 27:00", "27:00:00"),
    ("justify_interval", "interval 27:00", "1 day 03:00:00"),
    ("justify_hours", "interval -27:00", "-1 days -03:00:00"),
    ("justify_days", "interval -27:00", "-27:00:00"),
    ("justify_interval", "interval -27:00", "-1 days -03:00:00"),
    ("justify_hours", "interval 35 days", "35 days"),
    ("justify_days", "interval 35 days", "1 mon 5 days"),
    ("justify_interval", "interval 35 days", "1 mon 5 days"),
    ("justify_hours", "interval -35 days", "-35 days"),
    ("justify_days", "interval -35 days", "-1 mons -5 days"),
    ("justify_interval", "interval -35 days", "-1 mons -5 days"),
    ("justify_hours", "interval 1 mon -1 hour", "1 mon -01:00:00"),
    ("justify_days", "interval 1 mon -1 hour", "1 mon -01:00:00"),
    ("justify_interval", "interval 1 mon -1 hour", "29 days 23:00:00"),
    ("justify_hours", "interval -1 mon 1 hour", "-1 mons +01:00:00"),
    ("justify_days", "interval -1 mon 1 hour", "-1 mons +01:00:00"),
    ("justify_interval", "interval -1 mon 1 hour", "-29 days -23:00:00"),
    ("justify_hours", "interval 1 mon -1 day", "1 mon -1 days"),
    ("justify_days", "interval 1 mon -1 day", "29 days"),
    ("justify_interval", "interval 1 mon -1 day", "29 days"),
    ("justify_hours", "interval -1 mon 1 day", "-1 mons +1 day"),
    ("justify_days", "interval -1 mon 1 day", "-29 days"),
    ("justify_interval", "interval -1 mon 1 day", "-29 days"),
    ("justify_hours", "interval 30 days", "30 days"),
    ("justify_days", "interval 30 days", "1 mon"),
    ("justify_interval", "interval 30 days", "1 mon"),
    ("justify_hours", "interval -30 days", "-30 days"),
    ("justify_days", "interval -30 days", "-1 mons"),
    ("justify_interval", "interval -30 days", "-1 mons"),
    ("justify_hours", "interval 29 days 24:00", "30 days"),
    ("justify_days", "interval 29 days 24:00", "29 days 24:00:00"),
    ("justify_interval", "interval 29 days 24:00", "1 mon"),
    ("justify_hours", "interval 1 day -1 hour", "23:00:00"),
    ("justify_days", "interval 1 day -1 hour", "1 day -01:00:00"),
    ("justify_interval", "interval 1 day -1 hour", "23:00:00"),
    ("justify_hours", "interval -1 day 1 hour", "-23:00:00"),
    ("justify_days", "interval -1 day 1 hour", "-1 days +01:00:00"),
    ("justify_interval", "interval -1 day 1 hour", "-23:00:00"),
    ("justify_hours", "interval 1 day -25 hours", "-01:00:00"),
    ("justify_days", "interval 1 day -25 hours", "1 day -25:00:00"),
    ("justify_interval", "interval 1 day -25 hours", "-01:00:00"),
    ("justify_hours", "interval 2147483647 days 24:00", "ERROR: interval out of range"),
    ("justify_days", "interval 2147483647 days 24:00", "5965232 years 4 mons 7 days 24:00:00"),
    ("justify_interval", "interval 2147483647 days 24:00", "5965232 years 4 mons 8 days"),
    ("justify_hours", "interval 2147483647 days -24:00", "2147483646 days"),
    ("justify_days", "interval 2147483647 days -24:00", "5965232 years 4 mons 7 days -24:00:00"),
    ("justify_interval", "interval 2147483647 days -24:00", "5965232 years 4 mons 6 days"),
    ("justify_hours", "interval -2147483648 days -24:00", "ERROR: interval out of range"),
    ("justify_days", "interval -2147483648 days -24:00", "-5965232 years -4 mons -8 days -24:00:00"),
    ("justify_interval", "interval -2147483648 days -24:00", "-5965232 years -4 mons -9 days"),
    ("justify_hours", "interval 2147483647 months 30 days", "178956970 years 7 mons 30 days"),
    ("justify_days", "interval 2147483647 months 30 days", "ERROR: interval out of range"),
    ("justify_interval", "interval 2147483647 months 30 days", "ERROR: interval out of range"),
    ("justify_hours", "interval 178956970 years 7 mons 30 days", "178956970 years 7 mons 30 days"),
    ("justify_days", "interval 178956970 years 7 mons 30 days", "ERROR: interval out of range"),
    ("justify_interval", "interval 178956970 years 7 mons 30 days", "ERROR: interval out of range"),
    ("justify_hours", "interval 178956970 years 7 mons -31 days", "178956970 years 7 mons -31 days"),
    ("justify_days", "interval 178956970 years 7 mons -31 days", "178956970 years 5 mons 29 days"),
    ("justify_interval", "interval 178956970 years 7 mons -31 days", "178956970 years 5 mons 29 days"),
    ("justify_hours", "interval -178956970 years -8 mons -30 days", "-178956970 years -8 mons -30 days"),
    ("justify_days", "interval -178956970 years -8 mons -30 days", "ERROR: interval out of range"),
    ("justify_interval", "interval -178956970 years -8 mons -30 days", "ERROR: interval out of range"),
    ("justify_hours", "interval 2147483647 days", "2147483647 days"),
    ("justify_days", "interval 2147483647 days", "5965232 years 4 mons 7 days"),
    ("justify_interval", "interval 2147483647 days", "5965232 years 4 mons 7 days"),
    ("justify_hours", "interval -2147483648 days", "-2147483648 days"),
    ("justify_days", "interval -2147483648 days", "-5965232 years -4 mons -8 days"),
    ("justify_interval", "interval -2147483648 days", "-5965232 years -4 mons -8 days"),
    ("justify_hours", "interval 2147483647 days 2562047788:00:54.775807", "ERROR: interval out of range"),
    (
        "justify_days",
        "interval 2147483647 days 2562047788:00:54.775807",
        "5965232 years 4 mons 7 days 2562047788:00:54.775807",
    ),
    (
        "justify_interval",
        "interval 2147483647 days 2562047788:00:54.775807",
        "6261765 years 7 mons 28 days 04:00:54.775807",
    ),
    ("justify_hours", "interval 0 days", "00:00:00"),
    ("justify_days", "interval 0 days", "00:00:00"),
    ("justify_interval", "interval 0 days", "00:00:00"),
    ("justify_hours", "interval 1 year 59 days -49:00", "1 year 56 days 23:00:00"),
    ("justify_days", "interval 1 year 59 days -49:00", "1 year 1 mon 29 days -49:00:00"),
    ("justify_interval", "interval 1 year 59 days -49:00", "1 year 1 mon 26 days 23:00:00"),
    ("justify_hours", "interval -1 year 59 days -49:00", "-1 years +56 days 23:00:00"),
    ("justify_days", "interval -1 year 59 days -49:00", "-10 mons -1 days -49:00:00"),
    ("justify_interval", "interval -1 year 59 days -49:00", "-10 mons -3 days -01:00:00"),
    ("justify_hours", "interval 1 mon -30 days -24:00", "1 mon -31 days"),
    ("justify_days", "interval 1 mon -30 days -24:00", "-24:00:00"),
    ("justify_interval", "interval 1 mon -30 days -24:00", "-1 days"),
    ("justify_hours", "interval 00:00:00.000001 1 day", "1 day 00:00:00.000001"),
    ("justify_days", "interval 00:00:00.000001 1 day", "1 day 00:00:00.000001"),
    ("justify_interval", "interval 00:00:00.000001 1 day", "1 day 00:00:00.000001"),
    ("justify_hours", "interval -1 days 86399999999 microseconds", "-00:00:00.000001"),
    ("justify_days", "interval -1 days 86399999999 microseconds", "-1 days +23:59:59.999999"),
    ("justify_interval", "interval -1 days 86399999999 microseconds", "-00:00:00.000001"),
    ("justify_hours", "interval 40 days -00:00:00.000001", "39 days 23:59:59.999999"),
    ("justify_days", "interval 40 days -00:00:00.000001", "1 mon 10 days -00:00:00.000001"),
    ("justify_interval", "interval 40 days -00:00:00.000001", "1 mon 9 days 23:59:59.999999"),
    ("justify_hours", "interval 60 days -01:00", "59 days 23:00:00"),
    ("justify_days", "interval 60 days -01:00", "2 mons -01:00:00"),
    ("justify_interval", "interval 60 days -01:00", "1 mon 29 days 23:00:00"),
    ("justify_days", "interval NULL", "NULL"),
    ("justify_hours", "time 13:00", "13:00:00"),
];

#[test]
fn justified() {
    check(JUSTIFIED);
}

const PARTS: &[Case] = &[
    ("date_trunc", "text millennium | interval 1234 years 8 mons 9 days 10:11:12.131415", "1000 years"),
    ("date_trunc", "text century | interval 1234 years 8 mons 9 days 10:11:12.131415", "1200 years"),
    ("date_trunc", "text decade | interval 1234 years 8 mons 9 days 10:11:12.131415", "1230 years"),
    ("date_trunc", "text year | interval 1234 years 8 mons 9 days 10:11:12.131415", "1234 years"),
    ("date_trunc", "text quarter | interval 1234 years 8 mons 9 days 10:11:12.131415", "1234 years 6 mons"),
    ("date_trunc", "text month | interval 1234 years 8 mons 9 days 10:11:12.131415", "1234 years 8 mons"),
    ("date_trunc", "text day | interval 1234 years 8 mons 9 days 10:11:12.131415", "1234 years 8 mons 9 days"),
    (
        "date_trunc",
        "text hour | interval 1234 years 8 mons 9 days 10:11:12.131415",
        "1234 years 8 mons 9 days 10:00:00",
    ),
    (
        "date_trunc",
        "text minute | interval 1234 years 8 mons 9 days 10:11:12.131415",
        "1234 years 8 mons 9 days 10:11:00",
    ),
    (
        "date_trunc",
        "text second | interval 1234 years 8 mons 9 days 10:11:12.131415",
        "1234 years 8 mons 9 days 10:11:12",
    ),
    (
        "date_trunc",
        "text milliseconds | interval 1234 years 8 mons 9 days 10:11:12.131415",
        "1234 years 8 mons 9 days 10:11:12.131",
    ),
    (
        "date_trunc",
        "text microseconds | interval 1234 years 8 mons 9 days 10:11:12.131415",
        "1234 years 8 mons 9 days 10:11:12.131415",
    ),
    (
        "date_trunc",
        "text week | interval 1234 years 8 mons 9 days 10:11:12.131415",
        r#"ERROR: unit "week" not supported for type interval"#,
    ),
    ("date_trunc", "text millennium | interval -20 mons -5 days -03:04:05.678901", "00:00:00"),
    ("date_trunc", "text century | interval -20 mons -5 days -03:04:05.678901", "00:00:00"),
    ("date_trunc", "text decade | interval -20 mons -5 days -03:04:05.678901", "00:00:00"),
    ("date_trunc", "text year | interval -20 mons -5 days -03:04:05.678901", "-1 years"),
    ("date_trunc", "text quarter | interval -20 mons -5 days -03:04:05.678901", "-1 years -6 mons"),
    ("date_trunc", "text month | interval -20 mons -5 days -03:04:05.678901", "-1 years -8 mons"),
    ("date_trunc", "text day | interval -20 mons -5 days -03:04:05.678901", "-1 years -8 mons -5 days"),
    ("date_trunc", "text hour | interval -20 mons -5 days -03:04:05.678901", "-1 years -8 mons -5 days -03:00:00"),
    ("date_trunc", "text minute | interval -20 mons -5 days -03:04:05.678901", "-1 years -8 mons -5 days -03:04:00"),
    ("date_trunc", "text second | interval -20 mons -5 days -03:04:05.678901", "-1 years -8 mons -5 days -03:04:05"),
    (
        "date_trunc",
        "text milliseconds | interval -20 mons -5 days -03:04:05.678901",
        "-1 years -8 mons -5 days -03:04:05.678",
    ),
    (
        "date_trunc",
        "text microseconds | interval -20 mons -5 days -03:04:05.678901",
        "-1 years -8 mons -5 days -03:04:05.678901",
    ),
    (
        "date_trunc",
        "text week | interval -20 mons -5 days -03:04:05.678901",
        r#"ERROR: unit "week" not supported for type interval"#,
    ),
    ("date_trunc", "text QTR | interval 1 day 1:00", "00:00:00"),
    ("date_trunc", "text Mon | interval 1 day 1:00", "00:00:00"),
    ("date_trunc", "text H | interval 1 day 1:00", "1 day 01:00:00"),
    ("date_trunc", "text yrs | interval 1 day 1:00", "00:00:00"),
    ("date_trunc", "text foo | interval 1 day 1:00", r#"ERROR: unit "foo" not recognized for type interval"#),
    ("date_trunc", "text  | interval 1 day 1:00", r#"ERROR: unit "" not recognized for type interval"#),
    ("date_trunc", "text dow | interval 1 day 1:00", r#"ERROR: unit "dow" not recognized for type interval"#),
    ("date_trunc", "text epoch | interval 1 day 1:00", r#"ERROR: unit "epoch" not recognized for type interval"#),
    ("date_trunc", "text 1 day | interval 1 day 1:00", r#"ERROR: unit "1 day" not recognized for type interval"#),
    (
        "date_trunc",
        "text day 2 hours | interval 1 day 1:00",
        r#"ERROR: unit "day 2 hours" not recognized for type interval"#,
    ),
    ("date_trunc", "text -day | interval 1 day 1:00", r#"ERROR: unit "-day" not recognized for type interval"#),
    ("date_trunc", "text wéek | interval 1 day 1:00", r#"ERROR: unit "wéek" not recognized for type interval"#),
    ("date_trunc", "text julian | interval 1 day 1:00", r#"ERROR: unit "julian" not recognized for type interval"#),
    ("date_trunc", "text NULL | interval 1 day", "NULL"),
    ("date_trunc", "text day | interval NULL", "NULL"),
    ("date_trunc", "text hour | time 12:34:56", "12:00:00"),
    ("date_trunc", "text millennium | interval -178956970 years -8 mons", "-178956000 years"),
    ("date_trunc", "text day | interval -2147483648 days -1:00", "-2147483648 days"),
    ("date_part", "text day | date 2024-02-29", "29"),
    ("date_part", "text month | date 2024-02-29", "2"),
    ("date_part", "text quarter | date 2024-02-29", "1"),
    ("date_part", "text week | date 2024-02-29", "9"),
    ("date_part", "text year | date 2024-02-29", "2024"),
    ("date_part", "text decade | date 2024-02-29", "202"),
    ("date_part", "text century | date 2024-02-29", "21"),
    ("date_part", "text millennium | date 2024-02-29", "3"),
    ("date_part", "text julian | date 2024-02-29", "2460370"),
    ("date_part", "text isoyear | date 2024-02-29", "2024"),
    ("date_part", "text dow | date 2024-02-29", "4"),
    ("date_part", "text isodow | date 2024-02-29", "4"),
    ("date_part", "text doy | date 2024-02-29", "60"),
    ("date_part", "text epoch | date 2024-02-29", "1709164800"),
    ("date_part", "text hour | date 2024-02-29", "0"),
    ("date_part", "text second | date 2024-02-29", "0"),
    ("date_part", "text microseconds | date 2024-02-29", "0"),
    (
        "date_part",
        "text timezone | date 2024-02-29",
        r#"ERROR: unit "timezone" not supported for type timestamp without time zone"#,
    ),
    (
        "date_part",
        "text foo | date 2024-02-29",
        r#"ERROR: unit "foo" not recognized for type timestamp without time zone"#,
    ),
    ("date_part", "text DAY | date 2024-02-29", "29"),
    ("date_part", "text year | date 0001-01-01", "1"),
    ("date_part", "text week | date 0001-01-01", "1"),
    ("date_part", "text isoyear | date 0001-01-01", "1"),
    ("date_part", "text dow | date 0001-01-01", "1"),
    ("date_part", "text julian | date 0001-01-01", "1721426"),
    ("date_part", "text epoch | date 0001-01-01", "-62135596800"),
    ("date_part", "text century | date 0001-01-01", "1"),
    ("date_part", "text doy | date 0001-01-01", "1"),
    ("date_part", "text year | date 9999-12-31", "9999"),
    ("date_part", "text week | date 9999-12-31", "52"),
    ("date_part", "text isoyear | date 9999-12-31", "9999"),
    ("date_part", "text dow | date 9999-12-31", "5"),
    ("date_part", "text julian | date 9999-12-31", "5373484"),
    ("date_part", "text epoch | date 9999-12-31", "253402214400"),
    ("date_part", "text century | date 9999-12-31", "100"),
    ("date_part", "text doy | date 9999-12-31", "365"),
    ("date_part", "text year | date 1969-12-31", "1969"),
    ("date_part", "text week | date 1969-12-31", "1"),
    ("date_part", "text isoyear | date 1969-12-31", "1970"),
    ("date_part", "text dow | date 1969-12-31", "3"),
    ("date_part", "text julian | date 1969-12-31", "2440587"),
    ("date_part", "text epoch | date 1969-12-31", "-86400"),
    ("date_part", "text century | date 1969-12-31", "20"),
    ("date_part", "text doy | date 1969-12-31", "365"),
    ("date_part", "text hour | time 12:34:56.789012", "12"),
    ("date_part", "text minute | time 12:34:56.789012", "34"),
    ("date_part", "text second | time 12:34:56.789012", "56.789012"),
    ("date_part", "text milliseconds | time 12:34:56.789012", "56789.012"),
    ("date_part", "text microseconds | time 12:34:56.789012", "56789012"),
    ("date_part", "text epoch | time 12:34:56.789012", "45296.789012"),
    ("date_part", "text MS | time 12:34:56.789012", "56789.012"),
    ("date_part", "text us | time 12:34:56.789012", "56789012"),
    ("date_part", "text h | time 12:34:56.789012", "12"),
    ("date_part", "text m | time 12:34:56.789012", "34"),
    ("date_part", "text s | time 12:34:56.789012", "56.789012"),
    (
        "date_part",
        "text day | time 12:34:56.789012",
        r#"ERROR: unit "day" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text week | time 12:34:56.789012",
        r#"ERROR: unit "week" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text month | time 12:34:56.789012",
        r#"ERROR: unit "month" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text quarter | time 12:34:56.789012",
        r#"ERROR: unit "quarter" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text year | time 12:34:56.789012",
        r#"ERROR: unit "year" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text decade | time 12:34:56.789012",
        r#"ERROR: unit "decade" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text century | time 12:34:56.789012",
        r#"ERROR: unit "century" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text millennium | time 12:34:56.789012",
        r#"ERROR: unit "millennium" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text julian | time 12:34:56.789012",
        r#"ERROR: unit "julian" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text isoyear | time 12:34:56.789012",
        r#"ERROR: unit "isoyear" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text dow | time 12:34:56.789012",
        r#"ERROR: unit "dow" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text isodow | time 12:34:56.789012",
        r#"ERROR: unit "isodow" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text doy | time 12:34:56.789012",
        r#"ERROR: unit "doy" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text timezone | time 12:34:56.789012",
        r#"ERROR: unit "timezone" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text timezone_hour | time 12:34:56.789012",
        r#"ERROR: unit "timezone_hour" not supported for type time without time zone"#,
    ),
    (
        "date_part",
        "text foo | time 12:34:56.789012",
        r#"ERROR: unit "foo" not recognized for type time without time zone"#,
    ),
    ("date_part", "text  | time 1:00", r#"ERROR: unit "" not recognized for type time without time zone"#),
    ("date_part", "text hour | time 24:00", "24"),
    ("date_part", "text epoch | time 24:00", "86400"),
    ("date_part", "text minute | time 23:59:59.999999", "59"),
    ("date_part", "text hour | time NULL", "NULL"),
    ("date_part", "text NULL | time 1:00", "NULL"),
    ("date_part", "text 1 hour | time 1:00", r#"ERROR: unit "1 hour" not recognized for type time without time zone"#),
    ("date_part", "text hour | timestamp 2024-02-29 12:34:56.789012", "12"),
    ("date_part", "text second | timestamp 2024-02-29 12:34:56.789012", "56.789012"),
    ("date_part", "text ms | timestamp 2024-02-29 12:34:56.789012", "56789.012"),
    ("date_part", "text epoch | timestamp 2024-02-29 12:34:56.789012", "1709210096.789012"),
    ("date_part", "text julian | timestamp 2024-02-29 12:34:56.789012", "2460370.5242683915"),
    ("date_part", "text dow | timestamp 2024-02-29 12:34:56.789012", "4"),
    (
        "date_part",
        "text timezone | timestamp 2024-02-29 12:34:56.789012",
        r#"ERROR: unit "timezone" not supported for type timestamp without time zone"#,
    ),
    (
        "date_part",
        "text foo | timestamp 2024-02-29 12:34:56.789012",
        r#"ERROR: unit "foo" not recognized for type timestamp without time zone"#,
    ),
];

#[test]
fn parts() {
    check(PARTS);
}

const BINS: &[Case] = &[
    ("date_bin", "interval 15 minutes | timestamp 2020-02-11 15:44:17 | timestamp 2001-01-01", "2020-02-11 15:30:00"),
    (
        "date_bin",
        "interval 15 minutes | timestamp 2020-02-11 15:44:17 | timestamp 2001-01-01 00:02:30",
        "2020-02-11 15:32:30",
    ),
    ("date_bin", "interval 1 day | timestamp 2000-01-01 | timestamp 2000-01-05", "2000-01-01 00:00:00"),
    ("date_bin", "interval 1 day | timestamp 2000-01-01 12:00 | timestamp 2000-01-05", "2000-01-01 00:00:00"),
    ("date_bin", "interval 1 day | timestamp 2000-01-04 23:59:59.999999 | timestamp 2000-01-05", "2000-01-04 00:00:00"),
    ("date_bin", "interval 1 microsecond | timestamp 2000-01-01 12:00 | timestamp 2000-01-05", "2000-01-01 12:00:00"),
    ("date_bin", "interval 36:00 | timestamp 2000-01-01 12:00 | timestamp 2000-01-05", "1999-12-31 12:00:00"),
    ("date_bin", "interval 1 day 12:00 | timestamp 2000-01-09 12:00 | timestamp 2000-01-05", "2000-01-09 12:00:00"),
    ("date_bin", "interval 2 days -12:00 | timestamp 2000-01-09 12:00 | timestamp 2000-01-05", "2000-01-09 12:00:00"),
    (
        "date_bin",
        "interval 5 mons | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: timestamps cannot be binned into intervals containing months or years",
    ),
    (
        "date_bin",
        "interval 1 year | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: timestamps cannot be binned into intervals containing months or years",
    ),
    (
        "date_bin",
        "interval 0 days | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: stride must be greater than zero",
    ),
    (
        "date_bin",
        "interval -2 days | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: stride must be greater than zero",
    ),
    (
        "date_bin",
        "interval 2147483647 days | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: interval out of range",
    ),
    (
        "date_bin",
        "interval 106751991 days 24:00 | timestamp 2000-01-01 | timestamp 2000-01-05",
        "ERROR: interval out of range",
    ),
    ("date_bin", "interval 100000 days | timestamp 2000-01-06 | timestamp 2000-01-05", "2000-01-05 00:00:00"),
    ("date_bin", "interval 3652058 days | timestamp 9999-12-31 | timestamp 0001-01-01", "9999-12-31 00:00:00"),
    ("date_bin", "interval 1 hour | moment 2024-03-10 07:30+00 | moment 2024-03-01 00:20+00", "2024-03-10 07:20:00+00"),
    ("date_bin", "interval 1 week | moment 2024-03-10 07:30+05 | moment 2024-01-01 00:00+00", "2024-03-04 00:00:00+00"),
    ("date_bin", "interval 1 hour | date 2024-03-10 | date 2024-01-01", "2024-03-10 00:00:00+00"),
    ("date_bin", "interval NULL | timestamp 2024-01-01 | timestamp 2024-01-01", "NULL"),
    ("date_bin", "interval 1 hour | timestamp NULL | timestamp 2024-01-01", "NULL"),
];

#[test]
fn bins() {
    check(BINS);
}

const OVERLAPS: &[Case] = &[
    ("overlaps", "time 10:00 | time 11:00 | time 11:00 | time 12:00", "f"),
    ("overlaps", "time 10:00 | time 10:00 | time 10:00 | time 11:00", "t"),
    ("overlaps", "time 10:00 | time 10:00 | time 09:00 | time 10:00", "f"),
    ("overlaps", "time 10:00 | time 10:00 | time 10:00 | time 10:00", "t"),
    ("overlaps", "time 11:00 | time 10:00 | time 10:30 | time 12:00", "t"),
    ("overlaps", "time 10:00 | time 12:00 | time 10:30 | time 11:00", "t"),
    ("overlaps", "time 10:30 | time 11:00 | time 10:00 | time 12:00", "t"),
    ("overlaps", "time 10:00 | time 11:00 | time 12:00 | time 13:00", "f"),
    ("overlaps", "time 12:00 | time 13:00 | time 10:00 | time 11:00", "f"),
    ("overlaps", "time NULL | time 11:00 | time 10:30 | time 12:00", "t"),
    ("overlaps", "time NULL | time 11:00 | time 11:30 | time 12:00", "NULL"),
    ("overlaps", "time 11:00 | time NULL | time 10:30 | time 12:00", "t"),
    ("overlaps", "time 11:00 | time NULL | time 11:00 | time 12:00", "NULL"),
    ("overlaps", "time 11:00 | time NULL | time 10:00 | time 11:00", "NULL"),
    ("overlaps", "time 11:00 | time NULL | time 11:30 | time 12:00", "NULL"),
    ("overlaps", "time 11:30 | time 12:00 | time 11:00 | time NULL", "NULL"),
    ("overlaps", "time 10:30 | time 12:00 | time NULL | time 11:00", "t"),
    ("overlaps", "time 11:00 | time NULL | time 10:00 | time NULL", "NULL"),
    ("overlaps", "time 10:00 | time NULL | time 11:00 | time NULL", "NULL"),
    ("overlaps", "time NULL | time NULL | time 10:00 | time 11:00", "NULL"),
    ("overlaps", "time 10:00 | time 11:00 | time NULL | time NULL", "NULL"),
    ("overlaps", "time NULL | time NULL | time NULL | time NULL", "NULL"),
    ("overlaps", "time 11:00 | time NULL | time 11:00 | time NULL", "NULL"),
    ("overlaps", "time 10:00 | time 11:00 | time 11:00 | time NULL", "NULL"),
    ("overlaps", "time 10:00 | time 11:00 | time 12:00 | time NULL", "NULL"),
    ("overlaps", "time 12:00 | time 13:00 | time 10:00 | time NULL", "NULL"),
    ("overlaps", "time 10:00 | interval 1 hour | time 10:30 | interval 1 hour", "t"),
    ("overlaps", "time 10:00 | interval 1 hour | time 11:00 | interval 1 hour", "f"),
    ("overlaps", "time 23:30 | interval 1 hour | time 00:15 | interval 00:10", "f"),
    ("overlaps", "time 10:00 | interval -1 hour | time 09:30 | time 12:00", "t"),
    ("overlaps", "time 10:00 | time 11:00 | time 10:30 | interval 1 hour", "t"),
    ("overlaps", "time 10:00 | interval 1 hour | time 10:30 | time 12:00", "t"),
    ("overlaps", "time 10:00 | interval 1 day | time 10:00 | time 12:00", "t"),
    ("overlaps", "timestamp 2024-01-01 | timestamp 2024-02-01 | timestamp 2024-01-31 | timestamp 2024-03-01", "t"),
    ("overlaps", "timestamp 2024-01-01 | interval 1 mon | timestamp 2024-02-01 | interval 1 mon", "f"),
    (
        "overlaps",
        "timestamp 2024-01-01 | interval 1 mon 1 microsecond | timestamp 2024-02-01 | timestamp 2024-03-01",
        "t",
    ),
    (
        "overlaps",
        "timestamp 2024-01-01 | timestamp 2024-02-01 | timestamp 2024-03-01 | interval -1 mon -1 microsecond",
        "t",
    ),
    ("overlaps", "timestamp 9999-12-31 | timestamp 9999-12-31 | timestamp 0001-01-01 | timestamp 9999-12-31", "f"),
    ("overlaps", "timestamp 2024-01-01 | timestamp NULL | timestamp 2024-03-01 | interval 1 day", "NULL"),
    ("overlaps", "date 2024-01-01 | date 2024-01-31 | date 2024-01-31 | date 2024-02-10", "f"),
    ("overlaps", "date 2024-01-01 | date 2024-01-31 | date 2024-01-30 | date 2024-02-10", "t"),
    ("overlaps", "date 2024-01-01 | interval 31 days | date 2024-01-31 | interval 1 day", "t"),
];

#[test]
fn overlaps() {
    check(OVERLAPS);
}

const MOMENTS: &[Case] = &[
    (
        "overlaps",
        "moment 2024-01-01 00:00Z | moment 2024-01-01 11:00Z | moment 2024-01-01 11:00Z | moment 2024-01-01 13:00Z",
        "f",
    ),
    ("overlaps", "moment 2024-01-01 00:00+01 | interval 12:00 | moment 2024-01-01 10:30Z | interval 1 day", "t"),
    (
        "overlaps",
        "moment 2024-01-01 00:00Z | moment 2024-01-01 12:00Z | moment 2024-01-01 10:30Z | interval 1 day",
        "t",
    ),
    (
        "overlaps",
        "moment 2024-01-01 00:00Z | interval 1 day | moment 2024-01-01 10:30Z | moment 2024-01-01 10:30Z",
        "t",
    ),
];

#[test]
fn moments() {
    check(MOMENTS);
}

const CONVERTED: &[Case] = &[
    ("date", "timestamp 2024-02-29 23:59:59.999999", "2024-02-29"),
    ("date", "moment 2024-02-29 23:59:59+05", "2024-02-29"),
    ("date", "date 2024-02-29", "2024-02-29"),
    ("date", "text 2024-02-29 01:00+05", "2024-02-29"),
    ("date", "text x", r#"ERROR: invalid input syntax for type date: "x""#),
    ("date", "text Feb 29, 2024", "2024-02-29"),
    ("date", "timestamp NULL", "NULL"),
    ("timestamp", "date 2024-02-29", "2024-02-29 00:00:00"),
    ("timestamp", "date 2024-02-29 | time 12:34:56.789", "2024-02-29 12:34:56.789"),
    ("timestamp", "date 2024-02-29 | time 24:00", "2024-03-01 00:00:00"),
    ("timestamp", "moment 2024-02-29 12:00+05", "2024-02-29 07:00:00"),
    ("timestamp", "text 2024-02-29 12:00", "2024-02-29 12:00:00"),
    ("timestamptz", "date 2024-02-29", "2024-02-29 00:00:00+00"),
    ("timestamptz", "date 2024-02-29 | time 12:34", "2024-02-29 12:34:00+00"),
    ("timestamptz", "date 2024-02-29 | time NULL", "NULL"),
    ("timestamptz", "timestamp 2024-02-29 12:00", "2024-02-29 12:00:00+00"),
    ("timestamptz", "text 2024-02-29 12:00-08", "2024-02-29 20:00:00+00"),
    ("time", "timestamp 2024-02-29 12:34:56.789", "12:34:56.789"),
    ("time", "moment 2024-02-29 12:34:56+01", "11:34:56"),
    ("time", "interval 27:00:01", "03:00:01"),
    ("time", "interval -1:00", "23:00:00"),
    ("time", "interval 2 days", "00:00:00"),
    ("time", "text 24:00", "24:00:00"),
    ("time", "text 25:00", r#"ERROR: date/time field value out of range: "25:00""#),
    ("interval", "time 12:34", "12:34:00"),
    ("interval", "text 1 day", "1 day"),
    ("interval", "text x", r#"ERROR: invalid input syntax for type interval: "x""#),
    ("isfinite", "date 2024-01-01", "t"),
    ("isfinite", "timestamp 2024-01-01", "t"),
    ("isfinite", "moment 2024-01-01", "t"),
    ("isfinite", "interval 1 day", "t"),
    ("isfinite", "date NULL", "NULL"),
];

#[test]
fn converted() {
    check(CONVERTED);
}

#[test]
fn what_is_beyond_our_years_and_fields_is_an_error() {
    check(&[
        // PostgreSQL 15 wraps around; later ones refuse it too.
        ("make_interval", "integer 2147483647", "ERROR: interval out of range"),
        ("make_interval", "integer 0 | integer 0 | integer 400000000", "ERROR: interval out of range"),
        ("make_interval", "integer 0 | integer 0 | integer 1 | integer 2147483647", "ERROR: interval out of range"),
        (
            "make_interval",
            "integer 0 | integer 0 | integer 0 | integer 0 | integer 2147483647 | integer 0 | double 9e12",
            "ERROR: interval out of range",
        ),
        (
            "make_interval",
            "integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | integer 0 | double 1e300",
            "ERROR: interval out of range",
        ),
        ("date_bin", "interval 36:00 | date 0001-01-01 | date 0001-01-02", "ERROR: timestamp out of range"),
        ("timestamp", "date 9999-12-31 | time 24:00", "ERROR: timestamp out of range"),
        (
            "overlaps",
            "timestamp 9999-12-31 | interval 1 day | timestamp 2024-01-01 | interval 1 day",
            "ERROR: timestamp out of range",
        ),
    ]);
}

fn in_new_york(name: &str, args: &[(DataType, Option<&str>)]) -> String {
    let zone = Zone::find("America/New_York").expect("a zone of the database");
    // 2024-07-01 02:30 UTC, which is the evening of the 30th of June there.
    let style = Style { zone, ..Style::default() };
    let local = Local { style, now_micros: 1_719_801_000_000_000, ..Local::fixed().clone() };
    answer_in(&local, name, args)
}

#[test]
fn the_session_has_a_zone_and_a_present() {
    use DataType::{Date, Interval, Text, Time, Timestamp, TimestampTz};
    assert_eq!(in_new_york("transaction_timestamp", &[]), "2024-06-30 22:30:00-04");
    assert_eq!(in_new_york("statement_timestamp", &[]), "2024-06-30 22:30:00-04");
    assert_eq!(in_new_york("age", &[(Timestamp, Some("2024-06-29 12:00"))]), "12:00:00");
    assert_eq!(in_new_york("age", &[(TimestampTz, Some("2024-06-29 16:00Z"))]), "12:00:00");
    assert_eq!(in_new_york("age", &[(Date, Some("2023-05-31"))]), "1 year 30 days");
    assert_eq!(in_new_york("age", &[(Timestamp, Some("2024-07-02"))]), "-2 days");
    assert_eq!(in_new_york("age", &[(Timestamp, None)]), "NULL");
    assert_eq!(in_new_york("date", &[(TimestampTz, Some("2024-07-01 03:00Z"))]), "2024-06-30");
    assert_eq!(in_new_york("date", &[(Date, Some("2024-07-01"))]), "2024-07-01");
    assert_eq!(in_new_york("time", &[(TimestampTz, Some("2024-07-01 03:00Z"))]), "23:00:00");
    assert_eq!(in_new_york("timestamp", &[(TimestampTz, Some("2024-07-01 03:00Z"))]), "2024-06-30 23:00:00");
    assert_eq!(in_new_york("timestamptz", &[(Text, Some("2024-01-01"))]), "2024-01-01 00:00:00-05");
    let gap = [(Date, Some("2024-03-10")), (Time, Some("02:30"))];
    assert_eq!(in_new_york("timestamptz", &gap), "2024-03-10 03:30:00-04");
    // A day of 23 hours.
    let day = |length| {
        let from = [(TimestampTz, Some("2024-03-09 12:00-05")), (Interval, Some(length))];
        let to = [(TimestampTz, Some("2024-03-10 12:00-04")), (TimestampTz, Some("2024-03-10 13:00-04"))];
        in_new_york("overlaps", &[from, to].concat())
    };
    assert_eq!((day("1 day"), day("24 hours")), ("f".into(), "t".into()));
}

#[test]
fn literals_without_a_type() {
    use DataType::{Date, Interval, Text, Timestamp, TimestampTz};
    let args = |name, given: &[Option<DataType>]| find(name, given).map(|found| found.args);
    assert_eq!(args("date", &[None]), Some(vec![Text]));
    assert_eq!(args("make_interval", &[None, None]), Some(vec![DataType::Integer; 2]));
    // As in PostgreSQL, an interval or a timestamp.
    assert_eq!(args("date_trunc", &[None, None]), None);
    assert_eq!(args("date_part", &[None, None]), None);
    assert_eq!(args("date_trunc", &[None, Some(Interval)]), Some(vec![Text, Interval]));
    assert_eq!(args("date_bin", &[None, Some(Timestamp), None]), Some(vec![Interval, Timestamp, Timestamp]));
    assert_eq!(args("age", &[Some(Date)]), Some(vec![TimestampTz]));
}
