use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use weft_env::Env;
use weft_format::{Code, TableId};

use crate::testing::{Scratch, by_hand, create, get, key, new_table, open_with, put, row};
use crate::{Engine, EngineOptions};

mod completeness;
mod crash;
mod faults;
mod follower;
#[cfg(feature = "faults")]
mod planted;
mod retention;
mod speed;

fn open(scratch: &Scratch) -> Arc<Engine> {
    open_with(Env::real(), scratch.path(), by_hand()).unwrap()
}

#[test]
fn everything_is_replayed_from_the_log_alone() {
    let scratch = Scratch::new("redo");
    let engine = open(&scratch);
    create(&engine, &["t", "gone"]).unwrap();
    for k in 0..20 {
        put(&engine, "t", k, k).unwrap();
        put(&engine, "gone", k, k).unwrap();
    }
    for k in 0..10 {
        put(&engine, "t", k, 100 + k).unwrap();
    }
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    for k in 15..20 {
        assert!(txn.delete(&t, &key(&t, k)).unwrap());
    }
    txn.drop_table("gone").unwrap();
    let last = txn.commit().unwrap();
    let version = engine.catalog_version();
    drop(engine);

    for _ in 0..2 {
        let engine = open(&scratch);
        assert_eq!((engine.published(), engine.catalog_version()), (last, version));
        let txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        for k in 0..20 {
            let expected = [Some(100 + k), Some(k), None][usize::from(k >= 10) + usize::from(k >= 15)];
            assert_eq!(get(&txn, &t, k), expected, "key {k}");
        }
        assert_eq!(txn.table("gone").unwrap_err().code(), Code::UndefinedTable);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    }
}

#[test]
fn a_checkpoint_leaves_nothing_to_redo_and_cuts_the_log() {
    let scratch = Scratch::new("checkpoint");
    let engine = open(&scratch);
    create(&engine, &["t", "u", "gone"]).unwrap();
    for round in 0..40 {
        for k in 0..50 {
            put(&engine, "t", k, round).unwrap();
            put(&engine, "gone", k, round).unwrap();
        }
        put(&engine, "u", 1, round).unwrap();
    }
    let mut txn = engine.begin().unwrap();
    txn.drop_table("gone").unwrap();
    txn.commit().unwrap();
    let before = engine.status().log_bytes;
    engine.checkpoint().unwrap();
    let after = engine.status().log_bytes;
    assert!(before > 200_000 && after < 70_000, "{before} bytes of log became {after}");
    assert!(engine.status().jobs_run >= 2);
    let files = std::fs::read_dir(scratch.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let files: Vec<String> = files.filter(|name| name.ends_with(".data")).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    put(&engine, "t", 7, 1000).unwrap();
    engine.close().unwrap();
    assert_eq!(engine.begin().err().unwrap().code(), Code::ShuttingDown);
    assert_eq!(engine.checkpoint().unwrap_err().code(), Code::ShuttingDown);
    drop(engine);

    let engine = open(&scratch);
    assert_eq!(engine.status().row_memory_bytes, 0, "nothing was replayed");
    let mut txn = engine.begin().unwrap();
    let (t, u) = (txn.table("t").unwrap(), txn.table("u").unwrap());
    assert_eq!((get(&txn, &t, 6), get(&txn, &t, 7), get(&txn, &u, 1)), (Some(39), Some(1000), Some(39)));
    assert_eq!(txn.create_table(new_table("new")).unwrap().def.id, TableId(4), "ids are not used again");
}

#[test]
fn a_second_instance_is_refused_and_told_who_holds_the_directory() {
    let scratch = Scratch::new("two");
    let engine = open(&scratch);
    let error = open_with(Env::real(), scratch.path(), by_hand()).err().unwrap();
    assert_eq!(error.code(), Code::CannotConnectNow);
    assert!(error.message().ends_with("is in use by a test"), "{error}");
    engine.close().unwrap();
    open_with(Env::real(), scratch.path(), by_hand()).unwrap();
}

#[test]
fn an_opening_waits_for_its_own_process_to_let_go() {
    let scratch = Scratch::new("let-go");
    let options = || EngineOptions { owner: None, ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options()).unwrap();
    let held = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(engine);
    });
    open_with(Env::real(), scratch.path(), options()).unwrap();
    held.join().unwrap();
}

