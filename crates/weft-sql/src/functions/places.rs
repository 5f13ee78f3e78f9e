//! A function's query in the place of a call.
//!
//! ```text
//!   f(a) is SELECT a + 1                     f(t.k)         t.k + 1
//!   g(a) is SELECT v FROM u WHERE k = a      g(t.k)         (SELECT v FROM u WHERE k = t.k LIMIT 1)
//!                                            g(random())    (SELECT (SELECT v FROM u WHERE k = c."1" LIMIT 1)
//!                                                             FROM (SELECT random() AS "1") AS c)
//!   SETOF                                    FROM g(1)      LATERAL (SELECT q.c1 AS g FROM (SELECT v ...) AS q(c1))
//!                                            SELECT g(1)    unnest(ARRAY(SELECT v ...))
//! ```
//!
//! Arguments are put where the text names them when that cannot change what they mean (functions 1): they give the same
//! value each time, and their columns have names that the text does not hide. Else they are columns of a row of their
//! own.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    CaseWhen, Expr, FunctionArguments, GroupByExpr, Ident, Join, JoinConstraint, JoinOperator, LimitClause, Query,
    SelectItem, SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value, Visitor,
    VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_kernel::Transaction;
use weft_walk::{Visit, VisitMut};

use super::body::{Body, alone};
use super::calls::typed;
use super::definition::{Function, Gives};
use super::scope::Typing;
use super::volatile::{counts_of, gives_rows, has_names, is_of_rows, is_repeatable, is_volatile, parameter_of};
use crate::dml::select;
use crate::expr::{AGGREGATES, function_name};
use crate::parse::{fold, parse_expression};
use crate::queries::has_of_its_own;
use crate::types;

/// The expression in the place of a call.
pub(crate) fn in_place(txn: &Transaction, function: &Function, body: Body, args: Vec<Expr>) -> Result<Expr> {
    if function.gives_rows() {
        let message = format!("function {} gives rows, where a value is expected", function.name);
        return Err(Error::new(Code::FeatureNotSupported, message)
            .hint(format!("call it in FROM: SELECT * FROM {}(...)", function.name)));
    }
    let Gives::Type(to) = &function.gives else { return Err(Error::internal("a function without a result is alone")) };
    let typing = typing_of(&body, 0);
    let is_value = !function.is_set && simple(&body.query).is_some();
    if !is_value {
        // A subquery is computed once, not for each row.
        check_steady(function, &body.query)?;
        check_apart(function, &args)?;
    }
    let mut expr = if function.is_set {
        let query = of_set(txn, function, body, args, to)?;
        all_values(query)?
    } else if let Some(value) = simple(&body.query) {
        let counts = counts_of(value, args.len());
        let is_direct = args.iter().zip(&counts).all(|(arg, count)| {
            *count + usize::from(function.strict) <= 1 && !is_volatile(arg) || is_repeatable(arg, *count)
        });
        let value = typed(txn, value.clone(), typing, to)?;
        if is_direct {
            let is_dropped = |(arg, count): (&Expr, &usize)| gives_rows(arg) && (function.strict || *count != 1);
            if args.iter().zip(&counts).any(is_dropped) {
                check_apart(function, &args)?;
            }
            let expr = put(value, &args);
            if function.strict { unless_null(&args, expr) } else { expr }
        } else {
            check_apart(function, &args)?;
            in_row(function, value, args)?
        }
    } else {
        let mut query = body.query;
        limit_to_one(&mut query);
        let is_direct = may_put(&query, &args);
        let value = typed(txn, Expr::Subquery(Box::new(query)), typing, to)?;
        if is_direct {
            let expr = put(value, &args);
            if function.strict { unless_null(&args, expr) } else { expr }
        } else {
            in_row(function, value, args)?
        }
    };
    types::run(txn, &mut expr)?;
    Ok(nested(expr))
}

