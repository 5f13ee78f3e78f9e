//! Cycles of dependencies, each as short as it can be found, with its class.
//!
//! ```text
//!   ww                    T1 -ww-> T2 -ww-> T1                      G0
//!   ww, wr                T1 -wr-> T2 -wr-> T1                      G1c
//!   one rw                T1 -rw-> T2 -wr-> T1                      G-single; lost update when on one object, by ww
//!   rw, none in a row     T1 -rw-> T2 -wr-> T3 -rw-> T4 -wr-> T1    G-nonadjacent
//!   rw in a row           T1 -rw-> T2 -rw-> T1                      G2-item; G2 when one is by predicate
//! ```
//!
//! A component of several transactions in the view of a class has a cycle of it or of a class before it, and a view
//! without such a component has none: so the verdict is exact, in time linear in the graph. Which cycles of a component
//! are shown is not: a few, each a shortest one through some edge.

use super::anomaly::{Kind, Mixing, Report, Rules};
use super::components::{Components, Overtaken, View, components, path};
use super::facts::Facts;
use super::graph::{Dependency, Edge, Graph};
use super::history::Level;

/// Edges of a component through which a cycle is looked for.
const ATTEMPTS_MAX: u32 = 256;
/// Cycles shown of a component.
const FOUND_MAX: u32 = 4;
/// Nodes visited while looking for cycles to show, in one view.
const VISITS_MAX: u64 = 20_000_000;

/// Searches for cycles.
pub(super) struct Cycles<'a> {
    facts: &'a Facts<'a>,
    graph: &'a Graph,
    rules: Rules,
    report: &'a mut Report,
}

impl<'a> Cycles<'a> {
    /// Reports the cycles of a graph.
    pub(super) fn check(facts: &'a Facts<'a>, graph: &'a Graph, rules: Rules, report: &'a mut Report) {
        let mut cycles = Cycles { facts, graph, rules, report };
        let all = Overtaken::Readers(Level::ReadCommitted);
        // Most histories of SERIALIZABLE have no cycle at all.
        if components(&cycles.view(true, all, false)).large.is_empty() {
            return;
        }
        cycles.search(cycles.view(false, Overtaken::Nobody, false), |dependency| dependency == Dependency::Ww);
        cycles.search(cycles.view(true, Overtaken::Nobody, false), |dependency| dependency == Dependency::Wr);
        let skew = Overtaken::Readers(Level::RepeatableRead);
        let serial = match rules.mixing {
            Mixing::Readers => Overtaken::Readers(Level::Serializable),
            Mixing::Everyone => Overtaken::Everyone(Level::Serializable),
        };
        cycles.search(cycles.view(true, skew, true), Dependency::is_rw);
        cycles.search(cycles.view(true, serial, false), Dependency::is_rw);
        if rules.permitted {
            cycles.search(cycles.view(true, all, true), Dependency::is_rw);
            cycles.search(cycles.view(true, all, false), Dependency::is_rw);
        }
    }

