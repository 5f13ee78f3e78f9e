//! Functions in FROM, as what the planner has for them.
//!
//! ```text
//!   string_to_table(a, ',')                 unnest(list_string_to_table(a, ','))
//!   generate_series(1, o.n)                 unnest(list_generate_series(1, o.n))     of constants: the engine's own
//!   SELECT generate_series(1, 1e7)          SELECT s FROM generate_series(1, 1e7) AS s
//!   unnest('{1}', '{1}') AS t (a, b)        unnest('{1}', CASE 1 WHEN 1 THEN '{1}' END) AS t (a, b)
//!   unnest(a) WITH ORDINALITY AS t (v, n)   LATERAL (SELECT *, row_number() OVER () FROM unnest(a)) AS t (v, n)
//! ```
//!
//! 1. A column has the name that PostgreSQL gives it: the alias's, else the function's.

use std::ops::ControlFlow;

use sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, TableAlias,
    TableAliasColumnDef, TableFactor, TimezoneInfo, Value, ValueWithSpan, Visitor, VisitorMut,
};
use weft_expr::routines::gives_rows;
use weft_format::Result;
use weft_sql::expr::call;
use weft_sql::queries::names::{MARKER, folded};
use weft_walk::{Visit, VisitMut};

use super::casts::numbered;
use super::routines::LIST_PREFIX;
use super::template::parsed;

/// Writes a function in FROM in such a form.
pub(super) fn write_out(factor: &mut TableFactor) -> Result<()> {
    as_array(factor);
    side_by_side(factor);
    name_series(factor);
    with_ordinality(factor)?;
    as_lateral(factor)
}

/// An array that names what stands beside it, as a query that is LATERAL: behind JOIN, too, where the planner does not
/// look for names in it.
fn as_lateral(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::UNNEST { alias: Some(alias), array_exprs, .. } = &mut *factor else { return Ok(()) };
    let name = format!("{MARKER}rows");
    // What is within such a query is visited, too.
    let is_within = alias.name.value == name;
    let is_fit = array_exprs.iter().any(names_something) && alias.columns.len() == array_exprs.len();
    if is_within || !is_fit {
        return Ok(());
    }
    let given = alias.clone();
    alias.name = Ident::with_quote('"', name);
    *factor = queried(factor, "SELECT * FROM f", given)?;
    Ok(())
}

/// A query of a function in FROM, LATERAL.
fn queried(factor: &TableFactor, text: &str, alias: TableAlias) -> Result<TableFactor> {
    let mut query = parsed(text)?;
    if let sqlparser::ast::SetExpr::Select(select) = &mut *query.body {
        for from in &mut select.from {
            from.relation = factor.clone();
        }
    }
    Ok(TableFactor::Derived { lateral: true, subquery: Box::new(query), alias: Some(alias), sample: None })
}

/// Whether an expression names a column, or asks a query.
fn names_something(expr: &Expr) -> bool {
    struct Named;
    impl Visitor for Named {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(expr, &mut Named).is_break()
}

/// A function in FROM: its name, its arguments.
pub(super) fn called(factor: &TableFactor) -> Option<(String, Vec<Expr>)> {
    let (name, args) = match factor {
        TableFactor::Table { name, args: Some(args), .. } => (name, &args.args),
        TableFactor::Function { name, args, .. } => (name, args),
        _ => return None,
    };
    let name = name.0.last().and_then(|part| part.as_ident()).map(folded)?;
    let given = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    Some((name, given.collect::<Option<Vec<Expr>>>()?))
}

/// A function with many rows as the array of them.
fn as_array(factor: &mut TableFactor) {
    let Some((function, given)) = called(factor) else { return };
    let is_unnest = function == "unnest";
    let is_engines = function == "generate_series" && is_engines(&given.iter().collect::<Vec<_>>());
    if is_engines || !(is_unnest || gives_rows(&function)) {
        return;
    }
    let (alias, with_ordinality) = match factor {
        TableFactor::Table { alias, with_ordinality, .. } => (alias.take(), *with_ordinality),
        TableFactor::Function { alias, with_ordinality, .. } => (alias.take(), *with_ordinality),
        _ => return,
    };
    let alias = alias.or_else(|| {
        if is_unnest {
            return None;
        }
        let column = if function.contains("_array_elements") { "value" } else { &*function };
        Some(TableAlias {
            explicit: true,
            name: Ident::with_quote('"', &*function),
            columns: vec![TableAliasColumnDef { name: Ident::with_quote('"', column), data_type: None }],
            at: None,
        })
    });
    let array_exprs = if is_unnest { given } else { vec![call(&format!("{LIST_PREFIX}{function}"), given)] };
    *factor = TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_offset_alias: None, with_ordinality };
}

