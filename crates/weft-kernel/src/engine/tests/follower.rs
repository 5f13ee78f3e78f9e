//! An engine that follows another in one process.

use std::ops::Bound;
use std::sync::Arc;

use weft_env::Env;
use weft_format::{Code, Result, Timestamp, Value};

use super::open;
use crate::engine::Follower;
use crate::index::{Direction, NewIndex};
use crate::testing::{MemoryMethod, Scratch, by_hand, create, get, key, open_with, put, row};
use crate::{Engine, EngineOptions, Transaction};

fn join(scratch: &Scratch, writer: &Arc<Engine>) -> Result<Follower> {
    let methods = vec![Arc::new(MemoryMethod) as Arc<dyn crate::method::Method>];
    Follower::join(Env::real(), scratch.path(), methods, by_hand(), &|| writer.announced())
}

/// The follower has the rows of the writer, as of now.
fn assert_follows(follower: &mut Follower, writer: &Arc<Engine>, keys: std::ops::Range<i64>) {
    assert_eq!(follower.follow(writer.announced()).unwrap(), writer.published());
    let (here, there) = (follower.engine().begin().unwrap(), writer.begin().unwrap());
    let names = |txn: &Transaction| txn.tables().iter().map(|def| def.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&here), names(&there));
    for name in names(&here) {
        let tables = [&here, &there].map(|txn| txn.table(&name).unwrap());
        for k in keys.clone() {
            assert_eq!(get(&here, &tables[0], k), get(&there, &tables[1], k), "key {k} of {name}");
        }
    }
    assert_eq!(follower.engine().check().unwrap(), Vec::<String>::new());
}

/// Of transactions with more chunks than are kept in memory: one commits, one is rolled back, one commits.
#[test]
pub(super) fn chunks_beyond_what_is_kept_are_read_again() {
    let scratch = Scratch::new("left-chunks");
    let options = EngineOptions { log_segment_bytes: 8192, log_chunk_bytes: 500, undecided_bytes: 1500, ..by_hand() };
    let open = || open_with(Env::real(), scratch.path(), options.clone()).unwrap();
    let writer = open();
    create(&writer, &["t"]).unwrap();
    put(&writer, "t", 0, 0).unwrap();
    let kept = writer.keep_for_followers();
    let methods = vec![Arc::new(MemoryMethod) as Arc<dyn crate::method::Method>];
    let join = || Follower::join(Env::real(), scratch.path(), methods.clone(), options.clone(), &|| writer.announced());
    let mut follower = join().unwrap();
    for (first, committed) in [(1000, true), (2000, false), (3000, true)] {
        let mut txn = writer.begin().unwrap();
        let t = txn.table("t").unwrap();
        for k in first..first + 800 {
            txn.insert(&t, &row(&t, k, k)).unwrap();
            if k == first + 400 {
                put(&writer, "t", 0, k).unwrap();
                follower.follow(writer.announced()).unwrap();
            }
        }
        if committed {
            txn.commit().unwrap();
        }
        assert_follows(&mut follower, &writer, first..first + 801);
    }
    assert_eq!(join().unwrap().engine().published(), writer.published());
    let counted = |engine: &Arc<Engine>| {
        let txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        (0..5000).filter(|k| get(&txn, &t, *k).is_some()).count()
    };
    let before = counted(&writer);
    assert_eq!(before, 1601);
    drop((kept, follower));
    drop(writer);
    assert_eq!(counted(&open()), before);
}

#[test]
fn commits_definitions_and_switches_are_followed() {
    let scratch = Scratch::new("followed");
    let mut writer = open(&scratch);
    create(&writer, &["t", "gone"]).unwrap();
    (0..20).for_each(|k| assert!(put(&writer, "t", k, k).unwrap() > Timestamp(0)));
    let mut follower = join(&scratch, &writer).unwrap();
    assert_follows(&mut follower, &writer, 0..30);
    for opening in 0..3 {
        (0..25).for_each(|k| assert!(put(&writer, "t", k, 100 * opening + k).unwrap() > Timestamp(0)));
        assert_follows(&mut follower, &writer, 0..30);
        writer.freeze().unwrap();
        writer.run_jobs().unwrap();
        (5..15).for_each(|k| assert!(put(&writer, "t", k, -k).unwrap() > Timestamp(0)));
        assert_follows(&mut follower, &writer, 0..30);
        let mut txn = writer.begin().unwrap();
        let t = txn.table("t").unwrap();
        txn.create_index(&t, NewIndex::new(format!("t_v{opening}"), vec![1], false)).unwrap();
        txn.delete(&t, &key(&t, 7)).unwrap();
        if opening == 1 {
            txn.drop_table("gone").unwrap();
        }
        txn.commit().unwrap();
        put(&writer, "t", 29, opening).unwrap();
        assert_follows(&mut follower, &writer, 0..30);
        writer.close().unwrap();
        drop(writer);
        writer = open(&scratch);
        put(&writer, "t", 28, opening).unwrap();
        assert_follows(&mut follower, &writer, 0..30);
        // One that joins now sees the same.
        assert_follows(&mut join(&scratch, &writer).unwrap(), &writer, 0..30);
    }
    let txn = follower.engine().begin().unwrap();
    assert_eq!(txn.table("gone").unwrap_err().code(), Code::UndefinedTable);
}

