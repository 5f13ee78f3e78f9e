//! Relations, and what is between them.
//!
//! ```text
//!   orders (1,500,000 rows)     o_orderkey  unique          lineitem (6,000,000)     l_orderkey  1,500,000 values
//!                               o_custkey   100,000 values                           l_suppkey   10,000 values
//!   equal(o_orderkey, l_orderkey)           an edge, and both are in one class of equal columns
//!   condition({orders, lineitem}, 0.3)      o_orderdate < l_shipdate: no edge, leaves 0.3 of the rows
//! ```
//!
//! 1. Columns that are equal to a third one are equal to each other: a class has an edge between each two of its
//!    relations, if its columns say that they may be compared so.

use crate::set::{RELATIONS_MAX, Set};

/// A column, or an expression over columns of one relation, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnNo(pub usize);

/// What is known of a relation.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    /// Rows that its own conditions leave.
    pub(crate) rows: f64,
    /// Rows without them.
    pub(crate) rows_before: f64,
    /// Columns that are unique together.
    pub(crate) unique: Vec<Vec<ColumnNo>>,
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) relation: usize,
    /// How many values it has without conditions.
    pub(crate) values: f64,
    /// Whether what is equal to it is equal to whatever else is.
    is_transitive: bool,
}

/// A condition that connects sets: both sides must be whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) left: Set,
    pub(crate) right: Set,
}

/// A condition that is counted where all that it reads is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Condition {
    pub(crate) reads: Set,
    pub(crate) share: f64,
}

/// Two relations that are equal in all columns of a unique key of one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Together {
    pub(crate) both: Set,
    /// How many times more rows there are than the columns one by one tell.
    pub(crate) times: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(crate) relations: Vec<Relation>,
    pub(crate) columns: Vec<Column>,
    /// Columns that are equal where their relations are joined, at least two relations each.
    pub(crate) classes: Vec<Vec<ColumnNo>>,
    /// By relation, those that an edge between two connects it with.
    pub(crate) neighbours: Vec<Set>,
    /// Edges of more than two relations.
    pub(crate) wide: Vec<Edge>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) together: Vec<Together>,
}

/// Makes a graph.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    relations: Vec<Relation>,
    columns: Vec<Column>,
    equal: Vec<(ColumnNo, ColumnNo)>,
    pairs: Vec<(ColumnNo, ColumnNo, f64)>,
    wide: Vec<Edge>,
    conditions: Vec<Condition>,
}

impl Builder {
    /// A relation: rows that its own conditions leave, and rows without them. Its number.
    ///
    /// # Panics
    ///
    /// With more than 64 relations.
    pub fn relation(&mut self, rows: f64, rows_before: f64) -> usize {
        assert!(self.relations.len() < RELATIONS_MAX, "a graph has at most {RELATIONS_MAX} relations");
        let (rows, rows_before) = (rows.max(1.0), rows_before.max(rows).max(1.0));
        self.relations.push(Relation { rows, rows_before, unique: Vec::new() });
        self.relations.len() - 1
    }

    /// A column of a relation, with as many values in all its rows. `is_transitive` says that what is equal to it may
    /// be compared with whatever else is: same type, same sense of equality.
    pub fn column(&mut self, relation: usize, values: f64, is_transitive: bool) -> ColumnNo {
        let values = if values.is_nan() { 1.0 } else { values.clamp(1.0, self.relations[relation].rows_before) };
        self.columns.push(Column { relation, values, is_transitive });
        ColumnNo(self.columns.len() - 1)
    }

    /// Columns of a relation are unique together.
    pub fn unique(&mut self, relation: usize, columns: Vec<ColumnNo>) {
        if let [column] = columns[..] {
            self.columns[column.0].values = self.relations[relation].rows_before;
        }
        self.relations[relation].unique.push(columns);
    }

    /// Two columns of different relations are equal.
    pub fn equal(&mut self, a: ColumnNo, b: ColumnNo) {
        self.equal.push((a, b));
    }

