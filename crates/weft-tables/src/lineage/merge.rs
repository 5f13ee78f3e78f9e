//! Merge: the oldest frozen tails become base pages, keys and history, and their end the table's cut.
//!
//! ```text
//!   tails (40, 52]    range 0 ─┐
//!                     range 3 ─┴▶ segment 0: pages of the columns that changed         t12-9
//!                     range 17 ─▶ segment 1: longer now, pages of all columns          t12-10
//!                     keys      ─▶ a run, rank 52                                      t12-11
//!                     replaced  ─▶ history (40, 52]                                    t12-12
//!   one edit, cut 52; readers go on with what they pinned
//! ```
//!
//! 1. The end is published, so the tails are complete and stable: nobody writes to them, and a merge reads nothing
//!    else but base pages, which nobody writes either (the paper's Lemma 1).
//! 2. Oldest first: the cut says "everything up to here", so ends become cuts in order.
//! 3. Nobody waits for a merge: writers are in younger tails, readers keep their layout, and the switch is one pointer.
//! 4. After a failed edit files are removed, unless the manifest stopped: then nobody knows which files it names.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Code, FileId, Result, RowCodec, Timestamp, Value};
use weft_kernel::fault::active;
use weft_kernel::manifest::Edit;
use weft_kernel::step::reached;

use super::base::Base;
use super::faults;
use super::files::{OpenFile, paced_builder};
use super::gate::Holder;
use super::key_run::KeyRun;
use super::layout::Layout;
use super::loaded::Loaded;
use super::merge_segment::SegmentChange;
use super::output::Output;
use super::past::PastFile;
use super::payload::{Entry, Payload};
use super::segment::Segment;
use super::shapes;
use super::steps::{JobSteps, MERGE, MERGE_FILE_WRITTEN};
use super::store::{Shape, Store};
use super::tails::Tails;
use super::undo::HistoryWriter;

/// A merge under way, however it ends.
struct Merging<'a>(&'a Store);

impl Drop for Merging<'_> {
    fn drop(&mut self) {
        self.0.merging.store(false, Ordering::Release);
    }
}

/// What a job has made.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) output: Output,
    /// Segments as they are now; none: nothing of them is left.
    pub(super) segments: Vec<(u64, Option<Arc<Segment>>)>,
    /// Files that vanish, beside those that no page is in any more.
    pub(super) removed: Vec<Arc<OpenFile>>,
    /// The end of the tails that were merged; none: the cut stays.
    pub(super) cut: Option<Timestamp>,
    /// What was replaced at or before it is forgotten.
    pub(super) known_from: Timestamp,
    /// Files of bulk loads that the cut has reached, listed from now on.
    pub(super) loaded: Vec<(Arc<OpenFile>, Entry)>,
    /// The same of which no page is used any more: never listed.
    pub(super) unlisted: Vec<Arc<OpenFile>>,
}

impl Store {
    /// Merges the oldest frozen tails when they have this number and are complete.
    pub(super) fn merge(&self, number: u64) -> Result<()> {
        if self.merging.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let _merging = Merging(self);
        let layout = self.layout();
        match self.mergeable(&layout) {
            // Pinned anew: a load of theirs may have come into the base before their end was published (merge 1).
            Some(tails) if tails.number == number && !self.is_dropped() => self.merge_tails(&self.layout(), &tails),
            _ => Ok(()),
        }
    }

