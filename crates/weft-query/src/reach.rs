//! Which relations an expression may name, where the planner found none of the name.
//!
//! ```text
//!   SELECT (SELECT max(q.v) FROM LATERAL (SELECT i.v FROM i WHERE i.k = o.k) AS q) FROM o
//!     o is the query around the subquery around the one that names it: the planner looks one query further only
//!   SELECT * FROM a, (SELECT a.x) AS q        a is no name there, without LATERAL
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, SetExpr, TableFactor, TableWithJoins, Visitor};
use weft_walk::Visit;

use weft_sql::queries::names::folded;

/// Whether `name.column` stands somewhere in a query where a FROM clause around it has the name.
pub(super) fn is_in_reach(query: &Query, name: &str) -> bool {
    Visit::visit(query, &mut Finder { name, around: Vec::new(), hidden: Vec::new() }).is_break()
}

/// Whether a FROM clause somewhere in a query has a relation of this name.
pub(super) fn has_relation(query: &Query, name: &str) -> bool {
    struct Named<'a>(&'a str);
    impl Visitor for Named<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            if has_name(&query.body, self.0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    Visit::visit(query, &mut Named(name)).is_break()
}

struct Finder<'a> {
    name: &'a str,
    /// Per query around: whether the name is there.
    around: Vec<bool>,
    /// The same of queries whose FROM is visited, for what does not see its neighbours.
    hidden: Vec<bool>,
}

impl Visitor for Finder<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.around.push(has_name(&query.body, self.name));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    /// What is not LATERAL sees what is around the query, not its neighbours.
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { lateral: false, .. } = factor {
            let hidden = self.around.pop();
            self.hidden.push(hidden.unwrap_or(false));
            self.around.push(false);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { lateral: false, .. } = factor {
            self.around.pop();
            self.around.extend(self.hidden.pop());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_it = matches!(expr, Expr::CompoundIdentifier(parts)
            if parts.len() > 1 && folded(&parts[parts.len() - 2]) == self.name);
        if is_it && self.around.contains(&true) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether a relation of FROM has the name.
fn has_name(body: &SetExpr, name: &str) -> bool {
    match body {
        SetExpr::Select(select) => select_has(select, name),
        SetExpr::SetOperation { left, right, .. } => has_name(left, name) || has_name(right, name),
        _ => false,
    }
}

fn select_has(select: &Select, name: &str) -> bool {
    select.from.iter().any(|from| joined_has(from, name))
}

fn joined_has(from: &TableWithJoins, name: &str) -> bool {
    factor_has(&from.relation, name) || from.joins.iter().any(|join| factor_has(&join.relation, name))
}

fn factor_has(factor: &TableFactor, name: &str) -> bool {
    match factor {
        TableFactor::Table { name: table, alias, .. } => match alias {
            Some(alias) => folded(&alias.name) == name,
            None => table.0.last().and_then(|part| part.as_ident()).is_some_and(|part| folded(part) == name),
        },
        TableFactor::NestedJoin { table_with_joins, .. } => joined_has(table_with_joins, name),
        TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref().is_some_and(|alias| folded(&alias.name) == name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::template::parsed;
    use super::*;

    #[test]
    fn names_reach_queries_inside_and_lateral_neighbours() {
        let cases = [
            ("SELECT (SELECT max(q.v) FROM LATERAL (SELECT i.v FROM i WHERE i.k = o.k) AS q) FROM o", true),
            ("SELECT 1 FROM t AS o, LATERAL (SELECT 1 FROM i WHERE i.k = (SELECT o.k)) AS q", true),
            ("SELECT o.k FROM i", false),
            ("SELECT o.k FROM o AS p", false),
            ("SELECT 1 FROM o, (SELECT o.k) AS q", false),
            ("SELECT 1 FROM (SELECT 1 FROM o) AS q WHERE o.k = 1", false),
        ];
        for (sql, reached) in cases {
            assert_eq!(is_in_reach(&parsed(sql).unwrap(), "o"), reached, "{sql}");
        }
    }
}
