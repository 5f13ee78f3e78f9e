//! The moments that a statement reads tables at, when it runs: FOR SYSTEM_TIME AS OF, and transactions AS OF; periods
//! stand in `periods.rs`.
//!
//! ```text
//!   AS OF 1042                               commit 1042
//!   AS OF '2026-10-25 02:30'                 the session's zone says which moment that is; the last commit then
//!   AS OF now() - interval '1 hour'          the same
//!   AS OF $1                                 a number, or a text as above
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr as SqlExpr, SelectItem, Statement, Value as SqlValue, Visitor};
use weft_expr::builtins::{self, Volatility};
use weft_expr::{Local, cast, is_integer, text};
use weft_format::{Code, DataType, Error, Result, Timestamp, Value};
use weft_kernel::Transaction;
use weft_walk::{Visit, visit_expressions_mut};

use crate::binding::{Moment, When};
use crate::context::StatementContext;
use crate::expr::{BindError, Binder, EvalContext, Scope, function_name, literal};
use crate::parse::{moment_text, period_of};
use crate::queries::PreparedQuery;

/// A moment as it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// By the number of a commit.
    Commit(Timestamp),
    /// By the clock, microseconds since 1970-01-01 UTC.
    Wall(i64),
}

impl StatementContext<'_> {
    /// The moments that a query reads tables at.
    pub(crate) fn moments(&self, query: &PreparedQuery) -> Result<Arc<[Moment]>> {
        if query.moments().is_empty() {
            return Ok(Arc::new([]));
        }
        check_present(self.txn)?;
        let moment = |expr: &SqlExpr| {
            let when = match period_of(expr) {
                Some((kind, bounds)) => self.period(kind, &bounds)?,
                None => When::Commit(self.txn.past(self.commit_of(expr)?)?),
            };
            Ok(Moment { text: moment_text(expr), when })
        };
        query.moments().iter().map(moment).collect()
    }

    /// The commit that the expression of AS OF says.
    pub(crate) fn commit_of(&self, expr: &SqlExpr) -> Result<Timestamp> {
        commit_at(self.txn, self.bound_of(expr)?)
    }

    /// What an expression says of a moment; none: it is NULL.
    pub(crate) fn bound_of(&self, expr: &SqlExpr) -> Result<Option<Bound>> {
        check(expr)?;
        let (value, data_type) = self.value(expr)?;
        bound(value, data_type, self.local)
    }

    /// The value of an expression without columns, by the point engine or, where it does not know it, the query engine.
    fn value(&self, expr: &SqlExpr) -> Result<(Value, DataType)> {
        let mut binder = Binder::new("");
        binder.params = self.param_types.iter().copied().map(Some).collect();
        match binder.bind(expr, &Scope::empty(), None) {
            Ok(bound) if binder.params.len() <= self.params.len() => {
                let rng = &*self.txn.engine().env().rng;
                let eval = EvalContext { params: self.params, local: self.local, rng: Some(rng) };
                return Ok((bound.eval(&[], &eval)?, bound.data_type));
            }
            Ok(_) => {
                let message = format!("the statement has {} parameters", self.params.len());
                return Err(Error::new(Code::UndefinedParameter, message));
            }
            Err(BindError::Wrong(error)) => return Err(error),
            Err(BindError::Unsupported(_)) => {}
        }
        let mut expr = expr.clone();
        let put = visit_expressions_mut(&mut expr, |part| match self.put_parameter(part) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        if let ControlFlow::Break(error) = put {
            return Err(error);
        }
        let query = crate::dml::select(vec![SelectItem::UnnamedExpr(expr)], Vec::new(), None)?;
        let query = self.engine.prepare(&*self.txn, &Statement::Query(Box::new(query)), "", self.local)?;
        let data_type = query.columns().first().map_or(DataType::Text, |column| column.data_type);
        let collected = self.engine.collect(&query, || self.binding(&query))?;
        let rows = crate::outcome::Rows::from_collected(Arc::new([data_type]), collected);
        let row = rows.iter().next();
        Ok((row.and_then(|row| row.first().cloned()).unwrap_or_default(), data_type))
    }

    fn put_parameter(&self, part: &mut SqlExpr) -> Result<()> {
        let SqlExpr::Value(value) = &*part else { return Ok(()) };
        let SqlValue::Placeholder(name) = &value.value else { return Ok(()) };
        let at = name.trim_start_matches('$').parse::<usize>().unwrap_or_default().wrapping_sub(1);
        match (self.params.get(at), self.param_types.get(at)) {
            (Some(value), Some(data_type)) => {
                *part = literal(value, *data_type)?;
                Ok(())
            }
            _ => Err(Error::new(Code::UndefinedParameter, format!("there is no parameter {name}"))),
        }
    }
}

