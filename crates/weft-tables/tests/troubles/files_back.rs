//! A file that cannot be opened, and is there again at the next start: nothing is missing then, whatever was written,
//! converted and cut from the log meanwhile.

use weft_contract::{ReadView, ScanRequest};
use weft_format::{CompareOp, Predicate};
use weft_tables::column::job_kinds;

use super::*;

/// The log is cut in small steps, so that it goes as soon as it may.
fn options() -> EngineOptions {
    EngineOptions { log_segment_bytes: 1 << 12, ..by_hand() }
}

/// Table bad with an index on v and rows 0..40 in files of both, and table good.
fn in_files(engine: &Arc<Engine>, is_unique: bool) {
    create(engine, "bad", false);
    create(engine, "good", false);
    let mut txn = engine.begin().unwrap();
    let t = txn.table("bad").unwrap();
    txn.create_index(&t, NewIndex::new("bad_v", vec![1], is_unique)).unwrap();
    txn.commit().unwrap();
    (0..40).for_each(|k| put(engine, "bad", [k], k).unwrap());
    engine.checkpoint().unwrap();
}

/// Rows that the table has in files, and the index in the log only.
fn ahead_of_its_index(engine: &Arc<Engine>) {
    (100..140).for_each(|k| put(engine, "bad", [k], k).unwrap());
    engine.freeze().unwrap();
    let t = engine.tables().into_iter().find(|t| t.def.name == "bad").unwrap();
    let offer = t.table.jobs().into_iter().find(|offer| offer.kind == job_kinds::CONVERT).unwrap();
    t.table.run(&offer).unwrap();
}

/// Writes so much that the log goes which nobody needs.
fn cut_log(engine: &Arc<Engine>) {
    (0..20).for_each(|round| put(engine, "good", 0..100, round).unwrap());
    engine.checkpoint().unwrap();
    (0..20).for_each(|round| put(engine, "good", 0..100, round).unwrap());
    engine.checkpoint().unwrap();
}

/// The keys of the rows that the index finds, of values from `from` on.
fn assert_found(engine: &Arc<Engine>, keys: impl Iterator<Item = i64>) {
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    keys.for_each(|k| assert_eq!(get(engine, "bad", k).unwrap(), Some(k)));
}

#[test]
fn an_index_has_the_rows_of_the_time_when_its_table_was_not_there() {
    for is_unique in [false, true] {
        let simulation = machine(30);
        run(&simulation, options(), move |simulation, env, engine| {
            in_files(&engine, is_unique);
            ahead_of_its_index(&engine);
            let file = files(env, &engine, "bad").pop().unwrap();
            drop(engine);
            simulation.faults().refuse_opens(&file.to_string_lossy());
            let engine = open(env, options()).unwrap();
            assert!(get(&engine, "bad", 1).is_err());
            cut_log(&engine);
            engine.close().unwrap();
            drop(engine);
            simulation.faults().clear();
            let engine = open(env, options()).unwrap();
            assert_found(&engine, (0..40).chain(100..140));
            // The log is held for as long as there is something to come, and no longer.
            let held = engine.status().log_bytes;
            cut_log(&engine);
            let left = engine.status().log_bytes;
            assert!(left < held / 2, "{left} of {held} bytes of log");
        });
    }
}

#[test]
fn an_index_has_the_rows_of_the_time_when_it_was_not_there() {
    for is_unique in [false, true] {
        let simulation = machine(31);
        run(&simulation, options(), move |simulation, env, engine| {
            in_files(&engine, is_unique);
            if is_unique {
                ahead_of_its_index(&engine);
            } else {
                engine.close().unwrap();
            }
            let index = engine.indexes()[0].1.id();
            drop(engine);
            simulation.faults().refuse_opens(&format!("t{index}-"));
            for round in 0..2 {
                let engine = open(env, options()).unwrap();
                // Nobody would test what a unique one keeps unique.
                let written = (200 + 40 * round..240 + 40 * round).map(|k| put(&engine, "bad", [k], k).is_ok());
                assert!(written.into_iter().all(|is_written| is_written != is_unique));
                cut_log(&engine);
                engine.close().unwrap();
            }
            simulation.faults().clear();
            let engine = open(env, options()).unwrap();
            if is_unique {
                assert_found(&engine, (0..40).chain(100..140));
            } else {
                assert_found(&engine, (0..40).chain(200..280));
            }
        });
    }
}

