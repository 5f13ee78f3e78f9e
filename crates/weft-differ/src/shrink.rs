//! Makes a case smaller while it still differs.
//!
//! ```text
//!   SELECT DISTINCT (a.i4 + 1) AS c0 FROM t0 AS a WHERE (a.t LIKE 'a%') ORDER BY 1 LIMIT 3      8 rows, 9 columns
//!     clauses go ─ values become NULL, constants, parts of themselves ─ queries and joins become one of their sides
//!     tables, rows, indexes, columns go
//!   SELECT a.i4 AS c0 FROM t0 AS a                                                              1 row, 2 columns
//! ```
//!
//! 1. What is tried is asked of the engines again; what they say decides, so nothing here needs to know what is valid.
//! 2. A case only gets smaller, so this ends.

use crate::case::Case;
use crate::tree::{Node, Part, Role};
use crate::types::Type;

/// The smallest case found for which `still` says yes; it is asked at most `attempts` times.
pub fn shrink(case: &Case, attempts: usize, still: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut shrinking = Shrinking { best: case.clone(), attempts, still };
    loop {
        let before = shrinking.best.size();
        shrinking.statement();
        shrinking.tables();
        shrinking.rows();
        shrinking.columns();
        if shrinking.best.size() >= before || shrinking.attempts == 0 {
            return shrinking.best;
        }
    }
}

struct Shrinking<'a> {
    best: Case,
    attempts: usize,
    still: &'a mut dyn FnMut(&Case) -> bool,
}

impl Shrinking<'_> {
    /// Takes a case when it still differs.
    fn accept(&mut self, case: Case) -> bool {
        if self.attempts == 0 {
            return false;
        }
        self.attempts -= 1;
        let accepted = (self.still)(&case);
        if accepted {
            self.best = case;
        }
        accepted
    }

    fn statement(&mut self) {
        let mut place = 0;
        while let Some(path) = paths(&self.best.statement).get(place).cloned() {
            let node = at(&self.best.statement, &path).clone();
            let smaller = candidates(&node).into_iter().filter(|candidate| weight(candidate) < weight(&node));
            let mut replaced = false;
            for candidate in smaller {
                let mut case = self.best.clone();
                *at_mut(&mut case.statement, &path) = candidate;
                if self.accept(case) {
                    replaced = true;
                    break;
                }
            }
            if !replaced {
                place += 1;
            }
        }
    }

    fn tables(&mut self) {
        for place in (0..self.best.tables.len()).rev() {
            let mut case = self.best.clone();
            case.tables.remove(place);
            self.accept(case);
        }
        for place in 0..self.best.tables.len() {
            for index in (0..self.best.tables[place].indexed.len()).rev() {
                let mut case = self.best.clone();
                case.tables[place].indexed.remove(index);
                self.accept(case);
            }
        }
    }

    /// Halves of the rows first, then smaller parts.
    fn rows(&mut self) {
        for place in 0..self.best.tables.len() {
            let mut size = self.best.tables[place].rows.len();
            while size > 0 {
                let mut begin = 0;
                while begin < self.best.tables[place].rows.len() {
                    let mut case = self.best.clone();
                    let rows = &mut case.tables[place].rows;
                    let end = (begin + size).min(rows.len());
                    rows.drain(begin..end);
                    if !self.accept(case) {
                        begin += size;
                    }
                }
                size /= 2;
            }
        }
    }

    fn columns(&mut self) {
        for place in 0..self.best.tables.len() {
            for column in (1..self.best.tables[place].columns.len()).rev() {
                let mut case = self.best.clone();
                let table = &mut case.tables[place];
                table.columns.remove(column);
                table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
                table.indexed.retain(|index| *index != column);
                table.indexed.iter_mut().filter(|index| **index > column).for_each(|index| *index -= 1);
                self.accept(case);
            }
        }
    }
}

/// The length of its text: what is tried must be shorter.
fn weight(node: &Node) -> usize {
    node.sql().len()
}

/// What may stand in a node's place.
fn candidates(node: &Node) -> Vec<Node> {
    match &node.role {
        Role::Query(types) => {
            let role = Role::Query(types.clone());
            below(node, &|inner| inner.role == role)
        }
        Role::Value(data_type) => {
            let mut found = vec![constant(*data_type), null(*data_type)];
            found.extend(below(node, &|inner| {
                inner.role == node.role || matches!(inner.role, Role::Constant { data_type: t, .. } if t == *data_type)
            }));
            found
        }
        Role::Source => below(node, &|inner| inner.role == Role::Source),
        Role::Optional | Role::Order => vec![Node::new(node.role.clone(), Vec::new())],
        Role::List { least, .. } if node.parts.len() > *least => {
            let without = |place: usize| {
                let mut parts = node.parts.clone();
                parts.remove(place);
                Node::new(node.role.clone(), parts)
            };
            (0..node.parts.len()).map(without).collect()
        }
        Role::List { .. } | Role::Constant { .. } | Role::Plain => Vec::new(),
    }
}

fn constant(data_type: Type) -> Node {
    let text = data_type.domain()[0];
    Node::new(Role::Value(data_type), vec![data_type.literal(text, true).into()])
}

fn null(data_type: Type) -> Node {
    Node::new(Role::Value(data_type), vec![format!("NULL::{}", data_type.name()).into()])
}

/// The nodes below that fit, outermost first; those within one that fits are found once it stands there.
fn below(node: &Node, fits: &dyn Fn(&Node) -> bool) -> Vec<Node> {
    let mut found = Vec::new();
    for child in node.children() {
        if fits(child) {
            found.push(child.clone());
        } else {
            found.extend(below(child, fits));
        }
    }
    found
}

/// The places of all nodes, outermost first.
fn paths(node: &Node) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new()];
    for (place, part) in node.parts.iter().enumerate() {
        if let Part::Node(child) = part {
            found.extend(paths(child).into_iter().map(|path| [vec![place], path].concat()));
        }
    }
    found
}

fn at<'a>(node: &'a Node, path: &[usize]) -> &'a Node {
    path.iter().fold(node, |node, &place| match &node.parts[place] {
        Part::Node(child) => child,
        Part::Text(_) => unreachable!("paths lead to nodes"),
    })
}

fn at_mut<'a>(node: &'a mut Node, path: &[usize]) -> &'a mut Node {
    path.iter().fold(node, |node, &place| match &mut node.parts[place] {
        Part::Node(child) => child,
        Part::Text(_) => unreachable!("paths lead to nodes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    /// "Differs" whenever the statement has an OR and a table has a row with an empty text.
    #[test]
    fn what_does_not_matter_goes() {
        let (mut tried, mut least) = (0, usize::MAX);
        for seed in 0..20 {
            let tables = generate::tables(seed);
            for number in 0..20 {
                let case = generate::case(seed, number, &tables);
                let mut differs = |case: &Case| {
                    let empty = |row: &Vec<Option<String>>| row.iter().any(|value| value.as_deref() == Some(""));
                    case.statement.sql().contains(" OR ") && case.tables.iter().any(|t| t.rows.iter().any(empty))
                };
                if !differs(&case) {
                    continue;
                }
                let small = shrink(&case, 5000, &mut differs);
                assert!(differs(&small), "seed {seed}, case {number}");
                assert_eq!((small.tables.len(), small.tables[0].rows.len(), small.tables[0].columns.len()), (1, 1, 2));
                assert!(small.size() <= case.size());
                (tried, least) = (tried + 1, least.min(small.statement.size()));
            }
        }
        assert!(tried >= 10 && least < 20, "{tried} were tried, the smallest has {least} nodes");
    }
}
