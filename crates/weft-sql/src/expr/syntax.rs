//! What the parser's trees of comparisons and intervals mean, for both engines.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, CeilFloorKind, DataType as SqlType, DateTimeField, Expr, Ident, Interval,
    Subscript, TrimWhereField, Value,
};
use sqlparser::parser::Parser;
use weft_format::{Code, CompareOp, DataType, Error, Result};

use crate::parse::{WeftDialect, call_of};

/// The comparison that an operator of SQL is.
pub fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::NotEq,
        BinaryOperator::Lt => CompareOp::Lt,
        BinaryOperator::LtEq => CompareOp::LtEq,
        BinaryOperator::Gt => CompareOp::Gt,
        BinaryOperator::GtEq => CompareOp::GtEq,
        _ => return None,
    })
}

/// Fields behind an interval say what its text means: of a number alone that is known here.
pub fn check_fields(interval: &Interval) -> Result<()> {
    let text = match &*interval.value {
        Expr::Value(value) => value.value.clone().into_string().unwrap_or_default(),
        _ => String::new(),
    };
    let is_plain = match (&interval.leading_field, &interval.last_field) {
        (None, _) => true,
        (Some(_), None) => text.trim().parse::<f64>().is_ok(),
        (Some(DateTimeField::Year), Some(DateTimeField::Month)) => text.contains('-'),
        (Some(_), Some(_)) => false,
    };
    if is_plain {
        return Ok(());
    }
    Err(Error::new(Code::FeatureNotSupported, format!("fields behind the interval '{text}' are not supported"))
        .hint("say the units in the text: INTERVAL '1 day 2 hours'"))
}

/// `INTERVAL '1' DAY` and `INTERVAL '1 day'` as a cast of the text; none when there is no text.
pub fn interval_cast(interval: &Interval) -> Option<Expr> {
    let Expr::Value(value) = &*interval.value else { return None };
    let text = value.value.clone().into_string()?;
    let text = match (&interval.leading_field, &interval.last_field) {
        (None, _) => text,
        // The fields only say what a number alone means.
        (Some(field), None) if text.trim().parse::<f64>().is_ok() => format!("{text} {field}"),
        (Some(DateTimeField::Year), Some(DateTimeField::Month)) | (Some(_), _) => text,
    };
    Some(Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(text))),
        data_type: SqlType::Interval { fields: None, precision: None },
        array: false,
        format: None,
    })
}

/// A call of a function.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    call_of(Ident::new(name), args)
}

/// What SQL writes with words between the arguments, as a call: `position('b' IN x)` is `position(x, 'b')`.
pub fn written_call(expr: &Expr) -> Option<Expr> {
    Some(match expr {
        Expr::Position { expr, r#in } => call("position", vec![(**r#in).clone(), (**expr).clone()]),
        Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
            let mut args = vec![(**expr).clone(), (**from).clone()];
            args.extend(substring_for.as_deref().cloned());
            call("substring", args)
        }
        Expr::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
            let mut args = vec![(**expr).clone(), (**overlay_what).clone(), (**overlay_from).clone()];
            args.extend(overlay_for.as_deref().cloned());
            call("overlay", args)
        }
        Expr::Trim { trim_where, trim_what, expr, trim_characters } => {
            let name = match trim_where {
                None | Some(TrimWhereField::Both) => "btrim",
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
            };
            let mut args = vec![(**expr).clone()];
            args.extend(trim_what.as_deref().cloned());
            args.extend(trim_characters.iter().flatten().cloned());
            call(name, args)
        }
        Expr::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            call("ceil", vec![(**expr).clone()])
        }
        Expr::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
            call("floor", vec![(**expr).clone()])
        }
        Expr::SimilarTo { negated, expr, pattern, escape_char } => {
            let mut pattern = vec![(**pattern).clone()];
            pattern.extend(escape_char.clone().map(Expr::Value));
            let name = if *negated { "textregexne" } else { "textregexeq" };
            call(name, vec![(**expr).clone(), call("similar_to_escape", pattern)])
        }
        _ => return None,
    })
}

/// `text LIKE ANY (array)` and its kin as a call; none: the operator is not one of patterns.
pub fn pattern_call(left: &Expr, op: &BinaryOperator, array: &Expr, any: bool) -> Option<Expr> {
    use BinaryOperator as B;
    let sign = match op {
        B::PGLikeMatch => "~~",
        B::PGILikeMatch => "~~*",
        B::PGNotLikeMatch => "!~~",
        B::PGNotILikeMatch => "!~~*",
        B::PGRegexMatch => "~",
        B::PGRegexIMatch => "~*",
        B::PGRegexNotMatch => "!~",
        B::PGRegexNotIMatch => "!~*",
        _ => return None,
    };
    let (sign, any) = (Value::SingleQuotedString(sign.into()), Value::Boolean(any));
    Some(call("weft_quantified", vec![Expr::value(sign), Expr::value(any), left.clone(), array.clone()]))
}

/// `root[lower:upper]` as a call, when the chain is that alone: a bound that is left out is the array's.
pub fn slice_call(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return Ok(None) };
    let [AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None })] = access_chain.as_slice()
    else {
        return Ok(None);
    };
    let bound = |bound: &Option<Expr>, open: i32| {
        let open = || Expr::value(Value::Number(open.to_string(), false));
        cast_to(bound.clone().unwrap_or_else(open), DataType::Integer)
    };
    let args = vec![(**root).clone(), bound(lower_bound, 1)?, bound(upper_bound, i32::MAX)?];
    Ok(Some(call("weft_slice", args)))
}

/// `CAST(expr AS type)`; lengths of varchar and bits are tested afterwards, not cut.
pub fn cast_to(expr: Expr, data_type: DataType) -> Result<Expr> {
    let name = match data_type {
        DataType::Varchar(_) => "text".to_owned(),
        DataType::Char(_) => "bpchar".to_owned(),
        DataType::Bit(_) => DataType::Bit(0).to_string(),
        DataType::VarBit(_) => DataType::VarBit(0).to_string(),
        other => other.to_string(),
    };
    cast_to_named(expr, &name)
}

fn cast_to_named(expr: Expr, name: &str) -> Result<Expr> {
    let dialect = WeftDialect::PLAIN;
    let parsed = Parser::new(&dialect).try_with_sql(name).and_then(|mut parser| parser.parse_data_type());
    let data_type = parsed.map_err(|error| Error::internal(format!("type {name} does not parse: {error}")))?;
    Ok(Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None })
}

/// A value as a constant of its whole type, lengths and digits among it.
pub(crate) fn literal(value: &weft_format::Value, data_type: DataType) -> Result<Expr> {
    let text = (!value.is_null()).then(|| weft_expr::text::print(value.as_ref(), data_type));
    text_literal(text, data_type)
}

/// A value of a type, as the engine prints it, as a constant; none: NULL.
pub(crate) fn text_literal(text: Option<String>, data_type: DataType) -> Result<Expr> {
    let constant = Expr::value(text.map_or(Value::Null, Value::SingleQuotedString));
    match data_type {
        DataType::Char(length) if length > 0 => cast_to_named(constant, &data_type.to_string()),
        other => cast_to(constant, other),
    }
}
