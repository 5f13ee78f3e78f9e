//! The order of the versions of each list and register.
//!
//! ```text
//!   l5    reads [], [31], [31, 32]              chain 31 · 32             the longest read tells it
//!         33 committed, in no read              loose 33                  after the chain, order unknown
//!   r7.0  9 at 17, 10 at 12                     chain 10 · 9              by commit timestamp
//!         11 from one that told no timestamp    loose 11                  ordered only by who read what before writing
//! ```
//!
//! 1. A chain holds writes that took place: none of an aborted transaction, none from nowhere; each once.
//! 2. An unknown transaction counts as committed from the moment one that counts saw a write of it.
//!
//! Source: Kingsbury and Alvaro, Elle (VLDB 2020), sections 4.1 and 4.2: traceability and recoverability.

use super::anomaly::{Kind, Report};
use super::facts::{Facts, NONE};
use super::history::{LIST, Object, Op, Status};

/// The versions of one object.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Numbers of the writes in order.
    pub(super) chain: Vec<u32>,
    /// The chain's values, for lists.
    pub(super) values: Vec<u64>,
    /// Writes that took place, but whose order is unknown; of a list they are behind the chain.
    pub(super) loose: Vec<u32>,
}

/// The versions of every object.
pub(super) struct Versions {
    /// Per object.
    pub(super) orders: Vec<Order>,
    /// Per write: its place in the chain, or [`NONE`].
    pub(super) places: Vec<u32>,
}

impl Versions {
    /// Recovers the orders from what committed transactions read; finds which unknown ones committed.
    pub(super) fn recover(facts: &mut Facts<'_>, report: &mut Report) -> Versions {
        let mut versions = Versions { orders: Vec::new(), places: vec![NONE; facts.writes.len()] };
        versions.orders.resize_with(facts.objects.len(), Order::default);
        let mut open: Vec<u32> = Vec::new();
        let mut list = Vec::new();
        for transaction in 0..facts.committed.len() as u32 {
            if facts.transaction(transaction).status == Status::Committed {
                versions.take_reads(facts, report, transaction, &mut list, &mut open);
            }
        }
        while let Some(transaction) = open.pop() {
            versions.take_reads(facts, report, transaction, &mut list, &mut open);
        }
        versions.place_unseen(facts);
        versions.check_timestamps(facts, report);
        versions
    }

    /// Learns from the reads of one transaction; those that it shows to be committed go to `open`.
    fn take_reads(
        &mut self,
        facts: &mut Facts<'_>,
        report: &mut Report,
        reader: u32,
        list: &mut Vec<u64>,
        open: &mut Vec<u32>,
    ) {
        let history = facts.history;
        history.for_each_op(reader, list, |op, undone| match op {
            Op::ReadList { key, elements } if !undone => {
                if let Some(object) = facts.object(Object { column: LIST, key }) {
                    self.take_list(facts, report, reader, object, elements, open);
                }
            }
            Op::ReadRegister { key, column, value: Some(value) } if !undone => {
                let write = facts.object(Object { column, key }).and_then(|object| facts.write_of(object, value));
                if let Some(write) = write {
                    seen(facts, write, open);
                }
            }
            _ => {}
        });
    }

    fn take_list(
        &mut self,
        facts: &mut Facts<'_>,
        report: &mut Report,
        reader: u32,
        object: u32,
        elements: &[u64],
        open: &mut Vec<u32>,
    ) {
        let known = self.orders[object as usize].values.len();
        if elements.len() <= known {
            return;
        }
        let cleaned: Vec<u64>;
        let mut elements = elements;
        let is_dead = |value: &u64| facts.write_of(object, *value).is_none_or(|w| facts.is_dead(facts.write(w)));
        let extends = elements[..known] == self.orders[object as usize].values[..];
        if !extends || elements[known..].iter().any(is_dead) {
            cleaned = elements.iter().copied().filter(|value| !is_dead(value)).collect();
            elements = &cleaned;
            if elements.len() <= known || elements[..known] != self.orders[object as usize].values[..] {
                return;
            }
        }
        for &value in &elements[known..] {
            let write = facts.write_of(object, value).expect("elements that nobody wrote were filtered out");
            if self.places[write as usize] != NONE {
                let name = facts.objects[object as usize];
                report.add(Kind::DuplicateElement, true, &[facts.write(write).transaction, reader], || {
                    format!("T{reader} read {value} twice in {name}, which T{} wrote", facts.write(write).transaction)
                });
                return;
            }
            let order = &mut self.orders[object as usize];
            self.places[write as usize] = order.chain.len() as u32;
            order.chain.push(write);
            order.values.push(value);
            seen(facts, write, open);
        }
    }

    /// Finds the places of writes that no read of a list shows, and of registers.
    fn place_unseen(&mut self, facts: &Facts<'_>) {
        for (number, write) in facts.writes.iter().enumerate() {
            let is_list = facts.objects[write.object as usize].is_list();
            if self.places[number] == NONE && facts.counts(*write) && (write.last || is_list) {
                self.orders[write.object as usize].loose.push(number as u32);
            }
        }
        let timestamp = |write: u32| facts.transaction(facts.write(write).transaction).commit_ts;
        for (object, order) in self.orders.iter_mut().enumerate() {
            let is_list = facts.objects[object].is_list();
            if order.loose.is_empty() || (is_list && order.loose.iter().any(|write| timestamp(*write).is_none())) {
                continue;
            }
            let (mut placed, loose): (Vec<u32>, Vec<u32>) =
                std::mem::take(&mut order.loose).into_iter().partition(|write| timestamp(*write).is_some());
            order.loose = loose;
            placed.sort_unstable_by_key(|write| (timestamp(*write), *write));
            for write in placed {
                self.places[write as usize] = order.chain.len() as u32;
                order.chain.push(write);
            }
        }
    }

    /// What readers saw of a list is ordered as the commits were.
    fn check_timestamps(&self, facts: &Facts<'_>, report: &mut Report) {
        for (object, order) in self.orders.iter().enumerate() {
            for pair in order.chain[..order.values.len()].windows(2) {
                let [before, after] = [facts.write(pair[0]), facts.write(pair[1])];
                let timestamps = [before, after].map(|write| facts.transaction(write.transaction).commit_ts);
                let [Some(first), Some(second)] = timestamps else { continue };
                if before.transaction != after.transaction && first >= second {
                    report.add(Kind::TimestampOrder, true, &[before.transaction, after.transaction], || {
                        let name = facts.objects[object];
                        let (a, b) = (before.transaction, after.transaction);
                        format!(
                            "in {name}, {} of T{a} at {first} is before {} of T{b} at {second}",
                            before.value, after.value
                        )
                    });
                }
            }
        }
    }
}

/// Somebody who counts saw this write: so its transaction committed, if that was unknown.
fn seen(facts: &mut Facts<'_>, write: u32, open: &mut Vec<u32>) {
    let write = facts.write(write);
    let transaction = write.transaction as usize;
    if !facts.committed[transaction] && !facts.is_dead(write) {
        facts.committed[transaction] = true;
        open.push(write.transaction);
    }
}
