//! Expressions over the values of one row: what DEFAULT, CHECK, RETURNING and the row engine need.
//!
//! ```text
//!   t (id bigint, price numeric(10,2));  SET price = price * 1.1 WHERE id = $1 AND price < 100
//!
//!   bind    types are decided: $1 takes bigint from id, 1.1 is numeric(2,1), price * 1.1 numeric(13,3),
//!           100 is cast to numeric(12,2) for the comparison, the new price is cast to numeric(10,2)
//!   eval    a walk over the tree with one row's values; no allocation but for text
//! ```
//!
//! Binding says "not supported by the row engine" ([`BindError::Unsupported`]) to what it does not know (functions,
//! subqueries, intervals, ...); the router then takes the column engine. It never guesses.
//!
//! 1. Types follow PostgreSQL; numeric results have Arrow's precision and scale, as the column engine's have: `+ -` the
//!    larger scale, `*` the sum of the scales, `/` the dividend's scale + 4, truncated.
//! 2. Integer overflow, numeric overflow and division by zero are errors, never wrapped or infinite.
//! 3. Logic is three-valued; an error in one operand of AND or OR is only raised if the other does not decide.

mod arithmetic;
mod bind;
mod bind_calls;
mod cast;
mod eval;
mod functions;
mod like;
mod scope;
mod types;

pub use bind::{BindError, BindResult, Binder};
pub use cast::{assign, cast, check_assignable, coerce_param};
pub use scope::Scope;
pub use types::{common_type, data_type_of, literal_number_type};

use weft_format::predicate::CompareOp;
use weft_format::{DataType, Result, Value};
use weft_kernel::ColumnSet;

use arithmetic::ArithmeticOp;
use functions::Function;

/// A bound expression and the type of its values.
#[derive(Clone, Debug)]
pub struct Expr {
    pub(crate) node: Node,
    /// The type of the values it gives.
    pub data_type: DataType,
}

/// What an evaluation is given besides the row.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// `$1`, `$2`, ... cast to their types.
    pub params: &'a [Value],
    /// The transaction's time: microseconds since 1970 UTC.
    pub now_micros: i64,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Value),
    /// Counted from 0.
    Param(usize),
    /// Position in the row that `eval` is given.
    Column(usize),
    /// `now()`: the transaction's time in the expression's type.
    Now,
    /// Both sides have the type that the operation works in.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull {
        expr: Box<Expr>,
        negated: bool,
    },
    /// `IS [NOT] TRUE | FALSE`
    IsBool {
        expr: Box<Expr>,
        expected: bool,
        negated: bool,
    },
    IsDistinct {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    InList {
        expr: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Like {
        expr: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<char>,
        insensitive: bool,
        negated: bool,
    },
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// To the expression's type.
    Cast(Box<Expr>),
    /// An assignment cast to the expression's type, for the named column.
    Assign(Box<Expr>, Box<str>),
    Concat(Box<Expr>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

impl Expr {
    pub(crate) fn new(node: Node, data_type: DataType) -> Expr {
        Expr { node, data_type }
    }

    /// A constant.
    pub fn literal(value: Value, data_type: DataType) -> Expr {
        Expr::new(Node::Literal(value), data_type)
    }

    /// The value at a position of the row.
    pub fn column(position: usize, data_type: DataType) -> Expr {
        Expr::new(Node::Column(position), data_type)
    }

    /// The position of the row's value that this expression is, if it is just that.
    pub fn as_column(&self) -> Option<usize> {
        match self.node {
            Node::Column(position) => Some(position),
            _ => None,
        }
    }

    /// Both conditions.
    pub(crate) fn and(left: Expr, right: Expr) -> Expr {
        Expr::new(Node::And(Box::new(left), Box::new(right)), DataType::Boolean)
    }

    /// The same expression cast (explicitly) to a type.
    pub(crate) fn cast_to(self, data_type: DataType) -> Expr {
        if self.data_type == data_type {
            return self;
        }
        // A constant is cast once; one that does not fit is left to fail when (and if) it is evaluated.
        if let Node::Literal(value) = &self.node
            && let Ok(value) = cast(value.clone(), self.data_type, data_type)
        {
            return Expr::literal(value, data_type);
        }
        Expr::new(Node::Cast(Box::new(self)), data_type)
    }

    /// The same expression cast for an assignment to a column.
    pub(crate) fn assign_to(self, data_type: DataType, column: &str) -> Result<Expr> {
        if self.data_type == data_type {
            return Ok(self);
        }
        check_assignable(self.data_type, data_type, column)?;
        Ok(Expr::new(Node::Assign(Box::new(self), column.into()), data_type))
    }

    /// The positions of the row that the expression reads.
    pub(crate) fn columns(&self) -> ColumnSet {
        let mut columns = ColumnSet::NONE;
        self.clone().map_columns(&mut |position| columns.insert(*position));
        columns
    }

    /// Visits every position of the row that the expression reads, and lets it be changed.
    pub(crate) fn map_columns(&mut self, map: &mut impl FnMut(&mut usize)) {
        match &mut self.node {
            Node::Literal(_) | Node::Param(_) | Node::Now => {}
            Node::Column(position) => map(position),
            Node::Arithmetic(_, left, right)
            | Node::Compare(_, left, right)
            | Node::And(left, right)
            | Node::Or(left, right)
            | Node::Concat(left, right)
            | Node::IsDistinct { left, right, .. } => {
                left.map_columns(map);
                right.map_columns(map);
            }
            Node::Negate(expr)
            | Node::Not(expr)
            | Node::Cast(expr)
            | Node::Assign(expr, _)
            | Node::IsNull { expr, .. }
            | Node::IsBool { expr, .. } => expr.map_columns(map),
            Node::InList { expr, list, .. } => {
                expr.map_columns(map);
                list.iter_mut().for_each(|item| item.map_columns(map));
            }
            Node::Like { expr, pattern, .. } => {
                expr.map_columns(map);
                pattern.map_columns(map);
            }
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    condition.map_columns(map);
                    result.map_columns(map);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.map_columns(map);
                }
            }
            Node::Call(_, args) => args.iter_mut().for_each(|arg| arg.map_columns(map)),
        }
    }
}

#[cfg(test)]
mod tests;