/// Several arrays are written, and named, so that the planner tells them apart.
fn side_by_side(factor: &mut TableFactor) {
    let TableFactor::UNNEST { alias, array_exprs, with_ordinality: false, .. } = factor else { return };
    let is_done = array_exprs.iter().skip(1).any(|array| matches!(array, Expr::Case { operand: Some(_), .. }));
    if array_exprs.len() < 2 || is_done {
        return;
    }
    *alias = Some(with_columns(alias.take(), array_exprs.len()));
    *array_exprs = told_apart(std::mem::take(array_exprs));
}

/// Arrays of which no two are written alike: the planner takes these for one column.
fn told_apart(arrays: Vec<Expr>) -> Vec<Expr> {
    let written = |(place, array): (usize, Expr)| match place {
        0 => array,
        _ if names_something(&array) => array,
        place => numbered(place, array),
    };
    arrays.into_iter().enumerate().map(written).collect()
}

/// An alias with a name for each column of several arrays: unnest, unnest_1, ...
fn with_columns(alias: Option<TableAlias>, count: usize) -> TableAlias {
    let mut alias = alias.unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', "unnest"),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        let name = |place: usize| if place == 0 { "unnest".to_owned() } else { format!("unnest_{place}") };
        let column = |place| TableAliasColumnDef { name: Ident::with_quote('"', name(place)), data_type: None };
        alias.columns = (0..count).map(column).collect();
    }
    alias
}

/// Whether an expression names nothing, and has no parameter.
fn is_constant(expr: &Expr) -> bool {
    struct Open;
    impl Visitor for Open {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) | Expr::Function(_) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if matches!(value.value, Value::Placeholder(_)) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    Visit::visit(expr, &mut Open).is_continue()
}

/// Whether a series with these arguments is the engine's: constants of numbers, or of timestamps without a zone. Dates
/// and what has no type of its own are timestamps with a zone then.
fn is_engines(args: &[&Expr]) -> bool {
    let ends = args.iter().take(2).map(|arg| kind(arg)).collect::<Option<Vec<Kind>>>();
    args.iter().all(|arg| is_constant(arg)) && ends.is_some_and(|ends| ends.windows(2).all(|two| two[0] == two[1]))
}

/// Of what a constant is, as far as the engine has series of it.
#[derive(PartialEq, Eq)]
enum Kind {
    Number,
    Wall,
}

fn kind(expr: &Expr) -> Option<Kind> {
    let data_type = match expr {
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &typed.data_type,
        Expr::Nested(inner) => return kind(inner),
        Expr::Value(value) if matches!(value.value, Value::Number(..) | Value::Null) => return Some(Kind::Number),
        Expr::Value(_) => return None,
        Expr::UnaryOp { expr, .. } => return kind(expr),
        Expr::BinaryOp { left, right, .. } => {
            return kind(left).filter(|left| kind(right).is_some_and(|right| right == *left));
        }
        _ => return Some(Kind::Number),
    };
    match data_type {
        DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Some(Kind::Wall),
        DataType::Timestamp(..) | DataType::Date | DataType::Text | DataType::Varchar(_) => None,
        _ => Some(Kind::Number),
    }
}

/// The one series of constants in a SELECT without FROM becomes its FROM: it may have more rows than an array.
pub(super) fn as_from(select: &mut Select) -> Result<()> {
    if !select.from.is_empty() || select.distinct.is_some() {
        return Ok(());
    }
    let mut found = Series { calls: 0, replaced: None };
    let _ = VisitMut::visit(&mut select.projection, &mut found);
    let Some(call) = found.replaced.filter(|_| found.calls == 1) else { return Ok(()) };
    let name = format!("{MARKER}series");
    let mut query = parsed(&format!("SELECT 1 FROM {call} AS \"{name}\" (\"{name}\")"))?;
    if let sqlparser::ast::SetExpr::Select(made) = &mut *query.body {
        select.from = std::mem::take(&mut made.from);
        let mut put = Put { name };
        let _ = VisitMut::visit(&mut select.projection, &mut put);
    }
    Ok(())
}

