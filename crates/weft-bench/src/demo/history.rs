//! `weft demo history`: what the airport's board knew at any minute of the year, one query per moment.
//!
//! ```text
//!   minute 08:31    BEGIN; the events of that minute on `board`; the minute into `minutes`; COMMIT      commit 4711
//!   later           SELECT ... FROM board FOR SYSTEM_TIME AS OF 4711                the board at 08:31
//! ```
//!
//! 1. A minute of the year is a commit: `minutes` has it, and when its row began says which.
//! 2. The exit code is 0 only when each moment that was read equals what the source says of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use weft::{Database, Options, Session, Value};

use super::events::{Event, Step, events_per_writer, minute_text};
use super::plan::Plan;
use super::source::{FLIGHT_KEY, TABLES, days_from_civil, flight_column};
use crate::latency::{Latencies, duration_text};
use crate::subcommand::{Align, Failure, Grid};

/// Moments that are shown, and how many are compared with the source.
const SHOWN: usize = 12;
const COMPARED: usize = 240;

const BOARD: &str = "CREATE TABLE board (year integer, month integer, day integer, sched_dep_time integer, \
     carrier text, flight integer, origin text, dest text, dep_delay integer, arr_delay integer, \
     PRIMARY KEY (year, month, day, carrier, flight, origin, sched_dep_time)) USING lineage WITH (history = 'all')";
const MINUTES: &str = "CREATE TABLE minutes (minute timestamp PRIMARY KEY) USING lineage WITH (history = 'all')";
const COMMIT_OF: &str = "SELECT max(row_start_commit) FROM minutes FOR SYSTEM_TIME ALL WHERE minute <= $1";
const KNOWN: &str = "count(*), count(dep_delay), coalesce(sum(dep_delay), 0), count(arr_delay), \
     coalesce(sum(arr_delay), 0) FROM board";

/// The columns of the board, as they are in the source.
const COLUMNS: [&str; 10] =
    ["year", "month", "day", "sched_dep_time", "carrier", "flight", "origin", "dest", "dep_delay", "arr_delay"];

/// Replays the year minute by minute, and reads it again.
pub(super) fn run(plan: &Plan, dir: &Path, at: Option<&str>) -> Result<(), Failure> {
    let at = at.map(minute_of).transpose()?;
    let database = Database::open_with(dir, Options { durability: plan.durability, ..Options::default() })?;
    let flights = TABLES.iter().find(|table| table.name == "flights").expect("it is among the tables");
    let flights = flights.read(&plan.data, plan.flights)?;
    let events = events_per_writer(&flights, 1).remove(0);
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Err(Failure::Other("there are no flights".to_owned()));
    };
    let (first, last) = (first.minute, last.minute);
    let mut session = database.session()?;
    replay(&mut session, &flights, &events)?;
    let mut board = Board { session, flights: &flights, events: &events, latencies: Latencies::default(), wrong: 0 };
    let shown = match at {
        Some(at) => vec![at],
        None => spread(first, last, SHOWN),
    };
    board.show(&shown)?;
    if at.is_none() {
        board.changes(last)?;
        for minute in spread(first, last, COMPARED) {
            board.read(minute)?;
        }
    }
    let wrong = board.wrong + usize::from(!board.cost(&database)?);
    database.close()?;
    if wrong == 0 { Ok(()) } else { Err(Failure::Reported) }
}

/// So many minutes, spread evenly.
fn spread(first: i64, last: i64, count: usize) -> Vec<i64> {
    let count = count as i64;
    (1..=count).map(|step| first + (last - first) * step / count).collect()
}

/// `2013-06-14 08:31` as minutes since 1970.
fn minute_of(text: &str) -> Result<i64, Failure> {
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<i64>().ok());
    let parts = (number(0, 4), number(5, 7), number(8, 10), number(11, 13), number(14, 16));
    let (Some(year), Some(month @ 1..=12), Some(day @ 1..=31), Some(hour @ 0..=23), Some(minute @ 0..=59)) = parts
    else {
        return Err(Failure::Usage(format!("--at needs a minute like '2013-06-14 08:31', not {text}")));
    };
    Ok(days_from_civil(year, month, day) * 1_440 + hour * 60 + minute)
}

/// A minute as the value of a timestamp.
fn timestamp(minute: i64) -> Value {
    Value::Int(minute * 60_000_000)
}

