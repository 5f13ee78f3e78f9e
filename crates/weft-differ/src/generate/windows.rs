//! Windows: named or in place, with frames. What counts rows stands over a total order.

use crate::parts;
use crate::tree::{Node, Part};
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

impl Generator<'_> {
    /// Adds window functions to what is in sight; the WINDOW clause that some of them name.
    pub(super) fn windows(&mut self, types: &[Type], grouped: bool) -> Node {
        let unique = self.frames.last().and_then(|frame| frame.unique.clone());
        let named = self.random.chance(35);
        let partition = self.partition();
        let order = self.window_order(unique.as_deref());
        let mut made = Vec::new();
        let subqueries = std::mem::replace(&mut self.subqueries, false);
        for _ in 0..self.random.between(1, 2) {
            let over: Vec<Part> = if named {
                if partition.is_some() && self.random.chance(40) {
                    let order = self.window_order(unique.as_deref());
                    parts!["(w", order.clone().unwrap_or_else(Node::nothing), ")"]
                } else {
                    parts!["w"]
                }
            } else {
                let order = self.window_order(unique.as_deref());
                let partition = self.partition();
                let frame = if order.is_some() && self.random.chance(40) { self.frame(unique.is_some()) } else { "" };
                parts!["(", partition.unwrap_or_else(Node::nothing), order.unwrap_or_else(Node::nothing), frame, ")"]
            };
            let wanted = *self.random.pick(types);
            // Whether the window that a name stands for is total is not asked: only peers' functions use it.
            let total = !named && unique.is_some() && !grouped;
            let is_ordered =
                over.iter().any(|part| matches!(part, Part::Node(node) if node.sql().contains("ORDER BY")));
            made.push(self.window_function(wanted, over, total && is_ordered, grouped));
        }
        self.subqueries = subqueries;
        if let Some(frame) = self.frames.last_mut() {
            frame.leaves.extend(made.into_iter().flat_map(|made| [made.clone(), made]));
        }
        if !named {
            return Node::nothing();
        }
        // Windows that add an ORDER BY of their own name one without.
        Node::plain(parts![" WINDOW w AS (", partition.unwrap_or_else(Node::nothing), order_of(order, false), ")"])
    }

    fn partition(&mut self) -> Option<Node> {
        if self.random.chance(40) {
            return None;
        }
        let leaf = self.plain_leaf()?;
        Some(Node::plain(parts![" PARTITION BY ", leaf]))
    }

    /// ORDER BY of a window: by columns, and the key last.
    fn window_order(&mut self, unique: Option<&[Expr]>) -> Option<Node> {
        if self.random.chance(20) {
            return None;
        }
        let leaf = self.plain_leaf()?;
        let mut parts = parts![" ORDER BY ", leaf, self.direction()];
        for key in unique.unwrap_or_default() {
            parts.extend(parts![", ", key.clone()]);
        }
        Some(Node::plain(parts))
    }

    fn plain_leaf(&mut self) -> Option<Expr> {
        let leaf = self.any_leaf()?;
        (leaf.is_column && leaf.data_type.is_ordered() && leaf.data_type != Type::Interval).then_some(leaf)
    }

    /// A frame; one of rows where rows are told apart.
    fn frame(&mut self, unique: bool) -> &'static str {
        if !unique {
            return self.random.word(&[
                " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
                " RANGE UNBOUNDED PRECEDING",
            ]);
        }
        self.random.word(&[
            " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            " ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING",
            " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
            " ROWS 2 PRECEDING",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
        ])
    }

    fn window_function(&mut self, data_type: Type, over: Vec<Part>, total: bool, grouped: bool) -> Expr {
        let over = Node::plain(over);
        let leaf = match data_type {
            Type::Int8 if self.random.chance(30) => self.leaf(Type::Int4),
            Type::Numeric if self.random.chance(40) => self.leaf(Type::Int8),
            _ => self.leaf(data_type),
        };
        let bound = leaf.bound;
        let is_summed = leaf.is_exact && bound < 1e8;
        let made = match data_type {
            Type::Int8 if leaf.data_type == Type::Int4 => parts!["sum(", leaf, ")"],
            Type::Int8 => {
                let name = if total {
                    self.random.word(&["row_number()", "rank()", "dense_rank()", "count(*)", "count(id)"])
                } else {
                    self.random.word(&["rank()", "dense_rank()", "count(*)"])
                };
                let name = if name == "count(id)" { "row_number()" } else { name };
                return Expr::new(data_type, parts![name, " OVER ", over]).bound(1e5);
            }
            Type::Float8 if self.random.chance(40) => {
                let name = self.random.word(&["percent_rank()", "cume_dist()"]);
                return Expr::new(data_type, parts![name, " OVER ", over]).bound(1.0).exact(false);
            }
            Type::Int4 if total && self.random.chance(20) => {
                return Expr::new(data_type, parts!["ntile(3) OVER ", over]);
            }
            Type::Numeric if leaf.bound < 1e10 => parts!["sum(", leaf, ")"],
            Type::Numeric if leaf.data_type != data_type => return leaf.cast_to(data_type),
            // In whatever order rows come, there is nothing to round.
            Type::Float8 if is_summed && self.random.chance(60) => {
                let name = self.random.word(&["sum(", "avg("]);
                return Expr::new(data_type, parts![name, leaf, ") OVER ", over]).bound(bound * 1e5).exact(false);
            }
            Type::Bool => parts![self.random.word(&["bool_and(", "bool_or("]), leaf, ")"],
            _ if total => {
                let name = self.random.word(&["lag(", "lead(", "first_value(", "last_value(", "nth_value("]);
                let end = match name {
                    "nth_value(" => ", 2)",
                    "lag(" | "lead(" => self.random.word(&[")", ", 2)", ", 0)"]),
                    _ => ")",
                };
                parts![name, leaf, end]
            }
            Type::Uuid | Type::Bytea | Type::Jsonb => return leaf,
            _ => {
                let name = self.random.word(&["min(", "max("]);
                parts![name, leaf, ")"]
            }
        };
        let mut parts = made;
        // FILTER takes no aggregate, not even of a window over groups.
        if matches!(data_type, Type::Numeric | Type::Bool) && !grouped && self.random.chance(20) {
            let condition = self.condition(1);
            parts.push(Node::optional(parts![" FILTER (WHERE ", condition, ")"]).into());
        }
        parts.extend(parts![" OVER ", over]);
        Expr::new(data_type, parts).bound(bound * 1e5)
    }
}

fn order_of(order: Option<Node>, is_wanted: bool) -> Node {
    order.filter(|_| is_wanted).unwrap_or_else(Node::nothing)
}
