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
fn a_job_that_fails_otherwise_stops_nobody_and_is_tried_again() {
    run(1, by_hand(), |simulation, engine| {
        put(&engine, "t", 1, 1).unwrap();
        engine.freeze().unwrap();
        simulation.faults().fail_sync("t1-", 1);
        let error = engine.run_jobs().unwrap_err();
        assert_eq!(error.code(), Code::Io);
        assert!(error.message().contains("job convert") && error.message().contains("\"t\""), "{error}");
        assert_eq!((engine.status().poisoned, engine.status().jobs_resting), (None, 1));
        put(&engine, "t", 1, 2).unwrap();
        engine.run_jobs().unwrap();
        assert_eq!(engine.status().jobs_resting, 0);
        engine.close().unwrap();
    });
}

#[test]
fn a_failed_sync_of_the_manifest_stops_the_engine_with_its_reason() {
    run(1, by_hand(), |simulation, engine| {
        put(&engine, "t", 1, 1).unwrap();
        engine.freeze().unwrap();
        simulation.faults().fail_sync("MANIFEST", 1);
        let error = engine.run_jobs().unwrap_err();
        assert_eq!(error.code(), Code::Poisoned);
        assert!(error.message().contains("job convert"), "{error}");
        let again = put(&engine, "t", 1, 2).unwrap_err();
        assert_eq!(again.message(), error.message(), "the first cause is kept");
        assert_eq!(engine.close().unwrap_err().code(), Code::Poisoned);
    });
}

/// Memory that cannot be carried to files is that of one table: others are not kept waiting for it.
#[test]
fn a_table_whose_memory_cannot_be_freed_is_refused_and_others_go_on() {
    let options = EngineOptions { row_memory_bytes: 400_000, row_table_bytes: 20_000, ..by_hand() };
    run(2, options, |simulation, engine| {
        create(&engine, &["other"]).unwrap();
        simulation.faults().refuse_opens("t1-");
        engine.freeze().unwrap();
        let mut refused = None;
        for k in 0..20_000 {
            match put(&engine, "t", k, k) {
                Ok(_) => {}
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
            if k % 100 == 0 {
                engine.freeze().unwrap();
                let _ = engine.run_jobs();
            }
        }
        let error = refused.expect("it is refused at some point");
        assert_eq!(error.code(), Code::OutOfMemory, "{error}");
        assert!(error.message().contains("\"t\"") && error.message().contains("job convert"), "{error}");
        for k in 0..2000 {
            put(&engine, "other", k, k).unwrap();
            if k % 200 == 0 {
                engine.freeze().unwrap();
                let _ = engine.run_jobs();
            }
        }
        simulation.faults().clear();
        engine.run_jobs().unwrap();
        put(&engine, "t", 30_000, 1).unwrap();
        engine.checkpoint().unwrap();
    });
}

#[test]
fn a_large_transaction_that_meets_a_full_disk_lets_the_log_go() {
    for seed in 0..10 {
        let options = EngineOptions {
            log_segment_bytes: 8192,
            checkpoint_log_bytes: 16_384,
            log_batch_bytes: 2000,
            log_chunk_bytes: 500,
            ..by_hand()
        };
        run(seed, options, |simulation, engine| {
            put(&engine, "t", 1, 1).unwrap();
            simulation.faults().fill_disk();
            let mut txn = engine.begin().unwrap();
            let t = txn.table("t").unwrap();
            for k in 100..2000 {
                txn.insert(&t, &crate::testing::row(&t, k, k)).unwrap();
            }
            assert_eq!(txn.commit().unwrap_err().code(), Code::DiskFull);
            simulation.faults().set_capacity(None);
            for k in 0..600 {
                put(&engine, "t", k % 50, k).unwrap();
            }
            engine.checkpoint().unwrap();
            let kept = engine.status().log_bytes;
            assert!(kept <= 16_384, "{kept} bytes of log are kept");
        });
    }
}

/// Who takes the directory from a writer that lives needs space: until its log has begun what that one writes would
/// count.
#[test]
fn overtaking_on_a_full_disk_fails_and_the_next_try_finds_everything() {
    for seed in 0..10 {
        let _simulation = run(seed, by_hand(), |simulation, engine| {
            put(&engine, "t", 1, 1).unwrap();
            let env = engine.env().clone();
            let overtake = || {
                let options = EngineOptions { takes_over: true, notice: std::time::Duration::ZERO, ..by_hand() };
                open_with(env.clone(), dir(), options)
            };
            simulation.faults().fill_disk();
            for _ in 0..2 {
                assert_eq!(overtake().err().expect("the disk is full").code(), Code::DiskFull);
            }
            // The one before has lost the directory all the same.
            assert!(put(&engine, "t", 2, 2).is_err());
            simulation.faults().set_capacity(None);
            let next = overtake().unwrap();
            let txn = next.begin().unwrap();
            let t = txn.table("t").unwrap();
            assert_eq!(get(&txn, &t, 1), Some(1));
            txn.rollback();
            put(&next, "t", 3, 3).unwrap();
            assert_eq!(put(&engine, "t", 4, 4).unwrap_err().code(), Code::Poisoned);
            assert_eq!(next.check().unwrap(), Vec::<String>::new());
        });
    }
}
