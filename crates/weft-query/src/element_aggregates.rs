//! Aggregates of the elements of each row, before rows are grouped: elements are never laid out beside their rows.
//!
//! ```text
//!   AggregateExec Partial gby=[s], aggr=[max(t)]       AggregateExec PartialReduce gby=[s], aggr=[max(t)]
//!     FilterExec t > 3                                   ElementAggregateExec gby=[s], aggr=[max(t)]
//!       ProjectionExec s, element 0 AS t           ─▶      ProjectionExec "field 0" AS s, "field 1" AS element 0
//!         UnnestExec                                         WeftScanExec fields=[doc->>'s', doc->'a'[*]->>'t']
//!           ProjectionExec ...
//!             WeftScanExec fields=[doc->>'s', doc->'a'[*]->>'t']
//! ```
//!
//! 1. Only what an aggregate computes from a state of each row: not DISTINCT ones, nor such as ask for an order.
//! 2. What groups rows is of the rows alone; it is computed of those that have an element left.
//! 3. What is computed of elements, conditions too, is computed of the same elements as before, and in the same order.
//!
//! Source: Alkowaileet and Carey (VLDB 2022), section 5: the pipeline up to the partial aggregate is one loop over the
//! leaves that it names.

use std::sync::Arc;

use arrow::datatypes::{DataType as ArrowType, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

use weft_format::document::FieldStep;

use super::element_rows::{Aggregate, ElementAggregateExec, Elements, Stage, Taken};
use super::links::{Link, columns_of, composed, links_below, replaced};
use super::only_arrays::lists_of;
use super::scan::WeftScanExec;

/// Aggregates elements within their rows.
#[derive(Debug)]
pub(super) struct ElementAggregates;

impl PhysicalOptimizerRule for ElementAggregates {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let made = node.downcast_ref::<AggregateExec>().map(within_rows).transpose()?.flatten();
            Ok(made.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "element_aggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The aggregate over states of each row; none where it stays as it is.
fn within_rows(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mode = match aggregate.mode() {
        AggregateMode::Partial => AggregateMode::PartialReduce,
        AggregateMode::Single => AggregateMode::Final,
        // Partitioned by its groups: states would have to say so, too.
        _ => return Ok(None),
    };
    let group_by = aggregate.group_expr();
    let is_plain = !group_by.has_grouping_set()
        && aggregate.limit_options().is_none()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && aggregate.aggr_expr().iter().all(|made| is_of_states(made));
    let Some(chain) = Chain::below(aggregate.input()).filter(|_| is_plain) else { return Ok(None) };
    let groups: Option<Vec<_>> = group_by.expr().iter().map(|(expr, _)| chain.of_rows(expr)).collect();
    let Some(groups) = groups else { return Ok(None) };
    let filters = aggregate.filter_expr();
    let aggregates = aggregate.aggr_expr().iter().zip(filters).map(|(made, filter)| Aggregate {
        function: Arc::clone(made),
        args: made.expressions(),
        filter: filter.clone(),
    });
    let mut aggregates: Vec<Aggregate> = aggregates.collect();
    let asked = aggregates.iter().flat_map(|made| made.args.iter().chain(&made.filter));
    let wanted = columns_of(asked);
    let elements = chain.elements(&wanted)?;
    for made in &mut aggregates {
        for expr in made.args.iter_mut().chain(&mut made.filter) {
            *expr = placed(Arc::clone(expr), &wanted, &chain.schema_above())?;
        }
    }
    let input = Arc::clone(chain.unnest.input());
    let states = AggregateExec::try_new(
        AggregateMode::Partial,
        group_by.clone(),
        aggregate.aggr_expr().to_vec(),
        filters.to_vec(),
        Arc::clone(aggregate.input()),
        aggregate.input_schema(),
    )?;
    let within = ElementAggregateExec::new(input, elements, groups, aggregates, states.schema());
    let made = AggregateExec::try_new(
        mode,
        group_by.as_final(),
        aggregate.aggr_expr().to_vec(),
        vec![None; filters.len()],
        Arc::new(within),
        aggregate.input_schema(),
    )?;
    Ok((made.schema() == aggregate.schema()).then(|| Arc::new(made) as Arc<dyn ExecutionPlan>))
}

/// Whether an aggregate of all is one of states of its parts (1).
fn is_of_states(made: &AggregateFunctionExpr) -> bool {
    !made.is_distinct() && made.order_bys().is_empty() && made.groups_accumulator_supported()
}

/// An expression over wanted columns alone.
fn placed(expr: Arc<dyn PhysicalExpr>, wanted: &[usize], schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
    replaced(expr, |column| {
        let place = wanted.binary_search(&column).unwrap_or(column);
        Ok(Arc::new(Column::new(schema.field(column).name(), place)))
    })
}

/// What lies between an aggregate and the elements, from the top.
struct Chain<'a> {
    links: Vec<Link<'a>>,
    unnest: &'a UnnestExec,
    /// The columns with elements.
    lists: Vec<usize>,
}

impl<'a> Chain<'a> {
    fn below(top: &'a Arc<dyn ExecutionPlan>) -> Option<Chain<'a>> {
        let (links, at) = links_below(top);
        let unnest = at.downcast_ref::<UnnestExec>()?;
        let lists: Vec<usize> = unnest.list_column_indices().iter().map(|list| list.index_in_input_schema).collect();
        let is_deep = unnest.list_column_indices().iter().any(|list| list.depth != 1);
        let input = unnest.input().schema();
        let is_list = |&at: &usize| matches!(input.field(at).data_type(), ArrowType::List(_));
        let is_plain = !is_deep
            && unnest.struct_column_indices().is_empty()
            && !unnest.options().preserve_nulls()
            && lists.iter().all(is_list)
            && (lists.len() == 1 || are_side_by_side(unnest, &lists));
        is_plain.then_some(Chain { links, unnest, lists })
    }

    /// What the aggregate sees.
    fn schema_above(&self) -> SchemaRef {
        self.links.first().map_or_else(|| self.unnest.schema(), Link::schema)
    }

    /// An expression of the aggregate over the input of the elements; none when it is of elements, or is another value
    /// each time.
    fn of_rows(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
        let expr = composed(&self.links, expr).ok()?;
        let is_volatile = expr.exists(|part| Ok(part.is_volatile_node())).unwrap_or(true);
        let is_of_elements = collect_columns(&expr).iter().any(|column| self.lists.contains(&column.index()));
        (!is_volatile && !is_of_elements).then_some(expr)
    }

    /// How wanted columns of the elements are made.
    fn elements(&self, wanted: &[usize]) -> Result<Elements> {
        let mut wanted = wanted.to_vec();
        let mut stages = Vec::with_capacity(self.links.len());
        for (number, link) in self.links.iter().enumerate() {
            let input = self.links.get(number + 1).map_or_else(|| self.unnest.schema(), Link::schema);
            let exprs: Vec<_> = wanted.iter().map(|&column| link.below(column)).collect();
            let predicate = match link {
                Link::Filter(node) => Some(Arc::clone(node.predicate())),
                Link::Projection(_) => None,
            };
            let below = columns_of(exprs.iter().chain(&predicate));
            let exprs = exprs.into_iter().map(|expr| placed(expr, &below, &input)).collect::<Result<Vec<_>>>()?;
            let predicate = predicate.map(|predicate| placed(predicate, &below, &input)).transpose()?;
            stages.push(Stage { predicate, exprs, schema: of_columns(&link.schema(), &wanted) });
            wanted = below;
        }
        stages.reverse();
        let taken = wanted.iter().map(|column| match self.lists.contains(column) {
            true => Taken::Element(*column),
            false => Taken::Row(*column),
        });
        let schema = of_columns(&self.unnest.schema(), &wanted);
        Ok(Elements { lists: self.lists.clone(), taken: taken.collect(), schema, stages })
    }
}

fn of_columns(schema: &SchemaRef, columns: &[usize]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|&at| Arc::clone(&schema.fields()[at])).collect::<Vec<_>>()))
}

/// Whether a scan gives all lists: of one array then, each with a value for every element.
fn are_side_by_side(unnest: &UnnestExec, lists: &[usize]) -> bool {
    let (links, below) = links_below(unnest.input());
    let Some(scan) = below.downcast_ref::<WeftScanExec>() else { return false };
    let Some((top, rest)) = links.split_first() else { return false };
    let is_elements = |step: &FieldStep| matches!(step, FieldStep::Elements | FieldStep::ArrayElements);
    let mut arrays = lists.iter().map(|&at| {
        let lists = composed(rest, lists_of(&top.below(at))).ok()?;
        let column = lists.downcast_ref::<Column>()?;
        let field = scan.fields().get(column.index().checked_sub(scan.columns().len())?)?;
        let array = field.path.steps.iter().position(is_elements)?;
        Some((field.column, field.path.steps[..array].to_vec()))
    });
    let Some(Some(first)) = arrays.next() else { return false };
    arrays.all(|array| array.as_ref() == Some(&first))
}
