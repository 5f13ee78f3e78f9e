//! Pieces of syntax trees from which the reading part of a statement is built.

use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
};
use sqlparser::parser::Parser;
use weft_format::{Code, Error, Result, Schema};
use weft_kernel::catalog::TableDef;

use crate::parse::WeftDialect;
use crate::queries::TARGET;
use crate::queries::names::MARKER;
use crate::row::effective_default;

/// The name under which result columns that are not shown are selected.
pub(super) fn hidden(kind: char, ordinal: usize) -> String {
    format!("{MARKER}{kind}{ordinal}")
}

/// A name that is taken as it is.
pub(crate) fn exact(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// `qualifier.column`
pub(super) fn column(qualifier: &Ident, name: &str) -> Expr {
    Expr::CompoundIdentifier(vec![qualifier.clone(), exact(name)])
}

/// `expr AS alias`
pub(super) fn aliased(expr: Expr, alias: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: exact(alias) }
}

/// An expression kept in the catalog as text.
pub(super) fn stored_expression(text: &str) -> Result<Expr> {
    crate::parse::parse_expression(text)
}

/// Whether an expression is the word DEFAULT.
pub(super) fn is_default(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(ident) => ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"),
        _ => false,
    }
}

/// A column's DEFAULT, or NULL.
pub(super) fn default_of(def: &TableDef, ordinal: usize) -> Result<Expr> {
    match effective_default(def, ordinal) {
        Some(text) => stored_expression(&text),
        None => stored_expression("NULL"),
    }
}

/// `SELECT items FROM from WHERE selection`
pub(crate) fn select(items: Vec<SelectItem>, from: Vec<TableWithJoins>, selection: Option<Expr>) -> Result<Query> {
    let dialect = WeftDialect::PLAIN;
    let parsed = Parser::parse_sql(&dialect, "SELECT 1")
        .map_err(|error| Error::internal(format!("a constant query does not parse: {error}")))?;
    let Some(Statement::Query(mut query)) = parsed.into_iter().next() else {
        return Err(Error::internal("a constant query is no query"));
    };
    let SetExpr::Select(body) = &mut *query.body else {
        return Err(Error::internal("a constant query has no body"));
    };
    let body: &mut Select = body;
    body.projection = items;
    body.from = from;
    body.selection = selection;
    Ok(*query)
}

/// A table to read from, by its exact name.
pub(crate) fn table_relation(name: &str) -> TableWithJoins {
    let relation = TableFactor::Table {
        name: ObjectName::from(vec![exact(name)]),
        alias: None,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    };
    TableWithJoins { relation, joins: Vec::new() }
}

/// `(query) AS alias (columns)`
pub(super) fn derived(query: Query, alias: Ident, columns: &[String]) -> TableWithJoins {
    let columns = columns.iter().map(|name| TableAliasColumnDef { name: exact(name), data_type: None }).collect();
    let alias = TableAlias { explicit: true, name: alias, columns, at: None };
    let relation = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(alias), sample: None };
    TableWithJoins { relation, joins: Vec::new() }
}

/// The table a statement writes: its name, and the name its rows go by in expressions.
pub(super) fn target(table: &TableWithJoins) -> Result<(String, Ident)> {
    match &table.relation {
        TableFactor::Table { name, alias, args: None, sample: None, version: None, .. } if table.joins.is_empty() => {
            let folded = crate::parse::table_name(name)?;
            let shown = match alias {
                Some(alias) if !alias.columns.is_empty() => {
                    return Err(unsupported("column names after the alias of the table to change"));
                }
                Some(alias) => alias.name.clone(),
                None => exact(&folded),
            };
            Ok((folded, shown))
        }
        _ => Err(unsupported("changing anything but one table")),
    }
}

/// The same table as something to read from, hidden row id included.
pub(super) fn target_relation(mut table: TableWithJoins, shown: &Ident) -> TableWithJoins {
    if let TableFactor::Table { name, alias, .. } = &mut table.relation {
        *name = ObjectName::from(vec![exact(TARGET)]);
        *alias = Some(TableAlias { explicit: true, name: shown.clone(), columns: Vec::new(), at: None });
    }
    table
}

