//! Rows of loads that are gone, on leaves that nothing else changes: found leaf by leaf.
//!
//! ```text
//!   gone {905}   find rows of loads   leaves by 64: a b c ...     c has some: they are dead, c has changed
//!                                     the last leaf               905 is in no node any more
//!   write pages                       ... pages synced · edit     905 is forgotten
//! ```
//!
//! 1. A load that is gone puts nothing into the tree any more. So when all leaves were looked at since it went, in the
//!    order of their keys, no node has a row of it: those that are split or joined meanwhile keep the order.
//! 2. It is forgotten by an edit behind the sync of all pages that had changed by the end of that look: then no page on
//!    disk has a row of it either. What the log says of it later, at an opening, makes it known as gone again, and
//!    costs another look.
//! 3. A look keeps no more changed pages than a load does: it waits until they are written.
//!
//! Concurrency: one look at a time, in steps; a leaf is latched while its rows are buried.

use std::collections::BTreeSet;

use weft_contract::{JobOffer, Price};
use weft_format::{RecordNo, Result};
use weft_kernel::fault::active;
use weft_kernel::step::reached;

use super::faults;
use super::job_kinds::FIND_LOADED;
use super::loads::{Fate, Sweep, load_of};
use super::node::Node;
use super::steps;
use super::store::Store;
use super::tree::Seek;

/// Leaves of a step.
const LEAVES: usize = 64;
/// What a look at one costs, microseconds, about.
const LEAF_US: u64 = 20;

impl Store {
    /// The next step of a look, when there is something to look for.
    pub(super) fn sweep_offer(&self) -> Option<JobOffer> {
        // While it is being looked, or what was found is to be written, there is nothing to do.
        let sweep = self.sweep.try_lock()?;
        let loads = self.unswept().len();
        if loads == 0 || self.frozen().is_some() {
            return None;
        }
        let (leaves, page_bytes) = (LEAVES as u64, self.pool.page_bytes as u64);
        let price =
            Price { cpu_us: leaves * LEAF_US, read_bytes: leaves * page_bytes, dead_rows: leaves, ..Price::default() };
        let reason = format!("{loads} loads were given up, and may have rows on pages");
        Some(JobOffer { table: self.context.def.id, kind: FIND_LOADED, number: sweep.steps, price, reason })
    }

    /// The loads that are gone and may have rows in nodes.
    fn unswept(&self) -> BTreeSet<RecordNo> {
        let loads = self.loads.read();
        if loads.gone().is_empty() {
            return BTreeSet::new();
        }
        loads.gone().difference(&self.swept.lock()).copied().collect()
    }

    /// Makes the step that was offered.
    pub(super) fn sweep_some(&self, offer: &JobOffer) -> Result<()> {
        let Some(mut sweep) = self.sweep.try_lock().filter(|sweep| sweep.steps == offer.number) else { return Ok(()) };
        sweep.steps += 1;
        if sweep.gone.is_empty() {
            (sweep.gone, sweep.next) = (self.unswept(), Vec::new());
        }
        for _ in 0..LEAVES {
            let Some(high) = self.sweep_leaf(&sweep.next)? else {
                self.end_sweep(&mut sweep);
                return Ok(());
            };
            assert!(high > sweep.next, "leaves are looked at in the order of their keys (sweep 1)");
            sweep.next = high;
            if self.pool.lent_bytes() > self.changed_bytes_max {
                // Sweep 3.
                self.freeze_all();
                break;
            }
        }
        if active(faults::SWEEP_ENDS_EARLY) {
            self.end_sweep(&mut sweep);
        }
        Ok(())
    }

    /// Buries rows of loads that are gone in the leaf of a key; where the leaf ends.
    fn sweep_leaf(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let look = |page: &super::pool::Page| (page.node.high.clone(), self.has_gone(&page.node));
        let (high, has_gone) = self.look_at_leaf(Seek::Key(key), true, look)?;
        if !has_gone {
            return Ok(high);
        }
        self.change_leaf(key, |frame, page| {
            if self.settle_loads(&mut page.node) {
                let mut changes = self.changes.lock();
                self.note_changed(&mut changes, frame, &page.node, None);
                if page.node.has_dead() {
                    changes.with_dead.insert(frame.number);
                }
            }
            // It may have been split since it was looked at.
            page.node.high.clone()
        })
    }

    /// All leaves were looked at.
    fn end_sweep(&self, sweep: &mut Sweep) {
        self.swept.lock().append(&mut sweep.gone);
        sweep.next.clear();
        self.freeze_all();
        reached(steps::LOADS_SWEPT);
    }

    fn has_gone(&self, node: &Node) -> bool {
        // Rows of one load lie together.
        let mut last = None;
        (0..node.len()).filter_map(|at| load_of(node.cell(at).since)).any(|load| {
            let is_new = last.replace(load) != Some(load);
            is_new && self.loads.read().fate(load) == Fate::Gone
        })
    }
}
