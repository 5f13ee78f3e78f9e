//! The plan of a tree.
//!
//! ```text
//!   (a ⋈ b) ⋈ c      conditions of a alone above a; a.x = b.x a key of the first join; a.y + b.y < c.y with the second
//! ```
//!
//! 1. Each condition is put where the last relation comes that it reads; what reads none is put on top.

use std::sync::Arc;

use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::logical_plan::{Filter, Join};
use datafusion::logical_expr::utils::{can_hash, conjunction};
use datafusion::logical_expr::{Expr, ExprSchemable, JoinConstraint, JoinType, LogicalPlan};
use weft_joins::{Set, Tree};

use super::graph::Known;
use super::parts::Parts;

/// The joins of all relations.
pub(super) fn tree(parts: Parts) -> Result<LogicalPlan> {
    let reads: Vec<Set> = parts.conditions.iter().map(|condition| parts.reads(condition)).collect();
    let known = Known::of(&parts);
    let best = known.graph.best();
    let building = Building { parts: &parts, reads: &reads, known: &known };
    let joined = building.plan(&best.tree)?;
    filtered(joined, building.conditions(|reads| reads.is_empty()))
}

struct Building<'a> {
    parts: &'a Parts,
    reads: &'a [Set],
    known: &'a Known<'a>,
}

impl<'a> Building<'a> {
    fn conditions(&self, is_wanted: impl Fn(Set) -> bool) -> Vec<Expr> {
        let all = self.parts.conditions.iter().zip(self.reads);
        all.filter(|(_, reads)| is_wanted(**reads)).map(|(condition, _)| condition.clone()).collect()
    }

    fn plan(&self, tree: &Tree) -> Result<LogicalPlan> {
        match tree {
            Tree::Leaf(at) => {
                let own = self.conditions(|reads| reads == Set::of(*at));
                filtered(self.parts.relations[*at].clone(), own)
            }
            Tree::Join(left, right) => self.join(left, right),
        }
    }

    fn join(&self, left: &Tree, right: &Tree) -> Result<LogicalPlan> {
        let (here, there) = (left.set(), right.set());
        let (left, right) = (self.plan(left)?, self.plan(right)?);
        let both = here.with(there);
        let comes = |reads: Set| reads.is_in(both) && !reads.is_in(here) && !reads.is_in(there);
        let (mut on, mut others) = (Vec::new(), Vec::new());
        for condition in self.conditions(comes) {
            match self.key(&condition, (here, &left), (there, &right))? {
                Some(key) => on.push(key),
                None => others.push(condition),
            }
        }
        if on.is_empty() {
            on = self.implied(here, there);
        }
        let (left, right) = (Arc::new(left), Arc::new(right));
        let (nulls, filter) = (NullEquality::NullEqualsNothing, conjunction(others));
        let join = Join::try_new(left, right, on, filter, JoinType::Inner, JoinConstraint::On, nulls, false)?;
        Ok(LogicalPlan::Join(join))
    }

    /// A condition as a key of a join of these sides.
    fn key(
        &self,
        condition: &Expr,
        (here, left): (Set, &LogicalPlan),
        (there, right): (Set, &LogicalPlan),
    ) -> Result<Option<(Expr, Expr)>> {
        let Some(equality) = self.parts.equality(condition).filter(|equality| !equality.takes_nulls) else {
            return Ok(None);
        };
        let (a, b) = (equality.left, equality.right);
        let (mine, theirs) = match (a.1.is_in(here) && b.1.is_in(there), a.1.is_in(there) && b.1.is_in(here)) {
            (true, _) => (a.0, b.0),
            (_, true) => (b.0, a.0),
            _ => return Ok(None),
        };
        let (of_mine, of_theirs) = (mine.get_type(left.schema())?, theirs.get_type(right.schema())?);
        Ok((of_mine == of_theirs && can_hash(&of_mine)).then(|| (mine.clone(), theirs.clone())))
    }

    /// Keys that follow from what is equal to a third column (order 2).
    fn implied(&self, here: Set, there: Set) -> Vec<(Expr, Expr)> {
        let graph = &self.known.graph;
        let mut keys = Vec::new();
        for class in graph.classes() {
            let of = |side: Set| {
                let mut columns = class.iter().filter(|column| graph.is_transitive(**column));
                columns
                    .find(|column| side.has(graph.relation_of(**column)))
                    .map(|column| self.known.columns[column.0].1)
            };
            if let (Some(mine), Some(theirs)) = (of(here), of(there)) {
                keys.push((mine.clone(), theirs.clone()));
            }
        }
        keys
    }
}

fn filtered(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?)),
        None => Ok(plan),
    }
}
