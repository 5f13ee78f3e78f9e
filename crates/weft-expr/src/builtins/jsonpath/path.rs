//! A path that is parsed.
//!
//! ```text
//!   $.a[0 to last].size() + 1      [Sum([Root, Key a, Index [0 to Last], Method Size], [(+, [Number 1])])]
//!   exists($.b) || $.c == null     [Condition(Any [Exists [Root, Key b], Compare(==, [Root, Key c], [Null])])]
//! ```

use crate::builtins::patterns::Matcher;

/// A path with its mode.
pub(super) struct Path {
    pub(super) is_lax: bool,
    pub(super) steps: Chain,
}

/// Steps one after another: the first gives items, each other one is applied to those that the step before it gives.
pub(super) type Chain = Vec<Step>;

/// A step.
pub(super) enum Step {
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`: the last index of the innermost array.
    Last,
    Null,
    Bool(bool),
    /// A number in its canonical text.
    Number(String),
    Text(String),
    Variable(String),
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyArray,
    /// `[from, from to to]`
    Index(Vec<(Chain, Option<Chain>)>),
    /// `.**{from to to}`; none is `last`.
    Deep(Option<u32>, Option<u32>),
    /// `? (condition)`
    Filter(Predicate),
    /// A condition that gives true, false or null.
    Condition(Box<Predicate>),
    Method(Method),
    /// `.datetime(template)`
    Datetime(Option<String>),
    /// `-` if true, else `+`.
    Sign(bool, Chain),
    /// Operators of the same precedence, from the left.
    Sum(Chain, Vec<(Operator, Chain)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Abs,
    Ceiling,
    Double,
    Floor,
    KeyValue,
    Size,
    Type,
}

impl Method {
    pub(super) const ALL: [Method; 7] =
        [Method::Abs, Method::Ceiling, Method::Double, Method::Floor, Method::KeyValue, Method::Size, Method::Type];

    /// Its name in paths.
    pub(super) fn name(self) -> &'static str {
        match self {
            Method::Abs => "abs",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::Floor => "floor",
            Method::KeyValue => "keyvalue",
            Method::Size => "size",
            Method::Type => "type",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// Its sign in paths.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition.
pub(super) enum Predicate {
    /// `&&`
    All(Vec<Predicate>),
    /// `||`
    Any(Vec<Predicate>),
    Not(Box<Predicate>),
    IsUnknown(Box<Predicate>),
    Compare(Comparison, Chain, Chain),
    Exists(Chain),
    StartsWith(Chain, Chain),
    LikeRegex(Box<LikeRegex>),
}

/// `texts like_regex "pattern" flag "flags"`
pub(super) struct LikeRegex {
    pub(super) texts: Chain,
    pub(super) pattern: String,
    /// In the order `ismxq`, each once.
    pub(super) flags: String,
    pub(super) matcher: Matcher,
}
