//! Changes of the tree: nodes are split and joined, the root gets a level more or less.
//!
//! ```text
//!   split    leaf 3 is too long: keys from "m" on go to page 7, node 1 above gets a child at "m"      one record
//!   grow     the root is too long: pages 8 and 9 get its halves, the root has them as children        one record
//!   merge    leaf 7 is nearly empty: leaf 3 takes its rows, node 1 loses the child, 7 is free         one record
//!   shrink   the root has one child: it takes its place                                                one record
//! ```
//!
//! 1. Each is one record of the log, so a crash finds it whole or not at all; it belongs to no commit and is never
//!    undone.
//! 2. All nodes that it changes are in memory before the first is latched, and nothing can fail between its record and
//!    the changes. Pages that it takes are given back when the log refuses the record.
//! 3. A node that is new in a record has no further pages: those that it had are let go.
//! 4. Jobs take dead rows out of leaves without holding the structure: whether a node is too long is asked once more
//!    when it is latched to be split.
//! 5. Leaves are split before the nodes above them, which may be too long for a moment: a node in memory has no bound.
//! 6. A page that is freed is not written any more, so it lacks what changed since it was written. The log has that
//!    until an edit says who is in its place: a crash may take back that it was freed. Later a part of it may be gone,
//!    and whoever reads the rest finds steps of nodes that no page was ever written of (redo 3).

use std::sync::Arc;

