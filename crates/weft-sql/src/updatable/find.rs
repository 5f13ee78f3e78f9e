//! What a view makes of one table, or why it does not.

use std::sync::Arc;

use sqlparser::ast::{
    Expr, Function, GroupByExpr, ObjectName, Query, Select, SelectItem, SetExpr, Statement, TableFactor,
};
use weft_expr::routines::gives_rows;
use weft_format::{Code, Error, Result};
use weft_kernel::{Object, ObjectKind, TableRef, Transaction};

use super::layer::{Layer, LayerColumn, Source, UpdatableView, Verb};
use crate::ddl::dependents::is_materialized;
use crate::expansion::{damaged, expand_part};
use crate::expr::{AGGREGATES, function_name};
use crate::parse::{Parsed, fold, parse, table_name};
use crate::queries::has_of_its_own;
use crate::resolve::{self, Relation};
use crate::types;
use crate::view_columns::{SEPARATOR, cascades, default_of, option, view_columns};

/// How deep views may lie within views.
const NESTING_MAX: usize = 64;

const NOT_ONE: &str = "Views that do not select from a single table or view are not automatically updatable.";
const NO_COLUMNS: &str = "Views that have no updatable columns are not automatically updatable.";
const COMPUTED: &str = "View columns that are not columns of their base relation are not updatable.";

/// The view of a name, for a statement that changes it; none when it is no view.
pub(crate) fn find(txn: &Transaction, name: &str, verb: Verb) -> Result<Option<UpdatableView>> {
    let Some(Relation::Object(view)) = resolve::relation(txn, name) else { return Ok(None) };
    if view.kind != ObjectKind::View {
        return Ok(None);
    }
    of_view(txn, view, verb).map(Some)
}

/// A view, for a statement that changes it.
pub(crate) fn of_view(txn: &Transaction, view: Arc<Object>, verb: Verb) -> Result<UpdatableView> {
    let (mut layers, mut view, mut checks_below) = (Vec::new(), view, false);
    let table = loop {
        if layers.len() == NESTING_MAX {
            return Err(Error::new(Code::StatementTooComplex, "views lie too deep within views"));
        }
        let query = query_of(txn, &view)?;
        let (select, below) = match simple(txn, &query) {
            Ok(found) => found,
            Err(why) => return Err(verb.refusal(&view.name, why)),
        };
        let checks = option(&view, "check_option");
        let is_checked = checks_below || checks.is_some();
        checks_below |= checks.as_deref().is_some_and(cascades);
        let layer = layer(txn, &view, select, is_checked, &below)?;
        if verb != Verb::Delete && layer.columns.iter().all(|column| column.below().is_none()) {
            return Err(verb.refusal(&view.name, NO_COLUMNS));
        }
        layers.push(layer);
        match below {
            Below::Table(table) => break table,
            Below::View(of) => view = of,
        }
    };
    Ok(UpdatableView { table, layers })
}

/// Why a view, without those below it, cannot be written to.
pub(crate) fn refusal_of(txn: &Transaction, view: &Object) -> Result<Option<&'static str>> {
    let query = query_of(txn, view)?;
    match simple(txn, &query) {
        Err(why) => Ok(Some(why)),
        Ok((select, below)) => {
            let layer = layer(txn, view, select, false, &below)?;
            Ok(layer.columns.iter().all(|column| column.below().is_none()).then_some(NO_COLUMNS))
        }
    }
}

/// The relation below a view.
enum Below {
    Table(TableRef),
    View(Arc<Object>),
}

fn query_of(txn: &Transaction, view: &Object) -> Result<Query> {
    let text = view.property("query").ok_or_else(|| damaged(view))?;
    let Some(Parsed::Sql { statement, .. }) = parse(text)?.pop() else { return Err(damaged(view)) };
    match *statement {
        Statement::Query(mut query) => {
            types::run(txn, &mut query)?;
            Ok(*query)
        }
        _ => Err(damaged(view)),
    }
}

