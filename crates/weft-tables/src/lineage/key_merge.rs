//! Several runs of keys become one: of a key in several of them the row ids are put together, newest first; those
//! of segments of which nothing is left go.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use weft_contract::{JobOffer, Price};
use weft_format::Result;
use weft_kernel::fault::active;
use weft_kernel::step::reached;

use super::faults;
use super::files::OpenFile;
use super::job_kinds::MERGE_KEYS;
use super::key_run::KeyRun;
use super::layout::Layout;
use super::merge::Outcome;
use super::payload::Entry;
use super::steps;
use super::store::Store;
use super::tidy::pick;

/// Rows of keys that one core merges in a microsecond, about.
const ROWS_PER_US: u64 = 2;

/// Files that are taken by a job until this goes.
pub(super) struct Claimed(Vec<Arc<OpenFile>>);

impl Claimed {
    /// Takes files; none when another job has one of them.
    pub(super) fn take(files: impl Iterator<Item = Arc<OpenFile>>) -> Option<Claimed> {
        let mut claimed = Claimed(Vec::new());
        for file in files {
            if !file.claim() {
                return None;
            }
            claimed.0.push(file);
        }
        Some(claimed)
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.0.iter().for_each(|file| file.unclaim());
    }
}

/// A run that is read from its beginning.
struct Cursor<'a> {
    run: &'a KeyRun,
    position: u32,
    key: Option<Vec<u8>>,
}

impl Cursor<'_> {
    fn load(&mut self) -> Result<()> {
        let table = &self.run.file.table;
        let is_there = self.position < table.row_count();
        self.key = is_there.then(|| table.key(self.run.file.cache(), self.position)).transpose()?;
        Ok(())
    }
}

fn wanted(layout: &Layout) -> Option<&[KeyRun]> {
    let runs = layout.base.merged_keys();
    let sizes: Vec<u64> = runs.iter().map(KeyRun::rows).collect();
    pick(&sizes).map(|range| &runs[range])
}

impl Store {
    /// The merge of runs that is worth it.
    pub(super) fn key_offer(&self, layout: &Layout) -> Option<JobOffer> {
        let runs = wanted(layout)?;
        if runs.iter().any(|run| run.file.is_claimed()) {
            return None;
        }
        let rows: u64 = runs.iter().map(KeyRun::rows).sum();
        let bytes = runs.iter().map(|run| run.file.table.file_bytes()).sum();
        let price = Price { cpu_us: rows / ROWS_PER_US, read_bytes: bytes, write_bytes: bytes, ..Price::default() };
        let reason = format!("{} runs with {rows} keys", runs.len());
        let number = runs[0].rank;
        Some(JobOffer { table: self.context.def.id, kind: MERGE_KEYS, number, price, reason })
    }

    /// Merges runs of keys, the newest of which has this rank.
    pub(super) fn merge_keys(&self, rank: u64) -> Result<()> {
        let layout = self.layout();
        let Some(runs) = wanted(&layout).filter(|runs| runs[0].rank == rank) else { return Ok(()) };
        let Some(_claimed) = Claimed::take(runs.iter().map(|run| run.file.clone())) else { return Ok(()) };
        // A job that ended between the look and the claim has replaced them.
        let now = self.layout();
        if !runs.iter().all(|run| now.base.keys.iter().any(|known| Arc::ptr_eq(&known.file, &run.file))) {
            return Ok(());
        }
        let mut cursors: Vec<Cursor<'_>> = runs.iter().map(|run| Cursor { run, position: 0, key: None }).collect();
        cursors.iter_mut().try_for_each(Cursor::load)?;
        let mut waiting: VecDeque<(Box<[u8]>, u64)> = VecDeque::new();
        let mut next = || -> Result<Option<(Box<[u8]>, u64)>> {
            loop {
                if let Some(next) = waiting.pop_front() {
                    return Ok(Some(next));
                }
                let Some(key) = cursors.iter().filter_map(|cursor| cursor.key.as_ref()).min().cloned() else {
                    return Ok(None);
                };
                let mut row_ids = BTreeSet::new();
                for cursor in &mut cursors {
                    while cursor.key.as_ref() == Some(&key) {
                        row_ids.insert(cursor.run.row_id(cursor.position)?);
                        cursor.position += 1;
                        cursor.load()?;
                    }
                }
                let is_left = |row_id: &u64| now.base.segment(row_id / u64::from(now.base.segment_rows)).is_some();
                let kept = if active(faults::KEEP_NEWEST_ROW_ID) { 1 } else { usize::MAX };
                let row_ids = row_ids.into_iter().rev().filter(is_left).take(kept);
                waiting.extend(row_ids.map(|row_id| (key.clone().into(), row_id)));
            }
        };
        let file = self.write_keys(&self.shape(), std::iter::from_fn(|| next().transpose()))?;
        reached(steps::MERGE_KEYS.inputs_read);
        let mut outcome = Outcome { removed: runs.iter().map(|run| run.file.clone()).collect(), ..Outcome::default() };
        if let Some(file) = file {
            outcome.output.push(file, Entry::Keys { rank, offset: 0 });
        }
        self.publish(&steps::MERGE_KEYS, outcome)
    }
}
