//! Rewrites of the syntax tree, for what the planner gets wrong or cannot plan.
//!
//! | written | planned |
//! |---|---|
//! | `a EXCEPT ALL b`, `a INTERSECT ALL b` | the plain operation on rows numbered within equal rows |
//! | `x > ALL (SELECT y ...)` | `x > ALL (SELECT * FROM (SELECT y ...) AS any1 (v))`, so that no names clash |
//! | `VALUES ((SELECT ...), 1)` | `SELECT (SELECT ...) AS column1, 1 AS column2` |
//! | `1e3`, `LIMIT '2'` | `1000.`, `LIMIT 2` |
//! | `mod(a, b)` | `a % b` |
//! | `a = ANY (array)` | `any_eq(a, array)` |
//! | `INTERVAL '1' DAY` | `CAST('1 DAY' AS interval)` |
//! | `jsonb_array_elements(j)` | `unnest(list_jsonb_array_elements(j))` |
//! | `jsonb_agg(x)`, `json_object_agg(k, v)` | see `json_aggregates` |
//! | `string_agg(x, ',')` | `CAST(string_agg(x, ',') AS text)`: its own type is that of jsonb here |
//! | `x AT TIME ZONE z`, `extract(f FROM x)` | `timezone(z, x)`, `extract('f', x)` |
//! | `current_date` | `CAST(now() AS date)` |
//! | `SELECT 1 ... HAVING true` | `SELECT 1 ... HAVING (true) AND count(*) >= 0`: one group |
//! | `(a, b) = (c, d)`, `VALUES (DATE '...'), ('...')` | see `row_values`, `typed_values` |
//! | `percentile_disc(f) WITHIN GROUP (ORDER BY x)` | see `ordered_sets` |
//! | `DISTINCT ON (1)` | see `distinct_on` |
//! | `max(a::int), max(a)` | see `casts` |
//! | `SELECT generate_series(1, 3)`, `ARRAY(SELECT a)` | see `from_functions`; `array_of_rows((SELECT a))` |

use std::fmt::Write;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, CharacterLength, DataType as SqlType, DateTimeField, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, GroupByExpr, Ident, LimitClause, Query,
    Select, SelectItem, SetExpr, SetOperator, SetQuantifier, TimezoneInfo, UnaryOperator, Value, Values, Visitor,
    VisitorMut,
};
use weft_expr::routines::gives_rows;
use weft_format::{Code, Error, Result};
use weft_sql::expr::{call, check_fields, compare_op, interval_cast, pattern_call, slice_call, written_call};
use weft_sql::queries::names::{MARKER, column_name, folded};
use weft_walk::{Visit, VisitMut};

use super::apply::mark::ROWS;
use super::dependent::is_aggregate;
use super::routines::{ARRAY_OF, LIST_PREFIX, quantified_name};
use super::template::{parsed, put};
use super::{
    casts, distinct_on, from_functions, json_aggregates, json_tables, ordered_sets, row_values, typed_values,
    with_queries,
};

/// The most digits a numeric constant has on either side of the point.
const DIGITS_MAX: i64 = 38;

