use sqlparser::ast::{CopyOption, Statement};
use weft_format::{Code, Result};

use super::*;

fn only(sql: &str) -> Parsed {
    let mut parsed = parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(parsed.len(), 1, "{sql}");
    parsed.remove(0)
}

fn method_of(sql: &str) -> Option<String> {
    match only(sql) {
        Parsed::Sql { method, .. } => method,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_method_is_taken_out_of_create_table() {
    assert_eq!(method_of("CREATE TABLE t (a int) USING Column WITH (x = 1)").as_deref(), Some("column"));
    assert_eq!(method_of("CREATE TABLE t (a int) /* c */ USING\n\"Odd\"").as_deref(), Some("Odd"));
    assert_eq!(method_of("CREATE TABLE t USING column AS SELECT 1 AS a").as_deref(), Some("column"));
    assert_eq!(method_of("CREATE TABLE t AS SELECT * FROM a JOIN b USING (x)"), None);
    assert_eq!(method_of("DELETE FROM t USING u WHERE t.a = u.a"), None);
    assert_eq!(parse("CREATE TABLE t (a int) USING").unwrap_err().code(), Code::SyntaxError);
}

#[test]
fn statements_are_split_and_own_ones_known() {
    assert_eq!(parse("SELECT ';'; ; -- end;\n").unwrap().len(), 1);
    assert_eq!(parse("").unwrap().len(), 0);
    assert_eq!(only(" checkpoint ;"), Parsed::Checkpoint);
    let set = |names: Option<&[&str]>, deferred| Parsed::SetConstraints {
        names: names.map(|names| names.iter().map(|&name| name.into()).collect()),
        deferred,
    };
    assert_eq!(only("SET CONSTRAINTS ALL DEFERRED"), set(None, true));
    assert_eq!(only("set constraints A, public.\"B\" immediate"), set(Some(&["a", "B"]), false));
    for bad in ["set constraints all", "set constraints deferred", "set constraints all, a deferred"] {
        assert_eq!(parse(bad).unwrap_err().code(), Code::SyntaxError, "{bad}");
    }
    for (text, counts) in [
        ("VACUUM \"T\", b", false),
        ("vacuum (analyze, verbose) \"T\" (x), b", true),
        ("vacuum (verbose, analyze off) \"T\" (x), b", false),
        ("vacuum full analyze \"T\", b", true),
    ] {
        let Parsed::Own(Own::Vacuum(tables, with_analyze)) = only(text) else { panic!("{text}") };
        assert_eq!(with_analyze, counts, "{text}");
        assert_eq!(tables.iter().map(table_name).collect::<Result<Vec<_>>>().unwrap(), ["T", "b"], "{text}");
    }
    let Parsed::Own(Own::AlterSequence(alter)) =
        only("alter sequence s.t restart 5 increment by -2 no cycle owned by none")
    else {
        panic!("ALTER SEQUENCE is ours")
    };
    assert_eq!((alter.options.len(), alter.restart.is_some(), alter.owned_by), (2, true, Some(None)));
    for text in
        ["copy t from 'f' with (freeze on)", "copy t from 'f' (freeze, format csv)", "copy t from 'f' freeze csv"]
    {
        let Parsed::Sql { statement, .. } = only(text) else { panic!("{text}") };
        assert!(!statement.to_string().to_lowercase().contains("freeze"), "{text}");
    }
}

#[test]
fn force_array_is_an_option_of_copy() {
    for (text, expected) in [
        ("copy t to stdout (format json, force_array)", FORCE_ARRAY),
        ("copy (select force_array, (force_array) from t) to 'f' with (FORCE_ARRAY 'on', format json)", FORCE_ARRAY),
        ("copy t (force_array) to stdout (force_array false, format json)", NO_FORCE_ARRAY),
        ("copy t (force_array) from stdin (format json, encoding 'x')", "x"),
    ] {
        let Parsed::Sql { statement, .. } = only(text) else { panic!("{text}") };
        let Statement::Copy { options, .. } = &*statement else { panic!("{text}") };
        let found = options.iter().find_map(|option| match option {
            CopyOption::Encoding(name) => Some(name.as_str()),
            _ => None,
        });
        assert_eq!(found, Some(expected), "{text}");
    }
}

#[test]
fn positions_count_characters_from_one() {
    assert_eq!(parse("SELECT 'é', FROM FROM t").unwrap_err().code(), Code::SyntaxError);
    let error = parse("SELECT 1;\nSELECT 'é' frm t x y").unwrap_err();
    assert_eq!((error.code(), error.position()), (Code::SyntaxError, Some(26)), "{error}");
    assert_eq!(parse("SELECT 'open").unwrap_err().position(), Some(8));
    assert_eq!(position_of("ab\ncd", 2, 2), Some(5));
}

#[test]
fn hostile_texts_are_errors() {
    let deep = [
        format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("SELECT {}1{}", "(".repeat(500), ")".repeat(500)),
        format!("SELECT {}1", "- ".repeat(100_000)),
        format!("SELECT {}true", "NOT ".repeat(100_000)),
        format!("SELECT 1{}", " + 1".repeat(100_000)),
        format!("SELECT 1{}", "::int".repeat(100_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(100_000)),
        format!("SELECT {}1", "CASE WHEN ".repeat(50_000)),
        format!("{}SELECT 1", "EXPLAIN ".repeat(50_000)),
    ];
    for sql in &deep {
        let error = parse(sql).expect_err(&sql[..40]);
        assert!(matches!(error.code(), Code::StatementTooComplex | Code::SyntaxError), "{}: {error}", &sql[..40]);
    }
    for sql in [
        "SELECT \0",
        "\0",
        "'",
        "\"",
        "$$",
        "/*",
        "SELECT 1 1",
        ")",
        "SELECT (",
        "CREATE TABLE",
        "\u{feff}x",
        "E'\\",
        "U&'\\zz'",
    ] {
        let error = parse(sql).expect_err(sql);
        let code = if sql.contains('\0') { Code::CharacterNotInRepertoire } else { Code::SyntaxError };
        assert_eq!(error.code(), code, "{sql}: {error}");
    }
    let long = format!("INSERT INTO t VALUES {}", vec!["(1, 'abcdefghij')"; 50_000].join(", "));
    assert_eq!(parse(&long).unwrap().len(), 1);
    let wide = format!("SELECT a FROM t WHERE a IN ({})", vec!["1"; 100_000].join(", "));
    assert_eq!(parse(&wide).unwrap().len(), 1);
}

#[test]
fn nested_from_clauses_end_quickly() {
    for depth in [10, 20, 30, 40, 90] {
        let sql = format!("SELECT * FROM {}t{}", "(".repeat(depth), ")".repeat(depth));
        let _ = parse(&sql);
        let sql = format!("SELECT * FROM {}", "(".repeat(depth));
        assert!(parse(&sql).is_err());
    }
}
