//! Binding: names to columns, literals and parameters to types, operators to what computes them.
//!
//! A string literal, NULL or a parameter without a type yet is *untyped*: it takes the type that its place expects (the
//! other operand, the column it is assigned to), else text.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, Expr as SqlExpr, Ident, Subscript, TypedString, UnaryOperator,
    Value as SqlValue, ValueWithSpan,
};
use sqlparser::tokenizer::Span;
use weft_expr::routines::{Routine, Signature, by_operator, quantified};
use weft_expr::text::NUMERIC_DEFAULT;
use weft_expr::{
    ArithmeticOp, Expr, Local, Node, arithmetic_types, assign, check_assignable, common_type, is_castable, is_integer,
    is_number, literal_number_type, negate, no_cast,
};
use weft_format::predicate::CompareOp;
use weft_format::{Code, DataType, Error, Value};

use super::types::{data_type_of, is_of_catalog};
use super::{Named, Scope};
use crate::parse::{fold, span_position};
use crate::text;

/// Why an expression was not bound.
#[derive(Clone, Debug)]
pub enum BindError {
    /// The point engine does not know this; the query engine may.
    Unsupported(String),
    /// The expression is wrong.
    Wrong(Error),
}

impl From<Error> for BindError {
    fn from(error: Error) -> BindError {
        BindError::Wrong(error)
    }
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Error {
        match error {
            BindError::Unsupported(what) => {
                Error::new(Code::FeatureNotSupported, format!("{what} is not supported by the point engine"))
            }
            BindError::Wrong(error) => error,
        }
    }
}

/// The result of binding.
pub type BindResult<T> = std::result::Result<T, BindError>;

/// Who defines a stored expression, and the texts of its dates and times.
pub struct Definer<'a> {
    /// The session's zone and styles.
    pub local: &'a Local,
    /// Where a text stands, its quotes included, and what is stored instead.
    pub texts: Vec<(Span, String)>,
}

/// Binds the expressions of one statement; collects the types of its parameters on the way.
pub struct Binder<'a> {
    /// The statement's text, for positions.
    pub source: &'a str,
    /// The types of `$1`, `$2`, ... as far as they are known.
    pub params: Vec<Option<DataType>>,
    /// Whether no other engine is asked: then a call with arguments of the wrong type is the user's mistake.
    pub is_alone: bool,
    /// Whether it is kept for all sessions (DEFAULT, CHECK): texts of dates and times in it are read as ISO and UTC.
    pub is_stored: bool,
    /// The session that defines it: such texts are read in it, and what all sessions read in their place is collected.
    pub definer: Option<Definer<'a>>,
}

pub(super) fn unsupported<T>(what: impl Into<String>) -> BindResult<T> {
    Err(BindError::Unsupported(what.into()))
}