    fn merge_tails(&self, layout: &Layout, tails: &Arc<Tails>) -> Result<()> {
        let to = tails.frozen_at().expect("mergeable tails are frozen (merge 1)");
        let _closed = active(faults::MERGE_HOLDS_GATE).then(|| self.close(Holder::Merge));
        let (base, shape) = (&layout.base, self.shape());
        let limit = self.forgettable(to, base.known_from);
        let mut outcome = Outcome { cut: Some(to), known_from: limit.max(base.known_from), ..Outcome::default() };
        let mut history = HistoryWriter::new(&self.context, &shape.schema);
        let mut ranges = tails.ranges().peekable();
        while let Some(&(first, _)) = ranges.peek() {
            let number = first / u64::from(base.segment_rows);
            let old = base.segment(number);
            let mut change = SegmentChange::new(&shape, old, (number, base.segment_rows), limit);
            while let Some((first, range)) = ranges.next_if(|(row, _)| row / u64::from(base.segment_rows) == number) {
                change.take(first, range)?;
            }
            history.push(&change.take_undo())?;
            let segment = match change.is_forgotten()? {
                true => None,
                false => {
                    let (segment, ordinals) = change.write(&self.context)?;
                    let ordinals = ordinals.iter().map(|&ordinal| ordinal as u16).collect();
                    let (rows, alive, born) = (segment.rows, segment.alive, Timestamp(0));
                    let entry = Entry::Pages { segment: number, rows, alive, ordinals, born };
                    outcome.output.push(segment.newest.clone(), entry);
                    reached(MERGE_FILE_WRITTEN);
                    Some(Arc::new(segment))
                }
            };
            // Files that no page is in any more.
            let files = segment.as_ref().map(|segment| segment.files()).unwrap_or_default();
            let is_left = |file: &Arc<OpenFile>| files.iter().any(|left| Arc::ptr_eq(left, file));
            outcome.removed.extend(old.map(|old| old.files()).into_iter().flatten().filter(|file| !is_left(file)));
            outcome.segments.push((number, segment));
        }
        // Those that an open snapshot has kept so far.
        let known: HashSet<u64> = outcome.segments.iter().map(|(number, _)| *number).collect();
        for segment in base.segments.iter().flatten().filter(|segment| !known.contains(&segment.number)) {
            if segment.alive == 0 && segment.last_change() <= limit {
                outcome.segments.push((segment.number, None));
                outcome.removed.extend(segment.files());
            }
        }
        if let Some(file) = history.finish()? {
            outcome.output.push(file, Entry::History { after: base.cut, to });
        }
        if !active(faults::LOSE_KEYS)
            && let Some(file) = self.write_keys(&shape, tails.keys.sorted().into_iter().map(Ok))?
        {
            outcome.output.push(file, Entry::Keys { rank: to.0, offset: 0 });
        }
        if !active(faults::FORGET_LOADED) {
            list_loaded(base, &mut outcome, to);
        }
        reached(MERGE.inputs_read);
        self.publish(&MERGE, outcome)
    }

    /// Writes a file of keys, which ascend.
    pub(super) fn write_keys(
        &self,
        shape: &Shape,
        keys: impl Iterator<Item = Result<(Box<[u8]>, u64)>>,
    ) -> Result<Option<Arc<OpenFile>>> {
        let schema = shapes::keys(&shape.schema);
        let codec = RowCodec::new(&schema);
        let mut builder = paced_builder(&self.context, schema.clone());
        let mut pacer = self.context.services.pacer();
        for entry in keys {
            let (key, row_id) = entry?;
            let mut values = self.keys.decode(&key)?;
            values.push(Value::Int(row_id.cast_signed()));
            builder.push_row(&codec.encode(values.iter().map(Value::as_ref)), Timestamp(0));
            pacer.step();
        }
        if builder.row_count() == 0 {
            return Ok(None);
        }
        OpenFile::write(&self.context, builder, &schema).map(|file| Some(Arc::new(file)))
    }

