//! Julian days and ISO weeks, also of the years, months and days of intervals, which are no dates.
//!
//! ```text
//!   2024-12-30    Julian day 2460675    ISO year 2025, week 1, its first day
//! ```
//!
//! An ISO year begins on the Monday of the week that has 4 January in it.
//!
//! Intervals may have any number of years: then days are counted in 32 bits, as PostgreSQL does.

/// The Julian day of a date; the month and the day may be any.
pub(super) fn julian_of(year: i32, month: i32, day: i32) -> i32 {
    // Years begin in March, so that the day that is sometimes there comes last.
    let (year, month) = (i64::from(year), i64::from(month));
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    let century = year / 100;
    let days = year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256;
    (days + i64::from(day)) as i32
}

/// The Julian day on which an ISO year begins.
fn iso_year_start(year: i32) -> i32 {
    let fourth = julian_of(year, 1, 4);
    // Julian day 0 was a Monday.
    fourth.wrapping_sub(fourth.rem_euclid(7))
}

/// ISO year, and days since it began.
fn iso_place(year: i32, month: i32, day: i32) -> (i32, i32) {
    let date = julian_of(year, month, day);
    let mut iso_year = year;
    let mut start = iso_year_start(year);
    if date < start {
        iso_year = year.wrapping_sub(1);
        start = iso_year_start(iso_year);
    }
    if date.wrapping_sub(start) / 7 + 1 >= 52 {
        let next = iso_year_start(year.wrapping_add(1));
        if date >= next {
            (iso_year, start) = (year.wrapping_add(1), next);
        }
    }
    (iso_year, date.wrapping_sub(start))
}

/// The ISO week of a date.
pub(super) fn iso_week(year: i32, month: i32, day: i32) -> i32 {
    iso_place(year, month, day).1 / 7 + 1
}

/// The ISO year of a date.
pub(super) fn iso_year(year: i32, month: i32, day: i32) -> i32 {
    iso_place(year, month, day).0
}

/// The day of its ISO year, from 1.
pub(super) fn iso_day(year: i32, month: i32, day: i32) -> i32 {
    let start = iso_year_start(iso_year(year, month, day));
    julian_of(year, month, day).wrapping_sub(start).wrapping_add(1)
}
