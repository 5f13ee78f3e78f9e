//! `*` in the query of a view: written out when the view is made, so that columns which tables get later are not the
//! view's, nor those of a view that is made from its text.
//!
//! ```text
//!   SELECT * FROM t, u            SELECT t.a, t.b, u.c FROM t, u
//!   SELECT u.* FROM t, u          SELECT u.c FROM t, u
//!   SELECT * FROM t JOIN u USING (a)      SELECT a, t.b, u.c FROM t JOIN u USING (a): a is of both
//! ```
//!
//! 1. What is written out has the columns of what was written. Where that cannot be done (two columns of one name
//!    beside USING, a relation without a name), the star stays.
//! 2. Only the stars that give the view its columns: one inside a subquery or a WITH stays.

use sqlparser::ast::{
    Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, WildcardAdditionalOptions,
};
use weft_format::Result;
use weft_pgcatalog::quoted;

use crate::parse::fold;

/// Tells the names of a query's columns.
pub(super) type NamesOf<'a> = dyn Fn(Query) -> Result<Vec<String>> + 'a;

/// Writes the stars of a query out; whether there were any.
pub(super) fn write_out(query: &mut Query, names_of: &NamesOf<'_>) -> Result<bool> {
    let around = query.clone();
    in_body(&mut query.body, &around, names_of)
}

/// Gives the columns of a query names, as far as nothing else in it may mean the names that they had.
///
/// ```text
///   (x, y): SELECT a, b FROM t                SELECT a AS x, b AS y FROM t
///   (x): SELECT a + 1 AS n FROM t ORDER BY n  stays
/// ```
pub(super) fn name_columns(query: &mut Query, names: &[String]) {
    let is_ordered = query.order_by.is_some();
    let mut body = &mut *query.body;
    while let SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    let SetExpr::Select(select) = body else { return };
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if select.projection.len() != names.len() || select.projection.iter().any(is_star) {
        return;
    }
    for (item, name) in select.projection.iter_mut().zip(names) {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) => expr.clone(),
            SelectItem::ExprWithAlias { expr, alias } if !(is_ordered || is_grouped || fold(alias) == *name) => {
                expr.clone()
            }
            _ => continue,
        };
        let own = match &expr {
            Expr::Identifier(own) => Some(own),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        if own.is_none_or(|own| fold(own) != *name) {
            *item = SelectItem::ExprWithAlias { expr, alias: ident(name) };
        }
    }
}

fn in_body(body: &mut SetExpr, around: &Query, names_of: &NamesOf<'_>) -> Result<bool> {
    match body {
        SetExpr::Select(select) => in_select(select, around, names_of),
        SetExpr::SetOperation { left, right, .. } => {
            Ok(in_body(left, around, names_of)? | in_body(right, around, names_of)?)
        }
        _ => Ok(false),
    }
}

fn in_select(select: &mut Select, around: &Query, names_of: &NamesOf<'_>) -> Result<bool> {
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if !select.projection.iter().any(is_star) {
        return Ok(false);
    }
    let mut items = Vec::new();
    for item in &select.projection {
        match columns_of(item, select, around, names_of)? {
            Some(columns) => items.extend(columns),
            None => items.push(item.clone()),
        }
    }
    select.projection = items;
    Ok(true)
}

/// The columns that an item stands for; none when it is no star, or one that stays.
fn columns_of(
    item: &SelectItem,
    select: &Select,
    around: &Query,
    names_of: &NamesOf<'_>,
) -> Result<Option<Vec<SelectItem>>> {
    match item {
        SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
            let Some(relations) = relations(&select.from, false) else {
                return merged_columns(item, select, around, names_of);
            };
            let mut columns = Vec::new();
            for relation in relations {
                columns.extend(columns_of_relation(&[relation], select, around, names_of)?);
            }
            Ok(Some(columns))
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            if *options == WildcardAdditionalOptions::default() =>
        {
            let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
            parts.map(|parts| columns_of_relation(&parts, select, around, names_of)).transpose()
        }
        _ => Ok(None),
    }
}

