//! The engine's rule that groups twice where one column is DISTINCT, with the types kept.
//!
//! ```text
//!   SELECT count(DISTINCT a), sum(b) FROM t
//!     becomes   SELECT count(a), sum(s) FROM (SELECT a, sum(b) AS s FROM t GROUP BY a)
//! ```
//!
//! The sum of an integer is a bigint, that of bigints a numeric: what the rule makes is cast to what was asked for.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::Projection;
use datafusion::logical_expr::{Expr, LogicalPlan, cast};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// See above.
#[derive(Debug, Default)]
pub(super) struct SingleDistinct {
    inner: SingleDistinctToGroupBy,
}

impl OptimizerRule for SingleDistinct {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.inner.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let asked = Arc::clone(plan.schema());
        let made = self.inner.rewrite(plan, config)?;
        let is_same =
            |(a, b): (&Arc<arrow::datatypes::Field>, &Arc<arrow::datatypes::Field>)| a.data_type() == b.data_type();
        if !made.transformed || asked.fields().iter().zip(made.data.schema().fields()).all(is_same) {
            return Ok(made);
        }
        let columns = made.data.schema().columns().into_iter().zip(asked.iter());
        let exprs = columns.map(|(column, (relation, field))| {
            cast(Expr::Column(column), field.data_type().clone()).alias_qualified(relation.cloned(), field.name())
        });
        let plan = Projection::try_new(exprs.collect(), Arc::new(made.data))?;
        Ok(Transformed::yes(LogicalPlan::Projection(plan)))
    }
}
