use super::*;

/// The arrows of a made-up crate, as `from > to: names`, without folder and ending.
fn shown(files: &[(&str, &str)]) -> Vec<String> {
    let mut tree = vec![SourceFile::new("crates/a/Cargo.toml", "")];
    tree.extend(files.iter().map(|(path, text)| SourceFile::new(&format!("crates/a/src/{path}.rs"), text)));
    let short = |path: &str| path.strip_prefix("crates/a/src/").unwrap().trim_end_matches(".rs").to_owned();
    let arrows = arrows(&tree).remove("a").unwrap();
    let show = |((from, to), names): (&(String, String), &BTreeSet<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} > {}: {}", short(from), short(to), names.join(" "))
    };
    arrows.iter().map(show).collect()
}

/// The arrows of `txn/commit.rs`, beside a log and a timeline behind front pages.
fn of_commit(code: &str) -> Vec<String> {
    let log =
        "mod writer; pub mod reader; pub use writer::{Log, write}; pub(crate) use reader::*; pub const KINDS: u8;";
    shown(&[
        ("lib", "pub mod log; pub mod txn; pub use log::{Log as Journal, reader::Reader};"),
        ("log/mod", log),
        ("log/writer", "pub struct Log; pub fn write() {}"),
        ("log/reader", "pub struct Reader;"),
        ("txn/mod", "mod commit; mod timeline; pub use timeline::Timeline; use crate::log::Log;"),
        ("txn/timeline", "pub struct Timeline;"),
        ("txn/commit", code),
    ])
    .into_iter()
    .filter(|arrow| arrow.starts_with("txn/commit"))
    .collect()
}

#[test]
fn names_lead_to_the_files_that_define_them() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("use super::timeline::Timeline;", &["timeline: Timeline"]),
        ("use super::Timeline;", &["timeline: Timeline"]),
        ("use crate::txn::Timeline as T;", &["timeline: Timeline"]),
        ("pub(crate) fn f(a: crate::txn::Timeline) {}", &["timeline: Timeline"]),
        ("fn f() { super::Timeline::new().log() }", &["timeline: new"]),
        ("use super::timeline; fn f() -> timeline::Timeline {}", &["timeline: Timeline"]),
        ("use super::{self as above, timeline::{self, Timeline}};", &["timeline: Timeline"]),
        ("use super as above; type A = above::Timeline;", &["timeline: Timeline"]),
        ("use super::Timeline; impl Timeline { fn f() {} }", &["timeline: Timeline"]),
        // A private import of the parent is a way, too.
        ("use super::Log;", &["log/writer: Log"]),
        ("use crate::log::KINDS;", &["log/mod: KINDS"]),
        (
            "use crate::{log::{Log, KINDS, reader::Reader}};",
            &["log/mod: KINDS", "log/reader: Reader", "log/writer: Log"],
        ),
        ("use crate::Journal;", &["log/writer: Journal"]),
        ("use crate::Reader;", &["log/reader: Reader"]),
        ("use crate::log::Reader;", &["log/reader: Reader"]),
        ("use crate::log; fn f() { log::write() }", &["log/writer: write"]),
        ("use crate::log;", &[]),
        ("macro_rules! m { () => { $crate::log::write() } }", &["log/writer: write"]),
        ("fn f() { <A as crate::log::Log>::g() }", &["log/writer: Log"]),
        ("mod inner { use super::super::Timeline; use super::own; }", &["timeline: Timeline"]),
        ("mod inner { pub struct A; } fn f() { inner::A; self::inner::A; }", &[]),
        ("use std::log::Log; use weft_format::Timeline; fn f() { a.txn::<u8>() }", &[]),
        ("use ::log::Log;", &[]),
        ("static A: &'static crate::log::Log = &Log;", &["log/writer: Log"]),
        ("// crate::log::Log\nfn f() { \"crate::log::Log\"; }", &[]),
        ("#[cfg(test)] mod tests { use crate::log::Log; }\n#[cfg(doc)] use crate::log::KINDS;", &[]),
        ("#[cfg(unix)] use crate::log::Log;", &["log/writer: Log"]),
    ];
    for (code, expected) in cases {
        let prefix = |arrow: &&str| match arrow.split_once('/') {
            Some(_) => format!("txn/commit > {arrow}"),
            None => format!("txn/commit > txn/{arrow}"),
        };
        assert_eq!(of_commit(code), expected.iter().map(prefix).collect::<Vec<_>>(), "{code}");
    }
}

#[test]
fn a_front_page_that_hands_on_imports_nothing() {
    let child = ("a/b", "use super::own; pub struct B; pub fn make() {}");
    let with = |front: &str| shown(&[("lib", "mod a;"), ("a/mod", front), child]);
    let up = "a/b > a/mod: own";
    assert_eq!(with("mod b; pub use b::{B, make}; pub(crate) fn own() {}"), [up]);
    // What it uses itself it imports.
    assert_eq!(with("mod b; pub use b::{B, make}; fn own() -> B {}"), [up, "a/mod > a/b: B"]);
    assert_eq!(with("mod b; pub(super) use b::make; fn own() { make() }"), [up, "a/mod > a/b: make"]);
    assert_eq!(with("mod b; use b::B; fn own() {}"), [up, "a/mod > a/b: B"]);
    assert_eq!(with("mod b; fn own() { b::make() }"), [up, "a/mod > a/b: make"]);
    assert_eq!(with("mod b; fn own(a: A) { a.make() }"), [up]);
}

#[test]
fn an_item_and_a_module_may_bear_one_name() {
    let files = |user: &'static str| {
        [
            ("lib", "mod find; mod user; pub use find::find;"),
            ("find", "pub fn find() {} pub fn all() {}"),
            ("user", user),
        ]
    };
    for user in ["use crate::find;", "use crate::find::find;", "fn f() { crate::find() }"] {
        assert_eq!(shown(&files(user)), ["user > find: find"], "{user}");
    }
    assert_eq!(shown(&files("fn f() { crate::find::all() }")), ["user > find: all"]);
}

#[test]
fn what_is_only_for_tests_is_no_room() {
    let files = [
        ("lib", "#[cfg(test)] mod testing; mod a; mod b;"),
        ("testing", "use crate::a::A;"),
        ("a", "#[cfg(test)] mod tests; pub struct A;"),
        ("a/tests", "use crate::b::B;"),
        ("b", "use crate::a::A; pub struct B;"),
    ];
    assert_eq!(shown(&files), ["b > a: A"]);
}

#[test]
fn imports_that_go_around_end() {
    let files = [("lib", "mod a; mod b;"), ("a", "pub use crate::b::X; fn f() -> X {}"), ("b", "pub use crate::a::X;")];
    // No compiler takes this; here it is enough that the search ends.
    assert!(shown(&files).len() <= 2);
}
