//! SELECT: its list, its clauses, and the order in which they are made.

use crate::parts;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

impl Generator<'_> {
    /// A SELECT with columns of these types; `top` when its rows' order may be asked for.
    pub(super) fn select(&mut self, types: &[Type], depth: usize, top: bool) -> Node {
        self.enter_select();
        let (source, frame) = self.source(depth);
        self.frames.push(frame);
        let filter = if self.random.chance(60) { self.filter(depth.min(2)) } else { Node::nothing() };
        let grouped = self.random.chance(30);
        let (group, having) = if grouped { self.group(depth) } else { (Node::nothing(), Node::nothing()) };
        let window = if self.random.chance(22) { self.windows(types, grouped) } else { Node::nothing() };
        let items: Vec<Expr> = types.iter().map(|data_type| self.item(*data_type, depth)).collect();
        self.frames.pop();
        let is_ordered = types.iter().all(|data_type| data_type.is_ordered());
        let (distinct, order) =
            if is_ordered { self.distinct_and_order(types, top) } else { ("".into(), Node::nothing()) };
        let items =
            items.into_iter().enumerate().map(|(place, item)| Node::plain(parts![item, format!(" AS c{place}")]));
        let items = Node::list(items.collect());
        let parts = parts!["SELECT ", distinct, items, " FROM ", source, filter, group, having, window, order];
        Node::new(Role::Query(types.to_vec()), parts)
    }

    /// A column of the result: a literal alone would take its type from elsewhere.
    fn item(&mut self, data_type: Type, depth: usize) -> Expr {
        self.value(data_type, depth.min(2))
    }

    /// WHERE.
    pub(super) fn filter(&mut self, depth: usize) -> Node {
        if self.random.chance(25) {
            return Node::nothing();
        }
        let condition = self.condition(depth);
        Node::optional(parts![" WHERE ", condition])
    }

    fn distinct_and_order(&mut self, types: &[Type], top: bool) -> (Part, Node) {
        let columns: Vec<usize> = (0..types.len()).collect();
        match self.random.below(100) {
            0..=11 => {
                let order = if self.random.chance(25) { self.order_by(types.len(), top) } else { Node::nothing() };
                (Part::from("DISTINCT "), order)
            }
            12..=15 => {
                let shuffled = self.random.order(columns.len());
                let kept = self.random.between(1, shuffled.len());
                let name = |place: &usize| format!("{}", place + 1);
                let on: Vec<String> = shuffled[..kept].iter().map(name).collect();
                let order: Vec<String> =
                    shuffled.iter().map(|place| format!("{}{}", place + 1, self.direction())).collect();
                let order = Node::plain(parts![format!(" ORDER BY {}", order.join(", "))]);
                (Part::from(format!("DISTINCT ON ({}) ", on.join(", "))), order)
            }
            16..=45 if top => ("".into(), self.order_by(types.len(), true)),
            16..=28 => ("".into(), self.order_by(types.len(), false)),
            _ => ("".into(), Node::nothing()),
        }
    }

    /// ORDER BY all columns, so that the order is total; with LIMIT or not.
    pub(super) fn order_by(&mut self, columns: usize, top: bool) -> Node {
        let order = self.random.order(columns);
        let by_name = self.random.chance(30);
        let column = |place: usize, direction: &str| {
            if by_name { format!("c{place}{direction}") } else { format!("{}{direction}", place + 1) }
        };
        let columns: Vec<String> = order.into_iter().map(|place| column(place, self.direction())).collect();
        let limit = if !top || self.random.chance(50) {
            let limit = self.random.below(6).to_string();
            let limit = self.constant_of(Type::Int8, limit, false);
            let offset = if self.random.chance(30) {
                let offset = self.random.below(3).to_string();
                let offset = self.constant_of(Type::Int8, offset, false);
                Node::optional(parts![" OFFSET ", offset])
            } else {
                Node::nothing()
            };
            Node::optional(parts![" LIMIT ", limit, offset])
        } else {
            Node::nothing()
        };
        Node::new(Role::Order, parts![format!(" ORDER BY {}", columns.join(", ")), limit])
    }
}
