//! Tests of a table: each node, the tree that they are, the pages that nobody uses, and the pages on disk.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Error, Result};

use super::bytes::DiskPage;
use super::node::{Node, ROOT};
use super::pool::{Frame, Page};
use super::store::Store;

/// A node's place in the tree: its number, and what the node above says of it.
struct Place {
    number: u64,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// None: it is the root.
    level: Option<u8>,
}

impl Store {
    /// What is wrong, one line each. Nodes are neither split nor joined meanwhile.
    pub(super) fn check_all(&self) -> Result<Vec<String>> {
        let _structure = self.structure.read();
        let mut wrong = Vec::new();
        let mut used = BTreeSet::new();
        let mut waiting = vec![Place { number: ROOT, low: Vec::new(), high: None, level: None }];
        while let Some(place) = waiting.pop() {
            let frame = self.pool.frame(place.number);
            self.pool.load(&frame)?;
            let latched = frame.latch.read();
            let page = latched.as_ref().expect("it was read");
            wrong.extend(page.node.check());
            wrong.extend(misplaced(&page.node, &place));
            for &number in std::iter::once(&place.number).chain(&page.further) {
                if !used.insert(number) {
                    wrong.push(format!("page {number} is used twice"));
                    return Ok(wrong);
                }
                if self.is_ours && self.space.lock().is_free(number) {
                    wrong.push(format!("page {number} is used, and listed as free"));
                }
            }
            if !page.node.is_leaf() {
                waiting.extend(children(&page.node));
            }
            wrong.extend(self.differs_on_disk(&frame, page)?);
        }
        Ok(wrong)
    }

    /// A page that has not changed lies on disk as it was written. Who follows has nodes of its own; what is being
    /// written is not whole yet.
    fn differs_on_disk(&self, frame: &Arc<Frame>, page: &Page) -> Result<Option<String>> {
        let is_at_rest = !frame.is_changed.load(Ordering::Acquire) && !self.changes.lock().is_writing;
        let Some(file) = self.pool.file().filter(|_| self.is_ours && is_at_rest) else { return Ok(None) };
        let bytes = file.read(frame.number).map_err(|error| Error::io("reading a page of method row", &error))?;
        let is_same = DiskPage::read(&bytes, frame.number).is_some_and(|found| found.record == page.record);
        Ok((!is_same).then(|| format!("page {} is not on disk as it was written", frame.number)))
    }
}

fn misplaced(node: &Node, place: &Place) -> Option<String> {
    let Place { number, low, high, level } = place;
    if node.number != *number || level.is_some_and(|level| level != node.level) {
        return Some(format!("page {number} is another node than the one above it says"));
    }
    let is_placed = node.low == *low && node.high == *high;
    (!is_placed).then(|| format!("page {number} has other bounds than the node above it says"))
}

fn children(node: &Node) -> impl Iterator<Item = Place> + '_ {
    node.cells().enumerate().map(|(at, cell)| Place {
        number: cell.child(),
        low: node.key(at),
        high: if at + 1 < node.len() { Some(node.key(at + 1)) } else { node.high.clone() },
        level: Some(node.level - 1),
    })
}
