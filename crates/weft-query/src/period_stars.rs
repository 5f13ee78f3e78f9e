//! `*` over tables of which versions are read, written out: when they began and ended is none of it.
//!
//! ```text
//!   SELECT * FROM t FOR SYSTEM_TIME ALL AS h, u       SELECT h.k, h.v, u.a FROM ...
//!   SELECT h.*, u.* FROM the same                     SELECT h.k, h.v, u.* FROM ...
//! ```

use sqlparser::ast::{
    JoinConstraint, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins,
};
use weft_format::{Code, Error, Result};
use weft_sql::queries::names::folded;

use super::fields::{Expander, Field, constraint, is_plain_wildcard};

/// Writes out what stands for columns of such tables.
pub(super) fn write_out(expander: &mut Expander<'_>, select: &mut Select) -> Result<()> {
    let mut with_hidden = Vec::new();
    for table in &select.from {
        factors(table, &mut |factor| {
            if !expander.hidden_names(factor).is_empty() {
                with_hidden.push(factor.clone());
            }
        });
    }
    if with_hidden.is_empty() {
        return Ok(());
    }
    let all = expander.fields_of(&select.from);
    let is_needed = select.projection.iter().any(is_plain_wildcard) || select.from.iter().any(is_natural);
    if all.is_none() && is_needed {
        let error = Error::new(Code::FeatureNotSupported, "SELECT * or NATURAL JOIN over this FROM is not supported");
        return Err(error.hint("name the columns, and write ON instead of NATURAL"));
    }
    let mut items = Vec::new();
    for item in std::mem::take(&mut select.projection) {
        let of = match &item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                name.0.last().and_then(|part| part.as_ident()).map(folded)
            }
            _ => None,
        };
        let named = of.and_then(|of| {
            let is_of = |factor: &&TableFactor| alias_of(factor).is_some_and(|alias| alias == of);
            with_hidden.iter().find(is_of).and_then(|factor| expander.factor_fields(factor))
        });
        match (&all, named) {
            (_, Some(fields)) => items.extend(fields.iter().map(Field::item)),
            (Some(fields), None) if is_plain_wildcard(&item) => items.extend(fields.iter().map(Field::item)),
            _ => items.push(item),
        }
    }
    select.projection = items;
    Ok(())
}

/// What a table in FROM is called: the clause gives it an alias where it has none.
fn alias_of(factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. } => Some(folded(&alias.name)),
        _ => None,
    }
}

fn factors(table: &TableWithJoins, visit: &mut dyn FnMut(&TableFactor)) {
    for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
        match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => factors(table_with_joins, visit),
            factor => visit(factor),
        }
    }
}

fn is_natural(table: &TableWithJoins) -> bool {
    let inside = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => is_natural(table_with_joins),
        _ => false,
    };
    inside(&table.relation)
        || table
            .joins
            .iter()
            .any(|join| matches!(constraint(join), Some(JoinConstraint::Natural)) || inside(&join.relation))
}
