//! The columns in sight at a place of a statement, and the types of expressions there, as far as the tree tells them.
//!
//! ```text
//!   SELECT (SELECT f(a, t.b) FROM s) FROM t        levels: t, then s; a is s's or t's, t.b is integer
//! ```
//!
//! 1. What is not known is left open: it is never a reason to refuse a call.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FromTable, Function as Call, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    Statement, TableAlias, TableFactor, TableObject, TableWithJoins, UpdateTableFromKind, Value, VisitorMut,
};
use weft_expr::routines;
use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::DataType;
use weft_kernel::{ObjectKind, Transaction};
use weft_walk::VisitMut;

use super::definition::{Function, GivenColumn, Gives, plain_type_of};
use super::names::of_fixed_name;
use crate::expr::{Binder, Scope, arguments, cast_to, function_name};
use crate::parse::{fold, table_name};
use crate::resolve::{self, Relation};
use crate::view_columns::view_columns;

/// A column, and its type if it is known.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) data_type: Option<DataType>,
}

/// What a FROM item is called, and its columns if they are known.
#[derive(Clone, Debug)]
struct Source {
    alias: String,
    columns: Option<Vec<Column>>,
}

#[derive(Clone, Debug, Default)]
struct Level {
    with: Vec<(String, Option<Vec<Column>>)>,
    sources: Vec<Source>,
    /// What the columns of the result are called.
    outputs: Vec<String>,
    /// Columns of the levels around are not in sight: VALUES and the query of an INSERT do not see the table.
    is_apart: bool,
}

/// What is known of an expression's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Typing {
    /// This type.
    Known(DataType),
    /// A literal or a parameter, which takes the type that its place has.
    Untyped,
    /// The tree does not tell.
    Unclear,
}

/// What a name means.
pub(crate) enum Found {
    /// A column of the source of this alias.
    Column(String, Option<DataType>),
    /// A column of one of several sources.
    Perhaps(Option<DataType>),
    /// Perhaps a column of a source whose columns are not known.
    Open,
    /// No column.
    Nothing,
}

