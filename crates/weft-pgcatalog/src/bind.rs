//! Binding of expressions: names become places, types become known.
//!
//! ```text
//!   scopes   [ SELECT outside: n, c ]  [ SELECT around: i ]      innermost last
//!   i.indrelid = c.oid     →  Compare(Eq, Column { depth 0, place 1 }, Column { depth 1, place 3 })
//! ```

use std::sync::Arc;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType as SqlType, DateTimeField, ExactNumberInfo, Expr, Function as Call,
    FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident, ObjectName, OrderByExpr,
    Query as SqlQuery, Subscript, TrimWhereField, UnaryOperator, Value as SqlValue, WindowType,
};
use weft_format::{Code, DataType, Error, Result};

use crate::function::Function;
use crate::functions;
use crate::tree::{Aggregate, AggregateKind, Comparison, Ex, Query, Slot, Window};
use crate::value::{Datum, Type};

/// A relation in sight.
pub(crate) struct InSight {
    pub(crate) alias: String,
    /// Its schema, when it is known by its own name.
    pub(crate) schema: Option<&'static str>,
    pub(crate) columns: Vec<(String, Type)>,
    pub(crate) start: usize,
    /// The catalog's relation that it is.
    pub(crate) system: Option<u32>,
    /// Columns that USING and NATURAL show once only.
    pub(crate) merged: Vec<String>,
}

/// What the expressions of one SELECT see.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) relations: Vec<InSight>,
    pub(crate) width: usize,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) windows: Vec<Window>,
    pub(crate) sets: Vec<Ex>,
    /// The least and the greatest place that was read since somebody asked.
    pub(crate) read: Option<(usize, usize)>,
}

/// Columns of a result.
pub(crate) type Named = Vec<(String, Type)>;

/// A query of WITH.
#[derive(Clone)]
pub(crate) struct With {
    pub(crate) name: String,
    pub(crate) query: SqlQuery,
    pub(crate) columns: Vec<Ident>,
    /// How many of the scopes around it sees.
    pub(crate) sees: usize,
}

/// Binds one statement.
#[derive(Default)]
pub(crate) struct Binder {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) with: Vec<With>,
    /// Recursive queries whose second part is being bound: name, number, columns.
    pub(crate) recursive: Vec<(String, usize, Named)>,
    pub(crate) recursions: usize,
    /// The types of `$1`, `$2`, ...
    pub(crate) params: Vec<Option<Type>>,
    pub(crate) depth: u32,
}

/// How deep queries may lie in queries.
const DEPTH_MAX: u32 = 40;

pub(crate) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

pub(crate) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::new(Code::FeatureNotSupported, format!("{what} is not supported in queries of the catalog"))
}

/// The last part of a name whose schema is one of the catalog's.
pub(crate) fn last_part(name: &ObjectName) -> String {
    name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default()
}