#[test]
fn open_transactions_read_on_after_close_and_cannot_commit() {
    let scratch = Scratch::new("close");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    put(&engine, "t", 1, 1).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.insert(&t, &row(&t, 2, 2)).unwrap();
    engine.close().unwrap();
    engine.close().unwrap();
    assert_eq!(get(&txn, &t, 1), Some(1));
    assert_eq!(txn.insert(&t, &row(&t, 3, 3)).unwrap_err().code(), Code::ShuttingDown);
    assert_eq!(txn.commit().unwrap_err().code(), Code::ShuttingDown);
}

fn batch(keys: std::ops::Range<i64>) -> RecordBatch {
    let column = |name: &str| (name.to_owned(), Arc::new(Int64Array::from_iter_values(keys.clone())) as _);
    RecordBatch::try_from_iter([column("k"), column("v")]).unwrap()
}

fn data_files(scratch: &Scratch) -> usize {
    let names = std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().ends_with(".data")).count()
}

#[test]
fn a_bulk_statement_commits_whole_or_leaves_nothing() {
    let scratch = Scratch::new("bulk");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    assert_eq!(txn.build(&t, &[batch(0..100)]).unwrap(), 100);
    assert!(txn.can_build_in_parts(&t));
    assert_eq!(txn.build(&t, &[batch(100..150)]).unwrap(), 50);
    assert_eq!(data_files(&scratch), 2);
    txn.rollback();
    assert_eq!(data_files(&scratch), 0);

    let mut txn = engine.begin().unwrap();
    let mark = txn.mark();
    txn.build(&t, &[batch(0..100)]).unwrap();
    txn.rollback_to(mark);
    assert_eq!(data_files(&scratch), 0);
    txn.build(&t, &[batch(0..100)]).unwrap();
    txn.commit().unwrap();
    assert_eq!(get(&engine.begin().unwrap(), &t, 99), Some(99));
    let mut txn = engine.begin().unwrap();
    assert_eq!(txn.build(&t, &[batch(99..101)]).unwrap_err().code(), Code::UniqueViolation);
    drop(txn);
    drop((engine, t));

    // Redo finds the file by the attach record; then a conversion takes it over.
    let engine = open(&scratch);
    put(&engine, "t", 5, 55).unwrap();
    drop(engine);
    let engine = open(&scratch);
    let check = |engine: &Arc<Engine>| {
        let txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        assert_eq!((get(&txn, &t, 5), get(&txn, &t, 99), get(&txn, &t, 100)), (Some(55), Some(99), None));
    };
    check(&engine);
    engine.checkpoint().unwrap();
    assert_eq!(data_files(&scratch), 1);
    drop(engine);
    check(&open(&scratch));
}

#[test]
fn files_that_nothing_names_are_removed_at_open() {
    let scratch = Scratch::new("orphans");
    drop(open(&scratch));
    std::fs::write(scratch.path().join("t1-17.data"), b"half a file").unwrap();
    std::fs::write(scratch.path().join("notes.txt"), b"not ours").unwrap();
    let engine = open(&scratch);
    assert_eq!(data_files(&scratch), 0);
    assert!(scratch.path().join("notes.txt").exists());
    assert_eq!(engine.core.services.files.create(TableId(1)).unwrap().number().0, 18, "numbers are not used again");
}

#[test]
fn numbers_of_files_that_only_the_log_names_are_not_used_again() {
    let scratch = Scratch::new("logged-numbers");
    let engine = open(&scratch);
    create(&engine, &["t"]).unwrap();
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.build(&t, &[batch(0..100)]).unwrap();
    txn.commit().unwrap();
    drop(t);
    let mut txn = engine.begin().unwrap();
    txn.drop_table("t").unwrap();
    txn.commit().unwrap();
    engine.checkpoint().unwrap();
    assert_eq!(data_files(&scratch), 0, "the table's file went when the catalog had forgotten it");
    drop(engine);
    let engine = open(&scratch);
    assert_eq!(engine.core.services.files.create(TableId(7)).unwrap().number().0, 2);
}

