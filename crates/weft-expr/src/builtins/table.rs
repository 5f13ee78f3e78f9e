//! The table, room by room.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::arrays;
use super::bits;
use super::builtin::{Builtin, Volatility};
use super::enums;
use super::formatting;
use super::internal;
use super::jsonpath;
use super::jsons;
use super::math;
use super::moments;
use super::patterns;
use super::series;
use super::strings;
use super::system;

/// The rooms' rows.
const ROOMS: &[&[Builtin]] = &[
    formatting::ROWS,
    internal::ROWS,
    math::ROWS,
    strings::ROWS,
    moments::ROWS,
    patterns::ROWS,
    arrays::ROWS,
    bits::ROWS,
    enums::ROWS,
    jsons::ROWS,
    jsonpath::ROWS,
    jsonpath::SQL_ROWS,
    series::ROWS,
    system::ROWS,
];

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Builtin>>> = LazyLock::new(|| {
    let mut all: HashMap<&'static str, Vec<&'static Builtin>> = HashMap::new();
    for builtin in ROOMS.iter().copied().flatten() {
        all.entry(builtin.name).or_default().push(builtin);
    }
    all
});

static BY_OID: LazyLock<HashMap<u32, &'static Builtin>> =
    LazyLock::new(|| ROOMS.iter().copied().flatten().map(|builtin| (builtin.oid, builtin)).collect());

/// The functions of a name, which is folded.
pub(super) fn named(name: &str) -> impl Iterator<Item = &'static Builtin> {
    BY_NAME.get(name).into_iter().flatten().copied()
}

/// Whether there is a function of a name, which is folded.
pub fn is_known(name: &str) -> bool {
    BY_NAME.contains_key(name)
}

/// Whether a function of a name has many rows.
pub fn gives_rows(name: &str) -> bool {
    named(name).any(|builtin| builtin.is_set)
}

/// The function of a number.
pub fn by_oid(oid: u32) -> Option<&'static Builtin> {
    BY_OID.get(&oid).copied()
}

/// How the results of the functions of a name depend on more than the arguments: the most that one of them says.
pub fn volatility(name: &str) -> Volatility {
    named(name).map(|builtin| builtin.volatility).max().unwrap_or(Volatility::Immutable)
}

/// All names in order, each once.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = BY_NAME.keys().copied().collect();
    names.sort_unstable();
    names
}

/// All functions that users call, in the order of the rooms.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    ROOMS.iter().copied().flatten().filter(|builtin| builtin.oid < internal::FIRST)
}
