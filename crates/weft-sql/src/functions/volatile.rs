//! What expressions are, as far as it matters for where they may stand: what gives another value each time, what gives
//! many, what names columns.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Value, Visitor};
use weft_expr::builtins::{self, Volatility};
use weft_walk::Visit;

use super::scope::parameter;
use crate::expr::{AGGREGATES, function_name};
use crate::queries::has_of_its_own;

/// Functions that may give another value each time, or do something, and are not in the table of functions.
const VOLATILE: &[&str] = &[
    "random",
    "clock_timestamp",
    "timeofday",
    "gen_random_uuid",
    "nextval",
    "setval",
    "set_config",
    "weft_next_number",
];

/// Functions of many rows that are made by the query engine, and not in the table of functions.
const SETS_OF_QUERIES: &[&str] = &["generate_series", "unnest"];

/// Whether something gives another value each time, or may do so.
pub(super) fn is_volatile<T: Visit>(part: &T) -> bool {
    struct Volatiles;
    impl Visitor for Volatiles {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call) => {
                    let name = function_name(call);
                    let is_volatile =
                        VOLATILE.contains(&name.as_str()) || builtins::volatility(&name) == Volatility::Volatile;
                    if is_volatile { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    part.visit(&mut Volatiles).is_break()
}

/// How often each parameter is named.
pub(super) fn counts_of<T: Visit>(of: &T, count: usize) -> Vec<usize> {
    struct Counting(Vec<usize>);
    impl Visitor for Counting {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Some(at) = parameter_of(expr)
                && let Some(count) = self.0.get_mut(at)
            {
                *count += 1;
            }
            ControlFlow::Continue(())
        }
    }
    let mut counting = Counting(vec![0; count]);
    let _ = of.visit(&mut counting);
    counting.0
}

pub(super) fn parameter_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => parameter(name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression may stand in several places: it is small and gives the same value in each.
pub(super) fn is_repeatable(expr: &Expr, count: usize) -> bool {
    struct Size(usize);
    impl Visitor for Size {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }
    }
    const SIZE_MAX: usize = 24;
    let mut size = Size(0);
    let is_small = expr.visit(&mut size).is_continue() && size.0.saturating_mul(count.max(1)) <= SIZE_MAX;
    is_small && !is_volatile(expr)
}

/// Whether an expression names columns.
pub(super) fn has_names(expr: &Expr) -> bool {
    struct Names;
    impl Visitor for Names {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Names).is_break()
}

/// Whether a function of a name has many rows.
fn is_set(name: &str) -> bool {
    SETS_OF_QUERIES.contains(&name) || weft_expr::routines::gives_rows(name)
}

/// Whether an expression has a function of many rows.
pub(super) fn gives_rows(expr: &Expr) -> bool {
    struct Sets;
    impl Visitor for Sets {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call) if is_set(&function_name(call)) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Sets).is_break()
}

/// Whether an expression has an aggregate or a window function of its own query.
pub(super) fn is_of_rows(expr: &Expr) -> bool {
    has_of_its_own(expr, |part| match part {
        Expr::Function(call) => call.over.is_some() || AGGREGATES.contains(&function_name(call).as_str()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_expression;

    fn expr(text: &str) -> Expr {
        parse_expression(text).expect("it is an expression")
    }

    #[test]
    fn what_may_stand_in_several_places() {
        assert!(is_repeatable(&expr("t.a + 1"), 2));
        for text in ["random()", "(SELECT 1)", "gen_random_uuid()"] {
            assert!(!is_repeatable(&expr(text), 1), "{text}");
        }
        assert_eq!(counts_of(&expr("$1 + $2 * $1"), 3), [2, 1, 0]);
    }

    #[test]
    fn what_belongs_to_rows() {
        assert!(is_of_rows(&expr("1 + sum(a)")) && is_of_rows(&expr("row_number() OVER ()")));
        assert!(!is_of_rows(&expr("(SELECT sum(a) FROM t)")) && !is_of_rows(&expr("lower(a)")));
        assert!(gives_rows(&expr("unnest(a) + 1")) && !gives_rows(&expr("abs(a)")));
        assert!(has_names(&expr("f(a)")) && !has_names(&expr("1 + $1")));
    }
}
