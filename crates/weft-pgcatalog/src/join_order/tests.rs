//! Whatever order FROM is written in: the answer is the same, and nothing is made that the answer does not need.

use sqlparser::ast::Statement;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::plan::CatalogQuery;
use crate::snapshot::Snapshot;
use crate::wanted::tests::many;

/// The rows of a query, in some order, and how many relations were made as a whole for them.
fn asked(snapshot: &Snapshot, sql: &str) -> (Vec<String>, usize) {
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop();
    let Some(Statement::Query(query)) = parsed else { panic!("{sql} is no query") };
    let (rows, whole) = CatalogQuery::new(&query).unwrap().counted(snapshot).unwrap();
    let line = |row: &crate::value::Row| row.iter().map(|value| value.plain()).collect::<Vec<_>>().join("|");
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort();
    (lines, whole)
}

/// All orders of some items.
fn orders<'a>(items: &[&'a str]) -> Vec<Vec<&'a str>> {
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let mut all = Vec::new();
    for at in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(at);
        all.extend(orders(&rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}

#[test]
fn the_order_of_from_is_not_what_a_query_costs() {
    let snapshot = many();
    // List, items of FROM, conditions, rows; how many relations may be made as a whole.
    type Case<'a> = (&'a str, &'a [&'a str], &'a str, &'a [&'a str], usize);
    let cases: &[Case<'_>] = &[
        (
            "c.relname, c2.relname",
            &["pg_class c", "pg_class c2", "pg_index i"],
            "c.oid = '20024' AND c.oid = i.indrelid AND i.indexrelid = c2.oid",
            &["t12|t12_pkey"],
            0,
        ),
        (
            "c2.relname, con.conname",
            &[
                "pg_class c",
                "pg_class c2",
                "pg_index i LEFT JOIN pg_constraint con ON (conrelid = i.indrelid AND conindid = i.indexrelid)",
            ],
            "c.relname = 't12' AND c.oid = i.indrelid AND i.indexrelid = c2.oid",
            &["t12_pkey|t12_pkey"],
            0,
        ),
        // No table inherits: the relation is made, and has no rows.
        ("c.oid", &["pg_class c", "pg_inherits i"], "c.oid = i.inhparent AND i.inhrelid = '20024'", &[], 1),
        (
            "a.attname, n.nspname",
            &["pg_attribute a", "pg_namespace n", "pg_class c"],
            "n.oid = c.relnamespace AND a.attrelid = c.oid AND c.relname IN ('t7') AND a.attnum > 3",
            &["d|public"],
            1,
        ),
    ];
    for (list, items, conditions, expected, whole_max) in cases {
        for order in orders(items) {
            let sql = format!("SELECT {list} FROM {} WHERE {conditions}", order.join(", "));
            let (rows, whole) = asked(&snapshot, &sql);
            assert_eq!(rows, *expected, "{sql}");
            assert!(whole <= *whole_max, "{sql}: {whole} relations were made as a whole");
        }
    }
}

#[test]
fn joins_in_any_order_give_the_same_rows() {
    let snapshot = many();
    let same = [
        "SELECT t.relname, x.relname FROM pg_class t JOIN pg_index i ON i.indrelid = t.oid \
         JOIN pg_class x ON x.oid = i.indexrelid WHERE x.relname = 't5_pkey'",
        "SELECT t.relname, x.relname FROM pg_class x JOIN pg_index i ON i.indexrelid = x.oid \
         JOIN pg_class t ON t.oid = i.indrelid WHERE x.relname = 't5_pkey'",
        "SELECT t.relname, x.relname FROM pg_index i LEFT JOIN pg_class x ON x.oid = i.indexrelid \
         JOIN pg_class t ON t.oid = i.indrelid AND t.relname = 't5' WHERE x.relname IS NOT NULL",
        "SELECT t.relname, x.relname FROM pg_class t, pg_class x, LATERAL (SELECT indrelid FROM pg_index \
         WHERE indexrelid = x.oid) i WHERE i.indrelid = t.oid AND x.relname = 't5_pkey'",
    ];
    for sql in same {
        assert_eq!(asked(&snapshot, sql).0, ["t5|t5_pkey"], "{sql}");
    }
    // The rows that a LEFT JOIN keeps are tested behind it, not before.
    let without = "SELECT count(*) FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid, pg_namespace n \
                   WHERE n.oid = c.relnamespace AND n.nspname = 'public' AND i.indexrelid IS NULL";
    assert_eq!(asked(&snapshot, without).0, ["2000"]);
    let star = "SELECT * FROM pg_namespace n, pg_class c WHERE c.oid = 20024 AND n.oid = c.relnamespace";
    let (rows, _) = asked(&snapshot, star);
    assert!(rows[0].starts_with("2200|public|"), "{}", rows[0]);
}
