//! Conditions as the storage layer knows them: what a partial index keeps of its WHERE, and what a statement's WHERE
//! says that a partial index may ask for.
//!
//! ```text
//!   a BETWEEN 1 AND 9      [a >= 1, a <= 9]          b IN ('x', 'y') AND d      [b IN ('x', 'y'), d = true]
//!   a = 1 OR a = 2         [a IN (1, 2)]             b NOT IN ('x', 'y')        [b <> 'x', b <> 'y']
//!   a > $1, a < b, lower(b) = 'x'                    none
//! ```
//!
//! 1. A row satisfies the condition exactly when it satisfies all of the predicates; both treat NULL as not satisfied.
//! 2. An index keeps values: what `'01/02/2024'` meant in the session that made it. The same text of a query is read in
//!    the query's session; a plan that was chosen by it is for sessions of that style only.

use sqlparser::ast::{BinaryOperator, Expr as SqlExpr, UnaryOperator, Value as SqlValue};
use weft_expr::{Local, Node};
use weft_format::{Code, CompareOp, DataType, Error, Predicate, Result, Value};
use weft_kernel::TableRef;

use super::TableShape;
use super::condition::{column_ordinal, exact_constant, flipped, split};
use super::planner::Planner;
use super::shape::key_value;
use crate::expr::{BindError, BindResult, Binder, Definer, EvalContext, Expr};
use crate::text;

/// Reads the constants of a condition.
struct Constants<'b, 's> {
    binder: &'b mut Binder<'s>,
    local: &'b Local,
    /// Whether they are kept for all sessions.
    is_stored: bool,
    /// Whether one means something else in sessions of another style.
    reads_session: bool,
}

