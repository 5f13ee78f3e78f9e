//! CASE within CASE: what the planner's time doubles with is bounded.
//!
//! ```text
//!   CASE WHEN a THEN 1 ELSE CASE WHEN b THEN 2 ELSE ... END END      CASE WHEN a THEN 1 WHEN b THEN 2 ELSE ... END
//!   CASE WHEN a THEN CASE WHEN b THEN CASE ... END END END           as it is, up to [`DEPTH_MAX`] of them; then 54001
//! ```
//!
//! For each CASE the planner asks each of its values twice whether it may be NULL, and a CASE asks those in it: with 20
//! of them within each other a statement takes a second to plan, with 40 it would never end, and planning is not
//! cancelled.
//!
//! 1. A chain is written out only where it would soon be refused: PostgreSQL finds the type of each inner CASE first,
//!    which makes a difference where reals meet integers that a real has not, or constants in quotes stand alone.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, VisitorMut};
use weft_format::{Code, Error, Result};
use weft_walk::VisitMut;

/// A chain of so many CASEs, each the ELSE of the one before, becomes one.
const CHAIN_MIN: usize = 12;

/// So many CASEs may stand within each other.
const DEPTH_MAX: usize = 16;

/// Writes long chains out, and refuses what is nested too deep.
pub(super) fn level_cases(query: &mut Query) -> Result<()> {
    match VisitMut::visit(query, &mut Levels { depth: 0, around: Vec::new() }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Levels {
    depth: usize,
    /// Those of the queries around.
    around: Vec<usize>,
}

impl VisitorMut for Levels {
    type Break = Error;

    /// What is in a subquery is planned by itself.
    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.around.push(std::mem::take(&mut self.depth));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth = self.around.pop().unwrap_or(0);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if !matches!(expr, Expr::Case { .. }) {
            return ControlFlow::Continue(());
        }
        if chain(expr) >= CHAIN_MIN {
            write_out(expr);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} CASE expressions stand within each other");
            let hint = "join conditions with AND, or compute inner values in a subquery of FROM";
            return ControlFlow::Break(Error::new(Code::StatementTooComplex, message).hint(hint));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        self.depth -= usize::from(matches!(expr, Expr::Case { .. }));
        ControlFlow::Continue(())
    }
}

/// How many CASEs without an operand follow each other, each the ELSE of the one before.
fn chain(mut expr: &Expr) -> usize {
    let mut length = 0;
    loop {
        match expr {
            Expr::Nested(inner) if length > 0 => expr = inner,
            Expr::Case { operand: None, else_result, .. } => {
                length += 1;
                match else_result {
                    Some(next) => expr = next,
                    None => return length,
                }
            }
            _ => return length,
        }
    }
}

fn write_out(expr: &mut Expr) {
    let Expr::Case { conditions, else_result, .. } = expr else { return };
    while let Some(next) = else_result.take() {
        match *next {
            Expr::Nested(inner) if chain(&inner) > 0 => *else_result = Some(inner),
            Expr::Case { operand: None, conditions: more, else_result: last, .. } => {
                conditions.extend(more);
                *else_result = last;
            }
            other => {
                *else_result = Some(Box::new(other));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;
    use sqlparser::parser::Parser;

    use super::*;
    use weft_sql::parse::WeftDialect;

    fn levelled(sql: &str) -> Result<String> {
        let statement = Parser::new(&WeftDialect::PLAIN)
            .with_recursion_limit(400)
            .try_with_sql(sql)
            .unwrap()
            .parse_statement()
            .unwrap();
        let Statement::Query(mut query) = statement else { panic!("{sql} is no query") };
        level_cases(&mut query).map(|()| query.to_string())
    }

    #[test]
    fn long_chains_become_one_case() {
        let chain = |length: usize| {
            let cases: String = (0..length).map(|n| format!("CASE WHEN a = {n} THEN {n} ELSE ")).collect();
            format!("SELECT {cases}b{}", " END".repeat(length))
        };
        assert_eq!(levelled(&chain(CHAIN_MIN - 1)).unwrap(), chain(CHAIN_MIN - 1));
        let branches: String = (0..40).map(|n| format!("WHEN a = {n} THEN {n} ")).collect();
        assert_eq!(levelled(&chain(40)).unwrap(), format!("SELECT CASE {branches}ELSE b END"));
    }

    #[test]
    fn deep_cases_are_refused() {
        let nested = |depth: usize| format!("SELECT {}b{}", "CASE WHEN a THEN ".repeat(depth), " END".repeat(depth));
        assert!(levelled(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(levelled(&nested(DEPTH_MAX + 1)).unwrap_err().code(), Code::StatementTooComplex);
        let beside = format!("SELECT {}", vec!["CASE WHEN a THEN 1 END"; 40].join(", "));
        assert_eq!(levelled(&beside).unwrap(), beside);
        let queries = format!("SELECT {}b{}", "CASE WHEN a THEN (SELECT ".repeat(20), ") END".repeat(20));
        assert_eq!(levelled(&queries).unwrap(), queries);
        let nested = format!("SELECT {}b{}", "CASE WHEN a THEN 1 ELSE (".repeat(20), ") END".repeat(20));
        let branches = "WHEN a THEN 1 ".repeat(20);
        assert_eq!(levelled(&nested).unwrap(), format!("SELECT CASE {branches}ELSE (b) END"));
    }
}