/// How many rows of table bad a scan finds that have a value: by the index on it, when there is one.
fn count_with(engine: &Arc<Engine>, v: i64) -> Result<usize> {
    let t = engine.begin()?.table("bad")?;
    let with_value = Predicate::Compare { column: 1, op: CompareOp::Eq, value: Value::Int(v) };
    let view = ReadView { read_ts: engine.published(), own: None, reads: None };
    let request =
        ScanRequest { view, projection: vec![0], predicates: vec![with_value], partition_count: 1, batch_rows: 100 };
    let mut count = 0;
    for mut partition in t.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            count += batch.num_rows();
        }
    }
    Ok(count)
}

/// Adds rows to table bad by one bulk statement, whose values are their keys.
fn build_alike(engine: &Arc<Engine>, keys: std::ops::Range<i64>) {
    let mut txn = engine.begin().unwrap();
    let t = txn.table("bad").unwrap();
    let columns: [ArrayRef; 2] = [(); 2].map(|()| Arc::new(Int64Array::from_iter_values(keys.clone())) as ArrayRef);
    let batch = RecordBatch::try_new(t.def.schema.arrow(&[0, 1]), columns.to_vec()).unwrap();
    txn.build(&t, &[batch]).unwrap();
    txn.commit().unwrap();
}

/// Entries that a bulk statement built are in a file that the log names, and nothing else: without it the index is not
/// looked at, for it would miss rows.
#[test]
fn an_index_is_left_alone_when_a_file_that_the_log_names_cannot_be_opened() {
    for is_unique in [false, true] {
        let simulation = machine(32);
        run(&simulation, options(), move |simulation, env, engine| {
            in_files(&engine, is_unique);
            let index = engine.indexes()[0].1.id();
            let before = env.fs.list(Path::new(DIR)).unwrap();
            build_alike(&engine, 100..140);
            assert_eq!((count_with(&engine, 120).unwrap(), count_with(&engine, 20).unwrap()), (1, 1));
            let mut names = env.fs.list(Path::new(DIR)).unwrap();
            names.retain(|name| name.starts_with(&format!("t{index}-")) && !before.contains(name));
            let [run] = &names[..] else { panic!("{names:?}") };
            drop(engine);
            simulation.faults().refuse_opens(run);
            for round in 0..2 {
                let engine = open(env, options()).unwrap();
                let found = [120, 20].map(|v| count_with(&engine, v));
                if is_unique {
                    assert!(found.iter().all(Result::is_err), "nobody tests what it keeps unique: {found:?}");
                } else {
                    assert_eq!(found.map(Result::unwrap), [1, 1]);
                    // Of rows in files nothing would tell the index when it is there again.
                    build_alike(&engine, 300 + 40 * round..340 + 40 * round);
                    assert_eq!(count_with(&engine, 301 + 40 * round).unwrap(), 1);
                }
                cut_log(&engine);
                engine.close().unwrap();
            }
            simulation.faults().clear();
            let engine = open(env, options()).unwrap();
            assert_found(&engine, (0..40).chain(100..140));
            for v in [120, 20].into_iter().chain((!is_unique).then_some([301, 341]).into_iter().flatten()) {
                assert_eq!(count_with(&engine, v).unwrap(), 1, "{v}");
            }
        });
    }
}

/// A table goes with the indexes that could not be opened.
#[test]
fn a_table_is_dropped_with_an_index_that_cannot_be_opened() {
    let simulation = machine(33);
    run(&simulation, options(), |simulation, env, engine| {
        in_files(&engine, false);
        let index = engine.indexes()[0].1.id();
        engine.close().unwrap();
        drop(engine);
        simulation.faults().refuse_opens(&format!("t{index}-"));
        let engine = open(env, options()).unwrap();
        let mut txn = engine.begin().unwrap();
        txn.drop_table("bad").unwrap();
        txn.commit().unwrap();
        engine.close().unwrap();
        drop(engine);
        let engine = open(env, options()).unwrap();
        assert!(engine.indexes().is_empty() && get(&engine, "bad", 1).is_err());
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
    });
}
