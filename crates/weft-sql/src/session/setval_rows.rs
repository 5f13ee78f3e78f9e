//! setval for each row of a query: the rows are found first, then the numbers are set.
//!
//! ```text
//!   SELECT setval(pg_get_serial_sequence('t', 'id'), coalesce(max(id), 1), max(id) IS NOT NULL) FROM t
//!     the name   SELECT pg_get_serial_sequence('t', 'id')
//!     rows of    SELECT 'public.t_id_seq', CAST(coalesce(max(id), 1) AS bigint), max(id) IS NOT NULL FROM t
//!     7          the sequence goes on behind 7
//! ```
//!
//! The call is the only item of the list.

use std::sync::Arc;

use sqlparser::ast::{CastKind, DataType as SqlType, Expr, SelectItem, SetExpr, Statement, Value as SqlValue};
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::{Object, ObjectKind, SequenceValue};
use weft_pgcatalog::is_constant;
use weft_pgcatalog::rights::Rights;

use super::work::Work;
use crate::expr::{arguments, function_name, relation_argument, relation_name};
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::resolve::{self, Relation};

/// What stands for a statement of setval.
pub(super) struct Asked {
    /// The name of the result.
    pub(super) name: String,
    /// The query of the sequence's name, where it is the same for all rows and the catalog tells it.
    pub(super) which: Option<Statement>,
    /// The query of the arguments.
    pub(super) rows: Statement,
}

impl Asked {
    /// The query of the arguments with the name that was asked for.
    pub(super) fn rows_of(mut self, which: &Outcome) -> Statement {
        let name = match which.rows.iter().next().as_deref() {
            Some([Value::Text(name)]) => SqlValue::SingleQuotedString(name.to_string()),
            _ => SqlValue::Null,
        };
        if let Statement::Query(query) = &mut self.rows
            && let SetExpr::Select(select) = &mut *query.body
            && let Some(first) = select.projection.first_mut()
        {
            *first = SelectItem::UnnamedExpr(cast(&Expr::value(name), SqlType::Text));
        }
        self.rows
    }
}

/// The query of the arguments of setval; none where a statement is another.
pub(super) fn arguments_of(statement: &Statement) -> Option<Asked> {
    let Statement::Query(query) = statement else { return None };
    let SetExpr::Select(select) = &*query.body else { return None };
    let [item] = &select.projection[..] else { return None };
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(crate::parse::fold(alias))),
        _ => return None,
    };
    let Expr::Function(function) = expr else { return None };
    if select.from.is_empty() || function_name(function) != "setval" || function.over.is_some() {
        return None;
    }
    let args = arguments(function)?;
    let ([which, value], rest) = args.split_first_chunk::<2>()?;
    let told = is_constant(which)
        .then(|| crate::dml::select(vec![SelectItem::UnnamedExpr((*which).clone())], Vec::new(), None));
    let which = match relation_argument(which) {
        Some(Ok(_)) => text_of(which)?,
        _ => cast(which, SqlType::Text),
    };
    let is_called = match rest {
        [] => Expr::value(SqlValue::Boolean(true)),
        [flag] => cast(flag, SqlType::Boolean),
        _ => return None,
    };
    let items = [which, cast(value, SqlType::BigInt(None)), is_called];
    let mut asked = query.clone();
    if let SetExpr::Select(select) = &mut *asked.body {
        select.projection = items.into_iter().map(SelectItem::UnnamedExpr).collect();
    }
    let which = told.and_then(Result::ok).map(|query| Statement::Query(Box::new(query)));
    Some(Asked { name: alias.unwrap_or_else(|| "setval".into()), which, rows: Statement::Query(asked) })
}

fn cast(expr: &Expr, data_type: SqlType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr.clone()), data_type, array: false, format: None }
}

/// The text of a constant that names a relation.
fn text_of(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) => text_of(expr),
        Expr::Value(_) => Some(expr.clone()),
        _ => None,
    }
}

/// Sets the numbers that the rows of the arguments name.
pub(super) fn set(work: &mut Work<'_>, arguments: &Outcome, name: &str) -> Result<Outcome> {
    work.check_writable("setval()")?;
    let mut set = Vec::with_capacity(arguments.rows.len());
    for row in arguments.rows.iter() {
        let [Value::Text(which), Value::Int(last), Value::Bool(is_called)] = &row[..] else {
            set.push(Value::Null);
            continue;
        };
        let sequence = sequence(work, which)?;
        work.permit.check_sequence(&sequence, Rights::UPDATE)?;
        work.txn.set_sequence(&sequence, SequenceValue { last: *last, is_called: *is_called })?;
        if *is_called {
            work.numbers.by_id.insert(sequence.id, *last);
        }
        set.push(Value::Int(*last));
    }
    let count = set.len() as u64;
    let columns = [OutputColumn::new(name, DataType::BigInt)].into();
    Ok(Outcome { tag: Tag::Select(count), columns, rows: Rows::from_values(1, set) })
}

fn sequence(work: &Work<'_>, which: &str) -> Result<Arc<Object>> {
    let name = relation_name(which)?;
    match resolve::relation(work.txn, &name) {
        Some(Relation::Object(object)) if object.kind == ObjectKind::Sequence => Ok(object),
        Some(_) => {
            let name = resolve::shown(&name);
            Err(Error::new(Code::WrongObjectType, format!("\"{name}\" is not a sequence")))
        }
        None => Err(resolve::undefined(&name)),
    }
}
