//! The tree of a bound expression.
//!
//! ```text
//!   lower(b) = 'x'     Compare(Eq)  boolean
//!                      ├── Call(Lower)  text
//!                      │   └── Column(1)  text          position in the row that eval is given
//!                      └── Literal('x')  text
//! ```
//!
//! Two trees that are equal give the same value, or the same error, for every row.

use weft_env::Rng;
use weft_format::{CompareOp, DataType, Result, Value};

use crate::arithmetic::ArithmeticOp;
use crate::cast::is_immutable_cast;
use crate::cast::{cast, check_assignable};
use crate::functions::Function;
use crate::routines::Routine;
use crate::style::Local;

/// A bound expression and the type of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What is computed.
    pub node: Node,
    /// The type of the values it gives.
    pub data_type: DataType,
}

/// What an evaluation is given besides the row.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// `$1`, `$2`, ... cast to their types.
    pub params: &'a [Value],
    /// The session's zone and styles, and the transaction's time.
    pub local: &'a Local,
    /// Where random bits come from; without it functions that need some fail.
    pub rng: Option<&'a dyn Rng>,
}

impl EvalContext<'static> {
    /// For expressions that ask for no parameter, no time and no session.
    pub fn none() -> EvalContext<'static> {
        EvalContext { params: &[], local: Local::fixed(), rng: None }
    }
}

/// What an expression computes from its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A constant.
    Literal(Value),
    /// A parameter, counted from 0.
    Param(usize),
    /// Position in the row that `eval` is given.
    Column(usize),
    /// `now()`: the transaction's time in the expression's type.
    Now,
    /// Both sides have the type that the operation works in.
    Arithmetic(ArithmeticOp, Box<Expr>, Box<Expr>),
    /// `- number`
    Negate(Box<Expr>),
    /// Both sides have one kind of value.
    Compare(CompareOp, Box<Expr>, Box<Expr>),
    /// `AND`
    And(Box<Expr>, Box<Expr>),
    /// `OR`
    Or(Box<Expr>, Box<Expr>),
    /// `NOT`
    Not(Box<Expr>),
    /// `IS [NOT] NULL`
    IsNull {
        /// The operand.
        expr: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `IS [NOT] TRUE | FALSE`
    IsBool {
        /// A condition.
        expr: Box<Expr>,
        /// TRUE or FALSE.
        expected: bool,
        /// NOT
        negated: bool,
    },
    /// `IS [NOT] DISTINCT FROM`; both sides have one kind of value.
    IsDistinct {
        /// The left side.
        left: Box<Expr>,
        /// The right side.
        right: Box<Expr>,
        /// NOT
        negated: bool,
    },
    /// `[NOT] IN (list)`; all have one kind of value.
    InList {
        /// What is looked for.
        expr: Box<Expr>,
        /// Where.
        list: Vec<Expr>,
        /// NOT
        negated: bool,
    },
    /// `[NOT] LIKE | ILIKE`
    Like {
        /// A text.
        expr: Box<Expr>,
        /// A text.
        pattern: Box<Expr>,
        /// The escape character; none when ESCAPE is empty.
        escape: Option<char>,
        /// ILIKE
        insensitive: bool,
        /// NOT
        negated: bool,
    },
    /// `CASE`: the result of the first condition that is true.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// ELSE
        otherwise: Option<Box<Expr>>,
    },
    /// An explicit cast to the expression's type.
    Cast(Box<Expr>),
    /// An assignment cast to the expression's type, for the named column.
    Assign(Box<Expr>, Box<str>),
    /// `||` of two texts.
    Concat(Box<Expr>, Box<Expr>),
    /// A function of its arguments.
    Call(Function, Vec<Expr>),
    /// A routine of its arguments, which have the types that it takes.
    Routine(Routine, Vec<Expr>),
}

impl Expr {
    /// An expression that gives values of a type.
    pub fn new(node: Node, data_type: DataType) -> Expr {
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
    pub fn and(left: Expr, right: Expr) -> Expr {
        Expr::new(Node::And(Box::new(left), Box::new(right)), DataType::Boolean)
    }

    /// The same expression cast (explicitly) to a type.
    pub fn cast_to(self, data_type: DataType) -> Expr {
        if self.data_type == data_type {
            return self;
        }
        // A constant is cast once, if that does not depend on the session; one that does not fit is left to fail when
        // (and if) it is evaluated.
        if let Node::Literal(value) = &self.node
            && is_immutable_cast(self.data_type, data_type)
            && let Ok(value) = cast(value.clone(), self.data_type, data_type, Local::fixed())
        {
            return Expr::literal(value, data_type);
        }
        Expr::new(Node::Cast(Box::new(self)), data_type)
    }

    /// The same expression cast for an assignment to a column.
    pub fn assign_to(self, data_type: DataType, column: &str) -> Result<Expr> {
        if self.data_type == data_type {
            return Ok(self);
        }
        check_assignable(self.data_type, data_type, column)?;
        Ok(Expr::new(Node::Assign(Box::new(self), column.into()), data_type))
    }

    /// The positions of the row that the expression reads, ascending, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.add_columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    fn add_columns(&self, columns: &mut Vec<usize>) {
        columns.extend(self.as_column());
        self.for_each_operand(&mut |operand| operand.add_columns(columns));
    }

    /// Calls `visit` with each operand, left to right.
    pub fn for_each_operand(&self, visit: &mut dyn FnMut(&Expr)) {
        match &self.node {
            Node::Literal(_) | Node::Param(_) | Node::Now | Node::Column(_) => {}
            Node::Arithmetic(_, left, right)
            | Node::Compare(_, left, right)
            | Node::And(left, right)
            | Node::Or(left, right)
            | Node::Concat(left, right)
            | Node::IsDistinct { left, right, .. }
            | Node::Like { expr: left, pattern: right, .. } => {
                visit(left);
                visit(right);
            }
            Node::Negate(expr)
            | Node::Not(expr)
            | Node::Cast(expr)
            | Node::Assign(expr, _)
            | Node::IsNull { expr, .. }
            | Node::IsBool { expr, .. } => visit(expr),
            Node::InList { expr, list, .. } => {
                visit(expr);
                list.iter().for_each(visit);
            }
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            Node::Call(_, args) | Node::Routine(_, args) => args.iter().for_each(visit),
        }
    }

    /// Visits every position of the row that the expression reads, and lets it be changed.
    pub fn map_columns(&mut self, map: &mut impl FnMut(&mut usize)) {
        match &mut self.node {
            Node::Literal(_) | Node::Param(_) | Node::Now => {}
            Node::Column(position) => map(position),
            Node::Arithmetic(_, left, right)
            | Node::Compare(_, left, right)
            | Node::And(left, right)
            | Node::Or(left, right)
            | Node::Concat(left, right)
            | Node::IsDistinct { left, right, .. }
            | Node::Like { expr: left, pattern: right, .. } => {
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
            Node::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    condition.map_columns(map);
                    result.map_columns(map);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.map_columns(map);
                }
            }
            Node::Call(_, args) | Node::Routine(_, args) => args.iter_mut().for_each(|arg| arg.map_columns(map)),
        }
    }
}
