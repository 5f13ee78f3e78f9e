//! Views of the dependency graph, their strongly connected components, and shortest paths inside of one.
//!
//! ```text
//!   View { rw: none }                ww and wr only: a component of several is G0 or G1c
//!   View { rw: any, split }          each transaction twice: T (all leave) and T' (reached by rw, only ww, wr leave)
//!                                    T1 -rw-> T2' -wr-> T3 -rw-> T1' -ww-> T1: a cycle here never has two rw in a row
//!   View { rw: any }                 everything: no component of several means serializable
//! ```
//!
//! Source: Tarjan, Depth-first search and linear graph algorithms (1972), with a stack of its own instead of recursion.

use std::collections::{HashMap, VecDeque};

use super::facts::{Mixer, NONE};
use super::graph::{Dependency, Edge, Graph};
use super::history::{Level, Transaction};

/// Which anti-dependencies a view has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overtaken {
    /// None.
    Nobody,
    /// Those of readers at this level or above.
    Readers(Level),
    /// Only dependencies, of any kind, between transactions at this level or above.
    Everyone(Level),
}

/// A part of the dependency graph.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    pub(super) transactions: &'a [Transaction],
    /// Whether wr edges count; ww always do.
    pub(super) wr: bool,
    /// Which rw edges count.
    pub(super) rw: Overtaken,
    /// Whether two rw edges may not follow each other. Nodes are then 2 × transaction, + 1 when reached by rw.
    pub(super) split: bool,
}

impl View<'_> {
    /// How many nodes.
    pub(super) fn nodes(&self) -> usize {
        self.graph.nodes() << u32::from(self.split)
    }

    /// The transaction of a node.
    pub(super) fn transaction(&self, node: u32) -> u32 {
        node >> u32::from(self.split)
    }

    /// Where an edge of the node's transaction leads, if the view has it.
    pub(super) fn step(&self, node: u32, edge: Edge) -> Option<u32> {
        let from = self.transaction(node);
        let level = |transaction: u32| self.transactions[transaction as usize].level;
        let is_rw = edge.dependency().is_rw();
        let is_there = match (edge.dependency(), self.rw) {
            (Dependency::Ww, Overtaken::Nobody | Overtaken::Readers(_)) => true,
            (Dependency::Wr, Overtaken::Nobody | Overtaken::Readers(_)) => self.wr,
            (_, Overtaken::Readers(least)) => level(from) >= least,
            (_, Overtaken::Everyone(least)) => level(from) >= least && level(edge.to) >= least,
            (_, Overtaken::Nobody) => false,
        };
        match self.split {
            _ if !is_there => None,
            false => Some(edge.to),
            true if is_rw => (node & 1 == 0).then_some(2 * edge.to + 1),
            true => Some(2 * edge.to),
        }
    }
}

/// The components with more than one node.
pub(super) struct Components {
    /// Per node the number of its component.
    pub(super) of: Vec<u32>,
    /// The nodes of each large one.
    pub(super) large: Vec<Vec<u32>>,
}

/// The state of the search.
struct Search {
    order: Vec<u32>,
    low: Vec<u32>,
    next: u32,
    open: Vec<u32>,
    calls: Vec<(u32, u32)>,
    found: Components,
    components: u32,
}

/// The strongly connected components of a view.
pub(super) fn components(view: &View<'_>) -> Components {
    let nodes = view.nodes();
    let mut search = Search {
        order: vec![NONE; nodes],
        low: vec![0; nodes],
        next: 0,
        open: Vec::new(),
        calls: Vec::new(),
        found: Components { of: vec![NONE; nodes], large: Vec::new() },
        components: 0,
    };
    for node in 0..nodes as u32 {
        if search.order[node as usize] == NONE {
            search.enter(view, node);
            while !search.calls.is_empty() {
                search.step(view);
            }
        }
    }
    search.found
}

impl Search {
    fn enter(&mut self, view: &View<'_>, node: u32) {
        (self.order[node as usize], self.low[node as usize]) = (self.next, self.next);
        self.next += 1;
        self.open.push(node);
        self.calls.push((node, view.graph.from(view.transaction(node)).start));
    }

    /// Takes one edge of the innermost call, or returns from it.
    fn step(&mut self, view: &View<'_>) {
        let (node, cursor) = self.calls.last_mut().expect("the caller looked");
        let node = *node;
        if *cursor < view.graph.from(view.transaction(node)).end {
            let edge = view.graph.edge(*cursor);
            *cursor += 1;
            let Some(to) = view.step(node, edge) else { return };
            if self.order[to as usize] == NONE {
                self.enter(view, to);
            } else if self.found.of[to as usize] == NONE {
                self.low[node as usize] = self.low[node as usize].min(self.order[to as usize]);
            }
            return;
        }
        self.calls.pop();
        let low = self.low[node as usize];
        if let Some((caller, _)) = self.calls.last() {
            self.low[*caller as usize] = self.low[*caller as usize].min(low);
        }
        if low == self.order[node as usize] {
            let first = self.open.iter().rposition(|open| *open == node).expect("a node stays open until its root");
            for member in &self.open[first..] {
                self.found.of[*member as usize] = self.components;
            }
            if self.open.len() - first > 1 {
                self.found.large.push(self.open[first..].to_vec());
            }
            self.open.truncate(first);
            self.components += 1;
        }
    }
}

/// The shortest path from one node to another within their component: numbers of edges, each with where it begins.
/// None when there is none, or `visits` are used up.
pub(super) fn path(
    view: &View<'_>,
    components: &Components,
    [from, to]: [u32; 2],
    with_rw: bool,
    visits: &mut u64,
) -> Option<Vec<(u32, u32)>> {
    let mut reached: HashMap<u32, (u32, u32), Mixer> = HashMap::default();
    let mut queue = VecDeque::from([from]);
    let component = components.of[to as usize];
    while let Some(node) = queue.pop_front() {
        if node == to {
            break;
        }
        *visits = visits.checked_sub(1)?;
        for number in view.graph.from(view.transaction(node)) {
            let edge = view.graph.edge(number);
            let Some(next) = view.step(node, edge) else { continue };
            let is_inside = components.of[next as usize] == component && (with_rw || !edge.dependency().is_rw());
            if is_inside && next != from && !reached.contains_key(&next) {
                reached.insert(next, (node, number));
                queue.push_back(next);
            }
        }
    }
    let mut steps = Vec::new();
    let mut node = to;
    while node != from {
        let (before, number) = *reached.get(&node)?;
        steps.push((view.transaction(before), number));
        node = before;
    }
    steps.reverse();
    Some(steps)
}
