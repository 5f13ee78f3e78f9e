use weft_wire::monitor::samples;

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

#[test]
fn writer_and_node_tell_of_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let options = || weft::Options { nodes: Some(weft::Nodes::default()), ..weft::Options::default() };
    let writer = weft::Database::open_with(dir.path().join("db"), options()).unwrap();
    let mut session = writer.session().unwrap();
    session.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let follow = weft::Follow { name: Some("berlin".into()), ..weft::Follow::default() };
    let node = weft::Database::follow(dir.path().join("db"), options(), follow).unwrap();
    let read = |database| samples(&super::metrics::render(Some(database), std::time::Duration::from_secs(1), true));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let (here, there) = loop {
        let (here, there) = (read(&writer), read(&node));
        let knows = here.get("weft_node_lag_commits{node=\"berlin\"}") == Some(&0.0);
        if knows && there.get("weft_replication_lag_bytes") == Some(&0.0) {
            break (here, there);
        }
        assert!(std::time::Instant::now() < deadline, "{here:?} {there:?}");
    };
    assert_eq!((here["weft_follows"], there["weft_follows"]), (0.0, 1.0));
    assert_eq!((here["weft_nodes"], there["weft_replication_state{state=\"following\"}"]), (1.0, 1.0));
    assert_eq!((here["weft_writer_epoch"], there["weft_writer_epoch"]), (1.0, 1.0));
    assert_eq!(there["weft_replication_commit"], writer.engine().published().0 as f64);
    drop(session);
    node.close().unwrap();
    writer.close().unwrap();
}
