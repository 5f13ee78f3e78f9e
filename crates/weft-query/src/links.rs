//! Projections and filters between an operator and a scan, through which columns are followed, and more are led.
//!
//! ```text
//!   ProjectionExec a, f(b) AS c          column 1 of it    f(column 1 of the filter) = f(column 2 of the scan)
//!     FilterExec ... [a, b]
//!       WeftScanExec a, x, b             rebuilt with a field: the scan reads it, both nodes hand it on
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use weft_kernel::table::ScanField;
use weft_sql::queries::names::MARKER;

use super::scan::WeftScanExec;

/// A node that makes rows of the rows of its input, in their order.
pub(super) enum Link<'a> {
    Projection(&'a ProjectionExec),
    Filter(&'a FilterExec),
}

impl<'a> Link<'a> {
    pub(super) fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Link<'a>> {
        if let Some(node) = plan.downcast_ref::<ProjectionExec>() {
            return Some(Link::Projection(node));
        }
        plan.downcast_ref::<FilterExec>().filter(|node| node.fetch().is_none()).map(Link::Filter)
    }

    fn input(&self) -> &'a Arc<dyn ExecutionPlan> {
        match self {
            Link::Projection(node) => node.input(),
            Link::Filter(node) => node.input(),
        }
    }

    pub(super) fn schema(&self) -> SchemaRef {
        match self {
            Link::Projection(node) => node.schema(),
            Link::Filter(node) => node.schema(),
        }
    }

    /// The expression over this node's input that a column of its own is.
    pub(super) fn below(&self, column: usize) -> Arc<dyn PhysicalExpr> {
        match self {
            Link::Projection(node) => Arc::clone(&node.expr()[column].expr),
            Link::Filter(node) => {
                let at = through(node, column);
                Arc::new(Column::new(node.input().schema().field(at).name(), at))
            }
        }
    }
}

/// The column of a filter's input that one of its own is.
fn through(node: &FilterExec, column: usize) -> usize {
    node.projection().as_ref().map_or(column, |kept| kept[column])
}

/// The nodes from one on that are links, and what is below them.
pub(super) fn links_below(top: &Arc<dyn ExecutionPlan>) -> (Vec<Link<'_>>, &Arc<dyn ExecutionPlan>) {
    let (mut links, mut at) = (Vec::new(), top);
    while let Some(link) = Link::of(at) {
        at = link.input();
        links.push(link);
    }
    (links, at)
}

/// An expression over the uppermost of some links, over what is below them all.
pub(super) fn composed(links: &[Link<'_>], expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let mut expr = Arc::clone(expr);
    for link in links {
        expr = replaced(expr, |column| Ok(link.below(column)))?;
    }
    Ok(expr)
}

/// An expression with other expressions in place of its columns.
pub(super) fn replaced(
    expr: Arc<dyn PhysicalExpr>,
    with: impl Fn(usize) -> Result<Arc<dyn PhysicalExpr>>,
) -> Result<Arc<dyn PhysicalExpr>> {
    let made = expr.transform_up(|part| {
        Ok(match part.downcast_ref::<Column>() {
            Some(column) => Transformed::yes(with(column.index())?),
            None => Transformed::no(part),
        })
    })?;
    Ok(made.data)
}

/// The columns that expressions name, each once, in order.
pub(super) fn columns_of<'a>(exprs: impl Iterator<Item = &'a Arc<dyn PhysicalExpr>>) -> Vec<usize> {
    let all: BTreeSet<usize> = exprs.flat_map(collect_columns).map(|column| column.index()).collect();
    all.into_iter().collect()
}

/// A column that is wanted of a node: one that it has, or one of the fields that are led through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Old(usize),
    New(usize),
}

/// A plan that has wanted columns, in this order.
pub(super) struct Rebuilt {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    items: Vec<Item>,
}

