//! The functions that parts of statements call.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, SelectItem, TableFactor, Visitor};
use weft_walk::Visit;

use super::names::of_fixed_name;
use crate::expr::function_name;

/// The functions of users that something calls.
pub(super) fn called_by<T: Visit>(part: &T) -> Vec<u32> {
    struct Called(Vec<u32>);
    impl Visitor for Called {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Function(call) = expr {
                self.0.extend(of_fixed_name(&call.name));
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            if let TableFactor::Table { name, args: Some(_), .. } | TableFactor::Function { name, .. } = factor {
                self.0.extend(of_fixed_name(name));
            }
            ControlFlow::Continue(())
        }
    }
    let mut called = Called(Vec::new());
    let _ = part.visit(&mut called);
    called.0
}

/// The functions of users that a result calls, not its subqueries, and how many of the system's that give many rows.
pub(super) fn called_in_result(items: &[SelectItem]) -> (Vec<u32>, usize) {
    struct Sets {
        depth: usize,
        called: Vec<u32>,
        count: usize,
    }
    impl Visitor for Sets {
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
            if let Expr::Function(call) = expr
                && self.depth == 0
            {
                let name = function_name(call);
                self.called.extend(of_fixed_name(&call.name));
                let is_set = weft_expr::routines::gives_rows(&name) || name == "generate_series" || name == "unnest";
                self.count += usize::from(is_set);
            }
            ControlFlow::Continue(())
        }
    }
    let mut sets = Sets { depth: 0, called: Vec::new(), count: 0 };
    items.iter().for_each(|item| {
        let _ = item.visit(&mut sets);
    });
    (sets.called, sets.count)
}