/// Whether an expression is a series of constants that the engine gives row by row.
fn is_series(expr: &Expr) -> bool {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return false };
    let args = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg),
        _ => None,
    });
    let is_named = name.to_string().eq_ignore_ascii_case("generate_series");
    is_named && args.collect::<Option<Vec<&Expr>>>().is_some_and(|args| is_engines(&args))
}

/// Finds calls: beside another, which may be an aggregate, the series stays where it is.
struct Series {
    calls: usize,
    replaced: Option<String>,
}

impl VisitorMut for Series {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.calls += 2;
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(_) = expr {
            self.calls += 1;
        }
        if is_series(expr) {
            self.replaced = Some(expr.to_string());
        }
        ControlFlow::Continue(())
    }
}

/// Puts the column of FROM in place of the series.
struct Put {
    name: String,
}

impl VisitorMut for Put {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_series(expr) {
            *expr = Expr::Identifier(Ident::with_quote('"', &self.name));
        }
        ControlFlow::Continue(())
    }
}

/// What `generate_series` and `unnest` give has the name of the alias, or of the function.
fn name_series(factor: &mut TableFactor) {
    let (function, alias) = match factor {
        TableFactor::Table { name, alias, args: Some(_), .. } | TableFactor::Function { name, alias, .. } => {
            let Some(function) = name.0.last().and_then(|part| part.as_ident()) else { return };
            (folded(function), alias)
        }
        TableFactor::UNNEST { alias, array_exprs, with_offset: false, .. } if array_exprs.len() == 1 => {
            ("unnest".into(), alias)
        }
        _ => return,
    };
    if !matches!(function.as_str(), "generate_series" | "unnest") {
        return;
    }
    let alias = alias.get_or_insert_with(|| TableAlias {
        explicit: true,
        name: Ident::with_quote('"', function),
        columns: Vec::new(),
        at: None,
    });
    if alias.columns.is_empty() {
        let name = Ident::with_quote('"', folded(&alias.name));
        alias.columns.push(TableAliasColumnDef { name, data_type: None });
    }
}

/// Rows with their numbers: a query, which runs for each row of what is named in it.
fn with_ordinality(factor: &mut TableFactor) -> Result<()> {
    let (alias, columns) = match factor {
        TableFactor::Table { alias, args: Some(_), with_ordinality, .. }
        | TableFactor::Function { alias, with_ordinality, .. } => {
            if !std::mem::take(with_ordinality) {
                return Ok(());
            }
            (alias, 1)
        }
        TableFactor::UNNEST { alias, array_exprs, with_ordinality, .. } => {
            if !std::mem::take(with_ordinality) {
                return Ok(());
            }
            (alias, array_exprs.len())
        }
        _ => return Ok(()),
    };
    let given = alias.take();
    let name = given.as_ref().map_or_else(|| Ident::new("unnest"), |alias| alias.name.clone());
    let mut names: Vec<Ident> =
        given.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone()).collect();
    for place in names.len()..=columns {
        let column = match place {
            place if place == columns => "ordinality".to_owned(),
            0 => folded(&name),
            place => format!("{}_{place}", folded(&name)),
        };
        names.push(Ident::with_quote('"', column));
    }
    let defined = |names: &[Ident]| -> Vec<TableAliasColumnDef> {
        names.iter().map(|name| TableAliasColumnDef { name: name.clone(), data_type: None }).collect()
    };
    let inner = Ident::with_quote('"', format!("{MARKER}rows"));
    *alias = Some(TableAlias { explicit: true, name: inner, columns: defined(&names[..columns]), at: None });
    let outer = TableAlias { explicit: true, name, columns: defined(&names), at: None };
    *factor = queried(factor, "SELECT *, row_number() OVER () FROM f", outer)?;
    Ok(())
}