/// The FROM item in the place of a call.
pub(crate) fn in_from(
    txn: &Transaction,
    function: &Function,
    body: Body,
    args: Vec<Expr>,
    alias: TableAlias,
) -> Result<TableFactor> {
    let lateral = args.iter().any(has_names);
    let derived = |query: Query, alias: TableAlias| TableFactor::Derived {
        lateral,
        subquery: Box::new(query),
        alias: Some(alias),
        sample: None,
    };
    if lateral {
        check_steady(function, &body.query)?;
        check_apart(function, &args)?;
    }
    let columns = function.columns(txn)?;
    let columns: Vec<(String, String)> = match (columns, &function.gives) {
        (Some(columns), _) => columns.into_iter().map(|column| (column.name, column.data_type)).collect(),
        (None, Gives::Type(data_type)) => vec![(fold(&alias.name), data_type.clone())],
        _ => return Err(Error::internal("a function without a result is alone")),
    };
    if !function.is_set && !function.gives_rows() {
        let (name, _) = columns.first().cloned().unwrap_or_default();
        let value = in_place(txn, function, body, args)?;
        let item = SelectItem::ExprWithAlias { expr: value, alias: quoted(&name) };
        return Ok(derived(select(vec![item], Vec::new(), None)?, alias));
    }
    let query = rows_of(txn, function, body, args, &columns)?;
    Ok(derived(query, alias))
}

/// Fails for a query that gives other rows each time, where it would be computed once for all rows around.
fn check_steady(function: &Function, query: &Query) -> Result<()> {
    if is_volatile(query) { Err(alone(function, "gives another value each time")) } else { Ok(()) }
}

/// Fails for arguments that mean something else in a subquery.
fn check_apart(function: &Function, args: &[Expr]) -> Result<()> {
    for (at, arg) in args.iter().enumerate() {
        let what = if is_of_rows(arg) {
            "is an aggregate or a window function"
        } else if gives_rows(arg) {
            "gives many rows"
        } else if is_volatile(arg) {
            "gives another value each time"
        } else {
            continue;
        };
        let name = &function.name;
        let message = format!("argument {} of function {name} {what}", at + 1);
        let error = Error::new(Code::FeatureNotSupported, message);
        return Err(error.hint(format!("SELECT {name}(q.x) FROM (SELECT ... AS x FROM ...) q")));
    }
    Ok(())
}

/// The query of the values of a function that gives many.
fn of_set(txn: &Transaction, function: &Function, body: Body, args: Vec<Expr>, to: &str) -> Result<Query> {
    rows_of(txn, function, body, args, &[(function.name.clone(), to.to_owned())])
}

/// The query of the rows of a function, each of its columns with its name and type.
fn rows_of(
    txn: &Transaction,
    function: &Function,
    mut body: Body,
    args: Vec<Expr>,
    columns: &[(String, String)],
) -> Result<Query> {
    const ROWS: &str = "weft.rows";
    let names: Vec<String> = (1..=columns.len()).map(|at| format!("c{at}")).collect();
    let mut items = Vec::with_capacity(columns.len());
    for (at, (name, data_type)) in columns.iter().enumerate() {
        let column = Expr::CompoundIdentifier(vec![quoted(ROWS), quoted(&names[at])]);
        let expr = typed(txn, column, typing_of(&body, at), data_type)?;
        items.push(SelectItem::ExprWithAlias { expr, alias: quoted(name) });
    }
    if !function.is_set {
        limit_to_one(&mut body.query);
    }
    let is_direct = may_put(&body.query, &args);
    let own = own_alias(function);
    let lateral = args.iter().any(has_names);
    let (query, condition, row) = if is_direct {
        let nulls = not_null(function, args.clone());
        (put_in_query(body.query, &args), nulls, None)
    } else {
        let fields = fields_of(function, args.len());
        let nulls = not_null(function, fields.clone());
        (put_in_query(body.query, &fields), nulls, Some(row_of(&own, args)?))
    };
    let alias = TableAlias {
        explicit: true,
        name: quoted(ROWS),
        columns: names.iter().map(|name| TableAliasColumnDef { name: quoted(name), data_type: None }).collect(),
        at: None,
    };
    let rows = |lateral| TableFactor::Derived {
        lateral,
        subquery: Box::new(query.clone()),
        alias: Some(alias.clone()),
        sample: None,
    };
    let one_row = || row_of("weft.one", vec![Expr::value(Value::Number("1".into(), false))]);
    let (relation, joins) = match (row, function.is_set) {
        (None, true) => (rows(lateral), Vec::new()),
        (Some(row), true) => (row, vec![joined(rows(true), JoinOperator::CrossJoin(JoinConstraint::None))]),
        // One row, whose columns are NULL when the query has none.
        (row, false) => {
            let on = condition.clone().unwrap_or_else(|| Expr::value(Value::Boolean(true)));
            let row = row.map_or_else(one_row, Ok)?;
            (row, vec![joined(rows(true), JoinOperator::Left(JoinConstraint::On(on)))])
        }
    };
    let condition = condition.filter(|_| function.is_set);
    let mut query = select(items, vec![TableWithJoins { relation, joins }], condition)?;
    types::run(txn, &mut query)?;
    Ok(query)
}

