//! The graph of a tree's parts: rows, values of columns, keys.
//!
//! ```text
//!   o_custkey = c_custkey              orders (1 to 150,000: so many values) and customer (its key): a class of two
//!   n_name = 'CHINA'                   1 of 25 rows of nation
//!   s_w_id * s_i_id = su_suppkey       an expression of one relation is a column, too
//!   a.x + b.y = c.z                    an edge from {a, b} to c
//! ```

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use weft_format::summary::join_share;
use weft_joins::{Builder, ColumnNo, Graph, Set};

use super::parts::{Equality, Parts};
use crate::relation_size::size_of;
use crate::shares::{Size, kept_share, share_of};

/// What a condition between relations leaves that is no equality.
const OTHER_SHARE: f64 = 0.3;
/// Values of a side of an equality that several relations have together.
const VALUES_OF_SEVERAL: f64 = 1_000.0;

/// A graph, and the expression that each column of it is.
pub(super) struct Known<'a> {
    pub(super) graph: Graph,
    pub(super) columns: Vec<(usize, &'a Expr)>,
}

impl<'a> Known<'a> {
    pub(super) fn of(parts: &'a Parts) -> Known<'a> {
        let sizes: Vec<Size> = parts.relations.iter().map(size_of).collect();
        let reads: Vec<Set> = parts.conditions.iter().map(|condition| parts.reads(condition)).collect();
        let mut making = Making { parts, sizes: &sizes, builder: Graph::builder(), columns: Vec::new() };
        for (at, size) in sizes.iter().enumerate() {
            let own = parts.conditions.iter().zip(&reads).filter(|(_, reads)| **reads == Set::of(at));
            let own: Vec<&Expr> = own.map(|(condition, _)| condition).collect();
            making.builder.relation(size.rows * share_of(&own, size), size.keys);
        }
        for (condition, &reads) in parts.conditions.iter().zip(&reads).filter(|(_, reads)| reads.len() > 1) {
            match parts.equality(condition) {
                Some(equality) => making.equal(&equality),
                None => {
                    let alone = &sizes[reads.iter().next().unwrap_or(0)];
                    making.builder.condition(reads, kept_share(condition, alone).min(OTHER_SHARE));
                }
            }
        }
        making.keys();
        Known { graph: making.builder.build(), columns: making.columns }
    }
}

struct Making<'a, 'b> {
    parts: &'a Parts,
    sizes: &'b [Size],
    builder: Builder,
    columns: Vec<(usize, &'a Expr)>,
}

impl<'a> Making<'a, '_> {
    fn equal(&mut self, equality: &Equality<'a>) {
        let (left, right) = (equality.left, equality.right);
        if left.1.len() > 1 || right.1.len() > 1 {
            return self.builder.equal_sets(left.1, right.1, 1.0 / VALUES_OF_SEVERAL);
        }
        let is_transitive = !equality.takes_nulls;
        let (a, b) = (self.column(left, is_transitive), self.column(right, is_transitive));
        self.builder.equal(a, b);
        if let Some(share) = self.pairs_of_common(left, right) {
            self.builder.pairs(a, b, share);
        }
    }

    /// The share of all pairs of rows that are equal, when of both sides common values are known.
    fn pairs_of_common(&self, (left, of_left): (&Expr, Set), (right, of_right): (&Expr, Set)) -> Option<f64> {
        let known = |expr: &Expr, reads: Set| self.sizes[reads.iter().next()?].known(expr);
        // What a condition leaves of a column has other common values, and they were counted with it.
        if self.is_bound(left, of_left) || self.is_bound(right, of_right) {
            return None;
        }
        let (left, right) = (known(left, of_left)?, known(right, of_right)?);
        if left.is_like(right) { join_share(left.summary()?, right.summary()?) } else { None }
    }

    /// Whether a condition of its relation alone reads the column that an expression is.
    fn is_bound(&self, expr: &Expr, reads: Set) -> bool {
        let (Some(relation), Expr::Column(column)) = (reads.iter().next(), expr) else { return false };
        let own = self.parts.conditions.iter().filter(|condition| self.parts.reads(condition) == Set::of(relation));
        let names = |condition: &Expr| condition.column_refs().iter().any(|found| found.name == column.name);
        own.into_iter().any(names) || reads_column(&self.parts.relations[relation], &column.name)
    }

    /// The column that an expression of one relation is.
    fn column(&mut self, (expr, reads): (&'a Expr, Set), is_transitive: bool) -> ColumnNo {
        let relation = reads.iter().next().unwrap_or(0);
        let is_same = |known: &&(usize, &Expr)| known.0 == relation && known.1 == expr;
        if let Some(at) = self.columns.iter().position(|known| is_same(&known)) {
            return ColumnNo(at);
        }
        let data_type = expr.get_type(self.parts.relations[relation].schema()).ok();
        let is_transitive = is_transitive && data_type.is_some_and(|data_type| is_compared_by_value(&data_type));
        self.columns.push((relation, expr));
        self.builder.column(relation, self.sizes[relation].values(expr), is_transitive)
    }

    /// Keys of which all columns are in the graph.
    fn keys(&mut self) {
        for (relation, size) in self.sizes.iter().enumerate() {
            for key in &size.unique {
                let column = |name: &String| {
                    let is_it = |known: &(usize, &Expr)| {
                        known.0 == relation && matches!(known.1, Expr::Column(column) if column.name == *name)
                    };
                    self.columns.iter().position(is_it).map(ColumnNo)
                };
                if let Some(columns) = key.iter().map(column).collect::<Option<Vec<ColumnNo>>>() {
                    self.builder.unique(relation, columns);
                }
            }
        }
    }
}

/// Whether two values that are equal to a third one are equal, and look alike to a join.
fn is_compared_by_value(data_type: &ArrowType) -> bool {
    data_type.is_integer()
        || data_type.is_temporal()
        || data_type.is_decimal()
        || matches!(data_type, ArrowType::Boolean | ArrowType::Utf8 | ArrowType::Utf8View | ArrowType::LargeUtf8)
}

/// Whether a condition that a relation has in itself reads one of its columns.
fn reads_column(plan: &LogicalPlan, name: &str) -> bool {
    let names = |condition: &Expr| condition.column_refs().iter().any(|found| found.name == name);
    match plan {
        LogicalPlan::TableScan(scan) => scan.filters.iter().any(names),
        LogicalPlan::Filter(filter) => names(&filter.predicate) || reads_column(&filter.input, name),
        LogicalPlan::SubqueryAlias(alias) => reads_column(&alias.input, name),
        LogicalPlan::Projection(projection) => reads_column(&projection.input, name),
        _ => false,
    }
}
