//! Queries with FOR UPDATE and its kin that stand within statements, as WITH queries.
//!
//! ```text
//!   UPDATE jobs SET state = 'run' WHERE id IN (SELECT id FROM jobs ... LIMIT 1 FOR UPDATE SKIP LOCKED)
//!   WITH "\1locked0" AS (SELECT id FROM jobs ... LIMIT 1 FOR UPDATE SKIP LOCKED)
//!   UPDATE jobs SET state = 'run' WHERE id IN (SELECT * FROM "\1locked0")
//! ```
//!
//! Such a query runs once, before the statement, as a part of it. It sees the WITH queries before the place where it
//! stands, and no column of the statement around it.

use std::ops::ControlFlow;

use sqlparser::ast::{Cte, Expr, LockClause, Query, SelectItem, SetExpr, Statement, Value, VisitorMut, With};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

/// No name that people write begins with it.
const MARKER: char = '\u{1}';

/// Takes the queries that lock rows out of a statement, and puts them into its WITH.
pub(super) fn taken_apart(statement: Statement) -> Result<Statement> {
    match statement {
        Statement::Prepare { name, data_types, statement } => {
            Ok(Statement::Prepare { name, data_types, statement: Box::new(taken_apart(*statement)?) })
        }
        Statement::Query(mut query) => {
            if query.locks.is_empty() {
                of_query(&mut query)?;
            }
            Ok(Statement::Query(query))
        }
        Statement::Insert(mut insert) => {
            let with = insert.source.as_mut().and_then(|source| source.with.take());
            let (with, body) = match of_statement(with, SetExpr::Insert(Statement::Insert(insert)))? {
                Apart::Parts(query) => return Ok(Statement::Query(query)),
                Apart::None(with, body) => (with, body),
            };
            // As it was: WITH stands behind INSERT.
            let SetExpr::Insert(Statement::Insert(mut insert)) = *body else {
                return Err(Error::internal("an INSERT stays one"));
            };
            if let Some(source) = &mut insert.source {
                source.with = with;
            }
            Ok(Statement::Insert(insert))
        }
        update @ Statement::Update(_) => of_writing(update, SetExpr::Update),
        delete @ Statement::Delete(_) => of_writing(delete, SetExpr::Delete),
        merge @ Statement::Merge(_) => of_writing(merge, SetExpr::Merge),
        other => Ok(other),
    }
}

/// A statement without WITH.
fn of_writing(statement: Statement, body: impl Fn(Statement) -> SetExpr) -> Result<Statement> {
    let body = match of_statement(None, body(statement))? {
        Apart::Parts(query) => return Ok(Statement::Query(query)),
        Apart::None(_, body) => body,
    };
    match *body {
        SetExpr::Update(statement) | SetExpr::Delete(statement) | SetExpr::Merge(statement) => Ok(statement),
        _ => Err(Error::internal("a statement stays one")),
    }
}

/// What became of a statement.
enum Apart {
    /// It has parts now.
    Parts(Box<Query>),
    /// Nothing: its WITH, and itself.
    None(Option<With>, Box<SetExpr>),
}

fn of_statement(with: Option<With>, body: SetExpr) -> Result<Apart> {
    let mut query = selecting("1")?;
    *query.body = body;
    query.with = with;
    let is_part = of_query(&mut query)?;
    Ok(if is_part { Apart::Parts(query) } else { Apart::None(query.with.take(), query.body) })
}

/// Whether a query has parts that lock rows then.
fn of_query(query: &mut Query) -> Result<bool> {
    let mut taken = Taken::default();
    let with = query.with.take();
    let mut tables = Vec::new();
    let mut is_part = false;
    for mut table in with.iter().flat_map(|with| with.cte_tables.clone()) {
        if table.query.locks.is_empty() {
            taken.of(&mut *table.query)?;
        }
        is_part |= !table.query.locks.is_empty();
        tables.append(&mut taken.tables);
        tables.push(table);
    }
    taken.of(&mut *query)?;
    tables.append(&mut taken.tables);
    query.with = match (with, tables.is_empty()) {
        (_, true) => None,
        (Some(with), false) => Some(With { cte_tables: tables, ..with }),
        (None, false) => Some(With { cte_tables: tables, ..with_named("part")? }),
    };
    Ok(is_part || taken.count > 0)
}

/// Queries that were taken out.
#[derive(Default)]
struct Taken {
    tables: Vec<Cte>,
    count: usize,
}

