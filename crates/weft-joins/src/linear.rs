//! Trees whose sets are neighbours in an order: where there are too many pairs for all trees.
//!
//! ```text
//!   an order: each time the connected relation that makes the fewest rows      c a d b e
//!   trees over it: all that join stretches of it      (c a)(d b) e   ·   c ((a d)(b e))   ·   ...      n³ / 6 pairs
//! ```
//!
//! 1. An order begins with each relation of the component that has few rows; what is cheapest over any of them stays.
//! 2. Only stretches that an edge connects are joined, and the whole order read from its beginning always is: each
//!    relation of it is connected with those before.

use crate::plans::Plans;
use crate::set::Set;

/// So many relations are the first of an order, those with the fewest rows.
const BEGINNINGS_MAX: usize = 8;

impl Plans<'_> {
    /// Offers trees along good orders of a connected set.
    pub(crate) fn along_orders(&mut self, component: Set) {
        let mut beginnings: Vec<usize> = component.iter().collect();
        beginnings.sort_by(|a, b| {
            let rows = |relation: &usize| self.graph.relations[*relation].rows;
            rows(a).total_cmp(&rows(b)).then(a.cmp(b))
        });
        for first in beginnings.into_iter().take(BEGINNINGS_MAX) {
            let order = self.order_from(first, component);
            self.stretches(&order);
        }
    }

    /// The order that begins with a relation.
    fn order_from(&self, first: usize, component: Set) -> Vec<usize> {
        let (mut order, mut joined) = (vec![first], Set::of(first));
        while joined != component {
            let rest = component.without(joined);
            let made = |relation: usize| {
                let is_apart = !self.graph.is_connected(joined, Set::of(relation));
                (is_apart, self.graph.rows(joined.with(Set::of(relation))), relation)
            };
            let next = rest.iter().map(made).min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
            let Some((_, _, next)) = next else { break };
            order.push(next);
            joined = joined.with(Set::of(next));
        }
        order
    }

    /// Offers all joins of stretches of an order that lie side by side.
    fn stretches(&mut self, order: &[usize]) {
        let set = |stretch: &[usize]| stretch.iter().fold(Set::NONE, |all, relation| all.with(Set::of(*relation)));
        for length in 2..=order.len() {
            for stretch in order.windows(length) {
                for (left, right) in (1..length).map(|at| stretch.split_at(at)) {
                    let (left, right) = (set(left), set(right));
                    if self.has(left) && self.has(right) && self.graph.is_connected(left, right) {
                        self.offer(left, right);
                    }
                }
            }
        }
        // An edge to several relations may leave one unconnected (linear 2): it is multiplied.
        let mut joined = set(&order[..1]);
        for relation in &order[1..] {
            let both = joined.with(Set::of(*relation));
            if !self.has(both) {
                self.offer(joined, Set::of(*relation));
            }
            joined = both;
        }
    }
}
