//! The columns of FROM, by name, and what joins with USING and NATURAL make of them.
//!
//! ```text
//!   a (k, x) JOIN b (k, y) USING (k)        k of both, x of a, y of b        the condition a.k = b.k
//! ```

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, Query, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, Value, WildcardAdditionalOptions, With,
};
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::TableRef;
use weft_sql::Tables;
use weft_sql::expr::call;
use weft_sql::parse::joined_names;
use weft_sql::queries::names::{column_name, folded};
use weft_sql::queries::{ReadAt, moment_of};

use super::dependent::Sources;
use super::versions;

/// A column of FROM.
#[derive(Clone)]
pub(super) struct Field {
    pub(super) table: Option<Ident>,
    pub(super) name: String,
    /// Joined by its name.
    pub(super) is_merged: bool,
    /// What it is, when it is no column of a relation.
    pub(super) value: Option<Expr>,
}

/// What knows the columns of FROM: of tables, of WITH queries in sight, of joins.
pub(super) struct Expander<'a> {
    tables: &'a dyn Tables,
    /// The WITH clauses in sight, innermost last.
    pub(super) with: Vec<Option<With>>,
    /// FROM of the queries around, innermost last, and of the query itself.
    pub(super) around: Vec<Vec<TableWithJoins>>,
    /// Relations of each of them that a query inside asks whether a row is there.
    pub(super) marked: Vec<Vec<String>>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(tables: &'a dyn Tables) -> Expander<'a> {
        Expander { tables, with: Vec::new(), around: Vec::new(), marked: Vec::new() }
    }
}

fn named(table: Option<Ident>, names: Vec<String>) -> Vec<Field> {
    names.into_iter().map(|name| Field::of(table.clone(), name)).collect()
}

impl Expander<'_> {
    pub(super) fn fields_of(&mut self, from: &[TableWithJoins]) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        for table in from {
            fields.extend(self.joined_fields(table)?);
        }
        Some(fields)
    }

    /// Those of a join: joined ones first, each once, then the rest of the left side, then that of the right.
    fn joined_fields(&mut self, table: &TableWithJoins) -> Option<Vec<Field>> {
        let mut left = self.factor_fields(&table.relation)?;
        for join in &table.joins {
            let right = self.factor_fields(&join.relation)?;
            left = joined(join, left, right)?.0;
        }
        Some(left)
    }

    pub(super) fn factor_fields(&mut self, factor: &TableFactor) -> Option<Vec<Field>> {
        let (names, alias, table) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let folded = weft_sql::parse::table_name(name).ok()?;
                let names = match (self.with_names(&folded), self.tables.of_catalog(&folded)) {
                    (Some(names), _) => names?,
                    (None, Some(relation)) => relation.columns().into_iter().map(|(name, _)| name.to_owned()).collect(),
                    (None, None) => {
                        let table = self.tables.table(&folded).ok()?;
                        table.def.schema.visible().map(|(_, column)| column.name.clone()).collect()
                    }
                };
                (names, alias, Some(Ident::with_quote('"', folded)))
            }
            TableFactor::Derived { subquery, alias, .. } => (self.query_names(subquery)?, alias, None),
            TableFactor::NestedJoin { table_with_joins, alias: None } => return self.joined_fields(table_with_joins),
            TableFactor::UNNEST { alias: Some(of), .. }
            | TableFactor::Table { alias: Some(of), args: Some(_), .. }
            | TableFactor::Function { alias: Some(of), .. } => {
                let names = of.columns.iter().map(|column| folded(&column.name)).collect();
                let table = Some(of.name.clone());
                return Some(named(table, names));
            }
            _ => return None,
        };
        let table = alias.as_ref().map(|alias| alias.name.clone()).or(table);
        // An alias may name the hidden columns, too, which come last.
        let shown = names.len();
        let all = names.into_iter().chain(self.hidden_names(factor).into_iter().map(str::to_owned)).collect();
        let mut names = renamed(all, alias.as_ref())?;
        names.truncate(shown);
        Some(named(table, names))
    }

    /// The columns of versions of a table in FROM, which are none of `*`; none when it has no such columns.
    pub(super) fn hidden_names(&mut self, factor: &TableFactor) -> Vec<&'static str> {
        let TableFactor::Table { name, args: None, .. } = factor else { return Vec::new() };
        let Ok(folded) = weft_sql::parse::table_name(name) else { return Vec::new() };
        if moment_of(&folded).1.is_none() {
            return Vec::new();
        }
        match self.tables.table(&folded) {
            Ok(table) => versions::columns_of(&table).map(|(name, _)| name).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The columns of a WITH query of this name; none when there is no such query.
    fn with_names(&mut self, name: &str) -> Option<Option<Vec<String>>> {
        let tables = self.with.iter().rev().flatten().flat_map(|with| &with.cte_tables);
        let found = tables.into_iter().find(|table| folded(&table.alias.name) == name)?.clone();
        let names = self.query_names(&found.query).and_then(|names| renamed(names, Some(&found.alias)));
        Some(names)
    }

    fn query_names(&mut self, query: &Query) -> Option<Vec<String>> {
        // A recursive query would look for itself.
        if self.with.len() > 64 {
            return None;
        }
        self.with.push(query.with.clone());
        let names = self.body_names(&query.body);
        self.with.pop();
        names
    }

    fn body_names(&mut self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => {
                let mut names = Vec::new();
                for item in &select.projection {
                    match item {
                        SelectItem::UnnamedExpr(expr) => names.push(column_name(expr)),
                        SelectItem::ExprWithAlias { alias, .. } => names.push(folded(alias)),
                        wildcard if is_plain_wildcard(wildcard) => {
                            names.extend(self.fields_of(&select.from)?.into_iter().map(|field| field.name));
                        }
                        _ => return None,
                    }
                }
                Some(names)
            }
            SetExpr::Query(query) => self.query_names(query),
            SetExpr::SetOperation { left, .. } => self.body_names(left),
            SetExpr::Values(values) => {
                Some((1..=values.rows.first()?.content.len()).map(|place| format!("column{place}")).collect())
            }
            _ => None,
        }
    }
}

