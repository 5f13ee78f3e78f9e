//! Conditions and the columns that are left of what they let through, as two nodes.
//!
//! ```text
//!   ProjectionExec [x@0, ...]                          ProjectionExec [x@0, ...]
//!     FilterExec x@0 > 3, projection [x@2, t@1]   →      ProjectionExec [x@2, t@1]
//!                                                          FilterExec x@0 > 3
//! ```
//!
//! The engine brings a projection below a filter when the condition needs no other columns. Where the filter has a
//! projection of its own, it takes the columns of the condition, which are those of the filter's input, for those of
//! its output: above, the condition would be asked of another column named `x`, or the plan would be refused.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

/// See above; runs before each rule that moves projections.
#[derive(Debug)]
pub(super) struct OpenFilters;

impl PhysicalOptimizerRule for OpenFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let Some(places) = filter.projection() else { return Ok(Transformed::no(node)) };
            let schema = filter.input().schema();
            let columns = places.iter().map(|place| {
                let name = schema.field(*place).name();
                (Arc::new(Column::new(name, *place)) as Arc<dyn PhysicalExpr>, name.clone())
            });
            let columns: Vec<_> = columns.collect();
            let whole = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
            Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(columns, Arc::new(whole))?)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "open_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