impl Taken {
    /// Takes them out of a part of a statement.
    fn of(&mut self, part: &mut impl VisitMut) -> Result<()> {
        match part.visit(self) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    fn take(&mut self, query: &mut Query) -> Result<()> {
        // EXISTS asks for rows, not for columns; what a part returns has some.
        if let SetExpr::Select(select) = &mut *query.body
            && select.projection.is_empty()
        {
            select.projection.push(SelectItem::UnnamedExpr(Expr::Value(Value::Null.into())));
        }
        let name = format!("\"{MARKER}locked{}\"", self.count);
        self.count += 1;
        let locked = std::mem::replace(query, *selecting(&format!("* FROM {name}"))?);
        let named = with_named(&name)?.cte_tables.into_iter();
        self.tables.extend(named.map(|table| Cte { query: Box::new(locked.clone()), ..table }));
        Ok(())
    }
}

impl VisitorMut for Taken {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(clause) = of_a_side(&query.body) {
            let message = format!("FOR {} is not allowed with UNION, INTERSECT or EXCEPT", clause.lock_type);
            return ControlFlow::Break(Error::new(Code::FeatureNotSupported, message));
        }
        if query.locks.is_empty() {
            return ControlFlow::Continue(());
        }
        match self.take(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The locking clause of a side of a set operation.
fn of_a_side(body: &SetExpr) -> Option<&LockClause> {
    let SetExpr::SetOperation { left, right, .. } = body else { return None };
    [left, right].into_iter().find_map(|side| match &**side {
        SetExpr::Query(query) => query.locks.first(),
        side => of_a_side(side),
    })
}

/// A query of constants.
fn query_of(sql: &str) -> Result<Box<Query>> {
    let parsed = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).and_then(|mut parser| parser.parse_query());
    parsed.map_err(|error| Error::internal(error.to_string()))
}

fn selecting(list: &str) -> Result<Box<Query>> {
    query_of(&format!("SELECT {list}"))
}

/// WITH of one query, which has a name.
fn with_named(name: &str) -> Result<With> {
    let with = query_of(&format!("WITH {name} AS (SELECT 1) SELECT 1"))?.with;
    with.ok_or_else(|| Error::internal("a query behind WITH has it"))
}

#[cfg(test)]
mod tests {
    use super::super::parsed::Parsed;
    use super::super::statements::parse;
    use super::*;

    fn apart(sql: &str) -> String {
        let Some(Parsed::Sql { statement, .. }) = parse(sql).unwrap().pop() else { panic!("{sql}") };
        statement.to_string().replace(MARKER, "")
    }

    #[test]
    fn queries_that_lock_become_parts() {
        let cases = [
            (
                "UPDATE t SET a = 1 WHERE k IN (SELECT k FROM t ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED)",
                "WITH \"locked0\" AS (SELECT k FROM t ORDER BY k LIMIT 1 FOR UPDATE SKIP LOCKED) \
                 UPDATE t SET a = 1 WHERE k IN (SELECT * FROM \"locked0\")",
            ),
            (
                "INSERT INTO u WITH w AS (SELECT 1) SELECT * FROM (SELECT * FROM t, w FOR SHARE) AS s",
                "WITH w AS (SELECT 1), \"locked0\" AS (SELECT * FROM t, w FOR SHARE) \
                 INSERT INTO u SELECT * FROM (SELECT * FROM \"locked0\") AS s",
            ),
            (
                "WITH w AS (SELECT * FROM t FOR UPDATE) DELETE FROM t USING w WHERE t.k = w.k",
                "WITH w AS (SELECT * FROM t FOR UPDATE) DELETE FROM t USING w WHERE t.k = w.k",
            ),
            (
                "SELECT (SELECT k FROM t LIMIT 1 FOR UPDATE), (SELECT k FROM u LIMIT 1 FOR SHARE)",
                "WITH \"locked0\" AS (SELECT k FROM t LIMIT 1 FOR UPDATE), \
                 \"locked1\" AS (SELECT k FROM u LIMIT 1 FOR SHARE) \
                 SELECT (SELECT * FROM \"locked0\"), (SELECT * FROM \"locked1\")",
            ),
            (
                "SELECT * FROM (SELECT * FROM t) AS s FOR UPDATE",
                "SELECT * FROM (SELECT * FROM t FOR UPDATE) AS s FOR UPDATE",
            ),
            ("DELETE FROM t WHERE k IN (SELECT k FROM u)", "DELETE FROM t WHERE k IN (SELECT k FROM u)"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(apart(sql), wanted, "{sql}");
        }
    }
}
