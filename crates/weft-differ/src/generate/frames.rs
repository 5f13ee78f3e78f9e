//! What names mean at a place of a statement.

use crate::tree::{Node, Part, Role};
use crate::types::Type;

/// An expression of a type.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) node: Node,
    pub(super) data_type: Type,
    /// The largest magnitude of its number.
    pub(super) bound: f64,
    /// Whether it is a column, which subqueries may refer to and GROUP BY may name.
    pub(super) is_column: bool,
    /// Whether sums of it are exact: multiples of a quarter.
    pub(super) is_exact: bool,
}

/// The expressions that stand for themselves at a place: columns; behind GROUP BY, keys and aggregates.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) leaves: Vec<Expr>,
    /// Columns that tell the rows apart; none when nothing does.
    pub(super) unique: Option<Vec<Expr>>,
}

/// A query of WITH.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) columns: Vec<(String, Type, f64)>,
}

impl From<Expr> for Part {
    fn from(expr: Expr) -> Part {
        Part::Node(expr.node)
    }
}

impl Expr {
    /// An expression that is no column.
    pub(super) fn new(data_type: Type, parts: Vec<Part>) -> Expr {
        let node = Node::new(Role::Value(data_type), parts);
        Expr { node, data_type, bound: 100.0, is_column: false, is_exact: true }
    }

    /// A column.
    pub(super) fn column(data_type: Type, name: String, bound: f64) -> Expr {
        Expr { bound, is_column: true, ..Expr::new(data_type, vec![name.into()]) }
    }

    pub(super) fn bound(self, bound: f64) -> Expr {
        Expr { bound, ..self }
    }

    /// Whether a subquery may name it: a column that no table in the subquery can hide.
    pub(super) fn is_qualified(&self) -> bool {
        self.is_column && matches!(&self.node.parts[..], [Part::Text(name)] if name.contains('.'))
    }

    pub(super) fn exact(self, is_exact: bool) -> Expr {
        Expr { is_exact, ..self }
    }

    /// Whether it is a literal.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.node.role, Role::Constant { .. })
    }
}