/// Over joins that make one column of two: a column that one relation alone has is that one's, whatever columns the
/// others get later.
fn merged_columns(
    item: &SelectItem,
    select: &Select,
    around: &Query,
    names_of: &NamesOf<'_>,
) -> Result<Option<Vec<SelectItem>>> {
    let names = names_of(probe(item.clone(), select, around)?)?;
    let is_double = |at: usize| names[..at].contains(&names[at]);
    if (1..names.len()).any(is_double) {
        return Ok(None);
    }
    let mut all = Vec::new();
    for relation in relations(&select.from, true).unwrap_or_default() {
        all.extend(columns_of_relation(&[relation], select, around, names_of)?);
    }
    let is_named = |item: &&SelectItem, name: &str| match item {
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            parts.last().is_some_and(|part| part.value == *name)
        }
        _ => false,
    };
    let one = |name: &String| {
        let mut of = all.iter().filter(|item| is_named(item, name));
        of.next().filter(|_| of.next().is_none()).cloned().unwrap_or_else(|| column(&[], name))
    };
    Ok(Some(names.iter().map(one).collect()))
}

/// `relation.a, relation.b`
fn columns_of_relation(
    relation: &[Ident],
    select: &Select,
    around: &Query,
    names_of: &NamesOf<'_>,
) -> Result<Vec<SelectItem>> {
    let name = ObjectName::from(relation.to_vec());
    let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
    let star = SelectItem::QualifiedWildcard(kind, WildcardAdditionalOptions::default());
    let names = names_of(probe(star, select, around)?)?;
    Ok(names.iter().map(|name| column(relation, name)).collect())
}

fn column(relation: &[Ident], name: &str) -> SelectItem {
    SelectItem::UnnamedExpr(match relation {
        [] => Expr::Identifier(ident(name)),
        relation => Expr::CompoundIdentifier(relation.iter().cloned().chain([ident(name)]).collect()),
    })
}

/// A name, in quotes where it needs them.
fn ident(name: &str) -> Ident {
    if quoted(name).starts_with('"') { Ident::with_quote('"', name) } else { Ident::new(name) }
}

/// `SELECT item FROM ...` of a SELECT, with the WITH that is around it.
fn probe(item: SelectItem, select: &Select, around: &Query) -> Result<Query> {
    let mut query = crate::dml::select(vec![item], select.from.clone(), None)?;
    query.with.clone_from(&around.with);
    Ok(query)
}

/// The names of the relations in FROM, in their order; none when one has no name, or, unless these are `merged` too, a
/// join makes one column of two.
fn relations(from: &[TableWithJoins], merged: bool) -> Option<Vec<Ident>> {
    let mut names = Vec::new();
    for tables in from {
        of_joins(tables, merged, &mut names)?;
    }
    Some(names)
}

fn of_joins(tables: &TableWithJoins, merged: bool, names: &mut Vec<Ident>) -> Option<()> {
    of_factor(&tables.relation, merged, names)?;
    for join in &tables.joins {
        let keeps_all = match &join.join_operator {
            JoinOperator::Join(on)
            | JoinOperator::Inner(on)
            | JoinOperator::Left(on)
            | JoinOperator::LeftOuter(on)
            | JoinOperator::Right(on)
            | JoinOperator::RightOuter(on)
            | JoinOperator::FullOuter(on)
            | JoinOperator::CrossJoin(on) => merged || matches!(on, JoinConstraint::On(_) | JoinConstraint::None),
            _ => false,
        };
        if !keeps_all {
            return None;
        }
        of_factor(&join.relation, merged, names)?;
    }
    Some(())
}

