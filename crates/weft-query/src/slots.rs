//! Parameters that stay open in a plan, to be filled in by each execution.
//!
//! ```text
//!   SELECT sum(a * $3) FROM t WHERE k BETWEEN $1 AND $2 AND b + $3 > c ORDER BY 1 LIMIT $4
//!     open     $1, $2, $3: operands beside a column of their type        closed     $4: a part of the plan
//!     leaf     k >= $1, k <= $2: read as predicates when the scan starts (see `conditions`)
//!     above    b + slot(3) > c, a * slot(3): the function `slot` tells what the slots hold while the plan runs
//! ```
//!
//! 1. A parameter is open if each place in which it stands is one where a constant and a value that is known later are
//!    planned alike: an operand of a comparison, of arithmetic, of a list or of LIKE, whose other side has a column and
//!    the same type. All others are closed: a plan is good for one value of theirs.
//! 2. While a plan is made its slots are empty: what asks them then gets an error, so nothing is computed from them.
//! 3. The slots of a plan belong to one execution at a time (see `templates`).

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::expr::{Between, Cast, InList, Like, Placeholder, ScalarFunction};
use datafusion::logical_expr::logical_plan::{LogicalPlan, LogicalPlanBuilder, Values};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use weft_env::sync::RwLock;
use weft_format::DataType;

use super::named::with_names;
use super::pushdown::{compare_op, number_of};

/// Whether an expression has parameters in it.
pub(crate) fn has_parameters(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::Placeholder(_)))).unwrap_or(true)
}

/// Which parameters may stay open in a plan (slots 1).
pub(crate) fn open_parameters(plan: &LogicalPlan, types: &[Option<DataType>]) -> Result<Vec<bool>> {
    if types.is_empty() {
        return Ok(Vec::new());
    }
    let untyped = (1..=types.len()).filter(|number| types[number - 1].is_none());
    let mut places = Places { types, closed: untyped.collect() };
    plan.apply_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let may_be_open = match node {
            LogicalPlan::Filter(_) | LogicalPlan::Projection(_) => true,
            LogicalPlan::Join(join) => !join.on.iter().any(|(a, b)| has_parameters(a) || has_parameters(b)),
            LogicalPlan::Aggregate(aggregate) => !aggregate.group_expr.iter().any(has_parameters),
            _ => false,
        };
        node.apply_expressions(|expr| {
            if may_be_open {
                places.look(expr, matches!(node, LogicalPlan::Projection(_)), &schema)?;
            } else {
                places.close(expr);
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok((1..=types.len()).map(|number| !places.closed.contains(&number)).collect())
}

/// The places in which parameters stand.
struct Places<'a> {
    types: &'a [Option<DataType>],
    closed: BTreeSet<usize>,
}

impl Places<'_> {
    /// Looks at an expression; `is_open` says whether a parameter may stand in its place.
    fn look(&mut self, expr: &Expr, is_open: bool, schema: &DFSchema) -> Result<()> {
        let operands: Vec<&Expr> = match expr {
            Expr::Placeholder(_) => {
                if !is_open {
                    self.close(expr);
                }
                return Ok(());
            }
            Expr::Alias(alias) => return self.look(&alias.expr, is_open, schema),
            Expr::Cast(cast) if written(cast, self.types) => return self.look(&cast.expr, is_open, schema),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if !matches!(op, Operator::And | Operator::Or) => {
                vec![left, right]
            }
            Expr::Between(Between { expr, low, high, .. }) => vec![expr, low, high],
            Expr::InList(InList { expr, list, .. }) => std::iter::once(&**expr).chain(list).collect(),
            Expr::Like(Like { expr, pattern, .. }) => vec![expr, pattern],
            other => {
                other.apply_children(|child| {
                    self.look(child, false, schema)?;
                    Ok(TreeNodeRecursion::Continue)
                })?;
                return Ok(());
            }
        };
        let is_compared = !matches!(expr, Expr::BinaryExpr(BinaryExpr { op, .. }) if !is_comparison(*op));
        let fit = self.fit(&operands, is_compared, schema);
        operands.into_iter().try_for_each(|operand| self.look(operand, fit, schema))
    }

    /// Whether operands have one type (where they are compared: integers of any width), and one is a column: without
    /// it all would be a constant.
    fn fit(&self, operands: &[&Expr], is_compared: bool, schema: &DFSchema) -> bool {
        let data_type = |expr: &Expr| match bare(expr, self.types) {
            Expr::Placeholder(placeholder) => arrow_of(placeholder, self.types),
            other => other.get_type(schema).ok(),
        };
        let types: Option<Vec<ArrowType>> = operands.iter().map(|operand| data_type(operand)).collect();
        let Some(types) = types else { return false };
        let alike = |other: &ArrowType| *other == types[0] || (is_compared && integers(other, &types[0]));
        types.iter().all(alike) && operands.iter().any(|operand| has_column(operand))
    }

    fn close(&mut self, expr: &Expr) {
        let walked = expr.apply(|expr| {
            if let Expr::Placeholder(placeholder) = expr {
                self.closed.extend(number_of(placeholder));
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok(), "a walk that returns no error ends well");
    }
}

fn integers(a: &ArrowType, b: &ArrowType) -> bool {
    a.is_signed_integer() && b.is_signed_integer()
}

fn is_comparison(op: Operator) -> bool {
    compare_op(op).is_some()
}

fn has_column(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::Column(_) | Expr::OuterReferenceColumn(..)))).unwrap_or(false)
}

