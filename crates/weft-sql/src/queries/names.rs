//! Result columns named as PostgreSQL names them, and unique as the planner needs them.
//!
//! ```text
//!   SELECT count(*), a, a, 1 + 1    planned as  count(*) AS count, a, a AS "a\u{1}1", 1 + 1 AS "?column?"
//!                                   shown as    count | a | a | ?column?
//! ```
//!
//! 1. The planner wants distinct names in one SELECT; what comes after the marker `\u{1}` is never shown.
//! 2. Only result columns without an alias are given one, and repeated names; everything else stays as written.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint,
    JoinOperator, LimitClause, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins, TrimWhereField, Visitor, VisitorMut,
};
use weft_format::enums::{self, EnumId};
use weft_format::{Code, Error, Result};
use weft_walk::{Visit, VisitMut};

use crate::domains;
use crate::expr::call;

/// Expressions may be nested this deep.
const DEPTH_MAX: usize = 1_000;
/// A query may name this many tables: planning a join of n takes n² steps and more.
const RELATIONS_MAX: usize = 200;

/// The function whose call is a LIMIT that takes rows which are like the last one: `FETCH FIRST ... WITH TIES`.
pub const TIES: &str = "\u{1}ties";

/// Starts the part of a name that is not shown.
pub const MARKER: char = '\u{1}';

/// The shown part of a planned name.
pub fn shown(name: &str) -> &str {
    name.split(MARKER).next().unwrap_or(name)
}

/// Names the result columns of all SELECTs of a query.
pub fn name_columns(query: &mut Query) {
    let _ = VisitMut::visit(query, &mut Namer);
}

