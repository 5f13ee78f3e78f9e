//! Small histories against definitions: does a serial order, does a run of snapshot isolation explain it?
//!
//! ```text
//!   T0 l1=[] l2+5   T1 l2=[] l1+6   and a last reader   →   of the 2 orders none gives these reads: not serializable
//! ```
//!
//! Every history ends with a transaction that reads all lists and comes last, so that all orders are known (invariant 2
//! of the checker). Real time is left out on both sides.

use std::collections::BTreeMap;

use super::super::*;
use crate::random::Random;

#[derive(Clone, Debug)]
enum Event {
    Append(u64, u64),
    Read(u64, Vec<u64>),
    /// The keys from 0 to 1, and their lists.
    Range(BTreeMap<u64, Vec<u64>>),
}

type Lists = BTreeMap<u64, Vec<u64>>;

/// The keys that a range covers.
const RANGE: std::ops::RangeInclusive<u64> = 0..=1;

/// Whether a transaction reads what it read when it begins with `lists`, which it then changes.
fn replay(lists: &mut Lists, events: &[Event]) -> bool {
    events.iter().all(|event| match event {
        Event::Append(key, element) => {
            lists.entry(*key).or_default().push(*element);
            true
        }
        Event::Read(key, elements) => lists.get(key).map_or(&[][..], |list| list) == elements,
        Event::Range(rows) => lists.range(RANGE).eq(rows.iter()),
    })
}

/// Whether the rest, except the last, can follow in some order, with the last at the end.
fn is_serializable(transactions: &[Vec<Event>], lists: &Lists, done: u32) -> bool {
    let last = transactions.len() - 1;
    let all_done = done == (1 << last) - 1;
    (0..=last).any(|number| {
        let mut after = lists.clone();
        let is_open = if number == last { all_done } else { done & (1 << number) == 0 };
        is_open
            && replay(&mut after, &transactions[number])
            && (number == last || is_serializable(transactions, &after, done | 1 << number))
    })
}

/// A state of a run of snapshot isolation: per transaction what it will commit, if it has begun.
fn is_snapshot_isolated(transactions: &[Vec<Event>], lists: &Lists, begun: &[Option<Lists>], done: u32) -> bool {
    let last = transactions.len() - 1;
    if done == (1 << last) - 1 {
        return replay(&mut lists.clone(), &transactions[last]);
    }
    (0..last).filter(|number| done & (1 << number) == 0).any(|number| {
        let mut begun = begun.to_vec();
        let written = transactions[number].iter().filter_map(|event| match event {
            Event::Append(key, element) => Some((*key, *element)),
            _ => None,
        });
        match begun[number].take() {
            None => {
                let fits = replay(&mut lists.clone(), &transactions[number]);
                begun[number] = Some(lists.clone());
                fits && is_snapshot_isolated(transactions, lists, &begun, done)
            }
            Some(snapshot) => {
                // First committer wins: nobody may have changed what it writes.
                let mut after = lists.clone();
                let wins = written.clone().all(|(key, _)| snapshot.get(&key) == lists.get(&key));
                written.for_each(|(key, element)| after.entry(key).or_default().push(element));
                wins && is_snapshot_isolated(transactions, &after, &begun, done | 1 << number)
            }
        }
    })
}

/// Transactions that mostly see snapshots, sometimes of the wrong moment, and install in order: near the borders.
fn random_history(random: &mut Random, count: usize) -> Vec<Vec<Event>> {
    let mut states: Vec<Lists> = vec![Lists::new()];
    let mut transactions = Vec::new();
    for number in 0..count as u64 {
        let newest = states.len() as u64 - 1;
        let mut age = random.below(3).min(newest);
        let mut own: Vec<(u64, u64)> = Vec::new();
        let mut events = Vec::new();
        for op in 0..1 + random.below(4) {
            if random.chance(20) {
                age = random.below(newest + 1);
            }
            let base = states.len() - 1 - age as usize;
            let see = |key: u64| {
                let mut list = states[base].get(&key).cloned().unwrap_or_default();
                list.extend(own.iter().filter(|write| write.0 == key).map(|write| write.1));
                list
            };
            let key = random.below(3);
            match random.below(5) {
                0 | 1 => {
                    let is_free = states[base].get(&key) == states[newest as usize].get(&key);
                    if is_free || random.chance(30) {
                        own.push((key, number * 10 + op + 1));
                        events.push(Event::Append(key, number * 10 + op + 1));
                    }
                }
                2 => events
                    .push(Event::Range(RANGE.map(|key| (key, see(key))).filter(|row| !row.1.is_empty()).collect())),
                _ => events.push(Event::Read(key, see(key))),
            }
        }
        let mut after = states[newest as usize].clone();
        own.iter().for_each(|(key, element)| after.entry(*key).or_default().push(*element));
        states.push(after);
        transactions.push(events);
    }
    let newest = states.last().unwrap();
    transactions.push((0..3).map(|key| Event::Read(key, newest.get(&key).cloned().unwrap_or_default())).collect());
    transactions
}

/// All transactions side by side, the last one behind them.
fn record(transactions: &[Vec<Event>], level: Level) -> History {
    let sequence = Sequence::default();
    let mut recorders: Vec<Recorder> = (0..transactions.len() as u32).map(|id| sequence.recorder(id)).collect();
    for (number, events) in transactions.iter().enumerate() {
        recorders[number].begin(level);
        for event in events {
            match event {
                Event::Append(key, element) => recorders[number].append(*key, *element),
                Event::Read(key, elements) => recorders[number].read_list(*key, elements),
                Event::Range(rows) => {
                    let rows: Vec<(u64, Vec<u64>)> = rows.clone().into_iter().collect();
                    recorders[number].read_range_lists(*RANGE.start(), *RANGE.end(), &rows);
                }
            }
        }
    }
    recorders.iter_mut().for_each(|recorder| recorder.commit(None));
    Sequence::merge(recorders)
}

fn verdict(transactions: &[Vec<Event>], level: Level) -> Report {
    let rules = Rules { real_time: false, permitted: false, ..Rules::default() };
    check(&record(transactions, level), rules).unwrap()
}

#[test]
fn serializable_means_that_a_serial_order_exists() {
    let mut random = Random::new(11, 0);
    let mut counts = [0, 0];
    for round in 0..6000 {
        let count = 2 + random.below(4) as usize;
        let transactions = random_history(&mut random, count);
        let expected = is_serializable(&transactions, &Lists::new(), 0);
        let report = verdict(&transactions, Level::Serializable);
        assert_eq!(report.is_clean(), expected, "round {round}: {report}{transactions:#?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts[0] > 1000 && counts[1] > 1000, "both verdicts occur: {counts:?}");
}

#[test]
fn repeatable_read_means_that_a_run_of_snapshot_isolation_exists() {
    let mut random = Random::new(12, 0);
    let mut counts = [0, 0];
    let mut beyond_serializable = 0;
    for round in 0..3000 {
        let count = 2 + random.below(4) as usize;
        let transactions = random_history(&mut random, count);
        let expected = is_snapshot_isolated(&transactions, &Lists::new(), &vec![None; count], 0);
        let report = verdict(&transactions, Level::RepeatableRead);
        assert_eq!(report.is_clean(), expected, "round {round}: {report}{transactions:#?}");
        counts[usize::from(expected)] += 1;
        beyond_serializable += i32::from(expected && !verdict(&transactions, Level::Serializable).is_clean());
    }
    assert!(counts[0] > 300 && counts[1] > 300, "both verdicts occur: {counts:?}");
    assert!(beyond_serializable > 20, "write skew occurs: {beyond_serializable}");
}