/// Rewrites a query whose result columns have their names.
pub(crate) fn rewrite(query: &mut Query) -> Result<()> {
    match VisitMut::visit(query, &mut Rewriter { wrapped: 0, depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewriter {
    wrapped: usize,
    /// How many queries are around.
    depth: usize,
}

impl VisitorMut for Rewriter {
    type Break = Error;

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        casts::tell_apart(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        if let Some(with) = query.with.as_mut().filter(|with| with.recursive) {
            if let Err(error) = with_queries::hide_plain_unions(with) {
                return ControlFlow::Break(error);
            }
            with.cte_tables.iter_mut().for_each(|cte| write_start(&mut cte.query.body));
        }
        match distinct_on::write_out(query)
            .and_then(|()| body(&mut query.body))
            .and_then(|()| limits(query, self.depth == 1))
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            if let SelectItem::ExprWithAlias { expr, .. } = item {
                type_integer(expr);
            }
        }
        let members =
            select.selection.as_mut().map_or(Ok(()), |condition| row_values::as_members(condition, &mut self.wrapped));
        match members.and_then(|()| grouped(select)).and_then(|()| from_functions::as_from(select)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        match self.expr(expr) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    /// What is written around a function here is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if function.name.to_string().eq_ignore_ascii_case("string_agg") {
            *expr = typed_values::cast(expr.clone(), SqlType::Text);
        }
        ControlFlow::Continue(())
    }
}

impl Rewriter {
    /// Whether an array has elements of which the planner does not find all names.
    fn is_lost_in_array(&self, elements: &[Expr]) -> bool {
        elements.iter().any(|of| if self.depth > 1 { !matches!(of, Expr::Value(_)) } else { has_query(of) })
    }

    /// Constants have PostgreSQL's types where these are the types of results; whether the expression is such a place.
    fn typed(&self, expr: &mut Expr) -> bool {
        match expr {
            // The planner looks for what is in an array in the innermost query only, and there not in WITH.
            Expr::Array(array) if self.is_lost_in_array(&array.elem) => {
                let elements = std::mem::take(&mut array.elem);
                *expr = call(ARRAY_OF, elements.into_iter().map(integer).collect());
            }
            Expr::Function(function) if takes_elements(&function.name.to_string()) => type_elements(function),
            Expr::Case { conditions, else_result, .. } => {
                conditions.iter_mut().for_each(|branch| type_integer(&mut branch.result));
                else_result.iter_mut().for_each(|result| type_integer(result));
            }
            _ => return false,
        }
        true
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<()> {
        if let Some(written) = ordered_sets::written_out(expr)? {
            *expr = written;
        }
        if let Some(written) = json_tables::of_each(expr) {
            *expr = written;
        }
        if written_or_refused(expr, &mut self.wrapped)? || self.typed(expr) {
            return Ok(());
        }
        match expr {
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if !matches!(**right, Expr::Subquery(_)) => {
                *expr = quantified(expr)?;
            }
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => {
                if let Expr::Subquery(query) = &mut **right {
                    self.wrapped += 1;
                    let name = format!("{MARKER}any{}", self.wrapped);
                    let template = parsed(&format!("SELECT * FROM (SELECT 1) AS \"{name}\" (\"{MARKER}v\")"))?;
                    let inner = std::mem::replace(query, Box::new(template));
                    put(query, &name, *inner)?;
                }
            }
            Expr::CompoundFieldAccess { .. } => slice_call(expr)?.into_iter().for_each(|slice| *expr = slice),
            Expr::Value(value) => {
                if let Value::Number(text, _) = &value.value
                    && text.contains(['e', 'E'])
                {
                    *expr = number(text);
                }
            }
            Expr::Substring { .. } | Expr::SimilarTo { .. } | Expr::Position { .. } | Expr::Overlay { .. } => {
                written_call(expr).into_iter().for_each(|call| *expr = call);
            }
            Expr::Interval(interval) => {
                check_fields(interval)?;
                if let Some(cast) = interval_cast(interval) {
                    *expr = cast;
                }
            }
            Expr::AtTimeZone { timestamp, time_zone } => {
                *expr = call("timezone", vec![(**time_zone).clone(), (**timestamp).clone()]);
            }
            Expr::Extract { field, expr: of, .. } => *expr = extract(field, of),
            Expr::Function(function) if present(function).is_some() => {
                if let Some(data_type) = present(function) {
                    let expr_now = Box::new(call("now", Vec::new()));
                    *expr = Expr::Cast { kind: CastKind::Cast, expr: expr_now, data_type, array: false, format: None };
                }
            }
            Expr::Function(function) if last_name(function).is_some_and(|name| gives_rows(&name)) => {
                let name = format!("{LIST_PREFIX}{}", last_name(function).unwrap_or_default());
                function.name = Ident::new(name).into();
                *expr = called("unnest", expr.clone());
            }
            Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("mod") => {
                if let Some(operator) = modulo(function) {
                    *expr = operator;
                }
            }
            Expr::Function(function) => {
                if let Some(written) = json_aggregates::written_out(function)? {
                    *expr = written;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Functions whose result has the type of their arguments, or of their elements.
fn takes_elements(name: &str) -> bool {
    const NAMES: [&str; 17] = [
        "abs",
        "sum",
        "array_agg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "max",
        "min",
        "array_append",
        "array_prepend",
        "array_remove",
        "array_replace",
        "array_position",
        "coalesce",
        "nullif",
        "greatest",
        "least",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn type_elements(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    for clause in &mut list.clauses {
        if let FunctionArgumentClause::OrderBy(keys) = clause {
            // The planner takes a number for the place of an argument.
            keys.iter_mut().for_each(|key| type_integer(&mut key.expr));
        }
    }
    for arg in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg {
            type_integer(arg);
        }
    }
}

fn type_integer(expr: &mut Expr) {
    if is_integer(expr) {
        *expr = integer(std::mem::replace(expr, Expr::value(Value::Null)));
    }
}

/// A constant that PostgreSQL takes for an integer as one: the planner takes it for a bigint.
fn integer(expr: Expr) -> Expr {
    if is_integer(&expr) { typed_values::cast(expr, SqlType::Int(None)) } else { expr }
}

fn is_integer(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } | Expr::Nested(expr) => is_integer(expr),
        Expr::Value(value) => matches!(&value.value, Value::Number(text, _) if text.parse::<i32>().is_ok()),
        _ => false,
    }
}

/// `mod(a, b)` as an operator.
fn modulo(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(left)), FunctionArg::Unnamed(FunctionArgExpr::Expr(right))] =
        &list.args[..]
    else {
        return None;
    };
    let nested = |expr: &Expr| Box::new(Expr::Nested(Box::new(expr.clone())));
    let (left, op, right) = (nested(left), BinaryOperator::Modulo, nested(right));
    Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right })))
}

/// Rows, casts to varchar(n), and what is not supported; whether the expression was written anew.
fn written_or_refused(expr: &mut Expr, made: &mut usize) -> Result<bool> {
    if let Some(written) = row_values::written_out(expr, made)? {
        *expr = written;
        return Ok(true);
    }
    match expr {
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right)
            if is_text_constant(left) || is_text_constant(right) =>
        {
            // Which of them has a type is asked of operators only, and the constant is not NULL.
            let equal = Expr::BinaryOp { left: left.clone(), op: BinaryOperator::Eq, right: right.clone() };
            let equal = Box::new(Expr::Nested(Box::new(equal)));
            *expr = match expr {
                Expr::IsDistinctFrom(..) => Expr::IsNotTrue(equal),
                _ => Expr::IsTrue(equal),
            };
        }
        Expr::Cast { expr: of, data_type, .. } => {
            if let Some(length) = varchar_length(data_type) {
                let text = typed_values::cast((**of).clone(), SqlType::Text);
                let length = Expr::value(Value::Number(length.to_string(), false));
                let kept = call("left", vec![text, length]);
                *expr = typed_values::cast(kept, SqlType::Varchar(None));
            }
        }
        // The engine knows the backslash only as the escape character.
        Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. } => {
            if let Some(escape) = escape_char.take() {
                **pattern = call("like_escape", vec![(**pattern).clone(), Expr::Value(escape)]);
            }
        }
        Expr::UnaryOp { op: UnaryOperator::BitwiseNot, expr: of } => {
            *expr = call(weft_expr::builtins::FLIPPED, vec![(**of).clone()]);
        }
        Expr::Function(function) => {
            refuse_names(function)?;
            if let FunctionArguments::Subquery(query) = &function.args {
                *expr = call(ROWS, vec![Expr::Subquery(query.clone())]);
            }
        }
        _ => {}
    }
    Ok(false)
}