/// The columns in sight, the outermost level first.
pub(crate) struct Scopes<'a> {
    pub(crate) txn: &'a Transaction,
    /// The types of `$1`, `$2`, ...
    pub(crate) params: Vec<DataType>,
    levels: Vec<Level>,
    /// The queries of the INSERTs around, by their addresses.
    inserted: Vec<usize>,
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(txn: &'a Transaction, params: Vec<DataType>) -> Scopes<'a> {
        Scopes { txn, params, levels: Vec::new(), inserted: Vec::new() }
    }

    /// Goes into a query.
    pub(crate) fn enter_query(&mut self, query: &Query) {
        let is_apart = self.inserted.contains(&address(query));
        self.levels.push(Level { is_apart, ..Level::default() });
        let Some(with) = &query.with else { return };
        for table in &with.cte_tables {
            let mut columns = match (with.recursive, &*table.query.body) {
                // The first part says what the others add rows to; it does not read the table itself.
                (true, SetExpr::SetOperation { left, .. }) => {
                    self.enter_query_of(&table.query);
                    let columns = self.columns_of_body(left);
                    self.leave();
                    columns
                }
                _ => self.columns_of(&table.query),
            };
            rename(&mut columns, &table.alias);
            let name = fold(&table.alias.name);
            if let Some(level) = self.levels.last_mut() {
                level.with.push((name, columns));
            }
        }
    }

    /// As [`Scopes::enter_query`], of a query whose body is looked at in part.
    fn enter_query_of(&mut self, query: &Query) {
        self.levels.push(Level::default());
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            let mut columns = self.columns_of(&table.query);
            rename(&mut columns, &table.alias);
            if let Some(level) = self.levels.last_mut() {
                level.with.push((fold(&table.alias.name), columns));
            }
        }
    }

    /// Goes into a SELECT.
    pub(crate) fn enter_select(&mut self, select: &Select) {
        let outputs = select.projection.iter().filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) => name_of(expr),
            SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
            _ => None,
        });
        self.levels.push(Level { outputs: outputs.collect(), ..Level::default() });
        for table in &select.from {
            self.add(table);
        }
    }

    /// Leaves a query.
    pub(crate) fn leave(&mut self) {
        self.levels.pop();
    }

    /// Leaves a SELECT; what it reads and gives is in sight of ORDER BY.
    pub(crate) fn leave_select(&mut self) {
        if let (Some(select), Some(query)) = (self.levels.pop(), self.levels.last_mut()) {
            query.sources = select.sources;
            if query.outputs.is_empty() {
                query.outputs = select.outputs;
            }
        }
    }

    /// Whether a column of the result has a name.
    pub(crate) fn is_output(&self, name: &str) -> bool {
        self.levels.last().is_some_and(|level| level.outputs.iter().any(|output| output == name))
    }

    /// Whether something in FROM of the innermost level has a column of a name, or may have it.
    pub(crate) fn may_be_read(&self, name: &str) -> bool {
        let may =
            |source: &Source| source.columns.as_ref().is_none_or(|columns| columns.iter().any(|c| c.name == name));
        self.levels.last().is_some_and(|level| level.sources.iter().any(may))
    }

    /// Goes into a statement that writes.
    pub(crate) fn enter_statement(&mut self, statement: &Statement) {
        self.levels.push(Level::default());
        match statement {
            Statement::Update(update) => {
                self.add(&update.table);
                if let Some(UpdateTableFromKind::AfterSet(from) | UpdateTableFromKind::BeforeSet(from)) = &update.from {
                    from.iter().for_each(|table| self.add(table));
                }
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                from.iter().chain(delete.using.iter().flatten()).for_each(|table| self.add(table));
            }
            Statement::Insert(insert) => {
                let TableObject::TableName(name) = &insert.table else { return };
                let Ok(known_as) = table_name(name) else { return };
                let columns = self.relation(&known_as);
                let own = resolve::split(&known_as).1.to_owned();
                let alias = insert.table_alias.as_ref().map_or(own, |alias| fold(&alias.alias));
                self.inserted.extend(insert.source.as_deref().map(address));
                if insert.on.is_some() {
                    self.put(Source { alias: "excluded".to_owned(), columns: columns.clone() });
                }
                self.put(Source { alias, columns });
            }
            Statement::Merge(merge) => {
                for factor in [&merge.table, &merge.source] {
                    self.add_factor(factor);
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, source: Source) {
        if let Some(level) = self.levels.last_mut() {
            level.sources.push(source);
        }
    }

    fn add(&mut self, table: &TableWithJoins) {
        self.add_factor(&table.relation);
        table.joins.iter().for_each(|join| self.add_factor(&join.relation));
    }

    fn add_factor(&mut self, factor: &TableFactor) {
        let (columns, alias, own) = match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let Ok(known_as) = table_name(name) else { return };
                let own = resolve::split(&known_as).1.to_owned();
                (self.relation(&known_as), alias.as_ref(), own)
            }
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                let own = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
                (self.given_by(name, alias.as_ref()), alias.as_ref(), own)
            }
            TableFactor::UNNEST { alias, array_exprs, .. } => {
                let columns = (array_exprs.len() == 1).then(|| of_one_value("unnest", alias.as_ref()));
                (columns, alias.as_ref(), "unnest".to_owned())
            }
            TableFactor::Derived { subquery, alias, .. } => (self.columns_of(subquery), alias.as_ref(), String::new()),
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                self.add(table_with_joins);
                return;
            }
            _ => (None, None, String::new()),
        };
        let mut columns = columns;
        if let Some(alias) = alias {
            rename(&mut columns, alias);
        }
        let alias = alias.map_or(own, |alias| fold(&alias.name));
        self.put(Source { alias, columns });
    }

    /// The columns of a function of users in FROM.
    fn given_by(&self, name: &ObjectName, alias: Option<&TableAlias>) -> Option<Vec<Column>> {
        let Some(id) = of_fixed_name(name) else { return of_system(name, alias) };
        let function = Function::of_number(self.txn, id).ok()??;
        let typed = |text: &str| plain_type_of(self.txn, text).ok().map(|(data_type, _)| data_type);
        if let Some(columns) = function.columns(self.txn).ok()? {
            let column = |column: GivenColumn| {
                let data_type = typed(&column.data_type);
                Column { name: column.name, data_type }
            };
            return Some(columns.into_iter().map(column).collect());
        }
        let Gives::Type(text) = &function.gives else { return None };
        let name = alias.map_or(function.name.clone(), |alias| fold(&alias.name));
        Some(vec![Column { name, data_type: typed(text) }])
    }

    fn relation(&self, name: &str) -> Option<Vec<Column>> {
        if let (None, own) = resolve::split(name)
            && let Some((_, columns)) =
                self.levels.iter().rev().flat_map(|level| &level.with).find(|(known, _)| known == own)
        {
            return columns.clone();
        }
        if let Some(relation) = resolve::of_catalog(self.txn, name) {
            let column = |(name, _): (&str, _)| Column { name: name.to_owned(), data_type: None };
            return Some(relation.columns().into_iter().map(column).collect());
        }
        let column = |name: &str, data_type| Column { name: name.to_owned(), data_type: Some(data_type) };
        match resolve::relation(self.txn, name)? {
            Relation::Table(table) => {
                Some(table.def.schema.visible().map(|(_, known)| column(&known.name, known.data_type)).collect())
            }
            Relation::Object(view) if view.kind == ObjectKind::View => {
                Some(view_columns(&view).into_iter().map(|(name, data_type)| column(&name, data_type)).collect())
            }
            _ => None,
        }
    }

    /// Whether something in FROM has a name.
    pub(crate) fn has_relation(&self, name: &str) -> bool {
        self.in_sight().flat_map(|level| &level.sources).any(|source| source.alias == name)
    }

    /// The levels whose columns are in sight, the innermost first.
    fn in_sight(&self) -> impl Iterator<Item = &Level> {
        let apart = self.levels.iter().rposition(|level| level.is_apart).unwrap_or(0);
        self.levels[apart..].iter().rev()
    }

    /// What a name of a column means.
    pub(crate) fn find(&self, relation: Option<&str>, name: &str) -> Found {
        for level in self.in_sight() {
            let sources = level.sources.iter().filter(|source| relation.is_none_or(|alias| source.alias == alias));
            let mut found = Vec::new();
            let mut is_open = false;
            for source in sources {
                let Some(columns) = &source.columns else {
                    is_open = true;
                    continue;
                };
                let column = columns.iter().find(|column| column.name == name);
                found.extend(column.map(|column| (source.alias.clone(), column.data_type)));
            }
            match (found.as_slice(), is_open) {
                ([(alias, data_type)], false) if !alias.is_empty() => return Found::Column(alias.clone(), *data_type),
                ([(_, data_type)], false) | ([(_, data_type), ..], _) => return Found::Perhaps(*data_type),
                ([], true) => return Found::Open,
                ([], false) => {}
            }
        }
        Found::Nothing
    }

    /// The columns that a query gives; none when the tree does not tell.
    pub(crate) fn columns_of(&mut self, query: &Query) -> Option<Vec<Column>> {
        self.enter_query(query);
        let columns = self.columns_of_body(&query.body);
        self.leave();
        columns
    }

    fn columns_of_body(&mut self, body: &SetExpr) -> Option<Vec<Column>> {
        match body {
            SetExpr::Select(select) => {
                self.enter_select(select);
                let columns = self.columns_of_select(select);
                self.leave();
                columns
            }
            SetExpr::Query(query) => self.columns_of(query),
            SetExpr::SetOperation { left, right, .. } => {
                let (left, right) = (self.columns_of_body(left)?, self.columns_of_body(right)?);
                let both = |(one, other): (Column, Column)| {
                    let data_type = match (one.data_type, other.data_type) {
                        (Some(one), Some(other)) => weft_expr::common_type(one, other),
                        _ => None,
                    };
                    Column { data_type, ..one }
                };
                Some(left.into_iter().zip(right).map(both).collect())
            }
            SetExpr::Values(values) => {
                let row = values.rows.first()?;
                let column = |(at, expr): (usize, &Expr)| {
                    let typing = self.type_of(expr);
                    let is_alone = values.rows.len() == 1;
                    let data_type = match typing {
                        Typing::Known(data_type) if is_alone => Some(data_type),
                        _ => None,
                    };
                    Column { name: format!("column{}", at + 1), data_type }
                };
                Some(row.iter().enumerate().map(column).collect())
            }
            SetExpr::Insert(statement) | SetExpr::Update(statement) | SetExpr::Delete(statement) => {
                self.columns_of_statement(statement)
            }
            _ => None,
        }
    }

    /// What RETURNING gives.
    fn columns_of_statement(&mut self, statement: &Statement) -> Option<Vec<Column>> {
        let items = match statement {
            Statement::Insert(insert) => insert.returning.as_deref()?,
            Statement::Update(update) => update.returning.as_deref()?,
            Statement::Delete(delete) => delete.returning.as_deref()?,
            _ => return None,
        };
        self.enter_statement(statement);
        if let Some(level) = self.levels.last_mut() {
            level.sources.retain(|source| source.alias != "excluded");
        }
        let columns = self.columns_of_items(items, false);
        self.leave();
        columns
    }

    fn columns_of_select(&mut self, select: &Select) -> Option<Vec<Column>> {
        let merges = select.from.iter().flat_map(|table| &table.joins).any(|join| {
            let text = join.to_string();
            text.contains("NATURAL") || text.contains(" USING(")
        });
        self.columns_of_items(&select.projection, merges)
    }

    fn columns_of_items(&mut self, items: &[SelectItem], merges: bool) -> Option<Vec<Column>> {
        let mut columns: Vec<Column> = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(_) => {
                    for source in &self.levels.last()?.sources {
                        for column in source.columns.as_ref()? {
                            if !merges || columns.iter().all(|known| known.name != column.name) {
                                columns.push(column.clone());
                            }
                        }
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    let alias = name.0.last().and_then(|part| part.as_ident()).map(fold)?;
                    let source = self.levels.iter().rev().flat_map(|level| &level.sources);
                    let source = source.into_iter().find(|source| source.alias == alias)?;
                    columns.extend(source.columns.clone()?);
                }
                SelectItem::UnnamedExpr(expr) => {
                    let name = name_of(expr).unwrap_or_else(|| "?column?".to_owned());
                    columns.push(Column { name, data_type: self.known(expr) });
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    columns.push(Column { name: fold(alias), data_type: self.known(expr) });
                }
                _ => return None,
            }
        }
        Some(columns)
    }

    fn known(&mut self, expr: &Expr) -> Option<DataType> {
        match self.type_of(expr) {
            Typing::Known(data_type) => Some(data_type),
            Typing::Untyped if !matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_))) => {
                Some(DataType::Text)
            }
            _ => None,
        }
    }

    /// The type of an expression at this place.
    pub(crate) fn type_of(&mut self, expr: &Expr) -> Typing {
        match expr {
            Expr::Nested(inner) => return self.type_of(inner),
            Expr::Value(value) => match &value.value {
                Value::Null | Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_) => return Typing::Untyped,
                Value::DollarQuotedString(_) | Value::UnicodeStringLiteral(_) => return Typing::Untyped,
                Value::Placeholder(name) => {
                    let known = parameter(name).and_then(|at| self.params.get(at));
                    return known.map_or(Typing::Untyped, |data_type| Typing::Known(*data_type));
                }
                _ => {}
            },
            _ => {}
        }
        let mut typed = expr.clone();
        if VisitMut::visit(&mut typed, &mut Typed { scopes: self }).is_break() {
            return Typing::Unclear;
        }
        match Binder::new("").bind(&typed, &Scope::empty(), None) {
            Ok(bound) => Typing::Known(bound.data_type),
            Err(_) => Typing::Unclear,
        }
    }

    fn type_of_call(&mut self, call: &Call) -> Option<Option<DataType>> {
        if let Some(id) = of_fixed_name(&call.name) {
            let function = Function::of_number(self.txn, id).ok()??;
            let Gives::Type(text) = &function.gives else { return Some(None) };
            return Some(plain_type_of(self.txn, text).ok().map(|(data_type, _)| data_type));
        }
        let name = function_name(call);
        let is_aggregate = crate::expr::AGGREGATES.contains(&name.as_str());
        if !is_aggregate && call.over.is_none() {
            return None;
        }
        let first = arguments(call).and_then(|args| args.first().map(|arg| (*arg).clone()));
        let first = first.map_or(Typing::Unclear, |arg| self.type_of(&arg));
        Some(result_of(&name, first))
    }
}