/// An edit that a follower read when it joined, and that the writer loses in a crash of its machine.
#[test]
pub(super) fn an_edit_that_the_writer_lost_is_not_followed() {
    let scratch = Scratch::new("lost-edit");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    (0..20).for_each(|k| assert!(put(&writer, "t", k, k).unwrap() > Timestamp(0)));
    let files = std::fs::read_dir(scratch.path()).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.filter(|path| !path.ends_with("LOCK")).collect();
    let before: Vec<_> = files.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let durable = writer.announced();
    // The edit is in the manifest, and what tells of it waits for the next block.
    writer.freeze().unwrap();
    writer.run_one_job().unwrap();
    let mut follower = join(&scratch, &writer).unwrap();
    assert_follows(&mut follower, &writer, 0..30);
    assert_eq!((follower.position(), follower.needs_from(), writer.announced()), (durable, durable, durable));
    let (edits, epoch) = (follower.edits(), follower.epoch());
    assert!(edits > 0);
    drop(writer);
    files.iter().zip(before).for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    let writer = open(&scratch);
    put(&writer, "t", 3, 300).unwrap();
    writer.freeze().unwrap();
    writer.run_jobs().unwrap();
    put(&writer, "t", 25, 25).unwrap();
    let error = follower.follow(writer.announced()).unwrap_err();
    assert_eq!(error.code(), Code::UndefinedFile, "{error}");
    assert!(error.message().contains("may have lost edits"), "{error}");
    let mut follower = join(&scratch, &writer).unwrap();
    assert_follows(&mut follower, &writer, 0..30);
    assert!(follower.epoch() > epoch);
}

/// Blocks are announced before those hear of them who wait.
#[test]
fn what_was_acknowledged_was_announced() {
    let scratch = Scratch::new("announced");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    let said = Arc::new(weft_env::sync::Mutex::new(crate::log::Durable::default()));
    let told = said.clone();
    let first = writer.announce_by(Box::new(move |durable| *told.lock() = durable));
    assert_eq!((first.lsn, first.last), (writer.announced(), writer.published()));
    for k in 0..10 {
        let ts = put(&writer, "t", k, k).unwrap();
        let heard = *said.lock();
        assert_eq!((heard.lsn, heard.last), (writer.announced(), ts));
    }
    assert_eq!(writer.durable(), *said.lock());
}

#[test]
fn a_follower_shows_what_is_durable_and_takes_no_writes() {
    let scratch = Scratch::new("refusing");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    let mut follower = join(&scratch, &writer).unwrap();
    let before = writer.announced();
    let ts = put(&writer, "t", 1, 1).unwrap();
    let engine = follower.engine().clone();
    let seen = || {
        let txn = engine.begin().unwrap();
        get(&txn, &txn.table("t").unwrap(), 1)
    };
    assert_eq!((follower.follow_one(before).unwrap(), seen()), (None, None));
    let old = engine.begin().unwrap();
    assert_eq!((follower.follow_one(writer.announced()).unwrap(), seen()), (Some(ts), Some(1)));
    assert_eq!(get(&old, &old.table("t").unwrap(), 1), None, "a snapshot stays what it is");
    assert_eq!(follower.follow_one(writer.announced()).unwrap(), None);

    let mut txn = engine.begin().unwrap();
    let t = txn.table("t").unwrap();
    assert_eq!(txn.insert(&t, &row(&t, 2, 2)).unwrap_err().code(), Code::ReadOnlyTransaction);
    drop(txn);
    assert_eq!(create(&engine, &["u"]).unwrap_err().code(), Code::ReadOnlyTransaction);
    for error in [engine.checkpoint().unwrap_err(), engine.run_jobs().unwrap_err(), engine.freeze().unwrap_err()] {
        assert_eq!(error.code(), Code::ReadOnlyTransaction);
    }
    // It leaves the directory as it is.
    let files = || std::fs::read_dir(scratch.path()).unwrap().map(|file| file.unwrap().file_name()).collect::<Vec<_>>();
    let before = files();
    engine.close().unwrap();
    drop((follower, old, engine));
    assert_eq!(files(), before);
    put(&writer, "t", 2, 2).unwrap();
    writer.close().unwrap();
}

