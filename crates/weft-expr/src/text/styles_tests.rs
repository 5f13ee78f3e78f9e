//! Texts of dates, times and intervals in other zones and styles, beside PostgreSQL's answers.

use weft_format::DataType;

use super::*;
use crate::style::Local;
use crate::style::Style;

fn local(zone: &str, dates: &str, intervals: &str) -> Local {
    let mut style = Style::default();
    style.set_zone(zone).unwrap();
    style.set_date_style(dates).unwrap();
    style.set_interval_style(intervals).unwrap();
    Local::new(style, 0)
}

fn answer(text: &str, data_type: DataType, local: &Local) -> String {
    match parse(text, data_type, local) {
        Ok(value) => print_as(value.as_ref(), data_type, &local.style),
        Err(error) => error.sqlstate().to_owned(),
    }
}

fn lines(golden: &str) -> impl Iterator<Item = Vec<&str>> {
    golden.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('|').collect())
}

#[test]
fn dates_and_timestamps_read_and_print_as_in_postgresql() {
    let mut wrong = Vec::new();
    for line in lines(include_str!("golden/datetimes.txt")) {
        let [zone, dates, text, wanted @ ..] = &line[..] else { panic!("{line:?}") };
        let local = local(zone, dates, "postgres");
        for (data_type, wanted) in [DataType::TimestampTz, DataType::Timestamp, DataType::Date].into_iter().zip(wanted)
        {
            let got = answer(text, data_type, &local);
            if got != *wanted {
                wrong.push(format!("{zone} {dates}: {text} as {data_type}: {got}, PostgreSQL: {wanted}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn intervals_read_and_print_as_in_postgresql() {
    let mut wrong = Vec::new();
    for line in lines(include_str!("golden/intervals.txt")) {
        let [style, text, wanted] = line[..] else { panic!("{line:?}") };
        let got = answer(text, DataType::Interval, &local("UTC", "ISO, MDY", style));
        if got != wanted {
            wrong.push(format!("{style}: {text}: {got}, PostgreSQL: {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn times_of_day_read_as_in_postgresql() {
    let mut wrong = Vec::new();
    for line in lines(include_str!("golden/times.txt")) {
        let [text, wanted] = line[..] else { panic!("{line:?}") };
        let got = answer(text, DataType::Time, Local::fixed());
        if got != wanted {
            wrong.push(format!("{text}: {got}, PostgreSQL: {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_present_is_the_transactions() {
    // 2024-03-10 03:30 UTC is the evening of the 9th in New York.
    let mut local = local("America/New_York", "ISO, MDY", "postgres");
    local.now_micros = 1_710_041_400_000_000;
    for (text, data_type, wanted) in [
        ("now", DataType::TimestampTz, "2024-03-09 22:30:00-05"),
        ("now", DataType::Timestamp, "2024-03-09 22:30:00"),
        ("today", DataType::Date, "2024-03-09"),
        ("tomorrow", DataType::TimestampTz, "2024-03-10 00:00:00-05"),
        ("tomorrow 12:00", DataType::TimestampTz, "2024-03-10 12:00:00-04"),
        ("yesterday", DataType::Timestamp, "2024-03-08 00:00:00"),
        ("infinity", DataType::TimestampTz, "0A000"),
        ("0044-03-15 BC", DataType::Date, "22008"),
    ] {
        assert_eq!(answer(text, data_type, &local), wanted, "{text} as {data_type}");
    }
}
