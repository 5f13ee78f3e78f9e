//! Clients' own queries over a small database.

use sqlparser::ast::Statement;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use weft_format::{DataType, Value};

use super::*;
use crate::rights::{Access, Role};

fn column(name: &str, data_type: DataType, not_null: bool) -> Column {
    Column {
        name: name.into(),
        data_type,
        not_null,
        dropped: false,
        domain: None,
        default: None,
        identity: None,
        generated: false,
    }
}

fn sequence(oid: u32, name: &str) -> Sequence {
    Sequence {
        oid,
        schema: PUBLIC,
        name: name.into(),
        data_type: DataType::BigInt,
        bounds: [1, 1, i64::MAX, 1, 1],
        cycle: false,
        owner: None,
    }
}

/// The figures of the moment: one sequence gave the number 7, the other one gives 42 next.
struct Numbers;

impl Figures for Numbers {
    fn table(&self, _: u32) -> (u64, u64) {
        (0, 0)
    }

    fn index(&self, _: u32) -> u64 {
        0
    }

    fn sequence(&self, oid: u32) -> Option<(i64, bool)> {
        Some(if oid == 16_410 { (7, true) } else { (42, false) })
    }

    fn columns(&self, oid: u32) -> Vec<ColumnFigures> {
        let key = ColumnFigures { number: 1, distinct: -1.0, average_bytes: 4.0, ..ColumnFigures::default() };
        let common = Some(("{0,1.50}".to_owned(), vec![0.5, 0.25]));
        let score = ColumnFigures { number: 4, null_share: 0.125, distinct: 3.0, common, ..ColumnFigures::default() };
        if oid == 16_387 { vec![key.clone(), ColumnFigures { number: 3, ..key }, score] } else { Vec::new() }
    }
}

