//! What the query engine is offered: relations of the catalog as tables, its functions as functions of any row.
//!
//! ```text
//!   pg_index     indexrelid oid, indkey int2vector, ...     rows of a Snapshot, as many as are asked for
//!   pg_get_indexdef(oid)                                    text, computed over the same Snapshot
//!   'customers'::regclass                                   16387, shown as customers
//! ```
//!
//! Values are those of users' tables: names and `"char"` are texts, numbers of objects are oids. What PostgreSQL has
//! types of its own for says so by its [`Shape`].

use weft_format::{ArrayValue, DataType, Result, Value};

use crate::cast::{missing, object_named, object_text, text_of};
use crate::declared::{self, Relation};
use crate::function::{Arguments, Function};
use crate::functions::{find, function_names, is_constant};
use crate::relations::wanted_rows;
use crate::snapshot::Snapshot;
use crate::value::{Datum, Type};
use crate::wanted::{Scope, Wanted};

/// The kinds of objects that a number is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reg {
    /// regclass
    Class,
    /// regtype
    Type,
    /// regnamespace
    Namespace,
    /// regrole
    Role,
}

/// The type of a column or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A type of users' tables.
    Plain(DataType),
    /// The number of an object, which is shown by its name.
    Reg(Reg),
    /// int2vector and oidvector: an array of this type, whose subscripts begin at 0, shown without braces.
    Vector(DataType),
}

impl Reg {
    /// All of them.
    pub const ALL: [Reg; 4] = [Reg::Class, Reg::Type, Reg::Namespace, Reg::Role];

    /// The type's name.
    pub fn name(self) -> &'static str {
        match self {
            Reg::Class => "regclass",
            Reg::Type => "regtype",
            Reg::Namespace => "regnamespace",
            Reg::Role => "regrole",
        }
    }

    /// The type of a name.
    pub fn named(name: &str) -> Option<Reg> {
        Reg::ALL.into_iter().find(|reg| reg.name() == name)
    }

    fn inner(self) -> Type {
        match self {
            Reg::Class => Type::RegClass,
            Reg::Type => Type::RegType,
            Reg::Namespace => Type::RegNamespace,
            Reg::Role => Type::RegRole,
        }
    }

    /// The number of the object that a text names.
    pub fn read(self, snapshot: &Snapshot, text: &str) -> Result<u32> {
        let found = object_named(snapshot, text, &self.inner());
        found.and_then(|oid| u32::try_from(oid).ok()).ok_or_else(|| missing(text, &self.inner()))
    }

    /// The name of an object.
    pub fn write(self, snapshot: &Snapshot, oid: u32) -> String {
        object_text(snapshot, oid.into(), &self.inner())
    }
}

impl Shape {
    /// The type that values have.
    pub fn data_type(self) -> DataType {
        match self {
            Shape::Plain(data_type) | Shape::Vector(data_type) => data_type,
            Shape::Reg(_) => DataType::Oid,
        }
    }

    fn of(inner: &Type) -> Shape {
        match inner {
            Type::RegClass => Shape::Reg(Reg::Class),
            Type::RegType => Shape::Reg(Reg::Type),
            Type::RegNamespace => Shape::Reg(Reg::Namespace),
            Type::RegRole => Shape::Reg(Reg::Role),
            Type::Vector(element) => element.output().array().map_or(Shape::Plain(DataType::Text), Shape::Vector),
            Type::Read(data_type) => Shape::Plain(*data_type),
            other => Shape::Plain(other.output()),
        }
    }

    fn inner(self) -> Type {
        match self {
            Shape::Reg(reg) => reg.inner(),
            Shape::Vector(array) => Type::Vector(plain(array.element().unwrap_or(array)).into()),
            Shape::Plain(data_type) => match data_type.element() {
                Some(element) => Type::Array(plain(element).into()),
                None => plain(data_type),
            },
        }
    }

    /// A value of this shape.
    fn value(self, snapshot: &Snapshot, datum: &Datum, inner: &Type) -> Value {
        match (self, datum) {
            (_, Datum::Null) => Value::Null,
            (Shape::Reg(_), number) => number.int().map_or(Value::Null, Value::Int),
            (Shape::Vector(array), Datum::List(items)) => {
                let element = array.element().unwrap_or(array);
                let items: Vec<Value> = items.iter().map(|item| item.int().map_or(Value::Null, Value::Int)).collect();
                Value::Array(ArrayValue::new(element, items.iter().map(Value::as_ref)))
            }
            (_, Datum::List(items)) if inner.element().is_some_and(Type::is_reg) => {
                let element = inner.element().unwrap_or(inner);
                let texts = items.iter().map(|item| Datum::text(text_of(snapshot, item, element))).collect();
                Datum::list(texts).output(inner)
            }
            (_, datum) => datum.output(inner),
        }
    }
}

