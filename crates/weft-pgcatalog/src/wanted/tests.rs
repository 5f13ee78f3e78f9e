//! That asking for rows gives just those, and looks at no more than it has to.

use sqlparser::ast::Statement;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use weft_format::{DataType, Value};

use crate::declared;
use crate::offered::CatalogRelation;
use crate::relations::{rows_of, wanted_rows};
use crate::snapshot::{PUBLIC, Snapshot};
use crate::tests::snapshot;
use crate::value::{Datum, Row};
use crate::{CatalogQuery, Column, Index, Objects, Table, Wanted};

fn by_hand(rows: &[Row], place: usize, value: &Datum) -> Vec<Row> {
    rows.iter().filter(|row| row[place] == *value).cloned().collect()
}

/// Of each relation, each column and each value that it has.
#[test]
fn rows_that_are_asked_for_are_those_that_have_the_value() {
    let snapshot = snapshot();
    let mut asked = 0;
    for relation in declared::all() {
        let all = rows_of(relation, &snapshot);
        for (place, (name, _)) in relation.columns.iter().enumerate() {
            let mut seen: Vec<&Datum> = Vec::new();
            for row in &all {
                let value = &row[place];
                if !matches!(value, Datum::Int(_) | Datum::Text(_) | Datum::Bool(_)) || seen.contains(&value) {
                    continue;
                }
                if seen.len() == 12 {
                    break;
                }
                seen.push(value);
                let mut wanted = Wanted::default();
                wanted.any_of(name, vec![value.clone()]);
                let (mut found, _) = wanted_rows(relation, &snapshot, &wanted);
                let mut expected = by_hand(&all, place, value);
                let key = |row: &Row| format!("{row:?}");
                found.sort_by_key(key);
                expected.sort_by_key(key);
                assert!(found == expected, "{} WHERE {name} = {value:?}", relation.name);
                asked += 1;
            }
        }
    }
    assert!(asked > 800, "{asked} questions");
}

/// Queries of a catalog of 2,000 tables for which no relation is made as a whole.
#[test]
fn queries_of_clients_ask_for_what_they_need() {
    let snapshot = many();
    let cases = [
        ("SELECT c.oid FROM pg_class c WHERE c.oid = '20024'", "20024"),
        (
            "SELECT c.relname FROM pg_class c LEFT JOIN pg_class t ON c.reltoastrelid = t.oid WHERE c.oid = '20024'",
            "t12",
        ),
        (
            "SELECT c.oid FROM pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(t12)$' \
             AND pg_table_is_visible(c.oid)",
            "20024",
        ),
        ("SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname = 't12'", "4"),
        ("SELECT count(*) FROM pg_index i, pg_class c WHERE i.indrelid = '20024' AND c.oid = i.indexrelid", "1"),
        (
            "SELECT (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid) FROM pg_class c WHERE c.oid = 20024",
            "4",
        ),
    ];
    for (sql, expected) in cases {
        let parsed = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop();
        let Some(Statement::Query(query)) = parsed else { panic!("{sql} is no query") };
        let (rows, whole) = CatalogQuery::new(&query).unwrap().counted(&snapshot).unwrap();
        assert_eq!(rows.iter().map(|row| row[0].plain()).collect::<Vec<_>>(), [expected], "{sql}");
        assert_eq!(whole, 0, "{sql}: relations that were made as a whole");
    }
}

/// 2,000 tables of four columns with a key each.
pub(crate) fn many() -> Snapshot {
    let column = |name: &str| Column {
        name: name.into(),
        data_type: DataType::Integer,
        not_null: false,
        dropped: false,
        domain: None,
        default: None,
        identity: None,
        generated: false,
    };
    let mut objects = Objects::default();
    objects.schemas = vec![(PUBLIC, "public".into())];
    for number in 0..2000 {
        let (oid, name) = (20_000 + 2 * number, format!("t{number}"));
        objects.indexes.push(Index {
            oid: oid + 1,
            schema: PUBLIC,
            name: format!("{name}_pkey"),
            table: oid,
            parts: vec![(1, String::new())],
            unique: true,
            primary: true,
            constraint: true,
            ..Index::default()
        });
        let columns = ["a", "b", "c", "d"].map(column).into();
        objects.tables.push(Table { oid, schema: PUBLIC, name, columns, method: "row".into(), ..Table::default() });
    }
    Snapshot { search_path: vec![PUBLIC], objects: objects.indexed(), ..Snapshot::default() }
}

#[test]
fn what_is_made_follows_the_answer_and_not_the_catalog() {
    let snapshot = many();
    let text = |text: &str| Value::Text(text.into());
    let oid = Value::Int(20_024);
    let cases: &[(&str, &str, Value, usize, usize)] = &[
        ("pg_class", "oid", oid.clone(), 1, 2),
        ("pg_class", "relname", text("t12"), 1, 2),
        ("pg_class", "relname", text("t12_pkey"), 1, 1),
        ("pg_class", "relname", text("nothing"), 0, 0),
        ("pg_attribute", "attrelid", oid.clone(), 4, 5),
        ("pg_index", "indrelid", oid.clone(), 1, 1),
        ("pg_index", "indexrelid", Value::Int(20_025), 1, 1),
        ("pg_constraint", "conrelid", oid.clone(), 1, 1),
        ("pg_constraint", "oid", Value::Int(0x4000_0000 + 20_024 * 128), 1, 1),
        ("pg_type", "typrelid", oid, 1, 200),
        ("pg_tables", "tablename", text("t12"), 1, 1),
        ("pg_indexes", "tablename", text("t12"), 1, 1),
        ("pg_stat_user_tables", "relid", Value::Int(20_024), 1, 1),
    ];
    for (relation, column, value, rows, made_max) in cases {
        let mut wanted = Wanted::default();
        wanted.equal(column, std::slice::from_ref(value));
        let found = CatalogRelation::find(None, relation).unwrap().rows(&snapshot, &wanted, &[0]);
        assert_eq!(found.count, *rows, "{relation} WHERE {column} = {value:?}");
        assert!(found.made <= *made_max, "{relation} WHERE {column} = {value:?}: {} rows made", found.made);
    }
    for (relation, name) in [("tables", "t12"), ("columns", "t12")] {
        let mut wanted = Wanted::default();
        wanted.equal("table_name", &[text(name)]);
        let relation = CatalogRelation::find(Some("information_schema"), relation).unwrap();
        let found = relation.rows(&snapshot, &wanted, &[0]);
        assert!(found.made == found.count && found.count <= 4, "{relation:?}: {} rows made", found.made);
    }
    assert!(CatalogRelation::find(None, "pg_class").unwrap().rows(&snapshot, &Wanted::default(), &[]).count > 4000);
}
