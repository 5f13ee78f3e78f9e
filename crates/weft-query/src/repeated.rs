//! Window functions that have become the same are computed once.
//!
//! ```text
//!   first_value($1) OVER w AS a, first_value($2) OVER w AS b        both of 10 in this execution
//!     the engine's rule for common expressions would write a column where its other rules look for a window function
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::logical_plan::{Projection, Window};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// See above; runs before common expressions are looked for.
#[derive(Debug)]
pub(super) struct OnceEach;

impl OptimizerRule for OnceEach {
    fn name(&self) -> &str {
        "once_each"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = &plan else { return Ok(Transformed::no(plan)) };
        let mut kept: Vec<Expr> = Vec::with_capacity(window.window_expr.len());
        let mut places = Vec::with_capacity(window.window_expr.len());
        for expr in &window.window_expr {
            let same = |known: &Expr| known.clone().unalias() == expr.clone().unalias();
            let place = kept.iter().position(same).unwrap_or(kept.len());
            if place == kept.len() {
                kept.push(expr.clone());
            }
            places.push(place);
        }
        if kept.len() == places.len() {
            return Ok(Transformed::no(plan));
        }
        let once = Window::try_new(kept, Arc::clone(&window.input))?;
        let width = window.input.schema().fields().len();
        let (columns, shown) = (once.schema.columns(), window.schema.columns());
        let from = (0..width).chain(places.into_iter().map(|place| width + place));
        let exprs = from.zip(shown).map(|(from, shown)| {
            let column = Expr::Column(columns[from].clone());
            if columns[from] == shown { column } else { column.alias_qualified(shown.relation, shown.name) }
        });
        let exprs = exprs.collect();
        Projection::try_new(exprs, Arc::new(LogicalPlan::Window(once)))
            .map(LogicalPlan::Projection)
            .map(Transformed::yes)
    }
}
