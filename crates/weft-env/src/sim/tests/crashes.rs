use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::*;
use crate::sync::{Condvar, Mutex};

#[test]
fn a_crash_keeps_what_was_synced_and_tears_the_rest_at_sectors() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..300 {
        let simulation = simulation(seed);
        simulation.crash_after(5);
        let end = simulation.run(|env| {
            let file = durable_file(&env, &[1; 2048]);
            file.write_at(&[2; 3072], 1024).unwrap();
            unreachable!("the machine crashed in the write");
        });
        assert_eq!(end, RunEnd::Crashed { number: 5, operation: "write f 1024 3072".to_owned() });
        let bytes = content(&simulation.env(), "f").unwrap();
        assert_eq!(bytes[..1024], [1; 1024]);
        let mut outcome = Vec::new();
        for (sector, part) in bytes.chunks(512).enumerate().skip(2) {
            assert!(part.iter().all(|b| *b == part[0]), "sectors are atomic");
            assert!(part[0] == 2 || part[0] == if sector < 4 { 1 } else { 0 });
            outcome.push(part[0]);
        }
        outcomes.insert(outcome);
    }
    for expected in [vec![1, 1], vec![2; 6], vec![1, 1, 0, 0, 0, 0]] {
        assert!(outcomes.contains(&expected), "{expected:?} never happened");
    }
    assert!(outcomes.len() > 30, "{} outcomes", outcomes.len());
}

#[test]
fn a_sector_never_mixes_a_later_write_with_the_loss_of_an_earlier_one() {
    for seed in 0..200 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            let file = durable_file(&env, &[0; 512]);
            for i in 0..10 {
                file.write_at(&[1; 50], i * 50).unwrap();
            }
        });
        simulation.power_off();
        let bytes = content(&simulation.env(), "f").unwrap();
        let ones = bytes.iter().take_while(|b| **b == 1).count();
        assert!(ones % 50 == 0 && bytes[ones..].iter().all(|b| *b == 0), "a prefix of the writes");
    }
}

#[test]
fn unsynced_writes_to_different_files_survive_independently() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            let files = [create(&env, "a"), create(&env, "b")];
            env.fs.sync_dir(Path::new("")).unwrap();
            files.iter().for_each(|file| file.write_at(&[1; 10], 0).unwrap());
        });
        simulation.power_off();
        let whole = |path| content(&simulation.env(), path).unwrap() == [1; 10];
        seen.insert((whole("a"), whole("b")));
    }
    assert_eq!(seen.len(), 4);
}

#[test]
fn a_sync_covers_only_what_was_written_before_it_began() {
    let mut lost = 0;
    for seed in 0..100 {
        let simulation = Simulation::new(SimOptions { switch_permille: Some(500), ..SimOptions::seeded(seed) });
        finish(&simulation, |env| {
            let file = durable_file(&env, &[0; 1024]);
            let (other, clock) = (Arc::clone(&file), Arc::clone(&env.clock));
            let late = move || {
                clock.sleep(Duration::from_micros(30));
                other.write_at(&[2; 512], 512).unwrap();
            };
            let thread = env.spawn.spawn("late writer", Box::new(late)).unwrap();
            file.write_at(&[1; 512], 0).unwrap();
            file.sync_data().unwrap();
            thread.join().unwrap();
        });
        simulation.power_off();
        let bytes = content(&simulation.env(), "f").unwrap();
        assert_eq!(bytes[..512], [1; 512]);
        lost += u32::from(bytes[512] == 0);
    }
    assert!(lost > 10, "lost {lost}");
}

#[test]
fn names_are_durable_after_sync_dir_and_renames_atomic() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            drop(durable_file(&env, b"old"));
            let new = create(&env, "tmp");
            new.write_at(b"new", 0).unwrap();
            new.sync_data().unwrap();
            env.fs.rename(Path::new("tmp"), Path::new("f")).unwrap();
            drop(create(&env, "unsynced"));
        });
        simulation.power_off();
        let env = simulation.env();
        let current = content(&env, "f").expect("one of the two is there");
        assert!(current == b"old" || current == b"new");
        assert!(content(&env, "tmp").is_none_or(|bytes| bytes == b"new" && current == b"old"));
        seen.insert((current, content(&env, "tmp").is_some(), content(&env, "unsynced").is_some()));
    }
    assert_eq!(seen.len(), 6, "old alone, old with tmp, new; each with and without the unsynced file");
    for seed in 0..50 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            drop(durable_file(&env, b"old"));
            create(&env, "tmp").sync_data().unwrap();
            env.fs.rename(Path::new("tmp"), Path::new("f")).unwrap();
            env.fs.sync_dir(Path::new("")).unwrap();
            env.fs.remove(Path::new("f")).unwrap();
            env.fs.sync_dir(Path::new("")).unwrap();
        });
        simulation.power_off();
        assert!(simulation.env().fs.list(Path::new("")).unwrap().is_empty());
    }
}

#[test]
fn a_lost_directory_takes_its_files_with_it() {
    let mut lost = 0;
    for seed in 0..50 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            env.fs.create_dir_all(Path::new("/data/db")).unwrap();
            create(&env, "/data/db/f").sync_data().unwrap();
            env.fs.sync_dir(Path::new("/data/db")).unwrap();
        });
        simulation.power_off();
        lost += u32::from(content(&simulation.env(), "/data/db/f").is_none());
    }
    assert!(lost > 5 && lost < 50, "lost {lost}");
}

/// Locks and notifies when it is dropped, as a database's handle does.
struct NoisyDrop(Arc<(Mutex<u32>, Condvar)>, Arc<dyn File>);

