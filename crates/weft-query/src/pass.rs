//! Nodes that hand on the batches of their input: as many rows, in the same order and partitions.
//!
//! ```text
//!   StopExec        asks whether the statement may go on          stop
//!   HoldExec        counts what the operator above holds on to    held
//!   CoalesceExec    makes small batches whole                     coalesced
//! ```

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

/// What such a node does with a partition. It keeps nothing from one execution to the next.
pub(super) trait Pass: fmt::Debug + Clone + Send + Sync + 'static {
    /// What plans call the node.
    const NAME: &'static str;

    /// What EXPLAIN says of it.
    fn shown(&self) -> String {
        Self::NAME.to_owned()
    }

    /// The batches of a partition, handed on.
    fn stream(
        &self,
        input: SendableRecordBatchStream,
        partition: usize,
        context: &TaskContext,
    ) -> Result<SendableRecordBatchStream>;
}

/// The node.
#[derive(Debug)]
pub(super) struct PassExec<P> {
    input: Arc<dyn ExecutionPlan>,
    pass: P,
}

impl<P: Pass> PassExec<P> {
    pub(super) fn above(input: Arc<dyn ExecutionPlan>, pass: P) -> Arc<dyn ExecutionPlan> {
        Arc::new(PassExec { input, pass })
    }
}

impl<P: Pass> DisplayAs for PassExec<P> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pass.shown())
    }
}

impl<P: Pass> ExecutionPlan for PassExec<P> {
    fn name(&self) -> &str {
        P::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| DataFusionError::Internal(format!("{} has one child", P::NAME)))?;
        Ok(PassExec::above(input, self.pass.clone()))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        self.pass.stream(input, partition, &context)
    }
}