/// The type of values of users' tables that are no arrays.
fn plain(data_type: DataType) -> Type {
    match data_type {
        DataType::Boolean => Type::Bool,
        DataType::SmallInt => Type::Int2,
        DataType::Integer => Type::Int4,
        DataType::BigInt => Type::Int8,
        DataType::Oid => Type::Oid,
        DataType::Real => Type::Float4,
        DataType::DoublePrecision => Type::Float8,
        DataType::Numeric { .. } => Type::Numeric,
        DataType::TimestampTz => Type::Timestamptz,
        DataType::Json | DataType::Jsonb => Type::Json,
        _ => Type::Text,
    }
}

/// A relation of the catalog.
#[derive(Clone, Copy)]
pub struct CatalogRelation(&'static Relation);

impl std::fmt::Debug for CatalogRelation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

impl CatalogRelation {
    /// The relation of a name; without a schema it is one of `pg_catalog`.
    pub fn find(schema: Option<&str>, name: &str) -> Option<CatalogRelation> {
        declared::find(schema, name).map(CatalogRelation)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Names and types of its columns.
    pub fn columns(self) -> Vec<(&'static str, Shape)> {
        self.0.columns.iter().map(|(name, inner)| (*name, Shape::of(inner))).collect()
    }

    /// Whether its rows tell of sessions and locks.
    pub fn tells_of_sessions(self) -> bool {
        matches!(self.0.name, "pg_stat_activity" | "pg_locks" | "pg_stat_database")
    }

    /// Whether what is asked for says which relations are looked at.
    pub fn is_narrow(self, snapshot: &Snapshot, wanted: &Wanted) -> bool {
        matches!(Scope::of(self.0.name, wanted, snapshot), Scope::Of(_))
    }

    /// The rows that are asked for, and how many were made for that.
    pub fn rows(self, snapshot: &Snapshot, wanted: &Wanted, places: &[usize]) -> CatalogRows {
        let (rows, made) = wanted_rows(self.0, snapshot, wanted);
        let of = |place: &usize| (*place, Shape::of(&self.0.columns[*place].1), &self.0.columns[*place].1);
        let columns: Vec<(usize, Shape, &Type)> = places.iter().map(of).collect();
        let mut values = Vec::with_capacity(rows.len() * columns.len());
        for row in &rows {
            values.extend(columns.iter().map(|(place, shape, inner)| shape.value(snapshot, &row[*place], inner)));
        }
        CatalogRows { values, count: rows.len(), made }
    }
}

/// Rows of a relation.
pub struct CatalogRows {
    /// The values of the columns that were asked for, row by row.
    pub values: Vec<Value>,
    /// How many rows there are.
    pub count: usize,
    /// How many rows were made: those that turned out not to be asked for are among them.
    pub made: usize,
}

/// The names of the functions that any query may call: with one row, and nothing that they ask the server for.
pub fn offered_functions() -> Vec<&'static str> {
    let mut names: Vec<&str> = function_names().filter(|name| *name != "pg_typeof" && is_constant(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn function_of(name: &str, arguments: &[Shape]) -> Option<&'static Function> {
    find(name, arguments.len()).filter(|function| !function.is_set)
}

/// What a function of the catalog gives for arguments of these types; none when it does not take so many.
pub fn result_of(name: &str, arguments: &[Shape]) -> Option<Shape> {
    let types: Vec<Type> = arguments.iter().map(|shape| shape.inner()).collect();
    Some(Shape::of(&(function_of(name, arguments)?.returns)(&types)))
}

/// Calls a function of the catalog.
pub fn call(name: &str, snapshot: &Snapshot, values: &[Value], shapes: &[Shape]) -> Result<Value> {
    let Some(function) = function_of(name, shapes) else { return Ok(Value::Null) };
    if function.is_strict && values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let types: Vec<Type> = shapes.iter().map(|shape| shape.inner()).collect();
    let datum = |(value, shape): (&Value, &Shape)| match (value, shape.data_type().element()) {
        (Value::Array(array), Some(element)) => Datum::list(array.values(element).iter().map(Datum::from).collect()),
        (Value::Decimal(_), _) => Datum::text(weft_expr::text::print(value.as_ref(), shape.data_type())),
        (value, _) => Datum::from(value),
    };
    let data: Vec<Datum> = values.iter().zip(shapes).map(datum).collect();
    let inner = (function.returns)(&types);
    let found = (function.call)(&Arguments { snapshot, values: &data, types: &types })?;
    Ok(Shape::of(&inner).value(snapshot, &found, &inner))
}

/// An int2vector or oidvector as it is shown.
pub fn vector_text(value: &Value, array: DataType) -> Option<String> {
    let element = array.element()?;
    let Value::Array(items) = value else { return None };
    let items: Vec<String> = items.values(element).iter().map(|item| Datum::from(item).plain()).collect();
    Some(items.join(" "))
}
