//! Values and types of catalog queries.
//!
//! ```text
//!   pg_class.oid        Oid        Datum::Int(16387)
//!   16387::regclass     RegClass   Datum::Int(16387)      written as customers
//!   pg_index.indkey     Vector     Datum::List([1, 2])    subscripts begin at 0
//! ```
//!
//! A datum does not know its type: the bound expression does.

use std::cmp::Ordering;
use std::sync::Arc;

use weft_format::{ArrayValue, DataType, Value};

/// A type of a catalog query.
#[allow(clippy::enum_variant_names, reason = "regtype is called so")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    /// A number with a point, as it is written: it is shown, compared and rounded; there is no arithmetic.
    Numeric,
    Text,
    Varchar,
    Name,
    /// `"char"`: one byte.
    Char,
    Timestamptz,
    Json,
    RegClass,
    RegType,
    RegProc,
    RegNamespace,
    RegRole,
    /// A quoted literal, NULL, or a parameter, before anything says more.
    Unknown,
    Array(Arc<Type>),
    /// int2vector and oidvector: subscripts begin at 0.
    Vector(Arc<Type>),
    Record(Arc<[(String, Type)]>),
    /// A type whose values are texts here that were read as what they are: a date, an interval, a time, a uuid.
    Read(DataType),
}

impl Type {
    /// The type of a name in `pg_type`; text for those that are not told apart here.
    pub(crate) fn named(name: &str) -> Type {
        if let Some(element) = name.strip_prefix('_') {
            return Type::Array(Arc::new(Type::named(element)));
        }
        match name {
            "bool" | "boolean" => Type::Bool,
            "int2" | "smallint" => Type::Int2,
            "int4" | "int" | "integer" => Type::Int4,
            "int8" | "bigint" | "xid" | "xid8" | "cid" => Type::Int8,
            "oid" => Type::Oid,
            "float4" | "real" => Type::Float4,
            "float8" | "double precision" => Type::Float8,
            "numeric" | "decimal" => Type::Numeric,
            "date" => Type::Read(DataType::Date),
            "interval" => Type::Read(DataType::Interval),
            "time" => Type::Read(DataType::Time),
            "uuid" => Type::Read(DataType::Uuid),
            "varchar" | "character varying" | "bpchar" => Type::Varchar,
            "name" => Type::Name,
            "char" => Type::Char,
            "timestamptz" | "timestamp with time zone" => Type::Timestamptz,
            "json" | "jsonb" => Type::Json,
            "regclass" => Type::RegClass,
            "regtype" => Type::RegType,
            "regproc" | "regprocedure" => Type::RegProc,
            "regnamespace" => Type::RegNamespace,
            "regrole" => Type::RegRole,
            "int2vector" => Type::Vector(Arc::new(Type::Int2)),
            "oidvector" => Type::Vector(Arc::new(Type::Oid)),
            _ => Type::Text,
        }
    }

