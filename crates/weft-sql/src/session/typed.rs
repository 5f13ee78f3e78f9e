//! Parameters whose types a client names.
//!
//! ```text
//!   SELECT price FROM t WHERE price > $1      the statement says integer; the client says float8
//!   SELECT price FROM t WHERE price > $1::double precision
//! ```
//!
//! A type that widens to what the statement says by itself changes nothing; any other is written into the statement as
//! a cast, which is what PostgreSQL makes of it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType as SqlType, ExactNumberInfo, Expr, Ident, ObjectName, Statement, TimezoneInfo,
    Value, VisitorMut,
};
use weft_expr::text::NUMERIC_DEFAULT;
use weft_format::DataType;
use weft_walk::VisitMut;

/// Writes casts into a statement where the client's types differ from the statement's; whether there were any.
pub(super) fn write_casts(statement: &mut Statement, named: &[Option<DataType>], inferred: &[DataType]) -> bool {
    let casts: Vec<Option<SqlType>> = named
        .iter()
        .enumerate()
        .map(|(index, named)| match (named, inferred.get(index)) {
            (Some(named), Some(inferred)) if !widens(*named, *inferred) => Some(sql_type(*named)),
            _ => None,
        })
        .collect();
    if casts.iter().all(Option::is_none) {
        return false;
    }
    let _ = VisitMut::visit(statement, &mut Casts { casts: &casts });
    true
}

/// Writes casts of json and jsonb into operands: `$1 ->> 'a'` tells no type of its own.
pub(super) fn write_operands(statement: &mut Statement, named: &[Option<DataType>]) {
    let is_json = |named: &DataType| matches!(named, DataType::Json | DataType::Jsonb);
    let casts: Vec<Option<SqlType>> = named.iter().map(|named| named.filter(is_json).map(sql_type)).collect();
    if casts.iter().any(Option::is_some) {
        let _ = VisitMut::visit(statement, &mut Operands { casts: &casts });
    }
}

struct Operands<'a> {
    casts: &'a [Option<SqlType>],
}

impl VisitorMut for Operands<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::BinaryOp { left, .. } = expr {
            let mut casts = Casts { casts: self.casts };
            return casts.post_visit_expr(left);
        }
        ControlFlow::Continue(())
    }
}

/// Whether a value of the named type is one of the inferred type as it is.
fn widens(named: DataType, inferred: DataType) -> bool {
    let rank = |data_type| match data_type {
        DataType::SmallInt => Some(1),
        DataType::Integer => Some(2),
        DataType::BigInt => Some(3),
        DataType::Numeric { .. } => Some(4),
        DataType::Real => Some(5),
        DataType::DoublePrecision => Some(6),
        _ => None,
    };
    match (rank(named), rank(inferred)) {
        (Some(named), Some(inferred)) => named <= inferred,
        // Text is read as what the statement says, as a quoted literal is.
        _ => named == inferred || named.is_text(),
    }
}

/// The type as it is written in a statement.
fn sql_type(data_type: DataType) -> SqlType {
    match data_type {
        DataType::Boolean => SqlType::Boolean,
        DataType::SmallInt => SqlType::SmallInt(None),
        DataType::Integer => SqlType::Integer(None),
        DataType::BigInt => SqlType::BigInt(None),
        DataType::Real => SqlType::Real,
        DataType::DoublePrecision => SqlType::DoublePrecision,
        NUMERIC_DEFAULT => SqlType::Numeric(ExactNumberInfo::None),
        DataType::Numeric { precision, scale } => {
            SqlType::Numeric(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
        }
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => SqlType::Text,
        DataType::Date => SqlType::Date,
        DataType::Time => SqlType::Time(None, TimezoneInfo::None),
        DataType::Timestamp => SqlType::Timestamp(None, TimezoneInfo::None),
        DataType::TimestampTz => SqlType::Timestamp(None, TimezoneInfo::WithTimeZone),
        DataType::Interval => SqlType::Interval { fields: None, precision: None },
        DataType::Uuid => SqlType::Uuid,
        DataType::Bytea => SqlType::Bytea,
        DataType::Json => SqlType::JSON,
        DataType::Jsonb => SqlType::JSONB,
        DataType::JsonPath => SqlType::Custom(ObjectName::from(vec![Ident::new("jsonpath")]), Vec::new()),
        DataType::Bit(0) => SqlType::Custom(ObjectName::from(vec![Ident::with_quote('"', "bit")]), Vec::new()),
        DataType::Bit(length) => SqlType::Bit(Some(length.into())),
        DataType::VarBit(length) => SqlType::BitVarying((length > 0).then_some(length.into())),
        DataType::Enum(id) => SqlType::Custom(crate::types::fixed_name(id), Vec::new()),
        DataType::Oid => SqlType::Custom(ObjectName::from(vec![Ident::new("oid")]), Vec::new()),
        DataType::Array(element) => {
            SqlType::Array(ArrayElemTypeDef::SquareBracket(Box::new(sql_type(element.data_type())), None))
        }
    }
}

struct Casts<'a> {
    casts: &'a [Option<SqlType>],
}

impl VisitorMut for Casts<'_> {
    type Break = ();

    /// Behind its parts, so that what is written here is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Value(value) = expr else { return ControlFlow::Continue(()) };
        let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
        let number = name.trim_start_matches('$').parse::<usize>().ok();
        let cast = number.and_then(|number| self.casts.get(number.wrapping_sub(1))).and_then(Option::as_ref);
        if let Some(data_type) = cast {
            *expr = Expr::Cast {
                kind: CastKind::DoubleColon,
                expr: Box::new(expr.clone()),
                data_type: data_type.clone(),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}
