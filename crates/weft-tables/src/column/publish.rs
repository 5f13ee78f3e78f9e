//! The last step of every job: one manifest edit, then the carried-over marks and the switch.
//!
//! ```text
//!   edit lock ┬ carry over what came so far
//!             ├ edit {cut 40, added [9], removed [3, 7], marks ≤ 40 that no edit has named}    durable: now it counts
//!             ├ mark lock ┬ carry over the rest      cost: marks since the line above (DESIGN invariant 3)
//!             │           └ switch                    outputs appear, inputs vanish (DESIGN invariant 2)
//!             └ inputs go with their last reader      (DESIGN invariant 7)
//! ```
//!
//! 1. Everything up to the edit's cut is installed: it is the F of a row table whose F is published, or the cut before.
//!    So no mark at or below the cut can come after the edit was put together.
//! 2. A file that a bulk statement attached is listed by the first edit whose cut reaches its commit.
//! 3. After a failed edit files are removed only when the failure was clean (full disk): after any other nobody knows
//!    which files the manifest names.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_format::{Code, FileId, Result, Timestamp};
use weft_kernel::fault::{Fault, active};
use weft_kernel::manifest::Edit;

use super::job_steps::{JobStep, JobSteps};
use super::layout::Layout;
use super::part::Part;
use super::payload::Payload;
use super::row_table::RowTable;
use super::store::Store;

/// What a job has made of what.
pub(crate) struct Outcome<'a> {
    /// New parts; nobody else knows them yet.
    pub(crate) outputs: &'a [Arc<Part>],
    /// Parts that they replace.
    pub(crate) inputs: &'a [Arc<Part>],
    /// The row table that they replace; its F becomes the cut.
    pub(crate) row_table: Option<&'a Arc<RowTable>>,
    /// Marks the outputs with what was marked on the inputs since the last call.
    pub(crate) carry: &'a dyn Fn(),
    /// Whose steps these are.
    pub(crate) job: JobSteps,
}

impl Store {
    /// Publishes a job's outcome. On an error the layout is as before.
    pub(crate) fn publish(&self, outcome: &Outcome<'_>) -> Result<()> {
        let _editing = self.editing.lock();
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|part| part.set_obsolete());
            return Ok(());
        }
        let old_cut = self.cut();
        let cut = outcome.row_table.and_then(|table| table.frozen_at()).unwrap_or(old_cut);
        assert!(cut >= old_cut && cut <= self.context.services.published(), "a cut is published (publish 1)");
        (outcome.carry)();
        let (edit, attached) = self.edit(&self.layout(), outcome, old_cut, cut);
        if let Err(error) = self.context.services.apply_edit(edit) {
            if error.code() == Code::DiskFull {
                outcome.outputs.iter().for_each(|part| part.set_obsolete());
            }
            return Err(error);
        }
        outcome.job.reached(JobStep::EditDurable);
        self.set_cut(cut);
        attached.iter().chain(outcome.outputs).for_each(|part| part.set_listed());
        self.switch_to(outcome);
        outcome.job.reached(JobStep::Switched);
        outcome.inputs.iter().for_each(|part| part.set_obsolete());
        let limit = self.droppable(cut);
        self.layout().parts.iter().for_each(|part| part.marks.forget(limit));
        Ok(())
    }

    fn switch_to(&self, outcome: &Outcome<'_>) {
        let _marking = self.marking.lock();
        if !active(Fault::LoseMarkAtConversion) {
            (outcome.carry)();
        }
        outcome.job.reached(JobStep::MarksCarried);
        let layout = self.layout();
        let removed = |part: &Arc<Part>| outcome.inputs.iter().any(|input| input.file == part.file);
        let mut parts: Vec<Arc<Part>> = layout.parts.iter().filter(|part| !removed(part)).cloned().collect();
        assert_eq!(parts.len() + outcome.inputs.len(), layout.parts.len(), "inputs vanish once (DESIGN invariant 2)");
        parts.extend(outcome.outputs.iter().cloned());
        let gone = outcome.row_table.map(|table| table.number);
        let frozen = layout.frozen.iter().filter(|table| Some(table.number) != gone).cloned().collect();
        self.switch(layout.active.clone(), frozen, parts);
        if self.is_dropped() {
            outcome.outputs.iter().for_each(|part| part.set_obsolete());
        }
    }

    /// The edit, and the attached parts that it lists for the first time.
    fn edit(
        &self,
        layout: &Layout,
        outcome: &Outcome<'_>,
        old_cut: Timestamp,
        cut: Timestamp,
    ) -> (Edit, Vec<Arc<Part>>) {
        let removed = |part: &Arc<Part>| outcome.inputs.iter().any(|input| input.file == part.file);
        let reached = |part: &Arc<Part>| !part.is_listed() && part.attached_at().is_some_and(|at| at <= cut);
        let attached: Vec<Arc<Part>> = layout.parts.iter().filter(|part| reached(part)).cloned().collect();
        let mut marks: BTreeMap<FileId, Vec<u32>> = BTreeMap::new();
        let mut note = |part: &Arc<Part>, after: Timestamp| {
            let positions = part.marks.between(after, cut);
            if !positions.is_empty() {
                marks.insert(part.file, positions);
            }
        };
        for part in layout.parts.iter().filter(|part| !removed(part) && (part.is_listed() || reached(part))) {
            note(part, old_cut);
        }
        outcome.outputs.iter().for_each(|part| note(part, Timestamp(0)));
        if active(Fault::ForgetMarks) {
            marks.clear();
        }
        let payload = Payload {
            added: outcome.outputs.iter().chain(&attached).map(|part| part.entry()).collect(),
            removed: outcome.inputs.iter().map(|part| part.file).collect(),
            marks,
        };
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
