//! Clients' own queries over a small database.

use sqlparser::ast::Statement;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use weft_format::{DataType, Value};

use super::*;

fn column(name: &str, data_type: DataType, not_null: bool) -> Column {
    Column { name: name.into(), data_type, not_null, dropped: false, default: None, identity: None }
}

fn snapshot() -> Snapshot {
    let money = DataType::Numeric { precision: 12, scale: 2 };
    let customers = Table {
        oid: 16_387,
        schema: PUBLIC,
        name: "customers".into(),
        columns: vec![
            Column { default: Some("nextval('customers_id_seq'::regclass)".into()), ..column("id", DataType::Integer, true) },
            column("name", DataType::Varchar(50), true),
            Column { dropped: true, ..column("gone", DataType::Text, false) },
            Column { default: Some("0".into()), ..column("score", money, false) },
        ],
        primary_key: Some(("customers_pkey".into(), vec![1])),
        checks: vec![("customers_score_check".into(), "(score >= 0)".into())],
        method: "row".into(),
        ..Table::default()
    };
    let orders = Table {
        oid: 16_390,
        schema: PUBLIC,
        name: "orders".into(),
        columns: vec![
            Column { identity: Some(true), ..column("id", DataType::Integer, true) },
            column("customer_id", DataType::Integer, true),
        ],
        foreign_keys: vec![ForeignKey {
            name: "orders_customer_id_fkey".into(),
            columns: vec![2],
            parent: 16_387,
            parent_columns: vec![1],
            on_delete: 'c',
            on_update: 'a',
            deferrable: (false, false),
        }],
        method: "row".into(),
        ..Table::default()
    };
    let index = |oid, name: &str, table, parts: &[(i64, &str)]| Index {
        oid,
        schema: PUBLIC,
        name: name.into(),
        table,
        parts: parts.iter().map(|(number, text)| (*number, (*text).to_owned())).collect(),
        ..Index::default()
    };
    let pkey = index(16_388, "customers_pkey", 16_387, &[(1, "")]);
    let unique = index(16_389, "customers_name_key", 16_387, &[(2, "")]);
    Snapshot {
        database: "weft".into(),
        user: "weft".into(),
        version: "PostgreSQL 15".into(),
        search_path: vec![PUBLIC],
        backend: 7,
        schemas: vec![(PUBLIC, "public".into()), (16_500, "shop".into())],
        tables: vec![
            customers,
            orders,
            Table { oid: 16_501, schema: 16_500, name: "items".into(), ..Table::default() },
        ],
        indexes: vec![
            Index { unique: true, primary: true, constraint: true, ..pkey },
            Index { unique: true, constraint: true, ..unique },
            index(16_391, "orders_both", 16_390, &[(2, ""), (1, "")]),
        ],
        views: vec![View {
            oid: 16_400,
            schema: PUBLIC,
            name: "big".into(),
            columns: vec![("id".into(), DataType::Integer)],
            query: "SELECT id FROM customers".into(),
        }],
        comments: [((16_387, 0), "who buys".to_owned()), ((16_387, 2), "as on the bill".to_owned())].into(),
        roles: vec![Role { name: "weft".into(), superuser: true, login: true }],
        ..Snapshot::default()
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bool(value) => if *value { "t" } else { "f" }.into(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

fn run(sql: &str) -> weft_format::Result<Vec<String>> {
    let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, sql).map_err(|error| {
        weft_format::Error::new(weft_format::Code::SyntaxError, error.to_string())
    })?;
    let Some(Statement::Query(query)) = parsed.pop() else { panic!("{sql} is no query") };
    assert!(is_of_catalog(&query), "{sql} is of the catalog");
    let bound = CatalogQuery::new(&query)?;
    let width = bound.columns().len();
    let values = bound.run(&snapshot(), &[])?;
    Ok(values.chunks(width.max(1)).map(|row| row.iter().map(shown).collect::<Vec<_>>().join("|")).collect())
}

fn rows(sql: &str) -> Vec<String> {
    run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn queries_of_clients_run() {
    let Ok(dir) = std::env::var("WEFT_CATALOG_QUERIES") else { return };
    let text = std::fs::read_to_string(dir).unwrap();
    let mut failed = 0;
    for sql in text.split("\u{1}").filter(|sql| !sql.trim().is_empty()) {
        let result = std::panic::catch_unwind(|| run(sql));
        match result {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                failed += 1;
                println!("{error}\n    {sql}\n");
            }
            Err(_) => {
                failed += 1;
                println!("PANIC {sql}");
            }
        }
    }
    assert_eq!(failed, 0);
}
