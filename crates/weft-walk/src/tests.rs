//! The one walk calls what sqlparser's own walks call, in their order, and ends where they end.
#![allow(clippy::disallowed_methods, reason = "what the walks are compared with")]

use sqlparser::{dialect::PostgreSqlDialect, parser::Parser};

use super::*;

const STATEMENTS: [&str; 5] = [
    "WITH w AS (SELECT a, 1 FROM t WHERE b IN (SELECT c FROM u)) SELECT sum(x + 1) OVER (ORDER BY y) FROM w JOIN v ON \
     w.a = v.a LEFT JOIN LATERAL (SELECT 2) AS l ON true GROUP BY z HAVING count(*) > 3 ORDER BY 1 LIMIT 4",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (2 * 3, DEFAULT) ON CONFLICT (a) DO UPDATE SET b = excluded.b RETURNING a",
    "UPDATE t SET a = a + 1, b = (SELECT max(c) FROM u) FROM v WHERE t.a = v.a",
    "CREATE TABLE t (a integer DEFAULT 1 + 2 CHECK (a > 0), b text)",
    "DELETE FROM t USING u WHERE t.a = u.a AND t.b BETWEEN 1 AND 2",
];

/// Notes each hook and what it was called with, and breaks at the hook of a number.
struct Notes {
    said: Vec<String>,
    breaks_at: usize,
}

impl Notes {
    fn note(&mut self, hook: &str, node: &impl std::fmt::Display) -> ControlFlow<usize> {
        self.said.push(format!("{hook} {node}"));
        if self.said.len() == self.breaks_at { ControlFlow::Break(self.said.len()) } else { ControlFlow::Continue(()) }
    }
}

macro_rules! notes {
    ($($hook:ident: $node:ty),+ $(,)?) => {
        impl Visitor for Notes {
            type Break = usize;
            $(fn $hook(&mut self, node: &$node) -> ControlFlow<usize> { self.note(stringify!($hook), node) })+
        }
        impl VisitorMut for Notes {
            type Break = usize;
            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<usize> { self.note(stringify!($hook), node) })+
        }
    };
}

notes! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: Statement,
    post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
}

fn parsed(text: &str) -> Statement {
    Parser::parse_sql(&PostgreSqlDialect {}, text).unwrap().remove(0)
}

fn notes(breaks_at: usize) -> Notes {
    Notes { said: Vec::new(), breaks_at }
}

#[test]
fn the_walks_are_those_of_the_parser() {
    for text in STATEMENTS {
        let mut tree = parsed(text);
        let mut all = notes(0);
        assert!(Walked::visit(&tree, &mut all).is_continue());
        assert!(all.said.len() > 10, "{text}");
        for breaks_at in 0..=all.said.len() {
            let (mut theirs, mut ours) = (notes(breaks_at), notes(breaks_at));
            assert_eq!(Visit::visit(&tree, &mut ours), Walked::visit(&tree, &mut theirs));
            assert_eq!(ours.said, theirs.said);

            let (mut theirs, mut ours) = (notes(breaks_at), notes(breaks_at));
            assert_eq!(VisitMut::visit(&mut tree, &mut ours), WalkedMut::visit(&mut tree, &mut theirs));
            assert_eq!(ours.said, theirs.said);
        }
    }
}

#[test]
fn the_functions_call_in_the_order_of_the_parser() {
    for text in STATEMENTS {
        let mut tree = parsed(text);
        for outer_first in [true, false] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            if outer_first {
                let _ = visit_expressions(&tree, |part| noted(&mut ours, part));
                let _ = visit_relations(&tree, |name| noted(&mut ours, name));
                let _ = sqlparser::ast::visit_expressions(&tree, |part| noted(&mut theirs, part));
                let _ = sqlparser::ast::visit_relations(&tree, |name| noted(&mut theirs, name));
            } else {
                let _ = visit_expressions_mut(&mut tree, |part| noted(&mut ours, part));
                let _ = visit_relations_mut(&mut tree, |name| noted(&mut ours, name));
                let _ = sqlparser::ast::visit_expressions_mut(&mut tree, |part| noted(&mut theirs, part));
                let _ = sqlparser::ast::visit_relations_mut(&mut tree, |name| noted(&mut theirs, name));
            }
            assert!(!ours.is_empty());
            assert_eq!(ours, theirs, "{text}");
        }
    }
}

fn noted(said: &mut Vec<String>, node: &impl std::fmt::Display) -> ControlFlow<()> {
    said.push(node.to_string());
    ControlFlow::Continue(())
}
