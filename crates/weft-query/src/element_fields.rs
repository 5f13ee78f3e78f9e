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
//! 2. The scan raises the error of what is no array ([`FieldStep::ArrayElements`]), of the rows that it gives. Where
//!    something between it and the function leaves out rows it gives what is no array beside the lists, and the error
//!    comes where the function stood ([`only_arrays`]).
//! 3. Elements of which nothing is asked are counted as before: there is no list to count them by.
//! 4. What is asked of the document beside its elements is read once for the document, below them: neither it nor the
//!    document is repeated for each of them first.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::unnest::{ListUnnest, UnnestExec};
use weft_format::document::{FieldPath, FieldStep};
use weft_format::{DataType, Element};
use weft_kernel::table::ScanField;

use super::document_fields::field_of;
use super::links::{Item, Link, Rebuilt, columns_of, composed, links_below, replaced};
use super::only_arrays::only_arrays;
use super::scan::WeftScanExec;

/// The functions that give the elements of an array, as arrays, and what their elements are.
pub(super) const ELEMENTS: [(&str, DataType); 2] =
    [("list_jsonb_array_elements", DataType::Jsonb), ("list_jsonb_array_elements_text", DataType::Text)];

/// A projection over the elements of an array of documents that a scan gives.
struct Found<'a> {
    projection: &'a ProjectionExec,
    unnest: &'a UnnestExec,
    /// From the input of the elements down to the scan.
    links: Vec<Link<'a>>,
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
        let (links, below) = links_below(unnest.input());
        let scan = below.downcast_ref::<WeftScanExec>()?;
        let [ListUnnest { index_in_input_schema: place, depth: 1 }] = *unnest.list_column_indices() else {
            return None;
        };
        if !unnest.struct_column_indices().is_empty() || unnest.options().preserve_nulls() {
            return None;
        }
        let (first, rest) = links.split_first()?;
        let call = first.below(place);
        let call = call.downcast_ref::<ScalarFunctionExpr>()?;
        let (_, element) = *ELEMENTS.iter().find(|(name, _)| call.fun().name() == *name)?;
        let [array] = call.args() else { return None };
        let array = composed(rest, array).ok()?;
        let array = scan.field_at(array.downcast_ref::<Column>()?.index())?;
        if array.path.data_type != DataType::Jsonb {
            return None;
        }
        Some(Found { projection, unnest, links, scan, place, array, element })
    }

    fn read(&self) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (mut asked, mut beside) = (Vec::<FieldPath>::new(), Vec::<ScanField>::new());
        let mut exprs = Vec::with_capacity(self.projection.expr().len());
        for ProjectionExpr { expr, alias } in self.projection.expr() {
            let expr = Arc::clone(expr).transform_down(|part| {
                let place = if let Some(path) = self.path_of(&part) {
                    Place::Element(number_of(&mut asked, path))
                } else if let Some(field) = self.field_beside(&part) {
                    Place::Beside(number_of(&mut beside, field))
                } else {
                    return Ok(Transformed::no(part));
                };
                Ok(Transformed::yes(Arc::new(Column::new("field", self.marked(place))) as Arc<dyn PhysicalExpr>))
            })?;
            exprs.push((expr.data, alias.clone()));
        }
        if asked.is_empty() && beside.is_empty() {
            return Ok(None);
        }
        let width = self.width();
        let mut kept = columns_of(exprs.iter().map(|(expr, _)| expr));
        kept.retain(|&at| at < width);
        let first = kept.len() + beside.len();
        let below = self.below(&kept, &asked, beside)?;
        let unnested = self.unnested(below, first, &asked)?;
        let schema = unnested.schema();
        let place = |at: usize| match self.place_of(at) {
            Some(Place::Beside(number)) => kept.len() + number,
            Some(Place::Element(number)) => first + number,
            None => kept.binary_search(&at).unwrap_or(at),
        };
        let exprs = exprs.into_iter().map(|(expr, alias)| {
            let column = |at| {
                let at = place(at);
                Ok(Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>)
            };
            Ok(ProjectionExpr { expr: replaced(expr, column)?, alias })
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
            let whole = FieldPath::new(Vec::new(), self.element);
            return (column.index() == self.place).then_some(whole);
        }
        field_of(expr).filter(|(column, _)| *column == self.place).map(|(_, path)| path)
    }

    /// The value within a document beside the elements that an expression is: one for a row, not for each element (4).
    fn field_beside(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ScanField> {
        let (column, path) = field_of(expr).filter(|(column, _)| *column != self.place)?;
        let (first, rest) = self.links.split_first()?;
        let document = composed(rest, &first.below(column)).ok()?;
        let column = *self.scan.columns().get(document.downcast_ref::<Column>()?.index())?;
        Some(ScanField { column, path })
    }

    /// How many columns lie beside the elements, the array among them.
    fn width(&self) -> usize {
        self.unnest.input().schema().fields().len()
    }

    /// The number that a column has until the plan below is made: behind all that are there.
    fn marked(&self, place: Place) -> usize {
        let (number, half) = match place {
            Place::Beside(number) => (number, 0),
            Place::Element(number) => (number, 1),
        };
        self.width() + 2 * number + half
    }

    fn place_of(&self, marked: usize) -> Option<Place> {
        let number = marked.checked_sub(self.width())?;
        Some(if number.is_multiple_of(2) { Place::Beside(number / 2) } else { Place::Element(number / 2) })
    }

    /// What is used of what was below the elements, fields beside them, and the lists of what is asked of elements; the
    /// array itself where nothing is asked of them.
    fn below(&self, kept: &[usize], asked: &[FieldPath], beside: Vec<ScanField>) -> Result<Arc<dyn ExecutionPlan>> {
        let is_filtered = self.links.iter().any(|link| matches!(link, Link::Filter(_)));
        let step = if is_filtered { FieldStep::Elements } else { FieldStep::ArrayElements };
        let mut fields = beside;
        let lists = fields.len()..fields.len() + asked.len();
        fields.extend(asked.iter().map(|path| {
            let before = self.array.path.steps.iter().cloned().chain([step.clone()]);
            let steps = before.chain(path.steps.iter().cloned()).collect();
            ScanField { column: self.array.column, path: FieldPath { steps, ..path.clone() } }
        }));
        let mut wanted: Vec<Item> = kept.iter().map(|&at| Item::Old(at)).collect();
        wanted.extend((0..lists.start).map(Item::New));
        if asked.is_empty() {
            wanted.push(Item::Old(self.place));
        }
        wanted.extend(lists.clone().map(Item::New));
        if !is_filtered || asked.is_empty() {
            return Ok(Rebuilt::new(&self.links, self.scan, &wanted, &fields)?.plan);
        }
        // A row that is left out may have anything in place of the array (2).
        let unless = Some(DataType::Array(Element::Jsonb));
        let path = FieldPath { data_type: DataType::Jsonb, unless, ..self.array.path.clone() };
        fields.push(ScanField { column: self.array.column, path });
        wanted.push(Item::New(lists.end));
        let below = Rebuilt::new(&self.links, self.scan, &wanted, &fields)?;
        let schema = below.plan.schema();
        let others = below.column(Item::New(lists.end));
        let exprs = wanted[..wanted.len() - 1].iter().enumerate().map(|(at, &item)| {
            let field = schema.field(at);
            let expr = match item {
                Item::New(number) if number == lists.start => {
                    only_arrays((below.column(item), field.data_type()), Arc::clone(&others))
                }
                _ => below.column(item),
            };
            ProjectionExpr { expr, alias: field.name().clone() }
        });
        Ok(Arc::new(ProjectionExec::try_new(exprs.collect::<Vec<_>>(), Arc::clone(&below.plan))?))
    }

    /// The elements of the lists behind the other columns (1).
    fn unnested(
        &self,
        below: Arc<dyn ExecutionPlan>,
        first: usize,
        asked: &[FieldPath],
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = below.schema();
        let mut fields: Vec<_> = schema.fields().iter().take(first).cloned().collect();
        let whole = self.unnest.schema().field(self.place).data_type().clone();
        let types = asked.iter().map(|path| path.data_type.arrow()).chain(asked.is_empty().then_some(whole));
        fields.extend(
            types
                .enumerate()
                .map(|(number, arrow)| Arc::new(Field::new(schema.field(first + number).name(), arrow, true))),
        );
        let lists = (first..fields.len()).map(|at| ListUnnest { index_in_input_schema: at, depth: 1 }).collect();
        let schema = Arc::new(Schema::new(fields));
        let options = self.unnest.options().clone();
        Ok(Arc::new(UnnestExec::new(below, lists, Vec::new(), schema, options)?))
    }
}

/// A column that the scan gives instead of an expression.
enum Place {
    /// A field of the row's document.
    Beside(usize),
    /// A value of the element.
    Element(usize),
}

/// The number of a thing among those that were asked for.
fn number_of<T: PartialEq>(asked: &mut Vec<T>, thing: T) -> usize {
    asked.iter().position(|known| *known == thing).unwrap_or_else(|| {
        asked.push(thing);
        asked.len() - 1
    })
}
