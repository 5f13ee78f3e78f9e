//! WITH queries that the planner would compute otherwise than PostgreSQL: it writes a query into each place that names
//! it, and lets a recursive one count its own rows.
//!
//! ```text
//!   WITH q AS (SELECT random() AS r) SELECT ... FROM q UNION ALL SELECT ... FROM q     refused: two numbers for one
//!   WITH RECURSIVE x (n) AS (SELECT 1 UNION ALL SELECT count(*) FROM x) ...            refused: it would never end
//!   WITH RECURSIVE x AS (SELECT 1 UNION SELECT 2 LIMIT 1) ...                          a query like any other
//! ```
//!
//! Of a query in WITH RECURSIVE that is a union the planner knows the two sides, and forgets the WITH, ORDER BY and
//! LIMIT around them.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, Query, SelectItem, SetExpr, SetOperator, TableFactor, Visitor, With};
use weft_format::{Code, Error, Result};
use weft_sql::queries::has_of_its_own;
use weft_sql::queries::names::folded;
use weft_walk::Visit;

use super::dependent::is_aggregate;
use super::template::parsed;

/// Functions that have another value at each call.
const VOLATILE: [&str; 8] =
    ["random", "weft_next_number", "nextval", "setval", "gen_random_uuid", "uuid", "clock_timestamp", "timeofday"];

/// Refuses what would be computed otherwise.
pub(super) fn check(query: &Query) -> Result<()> {
    struct Checker;
    impl Visitor for Checker {
        type Break = Error;
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
            match check_one(query) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
    }
    match query.visit(&mut Checker) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn check_one(query: &Query) -> Result<()> {
    let Some(with) = &query.with else { return Ok(()) };
    let mut changing: Vec<String> = Vec::new();
    for cte in &with.cte_tables {
        let name = folded(&cte.alias.name);
        if is_volatile(&cte.query) || changing.iter().any(|other| names(&*cte.query, other) > 0) {
            changing.push(name.clone());
        }
        if with.recursive && counts_itself(&cte.query, &name) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(Error::new(Code::InvalidRecursion, message).hint("aggregate in the query that reads it"));
        }
        if with.recursive {
            check_recursive(with, &cte.query, &name)?;
        }
        if changing.contains(&name) && (uses(query, with, &name) > 1 || may_be_read_again(query, &name)) {
            let message =
                format!("WITH query \"{name}\" calls a function whose values change, and is read more than once");
            let error = Error::new(Code::FeatureNotSupported, format!("{message}: that is not supported"));
            return Err(error.hint("write its rows into a table first"));
        }
    }
    Ok(())
}

/// Refuses, in WITH RECURSIVE, what would be looked for among the tables: a query that comes later, and itself where
/// the planner does not see that it is recursive.
fn check_recursive(with: &With, query: &Query, name: &str) -> Result<()> {
    let later = with.cte_tables.iter().map(|other| folded(&other.alias.name)).skip_while(|other| other != name).skip(1);
    for later in later {
        if names(query, &later) > 0 {
            let message =
                format!("WITH query \"{name}\" reads \"{later}\", which comes after it: that is not supported");
            let hint = format!("write \"{later}\" first");
            return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
        }
    }
    if names(query, name) == 0 {
        return Ok(());
    }
    let bare = without_parentheses(query);
    if !is_union(bare) {
        let message =
            format!("recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term");
        return Err(Error::new(Code::InvalidRecursion, message));
    }
    check_around(bare, name)
}

/// The query in parentheses, when there is nothing else.
fn without_parentheses(query: &Query) -> &Query {
    match &*query.body {
        SetExpr::Query(inner) if !has_more(query) => without_parentheses(inner),
        _ => query,
    }
}

/// Whether something stands around what a query is made of.
fn has_more(query: &Query) -> bool {
    query.with.is_some() || query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some()
}

/// Refuses what stands around the union of a query that reads itself (see above).
fn check_around(query: &Query, name: &str) -> Result<()> {
    let (what, hint) = if query.with.is_some() {
        ("WITH", "write the inner WITH query before the recursive one")
    } else if query.order_by.is_some() {
        ("ORDER BY", "order the query that reads it")
    } else if query.limit_clause.is_some() || query.fetch.is_some() {
        ("LIMIT or OFFSET", "limit the query that reads it")
    } else {
        return Ok(());
    };
    let message = format!("{what} in the recursive query \"{name}\" is not supported");
    Err(Error::new(Code::FeatureNotSupported, message).hint(hint))
}