fn as_bigint(expr: Expr) -> Expr {
    let data_type = sqlparser::ast::DataType::BigInt(None);
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

struct Namer;

impl VisitorMut for Namer {
    type Break = ();

    /// FETCH FIRST n ROWS ONLY is LIMIT n.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let Some(fetch) = query.fetch.take() else {
            return ControlFlow::Continue(());
        };
        let rows = fetch.quantity.unwrap_or_else(|| Expr::value(sqlparser::ast::Value::Number("1".into(), false)));
        let rows = if fetch.with_ties { call(TIES, vec![as_bigint(rows)]) } else { rows };
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, .. }) => *limit = Some(rows),
            other => {
                *other = Some(LimitClause::LimitOffset { limit: Some(rows), offset: None, limit_by: Vec::new() });
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let wildcard = select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        let mut taken = HashSet::new();
        for (ordinal, item) in select.projection.iter_mut().enumerate() {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = column_name(expr);
                    let plain = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                    let first = taken.insert(name.clone());
                    if plain && first && !wildcard {
                        continue;
                    }
                    let alias = if first && !plain { name } else { format!("{name}{MARKER}{ordinal}") };
                    let expr = std::mem::replace(
                        expr,
                        Expr::Wildcard(sqlparser::ast::helpers::attached_token::AttachedToken::empty()),
                    );
                    *item = SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', alias) };
                }
                SelectItem::ExprWithAlias { alias, .. } => {
                    let name = folded(alias);
                    if !taken.insert(name.clone()) {
                        *alias = Ident::with_quote('"', format!("{name}{MARKER}{ordinal}"));
                    }
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name as the planner folds it.
pub fn folded(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// What PostgreSQL calls an expression without an alias.
pub fn column_name(expr: &Expr) -> String {
    name_of(expr).unwrap_or_else(|| "?column?".into())
}

fn name_of(expr: &Expr) -> Option<String> {
    let fixed = |name: &str| Some(name.to_owned());
    match expr {
        Expr::Identifier(ident) => Some(folded(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map(folded),
        Expr::Function(_) if domains::cast_of_call(expr).is_some() => {
            let (inner, domain) = domains::cast_of_call(expr)?;
            name_of(inner).filter(|_| !is_weak(inner)).or_else(|| domain.map(|domain| domain.name.clone()))
        }
        Expr::Function(function) => match &function.args {
            FunctionArguments::Subquery(_) => fixed("array"),
            _ => function.name.0.last().and_then(|part| part.as_ident()).map(folded),
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of(inner),
        Expr::Cast { expr, data_type, kind, .. } if *kind != CastKind::TryCast => match name_of(expr) {
            Some(name) if !is_weak(expr) => Some(name),
            _ => Some(type_name(&data_type.to_string())),
        },
        Expr::TypedString(typed) => Some(type_name(&typed.data_type.to_string())),
        Expr::Case { else_result, .. } => else_result
            .as_ref()
            .filter(|inner| !is_weak(inner))
            .and_then(|inner| name_of(inner))
            .or_else(|| fixed("case")),
        Expr::Extract { .. } => fixed("extract"),
        Expr::Substring { shorthand: true, .. } => fixed("substr"),
        Expr::Substring { .. } => fixed("substring"),
        Expr::Position { .. } => fixed("position"),
        Expr::Overlay { .. } => fixed("overlay"),
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => fixed("ltrim"),
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => fixed("rtrim"),
        Expr::Trim { .. } => fixed("btrim"),
        Expr::Ceil { .. } => fixed("ceil"),
        Expr::Floor { .. } => fixed("floor"),
        Expr::Exists { negated: false, .. } => fixed("exists"),
        Expr::Interval(_) => fixed("interval"),
        Expr::Array(_) => fixed("array"),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = |access: &AccessExpr| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(folded(ident)),
                _ => None,
            };
            access_chain.iter().rev().find_map(field).or_else(|| name_of(root))
        }
        Expr::AtTimeZone { .. } => fixed("timezone"),
        Expr::Subquery(query) => first_column(&query.body),
        _ => None,
    }
}

/// Whether a cast around an expression names the column, not the expression.
fn is_weak(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } | Expr::Cast { expr: inner, .. } => is_weak(inner),
        Expr::Function(_) => domains::cast_of_call(expr).is_some_and(|(inner, _)| is_weak(inner)),
        Expr::Case { else_result, .. } => else_result.as_ref().is_none_or(|inner| is_weak(inner)),
        Expr::TypedString(_) | Expr::Interval(_) => true,
        other => name_of(other).is_none(),
    }
}

fn first_column(body: &SetExpr) -> Option<String> {
    match body {
        SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(expr) => name_of(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
            _ => None,
        },
        SetExpr::Query(query) => first_column(&query.body),
        SetExpr::SetOperation { left, .. } => first_column(left),
        _ => None,
    }
}

fn type_name(sql: &str) -> String {
    // A users' type by its fixed name, or an array of it.
    if let Some(id) = sql.trim_start_matches('"').split('"').next().and_then(EnumId::of_fixed_name) {
        return enums::name_of(id);
    }
    let word = sql.split(['(', '[']).next().unwrap_or(sql).trim().to_lowercase();
    match word.as_str() {
        word if word.starts_with("interval") => "interval".into(),
        word if word.starts_with("time") && sql.to_lowercase().ends_with("with time zone") => {
            if word.starts_with("timestamp") { "timestamptz".into() } else { "timetz".into() }
        }
        word if word.starts_with("timestamp without") => "timestamp".into(),
        word if word.starts_with("time without") => "time".into(),
        "char" | "character" => "bpchar".into(),
        "int" | "integer" => "int4".into(),
        "bigint" => "int8".into(),
        "smallint" => "int2".into(),
        "real" => "float4".into(),
        "double precision" | "double" | "float" => "float8".into(),
        "boolean" => "bool".into(),
        "decimal" | "dec" => "numeric".into(),
        "character varying" => "varchar".into(),
        _ => word,
    }
}

/// What must hold of a query before it is planned: nothing that the planner would silently pass over, no bottomless
/// nesting.
pub fn check_query(query: &Query) -> Result<()> {
    let mut checker = Checker { depth: 0, relations: 0 };
    match Visit::visit(query, &mut checker) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// ORDER BY a name that two different result columns have.
pub fn check_order(query: &Query) -> Result<()> {
    let (SetExpr::Select(select), Some(order)) = (&*query.body, &query.order_by) else { return Ok(()) };
    let OrderByKind::Expressions(keys) = &order.kind else { return Ok(()) };
    for key in keys {
        let Expr::Identifier(ident) = &key.expr else { continue };
        let name = folded(ident);
        let mut named = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) => (column_name(expr) == name).then_some(expr),
            SelectItem::ExprWithAlias { expr, alias } => (folded(alias) == name).then_some(expr),
            _ => None,
        });
        let Some(first) = named.next() else { continue };
        if named.any(|other| is_another(first, other)) {
            let message = format!("ORDER BY \"{name}\" is ambiguous");
            return Err(Error::new(Code::AmbiguousColumn, message).hint("give the result columns names of their own"));
        }
    }
    Ok(())
}

/// Whether two expressions are surely not the same column: `id` and `t.id` may be.
fn is_another(a: &Expr, b: &Expr) -> bool {
    let is_plain = |expr: &Expr| matches!(expr, Expr::Identifier(_));
    let is_column = |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
    let may_be_one = is_column(a) && is_column(b) && (is_plain(a) != is_plain(b));
    a != b && !(may_be_one && name_of(a) == name_of(b))
}

