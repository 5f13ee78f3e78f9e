//! WITH before statements that write.
//!
//! ```text
//!   WITH x AS (SELECT ...) INSERT INTO t SELECT ...     INSERT INTO t WITH x AS (SELECT ...) SELECT ...
//!   WITH x AS (SELECT ...) UPDATE t ...                 a query whose body is the UPDATE
//! ```

use sqlparser::ast::{Query, SetExpr, Statement, With};

use super::names::fold;

/// Whether a query is a statement that writes.
pub(crate) fn writes(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// Whether a WITH query is run by itself: it writes, or locks rows.
pub(crate) fn is_part(query: &Query) -> bool {
    writes(query) || !query.locks.is_empty()
}

/// Whether some of a query's WITH queries are run by themselves.
pub(crate) fn has_writing_parts(query: &Query) -> bool {
    query.with.iter().flat_map(|with| &with.cte_tables).any(|table| is_part(&table.query))
}

/// An INSERT behind WITH has it before its own query.
pub(super) fn put_behind_insert(statement: Statement) -> Statement {
    match statement {
        Statement::Query(query) if writes(&query) && !has_writing_parts(&query) => statement_of(*query, None),
        other => other,
    }
}

/// The statement that a query is which writes, behind its own WITH and those before it.
pub(crate) fn statement_of(query: Query, before: Option<With>) -> Statement {
    let Query { with, body, .. } = query.clone();
    let with = joined(before, with);
    match (*body, with) {
        (SetExpr::Insert(Statement::Insert(mut insert)), Some(with)) => {
            if let Some(source) = &mut insert.source {
                source.with = joined(Some(with), source.with.take());
            }
            Statement::Insert(insert)
        }
        (
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement),
            None,
        ) => statement,
        (_, with) => Statement::Query(Box::new(Query { with, ..query })),
    }
}

/// Both, the inner ones hiding outer ones of their names.
fn joined(outer: Option<With>, inner: Option<With>) -> Option<With> {
    match (outer, inner) {
        (Some(mut outer), Some(inner)) => {
            let hides = |name: &str| inner.cte_tables.iter().any(|table| fold(&table.alias.name) == name);
            outer.cte_tables.retain(|table| !hides(&fold(&table.alias.name)));
            outer.recursive |= inner.recursive;
            outer.cte_tables.extend(inner.cte_tables);
            Some(outer)
        }
        (outer, inner) => outer.or(inner),
    }
}
