//! The moment that a SELECT by key reads its table at.
//!
//! ```text
//!   SELECT v FROM t FOR SYSTEM_TIME AS OF $1 WHERE id = $2      the row of $2 as of the commit that $1 says
//! ```
//!
//! Only rows that their key names: indexes are read at the transaction's snapshot.

use sqlparser::ast::{Expr as SqlExpr, TableVersion, TableWithJoins};
use weft_format::{DataType, Result, Value};
use weft_kernel::{PastSnapshot, TableRef};

use super::planner::{Planner, RowContext};
use crate::expr::{BindError, BindResult, Expr, Scope};
use crate::moments::{bound, check, check_present, commit_at};
use crate::parse::period_of;

/// A moment, bound.
pub(super) struct PastMoment {
    expr: Expr,
    /// As it is written.
    pub(super) text: String,
}

/// A moment of one execution.
pub(super) struct At(PastSnapshot);

/// The only table of a FROM clause without its moment, and that.
pub(super) fn without_moment(from: &[TableWithJoins]) -> Option<(Vec<TableWithJoins>, SqlExpr)> {
    let [table] = from else { return None };
    let mut table = table.clone();
    let sqlparser::ast::TableFactor::Table { version, .. } = &mut table.relation else { return None };
    match version.take()? {
        TableVersion::ForSystemTimeAsOf(moment) if period_of(&moment).is_none() => Some((vec![table], moment)),
        _ => None,
    }
}

impl PastMoment {
    pub(super) fn bind(moment: &SqlExpr, planner: &mut Planner<'_>) -> BindResult<PastMoment> {
        check(moment)?;
        let is_parameter = matches!(moment, SqlExpr::Value(value)
            if matches!(value.value, sqlparser::ast::Value::Placeholder(_)));
        let hint = is_parameter.then_some(DataType::Text);
        let expr = planner.binder.bind(moment, &Scope::empty(), hint)?;
        Ok(PastMoment { expr, text: moment.to_string() })
    }

    /// The moment of this execution; what the table showed then is kept until it is dropped.
    pub(super) fn at(&self, table: &TableRef, context: &RowContext<'_>) -> Result<At> {
        check_present(context.txn)?;
        let value = self.expr.eval(&[], &context.eval)?;
        let commit = commit_at(context.txn, bound(value, self.expr.data_type, context.eval.local)?)?;
        let past = context.txn.past(commit)?;
        past.view(table)?;
        Ok(At(past))
    }
}

impl At {
    /// Some columns of a row; false when it was not there.
    pub(super) fn get(&self, table: &TableRef, key: &[u8], columns: &[usize], row: &mut Vec<Value>) -> Result<bool> {
        table.read(key, self.0.read_ts(), columns, row)
    }
}

/// What the point engine does not know of a table in the past the query engine may: its hidden columns.
pub(super) fn left_to_queries(error: BindError) -> BindError {
    match error {
        BindError::Wrong(error) => BindError::Unsupported(error.to_string()),
        other => other,
    }
}
