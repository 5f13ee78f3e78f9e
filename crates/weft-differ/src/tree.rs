//! Statements as trees of text whose nodes say what they are, so that shrinking knows what may stand in their place.
//!
//! ```text
//!   Query[Int4]
//!     "SELECT " List(", ") [ Value(Int4)["(" Value(Int4)["a.i4"] " + " Constant(Int4)"1" ")"] ]
//!     " FROM " Source["t0 AS a"]  Optional[" WHERE " Value(Bool)[...]]
//! ```
//!
//! 1. A node in the place of another of the same role gives a statement that parses; whether it still binds is seen by
//!    running it.

use std::borrow::Cow;

use crate::types::Type;

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// An expression of a type.
    Value(Type),
    /// A constant, which may become a parameter. Its one part is the text that its type reads.
    Constant {
        /// Of this type.
        data_type: Type,
        /// Whether it tells its type.
        typed: bool,
        /// Whether it may be a parameter.
        open: bool,
    },
    /// A query with columns of these types.
    Query(Vec<Type>),
    /// An item of FROM.
    Source,
    /// A clause that may go.
    Optional,
    /// The total order of a query's rows, with its LIMIT; it may go.
    Order,
    /// Nodes with a separator, of which some may go while `least` remain.
    List {
        /// What stands between them.
        separator: &'static str,
        /// How many must remain.
        least: usize,
    },
    /// Anything else.
    Plain,
}

/// Text or a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text of SQL.
    Text(Cow<'static, str>),
    /// What stands there.
    Node(Node),
}

/// A part of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub role: Role,
    /// What it consists of.
    pub parts: Vec<Part>,
}

impl From<&'static str> for Part {
    fn from(text: &'static str) -> Part {
        Part::Text(text.into())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text.into())
    }
}

impl From<Node> for Part {
    fn from(node: Node) -> Part {
        Part::Node(node)
    }
}

/// Parts one after the other.
#[macro_export]
macro_rules! parts {
    ($($part:expr),* $(,)?) => { vec![$($crate::tree::Part::from($part)),*] };
}

/// A statement as text, and the values of its parameters with their types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// The statement.
    pub sql: String,
    /// What `$1`, `$2`, ... are.
    pub parameters: Vec<(Type, String)>,
}

impl Node {
    /// A node.
    pub fn new(role: Role, parts: Vec<Part>) -> Node {
        Node { role, parts }
    }

    /// Text that nothing may take the place of.
    pub fn plain(parts: Vec<Part>) -> Node {
        Node::new(Role::Plain, parts)
    }

    /// Nodes with commas between them.
    pub fn list(items: Vec<Node>) -> Node {
        Node::new(Role::List { separator: ", ", least: 1 }, items.into_iter().map(Part::Node).collect())
    }

    /// Nothing.
    pub fn nothing() -> Node {
        Node::plain(Vec::new())
    }

    /// A clause that may go.
    pub fn optional(parts: Vec<Part>) -> Node {
        Node::new(Role::Optional, parts)
    }

    /// The nodes directly below.
    pub fn children(&self) -> impl Iterator<Item = &Node> {
        self.parts.iter().filter_map(|part| match part {
            Part::Node(node) => Some(node),
            Part::Text(_) => None,
        })
    }

    /// How many nodes it has, itself included.
    pub fn size(&self) -> usize {
        1 + self.children().map(Node::size).sum::<usize>()
    }

    /// Whether its own rows have a total order.
    pub fn is_ordered(&self) -> bool {
        self.children().any(|child| child.role == Role::Order && !child.parts.is_empty())
    }

    /// As SQL without parameters.
    pub fn sql(&self) -> String {
        let mut text = Text::default();
        self.write(false, &mut text);
        text.sql
    }

    /// As SQL with its open constants as parameters.
    pub fn with_parameters(&self) -> Text {
        let mut text = Text::default();
        self.write(true, &mut text);
        text
    }

    fn write(&self, open: bool, to: &mut Text) {
        if let Role::Constant { data_type, typed, open: may_open } = self.role {
            let [Part::Text(value)] = &self.parts[..] else { unreachable!("a constant is one text") };
            if !(open && may_open) {
                return to.sql.push_str(&data_type.literal(value, typed));
            }
            to.parameters.push((data_type, value.to_string()));
            to.sql.push_str(&format!("${}", to.parameters.len()));
            if typed {
                to.sql.push_str(&format!("::{}", data_type.name()));
            }
            return;
        }
        for (place, part) in self.parts.iter().enumerate() {
            if let Role::List { separator, .. } = self.role
                && place > 0
            {
                to.sql.push_str(separator);
            }
            match part {
                Part::Text(text) => to.sql.push_str(text),
                Part::Node(node) => node.write(open, to),
            }
        }
    }
}