impl Binder {
    /// Binds a query as part of an expression.
    fn query(&mut self, query: &SqlQuery) -> Result<Query> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(Code::StatementTooComplex, "queries lie too deep within queries"));
        }
        let bound = self.bind_query(query);
        self.depth -= 1;
        bound
    }

    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<(Ex, Type)> {
        let boxed = Box::new;
        Ok(match expr {
            Expr::Nested(inner) => return self.expr(inner),
            Expr::Collate { expr, .. } => return self.expr(expr),
            Expr::Value(value) => self.literal(&value.value)?,
            Expr::Prefixed { value, .. } => return self.expr(value),
            Expr::Identifier(ident) => return self.identifier(ident),
            Expr::CompoundIdentifier(parts) => {
                let parts: Vec<String> = parts.iter().map(fold).collect();
                self.column(&parts).ok_or_else(|| no_column(&parts.join(".")))?
            }
            Expr::CompoundFieldAccess { root, access_chain } => return self.access(root, access_chain),
            Expr::BinaryOp { left, op, right } => return self.binary(left, op, right),
            Expr::Like { negated, expr, pattern, .. } => self.matching(expr, pattern, true, false, *negated)?,
            Expr::ILike { negated, expr, pattern, .. } => self.matching(expr, pattern, true, true, *negated)?,
            Expr::AnyOp { left, compare_op, right, .. } => self.quantified(left, compare_op, right, true)?,
            Expr::AllOp { left, compare_op, right } => self.quantified(left, compare_op, right, false)?,
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
                let (inner, from) = self.expr(expr)?;
                if let SqlType::Numeric(digits) | SqlType::Decimal(digits) = data_type
                    && *digits != ExactNumberInfo::None
                {
                    return Err(unsupported(data_type));
                }
                let to = sql_type(data_type);
                if let Ex::Param(at) = inner
                    && self.params[at].is_none()
                {
                    self.params[at] = Some(if to.is_reg() { Type::Text } else { to.clone() });
                }
                (Ex::Cast(boxed(inner), from, to.clone()), to)
            }
            Expr::TypedString(typed) => {
                let to = sql_type(&typed.data_type);
                let text = typed.value.value.clone().into_string().unwrap_or_default();
                (Ex::Cast(boxed(Ex::Const(Datum::text(text))), Type::Unknown, to.clone()), to)
            }
            Expr::AtTimeZone { timestamp, .. } => return self.expr(timestamp),
            other => return self.test(other),
        })
    }

    /// Tests: IS, IN, BETWEEN, LIKE, ANY, NOT, EXISTS.
    fn test(&mut self, expr: &Expr) -> Result<(Ex, Type)> {
        let boxed = Box::new;
        Ok(match expr {
            Expr::IsNull(inner) => (Ex::IsNull(boxed(self.expr(inner)?.0), false), Type::Bool),
            Expr::IsNotNull(inner) => (Ex::IsNull(boxed(self.expr(inner)?.0), true), Type::Bool),
            Expr::IsTrue(inner) => (Ex::Is(boxed(self.expr(inner)?.0), true, false), Type::Bool),
            Expr::IsNotTrue(inner) => (Ex::Is(boxed(self.expr(inner)?.0), true, true), Type::Bool),
            Expr::IsFalse(inner) => (Ex::Is(boxed(self.expr(inner)?.0), false, false), Type::Bool),
            Expr::IsNotFalse(inner) => (Ex::Is(boxed(self.expr(inner)?.0), false, true), Type::Bool),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                let negated = matches!(expr, Expr::IsNotDistinctFrom(..));
                let (left, right) = self.pair(left, right)?;
                (Ex::Distinct(boxed(left.0), boxed(right.0), negated), Type::Bool)
            }
            Expr::InList { expr, list, negated } => {
                let mut of = self.expr(expr)?;
                let mut items = Vec::with_capacity(list.len());
                for item in list {
                    let mut item = self.expr(item)?;
                    self.agree(&mut of, &mut item);
                    items.push(item.0);
                }
                (Ex::InList(boxed(of.0), items, *negated), Type::Bool)
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let of = self.expr(expr)?;
                let query = self.query(subquery)?;
                let op = if *negated { Comparison::NotEq } else { Comparison::Eq };
                (Ex::QuantifiedQuery(op, boxed(of.0), Box::new(query), !*negated), Type::Bool)
            }
            Expr::Between { expr, negated, low, high } => {
                let (of, low) = self.pair(expr, low)?;
                let high = self.expr(high)?;
                let both = Ex::And(vec![
                    Ex::Compare(Comparison::GtEq, boxed(of.0.clone()), boxed(low.0)),
                    Ex::Compare(Comparison::LtEq, boxed(of.0), boxed(high.0)),
                ]);
                (if *negated { Ex::Not(boxed(both)) } else { both }, Type::Bool)
            }
            Expr::UnaryOp { op, expr } => {
                let (inner, data_type) = self.expr(expr)?;
                match op {
                    UnaryOperator::Not => (Ex::Not(boxed(inner)), Type::Bool),
                    UnaryOperator::Plus => (inner, data_type),
                    UnaryOperator::Minus => {
                        let zero = boxed(Ex::Const(Datum::Int(0)));
                        let float = matches!(data_type, Type::Float4 | Type::Float8 | Type::Numeric);
                        (within(Ex::Arithmetic('-', zero, boxed(inner), float), &data_type), data_type)
                    }
                    other => return Err(unsupported(other)),
                }
            }
            other => return self.constructed(other),
        })
    }

    /// CASE, arrays, rows, subqueries, calls.
    fn constructed(&mut self, expr: &Expr) -> Result<(Ex, Type)> {
        let boxed = Box::new;
        Ok(match expr {
            Expr::Case { operand, conditions, else_result, .. } => {
                let operand = operand.as_deref().map(|operand| self.expr(operand)).transpose()?;
                let mut result = Type::Unknown;
                let mut whens = Vec::new();
                for when in conditions {
                    let condition = self.expr(&when.condition)?.0;
                    let (value, data_type) = self.expr(&when.result)?;
                    result = wider(result, data_type);
                    whens.push((condition, value));
                }
                let otherwise = match else_result {
                    Some(value) => {
                        let (value, data_type) = self.expr(value)?;
                        result = wider(result, data_type);
                        Some(boxed(value))
                    }
                    None => None,
                };
                (Ex::Case { operand: operand.map(|(ex, _)| boxed(ex)), whens, otherwise }, result)
            }
            Expr::Exists { subquery, negated } => (Ex::Exists(Box::new(self.query(subquery)?), *negated), Type::Bool),
            Expr::Subquery(query) => {
                let query = self.query(query)?;
                let data_type = query.columns.first().map_or(Type::Unknown, |(_, data_type)| data_type.clone());
                (Ex::Scalar(Box::new(query)), data_type)
            }
            Expr::Array(array) => {
                let mut element = Type::Unknown;
                let mut items = Vec::new();
                for item in &array.elem {
                    let (item, data_type) = self.expr(item)?;
                    element = wider(element, data_type);
                    items.push(item);
                }
                (Ex::Array(items), Type::Array(Arc::new(element)))
            }
            Expr::Tuple(items) => {
                let mut fields = Vec::new();
                let mut values = Vec::new();
                for (number, item) in (1..).zip(items) {
                    let (item, data_type) = self.expr(item)?;
                    fields.push((format!("f{number}"), data_type));
                    values.push(item);
                }
                (Ex::Array(values), Type::Record(fields.into()))
            }
            Expr::Function(call) => return self.call(call),
            other => return self.text_function(other),
        })
    }

    /// Functions of texts that have a syntax of their own.
    fn text_function(&mut self, expr: &Expr) -> Result<(Ex, Type)> {
        Ok(match expr {
            Expr::Trim { trim_where, trim_what, expr, .. } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut args = vec![self.expr(expr)?];
                if let Some(what) = trim_what {
                    args.push(self.expr(what)?);
                }
                function_call(name, args)?
            }
            Expr::Substring { expr, substring_from, substring_for, .. } => {
                let mut args = vec![self.expr(expr)?];
                for part in [substring_from, substring_for].into_iter().flatten() {
                    args.push(self.expr(part)?);
                }
                function_call("substr", args)?
            }
            Expr::Position { expr, r#in } => {
                let args = vec![self.expr(r#in)?, self.expr(expr)?];
                function_call("strpos", args)?
            }
            Expr::Extract { field: DateTimeField::Epoch, expr, .. } => {
                let (inner, data_type) = self.expr(expr)?;
                if data_type != Type::Timestamptz {
                    return Err(unsupported("EXTRACT of what is no time"));
                }
                // A time, or what lies between two: both are microseconds.
                let second = Box::new(Ex::Const(Datum::Float(1e6)));
                (Ex::Arithmetic('/', Box::new(inner), second, true), Type::Float8)
            }
            other => return Err(unsupported(format!("\"{other}\""))),
        })
    }

    fn literal(&mut self, value: &SqlValue) -> Result<(Ex, Type)> {
        Ok(match value {
            SqlValue::Null => (Ex::Const(Datum::Null), Type::Unknown),
            SqlValue::Boolean(value) => (Ex::Const(Datum::Bool(*value)), Type::Bool),
            SqlValue::Number(text, _) => match text.parse::<i64>() {
                Ok(number) => {
                    let data_type = if i32::try_from(number).is_ok() { Type::Int4 } else { Type::Int8 };
                    (Ex::Const(Datum::Int(number)), data_type)
                }
                Err(_) => {
                    let number = text.parse().map_err(|_| unsupported(format!("the number {text}")))?;
                    (Ex::Const(Datum::Float(number)), Type::Numeric)
                }
            },
            SqlValue::Placeholder(name) => {
                let number = name.trim_start_matches('$').parse::<usize>().ok().filter(|n| (1..=65_535).contains(n));
                let at = number.ok_or_else(|| unsupported(format!("the parameter {name}")))? - 1;
                if self.params.len() <= at {
                    self.params.resize(at + 1, None);
                }
                (Ex::Param(at), Type::Unknown)
            }
            other => match other.clone().into_string() {
                Some(text) => (Ex::Const(Datum::text(text)), Type::Unknown),
                None => return Err(unsupported(other)),
            },
        })
    }

    fn identifier(&mut self, ident: &Ident) -> Result<(Ex, Type)> {
        let name = fold(ident);
        if let Some(found) = self.column(std::slice::from_ref(&name)) {
            return Ok(found);
        }
        if ident.quote_style.is_none() && functions::WITHOUT_PARENTHESES.contains(&name.as_str()) {
            return function_call(&name, Vec::new());
        }
        Err(no_column(&name))
    }

    /// The column of a name, innermost scope first.
    pub(crate) fn column(&mut self, parts: &[String]) -> Option<(Ex, Type)> {
        for (depth, scope) in self.scopes.iter_mut().rev().enumerate() {
            if let Some((place, data_type)) = scope.find(parts) {
                scope.note(place, place);
                return Some((Ex::Column { depth, place }, data_type));
            }
            if let Some(value) = scope.hidden(parts) {
                let data_type =
                    if parts.last().is_some_and(|name| name == "tableoid") { Type::Oid } else { Type::Int8 };
                return Some((Ex::Const(Datum::Int(value.into())), data_type));
            }
            // A whole row: of a function it is its value.
            if let [alias] = parts
                && let Some(relation) = scope.relations.iter().find(|relation| relation.alias == *alias)
            {
                let (start, fields) = (relation.start, relation.columns.clone());
                if fields.is_empty() {
                    continue;
                }
                scope.note(start, start + fields.len() - 1);
                let columns = (start..start + fields.len()).map(|place| Ex::Column { depth, place }).collect();
                return Some((Ex::Array(columns), Type::Record(fields.into())));
            }
        }
        None
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr]) -> Result<(Ex, Type)> {
        // a.b[1] is the column a.b and a subscript.
        let mut names = match root {
            Expr::Identifier(ident) => vec![fold(ident)],
            Expr::CompoundIdentifier(parts) => parts.iter().map(fold).collect(),
            _ => Vec::new(),
        };
        let mut rest = chain;
        let mut bound = None;
        if !names.is_empty() {
            bound = self.column(&names);
            while let [AccessExpr::Dot(Expr::Identifier(ident)), after @ ..] = rest {
                names.push(fold(ident));
                let Some(found) = self.column(&names) else {
                    names.pop();
                    break;
                };
                bound = Some(found);
                rest = after;
            }
        }
        let (mut ex, mut data_type) = match bound {
            Some(found) => found,
            None => self.expr(root)?,
        };
        for access in rest {
            match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => {
                    let name = fold(ident);
                    let Type::Record(fields) = &data_type else { return Err(no_column(&name)) };
                    let place = fields.iter().position(|(field, _)| *field == name);
                    let place = place.ok_or_else(|| no_column(&name))?;
                    let of = fields[place].1.clone();
                    (ex, data_type) = (Ex::Field(Box::new(ex), place), of);
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.expr(index)?.0;
                    let from_zero = matches!(data_type, Type::Vector(_) | Type::Name);
                    let of_name = if data_type == Type::Name { Type::Char } else { Type::Text };
                    let element = data_type.element().cloned().unwrap_or(of_name);
                    (ex, data_type) = (Ex::Subscript(Box::new(ex), Box::new(index), from_zero), element);
                }
                other => return Err(unsupported(format!("{other}"))),
            }
        }
        Ok((ex, data_type))
    }

    fn pair(&mut self, left: &Expr, right: &Expr) -> Result<((Ex, Type), (Ex, Type))> {
        let (mut left, mut right) = (self.expr(left)?, self.expr(right)?);
        self.agree(&mut left, &mut right);
        Ok((left, right))
    }

    /// Gives what has no type that of the other.
    fn agree(&mut self, left: &mut (Ex, Type), right: &mut (Ex, Type)) {
        let types = (left.1.clone(), right.1.clone());
        for (open, known) in [(left, types.1), (right, types.0)] {
            if open.1 != Type::Unknown || known == Type::Unknown {
                continue;
            }
            if let Ex::Param(at) = open.0
                && self.params[at].is_none()
            {
                let plain = known.is_integer() && !known.is_reg() || known == Type::Bool;
                self.params[at] = Some(if plain { known.clone() } else { Type::Text });
            }
            if known.is_reg() || matches!(known, Type::RegProc | Type::Array(_) | Type::Vector(_)) {
                let inner = std::mem::replace(&mut open.0, Ex::Const(Datum::Null));
                *open = (Ex::Cast(Box::new(inner), Type::Unknown, known.clone()), known);
            }
        }
    }

    fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<(Ex, Type)> {
        let op = plain_operator(op);
        if let Some(op) = comparison(&op) {
            let (left, right) = self.pair(left, right)?;
            return Ok((Ex::Compare(op, Box::new(left.0), Box::new(right.0)), Type::Bool));
        }
        match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let (left, right) = (self.expr(left)?.0, self.expr(right)?.0);
                let both = vec![left, right];
                Ok((if op == BinaryOperator::And { Ex::And(both) } else { Ex::Or(both) }, Type::Bool))
            }
            BinaryOperator::StringConcat => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                let array = [&left.1, &right.1].into_iter().find(|side| matches!(side, Type::Array(_))).cloned();
                let data_type = array.unwrap_or(Type::Text);
                let text = |(ex, of): (Ex, Type)| match (&data_type, &of) {
                    (Type::Text, of) if !of.is_text() => Ex::Cast(Box::new(ex), of.clone(), Type::Text),
                    _ => ex,
                };
                let (left, right) = (text(left), text(right));
                Ok((Ex::Concat(Box::new(left), Box::new(right)), data_type))
            }
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::BitwiseAnd
            | BinaryOperator::BitwiseOr => {
                let (left, right) = self.pair(left, right)?;
                let data_type = wider(left.1, right.1);
                if data_type == Type::Numeric {
                    return Err(unsupported("arithmetic of numerics"));
                }
                let sign = op.to_string().chars().next().unwrap_or('+');
                let float = matches!(data_type, Type::Float4 | Type::Float8);
                let result = Ex::Arithmetic(sign, Box::new(left.0), Box::new(right.0), float);
                Ok((within(result, &data_type), data_type))
            }
            BinaryOperator::PGRegexMatch => self.matching(left, right, false, false, false),
            BinaryOperator::PGRegexIMatch => self.matching(left, right, false, true, false),
            BinaryOperator::PGRegexNotMatch => self.matching(left, right, false, false, true),
            BinaryOperator::PGRegexNotIMatch => self.matching(left, right, false, true, true),
            BinaryOperator::PGLikeMatch => self.matching(left, right, true, false, false),
            BinaryOperator::PGNotLikeMatch => self.matching(left, right, true, false, true),
            BinaryOperator::PGILikeMatch => self.matching(left, right, true, true, false),
            other => Err(unsupported(format!("the operator {other}"))),
        }
    }

    fn matching(
        &mut self,
        text: &Expr,
        pattern: &Expr,
        like: bool,
        insensitive: bool,
        negated: bool,
    ) -> Result<(Ex, Type)> {
        let (text, pattern) = (Box::new(self.expr(text)?.0), Box::new(self.expr(pattern)?.0));
        Ok((Ex::Match { text, pattern, like, insensitive, negated }, Type::Bool))
    }

    fn quantified(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr, any: bool) -> Result<(Ex, Type)> {
        let op = plain_operator(op);
        let op = match op {
            BinaryOperator::PGRegexMatch => Comparison::Regex,
            BinaryOperator::PGRegexNotMatch => Comparison::NotRegex,
            other => comparison(&other).ok_or_else(|| unsupported(format!("the operator {other} with ANY or ALL")))?,
        };
        let left = self.expr(left)?;
        if let Expr::Subquery(query) = right {
            let query = self.query(query)?;
            // ANY of a subquery that gives an array's elements.
            return Ok((Ex::QuantifiedQuery(op, Box::new(left.0), Box::new(query), any), Type::Bool));
        }
        let mut right = self.expr(right)?;
        if right.1 == Type::Unknown {
            let to = Type::Array(Arc::new(if left.1 == Type::Unknown { Type::Text } else { left.1.clone() }));
            if let Ex::Param(at) = right.0
                && self.params[at].is_none()
            {
                self.params[at] = Some(to.clone());
            }
            right = (Ex::Cast(Box::new(right.0), Type::Unknown, to.clone()), to);
        }
        Ok((Ex::Quantified(op, Box::new(left.0), Box::new(right.0), any), Type::Bool))
    }

    fn call(&mut self, call: &Call) -> Result<(Ex, Type)> {
        let name = last_part(&call.name);
        if let FunctionArguments::Subquery(query) = &call.args {
            if name != "array" {
                return Err(unsupported(format!("{name} of a query")));
            }
            let query = self.query(query)?;
            let element = query.columns.first().map_or(Type::Text, |(_, data_type)| data_type.clone());
            return Ok((Ex::ArrayOf(Box::new(query)), Type::Array(Arc::new(element))));
        }
        let mut args = Vec::new();
        let (mut star, mut distinct, mut order) = (false, false, Vec::new());
        if let FunctionArguments::List(list) = &call.args {
            distinct = list.duplicate_treatment == Some(sqlparser::ast::DuplicateTreatment::Distinct);
            for arg in &list.args {
                match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => args.push(self.expr(expr)?),
                    FunctionArg::Unnamed(_) => star = true,
                    FunctionArg::Named { arg: FunctionArgExpr::Expr(expr), .. } => args.push(self.expr(expr)?),
                    other => return Err(unsupported(format!("the argument {other}"))),
                }
            }
            for clause in &list.clauses {
                if let FunctionArgumentClause::OrderBy(by) = clause {
                    order = self.order(by)?;
                }
            }
        }
        let filter = call.filter.as_deref().map(|filter| self.expr(filter)).transpose()?.map(|(ex, _)| ex);
        if let Some((kind, data_type)) = aggregate(&name, &args, star) {
            if matches!(name.as_str(), "sum" | "avg") && matches!(args.first(), Some((_, Type::Numeric))) {
                return Err(unsupported("a sum of numerics"));
            }
            let args = args.into_iter().map(|(ex, _)| ex).collect();
            let aggregate = Aggregate { kind, args, distinct, order, filter };
            return self.slot(aggregate, data_type, call);
        }
        if let Some(WindowType::WindowSpec(_)) = &call.over {
            if !matches!(name.as_str(), "row_number" | "rank" | "dense_rank") {
                return Err(unsupported(format!("{name}() OVER")));
            }
            let window = self.window(None, call)?;
            return self.window_slot(window, Type::Int8);
        }
        let (function, args) = (functions::find(&name, args.len()), args);
        let Some(function) = function else {
            let message = format!("function {name} with {} arguments does not exist", args.len());
            return Err(Error::new(Code::UndefinedFunction, message));
        };
        let (ex, data_type) = self.bound_call(function, args);
        if !function.is_set {
            return Ok((ex, data_type));
        }
        let scope = self.scopes.last_mut().ok_or_else(|| unsupported(format!("{name}() here")))?;
        scope.sets.push(ex);
        Ok((Ex::Slot(Slot::Set, scope.sets.len() - 1), data_type))
    }

    pub(crate) fn bound_call(&mut self, function: &'static Function, args: Vec<(Ex, Type)>) -> (Ex, Type) {
        let (args, types): (Vec<Ex>, Vec<Type>) = args.into_iter().unzip();
        let data_type = (function.returns)(&types);
        (Ex::Call(function, args, types), data_type)
    }

    fn slot(&mut self, aggregate: Aggregate, data_type: Type, call: &Call) -> Result<(Ex, Type)> {
        if call.over.is_some() {
            let window = self.window(Some(aggregate), call)?;
            return self.window_slot(window, data_type);
        }
        let scope = self.scopes.last_mut().ok_or_else(|| unsupported("an aggregate here"))?;
        scope.aggregates.push(aggregate);
        Ok((Ex::Slot(Slot::Aggregate, scope.aggregates.len() - 1), data_type))
    }

    fn window(&mut self, aggregate: Option<Aggregate>, call: &Call) -> Result<Window> {
        let Some(WindowType::WindowSpec(spec)) = &call.over else { return Err(unsupported("a named window")) };
        let partition = spec.partition_by.iter().map(|expr| Ok(self.expr(expr)?.0)).collect::<Result<Vec<_>>>()?;
        let order = self.order(&spec.order_by)?;
        Ok(Window { aggregate, partition, order })
    }

    fn window_slot(&mut self, window: Window, data_type: Type) -> Result<(Ex, Type)> {
        let scope = self.scopes.last_mut().ok_or_else(|| unsupported("a window function here"))?;
        scope.windows.push(window);
        Ok((Ex::Slot(Slot::Window, scope.windows.len() - 1), data_type))
    }

    fn order(&mut self, by: &[OrderByExpr]) -> Result<Vec<(Ex, bool, bool)>> {
        let mut order = Vec::with_capacity(by.len());
        for item in by {
            let (descending, nulls_first) = direction(item);
            order.push((self.expr(&item.expr)?.0, descending, nulls_first));
        }
        Ok(order)
    }
}

