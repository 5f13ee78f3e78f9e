//! The order in which inner joins run: by row counts and keys, and never a cross product where a condition connects.
//!
//! ```text
//!   FROM nation, lineitem, supplier, orders WHERE ... n_name = 'CHINA'
//!     as written     nation × supplier (25 of 25 rows with 10,000), × lineitem, × orders
//!     here           nation (1 row by n_name) ⋈ supplier (400) ⋈ lineitem (by s_suppkey) ⋈ orders (by o_orderkey)
//! ```
//!
//! 1. What is joined is taken apart into relations and conditions, put into an order, one after the other, and joined
//!    crosswise below all conditions; the engine's rule then makes joins of the conditions, in this order.
//! 2. The order is greedy: each relation with few rows may begin; the next is the connected one that makes the fewest
//!    rows. Of all beginnings the one counts whose joins make the fewest rows together.
//! 3. A plan stays as it is written unless another order makes clearly fewer rows: estimates without statistics of
//!    values are rough.
//! 4. Nothing is put into another order where a condition is volatile: it would be evaluated for other rows.
//!
//! 5. Conditions above semi and anti joins are put below them before, where they read the left side alone.
//!
//! Row counts are those of the tables; what conditions leave is guessed by their kind, and a key that is unique has as
//! many values as its table has rows. Statistics of values come with the optimizer.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::logical_plan::{Filter, Join, Projection};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr};

use super::relation_size::{Size, column_name, kept_share, size_of};

/// Fewer relations than this are joined as they are written: the engine chooses the sides of one join by itself.
const RELATIONS_MIN: usize = 3;
/// More relations than this as well: the search takes the third power of their number.
const RELATIONS_MAX: usize = 32;
/// So many relations are tried as the first one, those with the fewest rows.
const BEGINNINGS_MAX: usize = 12;
/// Another order is taken when it makes at most this share of the rows (order 3).
const CLEARLY_FEWER: f64 = 0.7;
/// What a condition between relations leaves that is no equality.
const OTHER_SHARE: f64 = 0.3;

/// The plan with all its inner joins in order, those of subqueries as well.
pub(super) fn ordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = sunk(plan)?;
    let below = match &plan {
        LogicalPlan::Filter(filter) => &*filter.input,
        plan => plan,
    };
    if is_inner_join(below) {
        return join_tree(plan);
    }
    plan.map_subqueries(ordered)?.transform_sibling(|plan| plan.map_children(ordered))
}

/// Conditions above a semi or anti join that read its left side alone, below it: what is joined there is not in order
/// without them, and the engine would put them there only after it has joined.
fn sunk(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(plan) };
    let join = match Arc::unwrap_or_clone(input) {
        LogicalPlan::Join(join)
            if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark) =>
        {
            join
        }
        other => return Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(other))?)),
    };
    let is_of_left = |condition: &Expr| {
        let columns = condition.column_refs();
        !condition.is_volatile()
            && !columns.is_empty()
            && columns.iter().all(|column| join.left.schema().has_column(column))
    };
    let (moved, kept): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(predicate).into_iter().partition(is_of_left);
    let left = match conjunction(moved) {
        Some(condition) => Arc::new(LogicalPlan::Filter(Filter::try_new(condition, Arc::clone(&join.left))?)),
        None => Arc::clone(&join.left),
    };
    let joined = LogicalPlan::Join(Join { left, ..join });
    match conjunction(kept) {
        Some(condition) => Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(joined))?)),
        None => Ok(joined),
    }
}

fn is_inner_join(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}

/// A join tree taken apart.
#[derive(Default)]
struct Parts {
    relations: Vec<LogicalPlan>,
    conditions: Vec<Expr>,
    /// A join whose keys take NULLs for equal.
    takes_nulls: bool,
}

impl Parts {
    fn of(plan: LogicalPlan) -> Parts {
        let mut parts = Parts::default();
        let joins = match plan {
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                parts.conditions = split_conjunction_owned(predicate);
                Arc::unwrap_or_clone(input)
            }
            plan => plan,
        };
        parts.take(joins);
        parts
    }

    fn take(&mut self, plan: LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
                let Join { left, right, on, filter, null_equality, .. } = join;
                self.takes_nulls |= null_equality == NullEquality::NullEqualsNull && !on.is_empty();
                self.conditions.extend(on.into_iter().map(|(left, right)| binary_expr(left, Operator::Eq, right)));
                self.conditions.extend(filter.into_iter().flat_map(split_conjunction_owned));
                self.take(Arc::unwrap_or_clone(left));
                self.take(Arc::unwrap_or_clone(right));
            }
            relation => self.relations.push(relation),
        }
    }
}

