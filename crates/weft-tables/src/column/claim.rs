//! Jobs on column tables: chosen and claimed in one step, so that no two have the same part or bucket.
//!
//! ```text
//!   claim lock { layout 17 · shapes · picks · the one with this number · its parts are claimed }
//!   ... the job reads, writes, publishes ...
//!   claim lock { its parts are let go }
//! ```
//!
//! 1. Whoever chooses sees a finished job's layout, or its claims: a job switches the layout before it lets go.
//! 2. In a bucket in which a part is claimed nobody else starts (pick 1). So the baseline that a job found there stays
//!    as it is until the job's own switch, and no border comes into it; tables that are added to the bucket meanwhile
//!    are no business of the job.
//! 3. A part that could not be read counts as claimed until it is tried again: its bucket rests, others go on.

use std::sync::Arc;

use weft_contract::JobKind;

use super::borders::Key;
use super::job_kinds::MOVE;
use super::layout::Layout;
use super::part::Part;
use super::payload::Layer;
use super::pick::{Pick, Shape, Standing, Work, pick};
use super::publish::Change;
use super::store::Store;

/// A job that was chosen; its inputs are claimed.
pub(crate) struct Task {
    pub(crate) kind: JobKind,
    /// What is claimed; of a merge its inputs.
    pub(crate) claimed: Vec<Arc<Part>>,
    pub(crate) what: What,
}

/// What a [`Task`] does.
pub(crate) enum What {
    /// The claimed parts become parts meant for a layer; a file begins at each of the keys.
    Merge(Layer, Vec<Key>),
    /// An edit, and parts that are forgotten by it.
    Change(Change, Vec<Arc<Part>>),
}

/// A task under way.
pub(crate) struct Holding<'a> {
    store: &'a Store,
    task: &'a Task,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let claimed = &self.task.claimed;
        claimed.iter().for_each(|part| part.marks.end_carry());
        let _claiming = self.store.claiming.lock();
        claimed.iter().for_each(|part| part.unclaim());
    }
}

impl Store {
    /// Chooses the job of a kind and number, when it is still there.
    pub(crate) fn claim(&self, kind: JobKind, number: u64) -> Option<Task> {
        let _claiming = self.claiming.lock();
        let layout = self.layout();
        let parts = layout.parts();
        let picks = self.picks(&layout);
        let pick = picks.into_iter().find(|pick| pick.kind == kind && pick_number(&layout, pick) == number)?;
        let part = |at: usize| parts[at].clone();
        let claimed: Vec<Arc<Part>> = pick.inputs.iter().map(|&at| part(at)).collect();
        claimed.iter().for_each(|part| assert!(part.claim(), "the picker offers no claimed part (claim 1)"));
        let what = match pick.work {
            Work::Merge(layer) => What::Merge(layer, cuts(&layout, layer, &pick.inputs)),
            Work::Change { moved, dropped, added, removed } => {
                let moved = moved.into_iter().map(|(at, layer)| (parts[at].file, layer)).collect();
                What::Change(Change { moved, added, removed }, dropped.into_iter().map(part).collect())
            }
        };
        Some(Task { kind, claimed, what })
    }

    /// Lets go of what a task claimed when the guard goes, however the task ends.
    pub(crate) fn holding<'a>(&'a self, task: &'a Task) -> Holding<'a> {
        Holding { store: self, task }
    }

    /// The jobs that could run now; their inputs are places in the layout's parts.
    pub(crate) fn picks(&self, layout: &Layout) -> Vec<Pick> {
        // A look: what is dead there may be dropped by who takes a pick.
        let limit = self.context.horizon.peek().min(self.cut());
        let standing = |part: &Part| match (part.is_listed(), part.is_claimed() || part.is_set_back()) {
            (false, _) => Standing::Unlisted,
            (true, true) => Standing::Claimed,
            (true, false) => Standing::Free,
        };
        let mut shapes: Vec<Shape<'_>> = Vec::with_capacity(layout.parts().len());
        for (part, layer) in layout.columns.placed() {
            shapes.push(Shape {
                layer,
                key_min: part.key_min(),
                key_max: part.key_max(),
                rows: part.row_count().into(),
                dead: part.marks.count_at(limit).into(),
                bytes: part.table.file_bytes(),
                full: part.is_full(),
                standing: standing(part),
                age: part.file.0,
            });
        }
        pick(&shapes, &layout.columns.borders, &self.options)
    }
}

/// The number of a pick among those of its kind: the file of its first input; there is one move at a time.
pub(crate) fn pick_number(layout: &Layout, pick: &Pick) -> u64 {
    match pick.kind {
        MOVE => 0,
        _ => layout.parts()[pick.inputs[0]].file.0,
    }
}

/// Where the outputs for a layer must be cut: at borders, and in the baseline at each table that stays.
fn cuts(layout: &Layout, layer: Layer, inputs: &[usize]) -> Vec<Key> {
    let columns = &layout.columns;
    if layer == Layer::Incremental {
        return Vec::new();
    }
    let mut cuts = columns.borders.keys().to_vec();
    if layer == Layer::Baseline {
        let highest = inputs.iter().map(|&at| columns.parts[at].key_max()).max().unwrap_or_default();
        let from = inputs.first().copied().unwrap_or_default();
        let mut inputs = inputs.iter().copied().peekable();
        for at in from..columns.parts.len() {
            let part = &columns.parts[at];
            if part.key_min() > highest {
                break;
            }
            let is_input = inputs.next_if_eq(&at).is_some();
            if !is_input && columns.layers[at] == Layer::Baseline {
                cuts.push(part.key_min().into());
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
    }
    cuts
}