/// Whether descending, and whether NULL comes first.
pub(crate) fn direction(item: &OrderByExpr) -> (bool, bool) {
    let descending = item.options.asc == Some(false);
    (descending, item.options.nulls_first.unwrap_or(descending))
}

impl Scope {
    /// Notes that places were read.
    fn note(&mut self, from: usize, to: usize) {
        self.read = Some(self.read.map_or((from, to), |(least, most)| (least.min(from), most.max(to))));
    }

    /// The columns that every relation has and none shows: the relation's number, and the writer of a row.
    fn hidden(&self, parts: &[String]) -> Option<u32> {
        let (name, of) = parts.split_last()?;
        let is_it = |relation: &&InSight| of.last().is_none_or(|alias| relation.alias == *alias);
        let system = self.relations.iter().filter(is_it).find_map(|relation| relation.system)?;
        match name.as_str() {
            "tableoid" => Some(system),
            "xmin" | "xmax" | "cmin" | "cmax" => Some(0),
            _ => None,
        }
    }

    fn find(&self, parts: &[String]) -> Option<(usize, Type)> {
        let (name, of) = parts.split_last()?;
        let fits = |relation: &&InSight| match of {
            [] => !relation.merged.contains(name),
            [alias] => relation.alias == *alias,
            [schema, alias] => relation.alias == *alias && relation.schema == Some(schema.as_str()),
            _ => false,
        };
        self.relations.iter().filter(fits).find_map(|relation| {
            let place = relation.columns.iter().position(|(column, _)| column == name)?;
            Some((relation.start + place, relation.columns[place].1.clone()))
        })
    }
}