/// Arguments of aggregates that the planner would take.
fn check_arguments(call: &Function) -> Result<()> {
    let name = call.name.0.last().and_then(|part| part.as_ident()).map(folded).unwrap_or_default();
    let FunctionArguments::List(list) = &call.args else { return Ok(()) };
    let is_star = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
    match (name.as_str(), &list.args[..]) {
        ("count", []) => {
            let message = "count(*) must be used to call a parameterless aggregate function";
            Err(Error::new(Code::WrongObjectType, message).hint("write count(*)"))
        }
        ("count", [_, _, ..]) => {
            let message = format!("function count with {} arguments does not exist", list.args.len());
            Err(Error::new(Code::UndefinedFunction, message).hint("count one expression"))
        }
        ("sum" | "avg" | "min" | "max", args) if args.iter().any(is_star) => {
            Err(Error::new(Code::UndefinedFunction, format!("function {name}() does not exist")))
        }
        _ => Ok(()),
    }
}

/// Joins that are neither CROSS nor NATURAL have a condition.
fn check_conditions(table: &TableWithJoins) -> Result<()> {
    use JoinOperator::{FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    let inside = std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation));
    for relation in inside {
        if let TableFactor::NestedJoin { table_with_joins, .. } = relation {
            check_conditions(table_with_joins)?;
        }
    }
    let lacks = |operator: &JoinOperator| match operator {
        Join(on) | Inner(on) | Left(on) | LeftOuter(on) | Right(on) | RightOuter(on) | FullOuter(on) => {
            matches!(on, JoinConstraint::None)
        }
        _ => false,
    };
    match table.joins.iter().any(|join| lacks(&join.join_operator)) {
        true => Err(Error::new(Code::SyntaxError, "syntax error: a JOIN lacks its ON or USING")),
        false => Ok(()),
    }
}

struct Checker {
    depth: usize,
    relations: usize,
}

impl Visitor for Checker {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let refuse =
            |what: &str| ControlFlow::Break(Error::new(Code::FeatureNotSupported, format!("{what} is not supported")));
        if let Some(lock) = query.locks.first() {
            return ControlFlow::Break(
                Error::new(Code::FeatureNotSupported, format!("{lock} is not supported in this statement"))
                    .hint("lock the rows by a SELECT of their table alone, in a statement of its own"),
            );
        }
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return refuse("this clause of another dialect");
        }
        if let Some(fetch) = &query.fetch
            && fetch.with_ties
            && query.order_by.is_none()
        {
            let message = "WITH TIES cannot be specified without ORDER BY clause";
            return ControlFlow::Break(Error::new(Code::SyntaxError, message));
        }
        if let Some(fetch) = &query.fetch
            && fetch.percent
        {
            return refuse("FETCH of a percentage");
        }
        if let Err(error) = check_order(query) {
            return ControlFlow::Break(error);
        }
        match &*query.body {
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                refuse("a statement that writes inside WITH or a subquery")
            }
            SetExpr::Table(_) => refuse("TABLE"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        if select.into.is_some() {
            return ControlFlow::Break(
                Error::new(Code::FeatureNotSupported, "SELECT INTO is not supported")
                    .hint("create the table, then INSERT INTO ... SELECT"),
            );
        }
        match select.from.iter().try_for_each(check_conditions) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        let passed_over = match factor {
            TableFactor::Table {
                args, sample, version, partitions, index_hints, with_hints, with_ordinality, ..
            } => {
                sample.is_some()
                    || version.is_some()
                    || (*with_ordinality && args.is_none())
                    || !partitions.is_empty()
                    || !index_hints.is_empty()
                    || !with_hints.is_empty()
            }
            TableFactor::Derived { sample, .. } => sample.is_some(),
            _ => false,
        };
        if passed_over {
            let message = format!("this clause behind a table is not supported: {factor}");
            return ControlFlow::Break(Error::new(Code::FeatureNotSupported, message).hint("leave it out"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Error> {
        if let Err(error) = crate::parse::table_name(relation)
            && error.code() == Code::SyntaxError
        {
            return ControlFlow::Break(error);
        }
        self.relations += 1;
        if self.relations > RELATIONS_MAX {
            let message = format!("a query names more than {RELATIONS_MAX} tables");
            let error = Error::new(Code::StatementTooComplex, message);
            return ControlFlow::Break(error.hint("split it; keep what it has so far in a table"));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        if let Expr::Function(call) = expr
            && let Err(error) = check_arguments(call)
        {
            return ControlFlow::Break(error);
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return ControlFlow::Break(
                Error::new(Code::StatementTooComplex, format!("an expression is nested more than {DEPTH_MAX} deep"))
                    .hint("write a long chain of OR as IN (...), or split the statement"),
            );
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}
