//! Fields of documents that scans read by themselves: `doc->'a'->>'b'` without `doc`.
//!
//! ```text
//!   AggregateExec max(f)                              AggregateExec max(f)
//!     ProjectionExec doc->'r'->>'t' AS f        ─▶      ProjectionExec "field 0" AS f
//!       WeftScanExec columns=[doc]                        WeftScanExec columns=[], fields=[doc->'r'->>'t']
//! ```
//!
//! The optimizer moves what is said to belong near the leaves ([`step_into_document`]) into projections right above
//! scans, and this rule into the scans. Constants only are keys: of an open parameter the path is not known when it is
//! planned.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use weft_expr::routines::Routine;
use weft_expr::{Local, Style};
use weft_format::document::{FieldPath, FieldStep};
use weft_format::{DataType, Element, Value};
use weft_kernel::table::ScanField;

use super::routines::step_into_document;
use super::scan::WeftScanExec;
use super::typed_fields::{FieldPart, Part, part_of};
use super::types::value_of;

/// The type of a path of several steps.
const PATH: DataType = DataType::Array(Element::Text);

/// Moves fields of documents into the scans.
#[derive(Debug)]
pub(super) struct DocumentFields;

impl PhysicalOptimizerRule for DocumentFields {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(projection) = node.downcast_ref::<ProjectionExec>() else { return Ok(Transformed::no(node)) };
            let Some(scan) = projection.input().downcast_ref::<WeftScanExec>() else {
                return Ok(Transformed::no(node));
            };
            Ok(match read_by(projection, scan)? {
                Some(made) => Transformed::yes(made),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "document_fields"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The projection over a scan that reads its fields; none when it has none.
fn read_by(projection: &ProjectionExec, scan: &WeftScanExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if !scan.reads_fields() {
        return Ok(None);
    }
    let width = scan.columns().len();
    let mut fields: Vec<ScanField> = Vec::new();
    let mut exprs = Vec::with_capacity(projection.expr().len());
    for ProjectionExpr { expr, alias } in projection.expr() {
        let expr = Arc::clone(expr).transform_down(|part| {
            let Some((column, path)) = field_of(&part) else { return Ok(Transformed::no(part)) };
            let field = ScanField { column: scan.columns()[column], path };
            let place = fields.iter().position(|known| *known == field).unwrap_or_else(|| {
                fields.push(field);
                fields.len() - 1
            });
            Ok(Transformed::yes(Arc::new(Column::new("field", width + place)) as Arc<dyn PhysicalExpr>))
        });
        exprs.push((expr.data()?, alias.clone()));
    }
    if fields.is_empty() {
        return Ok(None);
    }
    let mut kept: Vec<usize> = exprs.iter().flat_map(|(expr, _)| collect_columns(expr)).map(|c| c.index()).collect();
    kept.retain(|&at| at < width);
    kept.sort_unstable();
    kept.dedup();
    let made: Arc<dyn ExecutionPlan> = Arc::new(scan.with_fields(&kept, fields));
    let schema = made.schema();
    let place = |at: usize| match at.checked_sub(width) {
        Some(field) => kept.len() + field,
        None => kept.binary_search(&at).unwrap_or(at),
    };
    let exprs = exprs.into_iter().map(|(expr, alias)| {
        let expr = expr.transform_up(|part| {
            let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
            let at = place(column.index());
            Ok(Transformed::yes(Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>))
        });
        Ok(ProjectionExpr { expr: expr.data()?, alias })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, made)?)))
}

/// The column of the scan, and where in its documents an expression's value is.
pub(super) fn field_of(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, FieldPath)> {
    let mut steps: Vec<FieldStep> = Vec::new();
    let mut at = expr;
    let (mut data_type, mut unless) = (None, None);
    loop {
        if let Some(column) = at.downcast_ref::<Column>() {
            steps.reverse();
            return Some((column.index(), FieldPath { steps, data_type: data_type?, unless }));
        }
        let call = at.downcast_ref::<ScalarFunctionExpr>()?;
        let part = part_of(call.fun()).filter(|_| data_type.is_none());
        let signature = step_into_document(part.map_or(call.fun(), |part| &part.text))?;
        match part {
            Some(FieldPart { part: Part::Number, read_as, .. }) => data_type = Some(*read_as),
            Some(FieldPart { part: Part::Rest, read_as, .. }) => unless = Some(*read_as),
            None => {}
        }
        let [of, step] = call.args() else { return None };
        let is_whole = matches!(signature.routine, Routine::JsonGet | Routine::JsonPath);
        match data_type {
            None => data_type = Some(signature.result),
            // Steps go into documents, not into texts.
            Some(_) if !is_whole && part.is_none() => return None,
            Some(_) => {}
        }
        let step = step.downcast_ref::<Literal>()?.value();
        let mut taken = if signature.args.get(1) == Some(&PATH) { path_of(step)? } else { vec![step_of(step)?] };
        taken.reverse();
        steps.append(&mut taken);
        at = of;
    }
}

/// The step that a constant says.
fn step_of(step: &ScalarValue) -> Option<FieldStep> {
    Some(match step {
        ScalarValue::Int16(Some(at)) => FieldStep::Index((*at).into()),
        ScalarValue::Int32(Some(at)) => FieldStep::Index((*at).into()),
        ScalarValue::Int64(Some(at)) => FieldStep::Index(*at),
        text => FieldStep::Key((*text.try_as_str()?.as_ref()?).into()),
    })
}

/// The steps of a constant path, an array or its text.
fn path_of(path: &ScalarValue) -> Option<Vec<FieldStep>> {
    let path = match path.try_as_str() {
        Some(text) => {
            let text = Value::Text((*text.as_ref()?).into());
            weft_expr::cast(text, DataType::Text, PATH, &Local::new(Style::default(), 0)).ok()?
        }
        None => value_of(path, PATH)?,
    };
    let Value::Array(keys) = path else { return None };
    let step = |key: &Value| match key {
        Value::Text(key) if key.trim().parse::<i64>().is_err() => Some(FieldStep::Key(key.clone())),
        Value::Text(key) => Some(FieldStep::Either(key.clone())),
        _ => None,
    };
    keys.values(DataType::Text).iter().map(step).collect::<Option<Vec<_>>>().filter(|steps| !steps.is_empty())
}