/// Puts the joins of one tree into order; below its relations go on.
fn join_tree(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(plan.schema());
    let written = plan.clone();
    let mut parts = Parts::of(plan);
    let order = match parts.relations.len() {
        RELATIONS_MIN..=RELATIONS_MAX if !parts.takes_nulls && !parts.conditions.iter().any(Expr::is_volatile) => {
            better_order(&parts)
        }
        _ => None,
    };
    let Some(order) = order else { return relations_of(written) };
    let mut relations: Vec<Option<LogicalPlan>> = Vec::with_capacity(parts.relations.len());
    for relation in parts.relations.drain(..) {
        relations.push(Some(ordered(relation)?.data));
    }
    let mut in_order = order.into_iter().filter_map(|at| relations[at].take());
    let Some(first) = in_order.next() else { return Ok(Transformed::no(written)) };
    let joined = in_order.try_fold(LogicalPlanBuilder::from(first), LogicalPlanBuilder::cross_join)?.build()?;
    let joined = match conjunction(parts.conditions) {
        Some(condition) => LogicalPlan::Filter(Filter::try_new(condition, Arc::new(joined))?),
        None => joined,
    };
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::new_from_schema(Arc::new(joined), schema))))
}

/// The same joins, with what is below their relations in order.
fn relations_of(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let is_part = |plan: &LogicalPlan| is_inner_join(plan);
    plan.map_subqueries(ordered)?.transform_sibling(|plan| {
        plan.map_children(|child| if is_part(&child) { relations_of(child) } else { ordered(child) })
    })
}

/// A condition between relations.
struct Edge {
    /// The relations that it reads.
    reads: u64,
    /// The columns of the sides of an equality, and which relations they are of.
    sides: Option<[(u64, Option<String>); 2]>,
}

/// Relations, and what is between them.
struct Graph {
    sizes: Vec<Size>,
    /// Rows after the conditions on one relation alone.
    rows: Vec<f64>,
    edges: Vec<Edge>,
}

