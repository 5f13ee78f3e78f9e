//! More files than handles.

use super::*;

#[test]
fn more_files_than_handles() {
    let simulation = machine(1);
    run(&simulation, by_hand(), |simulation, env, engine| {
        engine.close().unwrap();
        drop(engine);
        simulation.faults().set_open_files_max(Some(24));
        let names: Vec<String> = (0..40).map(|n| format!("t{n}")).collect();
        for round in 0..2 {
            let engine = open(env, by_hand()).unwrap();
            for (n, name) in names.iter().enumerate() {
                if round == 0 {
                    create(&engine, name, true);
                }
                put(&engine, name, 0..5, n as i64 + round).unwrap();
            }
            engine.checkpoint().unwrap();
            engine.run_jobs().unwrap();
            for (n, name) in names.iter().enumerate() {
                assert_eq!(get(&engine, name, 3).unwrap(), Some(n as i64 + round));
            }
            assert_eq!(engine.check().unwrap(), Vec::<String>::new());
            let (handles, count) = (engine.status().handles, env.fs.list(Path::new(DIR)).unwrap().len());
            assert!(handles.open <= handles.limit && count > 80, "{handles:?}, {count} files");
            engine.close().unwrap();
        }
        assert!(simulation.faults().open_files().1 <= 24);
    });
}

/// As sockets do: everything that the system has left.
fn take_all(env: &Env) -> Vec<Arc<dyn weft_env::File>> {
    let path = Path::new("db/CURRENT");
    std::iter::from_fn(|| env.fs.open(path, weft_env::OpenMode::Read).ok()).collect()
}

#[test]
fn handles_that_others_have_stop_no_commit() {
    let simulation = machine(32);
    run(&simulation, by_hand(), |simulation, env, engine| {
        engine.close().unwrap();
        drop(engine);
        simulation.faults().set_open_files_max(Some(64));
        let options = || EngineOptions { log_segment_bytes: 1 << 12, manifest_bytes: 1 << 12, ..by_hand() };
        let engine = open(env, options()).unwrap();
        for n in 0..40 {
            create(&engine, &format!("t{n}"), true);
            put(&engine, &format!("t{n}"), 0..5, n).unwrap();
        }
        engine.checkpoint().unwrap();
        let read = |engine| (0..40).for_each(|n| assert_eq!(get(engine, &format!("t{n}"), 3).unwrap(), Some(n)));
        read(&engine);
        let before = engine.status().handles;
        assert!(before.open > 16, "{before:?}");
        let mut taken = take_all(env);
        // The log gets segment after segment, jobs write files, the manifest is written anew.
        for round in 0..30 {
            put(&engine, "t1", 0..100, round).unwrap();
            taken.extend(take_all(env).into_iter().take(1));
        }
        engine.checkpoint().unwrap();
        create(&engine, "u", true);
        put(&engine, "u", 0..5, 7).unwrap();
        engine.checkpoint().unwrap();
        let handles = engine.status().handles;
        assert!(handles.refused > before.refused, "{handles:?}");
        read_rest(&engine);
        drop(taken);
        assert_eq!(engine.check().unwrap(), Vec::<String>::new());
        engine.close().unwrap();
    });
}

/// A file is opened, read and closed again, as long as one handle can be had.
fn read_rest(engine: &Arc<Engine>) {
    assert_eq!((get(engine, "u", 3).unwrap(), get(engine, "t7", 3).unwrap()), (Some(7), Some(7)));
}