fn no_column(name: &str) -> Error {
    Error::new(Code::UndefinedColumn, format!("column \"{name}\" does not exist"))
}

/// A call of a function of one row.
fn function_call(name: &str, args: Vec<(Ex, Type)>) -> Result<(Ex, Type)> {
    let function = functions::find(name, args.len())
        .ok_or_else(|| Error::new(Code::UndefinedFunction, format!("function {name} does not exist")))?;
    let (args, types): (Vec<Ex>, Vec<Type>) = args.into_iter().unzip();
    let data_type = (function.returns)(&types);
    Ok((Ex::Call(function, args, types), data_type))
}

/// OPERATOR(pg_catalog.~) is ~.
pub(crate) fn plain_operator(op: &BinaryOperator) -> BinaryOperator {
    let BinaryOperator::PGCustomBinaryOperator(parts) = op else { return op.clone() };
    match parts.last().map(String::as_str) {
        Some("~") => BinaryOperator::PGRegexMatch,
        Some("!~") => BinaryOperator::PGRegexNotMatch,
        Some("~*") => BinaryOperator::PGRegexIMatch,
        Some("!~*") => BinaryOperator::PGRegexNotIMatch,
        Some("~~") => BinaryOperator::PGLikeMatch,
        Some("!~~") => BinaryOperator::PGNotLikeMatch,
        Some("=") => BinaryOperator::Eq,
        Some("<>") => BinaryOperator::NotEq,
        Some("<") => BinaryOperator::Lt,
        Some(">") => BinaryOperator::Gt,
        Some("<=") => BinaryOperator::LtEq,
        Some(">=") => BinaryOperator::GtEq,
        Some("||") => BinaryOperator::StringConcat,
        Some("+") => BinaryOperator::Plus,
        _ => op.clone(),
    }
}

