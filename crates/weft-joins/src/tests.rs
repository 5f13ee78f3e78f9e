//! Pairs counted against the formulas, costs against all trees, rows against what they must be.

use std::collections::HashMap;

use crate::plans::{Plan, Plans, cost_of};
use crate::{Builder, Graph, Set, Tree};

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Relations whose rows are drawn, with these edges, each over columns of its own.
fn graph(count: usize, edges: &[(usize, usize)], seed: u64) -> Graph {
    let mut numbers = Numbers(seed);
    let mut builder = relations(count, &mut numbers);
    for &(a, b) in edges {
        let (a, b) = (column(&mut builder, a, &mut numbers), column(&mut builder, b, &mut numbers));
        builder.equal(a, b);
    }
    builder.build()
}

fn relations(count: usize, numbers: &mut Numbers) -> Builder {
    let mut builder = Graph::builder();
    for _ in 0..count {
        let rows = 1.0 + numbers.below(10_000) as f64;
        builder.relation(rows, rows * (1.0 + numbers.below(3) as f64));
    }
    builder
}

fn column(builder: &mut Builder, relation: usize, numbers: &mut Numbers) -> crate::ColumnNo {
    builder.column(relation, 1.0 + numbers.below(10_000) as f64, numbers.below(2) == 0)
}

fn chain(count: usize) -> Vec<(usize, usize)> {
    (1..count).map(|at| (at - 1, at)).collect()
}

fn cycle(count: usize) -> Vec<(usize, usize)> {
    chain(count).into_iter().chain([(0, count - 1)]).collect()
}

fn star(count: usize) -> Vec<(usize, usize)> {
    (1..count).map(|at| (0, at)).collect()
}

fn clique(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect()
}

/// The cheapest plan and how many pairs there are, by all ways to take each set apart.
fn by_all_splits(graph: &Graph) -> (Option<f64>, usize) {
    let leaf = |at: usize| (Set::of(at), Plan { rows: graph.rows(Set::of(at)), cost: 0.0, sides: None });
    let mut known: HashMap<Set, Plan> = (0..graph.len()).map(leaf).collect();
    let mut pairs = 0;
    for set in (1..1_u64 << graph.len()).map(Set).filter(|set| set.len() > 1) {
        for left in set.subsets().filter(|left| *left != set && left.has(set.0.trailing_zeros() as usize)) {
            let right = set.without(left);
            let (Some(&a), Some(&b)) = (known.get(&left), known.get(&right)) else { continue };
            if !graph.is_connected(left, right) {
                continue;
            }
            pairs += 1;
            let rows = graph.rows(set);
            let cost = cost_of(a, b, rows);
            if known.get(&set).is_none_or(|known| cost < known.cost) {
                known.insert(set, Plan { rows, cost, sides: Some((left, right)) });
            }
        }
    }
    (known.get(&graph.all()).map(|plan| plan.cost), pairs)
}

#[test]
fn as_many_pairs_as_the_formulas_say() {
    for n in 2..=10_usize {
        let pairs = |edges: &[(usize, usize)]| {
            let best = graph(n, edges, n as u64).best_of(1_000_000);
            assert!(best.is_exact);
            best.pairs
        };
        assert_eq!(pairs(&chain(n)), (n * n * n - n) / 6, "chain of {n}");
        assert_eq!(pairs(&star(n)), (n - 1) << (n - 2), "star of {n}");
        assert_eq!(pairs(&clique(n)), 3_usize.pow(n as u32).div_ceil(2) - (1 << n), "clique of {n}");
        if n > 2 {
            assert_eq!(pairs(&cycle(n)), (n * n * n - 2 * n * n + n) / 2, "cycle of {n}");
        }
    }
}

/// A graph with edges of two and of more relations, classes of several, keys and conditions.
fn drawn(seed: u64) -> Graph {
    let mut numbers = Numbers(seed);
    let count = 2 + numbers.below(6) as usize;
    let mut builder = relations(count, &mut numbers);
    let columns: Vec<_> = (0..2 * count).map(|at| column(&mut builder, at % count, &mut numbers)).collect();
    for at in 1..count {
        let before = numbers.below(at as u64) as usize;
        if numbers.below(8) > 0 {
            builder.equal(columns[at + count * numbers.below(2) as usize], columns[before]);
        }
    }
    for _ in 0..numbers.below(3) {
        let left = Set(numbers.below(1 << count));
        let right = Set(numbers.below(1 << count)).without(left);
        if !left.is_empty() && !right.is_empty() {
            builder.equal_sets(left, right, 1.0 / (1.0 + numbers.below(1000) as f64));
        }
    }
    let relation = numbers.below(count as u64) as usize;
    builder.unique(relation, vec![columns[relation], columns[relation + count]]);
    builder.condition(Set(3), 0.3);
    builder.build()
}