    /// Of two columns that are equal, this share of all pairs of rows is: what common values tell, where columns are
    /// skewed.
    pub fn pairs(&mut self, a: ColumnNo, b: ColumnNo, share: f64) {
        self.pairs.push((a, b, if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }));
    }

    /// An equality of which a side is of several relations; it leaves this share of rows.
    pub fn equal_sets(&mut self, left: Set, right: Set, share: f64) {
        self.wide.push(Edge { left, right });
        self.condition(left.with(right), share);
    }

    /// Any other condition on several relations: it connects nothing, and leaves this share of rows.
    pub fn condition(&mut self, reads: Set, share: f64) {
        self.conditions.push(Condition { reads, share: share.clamp(f64::MIN_POSITIVE, 1.0) });
    }

    /// The graph.
    pub fn build(self) -> Graph {
        let Builder { relations, columns, equal, pairs, wide, conditions } = self;
        let mut neighbours = vec![Set::NONE; relations.len()];
        let mut class_of: Vec<usize> = (0..columns.len()).collect();
        for &(a, b) in &equal {
            connect(&mut neighbours, columns[a.0].relation, columns[b.0].relation);
            let (into, from) = (class_of[a.0], class_of[b.0]);
            class_of.iter_mut().filter(|class| **class == from).for_each(|class| *class = into);
        }
        let mut classes: Vec<Vec<ColumnNo>> = vec![Vec::new(); columns.len()];
        for (column, &class) in class_of.iter().enumerate() {
            classes[class].push(ColumnNo(column));
        }
        classes.retain(|class| class.len() > 1);
        for class in &classes {
            let transitive: Vec<ColumnNo> =
                class.iter().copied().filter(|column| columns[column.0].is_transitive).collect();
            for (at, a) in transitive.iter().enumerate() {
                for b in &transitive[at + 1..] {
                    connect(&mut neighbours, columns[a.0].relation, columns[b.0].relation);
                }
            }
        }
        let mut graph = Graph { relations, columns, classes, neighbours, wide, conditions, together: Vec::new() };
        graph.together = graph.found_together();
        pairs.iter().for_each(|&(a, b, share)| graph.skew(a, b, share));
        graph
    }
}

fn connect(neighbours: &mut [Set], a: usize, b: usize) {
    if a != b {
        neighbours[a] = neighbours[a].with(Set::of(b));
        neighbours[b] = neighbours[b].with(Set::of(a));
    }
}

impl Graph {
    /// A graph to be made.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// How many relations it has.
    pub fn len(&self) -> usize {
        self.relations.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// All relations.
    pub fn all(&self) -> Set {
        (0..self.len()).fold(Set::NONE, |all, relation| all.with(Set::of(relation)))
    }

    /// Columns that are equal where their relations are joined, by class.
    pub fn classes(&self) -> &[Vec<ColumnNo>] {
        &self.classes
    }

    /// The relation of a column.
    pub fn relation_of(&self, column: ColumnNo) -> usize {
        self.columns[column.0].relation
    }

    /// Whether what is equal to a column may be compared with whatever else is.
    pub fn is_transitive(&self, column: ColumnNo) -> bool {
        self.columns[column.0].is_transitive
    }

    /// Whether an equality connects two sets.
    pub(crate) fn is_connected(&self, a: Set, b: Set) -> bool {
        a.iter().any(|relation| self.neighbours[relation].meets(b))
            || self
                .wide
                .iter()
                .any(|edge| (edge.left.is_in(a) && edge.right.is_in(b)) || (edge.left.is_in(b) && edge.right.is_in(a)))
    }

    /// The relations that an edge leads to from a set, none of them left out: of an edge to several, the lowest one
    /// stands for all.
    pub(crate) fn neighbours_of(&self, set: Set, left_out: Set) -> Set {
        let not_these = set.with(left_out);
        let mut found = set.iter().fold(Set::NONE, |all, relation| all.with(self.neighbours[relation]));
        found = found.without(not_these);
        for edge in &self.wide {
            for (from, to) in [(edge.left, edge.right), (edge.right, edge.left)] {
                if from.is_in(set) && !to.meets(not_these) && !to.meets(found) {
                    found = found.with(to.lowest());
                }
            }
        }
        found
    }

    /// Sets of which nothing connects two; within one every relation is connected with others by some equality.
    pub(crate) fn components(&self) -> Vec<Set> {
        self.parts(self.all(), |set| {
            let near = self.near(set);
            let wide = self.wide.iter().map(|edge| edge.left.with(edge.right)).filter(|reads| reads.meets(set));
            wide.fold(near, Set::with)
        })
    }

    /// The sets of a set's relations that equalities between two relations connect: each has a tree without products.
    pub(crate) fn simple_parts(&self, of: Set) -> Vec<Set> {
        self.parts(of, |set| Set(self.near(set).0 & of.0))
    }

    fn parts(&self, of: Set, reached: impl Fn(Set) -> Set) -> Vec<Set> {
        let mut parts: Vec<Set> = Vec::new();
        let mut rest = of;
        while !rest.is_empty() {
            let mut part = rest.lowest();
            loop {
                let more = reached(part).without(part);
                if more.is_empty() {
                    break;
                }
                part = part.with(more);
            }
            rest = rest.without(part);
            parts.push(part);
        }
        parts
    }

    fn near(&self, set: Set) -> Set {
        set.iter().fold(Set::NONE, |all, relation| all.with(self.neighbours[relation]))
    }
}