fn is_union(query: &Query) -> bool {
    matches!(&*query.body, SetExpr::SetOperation { op: SetOperator::Union, .. })
}

/// Hides from the planner that queries in WITH RECURSIVE are unions which do not read themselves: in parentheses they
/// are queries like any other. Those that do stand in none.
pub(super) fn hide_plain_unions(with: &mut With) -> Result<()> {
    for cte in &mut with.cte_tables {
        let is_plain = names(&*cte.query, &folded(&cte.alias.name)) == 0;
        if !is_plain {
            let bare = without_parentheses(&cte.query).clone();
            *cte.query = bare;
        } else if is_union(&cte.query) {
            let around = parsed("SELECT 1")?;
            let union = std::mem::replace(&mut *cte.query, around);
            *cte.query.body = SetExpr::Query(Box::new(union));
        }
    }
    Ok(())
}

fn is_volatile(query: &Query) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let Expr::Function(Function { name, .. }) = expr else { return ControlFlow::Continue(()) };
            let name = name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default();
            if VOLATILE.contains(&name.as_str()) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.visit(&mut Finder).is_break()
}

/// Counts what names a relation.
struct Uses<'a> {
    name: &'a str,
    found: usize,
}

impl Visitor for Uses<'_> {
    type Break = ();
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor
            && let [part] = &name.0[..]
            && part.as_ident().is_some_and(|ident| folded(ident) == self.name)
        {
            self.found += 1;
        }
        ControlFlow::Continue(())
    }
}

/// How often something names a relation.
fn names(of: &impl Visit, name: &str) -> usize {
    let mut uses = Uses { name, found: 0 };
    let _ = of.visit(&mut uses);
    uses.found
}

/// How often a query and its WITH queries read one of these, but for that one itself.
fn uses(query: &Query, with: &With, name: &str) -> usize {
    let others = with.cte_tables.iter().filter(|other| folded(&other.alias.name) != name);
    let within: usize = others.map(|other| names(&*other.query, name)).sum();
    names(&*query.body, name) + names(&query.order_by, name) + within
}

/// Whether a WITH query is named in a subquery or LATERAL that may refer to what is around it, and so run for each row
/// of that.
fn may_be_read_again(query: &Query, name: &str) -> bool {
    struct Finder<'a>(&'a str);
    impl Finder<'_> {
        fn look(&self, query: &Query) -> ControlFlow<()> {
            let is_again = names(query, self.0) > 0 && !reads_only(query);
            if is_again { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Subquery(query) => self.look(query),
                Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => self.look(subquery),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            match factor {
                TableFactor::Derived { lateral: true, subquery, .. } => self.look(subquery),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    query.body.visit(&mut Finder(name)).is_break()
}

/// Whether a query reads one relation, without a condition: then it refers to nothing around it.
fn reads_only(query: &Query) -> bool {
    let SetExpr::Select(select) = &*query.body else { return false };
    let is_bare = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => matches!(expr, Expr::Identifier(_)),
        _ => false,
    };
    let one = select.from.len() == 1 && select.from.iter().all(|from| from.joins.is_empty());
    one && select.selection.is_none() && select.having.is_none() && select.projection.iter().all(is_bare)
}

/// Whether the recursive term, which names the query, aggregates.
fn counts_itself(query: &Query, name: &str) -> bool {
    match &*query.body {
        SetExpr::SetOperation { right, .. } => term_counts(right, name),
        _ => false,
    }
}

fn term_counts(term: &SetExpr, name: &str) -> bool {
    let select = match term {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return term_counts(&query.body, name),
        SetExpr::SetOperation { left, right, .. } => return term_counts(left, name) || term_counts(right, name),
        _ => return false,
    };
    if names(&select.from, name) == 0 {
        return false;
    }
    has_of_its_own(&select.projection, is_aggregate) || has_of_its_own(&select.having, is_aggregate)
}