fn arrow_of(placeholder: &Placeholder, types: &[Option<DataType>]) -> Option<ArrowType> {
    types.get(number_of(placeholder)? - 1)?.map(|data_type| data_type.arrow())
}

/// Whether a cast only tells a parameter's type: `$1::date`.
fn written(cast: &Cast, types: &[Option<DataType>]) -> bool {
    let to = cast.field.data_type();
    matches!(&*cast.expr, Expr::Placeholder(placeholder) if arrow_of(placeholder, types).as_ref() == Some(to))
}

fn bare<'a>(expr: &'a Expr, types: &[Option<DataType>]) -> &'a Expr {
    match expr {
        Expr::Cast(cast) if written(cast, types) => &cast.expr,
        other => other,
    }
}

/// The plan with the closed parameters' values; open ones have the very types of their values.
pub(crate) fn with_closed(
    plan: &LogicalPlan,
    types: &[Option<DataType>],
    is_open: &[bool],
    given: &[ScalarValue],
) -> Result<LogicalPlan> {
    rewritten(plan.clone(), true, &|expr| {
        Ok(match expr {
            Expr::Cast(cast) if written(&cast, types) && stays_open(&cast.expr, is_open) => {
                Transformed::yes(*cast.expr)
            }
            Expr::Placeholder(placeholder) => {
                let number = number_of(&placeholder).filter(|number| *number <= given.len());
                let Some(number) = number else { return exec_err!("parameter {} has no value", placeholder.id) };
                match types[number - 1].filter(|_| is_open[number - 1]) {
                    None => Transformed::yes(Expr::Literal(given[number - 1].clone(), None)),
                    Some(data_type) => {
                        let field = Some(Arc::new(Field::new("", data_type.arrow(), true)));
                        Transformed::yes(Expr::Placeholder(Placeholder { id: placeholder.id, field }))
                    }
                }
            }
            other => Transformed::no(other),
        })
    })
}

fn stays_open(expr: &Expr, is_open: &[bool]) -> bool {
    let Expr::Placeholder(placeholder) = expr else { return false };
    number_of(placeholder).and_then(|number| is_open.get(number - 1)) == Some(&true)
}

/// The plan with slots for its open parameters, but for those that leaves read.
pub(crate) fn with_slots(plan: LogicalPlan, slots: &Arc<Slots>) -> Result<LogicalPlan> {
    rewritten(plan, false, &|expr| {
        let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
        let (Some(number), Some(field)) = (number_of(placeholder), &placeholder.field) else {
            return exec_err!("parameter {} has no type", placeholder.id);
        };
        let data_type = field.data_type().clone();
        let signature = Signature::nullary(Volatility::Volatile);
        let slot = Slot { number, data_type, slots: Arc::clone(slots), signature };
        slots.used.store(true, Ordering::Relaxed);
        let function = Arc::new(ScalarUDF::new_from_impl(slot));
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(function, Vec::new()))))
    })
}

/// Rewrites the expressions of a plan that have parameters; output columns keep their names, and unless they are
/// `retyped` their types.
fn rewritten(
    plan: LogicalPlan,
    retyped: bool,
    rewrite: &dyn Fn(Expr) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|plan| {
        if matches!(plan, LogicalPlan::TableScan(_)) {
            return Ok(Transformed::no(plan));
        }
        let plan = with_names(plan, &mut |expr| rewrite(expr))?;
        if !retyped {
            return Ok(plan);
        }
        plan.map_data(|plan| match plan {
            LogicalPlan::Values(Values { values, .. }) => LogicalPlanBuilder::values(values)?.build(),
            other => other.recompute_schema(),
        })
    })?;
    Ok(rewritten.data)
}

/// The values of a plan's open parameters, while it runs.
#[derive(Default)]
pub(crate) struct Slots {
    values: RwLock<Option<Arc<[ScalarValue]>>>,
    used: AtomicBool,
}

impl Slots {
    /// Whether operators above the leaves read them.
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Fills them for an execution; none: empties them.
    pub(crate) fn fill(&self, values: Option<Arc<[ScalarValue]>>) {
        *self.values.write() = values;
    }
}

/// The value of one open parameter, as a function without arguments.
struct Slot {
    number: usize,
    data_type: ArrowType,
    slots: Arc<Slots>,
    signature: Signature,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.number)
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Slot) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.slots, &other.slots)
    }
}

impl Eq for Slot {}

impl Hash for Slot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl ScalarUDFImpl for Slot {
    fn name(&self) -> &str {
        "slot"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(self.data_type.clone())
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match self.slots.values.read().as_ref().and_then(|values| values.get(self.number - 1)) {
            Some(value) => Ok(ColumnarValue::Scalar(value.clone())),
            None => exec_err!("parameter ${} has no value yet", self.number),
        }
    }
}
