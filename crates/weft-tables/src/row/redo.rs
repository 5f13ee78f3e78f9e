//! What the log says of pages, at an opening.
//!
//! ```text
//!   disk   page 3 torn · page 1 whole, record 812
//!   log    #812 split of 3: node 7 is new, 3 is cut, 1 has a child more      7 comes out of the log, 1 has it
//!          #814 image of 3                                                   3 comes out of the log
//!   end    nothing is torn any more: rows come next
//! ```
//!
//! 1. A page has a step when its record is at or above the step's. Each page of a change is done by itself: what makes
//!    the change whole is that the log has it whole.
//! 2. A torn page waits for its image: its write was not durable, so the log has it (maintain 1).
//! 3. So does a page that cannot take a step: it lacks steps that the log has no more. Nobody uses it now, or a node
//!    came onto it later, and the log says so (reshape 6).
//! 4. Who follows another engine has nodes of its own once it has joined, and splits them as it needs; it reads all
//!    pages when it joins, since the file goes on without it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_contract::InPlace;
use weft_format::{Error, RecordNo, Result};
use weft_kernel::fault::active;

use super::bytes::{LoadedRow, PageChange, TreeStep, read_record};
use super::faults;
use super::loads::{Fate, mark_of};
use super::node::{Node, ROOT};
use super::pool::{Frame, Page};
use super::space::Space;
use super::store::Store;
use super::tree::Seek;

impl InPlace for Store {
    fn redo(&self, number: RecordNo, change: &[u8]) -> Result<()> {
        let change = match read_record(change)? {
            PageChange::Rows(load, rows) => {
                self.redo_rows(number, load.unwrap_or(number), rows);
                return Ok(());
            }
            PageChange::Gone(load) => {
                self.redo_gone(number, load);
                return Ok(());
            }
            change => change,
        };
        if self.is_redone.load(Ordering::Acquire) {
            // Redo 4.
            return Ok(());
        }
        match change {
            PageChange::Image { freed, further, node } => {
                further.iter().for_each(|&page| self.redo_space(number, page, Space::used));
                freed.iter().for_each(|&page| self.redo_space(number, page, Space::free));
                self.renew(number, node, further)
            }
            PageChange::Tree(steps) => steps.into_iter().try_for_each(|step| self.redo_step(number, step)),
            PageChange::Rows(..) | PageChange::Gone(_) => unreachable!("they are no changes of nodes"),
        }
    }

    fn redone(&self) -> Result<()> {
        if !self.is_ours {
            // Its own nodes take numbers beyond those.
            let last = self.load_all()?;
            *self.space.lock() = Space::up_to(last + 1);
            self.forget_found()?;
        }
        let torn = self.torn.lock().first().copied();
        if let Some(torn) = torn {
            return Err(Error::corrupt(format!("page {torn} is torn or damaged, and the log does not have it"))
                .hint("restore the database from a backup"));
        }
        self.is_redone.store(true, Ordering::Release);
        Ok(())
    }

    fn opened(&self) {
        if active(faults::FORGET_OPEN_LOADS) {
            return;
        }
        let open: Vec<RecordNo> = self.loads.read().open().collect();
        open.into_iter().for_each(|load| self.let_go_of_load(load));
    }

    fn last_found(&self) -> RecordNo {
        if !self.is_ours {
            // What cannot be read is told by who asks next.
            drop(self.load_all());
        }
        self.pool.last_found()
    }

    fn needs_from(&self) -> Option<RecordNo> {
        let changes = self.changes.lock();
        changes
            .pages
            .values()
            .filter_map(|changed| changed.needs)
            .chain(changes.written_from)
            .chain(changes.space_from)
            .chain(changes.freed_from)
            .chain(changes.rows_from)
            .chain(changes.rows_written_from)
            .chain(changes.loads_from)
            .chain(changes.loads_written_from)
            .min()
    }
}

impl Store {
    /// A load has rows: they are on pages of ours, or in the images of pages in the log, if a commit attaches it.
    fn redo_rows(&self, record: RecordNo, load: RecordNo, rows: Vec<LoadedRow>) {
        self.loads.write().begin(load);
        if !self.is_ours {
            if self.loads.read().fate(load) == Fate::Open {
                self.pending.lock().entry(load).or_default().extend(rows);
            }
            return;
        }
        self.changes.lock().loads_from.get_or_insert(record);
    }

    /// Who joins lets rows of loads go that pages have with their mark. Elsewhere nobody knows whether the page is from
    /// before the load, which finds its keys free.
    fn forget_found(&self) -> Result<()> {
        let mut pending = std::mem::take(&mut *self.pending.lock());
        for (load, rows) in &mut pending {
            let mark = mark_of(*load);
            let mut kept = Vec::new();
            for (key, row) in rows.drain(..) {
                let is_found = self.look_at_leaf(Seek::Key(&key), false, |page| {
                    page.node.find(&key).is_ok_and(|at| page.node.cell(at).since == mark)
                })?;
                if !is_found {
                    kept.push((key, row));
                }
            }
            *rows = kept;
        }
        pending.retain(|_, rows| !rows.is_empty());
        *self.pending.lock() = pending;
        Ok(())
    }

