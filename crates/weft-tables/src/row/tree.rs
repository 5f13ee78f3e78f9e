//! From the root to a leaf.

use std::sync::Arc;

use weft_env::sync::RwLockWriteGuard;
use weft_format::Result;

use super::node::{Node, ROOT};
use super::pool::{Frame, Page};
use super::store::Store;

/// Which leaf is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seek<'a> {
    /// That of a key.
    Key(&'a [u8]),
    /// The one that ends where this key begins, or has keys below it.
    Before(&'a [u8]),
    /// The last one.
    Last,
}

impl Seek<'_> {
    fn child(self, node: &Node) -> u64 {
        let at = match self {
            Seek::Key(key) => node.child_at(key),
            Seek::Before(key) if node.has(key) => node.first_from(key).saturating_sub(1),
            Seek::Before(_) | Seek::Last => node.len() - 1,
        };
        node.cell(at).child()
    }
}

impl Store {
    /// Looks at a leaf; one that a scan asks for is no reason to keep it.
    pub(super) fn look_at_leaf<R>(&self, seek: Seek<'_>, is_scan: bool, act: impl FnOnce(&Page) -> R) -> Result<R> {
        self.look_at_level(0, seek, is_scan, act)
    }

    /// The same of a node on the way to it: the first that is no higher than a level.
    fn look_at_level<R>(&self, level: u8, seek: Seek<'_>, is_scan: bool, act: impl FnOnce(&Page) -> R) -> Result<R> {
        // What was read stays until it is looked at.
        let mut read: Vec<Arc<Frame>> = Vec::new();
        loop {
            let structure = self.structure.read();
            let mut frame = self.pool.frame(ROOT);
            let missing = loop {
                let latched = frame.latch.read();
                let Some(page) = &*latched else {
                    drop(latched);
                    break frame;
                };
                let is_found = page.node.level <= level;
                if !(page.node.is_leaf() && is_scan) {
                    frame.touch();
                }
                if is_found {
                    drop(structure);
                    let seen = act(page);
                    drop(latched);
                    drop(frame);
                    if is_scan {
                        read.into_iter().for_each(|frame| self.pool.scanned(frame));
                    }
                    return Ok(seen);
                }
                let next = self.pool.frame(seek.child(&page.node));
                drop(latched);
                frame = next;
            };
            drop(structure);
            match is_scan {
                true => self.pool.load_to_scan(&missing)?,
                false => self.pool.load(&missing)?,
            }
            read.push(missing);
        }
    }

    /// Keys at which nodes of one level begin, ascending: of the highest level that has so many, or of the leaves; and
    /// whether these are the leaves. Reads at most about that many nodes.
    pub(super) fn starts(&self, wanted: usize) -> Result<(Vec<Vec<u8>>, bool)> {
        let children = |node: &Node, from: &Vec<u8>| -> Vec<Vec<u8>> {
            // The first child begins where its node does.
            let others = (1..node.len()).map(|at| node.key(at)).filter(|key| key > from);
            std::iter::once(from.clone()).chain(others).collect()
        };
        let mut starts = vec![Vec::new()];
        let mut level = self.look_at_root(|page| page.node.level)?;
        while level > 0 && starts.len() < wanted {
            let mut below: Vec<Vec<u8>> = Vec::new();
            for from in &starts {
                let found = self.look_at_level(level, Seek::Key(from), false, |page| children(&page.node, from))?;
                // Nodes may have been split or joined since: none is there twice.
                below.extend(
                    found.into_iter().filter(|key| below.last().is_none_or(|last| last < key)).collect::<Vec<_>>(),
                );
            }
            (starts, level) = (below, level - 1);
        }
        Ok((starts, level == 0))
    }

    /// Looks at the root.
    pub(super) fn look_at_root<R>(&self, act: impl FnOnce(&Page) -> R) -> Result<R> {
        loop {
            let root = self.pool.frame(ROOT);
            if let Some(page) = &*root.latch.read() {
                return Ok(act(page));
            }
            self.pool.load(&root)?;
        }
    }

    /// Changes the leaf of a key.
    pub(super) fn change_leaf<R>(&self, key: &[u8], act: impl FnOnce(&Frame, &mut Page) -> R) -> Result<R> {
        let mut read = Vec::new();
        loop {
            let structure = self.structure.read();
            let mut frame = self.pool.frame(ROOT);
            let missing = loop {
                let next = match &*frame.latch.read() {
                    None => None,
                    Some(page) if page.node.is_leaf() => Some(None),
                    Some(page) => Some(Some(self.pool.frame(Seek::Key(key).child(&page.node)))),
                };
                frame.touch();
                match next {
                    None => break frame,
                    Some(Some(next)) => frame = next,
                    Some(None) => {
                        let mut latched = frame.latch.write();
                        drop(structure);
                        let page = latched.as_mut().expect("a node stays while its frame is held (pool 2)");
                        return Ok(act(&frame, page));
                    }
                }
            };
            drop(structure);
            self.pool.load(&missing)?;
            read.push(missing);
        }
    }

    /// All nodes from the root to the leaf of a key, which keep their keys while this is held (store 1).
    pub(super) fn path(&self, key: &[u8]) -> Result<(RwLockWriteGuard<'_, ()>, Vec<Arc<Frame>>)> {
        let mut read = Vec::new();
        loop {
            let structure = self.structure.write();
            let mut path = vec![self.pool.frame(ROOT)];
            let missing = loop {
                let frame = path.last().expect("the root is on it");
                let next = match &*frame.latch.read() {
                    None => break Arc::clone(frame),
                    Some(page) if page.node.is_leaf() => None,
                    Some(page) => Some(self.pool.frame(Seek::Key(key).child(&page.node))),
                };
                match next {
                    None => return Ok((structure, path)),
                    Some(next) => path.push(next),
                }
            };
            drop(structure);
            self.pool.load(&missing)?;
            read.push(missing);
        }
    }
}
