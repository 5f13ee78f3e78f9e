//! What `weft check --quarantine` takes out, and what it leaves.

use super::*;

#[test]
fn quarantine_takes_out_what_cannot_be_read_and_says_what_is_lost() {
    for (seed, bit) in [(20, 8 * 100), (21, u64::MAX)] {
        let simulation = machine(seed);
        run(&simulation, by_hand(), move |simulation, env, engine| {
            filled(&engine);
            put(&engine, "bad", [0, PARTS], 70).unwrap();
            put(&engine, "bad", [5000], 71).unwrap();
            let bad = files(env, &engine, "bad");
            let index = engine.indexes().into_iter().find(|(_, index)| &*index.name() == "good_v").unwrap().1.id();
            let runs: Vec<String> = env.fs.list(Path::new(DIR)).unwrap();
            let run_name = runs.into_iter().find(|name| name.starts_with(&format!("t{index}-"))).unwrap();
            drop(engine);
            for file in [&bad[0], &Path::new(DIR).join(run_name)] {
                let len = env.fs.open(file, weft_env::OpenMode::Read).unwrap().len().unwrap();
                simulation.faults().damage(file, bit.min((len - 40) * 8)).unwrap();
            }
            let report = weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap();
            assert_eq!(report.findings, Vec::<String>::new(), "{report:?}");
            let [part, index] = &report.taken[..] else { panic!("{report:?}") };
            assert_eq!((&part.name[..], part.rows, index.rows), ("bad", PART_ROWS as u64, 0), "{report:?}");
            let range = (bit != u64::MAX).then(|| ("0".to_owned(), ((PART_ROWS - 1) * PARTS).to_string()));
            assert_eq!((&index.name[..], &part.keys), ("good_v", &range), "{report:?}");
            let name = part.file.clone().unwrap();
            assert!(bad[0].ends_with(&name) && env.fs.exists(&Path::new("db/quarantine").join(&name)).unwrap());
            let engine = open(env, by_hand()).unwrap();
            // Rows of round 0 are lost but for those written since, which the log has; nothing else is.
            let found = [0, PARTS, 2 * PARTS, 1, 5000].map(|k| get(&engine, "bad", k).unwrap());
            assert_eq!(found[2..], [None, Some(1), Some(71)]);
            assert!(found[..2].iter().all(|row| matches!(row, None | Some(70))), "{found:?}");
            for k in 0..PART_ROWS * PARTS {
                assert_eq!(get(&engine, "good", k).unwrap(), Some(k % PARTS));
            }
            assert_good_goes_on(&engine);
            engine.run_jobs().unwrap();
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let again = {
                drop(engine);
                weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap()
            };
            assert_eq!(again, weft_kernel::QuarantineReport::default());
        });
    }
}

/// Rows of both columns, in bulk: in a file that the log names when its commit is there.
fn build(engine: &Arc<Engine>, name: &str, keys: std::ops::Range<i64>, v: i64) {
    let mut txn = engine.begin().unwrap();
    let t = txn.table(name).unwrap();
    let count = (keys.end - keys.start) as usize;
    let columns: [ArrayRef; 2] =
        [Arc::new(Int64Array::from_iter_values(keys)), Arc::new(Int64Array::from_iter_values(vec![v; count]))];
    let batch = RecordBatch::try_new(t.def.schema.arrow(&[0, 1]), columns.to_vec()).unwrap();
    assert_eq!(txn.build(&t, &[batch]).unwrap(), count as u64);
    txn.commit().unwrap();
}

