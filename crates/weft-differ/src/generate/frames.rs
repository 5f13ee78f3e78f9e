//! What names mean at a place of a statement.

use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;

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

impl Generator<'_> {
    /// A column, key or aggregate of a type that is in sight.
    pub(super) fn in_sight(&mut self, data_type: Type) -> Option<Expr> {
        let outer = self.frames.len() > 1 && self.random.chance(20);
        let last = self.frames.len().checked_sub(1)?;
        let level = if outer { self.random.below(last) } else { last };
        let fits = |expr: &&Expr| expr.data_type == data_type && (level == last || expr.is_qualified());
        let leaves: Vec<&Expr> = self.frames[level].leaves.iter().filter(fits).collect();
        (!leaves.is_empty()).then(|| (*self.random.pick(&leaves)).clone())
    }

    /// Any column of the innermost frame.
    pub(super) fn any_leaf(&mut self) -> Option<Expr> {
        let leaves = &self.frames.last()?.leaves;
        (!leaves.is_empty()).then(|| self.random.pick(leaves).clone())
    }

    /// A type that is in sight, so that expressions of it have something to say.
    pub(super) fn type_in_sight(&mut self) -> Type {
        match self.any_leaf() {
            Some(leaf) if self.random.chance(85) => leaf.data_type,
            _ => self.any_type(),
        }
    }

    /// A constant of a type.
    pub(super) fn constant(&mut self, data_type: Type, typed: bool) -> Expr {
        let text = data_type.sample(&mut self.random);
        self.constant_of(data_type, text, typed)
    }

    pub(super) fn constant_of(&mut self, data_type: Type, text: String, typed: bool) -> Expr {
        let open = self.random.chance(60) && !self.may_fail;
        let role = Role::Constant { data_type, typed, open };
        let node = Node::new(role, vec![text.into()]);
        Expr { node, ..Expr::new(data_type, Vec::new()) }
    }

    /// NULL of a type.
    pub(super) fn null(&mut self, data_type: Type) -> Expr {
        Expr::new(data_type, vec![format!("NULL::{}", data_type.name()).into()]).bound(0.0)
    }

    /// A column, a constant or NULL.
    pub(super) fn leaf(&mut self, data_type: Type) -> Expr {
        if self.random.chance(85)
            && let Some(found) = self.in_sight(data_type)
        {
            return found;
        }
        if self.random.chance(8) { self.null(data_type) } else { self.constant(data_type, true) }
    }
}
