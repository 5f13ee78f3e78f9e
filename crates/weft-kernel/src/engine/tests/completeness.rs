//! Openings of directories that lack what they had: the newest segments of the log, its last blocks, the last records
//! of the manifest. Each is refused, names the file, and deletes nothing; or nothing was lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Code, Error, Lsn};

use crate::log::{Record, read_log, segment_start};
use crate::testing::{Scratch, by_hand, create, get, open_with, put, row};
use crate::{Engine, EngineOptions};

fn options() -> EngineOptions {
    EngineOptions { log_segment_bytes: 4096, ..by_hand() }
}

/// Every file but the lock and the name of the writer, with its bytes.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_told = |name: &str| name != "LOCK" && !name.starts_with("WRITER-");
    let files = entries.filter(|path| is_told(path.file_name().unwrap().to_str().unwrap()));
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}

fn segments(dir: &Path) -> Vec<String> {
    content(dir).into_keys().filter(|name| name.starts_with("log-")).collect()
}

/// The segment of the last commit, and its place in the log.
fn last_commit(dir: &Path) -> (String, Lsn) {
    let mut reader = read_log(&Env::real(), dir).unwrap();
    let mut last = Lsn(0);
    while let Some(entry) = reader.next().unwrap() {
        if matches!(entry.record, Record::Commit { .. }) {
            last = entry.lsn;
        }
    }
    let names = segments(dir).into_iter().filter(|name| segment_start(name).unwrap() <= last);
    (names.max().unwrap(), last)
}

/// Writes a row into both tables in one transaction.
fn put_both(engine: &Arc<Engine>, k: i64) {
    let mut txn = engine.begin().unwrap();
    for name in ["t", "u"] {
        let table = txn.table(name).unwrap();
        txn.insert(&table, &row(&table, k, k)).unwrap();
    }
    txn.commit().unwrap();
}

/// Makes the rows of table t files, and leaves those of u to the log.
fn convert_t(engine: &Arc<Engine>) {
    engine.begin().unwrap().table("t").unwrap().table.freeze();
    while engine.run_one_job().unwrap() {}
}

/// Opens a directory that was damaged: it must be refused, and stay as it is.
fn refused(dir: &Path) -> Error {
    let before = content(dir);
    let error = match open_with(Env::real(), dir, options()) {
        Err(error) => error,
        Ok(engine) => {
            let txn = engine.begin().unwrap();
            let count = |name| txn.table(name).map_or(0, |t| (0..100).filter(|&k| get(&txn, &t, k).is_some()).count());
            panic!("it opened: t has {} rows, u has {}", count("t"), count("u"));
        }
    };
    assert_eq!(error.code(), Code::DataCorrupted, "{error}");
    assert!(content(dir) == before, "a refused opening changed the directory");
    error
}

/// A database in which an edit of the manifest depends on the last segment of the log; it ended without being closed.
fn with_dependent_edit(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let engine = open_with(Env::real(), scratch.path(), options()).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    (0..100).for_each(|k| put_both(&engine, k));
    convert_t(&engine);
    drop(engine);
    scratch
}

#[test]
fn a_directory_without_its_newest_segments_is_refused() {
    let scratch = with_dependent_edit("no-newest");
    let names = segments(scratch.path());
    assert!(names.len() > 3, "{names:?}");
    for name in names.iter().rev() {
        std::fs::remove_file(scratch.path().join(name)).unwrap();
        let error = refused(scratch.path());
        assert!(error.message().contains(name.as_str()) || error.message().contains("log-*"), "{name}: {error}");
        assert!(error.hint_text().unwrap().contains("restore"), "{error}");
    }
}

#[test]
fn a_log_that_ends_before_what_the_manifest_depends_on_is_refused() {
    let scratch = with_dependent_edit("lost-blocks");
    // Behind the last commit the log tells of edits: nothing depends on that.
    let (name, last) = last_commit(scratch.path());
    let start = segment_start(&name).unwrap();
    let path = scratch.path().join(&name);
    let whole = std::fs::read(&path).unwrap();
    let last = 512 + (last.0 - start.0) as usize;
    // The end of the last commit's block, and everything from the middle on.
    for at in [last + 9, last / 2] {
        let mut damaged = whole.clone();
        damaged[at..].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        let error = refused(scratch.path());
        assert!(error.message().contains(&name), "{error}");
    }
    std::fs::write(&path, &whole).unwrap();
    let engine = open_with(Env::real(), scratch.path(), options()).unwrap();
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_last_record_of_the_manifest_is_missed_when_the_log_was_cut_behind_it() {
    let scratch = Scratch::new("lost-edit");
    let engine = open_with(Env::real(), scratch.path(), options()).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    (0..50).for_each(|k| assert!(put(&engine, "t", k, k).is_ok()));
    // The catalog's cut is behind the rows of t, which are in no file yet.
    engine.core.write_catalog_now();
    let before = content(scratch.path())["MANIFEST-1"].len();
    engine.begin().unwrap().table("t").unwrap().table.freeze();
    while engine.run_one_job().unwrap() {}
    engine.core.cut_log_now();
    drop(engine);
    assert!(!segments(scratch.path()).contains(&"log-0000000000000000".to_owned()), "the log was cut");
    let path = scratch.path().join("MANIFEST-1");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(before);
    std::fs::write(&path, bytes).unwrap();
    let error = refused(scratch.path());
    assert!(error.message().contains("MANIFEST-1"), "{error}");
}

#[test]
fn damage_anywhere_behind_a_clean_end_is_noticed() {
    let scratch = Scratch::new("clean-end");
    let engine = open_with(Env::real(), scratch.path(), options()).unwrap();
    create(&engine, &["t"]).unwrap();
    (0..3).for_each(|k| assert!(put(&engine, "t", k, k).is_ok()));
    engine.close().unwrap();
    drop(engine);
    let name = segments(scratch.path()).pop().unwrap();
    let path = scratch.path().join(&name);
    let whole = std::fs::read(&path).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let mut from = used;
    while from > 512 {
        // Everything behind a place is lost, in steps that divide sectors and blocks.
        from -= 24.min(from - 512);
        let mut damaged = whole.clone();
        damaged[from..used].fill(0);
        std::fs::write(&path, &damaged).unwrap();
        refused(scratch.path());
    }
    std::fs::write(&path, &whole).unwrap();
    open_with(Env::real(), scratch.path(), options()).unwrap();
}
