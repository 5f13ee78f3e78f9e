//! What happened, as the clients know it: begun, acknowledged, failed; and the model of what survived.
//!
//! ```text
//!   T12 acknowledged at 41, full      must be in every later state
//!   T13 acknowledged at 42, async     may be lost in a crash, and then all after it are
//!   T14 in commit at the crash        there or not, whole either way
//!   T15 rolled back                   never there
//! ```
//!
//! Concurrency: one mutex, never held across a scheduling point of the simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use weft_format::Timestamp;
use weft_kernel::Durability;

use crate::model::{Effects, Place, Row, State, differences, replay};
use crate::moments::Moments;
use crate::tables::LEDGER;

/// Totals of a seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that called commit.
    pub committed: u64,
    /// Of these, acknowledged.
    pub acknowledged: u64,
    /// In commit at a crash, and there afterwards.
    pub recovered_in_flight: u64,
    /// In commit at a crash, and gone.
    pub lost_in_flight: u64,
    /// Acknowledged asynchronously and lost in a crash.
    pub lost_async: u64,
    /// Rolled back on purpose.
    pub rolled_back: u64,
    /// Failed with a conflict or at a limit.
    pub conflicts: u64,
    /// Failed with an error of an injected fault.
    pub faulted: u64,
    /// Statements that gave a key or a value that another row has, refused.
    pub values_refused: u64,
    /// ON CONFLICT by a unique value: the row was there.
    pub upserts_updated: u64,
    /// ON CONFLICT by a unique value: it was not.
    pub upserts_inserted: u64,
    /// Bulk statements on the table with the unique value.
    pub members_in_bulk: u64,
    /// Snapshots compared with the model while writers ran.
    pub snapshots: u64,
    /// Whole states compared with the model after a reopening.
    pub verified: u64,
    /// Tables read as they were, and compared with that.
    pub past: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Committing,
    Acknowledged { ts: u64 },
    Failed,
}

struct Record {
    effects: Effects,
    durability: Durability,
    /// Whether a crash may not lose it any more.
    hard: bool,
    /// Whether damage to the end of the log may not lose it unnoticed: the manifest depends on it.
    named: bool,
    fate: Fate,
}

#[derive(Default)]
struct Inner {
    /// The state after the last verification.
    base: State,
    next_tid: u64,
    /// Transactions since the last verification.
    records: BTreeMap<u64, Record>,
    /// By timestamp, those acknowledged since the last verification.
    by_ts: BTreeMap<u64, u64>,
    /// Keys of event rows that may be there.
    event_keys: Vec<Vec<u8>>,
    /// Somebody was told that the engine takes no more writes.
    poisoned: bool,
    counts: Counts,
}

/// The history of one seed.
#[derive(Default)]
pub struct History {
    inner: Mutex<Inner>,
    /// What was compared with the model, and is read again.
    pub(crate) moments: Moments,
}

impl History {
    /// The totals.
    pub fn counts(&self) -> Counts {
        self.inner().counts
    }

