//! Who depends on whom.
//!
//! ```text
//!   T1 -ww-> T2    T2 wrote the version after T1's
//!   T1 -wr-> T2    T2 read the version of T1
//!   T1 -rw-> T2    T1 read a version, T2 wrote the next: T1 was overtaken; "by predicate" when its range lacked it
//! ```
//!
//! Only versions that follow each other directly have edges: the others follow from these. Edges are grouped by where
//! they begin, eight bytes each.

use super::facts::{Facts, NONE, WRITES_MAX};
use super::reads::{Read, Reads, Version};
use super::versions::Versions;

/// A kind of dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependency {
    /// Write, write.
    Ww,
    /// Write, read.
    Wr,
    /// Read, write: an anti-dependency.
    Rw,
    /// The same where the reader's range lacked the key.
    RwPredicate,
}

impl Dependency {
    const ALL: [Dependency; 4] = [Dependency::Ww, Dependency::Wr, Dependency::Rw, Dependency::RwPredicate];

    /// Whether it is an anti-dependency.
    pub(super) fn is_rw(self) -> bool {
        matches!(self, Dependency::Rw | Dependency::RwPredicate)
    }
}

/// A dependency on the transaction it is listed under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// Where it leads.
    pub(super) to: u32,
    /// The kind in the two highest bits, below it the write: of `to`, or for wr the one that was read.
    label: u32,
}

impl Edge {
    /// Its kind.
    pub(super) fn dependency(self) -> Dependency {
        Dependency::ALL[(self.label >> 30) as usize]
    }

    /// The write it comes from: the later one of ww, the one read of wr, the one not seen of rw.
    pub(super) fn write(self) -> u32 {
        self.label & (WRITES_MAX as u32 - 1)
    }
}

/// Writes of unknown order that get edges from one version; with more of them cycles may be missed.
const LOOSE_MAX: usize = 32;

/// The dependencies between committed transactions.
pub(super) struct Graph {
    first: Vec<u32>,
    edges: Vec<Edge>,
}

impl Graph {
    /// The graph of what was read and written.
    pub(super) fn build(facts: &Facts<'_>, versions: &Versions, reads: &Reads) -> Graph {
        let mut list = List { facts, versions, reads, edges: Vec::new() };
        list.add_writes();
        for read in &reads.reads {
            list.add_read(read);
        }
        Graph::group(facts.committed.len(), &list.edges)
    }

    fn group(nodes: usize, list: &[(u32, Edge)]) -> Graph {
        assert!(list.len() < NONE as usize, "a history has less than 2^32 dependencies; check it in parts");
        let mut first = vec![0_u32; nodes + 1];
        for (from, _) in list {
            first[*from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut edges = vec![Edge { to: 0, label: 0 }; list.len()];
        for (from, edge) in list {
            let place = &mut next[*from as usize];
            edges[*place as usize] = *edge;
            *place += 1;
        }
        Graph { first, edges }
    }

    /// How many transactions.
    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// How many dependencies.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// The numbers of the edges that begin at a transaction.
    pub(super) fn from(&self, node: u32) -> std::ops::Range<u32> {
        self.first[node as usize]..self.first[node as usize + 1]
    }

    /// The edge with a number.
    pub(super) fn edge(&self, number: u32) -> Edge {
        self.edges[number as usize]
    }
}

struct List<'a> {
    facts: &'a Facts<'a>,
    versions: &'a Versions,
    reads: &'a Reads,
    edges: Vec<(u32, Edge)>,
}

impl List<'_> {
    fn add(&mut self, dependency: Dependency, from: u32, to: u32, write: u32) {
        let is_node = |transaction: u32| self.facts.committed[transaction as usize];
        if from != to && is_node(from) && is_node(to) {
            self.edges.push((from, Edge { to, label: (dependency as u32) << 30 | write }));
        }
    }

    fn writer(&self, write: u32) -> u32 {
        self.facts.write(write).transaction
    }

    fn add_writes(&mut self) {
        for order in &self.versions.orders {
            for pair in order.chain.windows(2) {
                self.add(Dependency::Ww, self.writer(pair[0]), self.writer(pair[1]), pair[1]);
            }
        }
        for (object, order) in self.versions.orders.iter().enumerate() {
            if let Some(last) = order.chain.last().filter(|_| self.facts.objects[object].is_list()) {
                for loose in order.loose.iter().take(LOOSE_MAX) {
                    self.add(Dependency::Ww, self.writer(*last), self.writer(*loose), *loose);
                }
            }
        }
        for update in &self.reads.updates {
            let order = &self.versions.orders[update.object as usize];
            if let Some(before) = update.version.write(order).filter(|_| !order.loose.is_empty()) {
                self.add(Dependency::Ww, self.writer(before), self.writer(update.write), update.write);
            }
        }
    }

    fn add_read(&mut self, read: &Read) {
        let (reader, order) = (read.transaction, &self.versions.orders[read.object as usize]);
        let rw = if read.by_predicate { Dependency::RwPredicate } else { Dependency::Rw };
        if let Some(write) = read.version.write(order) {
            self.add(Dependency::Wr, self.writer(write), reader, write);
        }
        let next = read.version.count().and_then(|count| order.chain.get(count));
        if let Some(&next) = next {
            self.add(rw, reader, self.writer(next), next);
        }
        if order.loose.is_empty() {
            return;
        }
        let is_list = self.facts.objects[read.object as usize].is_list();
        if (is_list && next.is_none()) || (!is_list && read.version == Version::INITIAL) {
            for loose in order.loose.iter().take(LOOSE_MAX) {
                self.add(rw, reader, self.writer(*loose), *loose);
            }
        } else if !is_list {
            // Whoever read the same version and wrote the register overtook this reader.
            let key = (read.object, read.version);
            let updates = &self.reads.updates;
            let first = updates.partition_point(|update| (update.object, update.version) < key);
            let same = updates[first..].iter().take_while(|update| (update.object, update.version) == key);
            for update in same.take(LOOSE_MAX) {
                self.add(rw, reader, self.writer(update.write), update.write);
            }
        }
    }
}