#[test]
fn no_tree_is_cheaper_and_no_pair_is_lost() {
    let mut whole = 0;
    for seed in 0..3_000 {
        let graph = drawn(seed);
        let (cost, pairs) = by_all_splits(&graph);
        let mut plans = Plans::new(&graph);
        for component in graph.components() {
            assert!(plans.all_pairs(component, usize::MAX));
        }
        assert_eq!(plans.pairs, pairs, "seed {seed}: {graph:?}");
        let found = plans.get(graph.all()).map(|plan| plan.cost);
        assert_eq!(found, cost, "seed {seed}");
        whole += usize::from(cost.is_some() && graph.len() > 2);
        let best = graph.best();
        assert_eq!(best.tree.set(), graph.all(), "seed {seed}");
        assert!(cost.is_none_or(|cost| best.cost == cost), "seed {seed}");
    }
    assert!(whole > 1_000, "{whole} graphs are whole");
}

#[test]
fn trees_along_orders_are_trees_and_rarely_dear() {
    let mut worst: f64 = 1.0;
    for seed in 0..200 {
        let graph = graph(9, &[star(9), vec![(3, 4), (5, 6)]].concat(), seed);
        let (exact, rough) = (graph.best(), graph.best_of(20));
        assert!(exact.is_exact && !rough.is_exact);
        assert_eq!(rough.tree.set(), graph.all());
        assert!(rough.cost >= exact.cost * 0.999_999, "seed {seed}");
        worst = worst.max(rough.cost / exact.cost);
    }
    assert!(worst < 20.0, "{worst} times");
}

/// What is known may be nonsense: the tree is dear then, and still one of all relations.
#[test]
fn nonsense_makes_a_tree_of_all_relations() {
    let nonsense = [0.0, -5.0, 1.0, 3e18, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE];
    for seed in 0..400 {
        let mut numbers = Numbers(seed);
        let mut draw = || nonsense[numbers.below(nonsense.len() as u64) as usize];
        let edges = [chain(7), cycle(6), star(8), clique(5)][seed as usize % 4].clone();
        let count = edges.iter().map(|edge| edge.1 + 1).max().unwrap_or(0);
        let mut builder = Graph::builder();
        for _ in 0..count {
            builder.relation(draw(), draw());
        }
        for &(a, b) in &edges {
            let (a, b) = (builder.column(a, draw(), true), builder.column(b, draw(), false));
            builder.equal(a, b);
            builder.pairs(a, b, draw());
        }
        let best = builder.build().best();
        assert_eq!((best.tree.set().len(), leaves(&best.tree)), (count, count), "seed {seed}");
    }
}

fn leaves(tree: &Tree) -> usize {
    match tree {
        Tree::Leaf(_) => 1,
        Tree::Join(left, right) => leaves(left) + leaves(right),
    }
}

#[test]
fn common_values_of_both_sides_make_more_rows() {
    let rows = |share: Option<f64>| {
        let mut builder = Graph::builder();
        let relations = [builder.relation(1_000.0, 1_000.0), builder.relation(2_000.0, 2_000.0)];
        let columns = relations.map(|relation| builder.column(relation, 100.0, true));
        builder.equal(columns[0], columns[1]);
        share.into_iter().for_each(|share| builder.pairs(columns[0], columns[1], share));
        let graph = builder.build();
        graph.rows(graph.all())
    };
    assert_eq!((rows(None), rows(Some(0.25)), rows(Some(0.011))), (20_000.0, 500_000.0, 20_000.0));
}

#[test]
fn many_relations_are_ordered() {
    for edges in [chain(64), star(64), clique(40)] {
        let count = edges.iter().map(|edge| edge.1 + 1).max().unwrap_or(0);
        let best = graph(count, &edges, 1).best();
        assert_eq!(best.tree.set().len(), count);
    }
}

