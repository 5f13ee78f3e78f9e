//! Failed fsync, full disk, failing jobs: in the simulation.

use std::path::Path;
use std::sync::Arc;

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_format::Code;

use crate::testing::{by_hand, create, get, open_with, put};
use crate::{Durability, Engine, EngineOptions};

fn dir() -> &'static Path {
    Path::new("/db")
}

fn run(
    seed: u64,
    options: EngineOptions,
    body: impl FnOnce(&Simulation, Arc<Engine>) + Send + 'static,
) -> Arc<Simulation> {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(seed)));
    let inner = simulation.clone();
    let end = simulation.run(move |env| {
        let engine = open_with(env, dir(), options).unwrap();
        create(&engine, &["t"]).unwrap();
        body(&inner, engine);
    });
    assert_eq!(end, RunEnd::Finished);
    simulation
}

#[test]
fn a_failed_fsync_stops_writes_until_the_database_is_opened_again() {
    for seed in 0..20 {
        let simulation = run(seed, by_hand(), |simulation, engine| {
            put(&engine, "t", 1, 1).unwrap();
            simulation.faults().fail_sync("log-", 1);
            let error = put(&engine, "t", 1, 2).unwrap_err();
            assert_eq!(error.code(), Code::Poisoned);
            assert!(error.message().contains("fsync"), "{error}");
            for _ in 0..3 {
                let again = put(&engine, "t", 2, 2).unwrap_err();
                assert_eq!(again.code(), Code::Poisoned);
                assert!(
                    again.message().contains("fsync") && again.hint_text().unwrap().contains("open it again"),
                    "{again}"
                );
            }
            assert_eq!(engine.checkpoint().unwrap_err().code(), Code::Poisoned);
            assert!(engine.status().poisoned.is_some());
            let txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert_eq!(get(&txn, &t, 1), Some(1), "reads go on");
        });
        simulation.power_off();
        let end = simulation.run(move |env| {
            let engine = open_with(env, dir(), by_hand()).unwrap();
            let txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert!(matches!(get(&txn, &t, 1), Some(1 | 2)), "what was acknowledged is there");
            assert_eq!(get(&txn, &t, 2), None);
            put(&engine, "t", 2, 2).unwrap();
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
}

#[test]
fn on_a_full_disk_writes_fail_cleanly_and_resume_when_there_is_space() {
    for seed in 0..10 {
        let options = EngineOptions { log_segment_bytes: 8192, ..by_hand() };
        let simulation = run(seed, options, |simulation, engine| {
            put(&engine, "t", 1, 1).unwrap();
            simulation.faults().fill_disk();
            let mut failed = 0;
            for i in 0..200 {
                match put(&engine, "t", 2, i) {
                    Ok(_) => assert_eq!(failed, 0, "a full disk does not empty itself"),
                    Err(error) => {
                        assert_eq!(error.code(), Code::DiskFull, "{error}");
                        failed += 1;
                    }
                }
            }
            assert!(failed > 0);
            engine.freeze().unwrap();
            assert_eq!(engine.run_jobs().unwrap_err().code(), Code::DiskFull);
            let seen = {
                let txn = engine.begin().unwrap();
                let t = txn.table("t").unwrap();
                assert_eq!(get(&txn, &t, 1), Some(1), "reads go on");
                get(&txn, &t, 2)
            };
            simulation.faults().set_capacity(None);
            put(&engine, "t", 3, 3).unwrap();
            engine.run_jobs().unwrap();
            engine.checkpoint().unwrap();
            let txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert_eq!((get(&txn, &t, 2), get(&txn, &t, 3)), (seen, Some(3)), "a failed commit left nothing");
            assert_eq!((engine.status().poisoned, engine.status().lock_count), (None, 0));
        });
        simulation.power_off();
        let end = simulation.run(move |env| {
            let engine = open_with(env, dir(), by_hand()).unwrap();
            let txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert_eq!((get(&txn, &t, 1), get(&txn, &t, 3)), (Some(1), Some(3)));
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
    }
}

#[test]
fn an_asynchronous_commit_survives_a_full_disk_in_memory() {
    run(3, EngineOptions { workers: 1, ..by_hand() }, |simulation, engine| {
        simulation.faults().fill_disk();
        for i in 0..300 {
            let mut txn = engine.begin().unwrap();
            txn.set_durability(Durability::Async);
            let t = txn.table("t").unwrap();
            txn.insert(&t, &crate::testing::row(&t, i, i)).unwrap();
            txn.commit().unwrap();
        }
        simulation.faults().set_capacity(None);
        engine.flush().unwrap();
        engine.close().unwrap();
        let engine = open_with(engine.env().clone(), dir(), by_hand()).unwrap();
        let txn = engine.begin().unwrap();
        let t = txn.table("t").unwrap();
        assert!((0..300).all(|i| get(&txn, &t, i) == Some(i)));
    });
}

#[test]
fn a_job_that_fails_otherwise_stops_the_engine_with_its_reason() {
    run(1, by_hand(), |simulation, engine| {
        put(&engine, "t", 1, 1).unwrap();
        engine.freeze().unwrap();
        simulation.faults().fail_sync("t1-", 1);
        let error = engine.run_jobs().unwrap_err();
        assert_eq!(error.code(), Code::Poisoned);
        assert!(error.message().contains("job Convert"), "{error}");
        let again = put(&engine, "t", 1, 2).unwrap_err();
        assert_eq!(again.message(), error.message(), "the first cause is kept");
        assert_eq!(engine.close().unwrap_err().code(), Code::Poisoned);
    });
}