/// The query that a text of ours is.
pub(super) fn parsed_query(text: &str) -> Result<Box<Query>> {
    let parsed = Parser::parse_sql(&WeftDialect::PLAIN, text).ok().and_then(|statements| statements.into_iter().next());
    let Some(Statement::Query(made)) = parsed else { return Err(Error::internal(format!("no query: {text}"))) };
    Ok(made)
}

/// A column of a query of so many columns, as a subquery: `(a, b) = (SELECT ...)` asks it for each column.
fn column_of(query: &Query, place: usize, count: usize) -> Result<Expr> {
    let names: Vec<String> = (0..count).map(|place| format!("\"{MARKER}set{place}\"")).collect();
    let text = format!("SELECT {} FROM (SELECT 1) AS \"{MARKER}set\" ({})", names[place], names.join(", "));
    let mut made = parsed_query(&text)?;
    if let SetExpr::Select(select) = &mut *made.body
        && let Some(TableWithJoins { relation: TableFactor::Derived { subquery, .. }, .. }) = select.from.first_mut()
    {
        **subquery = query.clone();
    }
    Ok(Expr::Subquery(made))
}

/// The columns assigned and their expressions, `(a, b) = (1, 2)` and `(a, b) = (SELECT 1, 2)` taken apart.
pub(super) fn assignments(
    list: &[Assignment],
    schema: &Schema,
    ordinal: impl Fn(&ObjectName) -> Result<usize>,
) -> Result<Vec<(usize, Expr)>> {
    let mut out: Vec<(usize, Expr)> = Vec::with_capacity(list.len());
    let mut add = |name: &ObjectName, value: Expr| {
        let ordinal = ordinal(name)?;
        if out.iter().any(|(known, _)| *known == ordinal) {
            let name = &schema.columns[ordinal].name;
            return Err(Error::new(Code::SyntaxError, format!("multiple assignments to same column \"{name}\"")));
        }
        out.push((ordinal, value));
        Ok(())
    };
    for assignment in list {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), value) => add(name, value.clone())?,
            (AssignmentTarget::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
                for (name, value) in names.iter().zip(values) {
                    add(name, value.clone())?;
                }
            }
            (AssignmentTarget::Tuple(names), Expr::Tuple(_)) => {
                let message = format!("{} columns are assigned another number of values", names.len());
                return Err(Error::new(Code::SyntaxError, message));
            }
            (AssignmentTarget::Tuple(names), Expr::Subquery(query)) => {
                for (place, name) in names.iter().enumerate() {
                    add(name, column_of(query, place, names.len())?)?;
                }
            }
            (AssignmentTarget::Tuple(_), _) => return Err(unsupported("assigning a subquery to several columns")),
        }
    }
    Ok(out)
}

/// The ordinal of a column that users see.
pub(super) fn visible_ordinal(name: &ObjectName, schema: &Schema, table: &str) -> Result<usize> {
    let last = name.0.last().and_then(|part| part.as_ident()).map(crate::parse::fold).unwrap_or_default();
    schema.visible_ordinal(&last).ok_or_else(|| {
        Error::new(Code::UndefinedColumn, format!("column \"{last}\" of relation \"{table}\" does not exist")).about(
            table,
            Some(&last),
            None,
        )
    })
}

/// RETURNING with `*` written out.
pub(super) fn returning(items: &[SelectItem], schema: &Schema, shown: &Ident) -> Vec<SelectItem> {
    let mut out = Vec::new();
    for item in items {
        let all = match item {
            SelectItem::Wildcard(_) => true,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let last = name.0.last().and_then(|part| part.as_ident()).map(crate::parse::fold);
                last.as_deref() == Some(&crate::parse::fold(shown))
            }
            _ => false,
        };
        if all {
            let each = schema.visible().map(|(_, c)| SelectItem::UnnamedExpr(column(shown, &c.name)));
            out.extend(each);
        } else {
            out.push(item.clone());
        }
    }
    out
}

/// An error for what is not supported.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported"))
}