fn joined(relation: TableFactor, join_operator: JoinOperator) -> Join {
    Join { relation, global: false, join_operator }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// What the row of a call's arguments is called.
fn own_alias(function: &Function) -> String {
    format!("weft.call.{}", function.id)
}

/// The columns of the row of a call's arguments.
fn fields_of(function: &Function, count: usize) -> Vec<Expr> {
    let own = own_alias(function);
    (1..=count).map(|at| Expr::CompoundIdentifier(vec![quoted(&own), quoted(&at.to_string())])).collect()
}

/// The row of a call's arguments, as a FROM item.
fn row_of(alias: &str, args: Vec<Expr>) -> Result<TableFactor> {
    let items = args
        .into_iter()
        .enumerate()
        .map(|(at, expr)| SelectItem::ExprWithAlias { expr, alias: quoted(&(at + 1).to_string()) });
    let query = select(items.collect(), Vec::new(), None)?;
    let alias = TableAlias { explicit: true, name: quoted(alias), columns: Vec::new(), at: None };
    Ok(TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None })
}

/// An expression over a row of the arguments.
fn in_row(function: &Function, value: Expr, args: Vec<Expr>) -> Result<Expr> {
    let fields = fields_of(function, args.len());
    let value = put(value, &fields);
    let value = if function.strict { unless_null(&fields, value) } else { value };
    let relation = row_of(&own_alias(function), args)?;
    let from = vec![TableWithJoins { relation, joins: Vec::new() }];
    Ok(Expr::Subquery(Box::new(select(vec![SelectItem::UnnamedExpr(value)], from, None)?)))
}

/// `unnest(ARRAY(query))`
fn all_values(query: Query) -> Result<Expr> {
    let mut expr = parse_expression("unnest(ARRAY(SELECT 1))")?;
    struct Putting(Option<Query>);
    impl VisitorMut for Putting {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Function(call) = expr
                && let FunctionArguments::Subquery(inner) = &mut call.args
                && let Some(query) = self.0.take()
            {
                **inner = query;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }
    match VisitMut::visit(&mut expr, &mut Putting(Some(query))) {
        ControlFlow::Break(()) => Ok(expr),
        ControlFlow::Continue(()) => Err(Error::internal("an array of a query has none")),
    }
}

fn typing_of(body: &Body, at: usize) -> Typing {
    let column = body.columns.as_ref().and_then(|columns| columns.get(at));
    column.and_then(|column| column.data_type).map_or(Typing::Unclear, Typing::Known)
}

/// The expression that a query without FROM is.
fn simple(query: &Query) -> Option<&Expr> {
    let SetExpr::Select(body) = &*query.body else { return None };
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && body.distinct.is_none()
        && body.from.is_empty()
        && body.selection.is_none()
        && body.having.is_none()
        && matches!(&body.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
    match body.projection.as_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] if is_bare && is_plain(expr) => {
            Some(expr)
        }
        _ => None,
    }
}

/// Whether an expression has no subquery, no aggregate, and nothing that gives rows.
fn is_plain(expr: &Expr) -> bool {
    struct Plain;
    impl Visitor for Plain {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(call) => {
                    let name = function_name(call);
                    let is_other = call.over.is_some()
                        || AGGREGATES.contains(&name.as_str())
                        || weft_expr::routines::gives_rows(&name);
                    if is_other { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Plain).is_continue()
}

/// Whether arguments may be put into a query: they are small, give the same each time, and no name in the query hides
/// what they name.
fn may_put(query: &Query, args: &[Expr]) -> bool {
    struct Aliases(HashSet<String>);
    impl Visitor for Aliases {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            self.0.extend(tables.map(|table| fold(&table.alias.name)));
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let (name, alias) = match factor {
                TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                    (name.0.last().and_then(|part| part.as_ident()), alias.as_ref())
                }
                TableFactor::Derived { alias, .. }
                | TableFactor::UNNEST { alias, .. }
                | TableFactor::NestedJoin { alias, .. } => (None, alias.as_ref()),
                _ => (None, None),
            };
            self.0.extend(name.map(fold));
            self.0.extend(alias.map(|alias| fold(&alias.name)));
            ControlFlow::Continue(())
        }
    }
    struct Hidden<'a>(&'a HashSet<String>);
    impl Visitor for Hidden<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_hidden = match expr {
                Expr::Identifier(_) => true,
                Expr::CompoundIdentifier(parts) => parts.iter().any(|part| self.0.contains(&fold(part))),
                _ => false,
            };
            if is_hidden { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let mut aliases = Aliases(HashSet::new());
    let _ = query.visit(&mut aliases);
    let counts = counts_of(query, args.len());
    args.iter()
        .zip(counts)
        .all(|(arg, count)| is_repeatable(arg, count) && arg.visit(&mut Hidden(&aliases.0)).is_continue())
}

