//! Rows that are assigned to several columns, as one assignment for each.
//!
//! ```text
//!   SET (a, b) = (x, DEFAULT)     SET a = x, b = DEFAULT
//!   SET (a, b) = ROW(x, y)        SET a = x, b = y
//!   SET (a) = (x)                 SET a = x
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Insert, MergeAction,
    MergeInsertKind, OnConflictAction, OnInsert, SetExpr, Statement, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

use super::parts;

/// Writes such assignments so, wherever there are some; those of subqueries stay.
///
/// Parts of columns that are assigned are put together ([`parts`]); `read` reads an expression.
pub(super) fn written_singly(tree: &mut Statement, read: &dyn Fn(&str) -> Result<Expr>) -> Result<()> {
    match VisitMut::visit(tree, &mut Writer { read }) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Writer<'a> {
    read: &'a dyn Fn(&str) -> Result<Expr>,
}

impl Writer<'_> {
    fn assignments(&self, list: &mut Vec<Assignment>) -> Result<()> {
        singly(list)?;
        parts::together(list, &self.read)
    }

    fn insert(&self, insert: &mut Insert) -> Result<()> {
        if parts::has_parts(&insert.columns) {
            let Some(SetExpr::Values(values)) = insert.source.as_mut().map(|source| &mut *source.body) else {
                let message = "INSERT of parts of columns from a query is not supported";
                return Err(Error::new(Code::FeatureNotSupported, message).hint("make the whole value in the query"));
            };
            let rows = values.rows.iter_mut().map(|row| &mut row.content);
            parts::together_in_rows(&mut insert.columns, rows, &self.read)?;
        }
        match &mut insert.on {
            Some(OnInsert::OnConflict(conflict)) => match &mut conflict.action {
                OnConflictAction::DoUpdate(update) => self.assignments(&mut update.assignments),
                OnConflictAction::DoNothing => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn merge(&self, action: &mut MergeAction) -> Result<()> {
        match action {
            MergeAction::Update(update) => self.assignments(&mut update.assignments),
            MergeAction::Insert(insert) if parts::has_parts(&insert.columns) => match &mut insert.kind {
                MergeInsertKind::Values(values) => {
                    let rows = values.rows.iter_mut().map(|row| &mut row.content);
                    parts::together_in_rows(&mut insert.columns, rows, &self.read)
                }
                MergeInsertKind::Row => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl VisitorMut for Writer<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        let written = match statement {
            Statement::Update(update) => self.assignments(&mut update.assignments),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Merge(merge) => merge.clauses.iter_mut().try_for_each(|clause| self.merge(&mut clause.action)),
            _ => Ok(()),
        };
        written.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

fn singly(assignments: &mut Vec<Assignment>) -> Result<()> {
    if !assignments.iter().any(|known| matches!(known.target, AssignmentTarget::Tuple(_))) {
        return Ok(());
    }
    let mut made = Vec::with_capacity(assignments.len());
    for assignment in std::mem::take(assignments) {
        let Assignment { target: AssignmentTarget::Tuple(names), value } = &assignment else {
            made.push(assignment);
            continue;
        };
        let Some(values) = values_of(value, names.len()) else {
            made.push(assignment);
            continue;
        };
        if values.len() != names.len() {
            let message = "number of columns does not match number of values";
            return Err(Error::new(Code::SyntaxError, message));
        }
        let each = names.iter().zip(values).map(|(name, value)| Assignment {
            target: AssignmentTarget::ColumnName(name.clone()),
            value: value.clone(),
        });
        made.extend(each);
    }
    *assignments = made;
    Ok(())
}

/// The values of a row; none when only who runs it knows them.
fn values_of(value: &Expr, count: usize) -> Option<Vec<&Expr>> {
    match value {
        Expr::Tuple(values) => Some(values.iter().collect()),
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = &function.args else { return None };
            let arg = |arg| match arg {
                &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref value)) => Some(value),
                _ => None,
            };
            list.args.iter().map(arg).collect()
        }
        Expr::Subquery(_) => None,
        Expr::Nested(inner) if count == 1 => Some(vec![inner]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::parse::Parsed;

    #[test]
    fn rows_are_assigned_column_by_column() {
        let cases = [
            ("UPDATE t SET (a, b) = (x, DEFAULT), c = 1", "UPDATE t SET a = x, b = DEFAULT, c = 1"),
            ("UPDATE t SET (a, b) = ROW(b, a)", "UPDATE t SET a = b, b = a"),
            ("UPDATE t SET (a) = (1)", "UPDATE t SET a = 1"),
            ("UPDATE t SET (a, b) = (SELECT 1, 2)", "UPDATE t SET (a, b) = (SELECT 1, 2)"),
        ];
        for (sql, wanted) in cases {
            let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap().pop() else { panic!("{sql}") };
            assert_eq!(statement.to_string(), wanted);
        }
        assert!(parse("UPDATE t SET (a, b) = (1, 2, 3)").is_err());
    }
}
