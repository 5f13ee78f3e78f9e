//! A follower's index does with its files as the writer's did.
//!
//! ```text
//!   writer     flush: memories up to 40 ─▶ run 12     edit {cut 40, added [12], ranges {"": [7 9 12]}}
//!   follower   active memory 6 (from 55)              stays
//!              frozen 4 (from 20), 5 (from 38)        4 goes: it has nothing beyond 39; 5 may have, and stays
//!              ranges {"": [7 9]}                     {"": [7 9 12]}
//! ```
//!
//! 1. An entry that is in a memory and in a run is read once (index store 2): memories go when all that they can have
//!    is in files, not earlier, not as soon as that.
//! 2. A memory that was frozen while a commit was added may have entries of that commit: it ends one timestamp behind
//!    where its successor begins. A follower adds one commit at a time.
//! 3. Runs that a statement built are read from the commit on that attached them, by every range that they reach into,
//!    until a switch lists them.
//! 4. A merge leaves out entries that no snapshot of the writer needs, up to its horizon. That is at or below what is
//!    published here, for the log tells of the merge behind it. Older snapshots do without the index.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_contract::FileSwitch;
use weft_format::{Error, FileId, Result};

use super::layout::{Layout, Range, add_run};
use super::memory::Memory;
use super::payload::{FileEntry, Payload};
use super::run::Run;
use super::store::IndexStore;
use crate::fault::{Fault, active};

impl IndexStore {
    /// See [`Upkeep::follow`](weft_contract::Upkeep::follow).
    pub(crate) fn follow(&self, switch: &FileSwitch) -> Result<()> {
        let payload = Payload::decode(&switch.payload)?;
        let _editing = self.editing.lock();
        let mut known = self.layout().runs();
        for entry in &payload.added {
            let run = self.followed_run(&known, entry)?;
            known.insert(entry.file, run);
        }
        let mut layout = self.layout.write();
        let ranges = self.ranges_after(&layout.ranges, &payload, &known)?;
        let frozen = unwritten(&layout, switch);
        if !payload.removed.is_empty() && !active(Fault::FOLLOW_WITHOUT_FLOOR) {
            self.raise_floor(self.context.services.published());
        }
        *layout = Arc::new(Layout::new(layout.active.clone(), frozen, ranges));
        drop(layout);
        self.set_cut(switch.cut);
        Ok(())
    }

    /// The run of a file that a switch lists: attached before, or opened now.
    fn followed_run(&self, known: &BTreeMap<FileId, Arc<Run>>, entry: &FileEntry) -> Result<Arc<Run>> {
        let run = match known.get(&entry.file) {
            Some(run) => run.clone(),
            None => {
                let run = self.files.open(entry.file)?;
                run.attach_at(entry.attached_at);
                Arc::new(run)
            }
        };
        if run.footer.entry_count != entry.entry_count {
            let (found, listed) = (run.footer.entry_count, entry.entry_count);
            return Err(run.named(&Error::corrupt(format!("it has {found} entries, the log says {listed}"))));
        }
        run.set_listed();
        Ok(run)
    }

    fn ranges_after(
        &self,
        before: &[Range],
        payload: &Payload,
        known: &BTreeMap<FileId, Arc<Run>>,
    ) -> Result<Vec<Range>> {
        let mut ranges: BTreeMap<Arc<[u8]>, Range> = BTreeMap::new();
        for range in before {
            let runs = range.runs.iter().filter(|run| run.is_listed()).cloned().collect();
            ranges.insert(range.low.clone(), Range { runs, ..range.clone() });
        }
        for (low, files) in &payload.ranges {
            let run = |file: &FileId| {
                let run = known.get(file).cloned();
                run.ok_or_else(|| {
                    let name = &self.context.name;
                    Error::corrupt(format!("a range of index \"{name}\" reads file {file}, which was not listed"))
                })
            };
            let runs = files.iter().map(run).collect::<Result<Vec<_>>>()?;
            let low: Arc<[u8]> = low.as_slice().into();
            ranges.entry(low.clone()).or_insert_with(|| Range::new(low, Vec::new())).runs = runs;
        }
        let mut ranges: Vec<Range> = ranges.into_values().collect();
        // Follow 3.
        known.values().filter(|run| !run.is_listed()).for_each(|run| add_run(&mut ranges, run));
        Ok(ranges)
    }
}

/// The frozen memories that may have entries beyond the cut (follow 2).
fn unwritten(layout: &Layout, switch: &FileSwitch) -> Vec<Arc<Memory>> {
    let ends = layout.frozen.iter().skip(1).chain([&layout.active]).map(|next| next.from());
    let memories = layout.frozen.iter().zip(ends);
    memories.filter(|(_, end)| end.next() > switch.cut).map(|(memory, _)| memory.clone()).collect()
}