/// Fails in a transaction that reads the past as a whole.
pub(crate) fn check_present(txn: &Transaction) -> Result<()> {
    if !txn.is_past() {
        return Ok(());
    }
    let message = "reading another moment in a transaction that reads the past is not supported";
    Err(Error::new(Code::FeatureNotSupported, message).hint("COMMIT it, or leave out FOR SYSTEM_TIME"))
}

/// What a value says of a moment; none: it is NULL.
pub(crate) fn bound(value: Value, data_type: DataType, local: &Local) -> Result<Option<Bound>> {
    let number = |number: i64| {
        let commit = u64::try_from(number).map_err(|_| {
            Error::new(Code::InvalidParameterValue, format!("there is no commit {number}")).hint("they begin at 1")
        })?;
        Ok(Some(Bound::Commit(Timestamp(commit))))
    };
    let micros = match (value, data_type) {
        (Value::Null, _) => return Ok(None),
        (Value::Int(commit), from) if is_integer(from) => return number(commit),
        (Value::Text(text), _) => match text.trim().parse() {
            Ok(commit) => return number(commit),
            Err(_) => text::parse(&text, DataType::TimestampTz, local)?,
        },
        (value, from @ (DataType::TimestampTz | DataType::Timestamp | DataType::Date)) => {
            cast(value, from, DataType::TimestampTz, local)?
        }
        (_, from) => {
            let message = format!("AS OF takes a timestamptz or a bigint, not {}", text::type_name(from));
            return Err(Error::new(Code::DatatypeMismatch, message).hint("cast it"));
        }
    };
    match micros {
        Value::Int(micros) => Ok(Some(Bound::Wall(micros))),
        _ => Err(Error::internal("a timestamptz is a number")),
    }
}

/// The commit of a moment.
pub(crate) fn commit_at(txn: &Transaction, bound: Option<Bound>) -> Result<Timestamp> {
    match bound {
        Some(Bound::Commit(commit)) => txn.engine().commit_named(commit),
        Some(Bound::Wall(micros)) => txn.engine().commit_at(micros),
        None => {
            let error = Error::new(Code::InvalidParameterValue, "the moment of AS OF is NULL");
            Err(error.hint("name a timestamptz, or the number of a commit"))
        }
    }
}

/// Refuses what has no value of its own, or another each time.
pub(crate) fn check(expr: &SqlExpr) -> Result<()> {
    struct Parts;
    impl Visitor for Parts {
        type Break = Error;

        fn pre_visit_expr(&mut self, expr: &SqlExpr) -> ControlFlow<Error> {
            let what = match expr {
                SqlExpr::Subquery(_) | SqlExpr::Exists { .. } | SqlExpr::InSubquery { .. } => "a subquery".to_owned(),
                SqlExpr::Function(function) => match function_name(function) {
                    name if builtins::volatility(&name) == Volatility::Volatile || name == "clock_timestamp" => {
                        format!("the volatile function {name}")
                    }
                    _ => return ControlFlow::Continue(()),
                },
                _ => return ControlFlow::Continue(()),
            };
            let error = Error::new(Code::FeatureNotSupported, format!("{what} in AS OF is not supported"));
            ControlFlow::Break(error.hint("compute the moment first, and give it as a parameter"))
        }
    }
    match expr.visit(&mut Parts) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}
