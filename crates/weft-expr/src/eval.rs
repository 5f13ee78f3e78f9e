//! Evaluation.

use std::cmp::Ordering;

use weft_format::predicate::CompareOp;
use weft_format::{Code, DataType, Error, Result, Value};

use crate::arithmetic::compute;
use crate::arithmetic::negate;
use crate::cast::{assign, cast};
use crate::functions::{Function, call, round_decimal};
use crate::like::{like, like_any_case};
use crate::routines::{self, Routine};
use crate::{EvalContext, Expr, Node};

impl Expr {
    /// The value for one row (`Column(n)` reads `row[n]`).
    pub fn eval(&self, row: &[Value], context: &EvalContext<'_>) -> Result<Value> {
        match &self.node {
            Node::Literal(value) => Ok(value.clone()),
            Node::Param(index) => {
                context.params.get(*index).cloned().ok_or_else(|| {
                    Error::new(Code::UndefinedParameter, format!("there is no parameter ${}", index + 1))
                })
            }
            Node::Column(position) => Ok(row[*position].clone()),
            Node::Now => {
                cast(Value::Int(context.local.now_micros), DataType::TimestampTz, self.data_type, context.local)
            }
            Node::Arithmetic(op, left, right) => {
                let (a, b) = (left.eval(row, context)?, right.eval(row, context)?);
                if a.is_null() || b.is_null() {
                    return Ok(Value::Null);
                }
                compute(*op, (&a, left.data_type), (&b, right.data_type), self.data_type)
            }
            Node::Negate(expr) => negate(expr.eval(row, context)?, self.data_type),
            Node::Cast(expr) => cast(expr.eval(row, context)?, expr.data_type, self.data_type, context.local),
            Node::Assign(expr, column) => {
                assign(expr.eval(row, context)?, expr.data_type, self.data_type, column, context.local)
            }
            Node::Concat(left, right) => match (left.eval(row, context)?, right.eval(row, context)?) {
                (Value::Text(a), Value::Text(b)) => Ok(Value::Text(format!("{a}{b}").into())),
                _ => Ok(Value::Null),
            },
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if condition.truth(row, context)? == Some(true) {
                        return result.eval(row, context);
                    }
                }
                otherwise.as_ref().map_or(Ok(Value::Null), |expr| expr.eval(row, context))
            }
            Node::Call(function, args) => self.call(*function, args, row, context),
            Node::Routine(routine, args) => self.routine(*routine, args, row, context),
            _ => Ok(self.truth(row, context)?.map_or(Value::Null, Value::Bool)),
        }
    }

    /// The truth of a boolean expression; none is unknown.
    pub fn truth(&self, row: &[Value], context: &EvalContext<'_>) -> Result<Option<bool>> {
        match &self.node {
            Node::Compare(op, left, right) => Ok(compare(left, right, row, context)?.map(|order| op.holds(order))),
            Node::And(left, right) => {
                let first = left.truth(row, context);
                if matches!(first, Ok(Some(false))) {
                    return Ok(Some(false));
                }
                match (first, right.truth(row, context)) {
                    (_, Ok(Some(false))) => Ok(Some(false)),
                    (Ok(a), Ok(b)) => Ok(if a.is_none() || b.is_none() { None } else { Some(true) }),
                    (Err(error), _) | (_, Err(error)) => Err(error),
                }
            }
            Node::Or(left, right) => {
                let first = left.truth(row, context);
                if matches!(first, Ok(Some(true))) {
                    return Ok(Some(true));
                }
                match (first, right.truth(row, context)) {
                    (_, Ok(Some(true))) => Ok(Some(true)),
                    (Ok(a), Ok(b)) => Ok(if a.is_none() || b.is_none() { None } else { Some(false) }),
                    (Err(error), _) | (_, Err(error)) => Err(error),
                }
            }
            Node::Not(expr) => Ok(expr.truth(row, context)?.map(|truth| !truth)),
            Node::IsNull { expr, negated } => Ok(Some(expr.eval(row, context)?.is_null() != *negated)),
            Node::IsBool { expr, expected, negated } => {
                Ok(Some((expr.truth(row, context)? == Some(*expected)) != *negated))
            }
            Node::IsDistinct { left, right, negated } => {
                let (a, b) = (left.eval(row, context)?, right.eval(row, context)?);
                let distinct = match (a.is_null(), b.is_null()) {
                    (false, false) => a.as_ref().compare(b.as_ref()) != Ordering::Equal,
                    (a_null, b_null) => a_null != b_null,
                };
                Ok(Some(distinct != *negated))
            }
            Node::InList { expr, list, negated } => in_list(expr, list, *negated, row, context),
            Node::Like { expr, pattern, escape, insensitive, negated } => {
                match (expr.eval(row, context)?, pattern.eval(row, context)?) {
                    (Value::Text(text), Value::Text(pattern)) => {
                        let matched = if *insensitive {
                            like_any_case(&text, &pattern, *escape)
                        } else {
                            like(&text, &pattern, *escape)
                        };
                        let matched = matched.ok_or_else(|| {
                            Error::new(Code::InvalidEscapeSequence, "LIKE pattern must not end with escape character")
                        })?;
                        Ok(Some(matched != *negated))
                    }
                    _ => Ok(None),
                }
            }
            _ => match self.eval(row, context)? {
                Value::Bool(truth) => Ok(Some(truth)),
                Value::Null => Ok(None),
                other => unreachable!("a condition was bound to boolean, not {other:?}"),
            },
        }
    }

    fn routine(&self, routine: Routine, args: &[Expr], row: &[Value], context: &EvalContext<'_>) -> Result<Value> {
        let values = args.iter().map(|arg| arg.eval(row, context)).collect::<Result<Vec<Value>>>()?;
        let types = args.iter().map(|arg| arg.data_type).collect();
        let signature = routines::Signature { routine, args: types, result: self.data_type };
        if routine.is_volatile() && context.rng.is_none() {
            return Err(Error::new(Code::FeatureNotSupported, "random values are not to be had here"));
        }
        routines::call(&signature, &values, context.local, &|| context.rng.map_or(0, |rng| rng.next_u64()))
    }

    fn call(&self, function: Function, args: &[Expr], row: &[Value], context: &EvalContext<'_>) -> Result<Value> {
        match function {
            Function::Coalesce => {
                for arg in args {
                    let value = arg.eval(row, context)?;
                    if !value.is_null() {
                        return Ok(value);
                    }
                }
                Ok(Value::Null)
            }
            Function::NullIf => {
                let (a, b) = (args[0].eval(row, context)?, args[1].eval(row, context)?);
                let equal = !a.is_null() && !b.is_null() && a.as_ref().compare(b.as_ref()) == Ordering::Equal;
                Ok(if equal { Value::Null } else { a })
            }
            Function::Greatest | Function::Least => {
                let mut best = Value::Null;
                let wanted = if function == Function::Greatest { Ordering::Greater } else { Ordering::Less };
                for arg in args {
                    let value = arg.eval(row, context)?;
                    if !value.is_null() && (best.is_null() || value.as_ref().compare(best.as_ref()) == wanted) {
                        best = value;
                    }
                }
                Ok(best)
            }
            _ => {
                let values = args.iter().map(|arg| arg.eval(row, context)).collect::<Result<Vec<Value>>>()?;
                match values.first() {
                    _ if values.iter().any(Value::is_null) => Ok(Value::Null),
                    Some(Value::Decimal(v)) if function == Function::Round => {
                        Ok(Value::Decimal(round_decimal(*v, args[0].data_type)))
                    }
                    _ => call(function, &values, self.data_type),
                }
            }
        }
    }
}

fn compare(left: &Expr, right: &Expr, row: &[Value], context: &EvalContext<'_>) -> Result<Option<Ordering>> {
    // The common cases borrow instead of cloning texts.
    let borrowed = |expr: &Expr| match &expr.node {
        Node::Column(position) => Some(*position),
        _ => None,
    };
    match (borrowed(left), &right.node) {
        (Some(position), Node::Literal(value)) => Ok(order(&row[position], value)),
        (Some(position), _) => Ok(order(&row[position], &right.eval(row, context)?)),
        (None, _) => Ok(order(&left.eval(row, context)?, &right.eval(row, context)?)),
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    (!a.is_null() && !b.is_null()).then(|| a.as_ref().compare(b.as_ref()))
}

fn in_list(
    expr: &Expr,
    list: &[Expr],
    negated: bool,
    row: &[Value],
    context: &EvalContext<'_>,
) -> Result<Option<bool>> {
    let value = expr.eval(row, context)?;
    let mut unknown = value.is_null();
    for item in list {
        let item = item.eval(row, context)?;
        match order(&value, &item) {
            Some(found) if CompareOp::Eq.holds(found) => return Ok(Some(!negated)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { None } else { Some(negated) })
}