#[test]
fn edges_to_pairs_do_not_take_for_ever() {
    let mut builder = Graph::builder();
    let hub = builder.relation(1_000.0, 1_000.0);
    for _ in 0..25 {
        let pair = [(); 2].map(|()| builder.relation(10.0, 10.0));
        builder.equal_sets(Set::of(hub), Set::of(pair[0]).with(Set::of(pair[1])), 0.001);
    }
    let best = builder.build().best();
    assert_eq!(best.tree.set().len(), 51);
    assert!(!best.is_exact);
}

#[test]
fn numbering_changes_nothing() {
    for seed in 0..300 {
        let graph_of = |order: &[usize]| {
            let mut builder = Graph::builder();
            let mut place = vec![0; order.len()];
            for &at in order {
                place[at] = builder.relation(10.0 + (seed * 31 + at as u64 * 977) as f64 % 5000.0, 5010.0);
            }
            for (a, b) in cycle(order.len()) {
                let values = |at: usize| 1.0 + (seed * 17 + (a * 64 + b * 8 + at) as u64 * 131) as f64 % 4000.0;
                let (x, y) = (builder.column(place[a], values(a), false), builder.column(place[b], values(b), false));
                builder.equal(x, y);
            }
            builder.build()
        };
        let one = graph_of(&[0, 1, 2, 3, 4, 5]).best().cost;
        let other = graph_of(&[4, 2, 5, 0, 3, 1]).best().cost;
        assert!((one - other).abs() <= one * 1e-9, "{one} and {other}");
    }
}

/// Part of TPC-H at scale 1: part, supplier, lineitem, partsupp.
fn of_tpch() -> Graph {
    let mut builder = Graph::builder();
    let sizes = [200_000.0, 10_000.0, 6_000_000.0, 800_000.0];
    let [part, supplier, lineitem, partsupp] = sizes.map(|rows| builder.relation(rows, rows));
    let partkeys = [part, lineitem, partsupp].map(|relation| builder.column(relation, 200_000.0, true));
    let suppkeys = [supplier, lineitem, partsupp].map(|relation| builder.column(relation, 10_000.0, true));
    builder.unique(part, vec![partkeys[0]]);
    builder.unique(supplier, vec![suppkeys[0]]);
    builder.unique(partsupp, vec![partkeys[2], suppkeys[2]]);
    for keys in [partkeys, suppkeys] {
        builder.equal(keys[0], keys[1]);
        builder.equal(keys[1], keys[2]);
    }
    builder.build()
}

#[test]
fn rows_of_keys_of_several_columns() {
    let graph = of_tpch();
    let rows = |relations: &[usize]| graph.rows(relations.iter().fold(Set::NONE, |all, at| all.with(Set::of(*at))));
    let is = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found}, not {wanted}");
    is(rows(&[0, 2]), 6_000_000.0);
    is(rows(&[2, 3]), 6_000_000.0);
    is(rows(&[0, 1, 3]), 800_000.0);
    is(rows(&[0, 1, 2, 3]), 6_000_000.0);
    is(rows(&[0, 1]), 2_000_000_000.0);
}

#[test]
fn what_nothing_connects_is_multiplied_last() {
    let mut builder = Graph::builder();
    let [a, b, c, d] = [1_000.0, 1_000.0, 3.0, 50.0].map(|rows| builder.relation(rows, rows));
    let [x, y] = [a, b].map(|relation| builder.column(relation, 1_000.0, true));
    builder.equal(x, y);
    let best = builder.build().best();
    let pair = Tree::Join(Box::new(Tree::Leaf(a)), Box::new(Tree::Leaf(b)));
    let crossed = Tree::Join(Box::new(Tree::Leaf(c)), Box::new(Tree::Leaf(d)));
    assert_eq!(best.tree, Tree::Join(Box::new(crossed), Box::new(pair)));
}

#[test]
fn edges_to_several_relations() {
    // a.x + b.y = c.z: c comes after both.
    let mut builder = Graph::builder();
    let [a, b, c] = [10.0, 20.0, 1_000.0].map(|rows| builder.relation(rows, rows));
    builder.equal_sets(Set::of(a).with(Set::of(b)), Set::of(c), 0.001);
    let graph = builder.build();
    assert_eq!(graph.components(), [graph.all()]);
    assert_eq!(graph.simple_parts(graph.all()), [Set::of(a), Set::of(b), Set::of(c)]);
    let best = graph.best();
    let products = Tree::Join(Box::new(Tree::Leaf(a)), Box::new(Tree::Leaf(b)));
    assert_eq!(best.tree, Tree::Join(Box::new(products), Box::new(Tree::Leaf(c))));
}
