//! Columns that depend on a grouped primary key, added to GROUP BY: the planner wants each of them there.
//!
//! ```text
//!   users(id PRIMARY KEY, name, born), orders(..., user_id)
//!   SELECT u.id, u.name, count(*) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.id
//!     becomes                                                                    GROUP BY u.id, u."name"
//! ```
//!
//! 1. Rows with one primary key have one value in each column of its table, so the groups stay what they are; where an
//!    outer join has no row of the table, the key and the columns are NULL together.
//! 2. Only columns of the table that come up elsewhere are added, outside of aggregates, which may have wide ones. What
//!    comes up in a subquery may mean another column of that name: adding one that nobody asks for changes no group.
//! 3. Grouping sets leave keys out, so there nothing is added. Nor are floats: a key of the engine has no negative
//!    zero. Where one comes up, outside of subqueries, the least of the group stands for it, which is its one value.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, GroupByExpr, Ident, ObjectName, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, Value, Visitor, VisitorMut,
};
use weft_walk::{Visit, VisitMut};

use weft_format::DataType;
use weft_kernel::TableRef;

use weft_sql::expr::call;
use weft_sql::queries::names::folded;

/// What is known of the names in FROM.
pub(super) trait Sources {
    /// The table of a name, which is folded; none when a WITH query has it.
    fn base_table(&mut self, name: &ObjectName) -> Option<(String, TableRef)>;
    /// The columns of a relation as its alias names them.
    fn columns_of(&mut self, factor: &TableFactor) -> Option<Vec<String>>;
    /// Those of all relations.
    fn columns_of_all(&mut self, from: &[TableWithJoins]) -> Option<Vec<String>>;
}

/// Adds what depends on the keys of a query's GROUP BY.
pub(super) fn write_out(sources: &mut dyn Sources, query: &mut Query) {
    let Query { body, order_by, .. } = query;
    body_written(sources, body, order_by.as_mut());
}

fn body_written(sources: &mut dyn Sources, body: &mut SetExpr, order_by: Option<&mut OrderBy>) {
    match body {
        SetExpr::Select(select) => {
            let Added { keys: added, floats } = dependents(sources, select, order_by.as_deref());
            if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
                keys.extend(added);
            }
            if !floats.is_empty() {
                least_floats(floats, select, order_by);
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            body_written(sources, left, None);
            body_written(sources, right, None);
        }
        _ => {}
    }
}

/// What depends on the keys of a query's GROUP BY.
#[derive(Default)]
struct Added {
    /// Further keys.
    keys: Vec<Expr>,
    floats: Vec<FloatColumn>,
}

/// A float that depends on a grouped key.
struct FloatColumn {
    relation: Ident,
    name: String,
    /// The name alone means it.
    is_single: bool,
}

fn dependents(sources: &mut dyn Sources, select: &Select, order_by: Option<&OrderBy>) -> Added {
    let GroupByExpr::Expressions(keys, modifiers) = &select.group_by else { return Added::default() };
    let is_set = |key: &Expr| matches!(key, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) | Expr::Tuple(_));
    if keys.is_empty() || !modifiers.is_empty() || keys.iter().any(is_set) {
        return Added::default();
    }
    let all = sources.columns_of_all(&select.from);
    let is_column = |name: &str| all.as_ref().is_none_or(|all| all.iter().any(|column| column == name));
    let keys: Vec<&Expr> = keys.iter().map(|key| meant(key, &select.projection, &is_column)).collect();
    let mut relations = Vec::new();
    select.from.iter().for_each(|table| relations_of(sources, table, &mut relations));
    relations.retain(|relation| !relation.key.is_empty());
    if relations.is_empty() {
        return Added::default();
    }
    // A name without its table means a column when it is the only one.
    let is_single =
        |name: &str| all.as_ref().is_some_and(|all| all.iter().filter(|column| *column == name).count() == 1);
    let mentioned = mentioned(select, order_by);
    let mut added = Added::default();
    for relation in &relations {
        let is_grouped = |name: &str| {
            keys.iter().any(|key| match key {
                Expr::Identifier(key) => folded(key) == name && is_single(name),
                Expr::CompoundIdentifier(parts) => match &parts[..] {
                    [table, key] => folded(table) == folded(&relation.name) && folded(key) == name,
                    _ => false,
                },
                _ => false,
            })
        };
        if relation.key.iter().all(|key| is_grouped(key)) {
            let all = is_wanted_whole(&select.projection, &relation.name);
            let is_wanted = |name: &String| (all || mentioned.contains(name)) && !relation.floats.contains(name);
            let wanted = relation.columns.iter().filter(|name| is_wanted(name) && !is_grouped(name));
            added.keys.extend(
                wanted.map(|name| Expr::CompoundIdentifier(vec![relation.name.clone(), Ident::with_quote('"', name)])),
            );
            let floats = relation.floats.iter().filter(|name| mentioned.contains(*name) && !is_grouped(name));
            added.floats.extend(floats.map(|name| FloatColumn {
                relation: relation.name.clone(),
                name: name.clone(),
                is_single: is_single(name),
            }));
        }
    }
    added
}

/// Writes the least of the group for floats that depend on its key.
fn least_floats(floats: Vec<FloatColumn>, select: &mut Select, order_by: Option<&mut OrderBy>) {
    let mut writer = LeastFloats { floats, aggregates: 0, queries: 0 };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && let Some(name) = writer.column(expr)
        {
            let alias = Ident::with_quote('"', name);
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
    let named: HashSet<String> = select.projection.iter().filter_map(alias_of).collect();
    let _ = VisitMut::visit(&mut select.projection, &mut writer);
    let _ = VisitMut::visit(&mut select.having, &mut writer);
    if let Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) = order_by {
        // A name alone is first of all that of a result column.
        let is_result = |key: &Expr| matches!(key, Expr::Identifier(name) if named.contains(&folded(name)));
        for key in keys.iter_mut().filter(|key| !is_result(&key.expr)) {
            let _ = VisitMut::visit(&mut key.expr, &mut writer);
        }
    }
}

