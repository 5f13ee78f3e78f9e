//! The last step of every job: one manifest edit, then the switch.
//!
//! ```text
//!   edit lock ┬ plan: outputs in, inputs out, built files whose commit the cut reaches listed, large ranges split
//!             ├ edit {cut 40, added [12], removed [7], ranges {"": [9 12], "k": [12]}}     durable: now it counts
//!             ├ layout lock: the same plan on the layout of now                         outputs appear, inputs vanish
//!             └ inputs that no range reads go with their last reader                        (DESIGN invariant 7)
//! ```
//!
//! 1. The cut is what was published before the plan, or where the oldest memory begins that has entries and is not
//!    being written: whatever is up to it is in files (index store 1).
//! 2. A file that a statement attached is listed by the first edit whose cut reaches its commit; only then is it
//!    merged.
//! 3. A range that another job merges is not split.
//! 4. After a failed edit files are removed, unless the manifest stopped: then nobody knows which files it names.
//! 5. Between a durable edit and the switch nothing fails: a panic there stops the engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Code, FileId, Result, Timestamp};

use super::job_steps::{JobStep, JobSteps};
use super::layout::{Layout, Range, add_run, range_end, runs_of, split};
use super::memory::Memory;
use super::payload::{Payload, Ranges};
use super::pick::split_borders;
use super::run::Run;
use super::store::IndexStore;
use crate::manifest::Edit;

/// What a job has made of what.
pub(super) struct Outcome<'a> {
    /// New runs; nobody else knows them yet.
    pub(super) outputs: &'a [Arc<Run>],
    /// The range that was merged, and the runs that it reads no more.
    pub(super) merged: Option<(&'a Arc<[u8]>, &'a [FileId])>,
    /// The memory that is in the outputs now.
    pub(super) memory: Option<&'a Arc<Memory>>,
    /// Whose steps these are.
    pub(super) job: JobSteps,
}

/// What an edit will say.
struct Plan {
    cut: Timestamp,
    payload: Payload,
    /// Attached runs that it lists for the first time.
    attached: Vec<Arc<Run>>,
    /// Where ranges split.
    borders: Vec<Arc<[u8]>>,
}

impl Outcome<'_> {
    /// Takes inputs out of some ranges and puts outputs in.
    fn apply(&self, ranges: &mut [Range]) {
        if let Some((low, inputs)) = self.merged {
            let range = ranges.iter_mut().find(|range| range.low == *low);
            let range = range.expect("a range never goes (index layout 1)");
            let before = range.runs.len();
            range.runs.retain(|run| !inputs.contains(&run.file));
            assert_eq!(range.runs.len() + inputs.len(), before, "inputs vanish once (DESIGN invariant 2)");
        }
        let is_new = |run: &Arc<Run>| ranges.iter().all(|range| is_without(range, run));
        debug_assert!(self.outputs.iter().all(is_new), "nobody reads an output before it is put in");
        self.outputs.iter().for_each(|run| add_run(ranges, run));
    }
}

