//! WHERE clauses that name the full primary key: which keys, and what else they ask.
//!
//! ```text
//!   key (a, b):   WHERE b = $1 AND a = 7 AND c > 0      keys [(7, $1)], filter c > 0
//!   key (a):      WHERE a IN (3, 1, 3)                  keys [1, 3] (each once, in key order)
//! ```

use sqlparser::ast::{BinaryOperator, Expr as SqlExpr};
use weft_format::{DataType, Result};

use super::TableShape;
use super::shape::key_value;
use crate::expr::{BindError, BindResult, Binder, EvalContext, Expr, Scope};
use crate::parse::fold;

/// The keys that a WHERE clause names.
pub(super) enum Keys {
    /// One value per key column.
    One(Vec<Expr>),
    /// Values of the only key column.
    List(Vec<Expr>),
}

/// A WHERE clause by full primary key.
pub(super) struct KeyClause {
    pub(super) keys: Keys,
    /// What else must hold, over the visible columns.
    pub(super) filter: Option<Expr>,
    /// For EXPLAIN.
    pub(super) explain: Vec<String>,
}

impl KeyClause {
    /// Finds the key in a WHERE clause; unsupported when it is not all there.
    pub(super) fn bind(
        selection: Option<&SqlExpr>,
        shape: &TableShape,
        table: &str,
        binder: &mut Binder<'_>,
    ) -> BindResult<KeyClause> {
        let schema = &shape.table.def.schema;
        if schema.hidden_row_id {
            return Err(BindError::Unsupported(format!("table \"{}\" without a primary key", shape.name())));
        }
        let scope = shape.scope(table);
        let mut parts: Vec<Option<Expr>> = schema.key.iter().map(|_| None).collect();
        let mut list = None;
        let mut filter: Option<Expr> = None;
        let mut explain = Vec::new();
        let mut conjuncts = Vec::new();
        if let Some(selection) = selection {
            split(selection, &mut conjuncts);
        }
        for conjunct in conjuncts {
            if let Some((part, expr)) = key_equality(conjunct, shape, table, binder)?
                && parts[part].is_none()
                && list.is_none()
            {
                explain.push(format!("Key: {conjunct}"));
                parts[part] = Some(expr);
                continue;
            }
            if list.is_none()
                && parts.iter().all(Option::is_none)
                && let Some(items) = key_list(conjunct, shape, table, binder)?
            {
                explain.push(format!("Keys: {conjunct}"));
                list = Some(items);
                continue;
            }
            explain.push(format!("Filter: {conjunct}"));
            let bound = binder.bind_condition(conjunct, &scope)?;
            filter = Some(match filter {
                Some(before) => Expr::and(before, bound),
                None => bound,
            });
        }
        let keys = match (list, parts.into_iter().collect::<Option<Vec<Expr>>>()) {
            (Some(items), _) => Keys::List(items),
            (None, Some(parts)) => Keys::One(parts),
            (None, None) => {
                let message = format!("a WHERE clause without all primary key columns of \"{}\"", shape.name());
                return Err(BindError::Unsupported(message));
            }
        };
        Ok(KeyClause { keys, filter, explain })
    }

    /// The keys of one execution, each once; none when no row can match.
    pub(super) fn encode(&self, shape: &TableShape, eval: &EvalContext<'_>) -> Result<Vec<Vec<u8>>> {
        let schema = &shape.table.def.schema;
        match &self.keys {
            Keys::One(parts) => Ok(self.encode_one(parts, shape, eval)?.into_iter().collect()),
            Keys::List(items) => {
                let data_type = schema.columns[schema.key[0]].data_type;
                let mut keys = Vec::with_capacity(items.len());
                for item in items {
                    let value = item.eval(&[], eval)?;
                    if let Some(value) = key_value(value.as_ref(), item.data_type, data_type) {
                        keys.push(shape.table.keys.encode([value.as_ref()]));
                    }
                }
                keys.sort_unstable();
                keys.dedup();
                Ok(keys)
            }
        }
    }