/// One transaction per minute.
fn replay(session: &mut Session, flights: &[Vec<Value>], events: &[Event]) -> Result<(), Failure> {
    session.execute(BOARD)?;
    session.execute(MINUTES)?;
    let key: Vec<usize> = FLIGHT_KEY.iter().map(|name| flight_column(name)).collect();
    let is_key = |from: usize| {
        let parts = FLIGHT_KEY.iter().enumerate().map(|(at, name)| format!("{name} = ${}", at + from));
        parts.collect::<Vec<_>>().join(" AND ")
    };
    let announced = &COLUMNS[..8];
    let marks: Vec<String> = (1..=announced.len()).map(|number| format!("${number}")).collect();
    let insert = format!("INSERT INTO board ({}) VALUES ({})", announced.join(", "), marks.join(", "));
    let insert = session.prepare(&insert)?;
    let departed = session.prepare(&format!("UPDATE board SET dep_delay = $1 WHERE {}", is_key(2)))?;
    let arrived = session.prepare(&format!("UPDATE board SET arr_delay = $1 WHERE {}", is_key(2)))?;
    let minute_known = session.prepare("INSERT INTO minutes VALUES ($1)")?;
    let (begun, mut commits, mut shown) = (Instant::now(), 0_u64, Instant::now());
    println!("replaying {} events, a transaction for each minute that has some", events.len());
    for minute in events.chunk_by(|a, b| a.minute == b.minute) {
        session.execute("BEGIN")?;
        for event in minute {
            let flight = &flights[event.flight as usize];
            let (statement, columns): (_, Vec<usize>) = match event.step {
                Step::Scheduled => (&insert, announced.iter().map(|name| flight_column(name)).collect()),
                Step::Departed => (&departed, [flight_column("dep_delay")].into_iter().chain(key.clone()).collect()),
                Step::Arrived => (&arrived, [flight_column("arr_delay")].into_iter().chain(key.clone()).collect()),
            };
            let params: Vec<Value> = columns.iter().map(|&at| flight[at].clone()).collect();
            session.execute_prepared(statement, &params)?;
        }
        session.execute_prepared(&minute_known, &[timestamp(minute[0].minute)])?;
        session.execute("COMMIT")?;
        commits += 1;
        if shown.elapsed().as_secs() >= 5 {
            shown = Instant::now();
            println!("  {}  {commits} commits", minute_text(minute[0].minute));
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{commits} commits in {seconds:.1} s, {:.0} per second\n", commits as f64 / seconds.max(1e-9));
    Ok(())
}

/// What is known of a day's flights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    announced: i64,
    departed: i64,
    dep_delay: i64,
    arrived: i64,
    arr_delay: i64,
}

/// The board that was replayed, and the source beside it.
struct Board<'a> {
    session: Session,
    flights: &'a [Vec<Value>],
    events: &'a [Event],
    /// Of queries of the past.
    latencies: Latencies,
    /// Moments that differ from the source.
    wrong: usize,
}

