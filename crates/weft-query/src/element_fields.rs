//! Elements of arrays within documents that scans read by themselves, leaf by leaf.
//!
//! ```text
//!   ProjectionExec r->>'t'                             ProjectionExec e0
//!     UnnestExec r                                       UnnestExec e0
//!       ProjectionExec jsonb_array_elements(f) AS r  ─▶    ProjectionExec "field 0" AS e0
//!         WeftScanExec fields=[doc->'a']                     WeftScanExec fields=[doc->'a'[*]->>'t']
//! ```
//!
//! 1. The lists of all paths below one array have one value for each element: side by side they are its elements.
//! 2. The scan raises the error of what is no array ([`FieldStep::ArrayElements`]), of the rows that it gives. So it is
//!    asked only where nothing between it and the function leaves out a row.
//! 3. Elements of which nothing is asked are counted as before: there is no list to count them by.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::unnest::{ListUnnest, UnnestExec};
use weft_format::DataType;
use weft_format::document::{FieldPath, FieldStep};
use weft_kernel::table::ScanField;
use weft_sql::queries::names::MARKER;

use super::document_fields::field_of;
use super::scan::WeftScanExec;

/// The functions that give the elements of an array, as arrays, and what their elements are.
pub(super) const ELEMENTS: [(&str, DataType); 2] =
    [("list_jsonb_array_elements", DataType::Jsonb), ("list_jsonb_array_elements_text", DataType::Text)];

/// A projection over the elements of an array of documents that a scan gives.
struct Found<'a> {
    projection: &'a ProjectionExec,
    unnest: &'a UnnestExec,
    below: &'a ProjectionExec,
    scan: &'a WeftScanExec,
    /// The place of the array, and then of its elements.
    place: usize,
    /// The array.
    array: ScanField,
    /// What the function makes of an element.
    element: DataType,
}

/// Moves elements of arrays into the scans.
#[derive(Debug)]
pub(super) struct ElementFields;

impl PhysicalOptimizerRule for ElementFields {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let made = node.downcast_ref::<ProjectionExec>().map(read_by).transpose()?.flatten();
            Ok(made.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "element_fields"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The projection over elements that the scan reads; none when it does not.
fn read_by(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    match Found::in_plan(projection) {
        Some(found) => found.read(),
        None => Ok(None),
    }
}

impl<'a> Found<'a> {
    fn in_plan(projection: &'a ProjectionExec) -> Option<Found<'a>> {
        let unnest = projection.input().downcast_ref::<UnnestExec>()?;
        let below = unnest.input().downcast_ref::<ProjectionExec>()?;
        let scan = below.input().downcast_ref::<WeftScanExec>()?;
        let [ListUnnest { index_in_input_schema: place, depth: 1 }] = *unnest.list_column_indices() else {
            return None;
        };
        if !unnest.struct_column_indices().is_empty() || unnest.options().preserve_nulls() {
            return None;
        }
        let call = below.expr()[place].expr.downcast_ref::<ScalarFunctionExpr>()?;
        let (_, element) = *ELEMENTS.iter().find(|(name, _)| call.fun().name() == *name)?;
        let [array] = call.args() else { return None };
        let array = scan.field_at(array.downcast_ref::<Column>()?.index())?;
        if array.path.data_type != DataType::Jsonb {
            return None;
        }
        Some(Found { projection, unnest, below, scan, place, array, element })
    }

    fn read(&self) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let width = self.unnest.schema().fields().len();
        let mut asked: Vec<FieldPath> = Vec::new();
        let mut exprs = Vec::with_capacity(self.projection.expr().len());
        for ProjectionExpr { expr, alias } in self.projection.expr() {
            let expr = Arc::clone(expr).transform_down(|part| {
                let Some(path) = self.path_of(&part) else { return Ok(Transformed::no(part)) };
                let number = asked.iter().position(|known| *known == path).unwrap_or_else(|| {
                    asked.push(path);
                    asked.len() - 1
                });
                Ok(Transformed::yes(Arc::new(Column::new("element", width + number)) as Arc<dyn PhysicalExpr>))
            })?;
            exprs.push((expr.data, alias.clone()));
        }
        if asked.is_empty() {
            return Ok(None);
        }
        let below = self.below(&asked)?;
        let unnested = self.unnested(below, &asked)?;
        let schema = unnested.schema();
        let exprs = exprs.into_iter().map(|(expr, alias)| {
            let expr = moved(expr, &schema, |at| if at < self.place { at } else { at - 1 })?;
            Ok(ProjectionExpr { expr, alias })
        });
        let made = ProjectionExec::try_new(exprs.collect::<Result<Vec<_>>>()?, unnested)?;
        let is_same = made.schema().fields().len() == self.projection.schema().fields().len()
            && made
                .schema()
                .fields()
                .iter()
                .zip(self.projection.schema().fields())
                .all(|(made, given)| made.name() == given.name() && made.data_type() == given.data_type());
        Ok(is_same.then(|| Arc::new(made) as Arc<dyn ExecutionPlan>))
    }

    /// What an expression wants of an element: it, or a value within it.
    fn path_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<FieldPath> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let whole = FieldPath { steps: Vec::new(), data_type: self.element };
            return (column.index() == self.place).then_some(whole);
        }
        field_of(expr).filter(|(column, _)| *column == self.place).map(|(_, path)| path)
    }

