//! Conditions on values within documents, told to the scan below: it skips blocks in which no document satisfies them.
//!
//! ```text
//!   FilterExec CAST(f AS int) > 5 AND g = 'x'          the same filter
//!     ProjectionExec "field 0" AS f, "field 1" AS g      the same projection
//!       WeftScanExec fields=[doc->>'n', doc->>'k']         ... told=[doc->>'n' > 5 AND doc->>'k' = 'x']
//!
//!   doc @> '{"k": "x", "o": {"n": 1}}'                 told=[doc->>'k' = 'x' AND doc->'o'->>'n' = 1]
//! ```
//!
//! 1. The filter stays: what is told decides about blocks, never about rows.
//! 2. A condition skips no block in which a cast within itself might raise an error ([`FieldTest::cast`]). Other
//!    conditions beside it may be spared their errors there, as where they stand behind it in the filter.
//! 3. Constants only are told: with an open parameter there is nothing to compare bounds with when it is planned.

use std::sync::Arc;

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, IsNotNullExpr, IsNullExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use weft_expr::routines::Routine;
use weft_format::document::FieldStep;
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{DataType, Value};
use weft_kernel::table::{FieldTest, ScanField};

use super::pushdown::{compare_op, mirrored};
use super::routines::routine_of;
use super::scan::WeftScanExec;
use super::typed_fields::either_of;
use super::types::value_of;

/// Tells scans what is tested of documents above them.
#[derive(Debug)]
pub(super) struct FieldConditions;

