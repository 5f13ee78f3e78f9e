#![allow(clippy::disallowed_methods, reason = "tests run on the real machine")]

use std::sync::Arc;

use weft_env::Env;
use weft_kernel::sched::{OperatorKind, PhiSet};
use weft_kernel::{Engine, EngineOptions};

use weft_sql::{Session, SqlEngine, SqlOptions};

struct Db {
    dir: std::path::PathBuf,
    kernel: Arc<Engine>,
    sql: Arc<SqlEngine>,
}

impl Db {
    fn new(name: &str, parallelism: usize) -> Db {
        let dir = std::env::temp_dir().join(format!("weft-forecast-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let methods = vec![weft_tables::column_method()];
        let kernel = Engine::open(Env::real(), &dir, methods, EngineOptions::default()).unwrap();
        let mut options = SqlOptions::new(crate::query_engine);
        options.queries.parallelism = parallelism;
        let sql = SqlEngine::new(Arc::clone(&kernel), options);
        Db { dir, kernel, sql }
    }

    fn filled(&self) -> Session {
        let mut session = self.sql.session();
        session.execute("CREATE TABLE t (id bigint PRIMARY KEY, a integer, b text)").unwrap();
        let rows = "INSERT INTO t SELECT v, v % 100, 'text ' || v FROM generate_series(1, 200000) AS s(v)";
        session.execute(rows).unwrap();
        self.kernel.checkpoint().unwrap();
        session
    }

    fn updates(&self, kind: OperatorKind) -> u64 {
        let phis: PhiSet = self.kernel.load().phis();
        phis.of(kind).count
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        let _ = self.kernel.close();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn operators_tell_what_they_took() {
    let db = Db::new("learns", 2);
    let mut session = db.filled();
    for _ in 0..30 {
        session.execute("SELECT a, count(*), max(b) FROM t WHERE id > 10 GROUP BY a ORDER BY a").unwrap();
    }
    for kind in [OperatorKind::Scan, OperatorKind::Aggregate] {
        assert!(db.updates(kind) >= 30, "{kind:?}");
        let phi = *db.kernel.load().phis().of(kind);
        assert!(phi.actual_us > 0.0 && phi.mean > 0.0, "{kind:?} {phi:?}");
        // How far off it is depends on what else the machine does: that errors shrink is shown in the kernel.
        assert!((0.0..=1.0).contains(&phi.error), "{kind:?} {phi:?}");
    }
    assert_eq!(db.kernel.load().query_count(), 0, "no query is left behind");
}

#[test]
fn who_stops_early_fails_or_only_reads_a_row_teaches_nothing() {
    let db = Db::new("silent", 2);
    let mut session = db.filled();
    let before = db.updates(OperatorKind::Scan);
    session.execute("SELECT a FROM t LIMIT 3").unwrap();
    session.execute("SELECT 1 / (a - a) FROM t").unwrap_err();
    session.execute("SELECT b FROM t WHERE id = 7").unwrap();
    assert_eq!((db.updates(OperatorKind::Scan), db.kernel.load().query_count()), (before, 0));
}

#[test]
fn joins_come_after_both_of_their_inputs() {
    let db = Db::new("joins", 2);
    let mut session = db.filled();
    let sql = "SELECT count(*) FROM t AS x JOIN t AS y ON x.id = y.a WHERE y.b <> 'z'";
    (0..3).for_each(|_| drop(session.execute(sql).unwrap()));
    assert!(db.updates(OperatorKind::Join) >= 1);
    assert!(db.updates(OperatorKind::Scan) >= 6, "{}", db.updates(OperatorKind::Scan));
}
