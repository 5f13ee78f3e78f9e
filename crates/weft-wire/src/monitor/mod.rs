//! Answers for whoever watches a program: a page in Prometheus' text format, over as much of HTTP/1.1 as a probe needs.
//!
//! ```text
//!   curl 127.0.0.1:9187/health      200 ok        503 and why not
//!   curl 127.0.0.1:9187/metrics     Prometheus' text format
//! ```
//!
//! 1. A request is at most 8 KiB and takes at most a few seconds; requests are answered one after the other, by one
//!    thread: who watches cannot load the program.

mod http;
mod page;

use std::collections::{BTreeMap, BTreeSet};

pub use http::{Answer, Responder};
pub use page::{Labels, Page};

/// The samples of a page; a reader of the format for tests, strict about what scrapers are strict about.
///
/// # Panics
///
/// On a page that is none.
#[allow(clippy::unwrap_used, reason = "it is for tests")]
pub fn samples(page: &str) -> BTreeMap<String, f64> {
    let (mut kinds, mut seen): (BTreeMap<String, String>, BTreeSet<String>) = Default::default();
    let mut samples = BTreeMap::new();
    let mut family = String::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.into(), kind.into()).is_none(), "{name} begins twice");
            family = name.into();
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap();
        let name = key.split('{').next().unwrap();
        assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        let base = match kinds[&family].as_str() {
            "histogram" => ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap(),
            "counter" => {
                assert!(name.ends_with("_total"), "{name} is a counter");
                name
            }
            _ => name,
        };
        assert_eq!(base, family, "samples stand below their family");
        assert!(key.find('{').is_none_or(|_| key.ends_with('}')), "{line}");
        assert!(seen.insert(key.into()), "{key} comes twice");
        samples.insert(key.into(), value.parse().unwrap());
    }
    samples
}