/// Where something is.
pub(super) fn address<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

/// The columns of a function of the system in FROM; none when they are not known.
fn of_system(name: &ObjectName, alias: Option<&TableAlias>) -> Option<Vec<Column>> {
    let own = name.0.last().and_then(|part| part.as_ident()).map(fold)?;
    // AS x(a integer, b text) says all of them.
    let written = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
    if written.iter().any(|column| column.data_type.is_some()) {
        return Some(written.iter().map(|column| Column { name: fold(&column.name), data_type: None }).collect());
    }
    match own.as_str() {
        "json_each" | "jsonb_each" | "json_each_text" | "jsonb_each_text" => {
            let column = |name: &str| Column { name: name.to_owned(), data_type: None };
            Some(["key", "value"].map(column).into())
        }
        "generate_series" => Some(of_one_value(&own, alias)),
        own if routines::gives_rows(own) => Some(of_one_value(own, alias)),
        _ => None,
    }
}

/// The column of a function that gives one value in each row. Those of arrays in JSON are called `value`, too.
fn of_one_value(own: &str, alias: Option<&TableAlias>) -> Vec<Column> {
    let name = alias.map_or_else(|| own.to_owned(), |alias| fold(&alias.name));
    let mut columns = vec![Column { name, data_type: None }];
    if own.starts_with("json") && alias.is_none_or(|alias| alias.columns.is_empty()) {
        columns.push(Column { name: "value".to_owned(), data_type: None });
    }
    columns
}

