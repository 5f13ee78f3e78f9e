//! A view of what the engine does, as the planner takes it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::common::Result;
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use weft_sql::views::SystemView;

/// One view in a plan. Its rows are made when a plan is, so a plan with one is never kept.
#[derive(Debug)]
pub(super) struct ViewProvider(pub(super) SystemView);

#[async_trait]
impl TableProvider for ViewProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = [vec![self.0.batch()]];
        Ok(MemorySourceConfig::try_new_exec(&rows, self.schema(), projection.cloned())?)
    }
}
