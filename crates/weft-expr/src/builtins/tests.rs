//! Tests of the table as a whole.

use std::collections::HashMap;

use super::builtin::{Arg, Gives};
use super::table::all;

#[test]
fn numbers_are_given_once() {
    let mut known: HashMap<u32, &str> = HashMap::new();
    for builtin in all() {
        let before = known.insert(builtin.oid, builtin.name);
        assert_eq!(before, None, "{} and {before:?} have number {}", builtin.name, builtin.oid);
    }
}

#[test]
fn signatures_differ() {
    let mut known = Vec::new();
    for builtin in all() {
        let row = (builtin.name, format!("{:?}", builtin.args));
        assert!(!known.contains(&row), "{row:?} stands twice in the table");
        known.push(row);
    }
}

#[test]
fn what_has_many_rows_gives_an_array() {
    for builtin in all().filter(|builtin| builtin.is_set) {
        if let Gives::Of(data_type) = builtin.gives {
            assert!(data_type.element().is_some(), "{} gives rows", builtin.name);
        }
    }
}

#[test]
fn who_is_variadic_has_an_argument() {
    assert!(all().filter(|builtin| builtin.is_variadic).all(|builtin| !builtin.args.is_empty()));
    assert!(all().all(|builtin| builtin.args.iter().all(|arg| *arg != Arg::AnyElement || builtin.args.len() > 1)));
}
