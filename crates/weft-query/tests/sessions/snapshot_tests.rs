//! Snapshots that one transaction exports and others import.

use crate::fixture::{code, fixture, rows};
use weft_format::Code;
use weft_sql::Session;

const READ: &str = "SELECT count(*), sum(v) FROM t";
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

fn export(s: &mut Session) -> String {
    rows(s, "SELECT pg_export_snapshot()")
}

fn import(s: &mut Session, id: &str) -> Code {
    code(s, &format!("SET TRANSACTION SNAPSHOT '{id}'"))
}

#[test]
fn all_who_import_a_snapshot_see_the_same() {
    let fixture = fixture();
    let [mut a, mut b, mut c] = [(); 3].map(|()| fixture.db.session());
    a.execute("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE INDEX ON t (v)").unwrap();
    a.execute("INSERT INTO t SELECT g, g FROM generate_series(1, 100) s(g)").unwrap();
    a.execute(BEGIN).unwrap();
    let id = export(&mut a);
    // What comes later, and the jobs that drop what nobody needs, change nothing of it.
    c.execute("UPDATE t SET v = v + 1000; DELETE FROM t WHERE id > 50; ALTER TABLE t ADD COLUMN w int").unwrap();
    c.execute("CREATE TABLE u (id int PRIMARY KEY); CHECKPOINT").unwrap();
    fixture.db.kernel().run_jobs().unwrap();
    for s in [&mut b, &mut c] {
        s.execute(BEGIN).unwrap();
        s.execute(&format!("SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
        assert_eq!(rows(s, READ), "100|5050");
        assert_eq!(rows(s, "SELECT * FROM t WHERE v = 77"), "77|77");
        assert_eq!(code(s, "SELECT * FROM u"), Code::UndefinedTable);
        s.execute("ROLLBACK").unwrap();
    }
    // Whoever has imported it keeps it.
    b.execute(&format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
    assert_eq!(rows(&mut a, READ), "100|5050");
    a.execute("COMMIT").unwrap();
    fixture.db.kernel().checkpoint().unwrap();
    assert_eq!(rows(&mut b, READ), "100|5050");
    // And as one that began then it cannot overwrite what was committed since.
    assert_eq!(code(&mut b, "UPDATE t SET v = 0 WHERE id = 1"), Code::SerializationFailure);
    b.execute("ROLLBACK").unwrap();
    assert_eq!(rows(&mut b, READ), "50|51275");
    b.execute(BEGIN).unwrap();
    assert_eq!(import(&mut b, &id), Code::InvalidParameterValue, "nobody keeps it any more");
}

#[test]
fn an_import_comes_first_and_names_a_snapshot_that_is_kept() {
    let fixture = fixture();
    let [mut a, mut b] = [(); 2].map(|()| fixture.db.session());
    a.execute("CREATE TABLE t (id int PRIMARY KEY, v int)").unwrap();
    // Outside of a transaction it is over with its statement.
    let gone = export(&mut a);
    // At READ COMMITTED the next statement has a snapshot of its own; the exported one stays.
    a.execute("BEGIN").unwrap();
    let id = export(&mut a);
    b.execute("INSERT INTO t VALUES (1, 1)").unwrap();
    assert_eq!(rows(&mut a, "SELECT count(*) FROM t"), "1");
    for (begin, id, expected) in [
        ("BEGIN", &id, Code::FeatureNotSupported),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", &id, Code::FeatureNotSupported),
        (BEGIN, &"x".to_owned(), Code::InvalidParameterValue),
        (BEGIN, &"99999999".to_owned(), Code::InvalidParameterValue),
        ("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1", &id, Code::ActiveTransaction),
    ] {
        b.execute(begin).unwrap();
        assert_eq!(import(&mut b, id), expected, "{begin} {id}");
        b.execute("ROLLBACK").unwrap();
    }
    b.execute(BEGIN).unwrap();
    b.execute("SAVEPOINT s").unwrap();
    assert_eq!(import(&mut b, &id), Code::ActiveTransaction);
    b.execute("ROLLBACK").unwrap();
    b.execute(BEGIN).unwrap();
    b.execute(&format!("SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
    assert_eq!(rows(&mut b, "SELECT count(*) FROM t"), "0");
    b.execute("COMMIT").unwrap();
    b.execute("SET speculative_reads = on; BEGIN").unwrap();
    assert_eq!(code(&mut b, "SELECT pg_export_snapshot()"), Code::FeatureNotSupported);
    b.execute("ROLLBACK; SET speculative_reads = off").unwrap();
    a.execute("COMMIT").unwrap();
    b.execute(BEGIN).unwrap();
    assert_eq!(import(&mut b, &gone), Code::InvalidParameterValue);
}

#[test]
fn a_snapshot_of_the_past_has_the_rights_of_now() {
    let fixture = fixture();
    let [mut a, mut b, mut c] = [(); 3].map(|()| fixture.db.session());
    a.execute(
        "CREATE TABLE t (id int PRIMARY KEY); CREATE ROLE bob SUPERUSER; CREATE ROLE ann; GRANT SELECT ON t TO ann",
    )
    .unwrap();
    for (s, user) in [(&mut b, "bob"), (&mut c, "ann")] {
        let oid: u32 = rows(&mut a, &format!("SELECT oid FROM pg_roles WHERE rolname = '{user}'")).parse().unwrap();
        s.set_identity(user, Some(oid), "weft", 7);
        assert_eq!(rows(s, "SELECT count(*) FROM t"), "0");
    }
    a.execute(BEGIN).unwrap();
    let id = export(&mut a);
    let mut owner = fixture.db.session();
    owner
        .execute("ALTER ROLE bob NOSUPERUSER; REVOKE SELECT ON t FROM ann; CREATE ROLE eve; GRANT SELECT ON t TO eve")
        .unwrap();
    for s in [&mut b, &mut c] {
        s.execute(&format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
        assert_eq!(code(s, "SELECT count(*) FROM t"), Code::InsufficientPrivilege);
        s.execute("ROLLBACK").unwrap();
        s.execute(&format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
        assert_eq!(code(s, "CREATE ROLE evil SUPERUSER"), Code::InsufficientPrivilege);
        s.execute("ROLLBACK").unwrap();
    }
    // Who has got a right since has it there, too.
    let oid: u32 = rows(&mut owner, "SELECT oid FROM pg_roles WHERE rolname = 'eve'").parse().unwrap();
    let mut eve = fixture.db.session();
    eve.set_identity("eve", Some(oid), "weft", 8);
    eve.execute(&format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{id}'")).unwrap();
    assert_eq!(rows(&mut eve, "SELECT count(*) FROM t"), "0");
}
