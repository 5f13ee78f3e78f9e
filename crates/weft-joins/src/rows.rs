//! About how many rows a set of relations makes.
//!
//! ```text
//!   orders ⋈ lineitem           1,500,000 × 6,000,000 / 1,500,000 values          = 6,000,000
//!   three in one class          rows multiplied, divided by all numbers of values of the class but the smallest
//!   lineitem ⋈ partsupp         by (partkey, suppkey), the key of partsupp: divided by its 800,000 rows, and not
//!                               by 200,000 × 10,000 pairs, of which most do not exist
//! ```
//!
//! 1. The number is a function of the set (crate 1): products over its relations, classes and conditions.
//! 2. At least one row, so that no part is free.
//!
//! Uniform values are taken for granted, and the values of the smaller side among those of the larger.

use crate::graph::{ColumnNo, Graph, Relation, Together};
use crate::set::Set;

/// Common values change an estimate when it is off by so much without them.
const SKEWED_TIMES: f64 = 1.5;

/// How many of its values a column has in the rows that its relation's conditions leave: a value stays as long as one
/// of its rows does.
fn left_of(values: f64, relation: &Relation) -> f64 {
    let share = relation.rows / relation.rows_before;
    let rows_each = relation.rows_before / values;
    (values * (1.0 - (1.0 - share).powf(rows_each))).clamp(1.0, relation.rows)
}

impl Graph {
    /// About how many rows these relations make, joined by all conditions between them.
    pub fn rows(&self, set: Set) -> f64 {
        let mut rows: f64 = set.iter().map(|relation| self.relations[relation].rows).product();
        for class in &self.classes {
            rows /= self.divisor(class, set);
        }
        for condition in self.conditions.iter().filter(|condition| condition.reads.is_in(set)) {
            rows *= condition.share;
        }
        for together in self.together.iter().filter(|together| together.both.is_in(set)) {
            rows *= together.times;
        }
        rows.max(1.0)
    }

    /// By how much the columns of a class divide the product of the rows: all numbers of values but the smallest.
    fn divisor(&self, class: &[ColumnNo], set: Set) -> f64 {
        let (mut product, mut smallest, mut seen) = (1.0, f64::INFINITY, Set::NONE);
        for relation in class.iter().map(|column| self.relation_of(*column)).filter(|relation| set.has(*relation)) {
            if seen.has(relation) {
                continue;
            }
            seen = seen.with(Set::of(relation));
            let values = self.values_in(class, relation);
            product *= values;
            smallest = values.min(smallest);
        }
        if seen.len() < 2 { 1.0 } else { product / smallest }
    }

    /// The values that the columns of a relation in a class have after its own conditions.
    fn values_in(&self, class: &[ColumnNo], relation: usize) -> f64 {
        let mine = class.iter().filter(|column| self.relation_of(**column) == relation);
        let values = mine.map(|column| self.columns[column.0].values).fold(1.0, f64::max);
        left_of(values, &self.relations[relation])
    }

    /// Two relations make more rows than numbers of values tell, because common values meet: by so much that this
    /// share of all pairs of rows is equal.
    pub(crate) fn skew(&mut self, a: ColumnNo, b: ColumnNo, share: f64) {
        let both = Set::of(self.relation_of(a)).with(Set::of(self.relation_of(b)));
        let times = share * self.columns[a.0].values.max(self.columns[b.0].values);
        if both.len() == 2 && times > SKEWED_TIMES && self.together.iter().all(|known| known.both != both) {
            self.together.push(Together { both, times });
        }
    }

    /// Pairs that are joined by a whole key of several columns.
    pub(crate) fn found_together(&self) -> Vec<Together> {
        let mut found: Vec<Together> = Vec::new();
        for (relation, known) in self.relations.iter().enumerate() {
            for key in known.unique.iter().filter(|key| key.len() > 1) {
                let classes: Option<Vec<&Vec<ColumnNo>>> =
                    key.iter().map(|column| self.classes.iter().find(|class| class.contains(column))).collect();
                let Some(classes) = classes else { continue };
                for other in (0..self.len()).filter(|other| *other != relation) {
                    let is_in = |class: &&Vec<ColumnNo>| class.iter().any(|c| self.relation_of(*c) == other);
                    if !classes.iter().all(is_in) {
                        continue;
                    }
                    let pairs: f64 = classes
                        .iter()
                        .map(|class| self.values_in(class, relation).max(self.values_in(class, other)))
                        .product();
                    let both = Set::of(relation).with(Set::of(other));
                    let times = (pairs / known.rows_before).max(1.0);
                    match found.iter_mut().find(|known| known.both == both) {
                        Some(known) => known.times = known.times.max(times),
                        None => found.push(Together { both, times }),
                    }
                }
            }
        }
        found.retain(|together| together.times > 1.0);
        found
    }
}
