//! What is known of columns decides in which order a query is run, and never what it answers: with a planted fault that
//! makes nonsense of it every answer is the same.
#![cfg(feature = "faults")]
#![allow(clippy::disallowed_methods, reason = "a test makes its own directory")]

use std::path::Path;

use weft_env::Env;
use weft_format::Value;
use weft_kernel::fault::{Fault, plant};
use weft_kernel::{Engine, EngineOptions};
use weft_sql::{Session, SqlEngine, SqlOptions};

const QUERIES: [&str; 12] = [
    "SELECT count(*), sum(f.n), min(d.name) FROM facts f JOIN days d ON f.day = d.day WHERE d.month = 3",
    "SELECT p.kind, count(*) FROM facts f, parts p, days d WHERE f.part = p.part AND f.day = d.day AND p.size < 20 \
     GROUP BY p.kind ORDER BY 1",
    "SELECT count(*) FROM facts f LEFT JOIN parts p ON f.part = p.part AND p.size = 7 WHERE p.part IS NULL",
    "SELECT count(*) FROM parts p WHERE EXISTS (SELECT 1 FROM facts f WHERE f.part = p.part AND f.n > 990)",
    "SELECT count(*) FROM parts p WHERE p.part NOT IN (SELECT part FROM facts WHERE n % 7 = 0)",
    "SELECT kind, count(DISTINCT size) FROM parts WHERE kind LIKE 'k%' GROUP BY kind ORDER BY kind",
    "SELECT f.k FROM facts f JOIN days d ON f.day = d.day WHERE d.name = 'd17' ORDER BY 1 LIMIT 5",
    "SELECT count(*) FROM facts a JOIN facts b ON a.part = b.part AND a.k < b.k WHERE a.day BETWEEN 3 AND 5",
    "SELECT d.month, max(f.n) FROM days d JOIN facts f USING (day) WHERE f.part IN (1, 2, 3, 4000) GROUP BY 1 \
     ORDER BY 1",
    "SELECT count(*) FROM facts WHERE part > 1000000 OR day < -1",
    "SELECT count(*) FROM facts f FULL JOIN parts p ON f.part = p.part WHERE coalesce(p.size, 0) <> 3",
    "SELECT x.month, y.kind, count(*) FROM facts f JOIN days x ON f.day = x.day JOIN parts y ON f.part = y.part \
     WHERE y.kind = 'k1' AND x.month > 6 GROUP BY 1, 2 ORDER BY 1, 2",
];

fn answers(session: &mut Session) -> Vec<Vec<Vec<Value>>> {
    let answer = |text: &&str| session.execute(text).expect(text).pop().expect("an outcome").rows.iter().collect();
    QUERIES.iter().map(answer).collect()
}

#[test]
fn what_is_known_of_columns_changes_no_answer() {
    let dir = std::env::temp_dir().join(format!("weft-nonsense-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let found = ["column", "row", "lineage"].map(|method| of_method(&dir.join(method), method));
    let _ = std::fs::remove_dir_all(&dir);
    assert!(found.iter().all(|answers| *answers == found[0]), "every method answers alike");
}

/// The answers, which are the same with nonsense.
fn of_method(dir: &Path, method: &str) -> Vec<Vec<Vec<Value>>> {
    std::fs::create_dir_all(dir).expect("the temporary directory is writable");
    let methods = vec![weft_tables::column_method(), weft_tables::row_method(), weft_tables::lineage_method()];
    let kernel = Engine::open(Env::real(), dir, methods, EngineOptions::default()).expect("opens");
    let sql = SqlEngine::new(kernel.clone(), SqlOptions::new(weft_query::query_engine));
    let session = || {
        let mut session = sql.session();
        session.set("engine", "query").expect("the setting exists");
        session
    };
    let made = [
        format!("CREATE TABLE facts (k int PRIMARY KEY, day int, part int, n int) USING {method}"),
        format!("CREATE TABLE days (day int PRIMARY KEY, month int, name text) USING {method}"),
        format!("CREATE TABLE parts (part int PRIMARY KEY, size int, kind text) USING {method}"),
        "INSERT INTO days SELECT i, i / 30 + 1, 'd' || i FROM generate_series(0, 359) AS g(i)".to_owned(),
        "INSERT INTO parts SELECT i, i % 50, 'k' || i % 5 FROM generate_series(0, 499) AS g(i)".to_owned(),
        "INSERT INTO facts SELECT i, i % 360, (i * i) % 611, i * 7 % 1000 FROM generate_series(1, 4000) AS g(i)"
            .to_owned(),
    ];
    made.iter().for_each(|text| drop(session().execute(text).expect(text)));
    let expected = answers(&mut session());
    plant(Some(Fault::NONSENSE_COLUMNS));
    let found = answers(&mut session());
    plant(None);
    assert_eq!(found, expected, "{method}");
    session().execute("VACUUM ANALYZE").expect("it is counted");
    assert_eq!(answers(&mut session()), expected, "{method}, counted");
    kernel.close().expect("closes");
    expected
}