use weft_format::{Code, RecordNo, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::step::reached;

use super::bytes::{TreeStep, tree_record};
use super::faults;
use super::loads::{Fate, load_of};
use super::node::{Node, ROOT};
use super::pool::{Frame, Page};
use super::steps;
use super::store::Store;

/// A node with less than this part of a page is joined with a neighbour,
const SPARSE_PART: usize = 4;
/// if both leave so many of four parts of a page free.
const JOINED_FREE_PARTS: usize = 1;

impl Store {
    /// Splits what is too long on the way to a key.
    pub(super) fn split_around(&self, key: &[u8], comes_at_end: bool) -> Result<()> {
        let mut keys = vec![key.to_vec()];
        while let Some(key) = keys.last() {
            match self.split_one(key, comes_at_end)? {
                Some(upper) => keys.push(upper),
                None => drop(keys.pop()),
            }
        }
        Ok(())
    }

    /// Splits the lowest node that is too long; where its upper half begins.
    fn split_one(&self, key: &[u8], comes_at_end: bool) -> Result<Option<Vec<u8>>> {
        let (_structure, path) = self.path(key)?;
        let is_too_long = |frame: &Arc<Frame>| {
            let latched = frame.latch.read();
            latched.as_ref().is_some_and(|page| page.node.is_too_long(self.node_bytes_max()))
        };
        for at in (0..path.len()).rev().filter(|&at| is_too_long(&path[at])) {
            let split = match at.checked_sub(1) {
                None => self.grow(&path[0])?,
                Some(above) => self.split(&path[above], &path[at], comes_at_end)?,
            };
            if split.is_some() {
                return Ok(split);
            }
        }
        Ok(None)
    }

    /// Whether a node that is latched to be split is as it was seen before: a job may have taken dead rows out of it.
    fn is_still_too_long(&self, node: &Node) -> bool {
        node.is_too_long(self.node_bytes_max()) || active(faults::SPLIT_AS_SEEN)
    }

    /// Appends the record of a change of the tree, and does it with the record's number: both under the lock of what
    /// has changed (store 2). Followers have no log.
    fn as_logged(
        &self,
        steps: &[TreeStep],
        change: impl FnOnce(&mut super::store::Changes, Option<RecordNo>),
    ) -> Result<()> {
        let mut changes = self.changes.lock();
        let record = match self.is_ours {
            true => Some(self.context.services.log_page(self.context.def.id, &tree_record(steps))?),
            false => None,
        };
        change(&mut changes, record);
        Ok(())
    }

    /// Moves the upper half of a node to a new page; where it begins. None: the node is short enough.
    fn split(&self, above: &Arc<Frame>, frame: &Arc<Frame>, comes_at_end: bool) -> Result<Option<Vec<u8>>> {
        let (mut parent, mut lower) = (above.latch.write(), frame.latch.write());
        let parent = parent.as_mut().expect("it is on the path");
        let lower = lower.as_mut().expect("it is on the path");
        if !self.is_still_too_long(&lower.node) {
            return Ok(None);
        }
        let key = lower.node.split_key(comes_at_end);
        let number = self.space.lock().take();
        let upper = lower.node.upper(number, &key);
        let mut steps = vec![TreeStep::New(upper.clone()), TreeStep::Cut(frame.number, key.clone())];
        if !active(faults::SPLIT_WITHOUT_LINK) {
            steps.push(TreeStep::Link(above.number, key.clone(), number));
        }
        let logged = self.as_logged(&steps, |changes, record| {
            lower.node = lower.node.lower(frame.number, &key);
            parent.node.link(&key, number);
            for page in [&mut *lower, &mut *parent] {
                page.record = record.unwrap_or(page.record);
            }
            if upper.has_dead() {
                changes.with_dead.insert(number);
            }
            let new = Page { node: upper, record: record.unwrap_or(lower.record), further: Vec::new() };
            self.note_new(changes, new, record);
            self.note_changed(changes, frame, &lower.node, record);
            self.note_changed(changes, above, &parent.node, record);
        });
        logged.inspect_err(|_| self.give_pages_back(&[number]))?;
        reached(steps::SPLIT_LOGGED);
        Ok(Some(key))
    }

    /// Gives the root a level more: its halves are its children. None: it is short enough.
    fn grow(&self, frame: &Arc<Frame>) -> Result<Option<Vec<u8>>> {
        let mut root = frame.latch.write();
        let root = root.as_mut().expect("it is on the path");
        if !self.is_still_too_long(&root.node) {
            return Ok(None);
        }
        let key = root.node.split_key(false);
        let numbers = [(); 2].map(|()| self.space.lock().take());
        let (lower, upper) = (root.node.lower(numbers[0], &key), root.node.upper(numbers[1], &key));
        let mut node = Node::new(ROOT, root.node.level + 1, Vec::new(), None);
        node.link(&[], numbers[0]);
        node.link(&key, numbers[1]);
        let mut steps: Vec<TreeStep> = [&lower, &upper, &node].map(|node| TreeStep::New(node.clone())).into();
        let freed = root.further.clone();
        steps.extend(freed.iter().map(|&page| TreeStep::Free(page)));
        let logged = self.as_logged(&steps, |changes, record| {
            root.record = record.unwrap_or(root.record);
            for half in [lower, upper] {
                if half.has_dead() {
                    changes.with_dead.insert(half.number);
                }
                self.note_new(changes, Page { node: half, record: root.record, further: Vec::new() }, record);
            }
            root.node = node;
            root.further.clear();
            self.note_changed(changes, frame, &root.node, record);
            self.let_go(changes, &freed);
        });
        logged.inspect_err(|_| self.give_pages_back(&numbers))?;
        reached(steps::SPLIT_LOGGED);
        Ok(Some(key))
    }

    /// Whether a node had better be joined with a neighbour.
    pub(super) fn is_sparse(&self, node: &Node) -> bool {
        node.number != ROOT && node.cell_bytes() < self.node_bytes_max() / SPARSE_PART
    }

    /// Joins the leaf of a key with a neighbour when it is sparse, then the nodes above it, and takes levels that have
    /// one node alone from the root.
    pub(super) fn merge_around(&self, key: &[u8]) -> Result<()> {
        for above_leaves in 0.. {
            let (_structure, path) = self.path(key)?;
            if path.len() == 1 {
                return Ok(());
            }
            if self.shrink(&path)? {
                continue;
            }
            let Some(at) = path.len().checked_sub(1 + above_leaves).filter(|at| *at > 0) else { return Ok(()) };
            let is_joined = self.join(&path[at - 1], &path[at])?;
            if !is_joined {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Joins a sparse node with its right neighbour under the same node, or with its left one; whether it did.
    fn join(&self, above: &Arc<Frame>, frame: &Arc<Frame>) -> Result<bool> {
        let mut parent = above.latch.write();
        let parent = parent.as_mut().expect("it is on the path");
        let numbers: Vec<u64> = parent.node.cells().map(|cell| cell.child()).collect();
        let at = numbers.iter().position(|&number| number == frame.number).expect("it is a child");
        let is_sparse = frame.latch.read().as_ref().is_some_and(|page| self.is_sparse(&page.node));
        // The right one is often full of what goes next, where rows are deleted in the order of their keys.
        for left_at in [Some(at), at.checked_sub(1)].into_iter().flatten().filter(|_| is_sparse) {
            let Some(pair) = numbers.get(left_at..left_at + 2) else { continue };
            if self.join_pair((above, &mut *parent), [pair[0], pair[1]])? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Joins two neighbours when the node that comes of it leaves enough of a page free; whether it did.
    fn join_pair(&self, (above, parent): (&Arc<Frame>, &mut Page), pair: [u64; 2]) -> Result<bool> {
        let frames = pair.map(|number| self.pool.frame(number));
        for frame in &frames {
            // The structure is held: nobody frees it meanwhile. One that cannot be read is whoever's who asks for it:
            // what there is to write does not wait for it.
            match self.pool.load(frame) {
                Err(error) if error.code() == Code::DataCorrupted => return Ok(false),
                loaded => loaded?,
            }
        }
        let (mut left, mut right) = (frames[0].latch.write(), frames[1].latch.write());
        let (Some(left), Some(right_page)) = (left.as_mut(), right.as_mut()) else { return Ok(false) };
        let room = self.node_bytes_max() / 4 * (4 - JOINED_FREE_PARTS);
        // Joined they take no less: what is common to all keys is no longer then.
        if left.node.cell_bytes() + right_page.node.cell_bytes() > room {
            return Ok(false);
        }
        let joined = left.node.joined(&right_page.node);
        if joined.body_bytes() > room {
            return Ok(false);
        }
        let key = right_page.node.low.clone();
        let further = left.further.iter().chain(&right_page.further).copied();
        let freed: Vec<u64> = further.chain([right_page.node.number]).collect();
        let mut steps = vec![TreeStep::New(joined.clone()), TreeStep::Unlink(above.number, key.clone())];
        steps.extend(freed.iter().map(|&page| TreeStep::Free(page)));
        self.as_logged(&steps, |changes, record| {
            if joined.has_dead() {
                changes.with_dead.insert(joined.number);
            }
            left.node = joined;
            left.further.clear();
            left.record = record.unwrap_or(left.record);
            assert!(parent.node.unlink(&key), "it is a child");
            parent.record = record.unwrap_or(parent.record);
            self.note_changed(changes, &frames[0], &left.node, record);
            self.note_changed(changes, above, &parent.node, record);
            self.let_go(changes, &freed);
        })?;
        *right = None;
        reached(steps::MERGE_LOGGED);
        Ok(true)
    }

    /// Nobody uses these pages, which no node lies on.
    pub(super) fn give_pages_back(&self, pages: &[u64]) {
        let mut space = self.space.lock();
        for &page in pages {
            space.free(page);
        }
    }

    /// Nobody uses these pages any more.
    pub(super) fn let_go(&self, changes: &mut super::store::Changes, pages: &[u64]) {
        for &number in pages {
            if let Some(changed) = changes.pages.remove(&number) {
                changes.freed_from = changes.freed_from.into_iter().chain(changed.needs).min();
            }
            changes.with_dead.remove(&number);
            self.pool.forget(number);
            self.space.lock().free(number);
        }
    }

    /// Puts the only child of the root in its place; whether there was such a one.
    fn shrink(&self, path: &[Arc<Frame>]) -> Result<bool> {
        let mut root = path[0].latch.write();
        let root = root.as_mut().expect("it is on the path");
        if root.node.len() != 1 {
            return Ok(false);
        }
        let mut child = path[1].latch.write();
        let page = child.as_mut().expect("it is on the path");
        let node = page.node.clone().renumbered(ROOT);
        let further = root.further.iter().chain(&page.further).copied();
        let freed: Vec<u64> = further.chain([page.node.number]).collect();
        let mut steps = vec![TreeStep::New(node.clone())];
        steps.extend(freed.iter().map(|&page| TreeStep::Free(page)));
        self.as_logged(&steps, |changes, record| {
            if node.is_leaf() && node.has_dead() {
                changes.with_dead.insert(ROOT);
            }
            root.node = node;
            root.further.clear();
            root.record = record.unwrap_or(root.record);
            self.note_changed(changes, &path[0], &root.node, record);
            self.let_go(changes, &freed);
        })?;
        *child = None;
        reached(steps::MERGE_LOGGED);
        Ok(true)
    }

    /// Says of the cells of loads since when they are there, and of those of loads that are gone that they are dead:
    /// snapshots from before look for what their keys were. Whether there were any.
    pub(super) fn settle_loads(&self, node: &mut Node) -> bool {
        let (mut has_changed, mut last) = (false, None);
        for at in (0..node.len()).rev() {
            let cell = node.cell(at);
            let Some(load) = load_of(cell.since) else { continue };
            match self.since_of(&cell, &mut last) {
                Some(ts) => node.settle(at, ts),
                None if self.loads.read().fate(load) == Fate::Gone => {
                    // Not later: commits before the last one may still be on their way to this leaf.
                    let ended = self.undo.ended(&node.key(at));
                    node.bury(at, ended);
                }
                None => continue,
            }
            has_changed = true;
        }
        has_changed
    }

    /// Takes dead rows out of a leaf; whether it is sparse now, by where it begins.
    pub(super) fn purge_leaf(&self, frame: &Arc<Frame>, limit: Timestamp) -> Option<Vec<u8>> {
        let mut latched = frame.latch.write();
        let page = latched.as_mut()?;
        if !page.node.is_leaf() {
            return None;
        }
        let has_changed = self.settle_loads(&mut page.node) | page.node.purge(limit);
        let mut changes = self.changes.lock();
        if has_changed {
            self.note_changed(&mut changes, frame, &page.node, None);
        }
        match page.node.has_dead() {
            true => changes.with_dead.insert(frame.number),
            false => changes.with_dead.remove(&frame.number),
        };
        self.is_sparse(&page.node).then(|| page.node.low.clone())
    }
}
