use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::JoinHandle;
use crate::sync::{Condvar, Mutex, RwLock, yield_point};

fn spawn(env: &Env, name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle {
    env.spawn.spawn(name, Box::new(body)).unwrap()
}

/// Three threads that lock, write, sleep and ask for random numbers; returns the values in the order they were added.
fn mixed_workload(seed: u64, record_trace: bool) -> (Simulation, Vec<u64>) {
    let simulation = Simulation::new(SimOptions { record_trace, ..SimOptions::seeded(seed) });
    let values = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&values);
    finish(&simulation, move |env| {
        let file = create(&env, "f");
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let (env, file, values) = (env.clone(), Arc::clone(&file), Arc::clone(&shared));
                let run = move |env: Env| {
                    for round in 0..20 {
                        file.write_at(&[i as u8; 100], round * 100).unwrap();
                        values.lock().push(env.rng.next_u64() % 1000 * 10 + i);
                        env.clock.sleep(Duration::from_micros(env.rng.next_u64() % 50));
                        file.sync_data().unwrap();
                    }
                };
                let own = env.clone();
                spawn(&env, &format!("worker {i}"), move || run(own))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let values = values.lock().clone();
    (simulation, values)
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let mut hashes = BTreeSet::new();
    for seed in 0..20 {
        let (first, values) = mixed_workload(seed, true);
        let (second, same_values) = mixed_workload(seed, false);
        assert_eq!(first.trace_hash(), second.trace_hash());
        assert_eq!(values, same_values);
        assert!(first.trace().len() > 180 && second.trace().is_empty());
        hashes.insert(first.trace_hash());
    }
    assert_eq!(hashes.len(), 20, "different seeds, different traces");
}

#[test]
fn locks_exclude_and_lost_updates_show_without_them() {
    let mut lost_updates = 0;
    for seed in 0..50 {
        let counts = Arc::new((Mutex::new(0_u64), RwLock::new(0_u64), AtomicU64::new(0)));
        let shared = Arc::clone(&counts);
        finish(&simulation(seed), move |env| {
            for i in 0..4 {
                let shared = Arc::clone(&shared);
                spawn(&env, &i.to_string(), move || {
                    for _ in 0..10 {
                        let mut guard = shared.0.lock();
                        let value = *guard;
                        yield_point();
                        *guard = value + 1;
                        drop(guard);
                        let seen = *shared.1.read();
                        let mut guard = shared.1.write();
                        assert!(*guard >= seen);
                        let value = *guard;
                        yield_point();
                        *guard = value + 1;
                        drop(guard);
                        let value = shared.2.load(Ordering::Relaxed);
                        yield_point();
                        shared.2.store(value + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!((*counts.0.lock(), *counts.1.read()), (40, 40));
        lost_updates += u64::from(counts.2.load(Ordering::Relaxed) < 40);
    }
    assert!(lost_updates > 25, "a race must show in most seeds, not in {lost_updates} of 50");
}

#[test]
fn condvars_pass_every_item_on() {
    for seed in 0..50 {
        let simulation = simulation(seed);
        finish(&simulation, |env| {
            let queue = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
            let takers: Vec<_> = (0..3)
                .map(|i| {
                    let queue = Arc::clone(&queue);
                    spawn(&env, &format!("taker {i}"), move || {
                        for _ in 0..10 {
                            let mut items = queue.0.lock();
                            while items.is_empty() {
                                queue.1.wait(&mut items);
                            }
                            items.pop();
                        }
                    })
                })
                .collect();
            for item in 0..30 {
                queue.0.lock().push(item);
                queue.1.notify_one();
            }
            for taker in takers {
                taker.join().unwrap();
            }
            assert!(queue.0.lock().is_empty());
        });
    }
}

#[test]
fn timeouts_take_virtual_time() {
    let started = Instant::now();
    finish(&simulation(1), |env| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let before = env.clock.monotonic_nanos();
        assert!(pair.1.wait_timeout(&mut pair.0.lock(), Duration::from_secs(3600)));
        env.clock.sleep(Duration::from_secs(3600));
        let passed = env.clock.monotonic_nanos() - before;
        assert!((7_200_000_000_000..7_200_100_000_000).contains(&passed));
        let other = Arc::clone(&pair);
        let clock = Arc::clone(&env.clock);
        let thread = spawn(&env, "notifier", move || {
            clock.sleep(Duration::from_secs(1));
            let _guard = other.0.lock();
            other.1.notify_all();
        });
        assert!(!pair.1.wait_timeout(&mut pair.0.lock(), Duration::from_secs(5)));
        thread.join().unwrap();
        assert!(env.clock.wall_micros() > 1_767_225_600_000_000 + 7_201_000_000);
    });
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_deadlock_is_reported_with_what_each_thread_waits_for() {
    let mut reported = 0;
    for seed in 0..30 {
        let end = simulation(seed).run(|env| {
            let locks = Arc::new((Mutex::new(0), RwLock::new(0)));
            let other = Arc::clone(&locks);
            let thread = spawn(&env, "backwards", move || {
                let _second = other.1.write();
                let _first = other.0.lock();
            });
            {
                let _first = locks.0.lock();
                let _second = locks.1.read();
            }
            thread.join().unwrap();
        });
        if let RunEnd::Panicked { message, .. } = &end {
            assert!(message.contains("main waits for the read lock at "), "{message}");
            assert!(message.contains("backwards waits for the mutex at "), "{message}");
            assert!(message.contains("sim/tests/threads.rs:"), "{message}");
            reported += 1;
        } else {
            assert_eq!(end, RunEnd::Finished);
        }
    }
    assert!((1..30).contains(&reported), "some schedules deadlock, some do not: {reported} of 30");
}

#[test]
fn a_reader_waits_behind_a_waiting_writer() {
    let mut deadlocks = 0;
    for seed in 0..30 {
        let end = simulation(seed).run(|env| {
            let lock = Arc::new(RwLock::new(0));
            let other = Arc::clone(&lock);
            spawn(&env, "writer", move || *other.write() += 1);
            let _outer = lock.read();
            yield_point();
            let _inner = lock.read();
        });
        deadlocks += u32::from(end != RunEnd::Finished);
    }
    assert!(deadlocks > 0, "reading twice under a waiting writer is a deadlock in parking_lot too");
}

#[test]
fn a_panic_ends_the_run_and_is_reported() {
    let end = simulation(3).run(|env| {
        let held = Arc::new(Mutex::new(()));
        let _guard = held.lock();
        let other = Arc::clone(&held);
        spawn(&env, "waits", move || drop(other.lock()));
        let thread = spawn(&env, "fails", || std::panic::panic_any("broken invariant"));
        thread.join().unwrap();
    });
    assert_eq!(end, RunEnd::Panicked { thread: "fails".to_owned(), message: "broken invariant".to_owned() });
}

#[test]
fn joiners_may_deal_with_panics() {
    let simulation = Simulation::new(SimOptions { stop_on_panic: false, ..SimOptions::seeded(3) });
    let went_on = Arc::new(Mutex::new(false));
    let shared = Arc::clone(&went_on);
    let end = simulation.run(move |env| {
        let thread = spawn(&env, "fails", || std::panic::panic_any("broken"));
        assert_eq!(thread.join(), Err("broken".to_owned()));
        *shared.lock() = true;
    });
    assert_eq!(end, RunEnd::Panicked { thread: "fails".to_owned(), message: "broken".to_owned() });
    assert!(*went_on.lock());
}

#[test]
fn a_livelock_is_reported() {
    let simulation = Simulation::new(SimOptions { points_max: 10_000, ..SimOptions::seeded(1) });
    let end = simulation.run(|_| {
        loop {
            yield_point();
        }
    });
    assert!(matches!(end, RunEnd::Panicked { message, .. } if message.starts_with("livelock")));
}

/// Prints what a scheduling point costs; the numbers depend on the machine, so nothing is asserted.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_scheduling_point() {
    for switch_permille in [0, 30, 100, 300, 1000] {
        let simulation =
            Simulation::new(SimOptions { switch_permille: Some(switch_permille), ..SimOptions::seeded(1) });
        let started = Instant::now();
        finish(&simulation, |env| {
            for i in 0..4 {
                spawn(&env, &i.to_string(), || (0..50_000).for_each(|_| yield_point()));
            }
        });
        println!("switch {switch_permille}: {:.0} ns per point", started.elapsed().as_secs_f64() * 1e9 / 200_000.0);
    }
}
