//! `SELECT *` over `JOIN ... USING`, written out as PostgreSQL orders it; names of result columns that mean no column.
//!
//! ```text
//!   a(id, k, x), b(k, y)    SELECT * FROM a JOIN b USING (k)    becomes    SELECT a.k, a.id, a.x, b.y FROM ...
//! ```
//!
//! 1. The joined columns come first, each once, then the rest of the left side, then the rest of the right side.
//! 2. The joins themselves are written out in [`using`], where all columns of FROM are known. Where they
//!    are not, the planner takes a joined column from the left side: RIGHT and FULL joins are refused then.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAliasColumnDef, TableFactor, TableWithJoins, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_sql::Tables;
use weft_sql::queries::names::folded;
use weft_walk::VisitMut;

use super::aliases;
use super::dependent;
use super::fields::{Expander, Field, constraint, has_no_options, is_plain_wildcard};
use super::from_functions;
use super::json_tables;
use super::outer_names;
use super::period_stars;
use super::row_sources;
use super::rows_from;
use super::using;
use super::whole_rows;

/// Writes out the wildcards that stand over joins with USING.
pub(crate) fn expand_wildcards(query: &mut Query, tables: &dyn Tables) -> Result<()> {
    match VisitMut::visit(query, &mut Expander::new(tables)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

impl VisitorMut for Expander<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if let Some(with) = &mut query.with {
            // Before it is in sight, so that a recursive one does not look for itself.
            with.cte_tables.iter_mut().for_each(|part| row_sources::mark_rows(self, &mut part.query.body));
        }
        self.with.push(query.with.clone());
        for part in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.write_out_stars(&mut part.query.body);
        }
        match self.check_order(query).and_then(|()| using::order_by(self, query)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    /// The columns that an alias names are the first ones: the planner wants names of all.
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let written = rows_from::write_out(factor)
            .and_then(|()| json_tables::write_out(self, factor))
            .and_then(|()| from_functions::write_out(factor));
        if let Err(error) = written {
            return ControlFlow::Break(error);
        }
        if let TableFactor::Derived { subquery, .. } = factor {
            row_sources::mark_rows(self, &mut subquery.body);
            self.name_outer_columns(&mut subquery.body);
            self.write_out_stars(&mut subquery.body);
        }
        if let TableFactor::Table { alias: Some(alias), args: None, .. }
        | TableFactor::Derived { alias: Some(alias), .. } = factor
            && !alias.columns.is_empty()
        {
            let given = alias.columns.len();
            let hidden = self.hidden_names(factor);
            if let Some(fields) = self.factor_fields(factor)
                && let TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } =
                    factor
            {
                let others = fields.into_iter().skip(given).map(|field| field.name);
                let others = others.chain(hidden.into_iter().map(str::to_owned));
                let others = others.map(|name| Ident::with_quote('"', name));
                alias.columns.extend(others.map(|name| TableAliasColumnDef { name, data_type: None }));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::Function(function) = expr {
            row_sources::mark_given(self, function);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let told = whole_rows::write_order(self, query);
        dependent::write_out(self, query);
        self.with.pop();
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.around.push(select.from.clone());
        self.marked.push(Vec::new());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        self.around.pop();
        let marked = self.marked.pop().unwrap_or_default();
        outer_names::write_out(self, select);
        aliases::write_plain_keys(select);
        if let Err(error) = whole_rows::write_out(self, select, marked) {
            return ControlFlow::Break(error);
        }
        let misused = aliases::misused(select, &aliases::given(select));
        match self.means_a_column(misused, select).and_then(|()| self.expand(select)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

/// The relation of `t.*`.
fn star_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            if has_no_options(options) =>
        {
            match name.0.as_slice() {
                [part] => part.as_ident().map(folded),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

impl Expander<'_> {
    /// `t.*` beside other columns, in a query in FROM: as its columns, so that all have their own names.
    fn write_out_stars(&mut self, body: &mut SetExpr) {
        let select = match body {
            SetExpr::Select(select) => select,
            SetExpr::SetOperation { left, .. } => return self.write_out_stars(left),
            _ => return,
        };
        let is_bare = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(expr) if is_column(expr));
        if !select.projection.iter().any(|item| star_of(item).is_some()) || !select.projection.iter().any(is_bare) {
            return;
        }
        let Some(fields) = self.fields_of(&select.from) else { return };
        if fields.iter().any(|field| field.is_merged || field.value.is_some()) {
            return;
        }
        for item in std::mem::take(&mut select.projection) {
            let of = |field: &&Field| field.table.as_ref().map(folded) == star_of(&item);
            let columns = fields.iter().filter(|field| star_of(&item).is_some() && of(field));
            let columns: Vec<SelectItem> = columns.map(Field::item).collect();
            if columns.is_empty() { select.projection.push(item) } else { select.projection.extend(columns) }
        }
    }

    /// Columns of the query around, among the results of one in FROM, have their own names, which the planner loses.
    fn name_outer_columns(&mut self, body: &mut SetExpr) {
        let select = match body {
            SetExpr::Select(select) => select,
            SetExpr::SetOperation { left, .. } => return self.name_outer_columns(left),
            _ => return,
        };
        let Some(fields) = self.fields_of(&select.from) else { return };
        for item in &mut select.projection {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let (table, name) = match &*expr {
                Expr::Identifier(name) => (None, name),
                Expr::CompoundIdentifier(parts) => match &parts[..] {
                    [table, name] => (Some(folded(table)), name),
                    _ => continue,
                },
                _ => continue,
            };
            let own = |field: &Field| {
                let is_of = |of: &Ident| table.as_ref().is_none_or(|table| *table == folded(of));
                field.name == folded(name) && field.table.as_ref().is_none_or(is_of)
            };
            if !fields.iter().any(own) {
                let alias = Ident::with_quote('"', folded(name));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
    }

    /// Inside an expression of ORDER BY a name is that of a column of FROM.
    fn check_order(&mut self, query: &mut Query) -> Result<()> {
        let SetExpr::Select(select) = &*query.body else { return Ok(()) };
        let mut names = aliases::given(select);
        while let Some(name) = aliases::misused_in_order(query, &names) {
            let SetExpr::Select(select) = &*query.body else { return Ok(()) };
            let Some(fields) = self.fields_of(&select.from) else { return Ok(()) };
            match fields.into_iter().find(|field| field.name == name) {
                // What it is then, joins with USING say.
                Some(field) if field.is_merged => {}
                Some(Field { table: Some(table), .. }) => aliases::qualify_in_order(query, &name, &table),
                Some(_) => {}
                None => return aliases::undefined(&name),
            }
            names.retain(|known| *known != name);
        }
        Ok(())
    }

    /// An error when a result column's name stands in an expression, and no column of FROM has it.
    fn means_a_column(&mut self, misused: Option<String>, select: &Select) -> Result<()> {
        let Some(name) = misused else { return Ok(()) };
        match self.fields_of(&select.from) {
            Some(fields) if fields.iter().all(|field| field.name != name) => aliases::undefined(&name),
            _ => Ok(()),
        }
    }

    fn expand(&mut self, select: &mut Select) -> Result<()> {
        period_stars::write_out(self, select)?;
        if !select.from.iter().any(merges_columns) {
            return Ok(());
        }
        let Some(fields) = self.fields_of(&select.from) else {
            select.from.iter().try_for_each(check_kinds)?;
            if !select.projection.iter().any(is_plain_wildcard) {
                return Ok(());
            }
            let message = "SELECT * over this JOIN ... USING is not supported";
            let error = Error::new(Code::FeatureNotSupported, message);
            return Err(error.hint("name the columns, or write ON instead of USING"));
        };
        let mut items = Vec::with_capacity(fields.len());
        for item in std::mem::take(&mut select.projection) {
            if is_plain_wildcard(&item) {
                items.extend(fields.iter().map(Field::item));
            } else {
                items.push(item);
            }
        }
        select.projection = items;
        using::write_out(self, select, &fields)
    }
}

/// Whether columns are joined by name.
fn merges_columns(table: &TableWithJoins) -> bool {
    let by_name = |join: &Join| matches!(constraint(join), Some(JoinConstraint::Using(_) | JoinConstraint::Natural));
    let inside = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => merges_columns(table_with_joins),
        _ => false,
    };
    inside(&table.relation) || table.joins.iter().any(|join| by_name(join) || inside(&join.relation))
}

/// An error when columns are joined by name that the planner takes from the wrong side (invariant 2).
fn check_kinds(table: &TableWithJoins) -> Result<()> {
    use JoinOperator::{FullOuter, Right, RightOuter};
    let relations = std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation));
    for relation in relations {
        if let TableFactor::NestedJoin { table_with_joins, .. } = relation {
            check_kinds(table_with_joins)?;
        }
    }
    let by_name = |join: &Join| matches!(constraint(join), Some(JoinConstraint::Using(_) | JoinConstraint::Natural));
    let is_refused =
        |join: &Join| by_name(join) && matches!(join.join_operator, Right(_) | RightOuter(_) | FullOuter(_));
    if table.joins.iter().any(is_refused) {
        let message = "RIGHT and FULL joins with USING or NATURAL are not supported with this FROM";
        return Err(Error::new(Code::FeatureNotSupported, message).hint("write ON, and coalesce(a.k, b.k) for k"));
    }
    Ok(())
}