#[test]
fn one_that_is_too_slow_says_so_and_joins_anew() {
    let scratch = Scratch::new("slow");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    let mut follower = join(&scratch, &writer).unwrap();
    let kept = writer.keep_for_followers();
    let write = || (0..1500).for_each(|k| assert!(put(&writer, "t", k % 50, k).unwrap() > Timestamp(0)));
    write();
    writer.checkpoint().unwrap();
    assert_follows(&mut follower, &writer, 0..60);
    drop(kept);
    // More than a segment of the log.
    write();
    writer.checkpoint().unwrap();
    let error = follower.follow(writer.announced()).unwrap_err();
    assert_eq!(error.code(), Code::UndefinedFile, "{error}");
    assert!(error.hint_text().unwrap().contains("join anew"), "{error}");
    assert_eq!(follower.follow(writer.announced()).unwrap_err().code(), Code::UndefinedFile);
    assert_follows(&mut join(&scratch, &writer).unwrap(), &writer, 0..60);
}

/// The keys that an index has of a value, as a transaction sees them.
fn keys_of(txn: &Transaction, value: i64) -> Option<Vec<Vec<u8>>> {
    let t = txn.table("t").unwrap();
    let (_, index) = txn.index("t_v").unwrap();
    let value = [Value::Int(value)];
    let bound = Bound::Included(&value[..]);
    txn.index_keys(&t, &index, bound, bound, Direction::Forward, usize::MAX).unwrap()
}

/// What a merge leaves out no snapshot of the writer needs; one of a follower may.
#[test]
pub(super) fn an_old_snapshot_does_without_an_index_that_was_merged() {
    let scratch = Scratch::new("merged");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    let mut txn = writer.begin().unwrap();
    let t = txn.table("t").unwrap();
    txn.create_index(&t, NewIndex::new("t_v", vec![1], false)).unwrap();
    txn.commit().unwrap();
    put(&writer, "t", 1, 100).unwrap();
    let mut follower = join(&scratch, &writer).unwrap();
    let _kept = writer.keep_for_followers();
    let old = follower.engine().begin().unwrap();
    let wanted = Some(vec![key(&t, 1)]);
    assert_eq!(keys_of(&old, 100), wanted);
    for round in 0..10 {
        put(&writer, "t", 1, 200 + round).unwrap();
        writer.freeze().unwrap();
        writer.run_jobs().unwrap();
    }
    assert_eq!(keys_of(&writer.begin().unwrap(), 100), Some(Vec::new()), "a merge has left it out");
    follower.follow(writer.announced()).unwrap();
    assert_eq!(get(&old, &old.table("t").unwrap(), 1), Some(100));
    assert_eq!(keys_of(&old, 100), None, "the index does not say that there is no such row");
    assert_eq!(keys_of(&follower.engine().begin().unwrap(), 209), wanted);
}

#[test]
fn who_finds_no_database_is_told_so() {
    let scratch = Scratch::new("nothing");
    let writer = open(&scratch);
    let announced = writer.announced();
    let other = Scratch::new("nothing-there");
    std::fs::create_dir_all(other.path()).unwrap();
    let methods = || vec![Arc::new(MemoryMethod) as Arc<dyn crate::method::Method>];
    let joined = Follower::join(Env::real(), other.path(), methods(), by_hand(), &|| announced);
    assert_eq!(joined.err().unwrap().code(), Code::CannotConnectNow);
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0, "nothing is made there");
}

/// The thread that looks at columns ends with the last who has the engine, not with what follows.
#[test]
fn the_thread_that_looks_ends_with_the_engine() {
    let scratch = Scratch::new("looks-and-ends");
    let writer = open(&scratch);
    create(&writer, &["t"]).unwrap();
    let methods = vec![Arc::new(MemoryMethod) as Arc<dyn crate::method::Method>];
    let options = EngineOptions { workers: 1, ..by_hand() };
    let follower = Follower::join(Env::real(), scratch.path(), methods, options, &|| writer.announced()).unwrap();
    let engine = follower.engine().clone();
    drop(follower);
    let is_wanted = |engine: &Engine| {
        engine.core.services.want_columns(weft_format::TableId(999));
        (0..1_000).all(|_| {
            engine.core.env.clock.sleep(std::time::Duration::from_millis(5));
            !engine.core.services.wanted.want(weft_format::TableId(999))
        })
    };
    assert!(!is_wanted(&engine), "as long as somebody plans in it somebody looks");
    let core = Arc::downgrade(&engine.core);
    drop(engine);
    assert!(core.upgrade().is_none(), "with the engine the thread ends");
}

/// Where queries are planned all the time some table is always wanted: who runs all jobs comes to an end.
#[test]
fn who_runs_all_jobs_looks_at_what_was_wanted_before() {
    let scratch = Scratch::new("looks-before");
    let engine = open(&scratch);
    let services = &engine.core.services;
    let (early, late) = (weft_format::TableId(998), weft_format::TableId(999));
    services.want_columns(early);
    let mut wanted = services.wanted.take_all();
    services.want_columns(late);
    let turns = (0..10).take_while(|_| engine.core.look_at_these(&mut wanted)).count();
    assert_eq!((turns, services.wanted.take()), (1, Some(late)));
    services.want_columns(early);
    engine.run_jobs().unwrap();
    assert_eq!(services.wanted.take(), None);
}