#[test]
fn quarantine_takes_out_a_file_that_only_the_log_names() {
    for how in 0..3 {
        let simulation = machine(22 + how);
        run(&simulation, by_hand(), move |simulation, env, engine| {
            create(&engine, "bad", true);
            create(&engine, "good", false);
            put(&engine, "bad", 0..5, 1).unwrap();
            engine.checkpoint().unwrap();
            build(&engine, "bad", 100..140, 2);
            build(&engine, "good", 100..140, 2);
            put(&engine, "bad", [101, 6000], 3).unwrap();
            let lost = files(env, &engine, "bad").pop().unwrap();
            let index = engine.indexes().into_iter().find(|(_, index)| &*index.name() == "bad_v").unwrap().1.id();
            let prefix = format!("t{index}-");
            let mut runs = env.fs.list(Path::new(DIR)).unwrap();
            runs.retain(|name| name.starts_with(&prefix));
            runs.sort_by_key(|name| name[prefix.len()..].strip_suffix(".data").unwrap().parse::<u64>().unwrap());
            let run = Path::new(DIR).join(runs.pop().unwrap());
            drop(engine);
            let file = if how == 2 { &run } else { &lost };
            let len = env.fs.open(file, weft_env::OpenMode::Read).unwrap().len().unwrap();
            // A block, or the footer.
            simulation.faults().damage(file, if how == 0 { 8 * 100 } else { (len - 40) * 8 }).unwrap();
            let report = weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap();
            assert_eq!(report.findings, Vec::<String>::new(), "{report:?}");
            let [taken] = &report.taken[..] else { panic!("{report:?}") };
            let engine = open(env, by_hand()).unwrap();
            let found = |k| get(&engine, "bad", k).unwrap();
            if how == 2 {
                assert_eq!((&taken.name[..], &taken.file), ("bad_v", &None), "{report:?}");
                assert_eq!((found(100), found(101)), (Some(2), Some(3)));
            } else {
                let name = file.file_name().unwrap().to_str().unwrap();
                assert_eq!((&taken.name[..], taken.file.as_deref()), ("bad", Some(name)), "{report:?}");
                assert!(env.fs.exists(&Path::new("db/quarantine").join(name)).unwrap());
                let known = (how == 0).then(|| ("100".to_owned(), "139".to_owned()));
                assert_eq!((taken.rows, &taken.keys), (if how == 0 { 40 } else { 0 }, &known));
                assert_eq!((found(100), found(139)), (None, None));
            }
            assert_eq!((found(4), found(6000), get(&engine, "good", 139).unwrap()), (Some(1), Some(3), Some(2)));
            assert_good_goes_on(&engine);
            engine.run_jobs().unwrap();
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            drop(engine);
            let again = weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand()).unwrap();
            assert_eq!(again, weft_kernel::QuarantineReport::default());
        });
    }
}

fn quarantined(env: &Env) -> Result<weft_kernel::QuarantineReport> {
    weft_kernel::quarantine(env, Path::new(DIR), &[column_method()], &by_hand())
}

/// Everything is where it was, and can be read.
fn assert_whole(env: &Env) {
    assert!(!env.fs.exists(Path::new("db/quarantine")).unwrap());
    let engine = open(env, by_hand()).unwrap();
    for k in 0..PART_ROWS * PARTS {
        assert_eq!(get(&engine, "bad", k).unwrap(), Some(k % PARTS));
    }
    assert_eq!(engine.check().unwrap(), Vec::<String>::new());
}

#[test]
fn files_that_cannot_be_read_for_another_reason_stay() {
    for of_index in [false, true] {
        let simulation = machine(25);
        run(&simulation, by_hand(), move |simulation, env, engine| {
            filled(&engine);
            let table = engine.tables().iter().find(|t| t.def.name == "bad").unwrap().def.id;
            let index = engine.indexes().into_iter().find(|(_, index)| &*index.name() == "bad_v").unwrap().1.id();
            let damaged = files(env, &engine, "good").swap_remove(0);
            drop(engine);
            // Somebody else's file, beside one that is damaged: what there is to do is not clear before both are read.
            simulation.faults().damage(&damaged, 8 * 100).unwrap();
            simulation.faults().refuse_opens(&format!("t{}-", if of_index { index } else { table }));
            let error = quarantined(env).unwrap_err();
            assert_eq!(error.code(), Code::InsufficientPrivilege, "{error}");
            assert!(error.hint_text().unwrap().contains("may be whole"), "{error}");
            simulation.faults().damage(&damaged, 8 * 100).unwrap();
            simulation.faults().clear();
            assert_whole(env);
        });
    }
}

#[test]
fn files_that_cannot_be_read_for_a_moment_stay() {
    let simulation = machine(26);
    run(&simulation, by_hand(), |simulation, env, engine| {
        filled(&engine);
        let files = files(env, &engine, "bad");
        engine.close().unwrap();
        drop(engine);
        // The opening reads footers; what comes after that is the test.
        let engine = open(env, by_hand()).unwrap();
        let opened = engine.status().handles.opened;
        drop(engine);
        assert!(opened > 0);
        simulation.faults().fail_reads(&files[3].to_string_lossy(), 7);
        assert_eq!(quarantined(env).unwrap(), weft_kernel::QuarantineReport::default());
        assert_whole(env);
    });
}
