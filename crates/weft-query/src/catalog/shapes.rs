//! What a field of a plan says of a type that only the catalog has.
//!
//! ```text
//!   UInt32                              oid
//!   UInt32, weft.catalog = regclass     a number of a relation, which is shown as its name
//!   List(Int16), weft.catalog = vector  int2vector: subscripts begin at 0, and it is shown as 1 2
//! ```

use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};
use sqlparser::ast::DataType as SqlType;
use weft_format::DataType;
use weft_pgcatalog::{Reg, Shape};

use crate::types::{field_of, field_type};

/// The name under which a field says it.
const KEY: &str = "weft.catalog";
const VECTOR: &str = "vector";

/// A column of a plan.
pub(crate) fn field_of_shape(name: &str, shape: Shape) -> Field {
    let field = field_of(name, shape.data_type());
    match shape {
        Shape::Plain(_) => field,
        Shape::Reg(reg) => field.with_metadata([(KEY.to_owned(), reg.name().to_owned())].into()),
        Shape::Vector(_) => field.with_metadata([(KEY.to_owned(), VECTOR.to_owned())].into()),
    }
}

/// The type of a column of a plan.
pub(super) fn shape_of_field(field: &Field) -> Shape {
    let data_type = field_type(field);
    match (field.data_type(), field.metadata().get(KEY).map(String::as_str)) {
        (ArrowType::List(_), Some(VECTOR)) => Shape::Vector(data_type),
        (ArrowType::UInt32, Some(name)) => Reg::named(name).map_or(Shape::Plain(data_type), Shape::Reg),
        _ => Shape::Plain(data_type),
    }
}

/// The type of an expression, if it is one that only the catalog has.
pub(super) fn special_shape(expr: &Expr, schema: &DFSchema) -> Option<Shape> {
    if matches!(expr, Expr::Literal(_, None) | Expr::Placeholder(_) | Expr::BinaryExpr(_)) {
        return None;
    }
    let (_, field) = expr.to_field(schema).ok()?;
    Some(shape_of_field(&field)).filter(|shape| !matches!(shape, Shape::Plain(_)))
}

/// The type that SQL names, if it is one that only the catalog has; `name` and `"char"` are texts.
pub(crate) fn reg_type(sql: &SqlType) -> Option<Shape> {
    match sql {
        SqlType::Regclass => Some(Shape::Reg(Reg::Class)),
        SqlType::Custom(name, modifiers) if modifiers.is_empty() => {
            let ident = name.0.last()?.as_ident()?;
            let name = if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
            match &*name {
                "name" | "char" | "regproc" | "regprocedure" => Some(Shape::Plain(DataType::Text)),
                "int2vector" => DataType::SmallInt.array().map(Shape::Vector),
                "oidvector" => DataType::Oid.array().map(Shape::Vector),
                name => Reg::named(name).map(Shape::Reg),
            }
        }
        _ => None,
    }
}