impl IndexStore {
    /// Publishes a job's outcome. On an error the layout is as before.
    pub(super) fn publish(&self, outcome: &Outcome<'_>) -> Result<()> {
        let _editing = self.editing.lock();
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|run| run.retire());
            return Ok(());
        }
        assert!(outcome.outputs.iter().all(|run| !run.is_listed()), "an output is named by no edit before its own");
        let plan = self.plan(outcome);
        let edit = Edit {
            table: self.context.id,
            cut: plan.cut,
            added: plan.payload.added.iter().map(|entry| entry.file).collect(),
            removed: plan.payload.removed.clone(),
            payload: plan.payload.encode(),
        };
        let durable = self.context.services.apply_edit(edit).inspect_err(|error| {
            if error.code() != Code::Poisoned {
                outcome.outputs.iter().for_each(|run| run.retire());
            }
        })?;
        outcome.job.reached(JobStep::EditDurable);
        self.set_cut(plan.cut);
        plan.attached.iter().chain(outcome.outputs).for_each(|run| run.set_listed());
        self.switch(outcome, &plan.borders);
        durable.followed();
        outcome.job.reached(JobStep::Switched);
        Ok(())
    }

    fn plan(&self, outcome: &Outcome<'_>) -> Plan {
        let (cut, layout) = self.reachable_cut(outcome.memory);
        let runs = layout.runs();
        let attached: Vec<Arc<Run>> =
            runs.into_values().filter(|run| !run.is_listed() && run.attached_at() <= cut).collect();
        let with = |test: &dyn Fn(&Run) -> bool| -> Vec<Range> {
            let mut ranges = layout.ranges.clone();
            ranges.iter_mut().for_each(|range| range.runs.retain(|run| test(run)));
            ranges
        };
        let before = with(&|run| run.is_listed());
        let mut after = with(&|run| run.is_listed() || run.attached_at() <= cut);
        outcome.apply(&mut after);
        let borders = self.borders(&after, outcome.merged.map(|(low, _)| low));
        split(&mut after, &borders);

        let (old, new) = (names(&before), names(&after));
        let (old_runs, new_runs) = (runs_of(&before), runs_of(&after));
        let appeared = new_runs.iter().filter(|(file, _)| !old_runs.contains_key(file));
        // The lowest range always: the first payload of an index must have it.
        let changed = new.into_iter().filter(|(low, files)| low.is_empty() || old.get(low) != Some(files));
        let payload = Payload {
            added: appeared.map(|(_, run)| run.entry()).collect(),
            removed: old_runs.into_keys().filter(|file| !new_runs.contains_key(file)).collect(),
            ranges: changed.collect(),
        };
        let is_input = |file| outcome.merged.is_some_and(|(_, inputs)| inputs.contains(file));
        assert!(payload.removed.iter().all(is_input), "a listed file goes when it was merged, and only then");
        assert!(payload.ranges.contains_key(&[][..]), "a payload names the lowest range");
        Plan { cut, payload, attached, borders }
    }

    /// How far everything is in files once `written` is (publish 1), and a layout of which that is true.
    pub(super) fn reachable_cut(&self, written: Option<&Arc<Memory>>) -> (Timestamp, Arc<Layout>) {
        let published = self.context.services.published();
        let layout = self.layout();
        let open = |memory: &&Arc<Memory>| {
            memory.entry_count() > 0 && written.is_none_or(|written| written.number != memory.number)
        };
        let lowest = layout.memories().filter(open).map(|memory| memory.from()).min();
        (lowest.unwrap_or(published).min(self.cut_max()).max(self.cut()), layout)
    }

    fn borders(&self, ranges: &[Range], own: Option<&Arc<[u8]>>) -> Vec<Arc<[u8]>> {
        let bytes_max = self.context.options.range_bytes_max;
        let merging = self.merging.lock();
        let mut borders = Vec::new();
        for (at, range) in ranges.iter().enumerate() {
            let high = range_end(ranges, at);
            let bytes: u64 = range.runs.iter().map(|run| run.footer.share(&range.low, high).1).sum();
            if bytes <= bytes_max || merging.contains(&range.low) && own != Some(&range.low) {
                continue;
            }
            let blocks = range.runs.iter().flat_map(|run| run.footer.separators_within(&range.low, high)).collect();
            borders.extend(split_borders(&range.low, blocks, bytes_max));
        }
        borders
    }

    fn switch(&self, outcome: &Outcome<'_>, borders: &[Arc<[u8]>]) {
        let (old, next) = {
            let mut layout = self.layout.write();
            let mut ranges = layout.ranges.clone();
            outcome.apply(&mut ranges);
            split(&mut ranges, borders);
            let written = outcome.memory.map(|memory| memory.number);
            let is_behind = |memory: &Arc<Memory>| written.is_none_or(|written| written <= memory.number);
            assert!(layout.frozen.iter().all(is_behind), "the oldest memory is written first (index store)");
            let frozen = layout.frozen.iter().filter(|memory| Some(memory.number) != written).cloned().collect();
            let next = Arc::new(Layout::new(layout.active.clone(), frozen, ranges));
            (std::mem::replace(&mut *layout, next.clone()), next)
        };
        let left = next.runs();
        for run in old.runs().into_values().filter(|run| !left.contains_key(&run.file)) {
            let (misses, false_positives) = run.misses();
            self.retired[0].fetch_add(misses, Ordering::Relaxed);
            self.retired[1].fetch_add(false_positives, Ordering::Relaxed);
            assert!(run.is_listed(), "what was not listed yet is not merged (publish 2)");
            run.retire();
        }
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|run| run.retire());
        }
    }
}

impl IndexStore {
    /// Lets the ranges read attached runs. Their edit comes later.
    pub(super) fn switch_attached(&self, attached: &[Arc<Run>]) {
        let _old = {
            let mut layout = self.layout.write();
            let mut ranges = layout.ranges.clone();
            let is_new = |run: &Arc<Run>| ranges.iter().all(|range| is_without(range, run));
            debug_assert!(attached.iter().all(is_new), "a file is attached once");
            let has_commit = |run: &Arc<Run>| run.attached_at() > Timestamp(0);
            assert!(attached.iter().all(has_commit), "what is not listed has the commit that attached it (run)");
            attached.iter().for_each(|run| add_run(&mut ranges, run));
            let next = Arc::new(Layout::new(layout.active.clone(), layout.frozen.clone(), ranges));
            std::mem::replace(&mut *layout, next)
        };
        if self.is_dropped() {
            attached.iter().for_each(|run| run.retire());
        }
    }
}

fn is_without(range: &Range, run: &Run) -> bool {
    range.runs.iter().all(|other| other.file != run.file)
}

fn names(ranges: &[Range]) -> Ranges {
    let files = |range: &Range| {
        let mut files: Vec<FileId> = range.runs.iter().map(|run| run.file).collect();
        files.sort_unstable();
        files
    };
    let names: BTreeMap<_, _> = ranges.iter().map(|range| (range.low.to_vec(), files(range))).collect();
    names
}