    /// Changes the totals.
    pub(crate) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.inner().counts);
    }

    /// A number for a new transaction.
    pub(crate) fn next_tid(&self) -> u64 {
        let mut inner = self.inner();
        inner.next_tid += 1;
        inner.next_tid
    }

    /// A transaction is about to call commit.
    pub(crate) fn committing(&self, tid: u64, effects: Effects, durability: Durability) {
        let mut inner = self.inner();
        inner.counts.committed += 1;
        inner.records.insert(tid, Record { effects, durability, hard: false, named: false, fate: Fate::Committing });
    }

    /// Its commit returned the timestamp.
    pub(crate) fn acknowledged(&self, tid: u64, ts: u64) {
        let mut inner = self.inner();
        inner.counts.acknowledged += 1;
        let record = inner.records.get_mut(&tid).expect("it was in commit");
        record.fate = Fate::Acknowledged { ts };
        record.hard = record.durability == Durability::Full;
        let events: Vec<Vec<u8>> = record
            .effects
            .keys()
            .filter(|place| place.0 == crate::tables::EVENTS)
            .map(|place| place.1.clone())
            .collect();
        inner.event_keys.extend(events);
        if let Some(other) = inner.by_ts.insert(ts, tid) {
            panic!("violation: transactions {other} and {tid} were both acknowledged at {ts}");
        }
    }

    /// A client was told that the engine takes no more writes, in this run of the process.
    pub(crate) fn set_poisoned(&self, poisoned: bool) {
        self.inner().poisoned = poisoned;
    }

    /// Whether somebody was told so.
    pub fn is_poisoned(&self) -> bool {
        self.inner().poisoned
    }

    /// Its commit failed, and said that nothing of it is left.
    pub(crate) fn failed(&self, tid: u64) {
        self.inner().records.get_mut(&tid).expect("it was in commit").fate = Fate::Failed;
    }

    /// The key of an event row that was there not long ago.
    pub(crate) fn event_key(&self, pick: u64) -> Option<Vec<u8>> {
        let inner = self.inner();
        let recent = &inner.event_keys[inner.event_keys.len().saturating_sub(60)..];
        recent.get((pick % recent.len().max(1) as u64) as usize).cloned()
    }

    /// The transactions acknowledged so far since the last verification.
    pub(crate) fn acknowledged_now(&self) -> Vec<u64> {
        self.inner().by_ts.values().copied().collect()
    }

    /// Those of them that no crash takes back.
    pub(crate) fn acknowledged_durably(&self) -> Vec<u64> {
        let inner = self.inner();
        inner.by_ts.values().copied().filter(|tid| inner.records[tid].hard).collect()
    }

    /// A flush that began after these were acknowledged is durable.
    pub(crate) fn durable(&self, tids: &[u64]) {
        let mut inner = self.inner();
        for tid in tids {
            let record = inner.records.get_mut(tid).expect("it was acknowledged");
            (record.hard, record.named) = (true, true);
        }
    }

    /// The end of the log may have been damaged: what no checkpoint was behind may be lost, and then all after it.
    pub(crate) fn forgive_unnamed(&self) {
        let mut inner = self.inner();
        inner.records.values_mut().for_each(|record| record.hard = record.named);
        let named = inner.by_ts.iter().rfind(|(_, tid)| inner.records[tid].named).map(|(ts, _)| ts + 1);
        if let Some(first) = named.or_else(|| inner.by_ts.keys().next().copied()) {
            self.moments.forget_from(Timestamp(first));
        }
    }

    /// Compares a snapshot read while writers run: it holds exactly the transactions its ledger names, all that were
    /// acknowledged before it was taken (`before`), and of the others exactly those up to its timestamp.
    pub(crate) fn check_snapshot(&self, read_ts: u64, before: &[u64], found: &State) -> Result<(), String> {
        let mut inner = self.inner();
        inner.counts.snapshots += 1;
        let survivors = ledger(found);
        for tid in before {
            if !survivors.contains(tid) {
                return Err(format!(
                    "transaction {tid} was acknowledged before snapshot {read_ts}, which does not show it"
                ));
            }
        }
        for (&ts, tid) in &inner.by_ts {
            if survivors.contains(tid) != (ts <= read_ts) {
                let shows = if ts <= read_ts { "does not show" } else { "shows" };
                return Err(format!("snapshot {read_ts} {shows} transaction {tid}, committed at {ts}"));
            }
        }
        inner.compare(&survivors, found).map(|_| ())
    }

    /// Whether a state lacks something that was there at the last reopening: it is an older one.
    pub(crate) fn is_older(&self, found: &State) -> bool {
        let survivors = ledger(found);
        !ledger(&self.inner().base).is_subset(&survivors)
    }

    /// The transactions of these that a state does not have.
    pub(crate) fn missing_of(tids: &[u64], found: &State) -> Vec<u64> {
        let survivors = ledger(found);
        tids.iter().copied().filter(|tid| !survivors.contains(tid)).collect()
    }

    /// Compares the state after a reopening with everything known, and goes on from it.
    pub(crate) fn verify(&self, found: &State) -> Result<(), String> {
        let mut inner = self.inner();
        let survivors = ledger(found);
        inner.check_survivors(&survivors)?;
        inner.compare(&survivors, found)?;
        for (tid, record) in std::mem::take(&mut inner.records) {
            let survived = survivors.contains(&tid);
            match record.fate {
                Fate::Committing if survived => inner.counts.recovered_in_flight += 1,
                Fate::Committing => inner.counts.lost_in_flight += 1,
                Fate::Acknowledged { .. } if !survived => inner.counts.lost_async += 1,
                _ => {}
            }
        }
        inner.by_ts.clear();
        inner.base = found.clone();
        inner.event_keys = found.keys().filter(|place| place.0 == crate::tables::EVENTS).map(|p| p.1.clone()).collect();
        inner.counts.verified += 1;
        Ok(())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A violation panics outside of the lock; a poisoned mutex can only come from a bug in this file.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Inner {
    /// Nothing acknowledged is lost, nothing rolled back is there, and what was lost is a suffix of the log.
    fn check_survivors(&self, survivors: &BTreeSet<u64>) -> Result<(), String> {
        let mut lost: Option<(u64, u64)> = None;
        for (&ts, &tid) in &self.by_ts {
            let record = &self.records[&tid];
            let survived = survivors.contains(&tid);
            if !survived && record.hard {
                let how = if record.durability == Durability::Full { "full" } else { "asynchronous, but flushed" };
                return Err(format!("transaction {tid}, acknowledged at {ts} ({how}), is lost"));
            }
            match lost {
                Some((lost_ts, lost_tid)) if survived => {
                    return Err(format!("transaction {tid} at {ts} is there, but {lost_tid} at {lost_ts} is lost"));
                }
                None if !survived => lost = Some((ts, tid)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Replays the survivors on the base and compares with what was found.
    fn compare(&self, survivors: &BTreeSet<u64>, found: &State) -> Result<(), String> {
        let known = ledger(&self.base);
        if let Some(tid) = known.iter().find(|tid| !survivors.contains(tid)) {
            return Err(format!("transaction {tid} was there after an earlier reopening and is gone"));
        }
        let mut ordered = Vec::new();
        let mut free = Vec::new();
        for &tid in survivors.iter().filter(|tid| !known.contains(tid)) {
            match self.records.get(&tid) {
                None => return Err(format!("transaction {tid} is there, but never called commit or was lost before")),
                Some(Record { fate: Fate::Failed, .. }) => {
                    return Err(format!("transaction {tid} is there, but its commit failed"));
                }
                Some(Record { fate: Fate::Committing, effects, .. }) => free.push((tid, effects)),
                Some(Record { fate: Fate::Acknowledged { ts }, effects, .. }) => ordered.push((*ts, tid, effects)),
            }
        }
        ordered.sort_unstable_by_key(|&(ts, ..)| ts);
        let ordered: Vec<(u64, &Effects)> = ordered.into_iter().map(|(_, tid, effects)| (tid, effects)).collect();
        let changed = replay(&self.base, &ordered, &free)?;
        self.compare_states(&changed, found)
    }

    fn compare_states(&self, changed: &BTreeMap<Place, Option<Row>>, found: &State) -> Result<(), String> {
        let mut expected_count = self.base.len();
        for (place, row) in changed {
            expected_count -= usize::from(self.base.contains_key(place));
            expected_count += usize::from(row.is_some());
        }
        let as_expected = |(place, row): (&Place, &Row)| match changed.get(place) {
            Some(changed) => changed.as_ref() == Some(row),
            None => self.base.get(place) == Some(row),
        };
        if expected_count == found.len() && found.iter().all(as_expected) {
            return Ok(());
        }
        let mut expected = self.base.clone();
        for (place, row) in changed {
            match row {
                Some(row) => drop(expected.insert(place.clone(), row.clone())),
                None => drop(expected.remove(place)),
            }
        }
        Err(format!("the state differs from the replayed model:\n  {}", differences(&expected, found).join("\n  ")))
    }
}

/// The transactions that a state's ledger names.
fn ledger(state: &State) -> BTreeSet<u64> {
    let from: Place = (LEDGER, Vec::new());
    let keys = state.range(from..).take_while(|(place, _)| place.0 == LEDGER).map(|(place, _)| {
        let bytes: [u8; 8] = place.1.as_slice().try_into().expect("the ledger's key is one bigint");
        u64::from_be_bytes(bytes) ^ (1 << 63)
    });
    keys.collect()
}
