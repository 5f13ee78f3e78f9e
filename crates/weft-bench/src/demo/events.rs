//! The year as a stream of events in the order of time.
//!
//! ```text
//!   UA 1545 EWR 2013-01-01, scheduled 05:15, 2 minutes late, 227 minutes in the air
//!     minute 02:15  scheduled   INSERT (three hours ahead; no departure, no arrival yet)
//!     minute 05:17  departed    UPDATE dep_time, dep_delay
//!     minute 09:04  arrived     UPDATE arr_time, arr_delay, air_time
//! ```
//!
//! 1. A flight's events keep their order: scheduled before departed before arrived.
//! 2. All events of a flight go to one writer, so that the order holds with several writers.
//! 3. After its last event a flight's row equals its row in the source.

use weft::Value;

use super::source::{days_from_civil, flight_column};

/// How long before its scheduled departure a flight appears, minutes.
const AHEAD_MINUTES: i64 = 180;

/// What happens to a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// It is announced.
    Scheduled,
    /// It leaves.
    Departed,
    /// It lands.
    Arrived,
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Minutes since 1970 on the departure's local clock.
    pub(super) minute: i64,
    /// Which row of the source.
    pub(super) flight: u32,
    /// What happens.
    pub(super) step: Step,
}

/// The columns that become known at a step.
pub(super) fn columns_of(step: Step) -> &'static [&'static str] {
    match step {
        Step::Scheduled => &[
            "year",
            "month",
            "day",
            "sched_dep_time",
            "sched_arr_time",
            "carrier",
            "flight",
            "tailnum",
            "origin",
            "dest",
            "distance",
            "hour",
            "minute",
            "time_hour",
        ],
        Step::Departed => &["dep_time", "dep_delay"],
        Step::Arrived => &["arr_time", "arr_delay", "air_time"],
    }
}

/// The events of some flights, one list per writer.
pub(super) fn events_per_writer(flights: &[Vec<Value>], writers: usize) -> Vec<Vec<Event>> {
    let mut lists = vec![Vec::new(); writers];
    for (at, flight) in flights.iter().enumerate() {
        lists[at % writers].extend(events_of(flight, at as u32));
    }
    for list in &mut lists {
        list.sort_unstable();
    }
    lists
}

fn events_of(flight: &[Value], at: u32) -> Vec<Event> {
    let number = |name: &str| match flight[flight_column(name)] {
        Value::Int(v) => Some(v),
        _ => None,
    };
    let known = |name: &str| number(name).expect("the parts of the key are never NULL");
    let (day, clock) = (days_from_civil(known("year"), known("month"), known("day")), known("sched_dep_time"));
    let planned = day * 1_440 + clock / 100 * 60 + clock % 100;
    let mut events = vec![Event { minute: planned - AHEAD_MINUTES, flight: at, step: Step::Scheduled }];
    let left = (planned + number("dep_delay").unwrap_or(0)).max(planned - AHEAD_MINUTES + 1);
    if columns_of(Step::Departed).iter().any(|name| number(name).is_some()) {
        events.push(Event { minute: left, flight: at, step: Step::Departed });
    }
    if columns_of(Step::Arrived).iter().any(|name| number(name).is_some()) {
        let landed = left + number("air_time").unwrap_or(120).max(1);
        events.push(Event { minute: landed, flight: at, step: Step::Arrived });
    }
    events
}

/// The row of a flight after `step` (`None`: it was not announced yet).
pub(super) fn row_after(flight: &[Value], step: Option<Step>) -> Option<Vec<Value>> {
    let step = step?;
    let mut row = flight.to_vec();
    for later in [Step::Departed, Step::Arrived] {
        if step < later {
            for name in columns_of(later) {
                row[flight_column(name)] = Value::Null;
            }
        }
    }
    Some(row)
}

/// How far each flight came when each writer has applied the first `applied` of its events.
pub(super) fn steps_after(lists: &[Vec<Event>], applied: &[usize], flights: usize) -> Vec<Option<Step>> {
    let mut steps = vec![None; flights];
    for (list, &applied) in lists.iter().zip(applied) {
        for event in &list[..applied] {
            steps[event.flight as usize] = Some(event.step);
        }
    }
    steps
}

/// A minute since 1970 as `2013-01-01 05:17`.
pub(super) fn minute_text(minute: i64) -> String {
    let (day, clock) = (minute.div_euclid(1_440), minute.rem_euclid(1_440));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", clock / 60, clock % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::source::{TABLES, find_data};

    #[test]
    fn every_flight_ends_as_in_the_source() {
        let flights = TABLES[4].read(&find_data(None).unwrap(), 20_000).unwrap();
        let lists = events_per_writer(&flights, 3);
        let all: Vec<usize> = lists.iter().map(Vec::len).collect();
        let steps = steps_after(&lists, &all, flights.len());
        for (flight, &step) in flights.iter().zip(&steps) {
            assert_eq!(row_after(flight, step).as_ref(), Some(flight));
        }
        assert!(steps.iter().filter(|&&step| step == Some(Step::Scheduled)).count() > 10, "some were cancelled");
        for list in &lists {
            let mut last = vec![None; flights.len()];
            for event in list {
                let before = last[event.flight as usize].replace(event.step);
                assert!(before < Some(event.step), "invariant 1");
            }
        }
        assert_eq!(steps_after(&lists, &[0, 0, 0], flights.len()), vec![None; flights.len()]);
    }

    #[test]
    fn minutes_read_as_dates() {
        let minute = days_from_civil(2013, 12, 31) * 1_440 + 23 * 60 + 59;
        assert_eq!(minute_text(minute), "2013-12-31 23:59");
        assert_eq!(minute_text(minute + 1), "2014-01-01 00:00");
        assert_eq!(minute_text(days_from_civil(2012, 2, 29) * 1_440), "2012-02-29 00:00");
    }
}