    /// The only key, when the clause names one key; none when no row can match.
    pub(super) fn encode_one(
        &self,
        parts: &[Expr],
        shape: &TableShape,
        eval: &EvalContext<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let schema = &shape.table.def.schema;
        let data_type = |part: usize| schema.columns[schema.key[part]].data_type;
        if let [part] = parts {
            let value = part.eval(&[], eval)?;
            let value = key_value(value.as_ref(), part.data_type, data_type(0));
            return Ok(value.map(|value| shape.table.keys.encode([value.as_ref()])));
        }
        let mut values = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let value = part.eval(&[], eval)?;
            match key_value(value.as_ref(), part.data_type, data_type(index)) {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(shape.table.keys.encode(values.iter().map(|value| value.as_ref()))))
    }
}

/// Splits a condition at its outer ANDs.
fn split<'a>(expr: &'a SqlExpr, out: &mut Vec<&'a SqlExpr>) {
    match expr {
        SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
            split(left, out);
            split(right, out);
        }
        SqlExpr::Nested(inner) => split(inner, out),
        other => out.push(other),
    }
}

/// `key column = constant`, either way round: which part of the key, and the constant.
fn key_equality(
    expr: &SqlExpr,
    shape: &TableShape,
    table: &str,
    binder: &mut Binder<'_>,
) -> BindResult<Option<(usize, Expr)>> {
    let SqlExpr::BinaryOp { left, op: BinaryOperator::Eq, right } = expr else { return Ok(None) };
    for (column, constant) in [(left, right), (right, left)] {
        if let Some((part, data_type)) = key_part(column, shape, table)
            && is_constant(constant)
        {
            let bound = binder.bind(constant, &Scope::empty(), Some(open(data_type)))?;
            return Ok(is_exact(bound.data_type, data_type).then_some((part, bound)));
        }
    }
    Ok(None)
}

/// `key column IN (constants)` of a key of one column.
fn key_list(expr: &SqlExpr, shape: &TableShape, table: &str, binder: &mut Binder<'_>) -> BindResult<Option<Vec<Expr>>> {
    let SqlExpr::InList { expr, list, negated: false } = expr else { return Ok(None) };
    let Some((_, data_type)) = key_part(expr, shape, table) else { return Ok(None) };
    if shape.table.def.schema.key.len() != 1 || !list.iter().all(is_constant) {
        return Ok(None);
    }
    let mut items = Vec::with_capacity(list.len());
    for item in list {
        let bound = binder.bind(item, &Scope::empty(), Some(open(data_type)))?;
        if !is_exact(bound.data_type, data_type) {
            return Ok(None);
        }
        items.push(bound);
    }
    Ok(Some(items))
}

fn open(data_type: DataType) -> DataType {
    if data_type.is_text() { DataType::Text } else { data_type }
}

fn key_part(expr: &SqlExpr, shape: &TableShape, table: &str) -> Option<(usize, DataType)> {
    let name = match expr {
        SqlExpr::Identifier(ident) => fold(ident),
        SqlExpr::CompoundIdentifier(parts) => match parts.as_slice() {
            [qualifier, name] if fold(qualifier) == table => fold(name),
            _ => return None,
        },
        SqlExpr::Nested(inner) => return key_part(inner, shape, table),
        _ => return None,
    };
    let schema = &shape.table.def.schema;
    let part = schema.key.iter().position(|&ordinal| schema.columns[ordinal].name == name)?;
    Some((part, schema.columns[schema.key[part]].data_type))
}

/// Literals, parameters, and casts and signs of them.
fn is_constant(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::Value(_) | SqlExpr::TypedString(_) => true,
        SqlExpr::Nested(inner) | SqlExpr::UnaryOp { expr: inner, .. } | SqlExpr::Cast { expr: inner, .. } => {
            is_constant(inner)
        }
        _ => false,
    }
}

/// Whether equality with a value of type `from` is equality with at most one value of the key's type.
fn is_exact(from: DataType, to: DataType) -> bool {
    let is_integer = |t| matches!(t, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    from == to
        || (from.is_text() && to.is_text())
        || (is_integer(from) && is_integer(to))
        || (matches!(to, DataType::Numeric { .. }) && (is_integer(from) || matches!(from, DataType::Numeric { .. })))
}