impl Rebuilt {
    /// Links over a scan, with the wanted columns of the uppermost and no others.
    pub(super) fn new(
        links: &[Link<'_>],
        scan: &WeftScanExec,
        wanted: &[Item],
        fields: &[ScanField],
    ) -> Result<Rebuilt> {
        let Some((link, below)) = links.split_first() else { return Ok(Rebuilt::of_scan(scan, wanted, fields)) };
        let of_columns = |columns: Vec<usize>| columns.into_iter().map(Item::Old);
        let new = wanted.iter().copied().filter(|item| matches!(item, Item::New(_)));
        let old = |item: &Item| match item {
            Item::Old(at) => Some(link.below(*at)),
            Item::New(_) => None,
        };
        let mut exprs: Vec<Arc<dyn PhysicalExpr>> = wanted.iter().filter_map(old).collect();
        if let Link::Filter(node) = link {
            exprs.push(Arc::clone(node.predicate()));
        }
        let asked: BTreeSet<Item> = of_columns(columns_of(exprs.iter())).chain(new).collect();
        let input = Rebuilt::new(below, scan, &asked.into_iter().collect::<Vec<_>>(), fields)?;
        let plan: Arc<dyn ExecutionPlan> = match link {
            Link::Projection(node) => {
                let exprs = wanted.iter().map(|&item| match item {
                    Item::Old(at) => {
                        let ProjectionExpr { expr, alias } = &node.expr()[at];
                        Ok(ProjectionExpr { expr: input.moved(Arc::clone(expr))?, alias: alias.clone() })
                    }
                    Item::New(number) => {
                        Ok(ProjectionExpr { expr: input.column(item), alias: format!("{MARKER}led {number}") })
                    }
                });
                let exprs = exprs.collect::<Result<Vec<_>>>()?;
                Arc::new(ProjectionExec::try_new(exprs, input.plan)?)
            }
            Link::Filter(node) => {
                let place = |item: &Item| match item {
                    Item::Old(at) => input.place(Item::Old(through(node, *at))),
                    Item::New(_) => input.place(*item),
                };
                let kept = wanted.iter().map(place).collect();
                let predicate = input.moved(Arc::clone(node.predicate()))?;
                let filter = FilterExecBuilder::new(predicate, input.plan).apply_projection(Some(kept))?;
                Arc::new(filter.with_default_selectivity(node.default_selectivity()).build()?)
            }
        };
        Ok(Rebuilt { plan, items: wanted.to_vec() })
    }

    fn of_scan(scan: &WeftScanExec, wanted: &[Item], fields: &[ScanField]) -> Rebuilt {
        let width = scan.columns().len();
        let old = |is_field: bool| {
            wanted.iter().filter_map(move |item| match item {
                Item::Old(at) if (*at >= width) == is_field => Some(*at),
                _ => None,
            })
        };
        let new = || {
            wanted.iter().filter_map(|item| match item {
                Item::New(number) => Some(*number),
                Item::Old(_) => None,
            })
        };
        let kept: Vec<usize> = old(false).collect();
        let read = old(true).map(|at| scan.fields()[at - width].clone());
        let read = read.chain(new().map(|number| fields[number].clone())).collect();
        let items = old(false).chain(old(true)).map(Item::Old).chain(new().map(Item::New)).collect();
        Rebuilt { plan: Arc::new(scan.with_fields(&kept, read)), items }
    }

    /// Where a wanted column is.
    pub(super) fn place(&self, item: Item) -> usize {
        let place = self.items.iter().position(|known| *known == item);
        place.unwrap_or_else(|| unreachable!("{item:?} is not among the wanted columns"))
    }

    /// A wanted column.
    pub(super) fn column(&self, item: Item) -> Arc<dyn PhysicalExpr> {
        let at = self.place(item);
        Arc::new(Column::new(self.plan.schema().field(at).name(), at))
    }

    /// An expression over what the node had, over what it has.
    pub(super) fn moved(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        replaced(expr, |column| Ok(self.column(Item::Old(column))))
    }
}
