//! Bound queries: names are places, functions are found, types are known.
//!
//! ```text
//!   SELECT relname FROM pg_class c WHERE c.oid = $1 AND EXISTS (SELECT 1 FROM pg_index WHERE indrelid = c.oid)
//!                                                                                        depth 0     depth 1
//! ```
//!
//! A column is the place in the row of the SELECT `depth` levels out; a SELECT's row is its relations' rows one after
//! the other.

use std::cmp::Ordering;

use crate::declared::Relation;
use crate::function::Function;
use crate::value::{Datum, Type};

/// A bound expression.
#[derive(Clone)]
pub(crate) enum Ex {
    Const(Datum),
    /// `$1` is 0.
    Param(usize),
    Column {
        depth: usize,
        place: usize,
    },
    And(Vec<Ex>),
    Or(Vec<Ex>),
    Not(Box<Ex>),
    IsNull(Box<Ex>, bool),
    /// `IS [NOT] TRUE` or `FALSE`: the value, and whether negated.
    Is(Box<Ex>, bool, bool),
    Distinct(Box<Ex>, Box<Ex>, bool),
    Compare(Comparison, Box<Ex>, Box<Ex>),
    Arithmetic(char, Box<Ex>, Box<Ex>, bool),
    Concat(Box<Ex>, Box<Ex>),
    Match {
        text: Box<Ex>,
        pattern: Box<Ex>,
        like: bool,
        insensitive: bool,
        negated: bool,
    },
    Case {
        operand: Option<Box<Ex>>,
        whens: Vec<(Ex, Ex)>,
        otherwise: Option<Box<Ex>>,
    },
    Cast(Box<Ex>, Type, Type),
    Call(&'static Function, Vec<Ex>, Vec<Type>),
    /// An aggregate, a window function or a function with many rows of the SELECT around.
    Slot(Slot, usize),
    /// `= ANY (array)` and the like: any or all.
    Quantified(Comparison, Box<Ex>, Box<Ex>, bool),
    QuantifiedQuery(Comparison, Box<Ex>, Box<Query>, bool),
    InList(Box<Ex>, Vec<Ex>, bool),
    Exists(Box<Query>, bool),
    Scalar(Box<Query>),
    ArrayOf(Box<Query>),
    Array(Vec<Ex>),
    /// A subscript; the flag says that they begin at 0.
    Subscript(Box<Ex>, Box<Ex>, bool),
    Field(Box<Ex>, usize),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Slot {
    Aggregate,
    Window,
    Set,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Comparison {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    Regex,
    NotRegex,
}

impl Comparison {
    pub(crate) fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Eq => order.is_eq(),
            Comparison::NotEq => order.is_ne(),
            Comparison::Lt => order.is_lt(),
            Comparison::LtEq => order.is_le(),
            Comparison::Gt => order.is_gt(),
            Comparison::GtEq => order.is_ge(),
            Comparison::Regex | Comparison::NotRegex => false,
        }
    }
}

/// A bound query.
#[derive(Clone)]
pub(crate) struct Query {
    pub(crate) body: Body,
    /// Columns shown; rows may have more, which only the order needs.
    pub(crate) columns: Vec<(String, Type)>,
    pub(crate) order: Vec<Order>,
    pub(crate) limit: Option<Ex>,
    pub(crate) offset: Option<Ex>,
}

/// The place in the row to order by.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) place: usize,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

#[derive(Clone)]
pub(crate) enum Body {
    Select(Box<Select>),
    Values(Vec<Vec<Ex>>),
    Set {
        kind: SetKind,
        all: bool,
        left: Box<Query>,
        right: Box<Query>,
    },
    /// WITH RECURSIVE: the first rows, and what is added for the rows that came last.
    Recursive {
        number: usize,
        all: bool,
        first: Box<Query>,
        step: Box<Query>,
    },
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SetKind {
    Union,
    Except,
    Intersect,
}

#[derive(Clone)]
pub(crate) struct Select {
    pub(crate) from: Vec<Incoming>,
    /// What is left of WHERE: conditions on no relation.
    pub(crate) conditions: Vec<Ex>,
    pub(crate) width: usize,
    pub(crate) group: Option<Vec<Ex>>,
    pub(crate) aggregates: Vec<Aggregate>,
    pub(crate) having: Option<Ex>,
    pub(crate) windows: Vec<Window>,
    pub(crate) sets: Vec<Ex>,
    pub(crate) project: Vec<Ex>,
    /// DISTINCT over so many of the first columns.
    pub(crate) distinct: Option<usize>,
    /// DISTINCT ON these.
    pub(crate) distinct_on: Vec<Ex>,
}

/// What is joined to the rows so far: inner or left.
#[derive(Clone)]
pub(crate) struct Incoming {
    pub(crate) item: From,
    pub(crate) kind: JoinKind,
    /// Which rows are partners.
    pub(crate) on: Vec<Condition>,
    /// Conditions of WHERE on the rows of a LEFT JOIN.
    pub(crate) after: Vec<Ex>,
}

/// A part of WHERE or ON, and what it is good for.
#[derive(Clone)]
pub(crate) struct Condition {
    pub(crate) ex: Ex,
    /// It reads only the relation that comes in.
    pub(crate) only_right: bool,
    /// An equality: what of the rows so far, what of the one that comes in.
    pub(crate) equal: Option<(Ex, Ex)>,
}

#[derive(Clone)]
pub(crate) enum From {
    Relation(&'static Relation),
    /// The rows that came last in the recursive query of a number; so many columns.
    Last(usize, usize),
    /// A subquery; LATERAL sees the row so far.
    Query {
        query: Box<Query>,
        lateral: bool,
    },
    /// A function: each of its rows, perhaps with a number.
    Call {
        call: Ex,
        record: bool,
        ordinality: bool,
    },
    Join {
        left: Box<From>,
        right: Box<From>,
        kind: JoinKind,
        on: Vec<Condition>,
        start: usize,
        middle: usize,
        end: usize,
    },
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

#[derive(Clone)]
pub(crate) struct Aggregate {
    pub(crate) kind: AggregateKind,
    pub(crate) args: Vec<Ex>,
    pub(crate) distinct: bool,
    pub(crate) order: Vec<(Ex, bool, bool)>,
    pub(crate) filter: Option<Ex>,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum AggregateKind {
    CountAll,
    Count,
    Min,
    Max,
    Sum,
    Avg,
    BoolAnd,
    BoolOr,
    ArrayAgg,
    StringAgg,
    JsonAgg,
}

#[derive(Clone)]
pub(crate) struct Window {
    /// None: row_number().
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) partition: Vec<Ex>,
    pub(crate) order: Vec<(Ex, bool, bool)>,
}
