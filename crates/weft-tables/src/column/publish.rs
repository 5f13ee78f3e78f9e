//! The last step of every job: one manifest edit, then the carried-over marks and the switch.
//!
//! ```text
//!   edit lock ┬ carry over what came so far
//!             ├ layers of the outputs, against the borders of now; a bucket that has grown is split (formula 4)
//!             ├ edit {cut 40, added [9], removed [3, 7], marks ≤ 40 that no edit has named}    durable: now it counts
//!             ├ mark lock ┬ carry over the rest      cost: marks since the line above (DESIGN invariant 3)
//!             │           └ switch                    outputs appear, inputs vanish (DESIGN invariant 2)
//!             └ inputs go with their last reader      (DESIGN invariant 7)
//! ```
//!
//! 1. Everything up to the edit's cut is installed: it is the F of a row table whose F is published, or the cut before.
//!    So no mark at or below the cut can come after the edit was put together.
//! 2. A file that a bulk statement attached is listed by the first edit whose cut reaches its commit.
//! 3. Borders change under the edit lock only. So what a job wrote for borders of before is looked at here once more: a
//!    table that crosses a border of now is incremental; a transition table that a new border goes through, too.
//! 4. After a failed edit files are removed, unless the manifest stopped: then nobody knows which files it names.
//! 5. Between a durable edit and the switch nothing fails: a panic there stops the engine.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use weft_contract::JobKind;
use weft_format::{Code, FileId, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::manifest::Edit;

use super::borders::{Borders, Key, split_keys};
use super::columns::{Columns, Placed, fault_of};
use super::faults;
use super::layout::{Layout, Rows};
use super::options::Compaction;
use super::part::Part;
use super::payload::{Layer, Payload};
use super::row_table::RowTable;
use super::steps::{JobStep, job_reached};
use super::store::Store;
use super::together::Turnover;

/// What an edit says beside files that appear and vanish.
#[derive(Default)]
pub(crate) struct Change {
    /// Parts that are meant for another layer.
    pub(crate) moved: Vec<(FileId, Layer)>,
    /// Borders more.
    pub(crate) added: Vec<Key>,
    /// Borders fewer.
    pub(crate) removed: Vec<Key>,
}

/// What a job has made of what.
pub(crate) struct Outcome<'a> {
    /// What it is.
    pub(crate) kind: JobKind,
    /// New parts; nobody else knows them yet.
    pub(crate) outputs: &'a [Arc<Part>],
    /// The layer that they are meant for.
    pub(crate) layer: Layer,
    /// Parts that they replace.
    pub(crate) inputs: &'a [Arc<Part>],
    /// The row table that they replace; its F becomes the cut.
    pub(crate) row_table: Option<&'a Arc<RowTable>>,
    /// What happens to other parts and to the borders.
    pub(crate) change: &'a Change,
    /// Marks the outputs with what was marked on the inputs since the last call.
    pub(crate) carry: &'a dyn Fn(),
}

/// Layers and borders after a job, as they are under the edit lock.
struct Placing {
    /// Of the outputs.
    outputs: Vec<Placed>,
    /// Parts whose layer changes.
    moved: HashMap<FileId, Layer>,
    borders: Borders,
    /// Files that vanish.
    removed: HashSet<FileId>,
}

/// The parts after a job, in their layers.
fn placed_after(columns: &Columns, placing: &Placing) -> Vec<Placed> {
    let stays = columns.placed().filter(|(part, _)| !placing.removed.contains(&part.file));
    let mut placed: Vec<Placed> =
        stays.map(|(part, layer)| (part.clone(), placing.moved.get(&part.file).copied().unwrap_or(layer))).collect();
    placed.extend(placing.outputs.iter().cloned());
    placed
}