    fn view(&self, wr: bool, rw: Overtaken, split: bool) -> View<'a> {
        View { graph: self.graph, transactions: self.facts.history.transactions(), wr, rw, split }
    }

    /// Shows cycles of each component through edges that `starts` accepts.
    fn search(&mut self, view: View<'_>, starts: impl Fn(Dependency) -> bool) {
        let found = components(&view);
        let mut visits = VISITS_MAX;
        for nodes in &found.large {
            let (mut attempts, mut shown) = (0, 0);
            'component: for &node in nodes {
                for number in self.graph.from(view.transaction(node)) {
                    let edge = self.graph.edge(number);
                    let Some(to) = view.step(node, edge).filter(|_| starts(edge.dependency())) else { continue };
                    if found.of[to as usize] != found.of[node as usize] {
                        continue;
                    }
                    attempts += 1;
                    if attempts > ATTEMPTS_MAX || shown >= FOUND_MAX || visits == 0 {
                        break 'component;
                    }
                    if let Some(cycle) = close(&view, &found, [node, to], number, &mut visits) {
                        shown += u32::from(self.show(&cycle));
                    }
                }
            }
        }
    }

    /// Reports a cycle; whether it was new.
    fn show(&mut self, cycle: &[(u32, u32)]) -> bool {
        let kind = self.classify(cycle);
        let transactions: Vec<u32> = cycle.iter().map(|step| step.0).collect();
        let is_forbidden = self.is_forbidden(kind, cycle);
        let (facts, graph) = (self.facts, self.graph);
        self.report.add(kind, is_forbidden, &transactions, || explain(facts, graph, cycle))
    }

    fn edges(&self, cycle: &[(u32, u32)]) -> Vec<Edge> {
        cycle.iter().map(|step| self.graph.edge(step.1)).collect()
    }

    fn classify(&self, cycle: &[(u32, u32)]) -> Kind {
        let edges = self.edges(cycle);
        let kinds: Vec<Dependency> = edges.iter().map(|edge| edge.dependency()).collect();
        let overtaken = kinds.iter().filter(|kind| kind.is_rw()).count();
        let in_a_row = (0..kinds.len()).any(|at| kinds[at].is_rw() && kinds[(at + 1) % kinds.len()].is_rw());
        match overtaken {
            0 if kinds.contains(&Dependency::Wr) => Kind::G1c,
            0 => Kind::G0,
            1 => {
                let object = |edge: &Edge| self.facts.write(edge.write()).object;
                let at = kinds.iter().position(|kind| kind.is_rw()).expect("one of them is");
                let last = kinds[(at + kinds.len() - 1) % kinds.len()];
                let is_one = edges.iter().all(|edge| object(edge) == object(&edges[0]));
                if is_one && last == Dependency::Ww { Kind::LostUpdate } else { Kind::GSingle }
            }
            _ if !in_a_row => Kind::GNonadjacent,
            _ if kinds.contains(&Dependency::RwPredicate) => Kind::G2,
            _ => Kind::G2Item,
        }
    }

    /// Whether the transactions were promised that this does not happen.
    fn is_forbidden(&self, kind: Kind, cycle: &[(u32, u32)]) -> bool {
        let least = kind.forbidden_from();
        let everyone = self.rules.mixing == Mixing::Everyone && least == Level::Serializable;
        cycle.iter().all(|(from, number)| {
            let counts = everyone || self.graph.edge(*number).dependency().is_rw();
            !counts || self.facts.level(*from) >= least
        })
    }
}

/// The cycle through an edge: with no other rw if there is one, else the shortest.
fn close(
    view: &View<'_>,
    found: &Components,
    [node, to]: [u32; 2],
    number: u32,
    visits: &mut u64,
) -> Option<Vec<(u32, u32)>> {
    let rest = if view.split {
        path(view, found, [to, node], false, visits).or_else(|| path(view, found, [to, node], true, visits))
    } else {
        path(view, found, [to, node], true, visits)
    };
    let mut cycle = vec![(view.transaction(node), number)];
    cycle.extend(rest?);
    Some(cycle)
}

/// `T1 -rw(l5: 32 not seen)-> T2 -wr(l6: 7 read)-> T1`.
fn explain(facts: &Facts<'_>, graph: &Graph, cycle: &[(u32, u32)]) -> String {
    let mut text = String::new();
    for (from, number) in cycle {
        let edge = graph.edge(*number);
        let write = facts.write(edge.write());
        let (name, value) = (facts.objects[write.object as usize], write.value);
        let step = match edge.dependency() {
            Dependency::Ww => format!("-ww({name}: then {value})->"),
            Dependency::Wr => format!("-wr({name}: {value} read)->"),
            Dependency::Rw => format!("-rw({name}: {value} not seen)->"),
            Dependency::RwPredicate => format!("-rw({name}: not in the range yet, then {value})->"),
        };
        text.push_str(&format!("T{from} {step} "));
    }
    let levels: Vec<String> = cycle.iter().map(|(from, _)| format!("T{from} {:?}", facts.level(*from))).collect();
    format!("{text}T{} [{}]", cycle[0].0, levels.join(", "))
}
