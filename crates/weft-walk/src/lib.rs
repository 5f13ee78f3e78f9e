//! Walks over the trees of statements, compiled once for all who look at them.
//!
//! `sqlparser`'s traits `Visit` and `VisitMut` are generic over their visitor: each visitor gets a walk of its own over
//! every kind of node, about a thousand functions. Two hundred visitors made half of the machine code of the
//! binary and most of the time it took to compile. The traits here have the same names and the same calls, but hand the
//! tree to one visitor that asks the given one through a table of its hooks (`dyn`): one walk, and per visitor only the
//! hooks that it has. (docs/decisions/2026-11-28-one-walk.md)
//!
//! Import [`Visit`], [`VisitMut`] and the functions from here, the traits `Visitor` and `VisitorMut` from
//! `sqlparser::ast`; Clippy refuses the others (clippy.toml).
#![allow(clippy::disallowed_methods, reason = "the one place that walks with sqlparser's own traits")]

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit as Walked, VisitMut as WalkedMut,
    Visitor, VisitorMut,
};

#[cfg(test)]
mod tests;

/// A tree that can be read by a visitor.
pub trait Visit {
    /// Walks the tree in the order of its text and calls the hooks of `visitor`; ends at the first break.
    fn visit<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break>;
}

/// A tree that can be changed by a visitor.
pub trait VisitMut {
    /// Walks the tree in the order of its text and calls the hooks of `visitor`; ends at the first break.
    fn visit<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break>;
}

impl<T: Walked> Visit for T {
    fn visit<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept { visitor, broken: None };
        let _ = Walked::visit(self, &mut Asking(&mut kept));
        told(kept.broken)
    }
}

impl<T: WalkedMut> VisitMut for T {
    fn visit<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept { visitor, broken: None };
        let _ = WalkedMut::visit(self, &mut AskingMut(&mut kept));
        told(kept.broken)
    }
}

/// Calls `f` with each expression of the tree, the outer before its parts.
pub fn visit_expressions<B>(tree: &impl Visit, f: impl FnMut(&Expr) -> ControlFlow<B>) -> ControlFlow<B> {
    tree.visit(&mut Expressions(f))
}

/// Calls `f` with each expression of the tree, the parts before the outer.
pub fn visit_expressions_mut<B>(
    tree: &mut impl VisitMut,
    f: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    tree.visit(&mut Expressions(f))
}

/// Calls `f` with each name of a relation in the tree.
pub fn visit_relations<B>(tree: &impl Visit, f: impl FnMut(&ObjectName) -> ControlFlow<B>) -> ControlFlow<B> {
    tree.visit(&mut Relations(f))
}

/// Calls `f` with each name of a relation in the tree.
pub fn visit_relations_mut<B>(
    tree: &mut impl VisitMut,
    f: impl FnMut(&mut ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    tree.visit(&mut Relations(f))
}

struct Expressions<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Expressions<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for Expressions<F> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

struct Relations<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for Relations<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<B> {
        self.0(name)
    }
}

impl<B, F: FnMut(&mut ObjectName) -> ControlFlow<B>> VisitorMut for Relations<F> {
    type Break = B;

    fn post_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<B> {
        self.0(name)
    }
}

/// A visitor and what it broke off with: to the walk, every break is the same.
struct Kept<'a, V, B> {
    visitor: &'a mut V,
    broken: Option<B>,
}

/// The visitor of every walk that reads.
struct Asking<'a>(&'a mut dyn Visitor<Break = ()>);

/// The visitor of every walk that changes.
struct AskingMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

fn told<B>(broken: Option<B>) -> ControlFlow<B> {
    broken.map_or(ControlFlow::Continue(()), ControlFlow::Break)
}

/// Notes a break's value, and hands on that there was one.
fn note<B>(broken: &mut Option<B>, flow: ControlFlow<B>) -> ControlFlow<()> {
    match flow {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        ControlFlow::Break(value) => {
            *broken = Some(value);
            ControlFlow::Break(())
        }
    }
}

/// Writes the hooks that hand on, for reading and for changing.
macro_rules! hooks {
    ($($hook:ident: $node:ty),+ $(,)?) => {
        impl<V: Visitor> Visitor for Kept<'_, V, V::Break> {
            type Break = ();
            $(fn $hook(&mut self, node: &$node) -> ControlFlow<()> {
                note(&mut self.broken, self.visitor.$hook(node))
            })+
        }

        impl<V: VisitorMut> VisitorMut for Kept<'_, V, V::Break> {
            type Break = ();
            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> {
                note(&mut self.broken, self.visitor.$hook(node))
            })+
        }

        impl Visitor for Asking<'_> {
            type Break = ();
            $(fn $hook(&mut self, node: &$node) -> ControlFlow<()> {
                self.0.$hook(node)
            })+
        }

        impl VisitorMut for AskingMut<'_> {
            type Break = ();
            $(fn $hook(&mut self, node: &mut $node) -> ControlFlow<()> {
                self.0.$hook(node)
            })+
        }
    };
}

hooks! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: Statement,
    post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
}

/// Reads a whole statement: the walk is made here, so that the crates above link it and do not make their own.
pub fn read(statement: &Statement, visitor: &mut dyn Visitor<Break = ()>) -> ControlFlow<()> {
    Walked::visit(statement, &mut Asking(visitor))
}

/// Changes a whole statement; see [`read`].
pub fn change(statement: &mut Statement, visitor: &mut dyn VisitorMut<Break = ()>) -> ControlFlow<()> {
    WalkedMut::visit(statement, &mut AskingMut(visitor))
}
