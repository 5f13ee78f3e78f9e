//! The names of a simulated disk: which are there, and which would be there after a crash.
//!
//! ```text
//!   current    db/  db/CURRENT → file 7                 rename db/tmp db/CURRENT, not synced
//!   durable    db/  db/CURRENT → file 3  db/tmp → file 7
//!   after a crash: db/CURRENT is file 3 or file 7, never missing
//! ```
//!
//! 1. `current` is `durable` with all of `changes` applied in order.
//! 2. A change is atomic: a rename is kept with both its names or lost with both.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::random::Prng;
use super::survival::Fate;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(u64),
}

#[derive(Debug)]
enum NameChange {
    Set { path: PathBuf, node: Node },
    Remove { path: PathBuf, node: Node },
    Rename { from: PathBuf, to: PathBuf, node: Node },
}

type Tree = BTreeMap<PathBuf, Node>;

/// All names of the disk.
#[derive(Debug, Default)]
pub(crate) struct Names {
    current: Tree,
    durable: Tree,
    /// Unsynced changes with their sequence numbers, oldest first.
    changes: Vec<(u64, NameChange)>,
    next_sequence: u64,
}

/// The path without `.` and repeated separators, so that one file has one name.
pub(crate) fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The directory a name is in; the empty path for a name without one.
fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none() || path.as_os_str().is_empty()
}

impl Names {
    /// What `path` stands for.
    pub(crate) fn get(&self, path: &Path) -> Option<Node> {
        if is_root(path) { Some(Node::Directory) } else { self.current.get(path).copied() }
    }

    /// The file that `path` names.
    pub(crate) fn file(&self, path: &Path) -> io::Result<u64> {
        match self.get(path) {
            Some(Node::File(inode)) => Ok(inode),
            Some(Node::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Adds a file.
    pub(crate) fn create(&mut self, path: &Path, inode: u64) -> io::Result<()> {
        self.check_parent(path)?;
        if self.get(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.change(NameChange::Set { path: path.to_owned(), node: Node::File(inode) });
        Ok(())
    }

    /// Adds a directory and its parents.
    pub(crate) fn create_dir_all(&mut self, dir: &Path) -> io::Result<()> {
        let mut ancestors: Vec<&Path> = dir.ancestors().collect();
        ancestors.reverse();
        for path in ancestors {
            match self.get(path) {
                Some(Node::Directory) => {}
                Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => self.change(NameChange::Set { path: path.to_owned(), node: Node::Directory }),
            }
        }
        Ok(())
    }

    /// Removes a file's name and returns the file.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<u64> {
        let inode = self.file(path)?;
        self.change(NameChange::Remove { path: path.to_owned(), node: Node::File(inode) });
        Ok(inode)
    }

    /// Renames a file and returns it with the file that had the name before.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<(u64, Option<u64>)> {
        let inode = self.file(from)?;
        self.check_parent(to)?;
        let replaced = match self.get(to) {
            Some(Node::Directory) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(Node::File(replaced)) => Some(replaced),
            None => None,
        };
        if replaced == Some(inode) {
            return Ok((inode, None));
        }
        self.change(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), node: Node::File(inode) });
        Ok((inode, replaced))
    }

    /// The names in a directory, sorted.
    pub(crate) fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.check_directory(dir)?;
        let below = self.current.range(dir.to_owned()..).skip_while(|(path, _)| path.as_path() == dir);
        let inside = below.take_while(|(path, _)| path.starts_with(dir)).filter(|(path, _)| parent(path) == dir);
        let mut names: Vec<String> =
            inside.filter_map(|(path, _)| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The sequence number that the next change will get.
    pub(crate) fn sequence(&self) -> u64 {
        self.next_sequence
    }

    pub(crate) fn check_directory(&self, dir: &Path) -> io::Result<()> {
        match self.get(dir) {
            Some(Node::Directory) => Ok(()),
            Some(Node::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Makes the changes in `dir` that are older than `sequence` durable.
    pub(crate) fn sync(&mut self, dir: &Path, sequence: u64) {
        let durable = &mut self.durable;
        let mut moved: Vec<(PathBuf, Node)> = Vec::new();
        self.changes.retain(|(number, change)| {
            let synced = *number < sequence && change.directory() == dir;
            if synced {
                change.apply(durable);
                if let NameChange::Rename { from, node, .. } = change {
                    moved.push((from.clone(), *node));
                }
            }
            !synced
        });
        // A durable rename took the old name away too: that name's creation, in another directory, cannot come later.
        self.changes.retain(|(number, change)| match change {
            NameChange::Set { path, node } => *number >= sequence || !moved.contains(&(path.clone(), *node)),
            NameChange::Remove { .. } | NameChange::Rename { .. } => true,
        });
    }

    /// The names after a crash: of the unsynced changes the seed keeps some.
    pub(crate) fn crash(&mut self, fate: Fate, prng: &mut Prng) {
        for (_, change) in std::mem::take(&mut self.changes) {
            if prng.chance(fate.keep_permille) {
                change.apply(&mut self.durable);
            }
        }
        let directories: BTreeSet<PathBuf> =
            self.durable.iter().filter(|(_, node)| **node == Node::Directory).map(|(path, _)| path.clone()).collect();
        self.durable.retain(|path, _| path.ancestors().skip(1).all(|dir| is_root(dir) || directories.contains(dir)));
        self.current = self.durable.clone();
    }

    /// Every file's name.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, u64)> {
        self.current.iter().filter_map(|(path, node)| Some((path.as_path(), node.inode()?)))
    }

    /// The files that have a name now.
    pub(crate) fn named(&self) -> BTreeSet<u64> {
        self.current.values().filter_map(Node::inode).collect()
    }

    /// The files that have a name now or may have one after a crash.
    pub(crate) fn reachable(&self) -> BTreeSet<u64> {
        let changed = self.changes.iter().filter_map(|(_, change)| change.node().inode());
        self.current.values().chain(self.durable.values()).filter_map(Node::inode).chain(changed).collect()
    }

    fn check_parent(&self, path: &Path) -> io::Result<()> {
        self.check_directory(parent(path))
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.current);
        self.changes.push((self.next_sequence, change));
        self.next_sequence += 1;
    }
}

impl Node {
    fn inode(&self) -> Option<u64> {
        if let Node::File(inode) = self { Some(*inode) } else { None }
    }
}

impl NameChange {
    /// The directory whose sync makes the change durable; of a rename that of the new name.
    fn directory(&self) -> &Path {
        match self {
            NameChange::Set { path, .. } | NameChange::Remove { path, .. } => parent(path),
            NameChange::Rename { to, .. } => parent(to),
        }
    }

    fn node(&self) -> Node {
        match self {
            NameChange::Set { node, .. } | NameChange::Remove { node, .. } | NameChange::Rename { node, .. } => *node,
        }
    }

    /// Applies the change as far as it still makes sense when changes before it were lost.
    fn apply(&self, tree: &mut Tree) {
        match self {
            NameChange::Set { path, node } => {
                tree.insert(path.clone(), *node);
            }
            NameChange::Remove { path, node } => remove_if(tree, path, *node),
            NameChange::Rename { from, to, node } => {
                remove_if(tree, from, *node);
                tree.insert(to.clone(), *node);
            }
        }
    }
}

fn remove_if(tree: &mut Tree, path: &Path, node: Node) {
    if tree.get(path) == Some(&node) {
        tree.remove(path);
    }
}