fn of_factor(factor: &TableFactor, merged: bool, names: &mut Vec<Ident>) -> Option<()> {
    let name = match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => return of_joins(table_with_joins, merged, names),
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => alias.name.clone(),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident()?.clone(),
        _ => return None,
    };
    names.push(name);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Parsed, parse};
    use sqlparser::ast::Statement;

    fn query(sql: &str) -> Query {
        match parse(sql).unwrap().pop() {
            Some(Parsed::Sql { statement, .. }) => match *statement {
                Statement::Query(query) => *query,
                other => panic!("{other}"),
            },
            _ => panic!("{sql}"),
        }
    }

    /// Every relation is `(a, "B")`; `*` gives the columns of one.
    fn written(sql: &str) -> String {
        let mut query = query(sql);
        write_out(&mut query, &|_| Ok(vec!["a".to_owned(), "B".to_owned()])).unwrap();
        query.to_string()
    }

    #[test]
    fn stars_become_the_columns_of_relations() {
        assert_eq!(written("SELECT * FROM public.t AS \"t\""), "SELECT \"t\".a, \"t\".\"B\" FROM public.t AS \"t\"");
        assert_eq!(written("SELECT 1, u.* FROM t, u"), "SELECT 1, u.a, u.\"B\" FROM t, u");
        assert_eq!(
            written("SELECT * FROM t LEFT JOIN (u CROSS JOIN v) ON true"),
            "SELECT t.a, t.\"B\", u.a, u.\"B\", v.a, v.\"B\" FROM t LEFT JOIN (u CROSS JOIN v) ON true"
        );
        assert_eq!(written("SELECT * FROM t JOIN u USING (a)"), "SELECT a, \"B\" FROM t JOIN u USING(a)");
        let mut of_one = query("SELECT * FROM t NATURAL JOIN u");
        let names_of = |query: Query| {
            let names: &[&str] = match &query.to_string()[..10] {
                "SELECT u.*" => &["a", "c"],
                "SELECT t.*" => &["a", "B"],
                _ => &["a", "B", "c"],
            };
            Ok(names.iter().map(|name| (*name).to_owned()).collect())
        };
        write_out(&mut of_one, &names_of).unwrap();
        assert_eq!(of_one.to_string(), "SELECT a, t.\"B\", u.c FROM t NATURAL JOIN u");
        assert_eq!(
            written("WITH w AS (SELECT * FROM t) SELECT * FROM w UNION ALL SELECT * FROM u"),
            "WITH w AS (SELECT * FROM t) SELECT w.a, w.\"B\" FROM w UNION ALL SELECT u.a, u.\"B\" FROM u"
        );
        assert_eq!(written("SELECT count(*) FROM t"), "SELECT count(*) FROM t");
    }

    #[test]
    fn columns_get_names_where_nothing_else_means_the_old_ones() {
        let named = |sql: &str, names: &[&str]| {
            let mut query = query(sql);
            name_columns(&mut query, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            query.to_string()
        };
        assert_eq!(named("SELECT a, t.b, 1 FROM t", &["x", "b", "Y"]), "SELECT a AS x, t.b, 1 AS \"Y\" FROM t");
        assert_eq!(
            named("SELECT a AS n FROM t UNION SELECT b FROM u", &["x"]),
            "SELECT a AS x FROM t UNION SELECT b FROM u"
        );
        assert_eq!(named("SELECT a + 1 AS n FROM t ORDER BY n", &["x"]), "SELECT a + 1 AS n FROM t ORDER BY n");
        assert_eq!(named("SELECT * FROM t", &["x"]), "SELECT * FROM t");
    }

    #[test]
    fn a_star_with_two_columns_of_one_name_stays() {
        let mut query = query("SELECT * FROM t NATURAL JOIN u");
        write_out(&mut query, &|_| Ok(vec!["a".to_owned(), "a".to_owned()])).unwrap();
        assert_eq!(query.to_string(), "SELECT * FROM t NATURAL JOIN u");
    }
}