impl PhysicalOptimizerRule for FieldConditions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let made = node.downcast_ref::<FilterExec>().map(told).transpose()?.flatten();
            let Some(input) = made else { return Ok(Transformed::no(node)) };
            Ok(Transformed::yes(replace_children_if_necessary(node, vec![input])?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "field_conditions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The input of a filter whose scan is told; none when there is nothing to tell.
fn told(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let input = filter.input();
    let projection = input.downcast_ref::<ProjectionExec>();
    let Some(scan) = projection.map_or(input, ProjectionExec::input).downcast_ref::<WeftScanExec>() else {
        return Ok(None);
    };
    let known = Known { scan, projection };
    let tests: Vec<FieldTest> =
        split_conjunction(filter.predicate()).into_iter().flat_map(|condition| known.tests(condition)).collect();
    if tests.is_empty() {
        return Ok(None);
    }
    let told: Arc<dyn ExecutionPlan> = Arc::new(scan.told(tests));
    Ok(Some(match projection {
        Some(_) => replace_children_if_necessary(Arc::clone(input), vec![told])?,
        None => told,
    }))
}

/// What columns of a filter are.
struct Known<'a> {
    scan: &'a WeftScanExec,
    projection: Option<&'a ProjectionExec>,
}

impl Known<'_> {
    /// The document, or value within one, that a column is.
    fn field(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ScanField> {
        let mut column = expr.downcast_ref::<Column>()?;
        if let Some(projection) = self.projection {
            column = projection.expr()[column.index()].expr.downcast_ref::<Column>()?;
        }
        self.scan.field_at(column.index())
    }

    /// What a condition says of documents.
    fn tests(&self, condition: &Arc<dyn PhysicalExpr>) -> Vec<FieldTest> {
        if let Some(call) = condition.downcast_ref::<ScalarFunctionExpr>() {
            return self.contained(call).unwrap_or_default();
        }
        self.test(condition).into_iter().collect()
    }

    fn test(&self, condition: &Arc<dyn PhysicalExpr>) -> Option<FieldTest> {
        let column = 0;
        if let Some(is_null) = condition.downcast_ref::<IsNullExpr>() {
            let field = self.field(is_null.arg()).filter(|field| !field.path.steps.is_empty())?;
            return Some(FieldTest { field, predicate: Predicate::IsNull { column }, cast: None });
        }
        if let Some(is_there) = condition.downcast_ref::<IsNotNullExpr>() {
            let field = self.field(is_there.arg()).filter(|field| !field.path.steps.is_empty())?;
            return Some(FieldTest { field, predicate: Predicate::IsNotNull { column }, cast: None });
        }
        let comparison = condition.downcast_ref::<BinaryExpr>()?;
        let (left, right, op) = (comparison.left(), comparison.right(), compare_op(*comparison.op())?);
        match (left.downcast_ref::<Literal>(), right.downcast_ref::<Literal>()) {
            (None, Some(constant)) => self.compared(left, op, constant.value()),
            (Some(constant), None) => self.compared(right, mirrored(op), constant.value()),
            _ => None,
        }
    }

    fn compared(&self, expr: &Arc<dyn PhysicalExpr>, op: CompareOp, constant: &ScalarValue) -> Option<FieldTest> {
        let (field, cast) = self.cast_field(expr)?;
        let value = value_of(constant, cast.unwrap_or(DataType::Text)).filter(|value| !matches!(value, Value::Null))?;
        Some(FieldTest { field, predicate: Predicate::Compare { column: 0, op, value }, cast })
    }

    /// The field that is compared, in the type in which it is; and the type of integers that its text is cast to.
    fn cast_field(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<(ScanField, Option<DataType>)> {
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let to = either_of(call.fun())?;
            let [number, _] = call.args() else { return None };
            let field = self.field(number).filter(|field| field.path.data_type == DataType::BigInt)?;
            return Some((field, Some(to)));
        }
        // Of several conditions the cast is computed once, below.
        if let (Some(column), Some(projection)) = (expr.downcast_ref::<Column>(), self.projection)
            && let Some(call) = projection.expr()[column.index()].expr.downcast_ref::<ScalarFunctionExpr>()
        {
            let to = either_of(call.fun())?;
            let number = call.args().first()?.downcast_ref::<Column>()?;
            let field = self.scan.field_at(number.index())?;
            return (field.path.data_type == DataType::BigInt).then_some((field, Some(to)));
        }
        let (expr, cast) = match expr.downcast_ref::<CastExpr>() {
            Some(cast) => (cast.expr(), Some(integer(cast.cast_type())?)),
            None => (expr, None),
        };
        let mut field = self.field(expr).filter(|field| field.path.data_type == DataType::Text)?;
        if cast.is_some() {
            field.path.data_type = DataType::BigInt;
        }
        Some((field, cast))
    }

    /// What a document that contains another has.
    fn contained(&self, call: &ScalarFunctionExpr) -> Option<Vec<FieldTest>> {
        let [document, contained] = call.args() else { return None };
        if !matches!(routine_of(call.fun()), Some(Routine::JsonContains)) {
            return None;
        }
        let field = self.field(document).filter(|field| field.path.data_type == DataType::Jsonb)?;
        let contained = contained.downcast_ref::<Literal>()?.value();
        let mut tests = Vec::new();
        members(&field, contained.try_as_str()??, &mut tests)?;
        Some(tests)
    }
}

fn integer(arrow: &ArrowType) -> Option<DataType> {
    [DataType::SmallInt, DataType::Integer, DataType::BigInt].into_iter().find(|known| known.arrow() == *arrow)
}

/// What scalars among the members of an object say of what contains it; none of a text that is no object.
fn members(of: &ScanField, object: &str, tests: &mut Vec<FieldTest>) -> Option<()> {
    for (key, text) in weft_expr::json::members(object).ok()?? {
        let mut field = of.clone();
        field.path.steps.push(FieldStep::Key(key.into()));
        let (data_type, value) = match text.as_bytes().first()? {
            b'{' => {
                members(&field, text, tests);
                continue;
            }
            b'"' => (DataType::Text, Value::Text(weft_expr::json::plain_text(text).ok()??.into())),
            b't' | b'f' => (DataType::Boolean, Value::Bool(text == "true")),
            b'-' | b'0'..=b'9' => {
                let number: f64 = text.parse().ok()?;
                // Numbers beyond all doubles, and those that round to zero, have no bounds.
                if !number.is_finite() || number == 0.0 {
                    continue;
                }
                (DataType::DoublePrecision, Value::Float(number))
            }
            _ => continue,
        };
        field.path.data_type = data_type;
        let predicate = Predicate::Compare { column: 0, op: CompareOp::Eq, value };
        tests.push(FieldTest { field, predicate, cast: None });
    }
    Some(())
}
