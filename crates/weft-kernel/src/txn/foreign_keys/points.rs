//! Values of a foreign key, comparable between the two tables.
//!
//! ```text
//!   c.p integer 7 · p.id bigint 7      both: one Point, bytes of bigint 7
//! ```

use std::collections::BTreeMap;

use weft_format::{Code, DataType, Error, Result, RowCodec, Schema, Value, ValueRef, key};

use crate::catalog::{ForeignKey, TableRef};

/// Values of a foreign key by their common bytes.
pub(super) type Points = BTreeMap<Vec<u8>, Vec<Value>>;

/// The values of some columns; none when one is NULL.
pub(super) struct Point {
    pub(super) bytes: Vec<u8>,
    pub(super) values: Vec<Value>,
}

/// What of a row makes a point.
pub(super) fn point_of(codec: &RowCodec, schema: &Schema, columns: &[usize], row: &[u8]) -> Option<Point> {
    let values: Vec<Value> = columns.iter().map(|&column| codec.get(row, column).to_value()).collect();
    let types = columns.iter().map(|&column| schema.columns[column].data_type);
    let bytes = point_bytes(types, values.iter().map(Value::as_ref))?;
    Some(Point { bytes, values })
}

/// What of a row of a table that has a foreign key makes a point when the row is tested: an error when MATCH FULL does
/// not allow its NULLs. `place` is where the foreign key's columns are in the row.
pub(super) fn tested_point(
    child: &TableRef,
    foreign_key: &ForeignKey,
    place: (&RowCodec, &Schema, &[usize]),
    row: &[u8],
) -> Result<Option<Point>> {
    let (codec, schema, columns) = place;
    let point = point_of(codec, schema, columns, row);
    let is_null = |column: &usize| codec.get(row, *column) == ValueRef::Null;
    if point.is_some() || !foreign_key.full || columns.iter().all(is_null) {
        return Ok(point);
    }
    let (table, name) = (&child.def.name, &foreign_key.name);
    let message = format!("insert or update on table \"{table}\" violates foreign key constraint \"{name}\"");
    Err(Error::new(Code::ForeignKeyViolation, message)
        .detail("MATCH FULL does not allow mixing of null and nonnull key values.")
        .about(table, None, Some(name)))
}

/// The common bytes of values; none when one is NULL.
pub(super) fn point_bytes<'a>(
    types: impl Iterator<Item = DataType>,
    values: impl Iterator<Item = ValueRef<'a>>,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (data_type, value) in types.zip(values) {
        if value == ValueRef::Null {
            return None;
        }
        key::put(&mut bytes, common(data_type), value);
    }
    Some(bytes)
}

/// The type in which values of both sides are compared.
pub(super) fn common(data_type: DataType) -> DataType {
    match data_type {
        DataType::SmallInt | DataType::Integer => DataType::BigInt,
        DataType::Varchar(_) | DataType::Char(_) => DataType::Text,
        other => other,
    }
}

/// Whether a column can hold a value of a column of the same common type.
pub(super) fn fits(data_type: DataType, value: &Value) -> bool {
    match (data_type, value) {
        (DataType::SmallInt, Value::Int(v)) => i16::try_from(*v).is_ok(),
        (DataType::Integer, Value::Int(v)) => i32::try_from(*v).is_ok(),
        (DataType::Varchar(limit) | DataType::Char(limit), Value::Text(v)) => v.chars().count() <= limit as usize,
        _ => true,
    }
}

/// `Key (a, b)=(1, 'x')`
pub(super) fn describe(t: &TableRef, columns: &[usize], values: &[Value]) -> String {
    let names: Vec<&str> = columns.iter().map(|&column| t.def.schema.columns[column].name.as_str()).collect();
    let typed = values.iter().zip(columns.iter().map(|&column| t.def.schema.columns[column].data_type));
    let values: Vec<String> = typed.map(|(value, of)| weft_expr::text::print(value.as_ref(), of)).collect();
    format!("Key ({})=({})", names.join(", "), values.join(", "))
}

/// Whether two lists have the same columns, in whatever order.
pub(super) fn same_columns(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().all(|column| b.contains(column))
}

/// The values of a foreign key in the order of other columns of the parent.
pub(super) fn in_order_of(parent_columns: &[usize], foreign_key: &ForeignKey, values: &[Value]) -> Vec<Value> {
    let at = |column: &usize| foreign_key.parent_columns.iter().position(|known| known == column);
    let values = parent_columns.iter().filter_map(at).map(|at| values[at].clone());
    values.collect()
}