/// Refuses arguments with names that no function has: those that one has came to their places before.
fn refuse_names(function: &Function) -> Result<()> {
    let FunctionArguments::List(list) = &function.args else { return Ok(()) };
    let named = list.args.iter().find_map(|arg| match arg {
        FunctionArg::Named { name, .. } => Some(folded(name)),
        _ => None,
    });
    let Some(name) = named else { return Ok(()) };
    let message = format!("function {}(...) with an argument named \"{name}\" does not exist", function.name);
    Err(Error::new(Code::UndefinedFunction, message)
        .hint("check the names and the number of the arguments, or give them in their order"))
}

fn is_text_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}

/// The n of varchar(n).
fn varchar_length(data_type: &SqlType) -> Option<u64> {
    match data_type {
        SqlType::Varchar(Some(length))
        | SqlType::CharacterVarying(Some(length))
        | SqlType::CharVarying(Some(length)) => match length {
            CharacterLength::IntegerLength { length, .. } => Some(*length),
            CharacterLength::Max => None,
        },
        _ => None,
    }
}

fn extract(field: &DateTimeField, of: &Expr) -> Expr {
    let field = field.to_string().trim_matches(['\'', '"']).to_lowercase();
    call("extract", vec![Expr::Value(Value::SingleQuotedString(field).into()), of.clone()])
}