/// Puts expressions in the places of parameters.
struct Putting<'e>(&'e [Expr]);

impl VisitorMut for Putting<'_> {
    type Break = ();

    /// Behind its parts, so that what is put is not visited.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(value) = parameter_of(expr).and_then(|at| self.0.get(at)) {
            *expr = nested(value.clone());
        }
        ControlFlow::Continue(())
    }
}

fn put(mut expr: Expr, args: &[Expr]) -> Expr {
    let _ = VisitMut::visit(&mut expr, &mut Putting(args));
    expr
}

/// Puts expressions in the places of a statement's parameters.
pub(crate) fn put_in(statement: &mut Statement, args: &[Expr]) {
    let _ = VisitMut::visit(statement, &mut Putting(args));
}

fn put_in_query(mut query: Query, args: &[Expr]) -> Query {
    let _ = VisitMut::visit(&mut query, &mut Putting(args));
    query
}

/// An expression that may stand beside operators.
fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Subquery(_)
        | Expr::Cast { .. } => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

/// `CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE value END`
pub(crate) fn unless_null(args: &[Expr], value: Expr) -> Expr {
    let null = |arg: &Expr| Expr::IsNull(Box::new(nested(arg.clone())));
    let or = |one: Expr, other: Expr| Expr::BinaryOp {
        left: Box::new(one),
        op: sqlparser::ast::BinaryOperator::Or,
        right: Box::new(other),
    };
    let Some(condition) = args.iter().map(null).reduce(or) else { return value };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: Expr::value(Value::Null) }],
        else_result: Some(Box::new(value)),
    }
}

/// That no argument of a strict function is NULL.
fn not_null(function: &Function, args: Vec<Expr>) -> Option<Expr> {
    let and = |one: Expr, other: Expr| Expr::BinaryOp {
        left: Box::new(one),
        op: sqlparser::ast::BinaryOperator::And,
        right: Box::new(other),
    };
    let args = args.into_iter().filter(|_| function.strict);
    args.map(|arg| Expr::IsNotNull(Box::new(nested(arg)))).reduce(and)
}

/// The first row of a query that may have several.
fn limit_to_one(query: &mut Query) {
    if has_one_row(query) {
        return;
    }
    let one = || Expr::value(Value::Number("1".into(), false));
    if query.limit_clause.is_none() && query.fetch.is_none() {
        query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(one()), offset: None, limit_by: Vec::new() });
        return;
    }
    if matches!(&query.limit_clause, Some(LimitClause::LimitOffset { limit: Some(limit), .. }) if *limit == one()) {
        return;
    }
    let inner = query.clone();
    let alias = TableAlias { explicit: true, name: quoted("weft.first"), columns: Vec::new(), at: None };
    let relation = TableFactor::Derived { lateral: false, subquery: Box::new(inner), alias: Some(alias), sample: None };
    let all = SelectItem::Wildcard(sqlparser::ast::WildcardAdditionalOptions::default());
    if let Ok(mut outer) = select(vec![all], vec![TableWithJoins { relation, joins: Vec::new() }], None) {
        outer.limit_clause = Some(LimitClause::LimitOffset { limit: Some(one()), offset: None, limit_by: Vec::new() });
        *query = outer;
    }
}

/// Whether a query has one row whatever there is: it has no FROM, or aggregates without groups.
fn has_one_row(query: &Query) -> bool {
    let SetExpr::Select(body) = &*query.body else { return false };
    let is_ungrouped = matches!(&body.group_by, GroupByExpr::Expressions(list, _) if list.is_empty());
    if !is_ungrouped || body.having.is_some() || query.limit_clause.is_some() {
        return false;
    }
    if body.from.is_empty() {
        return body.selection.is_none()
            && body.projection.iter().all(|item| match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => !gives_rows(expr),
                _ => false,
            });
    }
    has_of_its_own(&body.projection, |part| match part {
        Expr::Function(call) => call.over.is_none() && AGGREGATES.contains(&function_name(call).as_str()),
        _ => false,
    })
}
