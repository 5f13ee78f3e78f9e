//! Operator classes of an index's list: taken where the type has the class, without effect on the order.
//!
//! ```text
//!   ON t (name varchar_pattern_ops)   an index on name: texts are in the order of their bytes, as this class has them
//!   ON t (id int4_ops)                an index on id: the class that it has in any case
//!   ON t (name int4_ops)              42804      ON t (name gin_trgm_ops)   42704
//! ```

use sqlparser::ast::ObjectName;
use weft_format::{Code, DataType, Error, Result};

use crate::parse::fold;

/// Whether a class takes a type.
type Takes = fn(DataType) -> bool;

/// The classes of btree, and the type that each takes; arrays have one class together.
const CLASSES: &[(&str, Takes)] = &[
    ("array_ops", |of| matches!(of, DataType::Array(_))),
    ("bool_ops", |of| of == DataType::Boolean),
    ("bpchar_ops", is_char),
    ("bpchar_pattern_ops", is_char),
    ("bytea_ops", |of| of == DataType::Bytea),
    ("date_ops", |of| of == DataType::Date),
    ("float4_ops", |of| of == DataType::Real),
    ("float8_ops", |of| of == DataType::DoublePrecision),
    ("int2_ops", |of| of == DataType::SmallInt),
    ("int4_ops", |of| of == DataType::Integer),
    ("int8_ops", |of| of == DataType::BigInt),
    ("interval_ops", |of| of == DataType::Interval),
    ("jsonb_ops", |of| of == DataType::Jsonb),
    ("bit_ops", |of| matches!(of, DataType::Bit(_))),
    ("varbit_ops", |of| matches!(of, DataType::VarBit(_))),
    ("numeric_ops", |of| matches!(of, DataType::Numeric { .. })),
    ("oid_ops", |of| of == DataType::Oid),
    ("text_ops", is_text),
    ("text_pattern_ops", is_text),
    ("time_ops", |of| of == DataType::Time),
    ("timestamp_ops", |of| of == DataType::Timestamp),
    ("timestamptz_ops", |of| of == DataType::TimestampTz),
    ("uuid_ops", |of| of == DataType::Uuid),
    ("varchar_ops", is_text),
    ("varchar_pattern_ops", is_text),
];

fn is_text(of: DataType) -> bool {
    matches!(of, DataType::Text | DataType::Varchar(_))
}

fn is_char(of: DataType) -> bool {
    matches!(of, DataType::Char(_))
}

/// Tests that a class exists and takes the type.
pub(super) fn check_class(class: &ObjectName, of: DataType) -> Result<()> {
    let name = match class.0.as_slice() {
        [part] => part.as_ident().map(fold),
        [schema, part] if schema.as_ident().is_some_and(|schema| fold(schema) == "pg_catalog") => {
            part.as_ident().map(fold)
        }
        _ => None,
    };
    let name = name.unwrap_or_else(|| class.to_string());
    let Some((_, takes)) = CLASSES.iter().find(|(known, _)| *known == name) else {
        let message = format!("operator class \"{name}\" does not exist for access method \"btree\"");
        return Err(Error::new(Code::UndefinedObject, message).hint("leave it out"));
    };
    if takes(of) {
        return Ok(());
    }
    let message = format!("operator class \"{name}\" does not accept data type {of}");
    Err(Error::new(Code::DatatypeMismatch, message).hint("leave it out"))
}
