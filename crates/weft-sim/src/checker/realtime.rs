//! Acknowledged writes that a later transaction did not see.
//!
//! ```text
//!   T0 l5+31 acknowledged at 4      T1 begins at 6, l5=[]      T2 begins at 9, l5=[31]     stale read by T1
//!                                                              T2 begins at 9, l5=[]       lost write of T0
//! ```
//!
//! Snapshots are taken after the acknowledgement of whatever was acknowledged before the transaction began, at every
//! level, so each such write is in them or overwritten. What the last read of an object misses is lost.

use std::collections::BTreeMap;

use super::anomaly::{Kind, Report};
use super::facts::{Facts, NONE};
use super::reads::{Read, Reads};
use super::versions::Versions;

/// The earliest acknowledgement of a write behind each version.
struct Deadlines<'a> {
    facts: &'a Facts<'a>,
    versions: &'a Versions,
    /// Per object the place of its first number in `behind`.
    first: Vec<usize>,
    /// Per version of a chain: when the first of the writes behind it was acknowledged.
    behind: Vec<u64>,
    /// Registers with loose writes: acknowledgements ascending; the write with the latest begin up to there.
    loose: BTreeMap<u32, Vec<(u64, u32)>>,
}

/// Reports what was not seen in time.
pub(super) fn check(facts: &Facts<'_>, versions: &Versions, reads: &Reads, report: &mut Report) {
    let deadlines = Deadlines::new(facts, versions);
    let mut last: Vec<Option<Read>> = vec![None; versions.orders.len()];
    for read in &reads.reads {
        let known = &mut last[read.object as usize];
        if known.is_none_or(|known| known.transaction <= read.transaction) {
            *known = Some(*read);
        }
    }
    for read in &reads.reads {
        let Some(write) = deadlines.missed(read) else { continue };
        let last = last[read.object as usize].expect("the object was read");
        let is_lost = deadlines.missed(&last).is_some_and(|missed| missed == write);
        let (kind, reader) =
            if is_lost { (Kind::LostWrite, last.transaction) } else { (Kind::StaleRead, read.transaction) };
        let (name, write) = (facts.objects[read.object as usize], facts.write(write));
        let writer = write.transaction;
        report.add(kind, true, &[writer, reader], || {
            let (end, begin) = (facts.acknowledged(writer), facts.transaction(reader).begin);
            let how = if is_lost { "the last to read it" } else { "though another saw it later" };
            let wrote = format!("T{writer} wrote {} to {name}, acknowledged at {end}", write.value);
            format!("{wrote}; T{reader} began at {begin} and did not see it, {how}")
        });
    }
}

impl<'a> Deadlines<'a> {
    fn new(facts: &'a Facts<'a>, versions: &'a Versions) -> Deadlines<'a> {
        let mut deadlines =
            Deadlines { facts, versions, first: Vec::new(), behind: Vec::new(), loose: BTreeMap::new() };
        for (object, order) in versions.orders.iter().enumerate() {
            let acknowledged = |write: &u32| facts.acknowledged(facts.write(*write).transaction);
            let first = deadlines.behind.len();
            deadlines.first.push(first);
            deadlines.behind.resize(first + order.chain.len() + 1, u64::MAX);
            let mut earliest = u64::MAX;
            if facts.objects[object].is_list() {
                earliest = order.loose.iter().map(acknowledged).min().unwrap_or(u64::MAX);
            } else if !order.loose.is_empty() {
                deadlines.loose.insert(object as u32, latest_begins(facts, order.chain.iter().chain(&order.loose)));
            }
            deadlines.behind[first + order.chain.len()] = earliest;
            for (place, write) in order.chain.iter().enumerate().rev() {
                earliest = earliest.min(acknowledged(write));
                deadlines.behind[first + place] = earliest;
            }
        }
        deadlines
    }

    /// A write that the reader had to see.
    fn missed(&self, read: &Read) -> Option<u32> {
        let begin = self.facts.transaction(read.transaction).begin;
        let order = &self.versions.orders[read.object as usize];
        let first = self.first[read.object as usize];
        if let Some(count) = read.version.count().filter(|count| self.behind[first + count] < begin) {
            let is_late = |write: &&u32| self.facts.acknowledged(self.facts.write(**write).transaction) < begin;
            return order.chain[count..].iter().chain(&order.loose).find(is_late).copied();
        }
        // Order unknown: but who began after the seen version was acknowledged came after it.
        let latest = self.loose.get(&read.object)?;
        let (_, write) = *latest[..latest.partition_point(|entry| entry.0 < begin)].last()?;
        let seen = read.version.write(order);
        let since = seen.map_or(0, |seen| self.facts.transaction(self.facts.write(seen).transaction).end);
        let later = self.facts.transaction(self.facts.write(write).transaction).begin > since;
        (seen.is_none() || later).then_some(write)
    }
}

fn latest_begins<'w>(facts: &Facts<'_>, writes: impl Iterator<Item = &'w u32>) -> Vec<(u64, u32)> {
    let mut entries: Vec<(u64, u32)> =
        writes.map(|write| (facts.acknowledged(facts.write(*write).transaction), *write)).collect();
    entries.sort_unstable();
    let mut latest = NONE;
    for entry in &mut entries {
        // Transactions are numbered by begin.
        if latest == NONE || facts.write(entry.1).transaction > facts.write(latest).transaction {
            latest = entry.1;
        }
        entry.1 = latest;
    }
    entries
}