    /// Publishes what a job has made. On an error the layout is as before.
    pub(super) fn publish(&self, steps: &JobSteps, mut outcome: Outcome) -> Result<()> {
        if !outcome.output.files().is_empty() {
            self.context.services.files().sync_names()?;
        }
        reached(steps.files_synced);
        let _editing = self.editing.lock();
        if self.is_dropped() {
            return Ok(());
        }
        let known_from = self.layout().base.known_from.max(outcome.known_from);
        let cut = outcome.cut.unwrap_or(self.cut());
        let removed: Vec<FileId> = outcome.removed.iter().map(|file| file.number()).collect();
        let added: Vec<(FileId, Entry)> = outcome.files().map(|(file, entry)| (file.number(), entry.clone())).collect();
        let dropped = outcome.segments.iter().filter(|(_, segment)| segment.is_none()).map(|(number, _)| *number);
        let payload =
            Payload { added: added.clone(), removed: removed.clone(), dropped: dropped.collect(), known_from };
        let edit = Edit {
            table: self.context.def.id,
            cut,
            added: added.into_iter().map(|(file, _)| file).collect(),
            removed,
            payload: payload.encode(),
        };
        let durable = self.context.services.apply_edit(edit).inspect_err(|error| {
            if error.code() == Code::Poisoned {
                outcome.output.published();
            }
        })?;
        outcome.output.published();
        reached(steps.edit_durable);
        let merged = outcome.cut;
        self.switch(|layout| {
            let stays = |tails: &&Arc<Tails>| tails.frozen_at() != merged;
            let frozen: Vec<Arc<Tails>> = layout.frozen.iter().filter(stays).cloned().collect();
            let gone = layout.frozen.len() - frozen.len();
            assert_eq!(gone, usize::from(merged.is_some()), "tails are merged once, oldest first (merge 2)");
            // Of the present one: bulk loads may have come meanwhile.
            let base = base_after(&layout.base, &outcome);
            assert!(base.cut == cut && base.known_from == known_from, "who edits holds the edit lock");
            Layout::new(Arc::new(base), frozen, layout.active.clone(), layout.floor)
        });
        durable.followed();
        reached(steps.switched);
        outcome.removed.iter().chain(&outcome.unlisted).for_each(|file| file.retire());
        Ok(())
    }
}

impl Outcome {
    /// The files that the edit lists: pages of loads before newer ones of the same segments.
    fn files(&self) -> impl Iterator<Item = &(Arc<OpenFile>, Entry)> {
        self.loaded.iter().chain(self.output.files())
    }
}

/// Adds the bulk loads whose commits the cut reaches.
fn list_loaded(base: &Base, outcome: &mut Outcome, cut: Timestamp) {
    for loaded in base.loaded.iter().filter(|loaded| loaded.ts <= cut) {
        let segment_now = |number| match outcome.segments.iter().find(|(changed, _)| *changed == number) {
            Some((_, segment)) => segment.clone(),
            None => base.segment(number).cloned(),
        };
        let (listed, gone) = loaded.entries(segment_now, cut, base.segment_rows);
        // The manifest never knew of them.
        outcome.removed.retain(|file| !gone.iter().any(|gone| Arc::ptr_eq(gone, file)));
        outcome.loaded.extend(listed);
        outcome.unlisted.extend(gone);
    }
}

/// The base with what a job has made.
fn base_after(before: &Base, outcome: &Outcome) -> Base {
    let mut base = before.clone();
    base.cut = outcome.cut.unwrap_or(before.cut);
    base.known_from = before.known_from.max(outcome.known_from);
    assert!(base.cut >= before.cut, "the cut never goes back (DESIGN invariant 7)");
    for (number, segment) in &outcome.segments {
        base.set_segment(*number, segment.clone());
    }
    let is_listed = |loaded: &Loaded| outcome.loaded.iter().any(|(file, _)| Arc::ptr_eq(file, &loaded.built.keys));
    let reached = |loaded: &&Loaded| loaded.ts <= base.cut;
    assert!(
        base.loaded.iter().filter(reached).all(is_listed) || active(faults::FORGET_LOADED),
        "the edit that reaches a load's commit lists its files (loaded 2)"
    );
    base.loaded.retain(|loaded| loaded.ts > base.cut);
    for run in base.keys.iter_mut().filter(|run| run.rank > before.cut.0 && run.rank <= base.cut.0) {
        run.rank = base.cut.0;
    }
    let is_removed = |file: &Arc<OpenFile>| outcome.removed.iter().any(|removed| Arc::ptr_eq(removed, file));
    base.keys.retain(|run| !is_removed(&run.file));
    base.past.retain(|past| !is_removed(&past.file));
    for (file, entry) in outcome.output.files() {
        match entry {
            Entry::Pages { .. } => {}
            Entry::Keys { rank, offset } => {
                base.keys.push(KeyRun { rank: *rank, offset: *offset, file: file.clone() });
            }
            Entry::History { after, to } => {
                base.past.push(PastFile { after: *after, to: *to, file: file.clone() });
            }
        }
    }
    base.keys.sort_by_key(KeyRun::order);
    base.past.sort_by_key(|past| past.after);
    base
}
