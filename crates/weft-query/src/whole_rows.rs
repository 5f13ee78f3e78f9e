//! `count(t.*)`: how many rows of a relation there are, without those that an outer join made.
//!
//! ```text
//!   FROM t, FROM t LEFT JOIN u      count(t.*)   becomes   count(*)
//!   FROM o LEFT JOIN t ON ...       count(t.*)   becomes   count(t."id"), the first column of t's primary key
//!   FROM o LEFT JOIN q ON ...       count(q.*)   becomes   count(q."there"), which q gets: true
//! ```
//!
//! The planner takes it for `count(*)`. DISTINCT of whole rows is refused, and so is a count on the side of an
//! outer join whose rows may be missing, where `*` would show that column.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator,
    ObjectName, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
    VisitMut, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_sql::queries::names::{MARKER, folded};

use super::dependent::Sources;
use super::template::parsed;

/// Writes out the counts of whole rows in a SELECT.
pub(super) fn write_out(sources: &mut dyn Sources, select: &mut Select) -> Result<()> {
    let stars = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let mut counts = Counts::new(sources, &select.from);
    counts.may_mark = !select.projection.iter().any(stars);
    let Select { projection, having, named_window, .. } = select;
    let told = projection.visit(&mut counts);
    let told = if told.is_continue() { having.visit(&mut counts) } else { told };
    let told = if told.is_continue() { named_window.visit(&mut counts) } else { told };
    let marked = counts.marked;
    match told {
        ControlFlow::Continue(()) => mark(&mut select.from, &marked),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The same in the ORDER BY of a query.
pub(super) fn write_order(sources: &mut dyn Sources, query: &mut Query) -> Result<()> {
    let Query { body, order_by, .. } = query;
    let SetExpr::Select(select) = &mut **body else { return Ok(()) };
    let mut counts = Counts::new(sources, &select.from);
    let told = order_by.visit(&mut counts);
    let marked = counts.marked;
    match told {
        ControlFlow::Continue(()) => mark(&mut select.from, &marked),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The column that says that a row is there.
fn there() -> String {
    format!("{MARKER}there")
}

/// Gives relations of these names the column.
fn mark(from: &mut [TableWithJoins], marked: &[String]) -> Result<()> {
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
    if !matches!(of, TableFactor::Table { .. } | TableFactor::Derived { lateral: false, .. }) {
        return Err(refused(&name));
    }
    let alias = match of {
        TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } => alias.clone(),
        _ => None,
    };
    let mut outer = alias.unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', &name),
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

fn refused(relation: &str) -> Error {
    let message = format!("count({relation}.*) where its rows may be missing is not supported");
    Error::new(Code::FeatureNotSupported, message).hint("count a column of it that is never NULL")
}

/// The relations of FROM by their names, and whether their rows may be missing.
fn relations(table: &TableWithJoins, may_miss: bool, into: &mut Vec<(TableFactor, bool)>) {
    use JoinOperator as J;
    let begun = into.len();
    factor(&table.relation, may_miss, into);
    for join in &table.joins {
        let (left, right) = match &join.join_operator {
            J::Join(_) | J::Inner(_) | J::CrossJoin(_) | J::CrossApply => (false, false),
            J::Left(_) | J::LeftOuter(_) | J::OuterApply => (false, true),
            J::Right(_) | J::RightOuter(_) => (true, false),
            _ => (true, true),
        };
        into[begun..].iter_mut().for_each(|(_, misses)| *misses |= left);
        factor(&join.relation, may_miss || right, into);
    }
}

fn factor(of: &TableFactor, may_miss: bool, into: &mut Vec<(TableFactor, bool)>) {
    match of {
        TableFactor::NestedJoin { table_with_joins, alias: None } => relations(table_with_joins, may_miss, into),
        other => into.push((other.clone(), may_miss)),
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

struct Counts<'a> {
    sources: &'a mut dyn Sources,
    relations: Vec<(TableFactor, bool)>,
    /// Queries inside count relations of their own.
    depth: usize,
    /// Relations that need a column which says that a row is there.
    marked: Vec<String>,
    may_mark: bool,
}

impl<'a> Counts<'a> {
    fn new(sources: &'a mut dyn Sources, from: &[TableWithJoins]) -> Counts<'a> {
        let mut found = Vec::new();
        from.iter().for_each(|table| relations(table, false, &mut found));
        Counts { sources, relations: found, depth: 0, marked: Vec::new(), may_mark: true }
    }

    /// What is counted instead of a relation's rows.
    fn counted(&mut self, relation: &ObjectName) -> Result<FunctionArgExpr> {
        let refused = || refused(&relation.to_string());
        let wanted = relation.0.last().and_then(|part| part.as_ident()).ok_or_else(refused)?.clone();
        let is_wanted = |(of, _): &&(TableFactor, bool)| shown(of).is_some_and(|name| name == folded(&wanted));
        let Some((of, may_miss)) = self.relations.iter().find(is_wanted).cloned() else {
            return Ok(FunctionArgExpr::Wildcard);
        };
        if !may_miss {
            return Ok(FunctionArgExpr::Wildcard);
        }
        let key = match self.key(&of) {
            Some(key) => key,
            None if self.may_mark => {
                self.marked.push(folded(&wanted));
                there()
            }
            None => return Err(refused()),
        };
        Ok(FunctionArgExpr::Expr(Expr::CompoundIdentifier(vec![wanted, Ident::with_quote('"', key)])))
    }

    /// The name of a column that no row of the relation has NULL in.
    fn key(&mut self, of: &TableFactor) -> Option<String> {
        let TableFactor::Table { name, args: None, .. } = of else { return None };
        let (_, table) = self.sources.base_table(name)?;
        table.def.primary_key.as_ref()?;
        let ordinal = *table.def.schema.key.first()?;
        let place = table.def.schema.visible().position(|(visible, _)| visible == ordinal)?;
        self.sources.columns_of(of)?.get(place).cloned()
    }
}

impl VisitorMut for Counts<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
            return ControlFlow::Continue(());
        };
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let [FunctionArg::Unnamed(arg)] = &mut list.args[..] else { return ControlFlow::Continue(()) };
        let FunctionArgExpr::QualifiedWildcard(relation) = arg else { return ControlFlow::Continue(()) };
        if self.depth > 0 || !name.to_string().eq_ignore_ascii_case("count") {
            return ControlFlow::Continue(());
        }
        if is_distinct {
            let message = format!("count(DISTINCT {relation}.*) is not supported");
            let error = Error::new(Code::FeatureNotSupported, message);
            return ControlFlow::Break(error.hint("count the rows of a SELECT DISTINCT"));
        }
        match self.counted(relation) {
            Ok(counted) => *arg = counted,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}