fn alias_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    }
}

struct LeastFloats {
    floats: Vec<FloatColumn>,
    /// How many aggregates, and how many queries, are around.
    aggregates: usize,
    queries: usize,
}

impl LeastFloats {
    /// The name of the float that an expression is.
    fn column(&self, expr: &Expr) -> Option<String> {
        let found = self.floats.iter().find(|float| match expr {
            Expr::Identifier(name) => float.is_single && folded(name) == float.name,
            Expr::CompoundIdentifier(parts) => match &parts[..] {
                [table, name] => folded(table) == folded(&float.relation) && folded(name) == float.name,
                _ => false,
            },
            _ => false,
        });
        found.map(|float| float.name.clone())
    }
}

impl VisitorMut for LeastFloats {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.aggregates += usize::from(is_aggregate(expr));
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.aggregates -= usize::from(is_aggregate(expr));
        if self.aggregates == 0 && self.queries == 0 && self.column(expr).is_some() {
            *expr = call("min", vec![expr.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// A key; by number it is a result column, and by name where no column has it.
fn meant<'a>(key: &'a Expr, projection: &'a [SelectItem], is_column: &impl Fn(&str) -> bool) -> &'a Expr {
    let item = match key {
        Expr::Nested(inner) => return meant(inner, projection, is_column),
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => {
                number.parse().ok().and_then(|number: usize| projection.get(number.checked_sub(1)?))
            }
            _ => None,
        },
        Expr::Identifier(name) if !is_column(&folded(name)) => projection.iter().find(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == folded(name),
            _ => false,
        }),
        _ => None,
    };
    match item {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
        _ => key,
    }
}

/// Whether a star stands for all columns of a relation.
fn is_wanted_whole(projection: &[SelectItem], relation: &Ident) -> bool {
    projection.iter().any(|item| match item {
        SelectItem::Wildcard(_) => true,
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let last = name.0.last().and_then(|part| part.as_ident());
            last.is_some_and(|last| folded(last) == folded(relation))
        }
        _ => false,
    })
}

/// A table of FROM with a primary key.
struct Relation {
    name: Ident,
    columns: Vec<String>,
    key: Vec<String>,
    floats: Vec<String>,
}

fn relations_of(sources: &mut dyn Sources, table: &TableWithJoins, into: &mut Vec<Relation>) {
    let factors = std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation));
    for factor in factors {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let Some((folded_name, found)) = sources.base_table(name) else { continue };
                if found.def.primary_key.is_none() {
                    continue;
                }
                let Some(columns) = sources.columns_of(factor) else { continue };
                let visible: Vec<usize> = found.def.schema.visible().map(|(ordinal, _)| ordinal).collect();
                let name_of = |ordinal: &usize| {
                    let place = visible.iter().position(|other| other == ordinal)?;
                    columns.get(place).cloned()
                };
                let Some(key) = found.def.schema.key.iter().map(name_of).collect::<Option<Vec<String>>>() else {
                    continue;
                };
                let is_float = |ordinal: &usize| {
                    let data_type = found.def.schema.columns[*ordinal].data_type;
                    matches!(data_type, DataType::Real | DataType::DoublePrecision)
                };
                let floats: Vec<usize> = visible.iter().copied().filter(|ordinal| is_float(ordinal)).collect();
                let floats = floats.iter().filter_map(name_of).collect();
                let name = match alias {
                    Some(alias) => alias.name.clone(),
                    None => Ident::with_quote('"', folded_name),
                };
                into.push(Relation { name, columns, key, floats });
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                relations_of(sources, table_with_joins, into);
            }
            _ => {}
        }
    }
}

/// Functions whose arguments are of each row, not of a group. One that is missing here costs wider keys.
const AGGREGATES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "string_agg",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "bool_and",
    "bool_or",
    "every",
    "bit_and",
    "bit_or",
    "bit_xor",
    "corr",
    "covar_pop",
    "covar_samp",
    "grouping",
    "json_object_agg",
    "jsonb_object_agg",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "regr_count",
    "regr_slope",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
];

/// Whether an expression is a call of an aggregate, not over a window.
pub(super) fn is_aggregate(expr: &Expr) -> bool {
    let Expr::Function(Function { name, over: None, .. }) = expr else { return false };
    AGGREGATES.iter().any(|known| name.to_string().eq_ignore_ascii_case(known))
}

/// The names of columns that come up in a SELECT and its ORDER BY, outside of aggregates.
fn mentioned(select: &Select, order_by: Option<&OrderBy>) -> HashSet<String> {
    #[derive(Default)]
    struct Names {
        found: HashSet<String>,
        /// How many aggregates are around.
        aggregates: usize,
    }
    impl Visitor for Names {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.aggregates += usize::from(is_aggregate(expr));
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            self.found.extend(name.filter(|_| self.aggregates == 0).map(folded));
            ControlFlow::Continue(())
        }
        fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            self.aggregates -= usize::from(is_aggregate(expr));
            ControlFlow::Continue(())
        }
    }
    let mut names = Names::default();
    let _ = select.projection.visit(&mut names);
    let _ = select.distinct.visit(&mut names);
    let _ = select.having.visit(&mut names);
    let _ = select.named_window.visit(&mut names);
    if let Some(order_by) = order_by {
        let _ = order_by.visit(&mut names);
    }
    names.found
}
