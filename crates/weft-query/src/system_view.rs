//! A view of what the engine does, as the planner takes it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::common::Result;
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use weft_sql::views::SystemView;

use crate::error::wrap;

/// One view in a plan. Its rows are made when a plan is, so a plan with one is never kept.
#[derive(Debug)]
pub(super) struct ViewProvider(pub(super) SystemView);

impl ViewProvider {
    /// The text that a filter wants of the column by which the view makes some of its rows alone.
    fn wanted<'a>(&self, filter: &'a Expr) -> Option<&'a str> {
        let narrowed_by = self.0.narrowed_by()?;
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else { return None };
        match (&**left, &**right) {
            (Expr::Column(column), Expr::Literal(value, _)) | (Expr::Literal(value, _), Expr::Column(column)) => {
                value.try_as_str().flatten().filter(|_| column.name == narrowed_by)
            }
            _ => None,
        }
    }
}

#[async_trait]
impl TableProvider for ViewProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.0.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // The filter is applied to the rows that are made, too.
        let pushed = |filter: &&Expr| match self.wanted(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(pushed).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let only = filters.iter().find_map(|filter| self.wanted(filter));
        let rows = [vec![self.0.batch(only).map_err(wrap)?]];
        Ok(MemorySourceConfig::try_new_exec(&rows, self.schema(), projection.cloned())?)
    }
}