impl Expander<'_> {
    /// The columns of a table, and their types.
    pub(super) fn stored_columns(&self, name: &ObjectName) -> Result<Vec<(String, DataType)>> {
        let folded = weft_sql::parse::table_name(name)?;
        let table = self.tables.table(&folded).map_err(|error| match error.code() {
            Code::UndefinedTable => {
                Error::new(Code::UndefinedObject, format!("type \"{folded}\" does not exist")).hint("name a table")
            }
            _ => error,
        })?;
        Ok(table.def.schema.visible().map(|(_, column)| (column.name.clone(), column.data_type)).collect())
    }
}

impl Sources for Expander<'_> {
    fn base_table(&mut self, name: &ObjectName) -> Option<(String, TableRef)> {
        let folded = weft_sql::parse::table_name(name).ok()?;
        if self.with_names(&folded).is_some() || self.tables.of_catalog(&folded).is_some() {
            return None;
        }
        // A key has many versions: nothing depends on it.
        if let Some(ReadAt::Period(_)) = moment_of(&folded).1 {
            return None;
        }
        let table = self.tables.table(&folded).ok()?;
        Some((folded, table))
    }

    fn columns_of(&mut self, factor: &TableFactor) -> Option<Vec<String>> {
        Some(self.factor_fields(factor)?.into_iter().map(|field| field.name).collect())
    }

    fn columns_of_all(&mut self, from: &[TableWithJoins]) -> Option<Vec<String>> {
        Some(self.fields_of(from)?.into_iter().map(|field| field.name).collect())
    }
}

impl Field {
    fn of(table: Option<Ident>, name: String) -> Field {
        Field { table, name, is_merged: false, value: None }
    }

    /// What it is in an expression.
    pub(super) fn expr(&self) -> Expr {
        let name = Ident::with_quote('"', &self.name);
        match (&self.value, &self.table) {
            (Some(value), _) => value.clone(),
            (None, Some(table)) => Expr::CompoundIdentifier(vec![table.clone(), name]),
            (None, None) => Expr::Identifier(name),
        }
    }

    /// It as a result column.
    pub(super) fn item(&self) -> SelectItem {
        let expr = self.expr();
        if self.value.is_some() {
            SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', &self.name) }
        } else {
            SelectItem::UnnamedExpr(expr)
        }
    }
}

fn renamed(mut names: Vec<String>, alias: Option<&TableAlias>) -> Option<Vec<String>> {
    for (place, column) in alias.iter().flat_map(|alias| &alias.columns).enumerate() {
        *names.get_mut(place)? = folded(&column.name);
    }
    Some(names)
}

pub(super) fn is_plain_wildcard(item: &SelectItem) -> bool {
    match item {
        SelectItem::Wildcard(options) => has_no_options(options),
        _ => false,
    }
}

pub(super) fn has_no_options(options: &WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
}

pub(super) fn constraint(join: &Join) -> Option<&JoinConstraint> {
    Some(match &join.join_operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint) => constraint,
        _ => return None,
    })
}

/// The columns of a join, and the condition of one by names; none when a name is not one column of each side.
pub(super) fn joined(join: &Join, left: Vec<Field>, right: Vec<Field>) -> Option<(Vec<Field>, Option<Expr>)> {
    let names: Vec<String> = match constraint(join)? {
        JoinConstraint::Using(names) => {
            joined_names(names).0.iter().map(|name| name.0.last()?.as_ident().map(folded)).collect::<Option<_>>()?
        }
        JoinConstraint::Natural => {
            let names = left.iter().map(|field| field.name.clone());
            names.filter(|name| right.iter().any(|field| field.name == *name)).collect()
        }
        JoinConstraint::On(_) | JoinConstraint::None => return Some((left.into_iter().chain(right).collect(), None)),
    };
    let mut condition: Option<Expr> = None;
    let mut all = Vec::with_capacity(left.len() + right.len());
    for name in &names {
        let (of_left, of_right) = (only(&left, name)?, only(&right, name)?);
        let equal = binary(of_left.expr(), BinaryOperator::Eq, of_right.expr());
        condition = Some(match condition {
            Some(others) => binary(others, BinaryOperator::And, equal),
            None => equal,
        });
        all.push(merged(&join.join_operator, of_left, of_right));
    }
    all.extend(left.into_iter().chain(right).filter(|field| !names.contains(&field.name)));
    let no_names = || Expr::Value(Value::Boolean(true).into());
    Some((all, Some(condition.unwrap_or_else(no_names))))
}

fn merged(operator: &JoinOperator, left: &Field, right: &Field) -> Field {
    use JoinOperator::{FullOuter, Right, RightOuter};
    let of = match operator {
        Right(_) | RightOuter(_) => right.clone(),
        FullOuter(_) => Field { value: Some(coalesce(left.expr(), right.expr())), ..left.clone() },
        _ => left.clone(),
    };
    Field { is_merged: true, ..of }
}

pub(super) fn only<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
    let mut found = fields.iter().filter(|field| field.name == name);
    found.next().filter(|_| found.next().is_none())
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

fn coalesce(left: Expr, right: Expr) -> Expr {
    call("coalesce", vec![left, right])
}