/// The number of a parameter, from 0.
pub(crate) fn parameter(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// The type of an aggregate or window function.
fn result_of(name: &str, first: Typing) -> Option<DataType> {
    use DataType::{BigInt, Boolean, DoublePrecision, Integer, Json, Jsonb, Real, SmallInt, Text};
    let Typing::Known(given) = first else {
        return match name {
            "count" | "row_number" | "rank" | "dense_rank" => Some(BigInt),
            "string_agg" => Some(Text),
            _ => None,
        };
    };
    match name {
        "count" | "row_number" | "rank" | "dense_rank" => Some(BigInt),
        "ntile" => Some(Integer),
        "min" | "max" | "first_value" | "last_value" | "lag" | "lead" | "nth_value" => Some(given),
        "sum" => match given {
            SmallInt | Integer => Some(BigInt),
            BigInt | DataType::Numeric { .. } => Some(NUMERIC_DEFAULT),
            Real | DoublePrecision | DataType::Interval => Some(given),
            _ => None,
        },
        "avg" => match given {
            SmallInt | Integer | BigInt | DataType::Numeric { .. } => Some(NUMERIC_DEFAULT),
            Real | DoublePrecision => Some(DoublePrecision),
            _ => None,
        },
        "bool_and" | "bool_or" | "every" => Some(Boolean),
        "string_agg" => Some(Text),
        "array_agg" => given.array(),
        "json_agg" => Some(Json),
        "jsonb_agg" => Some(Jsonb),
        _ => None,
    }
}

/// The name of a column of a result.
pub(crate) fn name_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => name_of(inner),
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        Expr::Function(call) => call.name.0.last().and_then(|part| part.as_ident()).map(fold),
        _ => None,
    }
}

