//! `count(t.*)`: how many rows of a relation there are, without those that an outer join made.
//!
//! ```text
//!   FROM t                          count(t.*)   becomes   count(*)
//!   FROM o LEFT JOIN t ON ...       count(t.*)   becomes   count(t."id"), the first column of t's primary key
//! ```
//!
//! The planner takes it for `count(*)`. Behind an outer join a relation without a primary key is refused.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator, ObjectName, Query, Select,
    TableFactor, TableWithJoins, VisitMut, VisitorMut,
};
use weft_format::{Code, Error, Result};

use super::dependent::Sources;
use super::names::folded;

/// Writes out the counts of whole rows in a SELECT.
pub(super) fn write_out(sources: &mut dyn Sources, select: &mut Select) -> Result<()> {
    if !select.from.iter().any(has_outer_join) {
        return Ok(());
    }
    let mut counts = Counts { sources, from: select.from.clone(), depth: 0 };
    let parts: [&mut dyn FnMut(&mut Counts<'_>) -> ControlFlow<Error>; 3] = [
        &mut |counts| VisitMut::visit(&mut select.projection, counts),
        &mut |counts| VisitMut::visit(&mut select.having, counts),
        &mut |counts| VisitMut::visit(&mut select.named_window, counts),
    ];
    for part in parts {
        if let ControlFlow::Break(error) = part(&mut counts) {
            return Err(error);
        }
    }
    Ok(())
}

fn has_outer_join(table: &TableWithJoins) -> bool {
    use JoinOperator as J;
    let is_outer = |operator: &JoinOperator| {
        !matches!(operator, J::Join(_) | J::Inner(_) | J::CrossJoin(_) | J::CrossApply | J::OuterApply)
    };
    let inside = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => has_outer_join(table_with_joins),
        _ => false,
    };
    inside(&table.relation) || table.joins.iter().any(|join| is_outer(&join.join_operator) || inside(&join.relation))
}

struct Counts<'a> {
    sources: &'a mut dyn Sources,
    from: Vec<TableWithJoins>,
    /// Queries inside count relations of their own.
    depth: usize,
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
        let [FunctionArg::Unnamed(arg)] = &mut list.args[..] else { return ControlFlow::Continue(()) };
        let FunctionArgExpr::QualifiedWildcard(relation) = arg else { return ControlFlow::Continue(()) };
        if self.depth > 0 || !name.to_string().eq_ignore_ascii_case("count") {
            return ControlFlow::Continue(());
        }
        match self.key(relation) {
            Some(key) => *arg = FunctionArgExpr::Expr(Expr::CompoundIdentifier(key)),
            None => {
                let message = format!("count({relation}.*) behind an outer join is not supported");
                let error = Error::new(Code::FeatureNotSupported, message);
                return ControlFlow::Break(error.hint("count a column of it that is never NULL"));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Counts<'_> {
    /// The name of a column that no row of the relation has NULL in.
    fn key(&mut self, relation: &ObjectName) -> Option<Vec<Ident>> {
        let wanted = relation.0.last()?.as_ident()?.clone();
        let mut factors: Vec<TableFactor> = Vec::new();
        let mut left: Vec<&TableWithJoins> = self.from.iter().collect();
        while let Some(table) = left.pop() {
            for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
                match factor {
                    TableFactor::NestedJoin { table_with_joins, alias: None } => left.push(table_with_joins),
                    other => factors.push(other.clone()),
                }
            }
        }
        for factor in factors {
            let TableFactor::Table { name, alias, args: None, .. } = &factor else { continue };
            let shown = match alias {
                Some(alias) => alias.name.clone(),
                None => name.0.last()?.as_ident()?.clone(),
            };
            if folded(&shown) != folded(&wanted) {
                continue;
            }
            let (_, table) = self.sources.base_table(name)?;
            table.def.primary_key.as_ref()?;
            let ordinal = *table.def.schema.key.first()?;
            let place = table.def.schema.visible().position(|(visible, _)| visible == ordinal)?;
            let column = self.sources.columns_of(&factor)?.get(place)?.clone();
            return Some(vec![wanted, Ident::with_quote('"', column)]);
        }
        None
    }
}
