//! GROUP BY, grouping sets, HAVING: the frame becomes what may stand behind them.

use crate::parts;
use crate::tree::Node;
use crate::types::Type;

use super::Generator;
use super::frames::{Expr, Frame};

impl Generator<'_> {
    /// GROUP BY and HAVING; the innermost frame becomes keys and aggregates.
    pub(super) fn group(&mut self, depth: usize) -> (Node, Node) {
        let keys = if self.random.chance(20) { Vec::new() } else { self.keys(depth) };
        let mut leaves: Vec<Expr> = Vec::new();
        let sets = keys.len() > 1 && self.random.chance(30) || keys.len() == 1 && self.random.chance(15);
        for _ in 0..self.random.between(1, 3) {
            let data_type = self.any_type();
            let aggregate = self.aggregate(data_type);
            leaves.push(aggregate);
        }
        leaves.extend(keys.iter().cloned());
        if sets && self.random.chance(50) {
            let key = self.random.pick(&keys).clone();
            leaves.push(Expr::new(Type::Int4, parts!["grouping(", key, ")"]));
        }
        let group = if keys.is_empty() { Node::nothing() } else { self.group_by(&keys, sets) };
        if let Some(frame) = self.frames.last_mut() {
            let unique = if sets { None } else { Some(keys) };
            *frame = Frame { leaves, unique };
        }
        let having = if self.random.chance(25) {
            let condition = self.condition(depth.min(2));
            Node::optional(parts![" HAVING ", condition])
        } else {
            Node::nothing()
        };
        (group, having)
    }

    /// Columns, and now and then an expression of columns.
    fn keys(&mut self, _depth: usize) -> Vec<Expr> {
        let mut keys: Vec<Expr> = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let Some(leaf) = self.any_leaf() else { break };
            let key = if leaf.data_type == Type::Int4 && leaf.bound < 1e6 && self.random.chance(15) {
                Expr::new(Type::Int4, parts!["(", leaf, " % 2)"])
            } else if leaf.data_type == Type::Text && self.random.chance(15) {
                Expr::new(Type::Text, parts!["lower(", leaf, ")"])
            } else {
                leaf
            };
            if key.data_type != Type::Interval && keys.iter().all(|other| other.node != key.node) {
                keys.push(key);
            }
        }
        keys
    }

    fn group_by(&mut self, keys: &[Expr], sets: bool) -> Node {
        let names: Vec<Node> = keys.iter().map(|key| key.node.clone()).collect();
        if !sets {
            return Node::plain(parts![" GROUP BY ", Node::list(names)]);
        }
        match self.random.below(4) {
            0 => Node::plain(parts![" GROUP BY ROLLUP (", Node::list(names), ")"]),
            1 => Node::plain(parts![" GROUP BY CUBE (", Node::list(names), ")"]),
            2 => {
                let mut names = names.into_iter();
                let first = names.next().unwrap_or_else(Node::nothing);
                let rest: Vec<Node> = names.collect();
                if rest.is_empty() {
                    return Node::plain(parts![" GROUP BY GROUPING SETS ((", first, "), ())"]);
                }
                Node::plain(parts![" GROUP BY ", first, ", ROLLUP (", Node::list(rest), ")"])
            }
            _ => {
                let mut sets = vec![Node::plain(parts!["(", Node::list(names.clone()), ")"])];
                for name in names {
                    sets.push(Node::plain(parts!["(", name, ")"]));
                }
                if self.random.chance(60) {
                    sets.push(Node::plain(parts!["()"]));
                }
                Node::plain(parts![" GROUP BY GROUPING SETS (", Node::list(sets), ")"])
            }
        }
    }
}