/// The type in which `current_date` and its like give the present: `now()` in it.
fn present(function: &Function) -> Option<SqlType> {
    let is_bare = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.args.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    let none = TimezoneInfo::None;
    Some(match function.name.to_string().to_lowercase().as_str() {
        "current_date" if is_bare => SqlType::Date,
        "localtimestamp" if is_bare => SqlType::Timestamp(None, none),
        "localtime" if is_bare => SqlType::Time(None, none),
        _ => return None,
    })
}

/// The name without its schema.
fn last_name(function: &Function) -> Option<String> {
    function.name.0.last().and_then(|part| part.as_ident()).map(folded)
}

/// A function of one argument.
fn called(name: &str, arg: Expr) -> Expr {
    call(name, vec![arg])
}

/// `x = ANY (array)` as a function of both.
fn quantified(expr: &Expr) -> Result<Expr> {
    let (left, op, right, any) = match expr {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, true),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, false),
        other => return Err(Error::internal(format!("no quantified comparison: {other}"))),
    };
    if let Some(call) = pattern_call(left, op, right, any) {
        return Ok(call);
    }
    let op = compare_op(op).ok_or_else(|| {
        Error::new(Code::FeatureNotSupported, format!("the operator {op} with ANY or ALL is not supported"))
    })?;
    Ok(call(&quantified_name(op, any), vec![(**left).clone(), (**right).clone()]))
}

/// LIMIT '2' is LIMIT 2; of a query that is in none it has no columns.
fn limits(query: &mut Query, is_outermost: bool) -> Result<()> {
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else { return Ok(()) };
    let offset = offset.as_mut().map(|offset| &mut offset.value);
    for (expr, word) in [(limit.as_mut(), "LIMIT"), (offset, "OFFSET")] {
        let Some(expr) = expr else { continue };
        check_limit(expr, word, is_outermost)?;
        if let Expr::Value(value) = expr
            && let Value::SingleQuotedString(text) = &value.value
        {
            let count: u64 = text.trim().parse().map_err(|_| {
                Error::new(Code::InvalidText, format!("invalid input syntax for type bigint: \"{text}\""))
            })?;
            *expr = Expr::value(Value::Number(count.to_string(), false));
        }
    }
    Ok(())
}

