//! Dates, times and timestamps as text, in every style (PostgreSQL's `EncodeDateOnly` and `EncodeDateTime`).

use std::fmt::Write as _;

use weft_format::interval::DAY_MICROS;

use crate::days::date_parts;
use crate::style::{DateOrder, DateStyle, Style};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From 1970-01-01, a Thursday, on.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
/// As much of a zone's abbreviation is written.
const ABBREVIATION_CHARS_MAX: usize = 10;

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String cannot fail");
}

/// Year, month, day; and whether the year is before Christ.
fn shown_date(days: i64) -> (i64, u32, u32, bool) {
    let (year, month, day) = date_parts(days);
    if year > 0 { (year, month, day, false) } else { (1 - year, month, day, true) }
}

/// Appends a date.
pub(crate) fn write_date(out: &mut String, days: i64, style: &Style) {
    let (year, month, day, is_bc) = shown_date(days);
    let (first, second) = if style.order == DateOrder::Dmy { (day, month) } else { (month, day) };
    match style.dates {
        DateStyle::Iso => push(out, format_args!("{year:04}-{month:02}-{day:02}")),
        DateStyle::Sql => push(out, format_args!("{first:02}/{second:02}/{year:04}")),
        DateStyle::German => push(out, format_args!("{day:02}.{month:02}.{year:04}")),
        DateStyle::Postgres => push(out, format_args!("{first:02}-{second:02}-{year:04}")),
    }
    if is_bc {
        out.push_str(" BC");
    }
}

/// Appends a time of day.
pub(crate) fn write_time(out: &mut String, micros: i64) {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    push(out, format_args!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

/// The zone of a timestamp: its offset, and what people call it.
#[derive(Clone, Copy)]
struct Zoned<'a> {
    east_seconds: i32,
    abbreviation: &'a str,
}

/// Appends a timestamp without time zone.
pub(crate) fn write_timestamp(out: &mut String, wall_micros: i64, style: &Style) {
    write(out, wall_micros, None, style);
}

/// Appends a timestamp with time zone.
pub(crate) fn write_timestamptz(out: &mut String, micros: i64, style: &Style) {
    let offset = style.zone.at(micros.div_euclid(1_000_000));
    let wall_micros = micros.saturating_add(i64::from(offset.east_seconds) * 1_000_000);
    let zoned = Zoned { east_seconds: offset.east_seconds, abbreviation: offset.abbreviation };
    write(out, wall_micros, Some(zoned), style);
}

fn write(out: &mut String, wall_micros: i64, zoned: Option<Zoned<'_>>, style: &Style) {
    let (days, in_day) = (wall_micros.div_euclid(DAY_MICROS), wall_micros.rem_euclid(DAY_MICROS));
    let (year, month, day, is_bc) = shown_date(days);
    let (first, second) = if style.order == DateOrder::Dmy { (day, month) } else { (month, day) };
    match style.dates {
        DateStyle::Iso => push(out, format_args!("{year:04}-{month:02}-{day:02} ")),
        DateStyle::Sql => push(out, format_args!("{first:02}/{second:02}/{year:04} ")),
        DateStyle::German => push(out, format_args!("{day:02}.{month:02}.{year:04} ")),
        DateStyle::Postgres => {
            let (weekday, name) = (WEEKDAYS[days.rem_euclid(7) as usize], MONTHS[month as usize - 1]);
            match style.order {
                DateOrder::Dmy => push(out, format_args!("{weekday} {day:02} {name} ")),
                _ => push(out, format_args!("{weekday} {name} {day:02} ")),
            }
        }
    }
    write_time(out, in_day);
    if style.dates == DateStyle::Postgres {
        push(out, format_args!(" {year:04}"));
    }
    if let Some(zoned) = zoned {
        if style.dates == DateStyle::Iso {
            write_offset(out, zoned.east_seconds, false);
        } else {
            out.push(' ');
            out.extend(zoned.abbreviation.chars().take(ABBREVIATION_CHARS_MAX));
        }
    }
    if is_bc {
        out.push_str(" BC");
    }
}

/// `+01`, `-03:30`, `+00:19:32`.
fn write_offset(out: &mut String, east_seconds: i32, with_minutes: bool) {
    let seconds = east_seconds.unsigned_abs();
    out.push(if east_seconds < 0 { '-' } else { '+' });
    push(out, format_args!("{:02}", seconds / 3600));
    if !seconds.is_multiple_of(60) {
        push(out, format_args!(":{:02}:{:02}", seconds / 60 % 60, seconds % 60));
    } else if !seconds.is_multiple_of(3600) || with_minutes {
        push(out, format_args!(":{:02}", seconds / 60 % 60));
    }
}

/// Appends a timestamp as JSON has it, ISO 8601, whatever the style; `is_zoned` ones in the session's zone.
pub(crate) fn write_xsd(out: &mut String, micros: i64, is_zoned: bool, style: &Style) {
    let offset = is_zoned.then(|| style.zone.at(micros.div_euclid(1_000_000)).east_seconds);
    let wall_micros = micros.saturating_add(i64::from(offset.unwrap_or(0)) * 1_000_000);
    write_xsd_at(out, wall_micros, offset);
}

/// Appends a timestamp as JSON has it, on the clocks of an offset from UTC if there is one.
pub(crate) fn write_xsd_at(out: &mut String, wall_micros: i64, east_seconds: Option<i32>) {
    let (days, in_day) = (wall_micros.div_euclid(DAY_MICROS), wall_micros.rem_euclid(DAY_MICROS));
    let (year, month, day, is_bc) = shown_date(days);
    push(out, format_args!("{year:04}-{month:02}-{day:02}T"));
    write_xsd_time(out, in_day, east_seconds);
    if is_bc {
        out.push_str(" BC");
    }
}

/// Appends a time of day as JSON has it, with an offset from UTC if there is one.
pub(crate) fn write_xsd_time(out: &mut String, micros: i64, east_seconds: Option<i32>) {
    write_time(out, micros);
    if let Some(east_seconds) = east_seconds {
        write_offset(out, east_seconds, true);
    }
}