fn comparison(op: &BinaryOperator) -> Option<Comparison> {
    Some(match op {
        BinaryOperator::Eq => Comparison::Eq,
        BinaryOperator::NotEq => Comparison::NotEq,
        BinaryOperator::Lt => Comparison::Lt,
        BinaryOperator::LtEq => Comparison::LtEq,
        BinaryOperator::Gt => Comparison::Gt,
        BinaryOperator::GtEq => Comparison::GtEq,
        _ => return None,
    })
}

fn aggregate(name: &str, args: &[(Ex, Type)], star: bool) -> Option<(AggregateKind, Type)> {
    let first = args.first().map_or(Type::Unknown, |(_, data_type)| data_type.clone());
    Some(match name {
        "count" if star || args.is_empty() => (AggregateKind::CountAll, Type::Int8),
        "count" => (AggregateKind::Count, Type::Int8),
        "min" => (AggregateKind::Min, first),
        "max" => (AggregateKind::Max, first),
        "sum" if matches!(first, Type::Float4 | Type::Float8 | Type::Numeric) => (AggregateKind::Sum, Type::Float8),
        "sum" => (AggregateKind::Sum, Type::Int8),
        "avg" => (AggregateKind::Avg, Type::Float8),
        "bool_and" | "every" => (AggregateKind::BoolAnd, Type::Bool),
        "bool_or" => (AggregateKind::BoolOr, Type::Bool),
        "array_agg" => (AggregateKind::ArrayAgg, Type::Array(Arc::new(first))),
        "string_agg" => (AggregateKind::StringAgg, Type::Text),
        "json_agg" | "jsonb_agg" => (AggregateKind::JsonAgg, Type::Json),
        _ => return None,
    })
}

