//! The cheapest tree of each set, and what joins cost.
//!
//! ```text
//!   cost(A ⋈ B) = cost(A) + cost(B) + rows made + rows of the larger side, looked up + 2 × rows of the smaller, built
//!   10,000 pairs of connected sets at most; beyond, trees over orders (`linear`)
//! ```
//!
//! 1. Of trees that cost the same the first one found stays, and pairs come in an order that the graph alone decides
//!    (crate 2).

use std::collections::HashMap;

use crate::graph::Graph;
use crate::set::Set;

/// So many pairs of connected sets are looked at: some milliseconds.
pub(crate) const PAIRS_MAX: usize = 10_000;
/// A row that is put into a table of a join costs so many that are looked up.
const BUILD_COST: f64 = 2.0;

/// A tree of joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// A relation.
    Leaf(usize),
    /// A join; the left side is the one with fewer rows, about.
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// The relations of it.
    pub fn set(&self) -> Set {
        match self {
            Tree::Leaf(relation) => Set::of(*relation),
            Tree::Join(left, right) => left.set().with(right.set()),
        }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Best {
    /// The tree.
    pub tree: Tree,
    /// Its cost, in rows.
    pub cost: f64,
    /// How many pairs of sets were looked at.
    pub pairs: usize,
    /// Whether all were: no tree costs less.
    pub is_exact: bool,
}

/// The cheapest tree of a set that is known.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rows: f64,
    pub(crate) cost: f64,
    /// What was joined; none: a relation.
    pub(crate) sides: Option<(Set, Set)>,
}

/// Plans by set.
pub(crate) struct Plans<'a> {
    pub(crate) graph: &'a Graph,
    known: HashMap<Set, Plan>,
    pub(crate) pairs: usize,
    /// Sets that were looked at.
    pub(crate) steps: usize,
}

impl<'a> Plans<'a> {
    /// Those of the relations by themselves.
    pub(crate) fn new(graph: &'a Graph) -> Plans<'a> {
        let leaf = |relation: usize| {
            let plan = Plan { rows: graph.relations[relation].rows, cost: 0.0, sides: None };
            (Set::of(relation), plan)
        };
        Plans { graph, known: (0..graph.len()).map(leaf).collect(), pairs: 0, steps: 0 }
    }

    pub(crate) fn has(&self, set: Set) -> bool {
        self.known.contains_key(&set)
    }

    pub(crate) fn get(&self, set: Set) -> Option<Plan> {
        self.known.get(&set).copied()
    }

    /// Takes the join of two sets that have plans for the plan of both, if it is the cheapest so far.
    pub(crate) fn offer(&mut self, a: Set, b: Set) {
        self.pairs += 1;
        let (Some(left), Some(right)) = (self.get(a), self.get(b)) else { return };
        let both = a.with(b);
        let known = self.get(both);
        let rows = known.map_or_else(|| self.graph.rows(both), |known| known.rows);
        let cost = cost_of(left, right, rows);
        if known.is_none_or(|known| cost < known.cost) {
            let is_left_smaller = (left.rows, a) <= (right.rows, b);
            let sides = Some(if is_left_smaller { (a, b) } else { (b, a) });
            self.known.insert(both, Plan { rows, cost, sides });
        }
    }

    /// The tree of a set that has a plan.
    pub(crate) fn tree(&self, set: Set) -> Tree {
        match self.get(set).and_then(|plan| plan.sides) {
            Some((left, right)) => Tree::Join(Box::new(self.tree(left)), Box::new(self.tree(right))),
            None => Tree::Leaf(set.0.trailing_zeros() as usize),
        }
    }
}

/// What a join costs with both its sides.
pub(crate) fn cost_of(left: Plan, right: Plan, rows: f64) -> f64 {
    let (smaller, larger) = if left.rows <= right.rows { (left.rows, right.rows) } else { (right.rows, left.rows) };
    left.cost + right.cost + rows + BUILD_COST * smaller + larger
}

impl Graph {
    /// The cheapest tree over all relations: of all trees where there are not too many, else of many.
    ///
    /// # Panics
    ///
    /// Without relations.
    pub fn best(&self) -> Best {
        self.best_of(PAIRS_MAX)
    }

    /// The same, with a number of pairs after which it is enough.
    pub fn best_of(&self, pairs_max: usize) -> Best {
        assert!(!self.is_empty(), "a tree has a relation");
        let mut plans = Plans::new(self);
        let (mut parts, mut is_exact) = (Vec::new(), true);
        for component in self.components() {
            let before = plans.pairs;
            if !plans.all_pairs(component, before.saturating_add(pairs_max)) {
                is_exact = false;
                plans.along_orders(component);
            }
            // An edge to several relations that nothing else connects: they are multiplied first.
            if plans.has(component) { parts.push(component) } else { parts.extend(self.simple_parts(component)) }
        }
        plans.multiply(parts);
        let all = self.all();
        let cost = plans.get(all).map_or(0.0, |plan| plan.cost);
        Best { tree: plans.tree(all), cost, pairs: plans.pairs, is_exact }
    }
}

impl Plans<'_> {
    /// Joins sets that nothing connects, those first that make the fewest rows.
    fn multiply(&mut self, mut parts: Vec<Set>) {
        while parts.len() > 1 {
            let pairs = (0..parts.len()).flat_map(|a| (a + 1..parts.len()).map(move |b| (a, b)));
            let rows = |(a, b): (usize, usize)| self.graph.rows(parts[a].with(parts[b]));
            let Some((a, b)) = pairs.min_by(|x, y| rows(*x).total_cmp(&rows(*y))) else { return };
            self.offer(parts[a], parts[b]);
            let both = parts[a].with(parts[b]);
            parts.remove(b);
            parts[a] = both;
        }
    }
}