    fn redo_gone(&self, record: RecordNo, load: RecordNo) {
        self.loads.write().let_go(load);
        self.pending.lock().remove(&load);
        if self.is_ours {
            self.changes.lock().loads_from.get_or_insert(record);
        }
    }

    /// The frame of a page as it was found; false: it is torn.
    fn found(&self, number: u64) -> Result<(Arc<Frame>, bool)> {
        let frame = self.pool.frame(number);
        let is_whole = self.pool.load_whole(&frame)?;
        Ok((frame, is_whole))
    }

    /// Does to the free pages what a record says. Until the manifest has that the log must: the pages themselves may
    /// have been written.
    fn redo_space(&self, record: RecordNo, page: u64, change: impl FnOnce(&mut Space, u64) -> bool) {
        if change(&mut self.space.lock(), page) {
            self.changes.lock().space_from.get_or_insert(record);
        }
    }

    /// A node is as the log says, unless its page has that, or more.
    fn renew(&self, record: RecordNo, node: Node, further: Vec<u64>) -> Result<()> {
        let number = node.number;
        self.redo_space(record, number, Space::used);
        let (frame, is_whole) = self.found(number)?;
        let mut latched = frame.latch.write();
        // Also when it is read whole by now: who writes it may have been about it when it was found torn.
        self.torn.lock().remove(&number);
        if is_whole && latched.as_ref().is_some_and(|page| page.record >= record) {
            return Ok(());
        }
        let before = latched.take().map_or(Vec::new(), |page| page.further);
        let further = if active(faults::KEEP_FURTHER_PAGES) && further.is_empty() { before } else { further };
        drop(latched);
        self.pool.forget(number);
        let mut changes = self.changes.lock();
        if node.is_leaf() && node.has_dead() {
            changes.with_dead.insert(number);
        }
        self.note_new(&mut changes, Page { node, record, further }, Some(record));
        Ok(())
    }

    fn redo_step(&self, record: RecordNo, step: TreeStep) -> Result<()> {
        match step {
            TreeStep::New(node) => self.renew(record, node, Vec::new()),
            TreeStep::Cut(number, key) => self.change_node(record, number, |node| node.cut(&key)),
            TreeStep::Link(number, key, child) => self.change_node(record, number, |node| {
                let may = node.may_link(&key);
                if may {
                    node.link(&key, child);
                }
                may
            }),
            TreeStep::Unlink(number, key) => self.change_node(record, number, |node| node.unlink(&key)),
            TreeStep::Free(number) => {
                self.torn.lock().remove(&number);
                self.redo_space(record, number, Space::free);
                let mut changes = self.changes.lock();
                self.let_go(&mut changes, &[number]);
                Ok(())
            }
        }
    }

    /// Changes a node unless it has the change; a page on which no node can be changed so waits (redo 2, 3).
    fn change_node(&self, record: RecordNo, number: u64, change: impl FnOnce(&mut Node) -> bool) -> Result<()> {
        let (frame, _) = self.found(number)?;
        let mut latched = frame.latch.write();
        let page = latched.as_mut();
        if page.as_ref().is_some_and(|page| page.record >= record) {
            return Ok(());
        }
        let Some(page) = page.and_then(|page| change(&mut page.node).then_some(page)) else {
            self.torn.lock().insert(number);
            return Ok(());
        };
        page.record = record;
        self.note_changed(&mut self.changes.lock(), &frame, &page.node, Some(record));
        Ok(())
    }

    /// Reads all nodes, and tests that they are a tree; the highest number of one. They have no further pages here.
    fn load_all(&self) -> Result<u64> {
        let not_whole = |number: u64| Error::corrupt(format!("page {number} is not what the node above it says"));
        let mut last = ROOT;
        let mut waiting = vec![(ROOT, None)];
        while let Some((number, expected)) = waiting.pop() {
            let frame = self.pool.frame(number);
            self.pool.load(&frame)?;
            let mut latched = frame.latch.write();
            let page = latched.as_mut().expect("it was read");
            page.further.clear();
            last = last.max(number);
            let node = &page.node;
            let bounds = (node.low.clone(), node.high.clone(), node.level);
            if expected.is_some_and(|expected| expected != bounds) {
                return Err(not_whole(number));
            }
            if !node.is_leaf() {
                let high = |at: usize| if at + 1 < node.len() { Some(node.key(at + 1)) } else { node.high.clone() };
                let child = |at: usize| (node.cell(at).child(), Some((node.key(at), high(at), node.level - 1)));
                waiting.extend((0..node.len()).map(child));
            }
        }
        Ok(last)
    }
}
