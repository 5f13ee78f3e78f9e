//! Parts of a column that are assigned, as calls of functions over what the column has.
//!
//! ```text
//!   SET tags[2] = 'x', tags[3:4] = y    weft_put_slice(weft_put_element(tags, 'x', 2), y, 'both', 3, 4)
//!   SET meta['a'][0] = '1'              weft_put_json(meta, '1', 'a', 0)
//! ```

use sqlparser::ast::{AccessExpr, Expr as SqlExpr, Subscript, UnaryOperator, Value as SqlValue};
use weft_expr::routines::by_name;
use weft_expr::{Expr, text};
use weft_format::{Code, DataType, Error, Result, Value};

use super::Scope;
use super::bind::{BindResult, Binder, routine};
use super::syntax::{call, cast_to};
use crate::parse::parts_of;

/// A call: its name, and what is behind the column and the value.
struct Put<'a> {
    name: &'static str,
    /// The type of the value.
    value: DataType,
    /// Which bounds of a slice are given.
    bounds: Option<&'static str>,
    /// The subscripts; none is a bound that is not given.
    subscripts: Vec<Option<&'a SqlExpr>>,
}

impl Put<'_> {
    fn is_json(&self) -> bool {
        self.value == DataType::Jsonb
    }
}

fn put<'a>(subscripts: &'a [AccessExpr], to: DataType, column: &str) -> Result<Put<'a>> {
    let plain = |subscript: &'a AccessExpr| match subscript {
        AccessExpr::Subscript(Subscript::Index { index }) => Some(Some(index)),
        _ => None,
    };
    let lacking = |message: &str| Error::new(Code::FeatureNotSupported, message);
    if to == DataType::Jsonb {
        let subscripts = subscripts.iter().map(plain).collect::<Option<Vec<_>>>();
        let subscripts =
            subscripts.ok_or_else(|| Error::new(Code::DatatypeMismatch, "jsonb subscript does not support slices"))?;
        return Ok(Put { name: "weft_put_json", value: to, bounds: None, subscripts });
    }
    let Some(element) = to.element() else {
        let name = text::type_name(to);
        let message = format!("cannot subscript type {name} because it does not support subscripting");
        return Err(Error::new(Code::DatatypeMismatch, message).about("", Some(column), None));
    };
    match subscripts {
        [AccessExpr::Subscript(Subscript::Index { index })] => {
            Ok(Put { name: "weft_put_element", value: element, bounds: None, subscripts: vec![Some(index)] })
        }
        [AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None })] => {
            let bounds = match (lower_bound, upper_bound) {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "lower",
                (None, Some(_)) => "upper",
                (None, None) => "none",
            };
            let subscripts = vec![lower_bound.as_ref(), upper_bound.as_ref()];
            Ok(Put { name: "weft_put_slice", value: to, bounds: Some(bounds), subscripts })
        }
        _ => Err(lacking("arrays have one dimension").hint("keep inner arrays as jsonb")),
    }
}

/// What is assigned to a column of a type: a plain value as it is, parts over what the column has.
pub(crate) fn with_parts(value: SqlExpr, old: SqlExpr, to: DataType, column: &str) -> Result<SqlExpr> {
    let Some(parts) = parts_of(&value) else { return Ok(value) };
    let mut made = cast_to(old, to)?;
    for part in parts {
        let put = put(part.subscripts, to, column)?;
        let mut args = vec![made, cast_to(part.value.clone(), put.value)?];
        args.extend(put.bounds.map(|bounds| SqlExpr::value(SqlValue::SingleQuotedString(bounds.into()))));
        for subscript in &put.subscripts {
            let zero = || SqlExpr::value(SqlValue::Number("0".into(), false));
            let subscript = subscript.cloned().unwrap_or_else(zero);
            let is_place = !put.is_json() || is_number(&subscript);
            args.push(if is_place { cast_to(subscript, DataType::Integer)? } else { subscript });
        }
        made = call(put.name, args);
    }
    Ok(made)
}

fn is_number(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } | SqlExpr::Nested(expr) => {
            is_number(expr)
        }
        SqlExpr::Value(value) => matches!(&value.value, SqlValue::Number(text, _) if text.parse::<i32>().is_ok()),
        _ => false,
    }
}

impl Binder<'_> {
    /// Binds what is assigned to a column that has `old`: a plain value, or parts.
    pub fn bind_assigned(
        &mut self,
        value: &SqlExpr,
        scope: &Scope,
        old: Expr,
        (to, column): (DataType, &str),
    ) -> BindResult<Expr> {
        let Some(parts) = parts_of(value) else { return self.bind_assignment(value, scope, to, column) };
        let mut made = old;
        for part in parts {
            let put = put(part.subscripts, to, column)?;
            let mut args = vec![made, self.bind_assignment(part.value, scope, put.value, column)?];
            args.extend(put.bounds.map(|bounds| Expr::literal(Value::Text(bounds.into()), DataType::Text)));
            for subscript in &put.subscripts {
                args.push(match subscript {
                    None => Expr::literal(Value::Int(0), DataType::Integer),
                    Some(place) if put.is_json() => self.bind(place, scope, None)?,
                    Some(place) => self.bind(place, scope, Some(DataType::Integer))?.cast_to(DataType::Integer),
                });
            }
            let types: Vec<Option<DataType>> = args.iter().map(|arg| Some(arg.data_type)).collect();
            let signature = by_name(put.name, &types);
            let signature = signature.ok_or_else(|| Error::internal(format!("{}: no such call", put.name)))?;
            made = routine(signature, args);
        }
        Ok(made)
    }
}
