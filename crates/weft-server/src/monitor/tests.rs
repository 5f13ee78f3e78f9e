use super::text::Page;
use std::collections::{BTreeMap, BTreeSet};

/// A reader of the format, strict about what scrapers are strict about.
fn samples(page: &str) -> BTreeMap<String, f64> {
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

#[test]
fn the_page_reads_as_the_format() {
    let mut page = Page::default();
    page.single("a", "gauge", "One.", 1.5);
    page.family("b", "histogram", "Two.");
    page.histogram("b", &[("x", "q\"\\\n")], &[1, 2, 3], 4_000_000_000);
    let read = samples(&page.finish());
    assert_eq!(read["a"], 1.5);
    let of = |end: &str| read[&format!("b{end}")];
    assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"0.000001\"}"), 1.0);
    assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"0.000002\"}"), 3.0);
    assert_eq!(of("_bucket{x=\"q\\\"\\\\\\n\",le=\"+Inf\"}"), 6.0);
    assert_eq!((of("_count{x=\"q\\\"\\\\\\n\"}"), of("_sum{x=\"q\\\"\\\\\\n\"}")), (6.0, 4.0));
}

#[test]
fn the_numbers_move_as_they_should() {
    let dir = tempfile::tempdir().unwrap();
    let database = weft::Database::open(dir.path().join("db")).unwrap();
    let read = || samples(&super::metrics::render(Some(&database), std::time::Duration::from_secs(1), true));
    let mut session = database.session().unwrap();
    session.execute("CREATE TABLE t (id int PRIMARY KEY, a int)").unwrap();
    let before = read();
    session.execute("INSERT INTO t VALUES (1, 1)").unwrap();
    session.execute("INSERT INTO t VALUES (2, 1)").unwrap();
    session.execute("SELECT a FROM t WHERE id = 1").unwrap();
    session.execute("SELECT sum(a) FROM t").unwrap();
    assert!(session.execute("INSERT INTO t VALUES (1, 1)").is_err());
    session.execute("BEGIN").unwrap();
    let inside = read();
    session.execute("ROLLBACK").unwrap();
    let after = read();
    let grew = |name: &str| after[name] - before[name];
    assert_eq!(grew("weft_statement_seconds_count{engine=\"point\"}"), 4.0);
    assert_eq!(grew("weft_statement_seconds_count{engine=\"query\"}"), 1.0);
    assert_eq!(grew("weft_statement_seconds_count{engine=\"utility\"}"), 2.0);
    assert_eq!(grew("weft_transactions_total{outcome=\"committed\"}"), 4.0);
    assert_eq!(grew("weft_transactions_total{outcome=\"rolled_back\"}"), 2.0);
    assert_eq!(grew("weft_statements_failed_total"), 1.0);
    assert_eq!(grew("weft_log_commits_total"), 2.0);
    assert_eq!(grew("weft_log_write_seconds_count"), 2.0);
    assert!(grew("weft_log_bytes_total") > 0.0 && grew("weft_log_write_seconds_sum") > 0.0);
    assert_eq!(inside["weft_sessions{state=\"idle in transaction\"}"], 1.0);
    assert_eq!(after["weft_sessions{state=\"idle in transaction\"}"], 0.0);
    assert!(after.keys().any(|key| key.starts_with("weft_table_rows{table=\"t\"")));
    drop(session);
    assert_eq!(
        read()["weft_transactions_total{outcome=\"committed\"}"],
        after["weft_transactions_total{outcome=\"committed\"}"]
    );
    database.close().unwrap();
}