impl Drop for NoisyDrop {
    fn drop(&mut self) {
        *self.0.0.lock() += 1;
        self.0.1.notify_all();
        assert!(self.1.write_at(b"too late", 0).is_err() || !std::thread::panicking());
        drop(self.1.sync_data());
    }
}

#[test]
fn a_crash_while_threads_hold_and_wait_for_locks_ends_cleanly() {
    for seed in 0..100 {
        let simulation = simulation(seed);
        simulation.crash_after(20);
        let end = simulation.run(|env| {
            let file = create(&env, "f");
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let mut threads = Vec::new();
            for i in 0..6 {
                let (shared, file, clock) = (Arc::clone(&shared), Arc::clone(&file), Arc::clone(&env.clock));
                let body = move || {
                    let _noisy = NoisyDrop(Arc::clone(&shared), Arc::clone(&file));
                    loop {
                        let mut guard = shared.0.lock();
                        file.write_at(&[i; 10], 0).unwrap();
                        *guard += 1;
                        if i == 0 {
                            clock.sleep(Duration::from_micros(10));
                        } else if i < 3 {
                            shared.1.wait_timeout(&mut guard, Duration::from_micros(50));
                        }
                    }
                };
                threads.push(env.spawn.spawn(&i.to_string(), Box::new(body)).unwrap());
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
        assert!(matches!(end, RunEnd::Crashed { number: 20, .. }), "{end:?}");
        assert!(content(&simulation.env(), "f").is_none_or(|bytes| bytes.len() <= 10));
    }
}

/// Writes when it is dropped.
struct WritesInDrop(Arc<dyn File>);

impl Drop for WritesInDrop {
    fn drop(&mut self) {
        drop(self.0.write_at(b"x", 0));
    }
}

#[test]
fn a_crash_does_not_hide_the_panic_before_it() {
    let simulation = simulation(1);
    simulation.crash_after(2);
    let end = simulation.run(|env| {
        let _writes = WritesInDrop(create(&env, "f"));
        std::panic::panic_any("broken");
    });
    assert_eq!(end, RunEnd::Panicked { thread: "main".to_owned(), message: "broken".to_owned() });
}

#[test]
fn a_panic_because_of_the_crash_is_not_a_failure() {
    let simulation = simulation(1);
    simulation.crash_after(2);
    let end = simulation.run(|env| {
        let file = create(&env, "f");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| file.write_at(b"x", 0)));
        assert!(caught.is_ok(), "unwound by the crash");
    });
    assert!(matches!(end, RunEnd::Crashed { number: 2, .. }), "{end:?}");
}

/// Waits in its drop for what no thread will do any more.
struct WaitsForEver(Arc<(Mutex<u32>, Condvar)>);

impl Drop for WaitsForEver {
    fn drop(&mut self) {
        let mut guard = self.0.0.lock();
        while *guard < 1000 {
            self.0.1.wait(&mut guard);
        }
    }
}

#[test]
fn a_thread_that_cannot_end_after_a_crash_is_abandoned() {
    for catches in [false, true] {
        let simulation = simulation(5);
        simulation.crash_after(3);
        let end = simulation.run(move |env| {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let file = create(&env, "f");
            let _waits = (!catches).then(|| WaitsForEver(Arc::clone(&shared)));
            loop {
                let again = std::panic::AssertUnwindSafe(|| file.write_at(b"x", 0).unwrap());
                if let Err(payload) = std::panic::catch_unwind(again)
                    && !catches
                {
                    std::panic::resume_unwind(payload);
                }
            }
        });
        assert!(matches!(end, RunEnd::Crashed { number: 3, .. }), "{end:?}");
        finish(&simulation, |env| drop(env.fs.list(Path::new(""))));
    }
}

#[test]
fn five_hundred_crashes_of_one_machine() {
    let started = Instant::now();
    let run_all = || {
        let simulation = simulation(9);
        for cycle in 0..500 {
            simulation.crash_after(1 + cycle % 40);
            let end = simulation.run(move |env| {
                let name = format!("f{cycle}");
                let file = create(&env, &name);
                let other = Arc::clone(&file);
                let body = move || (0..20).for_each(|i| other.write_at(&[2; 600], i * 600).unwrap());
                let thread = env.spawn.spawn("other", Box::new(body)).unwrap();
                for i in 0..20 {
                    file.write_at(&[1; 600], i * 600).unwrap();
                    file.sync_data().unwrap();
                }
                thread.join().unwrap();
                env.fs.remove(Path::new(&name)).unwrap();
            });
            assert!(matches!(end, RunEnd::Crashed { .. }), "{end:?}");
        }
        simulation.trace_hash()
    };
    let hash = run_all();
    assert_eq!(hash, run_all());
    println!("1000 cycles took {:?}, trace {hash:x}", started.elapsed());
}

#[test]
fn a_crash_at_a_step_happens_right_after_it() {
    let simulation = simulation(5);
    simulation.crash_at_step("second", 2);
    let end = simulation.run(|env| {
        let file = durable_file(&env, &[1; 10]);
        for i in 0..5 {
            crate::sim::step("first");
            file.write_at(&[i], 20 + u64::from(i)).unwrap();
            crate::sim::step("second");
        }
    });
    assert_eq!(end, RunEnd::Crashed { number: simulation.operation_count(), operation: "step second".to_owned() });
    assert_eq!(simulation.step_counts(), [("first", 2), ("second", 2)].into());
    finish(&simulation, |_| crate::sim::step("first"));
    assert_eq!(simulation.step_counts()["first"], 3);
}