impl<'a> Binder<'a> {
    /// A binder that knows no parameter yet.
    pub fn new(source: &'a str) -> Binder<'a> {
        Binder { source, params: Vec::new(), is_alone: false, is_stored: false, definer: None }
    }

    /// The types of the parameters; those that nothing decided are text.
    pub fn param_types(&self) -> Vec<DataType> {
        self.params.iter().map(|data_type| data_type.unwrap_or(DataType::Text)).collect()
    }

    /// Binds a condition.
    pub fn bind_condition(&mut self, expr: &SqlExpr, scope: &Scope) -> BindResult<Expr> {
        let bound = self.bind(expr, scope, Some(DataType::Boolean))?;
        if bound.data_type == DataType::Boolean {
            return Ok(bound);
        }
        let name = text::type_name(bound.data_type);
        Err(Error::new(Code::DatatypeMismatch, format!("a condition must be of type boolean, not type {name}")).into())
    }

    /// Binds an expression that is assigned to a column.
    pub fn bind_assignment(&mut self, expr: &SqlExpr, scope: &Scope, to: DataType, column: &str) -> BindResult<Expr> {
        // The length of a varchar or of bits is the assignment's to test, not the literal's.
        let expected = match to {
            DataType::Bit(_) => DataType::Bit(0),
            DataType::VarBit(_) => DataType::VarBit(0),
            to if to.is_text() => DataType::Text,
            to => to,
        };
        let bound = self.bind(expr, scope, Some(expected))?;
        match bound.node {
            Node::Literal(Value::Null) => return Ok(Expr::literal(Value::Null, to)),
            Node::Column(_) if bound.data_type == to => return Ok(bound),
            _ if bound.data_type == to && !to.is_text() => return Ok(bound),
            _ if bound.data_type.is_text() && to == DataType::Text => return Ok(Expr::new(bound.node, to)),
            _ => check_assignable(bound.data_type, to, column).map_err(|error| self.place(error, expr))?,
        }
        let is_fixed = bound.clone().cast_to(to).is_immutable();
        if let (Node::Literal(value), true) = (&bound.node, is_fixed) {
            let value = assign(value.clone(), bound.data_type, to, column, Local::fixed())
                .map_err(|error| self.place(error, expr))?;
            return Ok(Expr::literal(value, to));
        }
        Ok(Expr::new(Node::Assign(Box::new(bound), column.into()), to))
    }

    /// Binds an expression; an untyped one takes the expected type, or text.
    pub fn bind(&mut self, expr: &SqlExpr, scope: &Scope, expected: Option<DataType>) -> BindResult<Expr> {
        match expr {
            SqlExpr::Nested(inner) => self.bind(inner, scope, expected),
            SqlExpr::Identifier(ident) => self.column(None, ident, scope),
            SqlExpr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] => self.column(Some(&fold(table)), column, scope),
                [_, table, column] => self.column(Some(&fold(table)), column, scope),
                _ => unsupported("a name of more than three parts"),
            },
            SqlExpr::Value(value) => self.value(value, expected),
            SqlExpr::TypedString(typed) => self.typed(typed),
            SqlExpr::AtTimeZone { timestamp, time_zone } => {
                self.routine_call("timezone", &[time_zone.as_ref(), timestamp.as_ref()], scope)
            }
            SqlExpr::UnaryOp { op, expr } => self.unary(*op, expr, scope, expected),
            SqlExpr::BinaryOp { left, op, right } => self.binary(left, op, right, scope),
            SqlExpr::IsNull(inner) => self.is_null(inner, false, scope),
            SqlExpr::IsNotNull(inner) => self.is_null(inner, true, scope),
            SqlExpr::IsTrue(inner) => self.is_bool(inner, true, false, scope),
            SqlExpr::IsNotTrue(inner) => self.is_bool(inner, true, true, scope),
            SqlExpr::IsFalse(inner) => self.is_bool(inner, false, false, scope),
            SqlExpr::IsNotFalse(inner) => self.is_bool(inner, false, true, scope),
            SqlExpr::IsDistinctFrom(left, right) => self.distinct(left, right, false, scope),
            SqlExpr::IsNotDistinctFrom(left, right) => self.distinct(left, right, true, scope),
            SqlExpr::InList { expr, list, negated } => self.in_list(expr, list, *negated, scope),
            SqlExpr::Between { expr, negated, low, high } => {
                let low = self.compare(CompareOp::GtEq, expr, low, scope)?;
                let high = self.compare(CompareOp::LtEq, expr, high, scope)?;
                let both = boolean(Node::And(Box::new(low), Box::new(high)));
                Ok(if *negated { boolean(Node::Not(Box::new(both))) } else { both })
            }
            SqlExpr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), false, *negated, scope)
            }
            SqlExpr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_ref(), true, *negated, scope)
            }
            SqlExpr::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr,
                data_type,
                array: false,
                format: None,
            } => {
                if is_of_catalog(data_type) {
                    return unsupported(format!("the type {data_type}"));
                }
                let to = data_type_of(data_type)?;
                // 'text'::type reads the literal as the type; $1::type gives the parameter the type.
                // Bits have the length that they are written with, until they are cast to another.
                let untyped = match to {
                    DataType::Bit(_) => DataType::Bit(0),
                    DataType::VarBit(_) => DataType::VarBit(0),
                    to if to.is_text() => DataType::Text,
                    to => to,
                };
                let inner = self.bind(expr, scope, Some(untyped))?;
                if !is_castable(inner.data_type, to) {
                    return Err(self.place(no_cast(inner.data_type, to), expr).into());
                }
                Ok(inner.cast_to(to))
            }
            SqlExpr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), scope, expected)
            }
            SqlExpr::Function(function) => self.function(function, scope, expected),
            SqlExpr::InSubquery { .. } | SqlExpr::Exists { .. } | SqlExpr::Subquery(_) => unsupported("a subquery"),
            other => self.bind_special(other, scope, expected),
        }
    }

    /// Binds what arrays and intervals have of their own.
    fn bind_special(&mut self, expr: &SqlExpr, scope: &Scope, expected: Option<DataType>) -> BindResult<Expr> {
        match expr {
            SqlExpr::AnyOp { left, compare_op, right, .. } if !matches!(**right, SqlExpr::Subquery(_)) => {
                self.quantified((left, compare_op, right), true, scope)
            }
            SqlExpr::AllOp { left, compare_op, right } if !matches!(**right, SqlExpr::Subquery(_)) => {
                self.quantified((left, compare_op, right), false, scope)
            }
            SqlExpr::Array(array) => self.array(&array.elem, scope, expected),
            SqlExpr::CompoundFieldAccess { root, access_chain } => match super::slice_call(expr)? {
                Some(slice) => self.bind(&slice, scope, expected),
                None => self.subscript(root, access_chain, scope),
            },
            SqlExpr::Interval(interval) if super::check_fields(interval).is_err() => {
                unsupported("fields behind this interval")
            }
            SqlExpr::Interval(interval) => match super::interval_cast(interval) {
                Some(cast) => self.bind(&cast, scope, expected),
                None => unsupported("this interval"),
            },
            other => match super::written_call(other) {
                Some(call) => self.bind(&call, scope, expected),
                None => unsupported(format!("\"{}\"", brief(other))),
            },
        }
    }

    pub(super) fn place(&self, error: Error, expr: &SqlExpr) -> Error {
        use sqlparser::ast::Spanned;
        match span_position(self.source, expr.span()) {
            Some(position) if error.position().is_none() => error.at(position),
            _ => error,
        }
    }

    fn column(&mut self, table: Option<&str>, ident: &Ident, scope: &Scope) -> BindResult<Expr> {
        let name = fold(ident);
        match scope.find(table, &name) {
            Ok(Named::Value(value)) => Ok(value),
            Ok(Named::Lacking(what)) => Err(BindError::Unsupported(what)),
            Err(error) => {
                if table.is_none() && ident.quote_style.is_none() && is_now(&name) {
                    return Ok(now(&name));
                }
                Err(match span_position(self.source, ident.span) {
                    Some(position) => error.at(position),
                    None => error,
                }
                .into())
            }
        }
    }

    fn typed(&mut self, typed: &TypedString) -> BindResult<Expr> {
        let data_type = data_type_of(&typed.data_type)?;
        match typed.value.value.clone().into_string() {
            Some(string) => self.text_literal(&string, data_type, &typed.value),
            None => unsupported("this literal"),
        }
    }

    fn value(&mut self, value: &ValueWithSpan, expected: Option<DataType>) -> BindResult<Expr> {
        match &value.value {
            SqlValue::Null => Ok(Expr::literal(Value::Null, expected.unwrap_or(DataType::Text))),
            SqlValue::Boolean(truth) => Ok(Expr::literal(Value::Bool(*truth), DataType::Boolean)),
            SqlValue::Number(digits, _) => {
                // More digits than numeric can hold: the nearest double precision.
                let data_type = literal_number_type(digits).unwrap_or(DataType::DoublePrecision);
                Ok(Expr::literal(text::parse(digits, data_type, Local::fixed())?, data_type))
            }
            SqlValue::Placeholder(name) => self.param(name, expected),
            SqlValue::SingleQuotedString(string) | SqlValue::EscapedStringLiteral(string) => {
                self.text_literal(string, expected.unwrap_or(DataType::Text), value)
            }
            SqlValue::DollarQuotedString(string) => {
                self.text_literal(&string.value, expected.unwrap_or(DataType::Text), value)
            }
            other => unsupported(format!("the literal {other}")),
        }
    }

    fn text_literal(&mut self, string: &str, data_type: DataType, value: &ValueWithSpan) -> BindResult<Expr> {
        if !self.is_stored && text::depends_on_session(string, data_type) {
            let literal = Expr::literal(Value::Text(string.into()), DataType::Text);
            return Ok(Expr::new(Node::Cast(Box::new(literal)), data_type));
        }
        let local = self.definer.as_ref().map_or(Local::fixed(), |definer| definer.local);
        match text::parse(string, data_type, local) {
            Ok(parsed) => {
                if let Some(definer) = self.definer.as_mut().filter(|_| text::depends_on_session(string, data_type)) {
                    definer.texts.push((value.span, text::print(parsed.as_ref(), data_type)));
                }
                Ok(Expr::literal(parsed, data_type))
            }
            Err(error) => Err(match span_position(self.source, value.span) {
                Some(position) => error.at(position),
                None => error,
            }
            .into()),
        }
    }

    fn param(&mut self, name: &str, expected: Option<DataType>) -> BindResult<Expr> {
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
        let Some(index) = number.filter(|number| (1..=65_535).contains(number)).map(|number| number - 1) else {
            return Err(
                Error::new(Code::SyntaxError, format!("\"{name}\" is not a parameter; write $1, $2, ...")).into()
            );
        };
        if self.params.len() <= index {
            self.params.resize(index + 1, None);
        }
        let data_type = *self.params[index].get_or_insert(expected.map_or(DataType::Text, open));
        Ok(Expr::new(Node::Param(index), data_type))
    }

    /// Whether an expression takes the type of its place.
    pub(super) fn is_untyped(&self, expr: &SqlExpr) -> bool {
        match expr {
            SqlExpr::Nested(inner) => self.is_untyped(inner),
            SqlExpr::Value(value) => match &value.value {
                SqlValue::Null
                | SqlValue::SingleQuotedString(_)
                | SqlValue::EscapedStringLiteral(_)
                | SqlValue::DollarQuotedString(_) => true,
                SqlValue::Placeholder(name) => {
                    let index = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
                    index.is_some_and(|index| self.params.get(index.wrapping_sub(1)).is_none_or(Option::is_none))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Binds two operands; an untyped one takes the other's type, or `expected`.
    pub(super) fn pair(
        &mut self,
        left: &SqlExpr,
        right: &SqlExpr,
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<(Expr, Expr)> {
        if self.is_untyped(left) && !self.is_untyped(right) {
            let right = self.bind(right, scope, expected)?;
            let left = self.bind(left, scope, Some(open(right.data_type)))?;
            return Ok((left, right));
        }
        let left = self.bind(left, scope, expected)?;
        let right = self.bind(right, scope, Some(open(left.data_type)))?;
        Ok((left, right))
    }

    fn unary(
        &mut self,
        op: UnaryOperator,
        inner: &SqlExpr,
        scope: &Scope,
        expected: Option<DataType>,
    ) -> BindResult<Expr> {
        match op {
            UnaryOperator::Not => {
                let condition = self.bind_condition(inner, scope)?;
                Ok(boolean(Node::Not(Box::new(condition))))
            }
            UnaryOperator::Minus => {
                // -9223372036854775808 is a bigint although its digits alone are not.
                if let SqlExpr::Value(ValueWithSpan { value: SqlValue::Number(digits, _), .. }) = inner {
                    for (digits_max, data_type) in
                        [("2147483648", DataType::Integer), ("9223372036854775808", DataType::BigInt)]
                    {
                        if digits == digits_max {
                            return Ok(Expr::literal(
                                text::parse(&format!("-{digits}"), data_type, Local::fixed())?,
                                data_type,
                            ));
                        }
                    }
                }
                let bound = self.bind(inner, scope, expected)?;
                if bound.data_type == DataType::Interval {
                    let (routine_of, args) = (Routine::IntervalNegate, vec![DataType::Interval]);
                    let signature = Signature { routine: routine_of, args, result: DataType::Interval };
                    return Ok(routine(signature, vec![bound]));
                }
                if !is_number(bound.data_type) {
                    return Err(self.no_operator(&format!("- {}", text::type_name(bound.data_type)), inner).into());
                }
                let data_type = bound.data_type;
                match bound.node {
                    Node::Literal(value) => Ok(Expr::literal(negate(value, data_type)?, data_type)),
                    _ => Ok(Expr::new(Node::Negate(Box::new(bound)), data_type)),
                }
            }
            UnaryOperator::Plus => {
                let bound = self.bind(inner, scope, expected)?;
                if is_number(bound.data_type) {
                    return Ok(bound);
                }
                Err(self.no_operator(&format!("+ {}", text::type_name(bound.data_type)), inner).into())
            }
            other => unsupported(format!("the operator {other}")),
        }
    }

    fn no_operator(&self, what: &str, expr: &SqlExpr) -> Error {
        let error = Error::new(Code::UndefinedFunction, format!("operator does not exist: {what}"));
        self.place(error.hint("add explicit type casts"), expr)
    }

    fn binary(&mut self, left: &SqlExpr, op: &BinaryOperator, right: &SqlExpr, scope: &Scope) -> BindResult<Expr> {
        let arithmetic = match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let (a, b) = (self.bind_condition(left, scope)?, self.bind_condition(right, scope)?);
                let (a, b) = (Box::new(a), Box::new(b));
                return Ok(boolean(if *op == BinaryOperator::And { Node::And(a, b) } else { Node::Or(a, b) }));
            }
            BinaryOperator::Eq => return self.compare(CompareOp::Eq, left, right, scope),
            BinaryOperator::NotEq => return self.compare(CompareOp::NotEq, left, right, scope),
            BinaryOperator::Lt => return self.compare(CompareOp::Lt, left, right, scope),
            BinaryOperator::LtEq => return self.compare(CompareOp::LtEq, left, right, scope),
            BinaryOperator::Gt => return self.compare(CompareOp::Gt, left, right, scope),
            BinaryOperator::GtEq => return self.compare(CompareOp::GtEq, left, right, scope),
            BinaryOperator::StringConcat => return self.concat(left, right, scope),
            BinaryOperator::Arrow
            | BinaryOperator::LongArrow
            | BinaryOperator::HashArrow
            | BinaryOperator::HashLongArrow
            | BinaryOperator::HashMinus
            | BinaryOperator::AtArrow
            | BinaryOperator::ArrowAt
            | BinaryOperator::Question
            | BinaryOperator::QuestionAnd
            | BinaryOperator::QuestionPipe
            | BinaryOperator::AtQuestion
            | BinaryOperator::AtAt
            | BinaryOperator::PGOverlap => return self.routine_operator(left, op, right, scope),
            BinaryOperator::Plus => ArithmeticOp::Add,
            BinaryOperator::Minus => ArithmeticOp::Subtract,
            BinaryOperator::Multiply => ArithmeticOp::Multiply,
            BinaryOperator::Divide => ArithmeticOp::Divide,
            BinaryOperator::Modulo => ArithmeticOp::Modulo,
            other => return unsupported(format!("the operator {other}")),
        };
        self.arithmetic((left, op, right), arithmetic, scope)
    }

    fn arithmetic(
        &mut self,
        (left, op, right): (&SqlExpr, &BinaryOperator, &SqlExpr),
        arithmetic: ArithmeticOp,
        scope: &Scope,
    ) -> BindResult<Expr> {
        let (a, b) = match (self.is_untyped(left), self.is_untyped(right)) {
            (true, true) => return unsupported("arithmetic on literals without a type"),
            (false, true) => {
                let a = self.bind(left, scope, None)?;
                if let Some(signature) = by_operator(&op.to_string(), Some(a.data_type), None) {
                    let b = self.bind(right, scope, Some(signature.args[1]))?;
                    return Ok(routine(signature, vec![a, b]));
                }
                let b = self.bind(right, scope, Some(other_operand(arithmetic, a.data_type)?))?;
                (a, b)
            }
            (true, false) => {
                let b = self.bind(right, scope, None)?;
                if let Some(signature) = by_operator(&op.to_string(), None, Some(b.data_type)) {
                    let a = self.bind(left, scope, Some(signature.args[0]))?;
                    return Ok(routine(signature, vec![a, b]));
                }
                let a = self.bind(left, scope, Some(other_operand(arithmetic, b.data_type)?))?;
                (a, b)
            }
            (false, false) => (self.bind(left, scope, None)?, self.bind(right, scope, None)?),
        };
        let Some((left_type, right_type, result)) = arithmetic_types(arithmetic, a.data_type, b.data_type) else {
            let (sign, types) = (op.to_string(), [a.data_type, b.data_type]);
            if let Some(signature) = by_operator(&sign, Some(a.data_type), Some(b.data_type)) {
                return Ok(routine(signature, vec![a, b]));
            }
            let turned = by_operator(&sign, Some(b.data_type), Some(a.data_type));
            if let Some(signature) = turned.filter(|_| matches!(sign.as_str(), "+" | "*")) {
                return Ok(routine(signature, vec![b, a]));
            }
            let is_date = |t: &DataType| matches!(t, DataType::Date | DataType::Timestamp | DataType::TimestampTz);
            if types.iter().any(is_date) {
                return unsupported("arithmetic on dates and timestamps");
            }
            let what = format!("{} {op} {}", text::type_name(a.data_type), text::type_name(b.data_type));
            return Err(self.no_operator(&what, left).into());
        };
        // Of a constant NULL nothing is computed of a row: not the other operand either, which may fail.
        let is_null = |side: &Expr| matches!(side.node, Node::Literal(Value::Null));
        if is_null(&a) && !b.columns().is_empty() || is_null(&b) && !a.columns().is_empty() {
            return Ok(Expr::literal(Value::Null, result));
        }
        let (a, b) = (Box::new(a.cast_to(left_type)), Box::new(b.cast_to(right_type)));
        Ok(Expr::new(Node::Arithmetic(arithmetic, a, b), result))
    }

    /// Binds an operator that only routines compute.
    fn routine_operator(
        &mut self,
        left: &SqlExpr,
        op: &BinaryOperator,
        right: &SqlExpr,
        scope: &Scope,
    ) -> BindResult<Expr> {
        let mut typed = |expr: &SqlExpr| -> BindResult<Option<Expr>> {
            if self.is_untyped(expr) { Ok(None) } else { self.bind(expr, scope, None).map(Some) }
        };
        let (a, b) = (typed(left)?, typed(right)?);
        let of = |expr: &Option<Expr>| expr.as_ref().map(|expr| expr.data_type);
        let Some(signature) = by_operator(&op.to_string(), of(&a), of(&b)) else {
            let name = |expr: &Option<Expr>| of(expr).map_or("unknown".into(), text::type_name);
            return Err(self.no_operator(&format!("{} {op} {}", name(&a), name(&b)), left).into());
        };
        let mut bound = Vec::with_capacity(2);
        for (expr, written, data_type) in [(a, left, signature.args[0]), (b, right, signature.args[1])] {
            bound.push(match expr {
                Some(expr) => expr,
                None => self.bind(written, scope, Some(data_type))?,
            });
        }
        Ok(routine(signature, bound))
    }

    /// Binds `value op ANY (array)` or ALL.
    fn quantified(
        &mut self,
        (value, op, array): (&SqlExpr, &BinaryOperator, &SqlExpr),
        any: bool,
        scope: &Scope,
    ) -> BindResult<Expr> {
        if let Some(call) = super::pattern_call(value, op, array, any) {
            return self.bind(&call, scope, None);
        }
        let Some(op) = super::compare_op(op) else { return unsupported("this comparison with an array") };
        let value_typed = if self.is_untyped(value) { None } else { Some(self.bind(value, scope, None)?) };
        let array_typed = if self.is_untyped(array) { None } else { Some(self.bind(array, scope, None)?) };
        let of = |expr: &Option<Expr>| expr.as_ref().map(|expr| expr.data_type);
        let Some(signature) = quantified(op, any, of(&value_typed), of(&array_typed)) else {
            return unsupported("this comparison with an array");
        };
        let mut bound = Vec::with_capacity(2);
        for (expr, written, to) in [(value_typed, value, signature.args[0]), (array_typed, array, signature.args[1])] {
            bound.push(match expr {
                Some(expr) => expr,
                None => self.bind(written, scope, Some(to))?,
            });
        }
        Ok(routine(signature, bound))
    }

    fn array(&mut self, elements: &[SqlExpr], scope: &Scope, expected: Option<DataType>) -> BindResult<Expr> {
        let (items, element) =
            self.choice("ARRAY", &elements.iter().collect::<Vec<_>>(), scope, expected.and_then(DataType::element))?;
        let Some(array) = element.array() else { return unsupported("an array of arrays") };
        let args = vec![element; items.len()];
        Ok(routine(Signature { routine: Routine::ArrayMake, args, result: array }, items))
    }

    fn subscript(&mut self, root: &SqlExpr, chain: &[AccessExpr], scope: &Scope) -> BindResult<Expr> {
        let [AccessExpr::Subscript(Subscript::Index { index })] = chain else { return unsupported("this subscript") };
        let of = self.bind(root, scope, None)?;
        let signature = match of.data_type {
            DataType::Array(element) => Signature {
                routine: Routine::ArrayElement,
                args: vec![of.data_type, DataType::Integer],
                result: element.data_type(),
            },
            _ => return unsupported("this subscript"),
        };
        let index = self.bind(index, scope, Some(DataType::Integer))?;
        Ok(routine(signature, vec![of, index]))
    }

    fn concat(&mut self, left: &SqlExpr, right: &SqlExpr, scope: &Scope) -> BindResult<Expr> {
        let is_open = (self.is_untyped(left), self.is_untyped(right));
        let (a, b) = match is_open {
            (false, true) => {
                let a = self.bind(left, scope, None)?;
                let signature = by_operator("||", Some(a.data_type), None);
                let b =
                    self.bind(right, scope, Some(signature.map_or(DataType::Text, |signature| signature.args[1])))?;
                (a, b)
            }
            (true, false) => {
                let b = self.bind(right, scope, None)?;
                let signature = by_operator("||", None, Some(b.data_type));
                let a =
                    self.bind(left, scope, Some(signature.map_or(DataType::Text, |signature| signature.args[0])))?;
                (a, b)
            }
            _ => (self.bind(left, scope, Some(DataType::Text))?, self.bind(right, scope, Some(DataType::Text))?),
        };
        if let Some(signature) = by_operator("||", Some(a.data_type), Some(b.data_type)) {
            return Ok(routine(signature, vec![a, b]));
        }
        if !a.data_type.is_text() && !b.data_type.is_text() {
            let what = format!("{} || {}", text::type_name(a.data_type), text::type_name(b.data_type));
            return Err(self.no_operator(&what, left).into());
        }
        let (a, b) = (Box::new(a.cast_to(DataType::Text)), Box::new(b.cast_to(DataType::Text)));
        Ok(Expr::new(Node::Concat(a, b), DataType::Text))
    }

    /// Binds a comparison: both sides are cast to their common type (integers of any width compare as they are).
    pub(super) fn compare(
        &mut self,
        op: CompareOp,
        left: &SqlExpr,
        right: &SqlExpr,
        scope: &Scope,
    ) -> BindResult<Expr> {
        let (a, b) = self.pair(left, right, scope, None)?;
        let (a, b) = self.comparable(a, b, left, compare_sign(op))?;
        Ok(boolean(Node::Compare(op, Box::new(a), Box::new(b))))
    }

    fn comparable(&self, a: Expr, b: Expr, place: &SqlExpr, sign: &str) -> BindResult<(Expr, Expr)> {
        let Some(common) = common_type(a.data_type, b.data_type) else {
            let what = format!("{} {sign} {}", text::type_name(a.data_type), text::type_name(b.data_type));
            return Err(self.no_operator(&what, place).into());
        };
        if is_integer(common) || common.is_text() {
            return Ok((a, b));
        }
        Ok((a.cast_to(common), b.cast_to(common)))
    }

    fn is_null(&mut self, inner: &SqlExpr, negated: bool, scope: &Scope) -> BindResult<Expr> {
        let expr = Box::new(self.bind(inner, scope, None)?);
        Ok(boolean(Node::IsNull { expr, negated }))
    }

    fn is_bool(&mut self, inner: &SqlExpr, expected: bool, negated: bool, scope: &Scope) -> BindResult<Expr> {
        let expr = Box::new(self.bind_condition(inner, scope)?);
        Ok(boolean(Node::IsBool { expr, expected, negated }))
    }

    fn distinct(&mut self, left: &SqlExpr, right: &SqlExpr, negated: bool, scope: &Scope) -> BindResult<Expr> {
        let (a, b) = self.pair(left, right, scope, None)?;
        let (a, b) = self.comparable(a, b, left, "IS DISTINCT FROM")?;
        Ok(boolean(Node::IsDistinct { left: Box::new(a), right: Box::new(b), negated }))
    }

    fn in_list(&mut self, expr: &SqlExpr, list: &[SqlExpr], negated: bool, scope: &Scope) -> BindResult<Expr> {
        let typed = list.iter().find(|item| !self.is_untyped(item)).cloned();
        let first = match (self.is_untyped(expr), &typed) {
            (true, Some(typed)) => {
                let data_type = self.bind(typed, scope, None)?.data_type;
                self.bind(expr, scope, Some(data_type))?
            }
            _ => self.bind(expr, scope, None)?,
        };
        let mut common = first.data_type;
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let is_opened = common.is_text() || common.is_bits();
            let expected = if is_opened { open(common) } else { first.data_type };
            let bound = self.bind(item, scope, Some(expected))?;
            common = common_type(common, bound.data_type).ok_or_else(|| {
                let what = format!("{} = {}", text::type_name(common), text::type_name(bound.data_type));
                self.no_operator(&what, item)
            })?;
            items.push(bound);
        }
        let as_is = is_integer(common) || common.is_text();
        let cast = |expr: Expr| if as_is { expr } else { expr.cast_to(common) };
        let list = items.into_iter().map(cast).collect();
        Ok(boolean(Node::InList { expr: Box::new(cast(first)), list, negated }))
    }

    fn like(
        &mut self,
        expr: &SqlExpr,
        pattern: &SqlExpr,
        escape: Option<&ValueWithSpan>,
        insensitive: bool,
        negated: bool,
        scope: &Scope,
    ) -> BindResult<Expr> {
        let (a, b) = (self.bind(expr, scope, Some(DataType::Text))?, self.bind(pattern, scope, Some(DataType::Text))?);
        if !a.data_type.is_text() || !b.data_type.is_text() {
            let what = format!("{} LIKE {}", text::type_name(a.data_type), text::type_name(b.data_type));
            return Err(self.no_operator(&what, expr).into());
        }
        let escape = match escape.map(|value| value.value.clone().into_string()) {
            None => Some('\\'),
            Some(Some(string)) if string.chars().count() <= 1 => string.chars().next(),
            Some(_) => {
                return Err(
                    Error::new(Code::InvalidParameterValue, "ESCAPE takes an empty string or one character").into()
                );
            }
        };
        Ok(boolean(Node::Like { expr: Box::new(a), pattern: Box::new(b), escape, insensitive, negated }))
    }
}

/// The type that an untyped literal takes beside a typed operand: lengths are the assignment's to test, and digits that
/// the operand has not are what makes another number.
pub fn open(data_type: DataType) -> DataType {
    match data_type {
        DataType::Char(_) => DataType::Char(0),
        DataType::Bit(_) => DataType::Bit(0),
        DataType::VarBit(_) => DataType::VarBit(0),
        DataType::Numeric { scale, .. } => match NUMERIC_DEFAULT {
            DataType::Numeric { scale: least, .. } if scale <= least => NUMERIC_DEFAULT,
            _ => DataType::Numeric { precision: 38, scale },
        },
        other if other.is_text() => DataType::Text,
        other => other,
    }
}

/// A routine whose arguments are cast to the types that it takes.
pub(super) fn routine(signature: Signature, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().zip(&signature.args).map(|(arg, to)| arg.cast_to(*to)).collect();
    Expr::new(Node::Routine(signature.routine, args), signature.result)
}

/// The type an untyped operand takes beside a typed one in arithmetic: the same. Text that is added to a date or meets
/// a timestamp may be an interval, which the point engine does not know.
fn other_operand(op: ArithmeticOp, typed: DataType) -> BindResult<DataType> {
    match typed {
        DataType::Date if op != ArithmeticOp::Subtract => {
            unsupported("arithmetic of dates and literals without a type")
        }
        DataType::Timestamp | DataType::TimestampTz => unsupported("arithmetic on timestamps"),
        other => Ok(other),
    }
}

pub(super) fn boolean(node: Node) -> Expr {
    Expr::new(node, DataType::Boolean)
}

fn compare_sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
    }
}

pub(super) fn is_now(name: &str) -> bool {
    matches!(name, "now" | "current_timestamp" | "transaction_timestamp" | "localtimestamp" | "current_date")
}

pub(super) fn now(name: &str) -> Expr {
    let data_type = match name {
        "current_date" => DataType::Date,
        "localtimestamp" => DataType::Timestamp,
        _ => DataType::TimestampTz,
    };
    Expr::new(Node::Now, data_type)
}

fn brief(expr: &SqlExpr) -> String {
    let text = expr.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
