//! A relation of the catalog in a plan.
//!
//! ```text
//!   WHERE c.oid = 16390 AND c.relkind IN ('r', 'v')     asks for oid 16390 and relkind r, v; tested again above
//! ```

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType as ArrowType, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::TableProvider;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use weft_format::Value;
use weft_pgcatalog::{CatalogRelation, Snapshot, Wanted};
use weft_sql::array_of;

use super::shapes::field_of_shape;
use super::shown::snapshot_of;
use crate::types::{output_type, value_of};

/// One relation in a plan. Its rows are made when a plan is, so a plan with one is never kept.
#[derive(Debug)]
pub(crate) struct CatalogTable {
    relation: CatalogRelation,
    schema: SchemaRef,
}

impl CatalogTable {
    /// A relation.
    pub(crate) fn new(relation: CatalogRelation) -> CatalogTable {
        let fields = relation.columns().into_iter().map(|(name, shape)| field_of_shape(name, shape));
        CatalogTable { relation, schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())) }
    }

    /// The values of a column in the rows that conditions ask for, if they say which relations are looked at.
    pub(super) fn values(&self, filters: &[Expr], column: &str, snapshot: &Snapshot) -> Option<Vec<Value>> {
        let wanted = wanted(filters);
        let place = self.schema.index_of(column).ok()?;
        let narrow = self.relation.is_narrow(snapshot, &wanted);
        narrow.then(|| self.relation.rows(snapshot, &wanted, &[place]).values)
    }
}

/// The rows that conditions ask for.
fn wanted(filters: &[Expr]) -> Wanted {
    let mut wanted = Wanted::default();
    for asked in filters.iter().filter_map(asked) {
        wanted.equal(&asked.column, &asked.values);
    }
    wanted
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let places: Vec<usize> = match projection {
            Some(places) => places.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema: SchemaRef = Arc::new(self.schema.project(&places)?);
        let batches = match snapshot_of(session.config_options()) {
            // It is only tried whether there is a plan.
            None => Vec::new(),
            Some(snapshot) => {
                let rows = self.relation.rows(snapshot, &wanted(filters), &places);
                let arrays = places.iter().enumerate().map(|(at, place)| {
                    let values = rows.values.iter().skip(at).step_by(places.len());
                    array_of(values, output_type(self.schema.field(*place).data_type()))
                });
                let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows.count));
                vec![RecordBatch::try_new_with_options(Arc::clone(&schema), arrays.collect(), &options)?]
            }
        };
        Ok(MemorySourceConfig::try_new_exec(&[batches], schema, None)?)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match asked(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }
}

/// The values that a column must have.
#[derive(Debug, PartialEq)]
struct Asked {
    column: String,
    values: Vec<Value>,
}

/// What a condition asks for: `=`, IN, or several of them joined by OR.
fn asked(filter: &Expr) -> Option<Asked> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            let (column, value) = match (column_of(left), column_of(right)) {
                (Some(column), None) => (column, right),
                (None, Some(column)) => (column, left),
                _ => return None,
            };
            Some(Asked { column, values: vec![constant(value)?] })
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (mut asked_left, asked_right) = (asked(left)?, asked(right)?);
            if asked_left.column != asked_right.column {
                return None;
            }
            asked_left.values.extend(asked_right.values);
            Some(asked_left)
        }
        Expr::InList(InList { expr, list, negated: false }) => {
            let values = list.iter().map(constant).collect::<Option<Vec<Value>>>()?;
            Some(Asked { column: column_of(expr)?, values })
        }
        _ => None,
    }
}

/// The column that an expression is, perhaps as a wider integer or as another text.
fn column_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(column) => Some(column.name.clone()),
        Expr::Cast(cast) if is_wide(cast.field.data_type()) => column_of(&cast.expr),
        // As a routine casts it.
        Expr::ScalarFunction(call) if call.func.name() == "cast" => match &call.args[..] {
            [arg] if call.func.return_type(&[ArrowType::UInt32]).is_ok_and(|to| is_wide(&to)) => column_of(arg),
            _ => None,
        },
        _ => None,
    }
}

fn is_wide(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Int64 | ArrowType::Int32 | ArrowType::Utf8View | ArrowType::Utf8)
}

/// A constant that is a number or a text.
fn constant(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            Some(Value::Text(text.as_str().into()))
        }
        Expr::Literal(scalar, _) if scalar.data_type().is_integer() => {
            value_of(scalar, output_type(&scalar.data_type()))
        }
        Expr::Literal(ScalarValue::Boolean(Some(value)), _) => Some(Value::Bool(*value)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn equality_with_constants_says_which_rows_are_made() {
        let one = |column: &str, values: Vec<Value>| Some(Asked { column: column.to_owned(), values });
        assert_eq!(asked(&col("oid").eq(lit(7_u32))), one("oid", vec![Value::Int(7)]));
        assert_eq!(asked(&lit("t").eq(col("relname"))), one("relname", vec![Value::Text("t".into())]));
        let either = col("oid").eq(lit(7_u32)).or(col("oid").eq(lit(9_u32)));
        assert_eq!(asked(&either), one("oid", vec![Value::Int(7), Value::Int(9)]));
        let listed = col("oid").in_list(vec![lit(7_u32), lit(9_u32)], false);
        assert_eq!(asked(&listed), one("oid", vec![Value::Int(7), Value::Int(9)]));
        assert_eq!(asked(&col("oid").eq(lit(7_u32)).or(col("relname").eq(lit("t")))), None);
        assert_eq!(asked(&col("oid").gt(lit(7_u32))), None);
        assert_eq!(asked(&col("oid").eq(col("relnamespace"))), None);
    }
}
