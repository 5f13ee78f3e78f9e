//! What a built-in function is, and what a call of one is given.

use std::fmt;
use std::hash::{Hash, Hasher};

use weft_format::{DataType, Interval, Result, Value};

use crate::style::Local;

/// What an argument of a function takes: a pseudo-type or a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg {
    /// Values of this type.
    Of(DataType),
    /// Any numeric, with the digits that it has.
    Numeric,
    /// Any value, as it is; a literal without a type is a text.
    Any,
    /// An array of any elements.
    AnyArray,
    /// An element of the arrays among the arguments.
    AnyElement,
    /// A value of an enum, one for all of them.
    AnyEnum,
}

/// The type of a result.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// This type.
    Of(DataType),
    /// By the types that the arguments were cast to.
    By(fn(&[DataType]) -> DataType),
}

/// How a result depends on more than the arguments (PostgreSQL's `provolatile`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Equal arguments give equal results in every session.
    Immutable,
    /// Equal arguments give equal results in a session with the same settings.
    Stable,
    /// Equal arguments give equal results within one transaction: it reads the present. PostgreSQL's STABLE, too.
    Present,
    /// It is computed for each row.
    Volatile,
}

/// A built-in function for arguments of some types: one row of `pg_proc`.
pub struct Builtin {
    /// Its number in PostgreSQL's `pg_proc`.
    pub oid: u32,
    /// Its name, folded.
    pub name: &'static str,
    /// What it takes.
    pub args: &'static [Arg],
    /// Whether the last argument may be given any number of times, at least once.
    pub is_variadic: bool,
    /// What it gives; of a function with many rows the array of them.
    pub gives: Gives,
    /// How its result depends on more than the arguments.
    pub volatility: Volatility,
    /// Whether it is NULL when an argument is NULL, without being computed.
    pub is_strict: bool,
    /// Whether it has many rows.
    pub is_set: bool,
    /// Computes it.
    pub compute: fn(&Call<'_>) -> Result<Value>,
}

/// A function that gives the same for the same arguments, and NULL when one of them is.
pub(super) const fn builtin(
    oid: u32,
    name: &'static str,
    args: &'static [Arg],
    gives: DataType,
    compute: fn(&Call<'_>) -> Result<Value>,
) -> Builtin {
    Builtin {
        oid,
        name,
        args,
        is_variadic: false,
        gives: Gives::Of(gives),
        volatility: Volatility::Immutable,
        is_strict: true,
        is_set: false,
        compute,
    }
}

impl Builtin {
    /// The same, reading the session's settings.
    pub(super) const fn stable(self) -> Builtin {
        Builtin { volatility: Volatility::Stable, ..self }
    }

    /// The same, reading the transaction's time.
    pub(super) const fn present(self) -> Builtin {
        Builtin { volatility: Volatility::Present, ..self }
    }

    /// The same, computed for each row.
    pub(super) const fn volatile(self) -> Builtin {
        Builtin { volatility: Volatility::Volatile, ..self }
    }

    /// The same, computed though an argument is NULL.
    pub(super) const fn lenient(self) -> Builtin {
        Builtin { is_strict: false, ..self }
    }

    /// The same, whose last argument may be given any number of times.
    pub(super) const fn variadic(self) -> Builtin {
        Builtin { is_variadic: true, ..self }
    }

    /// The same, with many rows, which it gives as an array.
    pub(super) const fn set(self) -> Builtin {
        Builtin { is_set: true, ..self }
    }

    /// The same, with a result by the types of the arguments.
    pub(super) const fn giving(self, gives: fn(&[DataType]) -> DataType) -> Builtin {
        Builtin { gives: Gives::By(gives), ..self }
    }
}

/// A row of the table, by its number.
#[derive(Clone, Copy)]
pub struct BuiltinRef(pub &'static Builtin);

impl PartialEq for BuiltinRef {
    fn eq(&self, other: &BuiltinRef) -> bool {
        self.0.oid == other.0.oid
    }
}

impl Eq for BuiltinRef {}

impl Hash for BuiltinRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.oid.hash(state);
    }
}

impl fmt::Debug for BuiltinRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

/// A call: the arguments have the types that the function takes, and are NULL only if it is not strict.
pub struct Call<'a> {
    /// The arguments.
    pub args: &'a [Value],
    /// Their types.
    pub types: &'a [DataType],
    /// The type of the result.
    pub result: DataType,
    /// The session's zone and styles, and the transaction's time.
    pub local: &'a Local,
    /// 64 random bits.
    pub random: &'a dyn Fn() -> u64,
}

impl Call<'_> {
    /// A text, of whatever type of texts.
    pub(super) fn text(&self, at: usize) -> &str {
        match &self.args[at] {
            Value::Text(text) => text,
            other => unreachable!("argument {at} was cast to a text: {other:?}"),
        }
    }

    /// An integer, a date (days), a time or a timestamp (microseconds).
    pub(super) fn int(&self, at: usize) -> i64 {
        match &self.args[at] {
            Value::Int(value) => *value,
            other => unreachable!("argument {at} was cast to an integer: {other:?}"),
        }
    }

    /// A real or a double precision.
    pub(super) fn float(&self, at: usize) -> f64 {
        match &self.args[at] {
            Value::Float(value) => *value,
            other => unreachable!("argument {at} was cast to double precision: {other:?}"),
        }
    }

    /// A numeric: its digits as an integer, and how many of them are after the point.
    pub(super) fn decimal(&self, at: usize) -> (i128, u8) {
        match (&self.args[at], self.types[at]) {
            (Value::Decimal(value), DataType::Numeric { scale, .. }) => (*value, scale),
            other => unreachable!("argument {at} was cast to a numeric: {other:?}"),
        }
    }

    /// A bytea.
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        match &self.args[at] {
            Value::Bytes(bytes) => bytes,
            other => unreachable!("argument {at} was cast to bytea: {other:?}"),
        }
    }

    /// A boolean.
    pub(super) fn bool(&self, at: usize) -> bool {
        match &self.args[at] {
            Value::Bool(value) => *value,
            other => unreachable!("argument {at} was cast to boolean: {other:?}"),
        }
    }

    /// An interval.
    pub(super) fn interval(&self, at: usize) -> Interval {
        match &self.args[at] {
            Value::Interval(interval) => *interval,
            other => unreachable!("argument {at} was cast to interval: {other:?}"),
        }
    }

    /// Whether an argument is NULL.
    pub(super) fn is_null(&self, at: usize) -> bool {
        self.args[at].is_null()
    }

    /// How many arguments there are.
    pub(super) fn count(&self) -> usize {
        self.args.len()
    }

    /// An argument as PostgreSQL writes values of its type.
    pub(super) fn shown(&self, at: usize) -> String {
        crate::text::print_as(self.args[at].as_ref(), self.types[at], &self.local.style)
    }
}