fn rename(columns: &mut Option<Vec<Column>>, alias: &TableAlias) {
    let given = alias.columns.iter().map(|column| fold(&column.name));
    if let Some(columns) = columns {
        columns.iter_mut().zip(given).for_each(|(column, name)| column.name = name);
    }
}

/// Puts constants of their types in the places of columns, subqueries and the like.
struct Typed<'s, 'a> {
    scopes: &'s mut Scopes<'a>,
}

impl Typed<'_, '_> {
    fn typed(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let found = match expr {
            Expr::Identifier(name) => match self.scopes.find(None, &fold(name)) {
                Found::Column(_, data_type) | Found::Perhaps(data_type) => data_type,
                Found::Open => None,
                // A word of the language, such as current_date.
                Found::Nothing => return ControlFlow::Continue(()),
            },
            Expr::CompoundIdentifier(parts) => {
                let names: Vec<String> = parts.iter().map(fold).collect();
                let found = match names.as_slice() {
                    [relation, column] | [_, relation, column] => self.scopes.find(Some(relation), column),
                    _ => Found::Nothing,
                };
                match found {
                    Found::Column(_, data_type) | Found::Perhaps(data_type) => data_type,
                    Found::Open | Found::Nothing => None,
                }
            }
            Expr::Subquery(query) => {
                let columns = self.scopes.columns_of(query);
                columns.and_then(|columns| columns.first().and_then(|column| column.data_type))
            }
            Expr::Exists { .. } | Expr::InSubquery { .. } => Some(DataType::Boolean),
            Expr::Function(call) => match self.scopes.type_of_call(call) {
                Some(found) => found,
                None => return ControlFlow::Continue(()),
            },
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => match parameter(name).and_then(|at| self.scopes.params.get(at)) {
                    Some(data_type) => Some(*data_type),
                    None => return ControlFlow::Continue(()),
                },
                _ => return ControlFlow::Continue(()),
            },
            // It has the type that it says, whatever is cast.
            Expr::Cast { expr: inner, .. } => {
                **inner = Expr::value(Value::Null);
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        match found.and_then(|data_type| cast_to(Expr::value(Value::Null), data_type).ok()) {
            Some(constant) => {
                *expr = constant;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }
}

impl VisitorMut for Typed<'_, '_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.typed(expr)
    }
}
