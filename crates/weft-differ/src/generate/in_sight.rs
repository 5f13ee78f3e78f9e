//! What may stand at a place: what names mean there, constants, NULL.

use crate::tree::{Node, Role};
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

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
