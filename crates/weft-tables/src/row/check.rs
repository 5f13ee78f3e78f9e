//! Tests of a table: each node, the tree that they are, the pages that nobody uses, and the pages on disk.
//!
//! ```text
//!   looked at   node 3, goes on on 8      then a job: image of 3 lets 8 go, image of 7 takes it
//!   looked at   node 7, goes on on 8      page 8 twice: 3 and 7 are latched together, and 3 does not have it
//! ```
//!
//! 1. Nodes stay where they are while `structure` is held, but jobs write meanwhile, and give nodes further pages and
//!    take them away. What was seen of two nodes is of two moments: that both have a page is seen with both latched.
//!
//! Concurrency: nodes are looked at above before below, left before right, and latched in this order where two are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weft_format::{Error, Result};
use weft_kernel::fault::active;

use super::bytes::DiskPage;
use super::faults;
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
        self.pool.assert_whole();
        let _structure = self.structure.read();
        let mut wrong = Vec::new();
        // Pages, and the node that was seen last with each.
        let mut used: BTreeMap<u64, u64> = BTreeMap::new();
        let mut waiting = vec![Place { number: ROOT, low: Vec::new(), high: None, level: None }];
        while let Some(place) = waiting.pop() {
            let frame = self.pool.frame(place.number);
            if self.pool.load_telling(&frame)? && self.is_ours {
                wrong.push(format!("page {} was not whole when it was read first, and is now", place.number));
            }
            let latched = frame.latch.read();
            let page = latched.as_ref().expect("it was read");
            wrong.extend(page.node.check());
            wrong.extend(misplaced(&page.node, &place));
            let mut again = Vec::new();
            for &number in std::iter::once(&place.number).chain(&page.further) {
                again.extend(used.insert(number, place.number).map(|before| (number, before)));
                if self.is_ours && self.space.lock().is_free(number) {
                    wrong.push(format!("page {number} is used, and listed as free"));
                }
            }
            if !page.node.is_leaf() {
                // The leftmost comes next.
                waiting.extend(children(&page.node).rev());
            }
            wrong.extend(self.differs_on_disk(&frame, page)?);
            drop(latched);
            for (number, before) in again {
                if self.both_have([before, place.number], number)? {
                    wrong.push(format!("page {number} is used twice"));
                    return Ok(wrong);
                }
            }
        }
        Ok(wrong)
    }

    /// Whether two nodes, in the order in which they are latched, have a page at one moment (check 1).
    fn both_have(&self, nodes: [u64; 2], number: u64) -> Result<bool> {
        if nodes[0] == nodes[1] || active(faults::BELIEVE_FIRST_LOOK) {
            return Ok(true);
        }
        let frames = nodes.map(|node| self.pool.frame(node));
        frames.iter().try_for_each(|frame| self.pool.load(frame))?;
        let (first, second) = (frames[0].latch.read(), frames[1].latch.read());
        let has = |page: &Option<Page>| {
            let page = page.as_ref().expect("a node stays while its frame is held (pool 2)");
            page.node.number == number || page.further.contains(&number)
        };
        Ok(has(&first) && has(&second))
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

fn children(node: &Node) -> impl DoubleEndedIterator<Item = Place> + '_ {
    (0..node.len()).map(|at| Place {
        number: node.cell(at).child(),
        low: node.key(at),
        high: if at + 1 < node.len() { Some(node.key(at + 1)) } else { node.high.clone() },
        level: Some(node.level - 1),
    })
}