impl Board<'_> {
    /// The day of a moment, as the board knew it then: the commit, what is known, how long it took.
    fn read(&mut self, minute: i64) -> Result<(i64, Known, u64), Failure> {
        let commit = match self.session.execute_params(COMMIT_OF, &[timestamp(minute)])?.single() {
            Some(Value::Int(commit)) => commit,
            _ => return Err(Failure::Other(format!("nothing is known of {}", minute_text(minute)))),
        };
        let begun = Instant::now();
        let known = self.known(&format!("FOR SYSTEM_TIME AS OF {commit}"), minute)?;
        let nanos = begun.elapsed().as_nanos() as u64;
        self.latencies.add(nanos);
        let expected = self.expected(minute);
        if known != expected {
            self.wrong += 1;
            println!("  {} is {known:?}, the source says {expected:?}", minute_text(minute));
        }
        Ok((commit, known, nanos))
    }

    fn known(&mut self, clause: &str, minute: i64) -> Result<Known, Failure> {
        let date = minute_text(minute);
        let number = |from: usize, to: usize| date[from..to].parse::<i64>().expect("a date has numbers");
        let day = format!("year = {} AND month = {} AND day = {}", number(0, 4), number(5, 7), number(8, 10));
        let sql = format!("SELECT {KNOWN} {clause} WHERE {day}");
        let outcomes = self.session.execute(&sql)?;
        let row = outcomes[0].rows.iter().next().unwrap_or_default();
        let value = |at: usize| match row.get(at) {
            Some(Value::Int(number)) => Ok(*number),
            other => Err(Failure::Other(format!("the board gave {other:?}"))),
        };
        let [announced, departed, dep_delay, arrived, arr_delay] =
            [value(0)?, value(1)?, value(2)?, value(3)?, value(4)?];
        Ok(Known { announced, departed, dep_delay, arrived, arr_delay })
    }

    /// The same from the source.
    fn expected(&self, minute: i64) -> Known {
        let mut known = Known::default();
        let day = minute.div_euclid(1_440);
        let past = &self.events[..self.events.partition_point(|event| event.minute <= minute)];
        for event in past {
            let flight = &self.flights[event.flight as usize];
            let number = |name: &str| match flight[flight_column(name)] {
                Value::Int(number) => Some(number),
                _ => None,
            };
            let part = |name: &str| number(name).expect("the parts of the key are never NULL");
            if days_from_civil(part("year"), part("month"), part("day")) != day {
                continue;
            }
            match event.step {
                Step::Scheduled => known.announced += 1,
                Step::Departed => {
                    known.departed += i64::from(number("dep_delay").is_some());
                    known.dep_delay += number("dep_delay").unwrap_or(0);
                }
                Step::Arrived => {
                    known.arrived += i64::from(number("arr_delay").is_some());
                    known.arr_delay += number("arr_delay").unwrap_or(0);
                }
            }
        }
        known
    }

    /// Moments, and beside them what is known of their day now.
    fn show(&mut self, minutes: &[i64]) -> Result<(), Failure> {
        let names = ["commit", "announced", "left", "late", "landed", "late", "left in the end", "late", "query"];
        let names = names.into_iter().map(|name| (name, Align::Right));
        let mut grid = Grid::new(std::iter::once(("as of", Align::Left)).chain(names));
        let mean = |sum: i64, count: i64| format!("{:.1} min", sum as f64 / count.max(1) as f64);
        for &minute in minutes {
            let (commit, known, nanos) = self.read(minute)?;
            let now = self.known("", minute)?;
            grid.row(vec![
                minute_text(minute),
                commit.to_string(),
                known.announced.to_string(),
                known.departed.to_string(),
                mean(known.dep_delay, known.departed),
                known.arrived.to_string(),
                mean(known.arr_delay, known.arrived),
                now.departed.to_string(),
                mean(now.dep_delay, now.departed),
                duration_text(nanos),
            ]);
        }
        println!("the flights of the day, as the board knew them:");
        grid.show()?;
        println!();
        Ok(())
    }

    /// The most delayed flight, column by column; what changed on the board in the hour after it left.
    fn changes(&mut self, last: i64) -> Result<(), Failure> {
        let late = |event: &&Event| event.step == Step::Departed;
        let delay = |event: &Event| match self.flights[event.flight as usize][flight_column("dep_delay")] {
            Value::Int(delay) => delay,
            _ => i64::MIN,
        };
        let Some(worst) = self.events.iter().filter(late).max_by_key(|event| delay(event)) else { return Ok(()) };
        let flight = &self.flights[worst.flight as usize];
        let key: Vec<Value> = FLIGHT_KEY.iter().map(|name| flight[flight_column(name)].clone()).collect();
        let marks: Vec<String> = (1..=key.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "SELECT (SELECT max(minute) FROM minutes FOR SYSTEM_TIME ALL m WHERE m.row_start_commit = h.commit), \
             h.change, h.column_name, h.old_value, h.new_value FROM weft_row_history('board', {}) AS h \
             WHERE h.column_name IN ('dest', 'dep_delay', 'arr_delay') ORDER BY h.commit",
            marks.join(", ")
        );
        let history = self.session.execute_params(&sql, &key)?;
        println!("the flight that left latest, column by column (weft_row_history):");
        let names = ["minute", "change", "column", "old", "new"];
        let mut grid = Grid::new(names.into_iter().map(|name| (name, Align::Left)));
        for row in history.rows.iter() {
            let minute = match row[0] {
                Value::Int(micros) => minute_text(micros / 60_000_000),
                _ => String::new(),
            };
            grid.row(std::iter::once(minute).chain(row[1..].iter().map(text)).collect());
        }
        grid.show()?;
        let (from, to) = (worst.minute.min(last - 60), worst.minute.min(last - 60) + 60);
        let (from_commit, to_commit) = (self.read(from)?.0, self.read(to)?.0);
        let sql = format!(
            "SELECT change, count(*), count(new_dep_delay) - count(old_dep_delay), \
             count(new_arr_delay) - count(old_arr_delay) FROM weft_difference('board', {from_commit}, {to_commit}) \
             GROUP BY change ORDER BY change"
        );
        let begun = Instant::now();
        let outcomes = self.session.execute(&sql)?;
        let took = duration_text(begun.elapsed().as_nanos() as u64);
        println!("\nwhat changed between {} and {} (weft_difference, {took}):", minute_text(from), minute_text(to));
        let names = ["rows", "left", "landed"].into_iter().map(|name| (name, Align::Right));
        let mut grid = Grid::new(std::iter::once(("change", Align::Left)).chain(names));
        outcomes[0].rows.iter().for_each(|row| grid.row(row.iter().map(text).collect()));
        grid.show()?;
        println!();
        let count = |change: &str| {
            let row = outcomes[0].rows.iter().find(|row| row[0] == Value::Text(change.into()));
            row.map_or(0, |row| if let Value::Int(count) = row[1] { count } else { -1 })
        };
        let (found, expected) = ((count("insert"), count("update"), count("delete")), self.expected_changes(from, to));
        if found != expected {
            self.wrong += 1;
            println!("  the difference has {found:?} rows inserted, updated and deleted, the source says {expected:?}");
        }
        Ok(())
    }

    /// Flights that came, that changed, and that went between two minutes, by the source.
    fn expected_changes(&self, from: i64, to: i64) -> (i64, i64, i64) {
        let (mut came, mut changed) = (BTreeSet::new(), BTreeSet::new());
        for event in self.events.iter().filter(|event| from < event.minute && event.minute <= to) {
            let flight = &self.flights[event.flight as usize];
            let is_known = |name: &str| flight[flight_column(name)] != Value::Null;
            match event.step {
                Step::Scheduled => drop(came.insert(event.flight)),
                Step::Departed if is_known("dep_delay") => drop(changed.insert(event.flight)),
                Step::Arrived if is_known("arr_delay") => drop(changed.insert(event.flight)),
                _ => {}
            }
        }
        let changed = changed.difference(&came).count();
        (came.len() as i64, changed as i64, 0)
    }

    /// What the past costs, and whether all is well.
    fn cost(&mut self, database: &Database) -> Result<bool, Failure> {
        let sql = "SELECT (SELECT count(*) FROM board), (SELECT count(*) FROM board FOR SYSTEM_TIME ALL)";
        let outcomes = self.session.execute(sql)?;
        let row = outcomes[0].rows.iter().next().unwrap_or_default();
        let [rows, versions] = [text(&row[0]), text(&row[1])];
        let names = ["parts", "rows", "bytes"].into_iter().map(|name| (name, Align::Right));
        let mut grid = Grid::new(std::iter::once(("layer of board", Align::Left)).chain(names));
        for layer in database.layers("board")? {
            grid.row(vec![layer.name, layer.parts.to_string(), layer.rows.to_string(), layer.bytes.to_string()]);
        }
        println!("{rows} rows, {versions} versions:");
        grid.show()?;
        let (p50, p99) = (self.latencies.quantile_ns(0.5), self.latencies.quantile_ns(0.99));
        let (count, wrong) = (self.latencies.count(), self.wrong);
        let verdict = |is_good: bool| if is_good { "ok    " } else { "FAILED" };
        println!(
            "\n{} {count} moments equal the source ({wrong} differ); a query of the past: p50 {}, p99 {}",
            verdict(wrong == 0),
            duration_text(p50),
            duration_text(p99),
        );
        let findings = database.check()?;
        findings.iter().take(5).for_each(|finding| println!("  {finding}"));
        let is_good = findings.is_empty();
        println!("{} every checksum and invariant of the files ({} findings)", verdict(is_good), findings.len());
        Ok(is_good)
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_read_and_written() {
        for text in ["2013-01-01 00:00", "2013-06-14 08:31", "2012-02-29 23:59"] {
            assert_eq!(minute_text(minute_of(text).unwrap()), text);
        }
        assert!(minute_of("2013-06-14").is_err() && minute_of("2013-13-14 08:31").is_err());
    }

    #[test]
    fn moments_end_with_the_last() {
        assert_eq!(spread(0, 100, 4), [25, 50, 75, 100]);
    }
}
