//! What stands in a part of a query itself, and not in its subqueries.
//!
//! ```text
//!   sum(a) + (SELECT max(b) FROM u)      sum is of its own, max is not
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Visitor};
use weft_walk::Visit;

/// Whether some expression outside of subqueries is such a one.
pub fn has_of_its_own(part: &impl Visit, is_such: impl Fn(&Expr) -> bool) -> bool {
    part.visit(&mut Finder { depth: 0, is_such }).is_break()
}

struct Finder<F> {
    depth: usize,
    is_such: F,
}

impl<F: Fn(&Expr) -> bool> Visitor for Finder<F> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if self.depth == 0 && (self.is_such)(expr) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_expression;

    #[test]
    fn subqueries_are_passed_over() {
        let is_column = |expr: &Expr| matches!(expr, Expr::Identifier(_));
        let has = |text: &str| has_of_its_own(&parse_expression(text).unwrap(), is_column);
        assert!(has("1 + a"));
        assert!(has("(SELECT b) + a"));
        assert!(!has("1 + (SELECT b FROM u WHERE c = (SELECT d))"));
    }
}
