//! Queries that are written as text, with a query of the statement in them.
//!
//! ```text
//!   parsed("SELECT n FROM (SELECT 1) AS \"left\" (n)")    put(.., "left", SELECT id FROM t)
//!     SELECT n FROM (SELECT id FROM t) AS "left" (n)
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Query, Statement, TableFactor, VisitorMut};
use sqlparser::parser::Parser;
use weft_format::{Error, Result};
use weft_walk::VisitMut;

use weft_sql::parse::WeftDialect;

/// The query that a text of ours is.
pub(super) fn parsed(sql: &str) -> Result<Query> {
    let parsed = Parser::parse_sql(&WeftDialect::PLAIN, sql);
    match parsed.map(|statements| statements.into_iter().next()) {
        Ok(Some(Statement::Query(query))) => Ok(*query),
        Ok(_) => Err(Error::internal(format!("a rewritten query is no query: {sql}"))),
        Err(error) => Err(Error::internal(format!("a rewritten query does not parse: {error}: {sql}"))),
    }
}

/// Puts `inner` where the derived table `name` stands.
pub(super) fn put(query: &mut Query, name: &str, inner: Query) -> Result<()> {
    struct Place<'a> {
        name: &'a str,
        inner: Option<Query>,
    }
    impl VisitorMut for Place<'_> {
        type Break = ();
        fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor
                && alias.name.value == self.name
                && let Some(inner) = self.inner.take()
            {
                **subquery = inner;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }
    let mut place = Place { name, inner: Some(inner) };
    match VisitMut::visit(query, &mut place) {
        ControlFlow::Break(()) => Ok(()),
        ControlFlow::Continue(()) => Err(Error::internal("a rewritten query lost its subquery")),
    }
}