    /// The type's number in `pg_type`.
    pub(crate) fn oid(&self) -> i64 {
        match self {
            Type::Bool => 16,
            Type::Int2 => 21,
            Type::Int4 => 23,
            Type::Int8 => 20,
            Type::Oid => 26,
            Type::Float4 => 700,
            Type::Float8 => 701,
            Type::Numeric => 1700,
            Type::Read(DataType::Date) => 1082,
            Type::Read(DataType::Interval) => 1186,
            Type::Read(DataType::Time) => 1083,
            Type::Read(DataType::Uuid) => 2950,
            Type::Read(_) => 25,
            Type::Text | Type::Unknown => 25,
            Type::Varchar => 1043,
            Type::Name => 19,
            Type::Char => 18,
            Type::Timestamptz => 1184,
            Type::Json => 114,
            Type::RegClass => 2205,
            Type::RegType => 2206,
            Type::RegProc => 24,
            Type::RegNamespace => 4089,
            Type::RegRole => 4096,
            Type::Record(_) => 2249,
            Type::Vector(element) if **element == Type::Oid => 30,
            Type::Vector(_) => 22,
            Type::Array(element) => match **element {
                Type::Bool => 1000,
                Type::Int2 => 1005,
                Type::Int4 => 1007,
                Type::Int8 => 1016,
                Type::Oid => 1028,
                Type::Float4 => 1021,
                Type::Float8 => 1022,
                Type::Char => 1002,
                Type::Name => 1003,
                _ => 1009,
            },
        }
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self, Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid) || self.is_reg()
    }

    /// Whether values are numbers that are written as names.
    pub(crate) fn is_reg(&self) -> bool {
        matches!(self, Type::RegClass | Type::RegType | Type::RegNamespace | Type::RegRole)
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Type::Text | Type::Varchar | Type::Name | Type::Char | Type::Unknown | Type::RegProc)
    }

    /// The type of the elements.
    pub(crate) fn element(&self) -> Option<&Type> {
        match self {
            Type::Array(element) | Type::Vector(element) => Some(element),
            _ => None,
        }
    }

    /// The type of a result's column.
    pub(crate) fn output(&self) -> DataType {
        match self {
            Type::Bool => DataType::Boolean,
            Type::Int2 => DataType::SmallInt,
            Type::Int4 => DataType::Integer,
            Type::Int8 => DataType::BigInt,
            Type::Oid => DataType::Oid,
            Type::Float4 => DataType::Real,
            Type::Float8 | Type::Numeric => DataType::DoublePrecision,
            Type::Timestamptz => DataType::TimestampTz,
            Type::Json => DataType::Json,
            Type::Array(element) => element.output().array().unwrap_or(DataType::Text),
            // int2vector and oidvector are written with blanks between the elements.
            _ => DataType::Text,
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datum {
    Null,
    Bool(bool),
    /// Integers, numbers of objects, microseconds.
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    List(Arc<Vec<Datum>>),
}

/// A row.
pub(crate) type Row = Vec<Datum>;

impl Datum {
    pub(crate) fn text(text: impl AsRef<str>) -> Datum {
        Datum::Text(text.as_ref().into())
    }

    pub(crate) fn list(values: Vec<Datum>) -> Datum {
        Datum::List(Arc::new(values))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    pub(crate) fn is_true(&self) -> bool {
        match self {
            Datum::Bool(value) => *value,
            Datum::Text(text) => bool_of(text) == Some(true),
            _ => false,
        }
    }

    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Datum::Int(value) => Some(*value),
            Datum::Float(value) => Some(value.round() as i64),
            Datum::Text(text) => text.trim().parse().ok(),
            Datum::Bool(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    pub(crate) fn float(&self) -> Option<f64> {
        match self {
            Datum::Int(value) => Some(*value as f64),
            Datum::Float(value) => Some(*value),
            Datum::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> &[Datum] {
        match self {
            Datum::List(items) => items,
            _ => &[],
        }
    }

    /// How two values compare; a text compares with another type's value as what it says. None with NULL.
    pub(crate) fn compare(&self, other: &Datum) -> Option<Ordering> {
        Some(match (self, other) {
            (Datum::Null, _) | (_, Datum::Null) => return None,
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
            (Datum::Text(a), Datum::Text(b)) => a.cmp(b),
            (Datum::List(a), Datum::List(b)) => {
                let pairs = a.iter().zip(b.iter()).map(|(a, b)| a.order(b));
                pairs.into_iter().find(|order| order.is_ne()).unwrap_or(a.len().cmp(&b.len()))
            }
            (Datum::Bool(a), Datum::Text(b)) => a.cmp(&bool_of(b)?),
            (Datum::Text(a), Datum::Bool(b)) => bool_of(a)?.cmp(b),
            (Datum::List(_), Datum::Text(b)) => return self.compare(&Datum::list(parse_list(b)?)),
            (Datum::Text(a), Datum::List(_)) => return Datum::list(parse_list(a)?).compare(other),
            (Datum::Int(a), Datum::Text(b)) if b.trim().parse::<i64>().is_ok() => a.cmp(&b.trim().parse().ok()?),
            (Datum::Text(a), Datum::Int(b)) if a.trim().parse::<i64>().is_ok() => a.trim().parse().ok().cmp(&Some(*b)),
            (Datum::Float(_) | Datum::Int(_), Datum::Text(b)) if b.trim().parse::<f64>().is_err() => {
                return Some(self.plain().as_str().cmp(b));
            }
            _ => self.float()?.total_cmp(&other.float()?),
        })
    }

    /// The order of ORDER BY: NULL is greater than everything.
    pub(crate) fn order(&self, other: &Datum) -> Ordering {
        match (self.is_null(), other.is_null()) {
            (false, false) => self.compare(other).unwrap_or(Ordering::Equal),
            (a, b) => a.cmp(&b),
        }
    }

    /// What equal values have in common, for sets and joins.
    pub(crate) fn key(&self, out: &mut String) {
        match self {
            Datum::Null => out.push('n'),
            Datum::List(items) => {
                out.push('[');
                items.iter().for_each(|item| item.key(out));
                out.push(']');
            }
            other => {
                out.push_str(&other.plain());
                out.push('\u{1f}');
            }
        }
    }

    /// As text; names of objects are the business of who knows the type.
    pub(crate) fn plain(&self) -> String {
        match self {
            Datum::Null => String::new(),
            Datum::Bool(value) => if *value { "t" } else { "f" }.into(),
            Datum::Int(value) => value.to_string(),
            Datum::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
            Datum::Float(value) => value.to_string(),
            Datum::Text(text) => text.to_string(),
            Datum::List(items) => {
                let items: Vec<String> = items.iter().map(Datum::element).collect();
                format!("{{{}}}", items.join(","))
            }
        }
    }

    fn element(&self) -> String {
        let text = self.plain();
        let special = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | ',' | '"' | '\\');
        match self {
            Datum::Null => "NULL".into(),
            Datum::Text(_) if text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special) => {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            _ => text,
        }
    }

    /// A value of a result.
    pub(crate) fn output(&self, data_type: &Type) -> Value {
        match (self, data_type) {
            (Datum::Null, _) => Value::Null,
            (Datum::List(items), Type::Array(element)) if data_type.output().element().is_some() => {
                let values: Vec<Value> = items.iter().map(|item| item.output(element)).collect();
                Value::Array(ArrayValue::new(element.output(), values.iter().map(Value::as_ref)))
            }
            (Datum::List(items), Type::Vector(_)) => {
                let items: Vec<String> = items.iter().map(Datum::plain).collect();
                Value::Text(items.join(" ").into())
            }
            (Datum::List(items), Type::Record(_)) => {
                let items: Vec<String> = items.iter().map(Datum::plain).collect();
                Value::Text(format!("({})", items.join(",")).into())
            }
            (value, Type::Bool) => Value::Bool(value.is_true()),
            (value, Type::Float4 | Type::Float8 | Type::Numeric) => value.float().map_or(Value::Null, Value::Float),
            (value, Type::Int2 | Type::Int4 | Type::Int8 | Type::Oid | Type::Timestamptz) => {
                value.int().map_or(Value::Null, Value::Int)
            }
            (value, _) => Value::Text(value.plain().into()),
        }
    }
}

impl From<&Value> for Datum {
    fn from(value: &Value) -> Datum {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(value) => Datum::Bool(*value),
            Value::Int(value) => Datum::Int(*value),
            Value::Float(value) => Datum::Float(*value),
            Value::Text(text) => Datum::text(text),
            _ => Datum::Null,
        }
    }
}

/// What a text says of true and false.
pub(crate) fn bool_of(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The elements of `{a,"b c",NULL}` as texts, or of `1 2 3`, which is how vectors are written.
pub(crate) fn parse_list(text: &str) -> Option<Vec<Datum>> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return text.split_whitespace().map(|item| item.parse().ok().map(Datum::Int)).collect();
    };
    let mut items = Vec::new();
    let (mut item, mut quoted, mut was_quoted, mut any) = (String::new(), false, false, false);
    let mut chars = inner.chars();
    let finish = |item: &mut String, was_quoted: &mut bool, items: &mut Vec<Datum>| {
        let text = std::mem::take(item);
        let is_null = !*was_quoted && text.eq_ignore_ascii_case("null");
        items.push(if is_null { Datum::Null } else { Datum::text(text) });
        *was_quoted = false;
    };
    while let Some(c) = chars.next() {
        any = true;
        match c {
            '\\' => item.extend(chars.next()),
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            ',' if !quoted => finish(&mut item, &mut was_quoted, &mut items),
            c => item.push(c),
        }
    }
    if any {
        finish(&mut item, &mut was_quoted, &mut items);
    }
    Some(items)
}