/// What a job relies on between its choice and its edit; the caller holds the edit lock.
fn check_outcome(layout: &Layout, outcome: &Outcome<'_>) {
    for part in outcome.inputs {
        assert!(layout.part(part.file).is_some(), "an input stays until the switch of its own job (claim 2)");
        assert!(part.is_listed(), "a job has only files that a durable edit names (merge 1)");
        assert!(part.is_claimed(), "a part is in one job at a time (merge 3)");
    }
    for part in outcome.outputs {
        assert!(layout.part(part.file).is_none(), "nobody else knows an output before the switch (DESIGN invariant 2)");
        assert!(!part.is_listed(), "a file is listed when a durable edit names it (DESIGN invariant 7)");
    }
    if let Some(table) = outcome.row_table {
        let oldest = layout.frozen.first();
        assert!(oldest.is_some_and(|oldest| Arc::ptr_eq(oldest, table)), "row tables go oldest first (convert 3)");
    }
}

impl Store {
    /// Publishes a job's outcome. On an error the layout is as before.
    pub(crate) fn publish(&self, outcome: &Outcome<'_>) -> Result<()> {
        let _editing = self.editing.lock();
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|part| part.retire());
            return Ok(());
        }
        let old_cut = self.cut();
        let cut = outcome.row_table.and_then(|table| table.frozen_at()).unwrap_or(old_cut);
        assert!(cut >= old_cut && cut <= self.context.services.published(), "a cut is published (publish 1)");
        if !active(faults::LOSE_MARK_AT_CONVERSION) {
            (outcome.carry)();
        }
        let layout = self.layout();
        check_outcome(&layout, outcome);
        let placing = self.place(&layout.columns, outcome);
        let fault = fault_of(&placed_after(&layout.columns, &placing), &placing.borders);
        assert!(fault.is_none(), "an edit is durable only when the switch to it can be made (publish 5): {fault:?}");
        let (edit, attached) = self.edit(&layout, &placing, old_cut, cut);
        let durable = self.context.services.apply_edit(edit).inspect_err(|error| {
            if error.code() != Code::Poisoned {
                outcome.outputs.iter().for_each(|part| part.retire());
            }
        })?;
        job_reached(outcome.kind, JobStep::EditDurable);
        self.set_cut(cut);
        attached.iter().chain(outcome.outputs).for_each(|part| part.set_listed());
        self.switch_to(outcome, &placing);
        durable.followed();
        job_reached(outcome.kind, JobStep::Switched);
        outcome.inputs.iter().for_each(|part| part.retire());
        let limit = self.droppable(cut);
        self.layout().parts().iter().for_each(|part| part.marks.forget(limit));
        Ok(())
    }

    fn switch_to(&self, outcome: &Outcome<'_>, placing: &Placing) {
        let _marking = self.marking.lock();
        if !active(faults::LOSE_MARK_AT_CONVERSION) {
            (outcome.carry)();
        }
        job_reached(outcome.kind, JobStep::MarksCarried);
        let layout = self.layout();
        let placed = placed_after(&layout.columns, placing);
        let vanished = layout.parts().len() + placing.outputs.len() - placed.len();
        assert_eq!(vanished, outcome.inputs.len(), "inputs vanish once (DESIGN invariant 2)");
        let gone = outcome.row_table.map(|table| table.number);
        let frozen = layout.frozen.iter().filter(|table| Some(table.number) != gone).cloned().collect();
        let columns = Columns::new(placed, placing.borders.clone());
        let went: Vec<FileId> = outcome.inputs.iter().map(|part| part.file).collect();
        let rows = Rows { active: layout.active.clone(), frozen };
        self.switch(rows, Arc::new(columns), Turnover { came: outcome.outputs, went: &went });
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|part| part.retire());
        }
    }

    /// Where everything lies afterwards (publish 3).
    fn place(&self, columns: &Columns, outcome: &Outcome<'_>) -> Placing {
        let removed: HashSet<FileId> = outcome.inputs.iter().map(|part| part.file).collect();
        let mut borders = columns.borders.clone();
        let change = outcome.change;
        if !change.added.is_empty() || !change.removed.is_empty() {
            borders = borders.changed(&change.added, &change.removed);
        }
        let is_fine = self.options.compaction == Compaction::Fine;
        if let Some(output) = outcome.outputs.first().filter(|_| outcome.layer == Layer::Baseline && is_fine) {
            let bucket = borders.bucket_of(output.key_min());
            let kept = columns.placed().filter(|(part, layer)| {
                *layer == Layer::Baseline
                    && !removed.contains(&part.file)
                    && borders.bucket_of(part.key_min()) == bucket
            });
            let parts = kept.map(|(part, _)| part).chain(outcome.outputs);
            let mut files: Vec<(&[u8], u64)> = parts.map(|part| (part.key_min(), part.table.file_bytes())).collect();
            files.sort_unstable();
            let keys = split_keys(&files, self.options.granularity_bytes - self.options.bucket_bytes);
            if !keys.is_empty() {
                borders = borders.changed(&keys, &[]);
            }
        }
        let settle = |part: &Arc<Part>, wanted| {
            if active(faults::STALE_BORDERS) { wanted } else { borders.settle(wanted, part.key_min(), part.key_max()) }
        };
        let wanted: HashMap<FileId, Layer> = change.moved.iter().copied().collect();
        let mut moved = HashMap::new();
        if !wanted.is_empty() || borders != columns.borders {
            for (part, layer) in columns.placed().filter(|(part, _)| !removed.contains(&part.file)) {
                let after = match wanted.get(&part.file) {
                    Some(&wanted) => settle(part, wanted),
                    None if active(faults::SPLIT_THROUGH_TABLES) => layer,
                    None => borders.settle(layer, part.key_min(), part.key_max()),
                };
                if after != layer {
                    moved.insert(part.file, after);
                }
            }
        }
        let outputs = outcome.outputs.iter().map(|part| (part.clone(), settle(part, outcome.layer))).collect();
        Placing { outputs, moved, borders, removed }
    }

    /// The edit, and the attached parts that it lists for the first time.
    fn edit(&self, layout: &Layout, placing: &Placing, old_cut: Timestamp, cut: Timestamp) -> (Edit, Vec<Arc<Part>>) {
        let stays = |part: &Arc<Part>| !placing.removed.contains(&part.file);
        let reached = |part: &Arc<Part>| !part.is_listed() && part.attached_at().is_some_and(|at| at <= cut);
        let attached: Vec<Arc<Part>> = layout.parts().iter().filter(|part| reached(part)).cloned().collect();
        let mut marks: BTreeMap<FileId, Vec<u32>> = BTreeMap::new();
        let mut note = |part: &Arc<Part>, after: Timestamp| {
            let positions = part.marks.between(after, cut);
            if !positions.is_empty() {
                marks.insert(part.file, positions);
            }
        };
        for part in layout.parts().iter().filter(|part| stays(part) && (part.is_listed() || reached(part))) {
            note(part, old_cut);
        }
        placing.outputs.iter().for_each(|(part, _)| note(part, Timestamp(0)));
        if active(faults::FORGET_MARKS) {
            marks.clear();
        }
        let outputs = placing.outputs.iter().map(|(part, layer)| part.entry(*layer));
        let added = outputs.chain(attached.iter().map(|part| part.entry(Layer::Incremental))).collect();
        let mut removed: Vec<FileId> = placing.removed.iter().copied().collect();
        removed.sort_unstable();
        let mut moved: Vec<(FileId, Layer)> = placing.moved.iter().map(|(file, layer)| (*file, *layer)).collect();
        moved.sort_unstable();
        let borders = (placing.borders != layout.columns.borders).then(|| placing.borders.keys().to_vec());
        let mut payload = Payload { added, removed, moved, borders, marks };
        if active(faults::FORGET_LAYERS) {
            payload.moved.clear();
            payload.borders = None;
        }
        let edit = Edit {
            table: self.context.def.id,
            cut,
            added: payload.added.iter().map(|entry| entry.file).collect(),
            removed: payload.removed.clone(),
            payload: payload.encode(),
        };
        (edit, attached)
    }
}