pub(crate) fn snapshot() -> Snapshot {
    let money = DataType::Numeric { precision: 12, scale: 2 };
    let customers = Table {
        oid: 16_387,
        schema: PUBLIC,
        name: "customers".into(),
        columns: vec![
            Column {
                default: Some("nextval('customers_id_seq'::regclass)".into()),
                ..column("id", DataType::Integer, true)
            },
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
            full: false,
            set_on_delete: Vec::new(),
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
    let weft = Role {
        oid: 10,
        name: "weft".into(),
        superuser: true,
        login: true,
        password: Some("SCRAM".into()),
        ..Role::default()
    };
    let mut objects = Objects::default();
    objects.schemas = vec![(PUBLIC, "public".into()), (16_500, "shop".into())];
    objects.tables =
        vec![customers, orders, Table { oid: 16_501, schema: 16_500, name: "items".into(), ..Table::default() }];
    objects.indexes = vec![
        Index { unique: true, primary: true, constraint: true, ..pkey },
        Index { unique: true, constraint: true, ..unique },
        index(16_391, "orders_both", 16_390, &[(2, ""), (1, "")]),
    ];
    objects.views = vec![View {
        oid: 16_400,
        schema: PUBLIC,
        name: "big".into(),
        columns: vec![("id".into(), DataType::Integer)],
        query: "SELECT id FROM customers".into(),
        reads: vec![16_387],
        ..View::default()
    }];
    objects.sequences = vec![
        Sequence { owner: Some((16_387, 1, false)), ..sequence(16_410, "customers_id_seq") },
        sequence(16_411, "numbers"),
    ];
    objects.comments = [((16_387, 0), "who buys".to_owned()), ((16_387, 2), "as on the bill".to_owned())].into();
    objects.constraint_comments = vec![(16_387, "customers_score_check".into(), "no debts".into())];
    Snapshot {
        database: "weft".into(),
        user: "weft".into(),
        session_user: "weft".into(),
        version: "PostgreSQL 15".into(),
        search_path: vec![PUBLIC],
        backend: 7,
        objects: objects.indexed(),
        figures: Moment::of(std::sync::Arc::new(Numbers)),
        access: std::sync::Arc::new(Access { roles: vec![weft], ..Access::default() }),
        settings: SettingsShown::made(|| {
            vec![
                ("search_path".into(), "\"$user\", public".into(), "where names are looked for".into()),
                ("server_version_num".into(), "150010".into(), "the version".into()),
            ]
        }),
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
    let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, sql)
        .map_err(|error| weft_format::Error::new(weft_format::Code::SyntaxError, error.to_string()))?;
    let Some(Statement::Query(query)) = parsed.pop() else { panic!("{sql} is no query") };
    assert!(classify(&query) != Kind::Other, "{sql} is of the catalog");
    let bound = CatalogQuery::new(&query)?;
    let width = bound.columns().len();
    let values = bound.run(&snapshot(), &[])?;
    Ok(values.chunks(width.max(1)).map(|row| row.iter().map(shown).collect::<Vec<_>>().join("|")).collect())
}

fn rows(sql: &str) -> Vec<String> {
    run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn statistics_are_of_columns_that_are_there_and_may_be_read() {
    let sql = "SELECT tablename, attname, null_frac, avg_width, n_distinct, most_common_vals, histogram_bounds \
               FROM pg_stats WHERE tablename = 'customers'";
    assert_eq!(rows(sql), ["customers|id|0|4|-1|NULL|NULL", "customers|score|0.125|0|3|{0,1.50}|NULL"]);
    let nobody = Snapshot { user: "pg_monitor".into(), ..snapshot() };
    let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, "SELECT attname FROM pg_stats").expect("it is a query");
    let Some(Statement::Query(query)) = parsed.pop() else { panic!("it is one") };
    assert_eq!(CatalogQuery::new(&query).unwrap().run(&nobody, &[]).unwrap().len(), 0);
}

#[test]
fn relations_have_postgresqls_columns_and_numbers() {
    assert_eq!(rows("SELECT oid, relname, relkind FROM pg_class WHERE relname = 'customers'"), ["16387|customers|r"]);
    assert_eq!(
        rows("SELECT 'pg_class'::regclass::oid, 'customers'::regclass, 16501::regclass"),
        ["1259|customers|shop.items"]
    );
    assert_eq!(
        rows("SELECT attname, attnum, attisdropped FROM pg_attribute WHERE attrelid = 16387 ORDER BY 2"),
        ["id|1|f", "name|2|f", "gone|3|t", "score|4|f"]
    );
    assert_eq!(
        rows("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 16387 AND attnum = 4"),
        ["numeric(12,2)"]
    );
    assert_eq!(rows("SELECT rolname, rolpassword FROM pg_authid WHERE rolcanlogin"), ["weft|SCRAM"]);
}

#[test]
fn definitions_are_written_as_postgresql_writes_them() {
    assert_eq!(
        rows("SELECT pg_get_constraintdef(oid) FROM pg_constraint ORDER BY conname"),
        [
            "UNIQUE (name)",
            "PRIMARY KEY (id)",
            "CHECK ((score >= 0))",
            "FOREIGN KEY (customer_id) REFERENCES customers(id) ON DELETE CASCADE"
        ]
    );
    assert_eq!(
        rows("SELECT pg_get_indexdef(16391), pg_get_indexdef(16391, 2, true)"),
        ["CREATE INDEX orders_both ON public.orders USING btree (customer_id, id)|id"]
    );
    let of_constraints = "SELECT c.conname, d.description FROM pg_constraint c \
         JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_constraint'::regclass";
    assert_eq!(rows(of_constraints), ["customers_score_check|no debts"]);
    assert_eq!(
        rows("SELECT obj_description(16387, 'pg_class'), col_description(16387, 2)"),
        ["who buys|as on the bill"]
    );
}

#[test]
fn correlated_and_lateral_queries_see_the_rows_around() {
    let sql = "SELECT c.relname, (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0) \
               FROM pg_class c WHERE EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid) ORDER BY 1";
    assert_eq!(rows(sql), ["customers|4", "orders|2"]);
    let sql = "SELECT k.ord, a.attname FROM pg_index i, LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attnum, ord) \
               JOIN pg_attribute a ON a.attnum = k.attnum \
               WHERE i.indexrelid = 'orders_both'::regclass AND a.attrelid = i.indrelid ORDER BY k.ord";
    assert_eq!(rows(sql), ["1|customer_id", "2|id"]);
    assert_eq!(
        rows("SELECT ARRAY(SELECT nspname FROM pg_namespace WHERE oid > 2000 ORDER BY 1)::text"),
        ["{information_schema,public,shop}"]
    );
}

#[test]
fn vectors_begin_at_zero_and_arrays_at_one() {
    assert_eq!(rows("SELECT indkey[0], indkey[1], indkey FROM pg_index WHERE indexrelid = 16391"), ["2|1|2 1"]);
    assert_eq!(rows("SELECT conkey[1], confkey[1], conkey[0] FROM pg_constraint WHERE contype = 'f'"), ["2|1|NULL"]);
    let sql = "SELECT (information_schema._pg_expandarray(indkey)).n, (information_schema._pg_expandarray(indkey)).x \
               FROM pg_index WHERE indexrelid = 16391";
    assert_eq!(rows(sql), ["1|2", "2|1"]);
    assert_eq!(rows("SELECT generate_subscripts(indkey, 1) FROM pg_index WHERE indexrelid = 16391"), ["0", "1"]);
    assert_eq!(rows("SELECT typname[0] FROM pg_type WHERE typname = '_int4'"), ["_"]);
}

#[test]
fn outer_joins_keep_rows_and_null_is_unknown() {
    let sql = "SELECT n.nspname, c.relname FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid \
               AND c.relkind = 'v' AND c.oid > 16384 WHERE n.oid IN (2200, 16500) ORDER BY 1";
    assert_eq!(rows(sql), ["public|big", "shop|NULL"]);
    let sql = "SELECT count(*) FROM pg_namespace n FULL JOIN pg_roles r ON r.oid = n.oid";
    assert_eq!(rows(sql), ["17"]);
    assert_eq!(rows("SELECT 1 FROM pg_class WHERE NULL = ANY ('{a}'::text[]) LIMIT 1"), Vec::<String>::new());
    assert_eq!(
        rows("SELECT NULL::oid IN (1, 2), 3::oid NOT IN (1, NULL), 'x'::regproc = 'x'::regproc"),
        ["NULL|NULL|t"]
    );
}

/// Rows of a join ask for the same relation many times; its rows are made once.
#[test]
fn what_several_rows_ask_for_is_there_once() {
    let sql = "SELECT c2.relname, count(*) FROM pg_class c, pg_class c2, pg_index i LEFT JOIN pg_constraint con \
               ON con.conrelid = i.indrelid AND con.conindid = i.indexrelid AND con.contype IN ('p', 'u') \
               WHERE c.relname = 'customers' AND c.oid = i.indrelid AND i.indexrelid = c2.oid GROUP BY 1 ORDER BY 1";
    assert_eq!(rows(sql), ["customers_name_key|1", "customers_pkey|1"]);
    let sql = "SELECT a.attname FROM pg_class c JOIN pg_depend d ON c.oid = d.refobjid \
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid \
               WHERE d.classid = 'pg_class'::regclass AND d.objid = 16410 AND d.deptype IN ('a', 'i')";
    assert_eq!(rows(sql), ["id"]);
}

#[test]
fn groups_windows_sets_and_order() {
    let sql = "SELECT relkind, count(*), string_agg(relname, ',' ORDER BY relname DESC) FROM pg_class \
               WHERE oid > 16384 AND relkind <> 'S' GROUP BY relkind HAVING count(*) > 1 ORDER BY 2 DESC, relkind";
    let wanted = ["i|3|orders_both,customers_pkey,customers_name_key", "r|3|orders,items,customers"];
    assert_eq!(rows(sql), wanted);
    let sql = "SELECT row_number() OVER (PARTITION BY attrelid ORDER BY attnum DESC) FROM pg_attribute \
               WHERE attrelid = 16390 ORDER BY attnum";
    assert_eq!(rows(sql), ["2", "1"]);
    assert_eq!(rows("SELECT 1 FROM pg_am UNION SELECT 2 EXCEPT SELECT 1"), ["2"]);
    assert_eq!(
        rows("WITH a (x) AS (SELECT amname FROM pg_am) SELECT x FROM a ORDER BY x DESC LIMIT 1 OFFSET 1"),
        ["lineage"]
    );
}

#[test]
fn recursive_queries_end_when_no_rows_come() {
    let sql = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) \
               SELECT sum(n), count(*), max(version()) FROM t";
    assert_eq!(rows(sql), ["10|4|PostgreSQL 15"]);
    let sql = "WITH RECURSIVE t AS (SELECT oid, 0 AS n FROM pg_class WHERE relname = 'customers' UNION \
               SELECT c.conrelid, 1 FROM t JOIN pg_constraint c ON c.confrelid = t.oid) \
               SELECT oid::regclass FROM t ORDER BY n";
    assert_eq!(rows(sql), ["customers", "orders"]);
    let sql = "SELECT r.relname, ARRAY(WITH RECURSIVE t AS (SELECT r.oid AS at UNION ALL \
               SELECT c.conrelid FROM t x JOIN pg_constraint c ON c.confrelid = x.at WHERE c.conrelid <> x.at) \
               SELECT at::regclass FROM t)::text FROM pg_class r WHERE r.relname = 'customers'";
    assert_eq!(rows(sql), ["customers|{customers,orders}"], "it sees the row around");
    let sql = "SELECT (WITH a AS (SELECT r.relname AS n) SELECT (SELECT max(n) FROM a WHERE n = r.relname)) \
               FROM pg_class r WHERE r.oid = 16390";
    assert_eq!(rows(sql), ["orders"], "also where it is used deeper");
    assert_eq!(rows("WITH RECURSIVE t AS (SELECT version() AS v UNION SELECT v FROM t) SELECT v FROM t").len(), 1);
    assert_eq!(
        run("WITH RECURSIVE t AS (SELECT oid FROM t) SELECT * FROM t, pg_class").unwrap_err().code().sqlstate(),
        "42601"
    );
}

#[test]
fn information_schema_tells_of_keys() {
    let sql = "SELECT tc.constraint_type, kcu.column_name, ccu.table_name, ccu.column_name \
               FROM information_schema.table_constraints tc \
               JOIN information_schema.key_column_usage kcu USING (constraint_name) \
               JOIN information_schema.constraint_column_usage ccu ON ccu.constraint_name = tc.constraint_name \
               ORDER BY 1, 2";
    assert_eq!(
        rows(sql),
        ["FOREIGN KEY|customer_id|customers|id", "PRIMARY KEY|id|customers|id", "UNIQUE|name|customers|name"]
    );
    let sql = "SELECT data_type, character_maximum_length, is_nullable FROM information_schema.columns \
               WHERE table_name = 'customers' AND column_name = 'name'";
    assert_eq!(rows(sql), ["character varying|50|NO"]);
}

#[test]
fn what_is_not_there_is_an_error() {
    let code = |sql: &str| run(sql).unwrap_err().code().sqlstate();
    assert_eq!(code("SELECT regexp_count(relname, 'o') FROM pg_class"), "42883", "refused, not passed through");
    assert_eq!(code("SELECT nothing FROM pg_class"), "42703");
    assert_eq!(code("SELECT * FROM pg_catalog.pg_nothing"), "42P01");
    assert_eq!(code("SELECT 'nothing'::regclass"), "42P01");
    assert_eq!(code("SELECT pg_nothing(oid) FROM pg_class"), "42883");
    assert_eq!(code("SELECT (SELECT oid FROM pg_class)"), "21000");
    assert_eq!(rows("SELECT to_regclass('nothing')"), ["NULL"]);
}

#[test]
fn queries_of_tables_are_not_ours() {
    let is_ours = |sql: &str| match Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop() {
        Some(Statement::Query(query)) => classify(&query) != Kind::Other,
        other => panic!("{other:?}"),
    };
    assert!(!is_ours("SELECT to_char(now(), 'Month')") && !is_ours("SELECT set_config('search_path', 'x', false)"));
    assert!(is_ours("SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = 'x'"));
    for sql in ["SELECT 1", "SELECT now()", "SELECT * FROM t", "SELECT * FROM pg_mine", "SELECT nextval('s')"] {
        assert!(!is_ours(sql), "{sql}");
    }
    assert!(!is_ours("SELECT * FROM t, pg_class c WHERE c.oid = t.a"));
    assert!(is_ours("SELECT version()") && is_ours("SELECT * FROM information_schema.tables"));
}

#[test]
fn constants_are_told_from_what_is_asked_of_the_catalog() {
    let kind = |sql: &str| match Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap().pop() {
        Some(Statement::Query(query)) => classify(&query),
        other => panic!("{other:?}"),
    };
    for sql in [
        "SELECT version(), 0.1 + 0.2",
        "SELECT current_user = 'ann', upper(current_setting('timezone'))",
        "SELECT 'pg_class'::regclass, to_regclass('t') IS NULL, 'pg_class'::regclass::oid + 1",
        "SELECT has_schema_privilege(current_user, 'public', 'USAGE')::int + 1",
        "SELECT pg_typeof(1 + 1.5) FROM generate_series(1, 2)",
    ] {
        assert_eq!(kind(sql), Kind::Constants, "{sql}");
    }
    for sql in [
        "SELECT 0.5 FROM pg_class",
        "SELECT current_setting($1)",
        "SELECT 'pg_class'::regclass = 1259",
        "SELECT current_user = ANY (ARRAY['ann']::name[])",
        "SELECT pg_cancel_backend(1)",
    ] {
        assert_eq!(kind(sql), Kind::Catalog, "{sql}");
    }
    let of_the_table = "SELECT quote_ident(x) FROM (VALUES ('a b')) v (x)";
    for sql in ["SELECT now()", "SELECT x FROM t WHERE x = current_user", of_the_table] {
        assert_eq!(kind(sql), Kind::Other, "{sql}");
    }
    let of_session = |sql: &str| match Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr() {
        Ok(expr) => is_constant(&expr) && is_of_session(&expr),
        Err(error) => panic!("{error}"),
    };
    assert!(of_session("version()") && of_session("current_user") && of_session("current_database()"));
    let late = |sql: &str| match Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr() {
        Ok(expr) => is_constant(&expr) && is_computed_late(&expr),
        Err(error) => panic!("{error}"),
    };
    assert!(late("current_setting('nope')") && late("has_table_privilege('t', 'SELECT')"));
    assert!(!late("'t'::regclass::text") && !late("pg_relation_size('t')"));
    assert!(!of_session("'t'::regclass") && !of_session("pg_relation_size('t')") && !of_session("lower('A')"));
}

#[test]
fn an_expression_beside_a_relation_is_right_or_refused() {
    let ask = |expr: &str| rows(&format!("SELECT {expr} FROM pg_class WHERE relname = 'pg_class'"));
    assert_eq!(ask("round(-2.567, 2)"), ["-2.57"]);
    assert_eq!(ask("round(2.5::float8)"), ["2"]);
    assert_eq!(ask("1 - 2147483648"), ["-2147483647"]);
    assert_eq!(ask("'2024-02-29'::date"), ["2024-02-29"]);
    let code = |expr: &str| {
        let sql = format!("SELECT {expr} FROM pg_class WHERE relname = 'pg_class'");
        run(&sql).unwrap_err().code().sqlstate()
    };
    assert_eq!(code("2147483647 + 1"), "22003");
    assert_eq!(code("(-32768)::smallint - 1::smallint"), "22003");
    assert_eq!(code("3000000000::integer"), "22003");
    assert_eq!(code("'2024-02-31'::date"), "22008");
    assert_eq!(code("'zz'::uuid"), "22P02");
    assert_eq!(code("0.1 + 0.2"), "0A000");
    assert_eq!(code("sum(0.1)"), "0A000");
    assert_eq!(code("1.505::numeric(10,2)"), "0A000");
    assert_eq!(code(&format!("'{}cc' ~ '^((a|aa)+b|a+cc)$'", "a".repeat(54))), "54001");
}

#[test]
fn what_is_named_is_there_and_what_is_numbered_may_be_gone() {
    let code = |sql: &str| run(sql).unwrap_err().code().sqlstate();
    for function in ["pg_relation_size", "pg_table_size", "pg_total_relation_size", "pg_indexes_size"] {
        assert_eq!(code(&format!("SELECT {function}('nope')")), "42P01", "{function}");
        assert_eq!(rows(&format!("SELECT {function}(99999), {function}('customers')")), ["NULL|0"], "{function}");
    }
    assert_eq!(code("SELECT pg_get_viewdef('nope')"), "42P01");
    assert_eq!(rows("SELECT pg_get_viewdef(99999), pg_get_viewdef('big')"), ["NULL| SELECT id FROM customers;"]);
    assert_eq!(code("SELECT pg_get_serial_sequence('nope', 'id')"), "42P01");
    assert_eq!(code("SELECT pg_get_serial_sequence('customers', 'ID')"), "42703");
    assert_eq!(code("SELECT pg_get_serial_sequence('customers', '\"id\"')"), "42703");
    let found = rows("SELECT pg_get_serial_sequence('customers', 'id'), pg_get_serial_sequence('customers', 'name')");
    assert_eq!(found, ["public.customers_id_seq|NULL"]);
}

#[test]
fn a_backslash_in_a_quoted_literal_is_doubled() {
    let of_catalog = |list: &str| rows(&format!("SELECT {list} FROM pg_database"));
    assert_eq!(of_catalog(r"quote_literal(E'a\\b''c'), quote_literal('it''s')"), [r"E'a\\b''c'|'it''s'"]);
    assert_eq!(of_catalog(r"quote_nullable(E'a\\b'), quote_nullable(NULL)"), [r"E'a\\b'|NULL"]);
    assert_eq!(rows(r"SELECT format('%L %L', E'a\\b', NULL), version() IS NULL"), [r"E'a\\b' NULL|f"]);
}

#[test]
fn a_sequence_tells_where_it_is_and_a_view_what_it_reads() {
    let sequences = "SELECT c.relname, s.last_value, s.is_called FROM pg_class c, pg_get_sequence_data(c.oid) s \
                     WHERE c.relkind = 'S' ORDER BY 1";
    assert_eq!(rows(sequences), ["customers_id_seq|7|t", "numbers|42|f"]);
    let last = "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1";
    assert_eq!(rows(last), ["customers_id_seq|7", "numbers|NULL"]);
    let views = "SELECT c.relname, r FROM pg_class c, weft_view_reads(c.oid) r WHERE c.relkind = 'v'";
    assert_eq!(rows(&format!("{views} AND c.oid >= 16384")), ["big|16387"]);
}

/// What psql 15, SQLAlchemy 2, npgsql and pgbench send. What pgjdbc, DBeaver, pgAdmin, Metabase and Grafana ask stands
/// with its answers in tests/tools.
#[test]
fn queries_of_clients_run() {
    let mut failed = 0;
    for sql in include_str!("../data/client_queries.txt").split(";;\n").filter(|sql| !sql.trim().is_empty()) {
        if let Err(error) = run(sql) {
            failed += 1;
            println!("{error}\n    {sql}\n");
        }
    }
    assert_eq!(failed, 0);
}