/// An order that makes clearly fewer rows than that which is written.
fn better_order(parts: &Parts) -> Option<Vec<usize>> {
    let graph = Graph::of(parts);
    let written = graph.as_written();
    let count = parts.relations.len();
    let mut beginnings: Vec<usize> = (0..count).collect();
    beginnings.sort_by(|a, b| graph.rows[*a].total_cmp(&graph.rows[*b]));
    let orders = beginnings.into_iter().take(BEGINNINGS_MAX).map(|first| graph.greedy(first));
    let (rows, best) = orders.map(|order| (graph.rows_of(&order), order)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    (best != written && rows.is_finite() && rows <= CLEARLY_FEWER * graph.rows_of(&written)).then_some(best)
}

impl Graph {
    fn of(parts: &Parts) -> Graph {
        let sizes: Vec<Size> = parts.relations.iter().map(size_of).collect();
        let mut rows: Vec<f64> = sizes.iter().map(|size| size.rows).collect();
        let mut edges = Vec::new();
        for condition in parts.conditions.iter().flat_map(split_conjunction) {
            let reads = parts.reads(condition);
            match reads.count_ones() {
                0 => {}
                1 => {
                    let at = reads.trailing_zeros() as usize;
                    rows[at] = (rows[at] * kept_share(condition, &sizes[at])).max(1.0);
                }
                _ => edges.push(Edge { reads, sides: parts.sides(condition) }),
            }
        }
        Graph { sizes, rows, edges }
    }

    /// The order that the engine's rule takes: the next relation of the list that an equality connects.
    fn as_written(&self) -> Vec<usize> {
        let mut order = vec![0];
        let mut rest: Vec<usize> = (1..self.rows.len()).collect();
        while !rest.is_empty() {
            let joined = mask(&order);
            let at = rest.iter().position(|next| self.is_connected(joined, *next)).unwrap_or(0);
            order.push(rest.remove(at));
        }
        order
    }

    /// The order that begins with a relation.
    fn greedy(&self, first: usize) -> Vec<usize> {
        let mut order = vec![first];
        let mut rows = self.rows[first];
        while order.len() < self.rows.len() {
            let joined = mask(&order);
            let rest = (0..self.rows.len()).filter(|next| joined & 1 << next == 0);
            let made = rest.map(|next| (!self.is_connected(joined, next), self.joined_rows(rows, joined, next), next));
            let next = made.min_by(|a, b| (a.0.cmp(&b.0)).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
            let Some((_, made, next)) = next else { break };
            rows = made;
            order.push(next);
        }
        order
    }

    /// The rows that the joins of an order make and read together.
    fn rows_of(&self, order: &[usize]) -> f64 {
        let mut rows = self.rows[order[0]];
        let mut all = rows;
        for (place, next) in order.iter().enumerate().skip(1) {
            rows = self.joined_rows(rows, mask(&order[..place]), *next);
            all += rows + self.rows[*next];
        }
        all
    }

    /// Whether an equality connects a relation with others.
    fn is_connected(&self, joined: u64, next: usize) -> bool {
        self.edges.iter().any(|edge| edge.between(joined, next).is_some())
    }

    /// About how many rows a relation makes with `rows` of others.
    fn joined_rows(&self, rows: f64, joined: u64, next: usize) -> f64 {
        let (mut here, mut there): (Vec<&str>, Vec<(usize, &str)>) = (Vec::new(), Vec::new());
        let (mut equalities, mut others) = (0, 0);
        for edge in &self.edges {
            // A condition counts where the last relation that it reads comes.
            if edge.reads & !(joined | 1 << next) != 0 || edge.reads & 1 << next == 0 {
                continue;
            }
            let Some((mine, (of, theirs))) = edge.between(joined, next) else {
                others += 1;
                continue;
            };
            equalities += 1;
            here.extend(mine);
            there.extend(theirs.map(|column| (of.trailing_zeros() as usize, column)));
        }
        let product = rows * self.rows[next] * OTHER_SHARE.powi(others);
        if equalities == 0 {
            return product.max(1.0);
        }
        let mut values: f64 = 1.0;
        if self.sizes[next].is_unique(&here) {
            values = self.sizes[next].keys;
        }
        for of in 0..self.sizes.len() {
            let columns: Vec<&str> = there.iter().filter(|(at, _)| *at == of).map(|(_, column)| *column).collect();
            if self.sizes[of].is_unique(&columns) {
                values = values.max(self.sizes[of].keys);
            }
        }
        if values <= 1.0 {
            // Neither side is a key: about as many values as the root of the rows, of each column.
            let least = self.sizes[next].keys.min(there.first().map_or(rows, |(of, _)| self.sizes[*of].keys));
            values = least.powf(1.0 - 0.5_f64.powi(equalities)).max(1.0);
        }
        (product / values).max(1.0)
    }
}

/// A side of an equality: which relations it is of, and its column if it is just one.
type Side<'a> = (u64, Option<&'a str>);

impl Edge {
    /// The column of `next`, if it is just one, and the other side, when this is an equality of `next` with others.
    fn between(&self, joined: u64, next: usize) -> Option<(Option<&str>, Side<'_>)> {
        let [(left, left_column), (right, right_column)] = self.sides.as_ref()?;
        let (left_column, right_column) = (left_column.as_deref(), right_column.as_deref());
        match (*left == 1 << next, *right == 1 << next) {
            (true, false) if right & !joined == 0 => Some((left_column, (*right, right_column))),
            (false, true) if left & !joined == 0 => Some((right_column, (*left, left_column))),
            _ => None,
        }
    }
}

impl Parts {
    /// The relations that an expression reads.
    fn reads(&self, expr: &Expr) -> u64 {
        let columns = expr.column_refs();
        let has = |relation: &LogicalPlan| columns.iter().any(|column| relation.schema().has_column(column));
        self.relations.iter().enumerate().filter(|(_, relation)| has(relation)).fold(0, |all, (at, _)| all | 1 << at)
    }

    /// The sides of an equality of different relations.
    fn sides(&self, condition: &Expr) -> Option<[(u64, Option<String>); 2]> {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return None };
        let side = |expr: &Expr| (self.reads(expr), column_name(expr).map(str::to_owned));
        let (left, right) = (side(left), side(right));
        (left.0 != 0 && right.0 != 0 && left.0 & right.0 == 0).then_some([left, right])
    }
}

fn mask(relations: &[usize]) -> u64 {
    relations.iter().fold(0, |all, at| all | 1 << at)
}
