//! Steps into documents move towards the scans, or stay where they are.
//!
//! ```text
//!   Projection u.x -> 'k'                 the rule puts the step beside what u.x is made of:
//!     SubqueryAlias u                       Projection a AS x, a -> 'k' AS extracted, a
//!       Projection a AS x                 where a has the name x, too, u.x is two columns: the step stays
//! ```
//!
//! 1. What the engine's rule cannot move stays: a plan that it fails to write was right before.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::extract_leaf_expressions::PushDownLeafProjections;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The engine's rule, with the invariant above.
#[derive(Debug)]
pub(super) struct LeafProjections(PushDownLeafProjections);

impl Default for LeafProjections {
    fn default() -> LeafProjections {
        LeafProjections(PushDownLeafProjections::new())
    }
}

impl OptimizerRule for LeafProjections {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !matches!(plan, LogicalPlan::Projection(_)) {
            return self.0.rewrite(plan, config);
        }
        match self.0.rewrite(plan.clone(), config) {
            Err(error) if matches!(error.find_root(), DataFusionError::SchemaError(..)) => Ok(Transformed::no(plan)),
            made => made,
        }
    }
}