/// A result that must have a place in its type.
fn within(result: Ex, data_type: &Type) -> Ex {
    match data_type {
        Type::Int2 | Type::Int4 => Ex::Cast(Box::new(result), Type::Int8, data_type.clone()),
        _ => result,
    }
}

/// The type that holds both.
pub(crate) fn wider(left: Type, right: Type) -> Type {
    let rank = |data_type: &Type| match data_type {
        Type::Unknown => 0,
        Type::Int2 => 1,
        Type::Int4 => 2,
        Type::Oid => 3,
        Type::Int8 => 4,
        Type::Numeric => 5,
        Type::Float4 => 6,
        Type::Float8 => 7,
        Type::Char => 8,
        Type::Name => 9,
        Type::Varchar => 10,
        Type::Text => 11,
        _ => 12,
    };
    if rank(&right) > rank(&left) { right } else { left }
}

/// The type that a query names.
pub(crate) fn sql_type(data_type: &SqlType) -> Type {
    match data_type {
        SqlType::Array(sqlparser::ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
            Type::Array(Arc::new(sql_type(element)))
        }
        SqlType::Regclass => Type::RegClass,
        SqlType::Boolean | SqlType::Bool => Type::Bool,
        SqlType::SmallInt(_) | SqlType::Int2(_) => Type::Int2,
        SqlType::Int(_) | SqlType::Integer(_) | SqlType::Int4(_) => Type::Int4,
        SqlType::BigInt(_) | SqlType::Int8(_) => Type::Int8,
        SqlType::Real | SqlType::Float4 => Type::Float4,
        SqlType::Numeric(_) | SqlType::Decimal(_) => Type::Numeric,
        SqlType::DoublePrecision | SqlType::Float(_) | SqlType::Float8 => Type::Float8,
        SqlType::Date => Type::Read(DataType::Date),
        SqlType::Interval { .. } => Type::Read(DataType::Interval),
        SqlType::Time(..) => Type::Read(DataType::Time),
        SqlType::Uuid => Type::Read(DataType::Uuid),
        SqlType::Varchar(_) | SqlType::CharacterVarying(_) | SqlType::Char(_) | SqlType::Character(_) => Type::Varchar,
        SqlType::JSON | SqlType::JSONB => Type::Json,
        SqlType::Timestamp(..) => Type::Timestamptz,
        SqlType::Custom(name, _) => {
            let text = last_part(name);
            let is_quoted =
                name.0.last().and_then(|part| part.as_ident()).is_some_and(|part| part.quote_style.is_some());
            if text == "char" && !is_quoted { Type::Varchar } else { Type::named(&text) }
        }
        _ => Type::Text,
    }
}