/// Data files of an earlier release have other names, and keep them: an opening that is refused changes nothing, and a
/// backup finds what an earlier one has copied.
#[test]
fn files_with_the_names_of_an_earlier_release_keep_them() {
    let scratch = Scratch::new("former-names");
    let engine = open(&scratch);
    create(&engine, &["t", "u"]).unwrap();
    for name in ["t", "u"] {
        put(&engine, name, 1, 11).unwrap();
    }
    engine.checkpoint().unwrap();
    engine.close().unwrap();
    drop(engine);
    for name in ["t1-1", "t2-2"] {
        let (now, before) = (scratch.path().join(format!("{name}.data")), scratch.path().join(format!("{name}.col")));
        std::fs::rename(now, before).unwrap();
    }
    std::fs::write(scratch.path().join("t1-17.col"), b"half a file").unwrap();
    let engine = open(&scratch);
    assert!(!scratch.path().join("t1-17.col").exists(), "what nothing names goes under both names");
    let copies = Scratch::new("former-names-copies");
    let first = engine.backup(copies.path(), None).unwrap();
    assert!(
        first.copied_bytes > 0
            && copies
                .path()
                .read_dir()
                .unwrap()
                .any(|entry| { entry.unwrap().file_name().to_str().unwrap().ends_with(".col") })
    );
    for name in ["t", "u"] {
        let txn = engine.begin().unwrap();
        assert_eq!(get(&txn, &txn.table(name).unwrap(), 1), Some(11));
    }
    assert_eq!(data_files(&scratch), 0);
    put(&engine, "t", 2, 22).unwrap();
    engine.checkpoint().unwrap();
    assert!(!scratch.path().join("t1-1.col").exists() && scratch.path().join("t2-2.col").exists());
    assert_eq!(data_files(&scratch), 1);
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    drop(engine);
    let copy = Scratch::new("former-names-restored");
    crate::restore(&Env::real(), copies.path(), copy.path(), None).unwrap();
    let engine = open(&copy);
    let txn = engine.begin().unwrap();
    assert_eq!(get(&txn, &txn.table("u").unwrap(), 1), Some(11));
}

#[test]
fn workers_keep_the_log_and_the_memory_bounded() {
    let scratch = Scratch::new("bounded");
    let options = EngineOptions {
        workers: 2,
        checkpoint_log_bytes: 200_000,
        row_table_bytes: 1000,
        row_memory_bytes: 100_000,
        ..by_hand()
    };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t", "u"]).unwrap();
    std::thread::scope(|scope| {
        for name in ["t", "u"] {
            let engine = &engine;
            scope.spawn(move || {
                for i in 0..6000 {
                    let mut txn = engine.begin().unwrap();
                    txn.set_durability(crate::Durability::Async);
                    let t = txn.table(name).unwrap();
                    txn.insert(&t, &row(&t, i, i)).unwrap();
                    txn.commit().unwrap();
                }
            });
        }
    });
    engine.flush().unwrap();
    for _ in 0..1000 {
        if engine.status().log_bytes < 400_000 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let status = engine.status();
    assert!(status.log.bytes > 700_000 && status.log_bytes < 400_000, "{status:?}");
    assert!(status.jobs_run > 2 && !engine.job_history().is_empty());
    engine.close().unwrap();
}

#[test]
fn without_workers_a_writer_above_the_budget_runs_the_jobs_itself() {
    let scratch = Scratch::new("inline");
    let options = EngineOptions { row_table_bytes: 1000, row_memory_bytes: 30_000, ..by_hand() };
    let engine = open_with(Env::real(), scratch.path(), options).unwrap();
    create(&engine, &["t"]).unwrap();
    for i in 0..3000 {
        put(&engine, "t", i, i).unwrap();
    }
    assert!(engine.status().jobs_run > 0);
    // One transaction that is larger than the whole budget fails cleanly.
    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    let error = (10_000..20_000).find_map(|k| txn.insert(&t, &row(&t, k, k)).err()).unwrap();
    assert_eq!(error.code(), Code::OutOfMemory);
    drop(txn);
    put(&engine, "t", 1, 2).unwrap();
}

#[test]
fn a_table_of_an_unknown_method_or_with_bad_options_is_refused() {
    let scratch = Scratch::new("methods");
    let engine = open(&scratch);
    let mut txn = engine.begin().unwrap();
    let mut new = new_table("t");
    new.method = "paper".into();
    let error = txn.create_table(new).unwrap_err();
    assert_eq!((error.code(), error.hint_text()), (Code::UndefinedObject, Some("methods are: memory")));
    let mut new = new_table("t");
    new.options.insert("x".into(), "1".into());
    assert_eq!(txn.create_table(new).unwrap_err().code(), Code::InvalidParameterValue);
}
