//! Random documents that reach every branch.

use std::collections::BTreeMap;

use super::super::text::{compare_keys, quote};
use super::*;

/// Appends a random value in canonical text.
pub(crate) fn value(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    let kinds = if depth == 0 { 10 } else { 13 };
    match random.below(kinds) {
        0 => out.extend_from_slice(b"null"),
        1 => out.extend_from_slice(b"true"),
        2 => out.extend_from_slice(b"false"),
        3 => out.extend_from_slice(b"{}"),
        4 => out.extend_from_slice(b"[]"),
        5 | 6 => number(random, out),
        7..10 => quote(&text(random), out),
        10 => array(random, depth, out),
        _ => object(random, depth, out),
    }
}

fn array(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    out.push(b'[');
    for at in 0..1 + random.below(4) {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        value(random, depth - 1, out);
    }
    out.push(b']');
}

fn object(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    let mut members = BTreeMap::new();
    for _ in 0..1 + random.below(5) {
        let name = match random.below(20) {
            0 => text(random),
            1 => "k".repeat(300 + random.below(3) as usize),
            2 => String::new(),
            _ => ["a", "b", "c", "dd", "ee", "é", "\"", "a\n"][random.below(8) as usize].to_owned(),
        };
        let mut member = Vec::new();
        value(random, depth - 1, &mut member);
        members.insert(name, member);
    }
    let mut members: Vec<_> = members.into_iter().collect();
    members.sort_by(|(a, _), (b, _)| compare_keys(a, b));
    for (at, (name, member)) in members.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{" } else { b", " });
        quote(name, out);
        out.extend_from_slice(b": ");
        out.extend_from_slice(member);
    }
    out.push(b'}');
}

fn number(random: &mut Random, out: &mut Vec<u8>) {
    let limits = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "999999999999999999",
        "1000000000000000000",
        "0.0",
        "0.00",
        "1.50",
        "1.5",
        "-0.000000000000000001",
        "0.0000000000000000001",
        "179769313486231570000000000000000000000000000000000000000000000000000",
        "12345678.901234567890123",
    ];
    let written = match random.below(4) {
        0 => limits[random.below(limits.len() as u64) as usize].to_owned(),
        1 => (random.next() as i64 >> random.below(63)).to_string(),
        2 => format!("{}.{:02}", random.below(100), random.below(100)),
        _ => random.below(100).to_string(),
    };
    out.extend_from_slice(written.as_bytes());
}

fn text(random: &mut Random) -> String {
    let letters: Vec<char> = "abc \"\\\n\t\u{1}\u{1f}\u{7f}é漢😀\u{10ffff}".chars().collect();
    (0..random.below(12)).map(|_| letters[random.below(letters.len() as u64) as usize]).collect()
}

pub(crate) fn documents(seed: u64, rows: usize, depth: usize) -> Vec<Option<String>> {
    let mut random = Random(seed);
    let mut one = |_| {
        let mut out = Vec::new();
        match random.below(12) {
            0 => return None,
            1 => value(&mut random, depth, &mut out),
            _ => object(&mut random, depth, &mut out),
        }
        Some(String::from_utf8(out).unwrap())
    };
    (0..rows).map(&mut one).collect()
}

#[test]
fn random_documents_come_back() {
    for seed in 0..400 {
        let rows = [1, 2, 3, 20, 300, 700][seed as usize % 6];
        let texts = documents(seed, rows, 1 + seed as usize % 5);
        let refs: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        if refs.iter().all(Option::is_none) {
            continue;
        }
        let columns_max = [MANY_COLUMNS, 3, 17][seed as usize % 3];
        round_trip(&refs, columns_max);
    }
}
