//! Files of a crate that import each other in a circle: none of them can be read, tested or moved without the others.
//!
//! ```text
//!   txn/commit ─▶ timeline        no circle
//!   services ─▶ timeline ─▶ scan ─▶ services        one circle of three files
//! ```
//!
//! 1. A circle is a largest set of at least two files each of which reaches each other one by [arrows](Arrows).
//! 2. No crate has one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::imports::Arrows;

/// The circles of a crate, the largest first, each with its files in order.
pub fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|&from| (from, reach(&next, from))).collect();
    let is_round = |a: &str, b: &str| reached.get(a).is_some_and(|onward| onward.contains(b));
    let mut circles: Vec<Vec<String>> = Vec::new();
    for &file in reached.keys().filter(|file| is_round(file, file)) {
        if !circles.iter().flatten().any(|seen| seen == file) {
            let circle = reached[file].iter().filter(|other| is_round(other, file));
            circles.push(circle.map(|file| (*file).to_owned()).collect());
        }
    }
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}

/// All that is reached from a file by at least one arrow.
fn reach<'a>(next: &BTreeMap<&'a str, Vec<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for to in next.get(file).into_iter().flatten() {
            if reached.insert(*to) {
                open.push(to);
            }
        }
    }
    reached
}

/// A complaint for each crate with circles.
pub fn complaints(crates: &BTreeMap<String, Arrows>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, arrows) in crates {
        let circles = circles(arrows);
        if !circles.is_empty() {
            let count: usize = circles.iter().map(Vec::len).sum();
            let shown: String = circles.iter().map(|circle| shown(arrows, circle)).collect();
            let remedy = "move what both need down, or pass it in";
            complaints.push(format!("{name}: {count} files lie in circles; {remedy}:\n{shown}"));
        }
    }
    complaints
}

/// A circle's arrows, one line each.
fn shown(arrows: &Arrows, circle: &[String]) -> String {
    let mut text = format!("  a circle of {}:\n", circle.len());
    let is_inside = |file: &String| circle.contains(file);
    for ((from, to), names) in arrows.iter().filter(|((from, to), _)| is_inside(from) && is_inside(to)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        writeln!(text, "    {from} -> {to}: {}", names.join(", ")).expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrows(pairs: &[&str]) -> Arrows {
        let arrow = |pair: &&str| {
            let (from, to) = pair.split_at(1);
            ((from.to_owned(), to.to_owned()), BTreeSet::from(["X".to_owned()]))
        };
        pairs.iter().map(arrow).collect()
    }

    #[test]
    fn circles_are_found() {
        let cases: &[(&[&str], &[&str])] = &[
            (&[], &[]),
            (&["ab", "bc", "ac"], &[]),
            (&["ab", "ba"], &["ab"]),
            (&["ab", "bc", "ca", "cd", "xa"], &["abc"]),
            (&["ab", "ba", "bc", "cd", "de", "ec"], &["cde", "ab"]),
            (&["ab", "bc", "cb", "ca"], &["abc"]),
        ];
        for (pairs, expected) in cases {
            let found: Vec<String> = circles(&arrows(pairs)).into_iter().map(|circle| circle.concat()).collect();
            assert_eq!(found, *expected, "{pairs:?}");
        }
    }

    #[test]
    fn each_circle_is_told_with_its_arrows() {
        let crates = BTreeMap::from([
            ("weft-env".to_owned(), arrows(&["ab", "ba", "ca"])),
            ("weft-expr".to_owned(), arrows(&["ab"])),
        ]);
        let told = complaints(&crates);
        assert!(told.len() == 1 && told[0].starts_with("weft-env: 2 files"), "{told:?}");
        assert!(told[0].contains("    a -> b: X\n    b -> a: X\n"), "{told:?}");
    }
}
