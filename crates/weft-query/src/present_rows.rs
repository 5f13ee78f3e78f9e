//! Whether a row of a relation is there, where an outer join may miss it.
//!
//! ```text
//!   FROM o LEFT JOIN t ON ...               t."id" IS NOT NULL, the first column of its primary key
//!   FROM o LEFT JOIN (SELECT ...) q         q."there" IS NOT NULL, which q gets: true
//! ```

use sqlparser::ast::{
    Expr, Ident, JoinOperator, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Value,
};
use weft_format::{Code, Error, Result};
use weft_sql::queries::names::{MARKER, folded};

use super::dependent::Sources;
use super::template::parsed;

/// What says that a row of a relation is there.
pub(super) enum Known {
    /// A column that is never NULL.
    Key(String),
    /// A column that the relation gets, [`there`].
    Marked,
    /// Nothing.
    Nothing,
}

/// What says that a row of a relation is there.
pub(super) fn is_there(sources: &mut dyn Sources, factor: &TableFactor) -> Known {
    match (key(sources, factor), factor) {
        (Some(key), _) => Known::Key(key),
        (None, TableFactor::Table { args: None, .. } | TableFactor::Derived { .. }) => Known::Marked,
        (None, _) => Known::Nothing,
    }
}

/// The name of a column that no row of the relation has NULL in.
fn key(sources: &mut dyn Sources, of: &TableFactor) -> Option<String> {
    let TableFactor::Table { name, args: None, .. } = of else { return None };
    let (_, table) = sources.base_table(name)?;
    table.def.primary_key.as_ref()?;
    let ordinal = *table.def.schema.key.first()?;
    let place = table.def.schema.visible().position(|(visible, _)| visible == ordinal)?;
    sources.columns_of(of)?.get(place).cloned()
}

/// The column that says that a row is there.
pub(super) fn there() -> String {
    format!("{MARKER}there")
}

/// Gives relations of these names the column.
pub(super) fn mark(from: &mut [TableWithJoins], marked: &[String]) -> Result<()> {
    for table in from.iter_mut().filter(|_| !marked.is_empty()) {
        mark_factor(&mut table.relation, marked)?;
        for join in &mut table.joins {
            mark_factor(&mut join.relation, marked)?;
        }
    }
    Ok(())
}

fn mark_factor(of: &mut TableFactor, marked: &[String]) -> Result<()> {
    if let TableFactor::NestedJoin { table_with_joins, alias: None } = of {
        return mark(std::slice::from_mut(table_with_joins), marked);
    }
    let Some(name) = shown(of).filter(|name| marked.contains(name)) else { return Ok(()) };
    let is_marked = match of {
        TableFactor::Derived { subquery, .. } => marks(&mut subquery.body),
        _ => false,
    };
    match of {
        TableFactor::Derived { alias, .. } if is_marked => {
            let is_it = |column: &TableAliasColumnDef| column.name.value == there();
            if let Some(alias) = alias.as_mut().filter(|alias| !alias.columns.is_empty())
                && !alias.columns.iter().any(is_it)
            {
                alias.columns.push(TableAliasColumnDef { name: Ident::with_quote('"', there()), data_type: None });
            }
            Ok(())
        }
        TableFactor::Table { .. } | TableFactor::Derived { lateral: false, .. } => mark_outside(of, &name),
        _ => {
            let message = format!("whether a row of {name} is there is not known");
            Err(Error::new(Code::FeatureNotSupported, message).hint("name its columns"))
        }
    }
}

/// Gives the column to all SELECTs of a query; whether these are all of it.
fn marks(body: &mut SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => {
            let is_it = |item: &SelectItem| match item {
                SelectItem::ExprWithAlias { alias, .. } => alias.value == there(),
                _ => false,
            };
            if !select.projection.iter().any(is_it) {
                let (expr, alias) = (Expr::value(Value::Boolean(true)), Ident::with_quote('"', there()));
                select.projection.push(SelectItem::ExprWithAlias { expr, alias });
            }
            true
        }
        SetExpr::Query(query) => marks(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => is_of_selects(right) && marks(left) && marks(right),
        _ => false,
    }
}

fn is_of_selects(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) => true,
        SetExpr::Query(query) => is_of_selects(&query.body),
        SetExpr::SetOperation { left, right, .. } => is_of_selects(left) && is_of_selects(right),
        _ => false,
    }
}

/// Gives the column to a query around the relation.
fn mark_outside(of: &mut TableFactor, name: &str) -> Result<()> {
    let alias = match of {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.clone(),
        _ => None,
    };
    let mut outer = alias.unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    });
    if !outer.columns.is_empty() {
        outer.columns.push(TableAliasColumnDef { name: Ident::with_quote('"', there()), data_type: None });
    }
    let mut inside = of.clone();
    if let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } = &mut inside
    {
        alias.columns.clear();
    }
    let mut query = parsed(&format!("SELECT *, true AS \"{}\" FROM nothing", there()))?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.from = vec![TableWithJoins { relation: inside, joins: Vec::new() }];
    }
    *of = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(outer), sample: None };
    Ok(())
}

/// The relation of a name, and whether its rows may be missing.
pub(super) fn find<'a>(from: &'a [TableWithJoins], name: &str) -> Option<(&'a TableFactor, bool)> {
    from.iter().find_map(|table| find_joined(table, name))
}

fn find_joined<'a>(table: &'a TableWithJoins, name: &str) -> Option<(&'a TableFactor, bool)> {
    use JoinOperator as J;
    let mut found = find_factor(&table.relation, name);
    for join in &table.joins {
        let (left, right) = match &join.join_operator {
            J::Join(_) | J::Inner(_) | J::CrossJoin(_) | J::CrossApply => (false, false),
            J::Left(_) | J::LeftOuter(_) | J::OuterApply => (false, true),
            J::Right(_) | J::RightOuter(_) => (true, false),
            _ => (true, true),
        };
        found = match found {
            Some((factor, may_miss)) => Some((factor, may_miss || left)),
            None => find_factor(&join.relation, name).map(|(factor, may_miss)| (factor, may_miss || right)),
        };
    }
    found
}

fn find_factor<'a>(of: &'a TableFactor, name: &str) -> Option<(&'a TableFactor, bool)> {
    match of {
        TableFactor::NestedJoin { table_with_joins, alias: None } => find_joined(table_with_joins, name),
        other => shown(other).is_some_and(|shown| shown == name).then_some((other, false)),
    }
}

/// The name by which a relation is known.
fn shown(of: &TableFactor) -> Option<String> {
    match of {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. } => Some(folded(&alias.name)),
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).map(folded),
        _ => None,
    }
}