/// The only SELECT of a query that keeps the rows of one relation, and this relation; else what is in the way, in the
/// order in which PostgreSQL looks.
fn simple<'q>(txn: &Transaction, query: &'q Query) -> std::result::Result<(&'q Select, Below), &'static str> {
    let select = match &*query.body {
        SetExpr::Select(select) => Some(&**select),
        _ => None,
    };
    let has = |test: fn(&Select) -> bool| select.is_some_and(test);
    let found = [
        (has(|select| select.distinct.is_some()), "Views containing DISTINCT are not automatically updatable."),
        (has(groups), "Views containing GROUP BY are not automatically updatable."),
        (has(|select| select.having.is_some()), "Views containing HAVING are not automatically updatable."),
        (
            matches!(&*query.body, SetExpr::SetOperation { .. }),
            "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.",
        ),
        (query.with.is_some(), "Views containing WITH are not automatically updatable."),
        (
            query.limit_clause.is_some() || query.fetch.is_some(),
            "Views containing LIMIT or OFFSET are not automatically updatable.",
        ),
        (
            calls(select, |call| call.over.is_none() && AGGREGATES.contains(&&*function_name(call))),
            "Views that return aggregate functions are not automatically updatable.",
        ),
        (
            calls(select, |call| call.over.is_some()),
            "Views that return window functions are not automatically updatable.",
        ),
        (
            calls(select, |call| gives_rows(&function_name(call))),
            "Views that return set-returning functions are not automatically updatable.",
        ),
    ];
    if let Some((_, why)) = found.iter().find(|(found, _)| *found) {
        return Err(why);
    }
    let select = select.ok_or(NOT_ONE)?;
    let [only] = select.from.as_slice() else { return Err(NOT_ONE) };
    let TableFactor::Table { name, args: None, sample, version: None, alias, .. } = &only.relation else {
        return Err(NOT_ONE);
    };
    if !only.joins.is_empty() || alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return Err(NOT_ONE);
    }
    let below = below(txn, name).ok_or(NOT_ONE)?;
    if sample.is_some() {
        return Err("Views containing TABLESAMPLE are not automatically updatable.");
    }
    Ok((select, below))
}

fn groups(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
    }
}

/// The table or view of a name in FROM.
fn below(txn: &Transaction, name: &ObjectName) -> Option<Below> {
    let name = table_name(name).ok()?;
    if resolve::of_catalog(txn, &name).is_some() {
        return None;
    }
    match resolve::relation(txn, &name)? {
        Relation::Table(table) => (!is_materialized(&table.def)).then_some(Below::Table(table)),
        Relation::Object(object) => (object.kind == ObjectKind::View).then_some(Below::View(object)),
        Relation::Index(..) | Relation::Columns(..) => None,
    }
}

/// Whether the result of a SELECT calls such a function outside of its subqueries.
fn calls(select: Option<&Select>, is_such: impl Fn(&Function) -> bool) -> bool {
    let is_it = |expr: &Expr| matches!(expr, Expr::Function(call) if is_such(call));
    select.is_some_and(|select| has_of_its_own(&select.projection, is_it))
}

/// A layer of a view whose query is simple.
fn layer(txn: &Transaction, view: &Object, select: &Select, is_checked: bool, below: &Below) -> Result<Layer> {
    let from = &select.from[0].relation;
    let TableFactor::Table { name, alias, .. } = from else { return Err(damaged(view)) };
    let own = match alias {
        Some(alias) => fold(&alias.name),
        None => resolve::split(&table_name(name)?).1.to_owned(),
    };
    let known: Vec<String> = match below {
        Below::Table(table) => table.def.schema.visible().map(|(_, column)| column.name.clone()).collect(),
        Below::View(view) => view_columns(view).into_iter().map(|(name, _)| name).collect(),
    };
    let items = items(select, &known, &own);
    let columns = view_columns(view);
    let names: Vec<&str> = view.property("from").unwrap_or_default().split(SEPARATOR).collect();
    if items.len() != columns.len() || names.len() != columns.len() {
        return Err(damaged(view));
    }
    let mut made = Vec::with_capacity(columns.len());
    for (at, ((name, data_type), mut expr)) in columns.into_iter().zip(items).enumerate() {
        let source = source(&expr, &own, &known);
        expand_part(txn, &mut expr)?;
        let default = default_of(view, at).map(str::to_owned);
        made.push(LayerColumn { name, data_type, expr, source, default });
    }
    let mut selection = select.selection.clone();
    if let Some(selection) = &mut selection {
        expand_part(txn, selection)?;
    }
    Ok(Layer { name: view.name.clone(), alias: own, columns: made, selection, is_checked })
}

/// The expressions of a SELECT list; a star that was kept is all columns of what is below.
fn items(select: &Select, known: &[String], alias: &str) -> Vec<Expr> {
    let quoted = |name: &str| sqlparser::ast::Ident::with_quote('"', name);
    let all = || known.iter().map(|name| Expr::CompoundIdentifier(vec![quoted(alias), quoted(name)]));
    let mut items = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => items.push(expr.clone()),
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => items.extend(all()),
            _ => {}
        }
    }
    items
}

/// Where a column comes from.
fn source(expr: &Expr, alias: &str, known: &[String]) -> Source {
    let name = match expr {
        Expr::Nested(inner) => return source(inner, alias, known),
        Expr::Identifier(name) => fold(name),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., relation, name] if fold(relation) == alias => fold(name),
            _ => return Source::Other(COMPUTED),
        },
        _ => return Source::Other(COMPUTED),
    };
    if known.contains(&name) {
        return Source::Column(name);
    }
    match name == alias {
        true => Source::Other("View columns that return whole-row references are not updatable."),
        false => Source::Other(COMPUTED),
    }
}