    /// What was below the elements without their array, and the lists of what is asked of them behind it.
    fn below(&self, asked: &[FieldPath]) -> Result<Arc<dyn ExecutionPlan>> {
        let others = || self.below.expr().iter().enumerate().filter(|(at, _)| *at != self.place).map(|(_, expr)| expr);
        let width = self.scan.columns().len();
        let used: BTreeSet<usize> =
            others().flat_map(|other| collect_columns(&other.expr)).map(|c| c.index()).collect();
        let kept: Vec<usize> = used.iter().copied().filter(|&at| at < width).collect();
        let mut fields: Vec<ScanField> =
            used.iter().filter(|&&at| at >= width).map(|&at| self.scan.fields()[at - width].clone()).collect();
        fields.extend(asked.iter().map(|path| {
            let before = self.array.path.steps.iter().cloned().chain([FieldStep::ArrayElements]);
            let steps = before.chain(path.steps.iter().cloned()).collect();
            ScanField { column: self.array.column, path: FieldPath { steps, data_type: path.data_type } }
        }));
        let scan: Arc<dyn ExecutionPlan> = Arc::new(self.scan.with_fields(&kept, fields));
        let schema = scan.schema();
        let places: Vec<usize> = used.iter().copied().collect();
        let mut exprs = Vec::with_capacity(self.below.expr().len() + asked.len());
        for other in others() {
            let expr = moved(Arc::clone(&other.expr), &schema, |at| places.binary_search(&at).unwrap_or(at))?;
            exprs.push(ProjectionExpr { expr, alias: other.alias.clone() });
        }
        for number in 0..asked.len() {
            let at = used.len() + number;
            let expr = Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>;
            exprs.push(ProjectionExpr { expr, alias: format!("{MARKER}element {number}") });
        }
        Ok(Arc::new(ProjectionExec::try_new(exprs, scan)?))
    }

    /// The elements of the lists behind the other columns (1).
    fn unnested(&self, below: Arc<dyn ExecutionPlan>, asked: &[FieldPath]) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = below.schema();
        let first = schema.fields().len() - asked.len();
        let mut fields: Vec<_> = schema.fields().iter().take(first).cloned().collect();
        fields.extend(asked.iter().enumerate().map(|(number, path)| {
            Arc::new(Field::new(schema.field(first + number).name(), path.data_type.arrow(), true))
        }));
        let lists = (0..asked.len()).map(|number| ListUnnest { index_in_input_schema: first + number, depth: 1 });
        let schema = Arc::new(Schema::new(fields));
        let options = self.unnest.options().clone();
        Ok(Arc::new(UnnestExec::new(below, lists.collect(), Vec::new(), schema, options)?))
    }
}

/// An expression over columns that are elsewhere now.
fn moved(
    expr: Arc<dyn PhysicalExpr>,
    schema: &Schema,
    place: impl Fn(usize) -> usize,
) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expr.transform_up(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        let at = place(column.index());
        Ok(Transformed::yes(Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(moved.data)
}