/// Refuses columns, aggregates and functions with many rows in a LIMIT or OFFSET.
fn check_limit(expr: &Expr, word: &str, is_outermost: bool) -> Result<()> {
    struct Parts {
        queries: usize,
    }
    impl Visitor for Parts {
        type Break = (Code, &'static str);

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
            self.queries += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
            self.queries -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
            match expr {
                _ if self.queries > 0 => ControlFlow::Continue(()),
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                    ControlFlow::Break((Code::InvalidColumnReference, "variables"))
                }
                Expr::Function(_) if is_aggregate(expr) => ControlFlow::Break((Code::GroupingError, "aggregate")),
                Expr::Function(function) if last_name(function).is_some_and(|name| gives_rows(&name)) => {
                    ControlFlow::Break((Code::FeatureNotSupported, "set-returning"))
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match Visit::visit(expr, &mut Parts { queries: 0 }) {
        ControlFlow::Break((code, "variables")) if is_outermost => {
            Err(Error::new(code, format!("argument of {word} must not contain variables")))
        }
        ControlFlow::Break((_, "variables")) | ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((code, kind)) => {
            Err(Error::new(code, format!("{kind} functions are not allowed in {word}")))
        }
    }
}

fn body(expr: &mut SetExpr) -> Result<()> {
    match expr {
        SetExpr::SetOperation { left, right, op, set_quantifier } => {
            body(left)?;
            body(right)?;
            if *set_quantifier == SetQuantifier::All && matches!(op, SetOperator::Except | SetOperator::Intersect) {
                *expr = numbered(left, *op, right)?;
            }
        }
        SetExpr::Values(values) => {
            typed_values::write_types(values);
            if values.rows.iter().flat_map(|row| &row.content).any(has_query) {
                *expr = selects(values)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// HAVING without GROUP BY makes one group, which the planner knows by an aggregate; sets of groups have columns only.
fn grouped(select: &mut Select) -> Result<()> {
    let GroupByExpr::Expressions(groups, _) = &select.group_by else { return Ok(()) };
    let sets = groups.iter().filter_map(|group| match group {
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => Some(sets),
        _ => None,
    });
    let is_place = |expr: &&Expr| matches!(expr, Expr::Value(_) | Expr::Tuple(_));
    if let Some(other) = sets.flatten().flatten().find(is_place) {
        let message = format!("an expression ({other}) within ROLLUP, CUBE or GROUPING SETS is not supported");
        return Err(Error::new(Code::FeatureNotSupported, message)
            .hint("name the expression in a subquery, and group by that column"));
    }
    if groups.is_empty()
        && let Some(having) = select.having.take()
    {
        let having = Expr::Nested(Box::new(having));
        let always = parsed("SELECT count(*) >= 0")?;
        let SetExpr::Select(always) = *always.body else { return Err(Error::internal("no SELECT")) };
        let Some(SelectItem::UnnamedExpr(always)) = always.projection.into_iter().next() else {
            return Err(Error::internal("no expression"));
        };
        let (left, op, right) = (Box::new(having), BinaryOperator::And, Box::new(always));
        select.having = Some(Expr::BinaryOp { left, op, right });
    }
    Ok(())
}

/// The integers of the rows that a recursive query starts with are integers: the planner, which takes them for bigints,
/// keeps the types of the first rows.
fn write_start(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, .. } => write_start(left),
        SetExpr::Select(select) => {
            for item in &mut select.projection {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
                if typed_values::is_integer(expr) {
                    *expr = typed_values::cast(expr.clone(), SqlType::Integer(None));
                }
            }
        }
        _ => {}
    }
}

/// EXCEPT ALL and INTERSECT ALL: the n-th of equal rows is a row of its own.
fn numbered(left: &SetExpr, op: SetOperator, right: &SetExpr) -> Result<SetExpr> {
    let names = names_of(left).ok_or_else(|| {
        Error::new(Code::FeatureNotSupported, format!("{op} ALL of SELECT * is not supported"))
            .hint("name the columns of the first SELECT")
    })?;
    let column = |place: usize| format!("\"{MARKER}c{place}\"");
    let columns = (0..names.len()).map(column).collect::<Vec<_>>().join(", ");
    let mut sql = String::from("SELECT ");
    for (place, name) in names.iter().enumerate() {
        let comma = if place == 0 { "" } else { ", " };
        let _ = write!(sql, "{comma}{} AS \"{}\"", column(place), name.replace('"', "\"\""));
    }
    let side = |name: &str| {
        format!(
            "SELECT {columns}, row_number() OVER (PARTITION BY {columns}) AS \"{MARKER}n\" \
             FROM (SELECT 1) AS \"{MARKER}{name}\" ({columns})"
        )
    };
    let _ = write!(sql, " FROM ({} {op} {}) AS \"{MARKER}both\"", side("left"), side("right"));
    let mut query = parsed(&sql)?;
    for (name, side) in [("left", left), ("right", right)] {
        let mut inner = parsed("SELECT 1")?;
        *inner.body = side.clone();
        put(&mut query, &format!("{MARKER}{name}"), inner)?;
    }
    Ok(*query.body)
}

fn names_of(expr: &SetExpr) -> Option<Vec<String>> {
    match expr {
        SetExpr::Select(select) => {
            let name = |item: &SelectItem| match item {
                SelectItem::UnnamedExpr(expr) => Some(column_name(expr)),
                SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
                _ => None,
            };
            select.projection.iter().map(name).collect()
        }
        SetExpr::Query(query) => names_of(&query.body),
        SetExpr::SetOperation { left, .. } => names_of(left),
        SetExpr::Values(values) => {
            Some((1..=values.rows.first()?.content.len()).map(|place| format!("column{place}")).collect())
        }
        _ => None,
    }
}

/// VALUES as SELECTs, which may have subqueries.
fn selects(values: &Values) -> Result<SetExpr> {
    let mut all: Option<SetExpr> = None;
    for row in &values.rows {
        let mut query = parsed("SELECT 1")?;
        if let SetExpr::Select(select) = &mut *query.body {
            let item = |(place, expr): (usize, &Expr)| SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', format!("column{}", place + 1)),
            };
            select.projection = row.content.iter().enumerate().map(item).collect();
        }
        all = Some(match all {
            None => *query.body,
            Some(before) => SetExpr::SetOperation {
                left: Box::new(before),
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                right: query.body,
            },
        });
    }
    all.ok_or_else(|| Error::new(Code::SyntaxError, "VALUES has no rows"))
}

fn has_query(expr: &Expr) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    Visit::visit(expr, &mut Finder).is_break()
}

/// A number with an exponent as a plain one; one that no numeric holds is a double.
fn number(text: &str) -> Expr {
    plain(text).map_or_else(|| double(text), |plain| Expr::value(Value::Number(plain, false)))
}

fn plain(text: &str) -> Option<String> {
    let lower = text.replace('_', "").to_ascii_lowercase();
    let (mantissa, exponent) = lower.split_once('e')?;
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    if digits.len() as i64 > DIGITS_MAX || !(-DIGITS_MAX..=DIGITS_MAX).contains(&point) {
        return None;
    }
    let scale = digits.len() as i64 - point;
    if scale > DIGITS_MAX {
        return None;
    }
    Some(if point <= 0 {
        format!("0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if scale <= 0 {
        format!("{digits}{}.", "0".repeat(scale.unsigned_abs() as usize))
    } else {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    })
}

fn double(text: &str) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(text.to_owned()))),
        data_type: SqlType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> String {
        let mut query = parsed(sql).unwrap();
        rewrite(&mut query).unwrap();
        query.to_string().replace(MARKER, "#")
    }

    #[test]
    fn exponents_become_plain_numbers() {
        let cases = [("1e3", "1000."), ("1.5e-3", "0.0015"), ("12.34e1", "123.4"), ("1.5E0", "1.5"), ("0.5e1", "05.")];
        for (written, wanted) in cases {
            assert_eq!(plain(written).as_deref(), Some(wanted), "{written}");
        }
        assert_eq!((plain("1e300"), plain("1e-300")), (None, None));
    }

    #[test]
    fn values_with_a_subquery_become_selects() {
        let wanted = "SELECT (SELECT 1) AS \"column1\", 2.5 AS \"column2\" UNION ALL \
                      SELECT 3.5 AS \"column1\", 4.5 AS \"column2\"";
        assert_eq!(rewritten("VALUES ((SELECT 1), 2.5), (3.5, 4.5)"), wanted);
        assert_eq!(rewritten("VALUES (1.5, 2)"), "VALUES (1.5, CAST(2 AS INTEGER))");
    }

    #[test]
    fn except_all_counts_equal_rows() {
        let sql = rewritten("SELECT a FROM t EXCEPT ALL SELECT b FROM u");
        assert!(sql.contains("FROM (SELECT a FROM t) AS \"#left\"") && sql.contains("(SELECT b FROM u) AS \"#right\""));
        assert!(sql.starts_with("SELECT \"#c0\" AS \"a\" FROM (SELECT") && !sql.contains("EXCEPT ALL"), "{sql}");
    }
}