/// The predicates of a partial index's WHERE, as the session that makes it reads them; what they cannot say is refused.
pub(crate) fn index_predicate(
    selection: &SqlExpr,
    table: &TableRef,
    source: &str,
    local: &Local,
) -> Result<Vec<Predicate>> {
    let shape = TableShape::bind(table)?;
    let definer = Some(Definer { local, texts: Vec::new() });
    let mut binder = Binder { is_stored: true, definer, ..Binder::new(source) };
    // Names and types first: their errors are the user's.
    match binder.bind_condition(selection, &shape.scope(shape.name())) {
        Ok(_) | Err(BindError::Unsupported(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let mut parts = Vec::new();
    split(selection, &mut parts);
    let mut predicates = Vec::new();
    let mut constants = Constants { binder: &mut binder, local, is_stored: true, reads_session: false };
    for part in parts {
        match predicates_of(part, &shape, shape.name(), &mut constants) {
            Ok(Some(found)) => predicates.extend(found),
            Ok(None) | Err(BindError::Unsupported(_)) => return Err(refused(part)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(predicates)
}

fn refused(part: &SqlExpr) -> Error {
    let message = format!("the condition {part} is not supported in the WHERE of CREATE INDEX");
    Error::new(Code::FeatureNotSupported, message).hint(
        "join comparisons of a column with a constant of its type by AND: =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, \
         IS NOT NULL, or a boolean column",
    )
}

/// What a WHERE clause says for sure; of conditions that are no predicates nothing.
pub(super) fn known_predicates(
    selection: &SqlExpr,
    shape: &TableShape,
    table: &str,
    planner: &mut Planner<'_>,
) -> BindResult<Vec<Predicate>> {
    let mut parts = Vec::new();
    split(selection, &mut parts);
    let mut known = Vec::new();
    let (binder, local) = (&mut planner.binder, planner.local);
    let mut constants = Constants { binder, local, is_stored: false, reads_session: false };
    for part in parts {
        known.extend(predicates_of(part, shape, table, &mut constants)?.unwrap_or_default());
    }
    planner.reads_session |= constants.reads_session;
    Ok(known)
}

/// The predicates that a condition is (predicate 1); none when it is something else.
fn predicates_of(
    condition: &SqlExpr,
    shape: &TableShape,
    table: &str,
    constants: &mut Constants<'_, '_>,
) -> BindResult<Option<Vec<Predicate>>> {
    let column_of = |expr: &SqlExpr| column_ordinal(expr, shape, table);
    let boolean = |expr: &SqlExpr, wanted: bool| {
        let column = column_of(expr).filter(|&ordinal| shape.columns()[ordinal].data_type == DataType::Boolean)?;
        Some(vec![Predicate::Compare { column, op: CompareOp::Eq, value: Value::Bool(wanted) }])
    };
    Ok(match condition {
        SqlExpr::Nested(inner) => return predicates_of(inner, shape, table, constants),
        SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
            let left = predicates_of(left, shape, table, constants)?;
            let right = predicates_of(right, shape, table, constants)?;
            left.zip(right).map(|(left, right)| [left, right].concat())
        }
        SqlExpr::BinaryOp { left, op: BinaryOperator::Or, right } => {
            let left = predicates_of(left, shape, table, constants)?;
            left.zip(predicates_of(right, shape, table, constants)?).and_then(|(left, right)| either(&left, &right))
        }
        SqlExpr::BinaryOp { left, op, right } => {
            for (column, constant, op) in [(left, right, Some(op.clone())), (right, left, flipped(op))] {
                if let (Some(op), Some(column)) = (op.as_ref().and_then(compare_op), column_of(column))
                    && let Some(value) = constants.value(constant, shape, column)?
                {
                    return Ok(Some(vec![Predicate::Compare { column, op, value }]));
                }
            }
            None
        }
        SqlExpr::Between { expr, negated: false, low, high } => {
            let Some(column) = column_of(expr) else { return Ok(None) };
            let low = constants.value(low, shape, column)?;
            let high = constants.value(high, shape, column)?;
            low.zip(high).map(|(low, high)| {
                let end = |op, value| Predicate::Compare { column, op, value };
                vec![end(CompareOp::GtEq, low), end(CompareOp::LtEq, high)]
            })
        }
        SqlExpr::InList { expr, list, negated } => {
            let Some(column) = column_of(expr) else { return Ok(None) };
            let mut values = Vec::with_capacity(list.len());
            for item in list {
                let Some(value) = constants.value(item, shape, column)? else { return Ok(None) };
                values.push(value);
            }
            let differs = |value| Predicate::Compare { column, op: CompareOp::NotEq, value };
            Some(match negated {
                false => vec![Predicate::In { column, values }],
                true => values.into_iter().map(differs).collect(),
            })
        }
        SqlExpr::IsNull(inner) => column_of(inner).map(|column| vec![Predicate::IsNull { column }]),
        SqlExpr::IsNotNull(inner) => column_of(inner).map(|column| vec![Predicate::IsNotNull { column }]),
        SqlExpr::UnaryOp { op: UnaryOperator::Not, expr } | SqlExpr::IsFalse(expr) => boolean(expr, false),
        SqlExpr::IsTrue(expr) => boolean(expr, true),
        other => boolean(other, true),
    })
}

/// Equalities of one column, either of which may hold.
fn either(left: &[Predicate], right: &[Predicate]) -> Option<Vec<Predicate>> {
    let list = |side: &[Predicate]| match side {
        [Predicate::Compare { column, op: CompareOp::Eq, value }] => Some((*column, vec![value.clone()])),
        [Predicate::In { column, values }] => Some((*column, values.clone())),
        _ => None,
    };
    let ((column, left), (other, right)) = list(left).zip(list(right))?;
    (column == other).then(|| vec![Predicate::In { column, values: [left, right].concat() }])
}

fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    match op {
        BinaryOperator::Eq => Some(CompareOp::Eq),
        BinaryOperator::NotEq => Some(CompareOp::NotEq),
        BinaryOperator::Lt => Some(CompareOp::Lt),
        BinaryOperator::LtEq => Some(CompareOp::LtEq),
        BinaryOperator::Gt => Some(CompareOp::Gt),
        BinaryOperator::GtEq => Some(CompareOp::GtEq),
        _ => None,
    }
}

impl Constants<'_, '_> {
    /// The value of a constant in the column's type; none when it is no constant, is NULL, is no value of that type, or
    /// names the present.
    fn value(&mut self, constant: &SqlExpr, shape: &TableShape, column: usize) -> BindResult<Option<Value>> {
        if has_parameter(constant) {
            return Ok(None);
        }
        let data_type = shape.columns()[column].data_type;
        let Some(bound) = exact_constant(constant, data_type, self.binder)? else { return Ok(None) };
        if !bound.is_immutable() {
            if self.is_stored {
                return Err(not_immutable().into());
            }
            if names_present(&bound) {
                return Ok(None);
            }
            self.reads_session = true;
        }
        let value = bound.eval(&[], &EvalContext { local: self.local, ..EvalContext::none() })?;
        Ok(key_value(value.as_ref(), bound.data_type, data_type))
    }
}

fn not_immutable() -> Error {
    Error::new(Code::InvalidObjectDefinition, "functions in index predicate must be marked IMMUTABLE")
        .hint("write a date or time as a constant in quotes: it is read once, when the index is made")
}

/// Whether a constant has a text like 'today', which is read anew for each execution.
fn names_present(constant: &Expr) -> bool {
    let mut found = matches!(&constant.node, Node::Literal(Value::Text(text)) if text::reads_present(text));
    constant.for_each_operand(&mut |operand| found |= names_present(operand));
    found
}

/// Whether what [`exact_constant`] takes for a constant is a parameter.
fn has_parameter(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::Value(value) => matches!(value.value, SqlValue::Placeholder(_)),
        SqlExpr::Nested(inner) | SqlExpr::UnaryOp { expr: inner, .. } | SqlExpr::Cast { expr: inner, .. } => {
            has_parameter(inner)
        }
        _ => false,
    }
}
