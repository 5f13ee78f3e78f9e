//! Names and columns in the pieces of a statement.
//!
//! ```text
//!   SELECT a, b AS c, count(*)                        columns a, c, count
//!   INSERT INTO t (b) VALUES (1)                      gives b
//!   INSERT INTO t VALUES (1)                          gives the first column
//!   WHEN NOT MATCHED THEN INSERT DEFAULT VALUES       gives none
//! ```

use sqlparser::ast::{
    Expr, Insert, JoinConstraint, JoinOperator, MergeInsertExpr, MergeInsertKind, ObjectName, SelectItem, SetExpr,
    Values,
};

use crate::parse::{fold, inserted, inserts_defaults};

/// The last part of a name.
pub(super) fn last(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

/// The alias of a column of a result.
pub(super) fn alias_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}

/// The name of a column of a result; none for those of which there may be several.
pub(super) fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(expr) => Some(match expr {
            Expr::Identifier(name) => fold(name),
            Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
            Expr::Function(function) => crate::expr::function_name(function),
            Expr::Cast { expr, .. } => match &**expr {
                Expr::Identifier(name) => fold(name),
                Expr::CompoundIdentifier(parts) => parts.last().map(fold).unwrap_or_default(),
                _ => return None,
            },
            Expr::Value(_) | Expr::BinaryOp { .. } => "?column?".to_owned(),
            _ => return None,
        }),
        _ => None,
    }
}

/// The columns that an INSERT gives values for, in their order.
pub(super) fn given_columns(insert: &Insert, columns: &[(String, i64)]) -> Vec<(String, i64)> {
    if !insert.columns.is_empty() {
        let find = |name: &ObjectName| columns.iter().find(|(known, _)| *known == last(name)).cloned();
        return insert.columns.iter().filter_map(find).collect();
    }
    let count = match insert.source.as_deref().map(|source| &*source.body) {
        None => 0,
        Some(SetExpr::Values(values)) => values.rows.first().map_or(0, |row| row.len()),
        Some(SetExpr::Select(select))
            if select
                .projection
                .iter()
                .all(|item| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })) =>
        {
            select.projection.len()
        }
        Some(_) => columns.len(),
    };
    columns.iter().take(count).cloned().collect()
}

/// The VALUES of an INSERT of MERGE.
pub(super) fn values_of(insert: &MergeInsertExpr) -> Option<&Values> {
    match &insert.kind {
        MergeInsertKind::Values(values) => Some(values),
        MergeInsertKind::Row => None,
    }
}

/// The columns that an INSERT of MERGE gives values for, in their order; all, when it names one that is not there.
pub(super) fn merged_columns(insert: &MergeInsertExpr, columns: &[(String, i64)]) -> Vec<(String, i64)> {
    if inserts_defaults(insert) {
        return Vec::new();
    }
    let (named, _) = inserted(insert);
    if named.is_empty() {
        let width = values_of(insert).and_then(|values| values.rows.first()).map_or(columns.len(), |row| row.len());
        return columns.iter().take(width).cloned().collect();
    }
    let find = |name: &&ObjectName| columns.iter().find(|(known, _)| *known == last(name)).cloned();
    named.iter().map(find).collect::<Option<_>>().unwrap_or_else(|| columns.to_vec())
}

/// What a join compares.
pub(super) fn constraint_of(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}

/// The names of a query's columns; none when they cannot be told from it alone.
pub(super) fn output_names(body: &SetExpr) -> Option<Vec<String>> {
    match body {
        SetExpr::Select(select) => select.projection.iter().map(name_of).collect(),
        SetExpr::Query(query) => output_names(&query.body),
        SetExpr::SetOperation { left, .. } => output_names(left),
        SetExpr::Values(values) => {
            let width = values.rows.first().map_or(0, |row| row.len());
            Some((1..=width).map(|at| format!("column{at}")).collect())
        }
        _ => None,
    }
}
