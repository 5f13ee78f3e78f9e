//! Random histories against a map; and each kind of job on its own.

use weft_env::sim::{RunEnd, SimOptions, Simulation};

use super::*;

/// One random step; what it logs is logged before it is done.
pub(super) fn step(world: &World, model: &Mutex<Model>, rng: &mut Prng) {
    match rng.below(30) {
        0 => world.store.freeze(),
        1..=5 => {
            let offers = world.store.jobs();
            if !offers.is_empty() {
                world.store.run(&offers[rng.below(offers.len() as u64) as usize]).unwrap();
            }
        }
        6 => {
            let entries: Vec<EntryBytes> = (0..rng.below(400)).map(|_| random_entry(rng)).collect();
            let built = world.store.build(entries.iter().cloned().map(Ok), Timestamp(0)).unwrap();
            if rng.below(4) == 0 {
                world.store.discard(&built);
                return;
            }
            world.commit(|store, ts| {
                let mut model = model.lock().unwrap();
                model.log.push(Logged::Attach(built.files.clone(), ts));
                for entry in entries {
                    model.dead.remove(&entry);
                    model.entries.insert(entry, ts);
                }
                drop(model);
                store.attach(&built.files, ts).unwrap();
            });
        }
        7 => {
            let mut model = model.lock().unwrap();
            let published = world.services.published();
            let some: Vec<EntryBytes> = model.entries.keys().filter(|_| rng.below(8) == 0).cloned().collect();
            assert!(model.entries.values().all(|&ts| ts <= published));
            some.iter().for_each(|(value, _)| world.store.note_stale(value));
            model.dead.extend(some);
        }
        _ => {
            let entries: Vec<EntryBytes> = (0..1 + rng.below(20)).map(|_| random_entry(rng)).collect();
            world.commit(|store, ts| {
                for entry in entries {
                    model.lock().unwrap().add(entry.clone(), ts);
                    store.add(&entry.0, &entry.1, ts);
                }
            });
        }
    }
}

#[test]
pub(super) fn random_histories_agree_with_a_map() {
    let mut steps: BTreeMap<&'static str, u64> = BTreeMap::new();
    let ranges = Arc::new(AtomicU64::new(0));
    for seed in 0..12 {
        let (simulation, seen) = (Simulation::new(SimOptions::seeded(seed)), ranges.clone());
        let end = simulation.run(move |env| {
            let model = Arc::new(Mutex::new(Model::default()));
            let mut rng = Prng(seed);
            let dir = Path::new("/db");
            for round in 0..4 {
                let mut world = open(&env, dir, small(), &model);
                for n in 0..120 {
                    step(&world, &model, &mut rng);
                    if n % 24 == round {
                        verify(&world, &model.lock().unwrap(), &mut rng);
                    }
                }
                if round == 2 {
                    world.store.freeze();
                    world.run_jobs();
                    assert_eq!(world.store.durable_cut(), Timestamp::MAX);
                    assert_eq!(world.services.row_budget.used_bytes(), 0);
                    seen.fetch_max(world.store.statistics().ranges, std::sync::atomic::Ordering::Relaxed);
                }
                verify(&world, &model.lock().unwrap(), &mut rng);
                world = open(&env, dir, small(), &model);
                verify(&world, &model.lock().unwrap(), &mut rng);
            }
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        for (step, count) in simulation.step_counts() {
            *steps.entry(step).or_default() += count;
        }
    }
    assert!(steps["index merge: switched"] > 50 && steps["index flush: switched"] > 50, "{steps:?}");
    assert!(ranges.load(std::sync::atomic::Ordering::Relaxed) > 5, "ranges split");
}

#[test]
pub(super) fn entries_that_nobody_needs_go_when_every_snapshot_is_behind_them() {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let model = Arc::new(Mutex::new(Model::default()));
        let world = open(&env, Path::new("/db"), small(), &model);
        let add = |n: u64| {
            let entry = (value(n), key(n));
            world.commit(|store, ts| {
                model.lock().unwrap().add(entry.clone(), ts);
                store.add(&entry.0, &entry.1, ts);
            });
        };
        (0..40).for_each(add);
        let snapshot = world.services.timeline.register();
        (40..80).for_each(add);
        world.store.freeze();
        world.run_jobs();
        let count = || scan(&world.store, Bound::Unbounded, Bound::Unbounded, Direction::Forward).len();
        let note = || {
            let entries: Vec<EntryBytes> = model.lock().unwrap().entries.keys().cloned().collect();
            entries.iter().for_each(|(value, _)| world.store.note_stale(value));
            model.lock().unwrap().dead.extend(entries);
        };
        assert_eq!((count(), world.run_jobs()), (80, 0));
        note();
        assert!(world.run_jobs() > 0);
        assert_eq!(count(), 40, "entries above the horizon stay, needed or not");
        assert_eq!(world.run_jobs(), 0, "and are not looked at again before the horizon has moved");
        world.services.timeline.release(snapshot);
        world.run_jobs();
        assert_eq!(count(), 0);
        assert_eq!(world.store.statistics().runs, 0, "a run without entries is no run");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn a_filter_that_lets_much_through_is_rebuilt() {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let model = Arc::new(Mutex::new(Model::default()));
        let world = open(&env, Path::new("/db"), small(), &model);
        let built = world.store.build((0..200).map(|n| Ok((value(2 * n), key(n)))), Timestamp(0)).unwrap();
        world.commit(|store, ts| store.attach(&built.files, ts).unwrap());
        world.run_jobs();
        // A value that is not there and comes through some filter, asked again and again.
        let number = |n: u64| [format!("{:03}", n % 250).as_bytes(), &n.to_be_bytes(), &[0, 0]].concat();
        let false_positives = || world.store.statistics().filter_false_positives;
        let collides = |n: &u64| {
            let before = false_positives();
            assert!(collect(world.store.lookup(&number(*n)).unwrap()).is_empty());
            false_positives() > before
        };
        let absent = (1000..50_000).find(collides).expect("one in a hundred comes through");
        for _ in 0..5000 {
            world.store.lookup(&number(absent)).unwrap().next().unwrap();
        }
        let offers = world.store.jobs();
        assert!(offers.iter().any(|offer| offer.reason.contains("the filter let")), "{offers:?}");
        assert!(world.run_jobs() > 0);
        assert!(!collides(&absent), "another seed, other collisions");
        assert!(world.store.statistics().filter_misses > 5000, "counts outlive their run");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn a_cursor_keeps_what_it_pinned_and_files_go_after_it() {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let model = Arc::new(Mutex::new(Model::default()));
        let world = open(&env, Path::new("/db"), small(), &model);
        for round in 0..4 {
            world.commit(|store, ts| (0..100).for_each(|n| store.add(&value(n), &key(n + round * 1000), ts)));
            world.store.freeze();
            let flush = world.store.jobs().into_iter().find(|offer| offer.kind.frees_memory()).unwrap();
            world.store.run(&flush).unwrap();
        }
        let files = || env.fs.list(Path::new("/db")).unwrap().iter().filter(|name| name.ends_with(".data")).count();
        let mut cursor = world.store.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
        assert!(cursor.next().unwrap().is_some());
        let before = files();
        assert!(world.run_jobs() > 0);
        assert!(files() > before, "inputs are still being read");
        let mut count = 1;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 400);
        drop(cursor);
        assert_eq!(files() as u64, world.store.statistics().runs);
        world.store.drop_files();
        assert_eq!(world.store.jobs(), []);
        drop(world);
        assert_eq!(files(), 0, "a dropped index takes its files with it");
    });
    assert_eq!(end, RunEnd::Finished);
}

#[test]
fn a_split_border_inside_one_value_is_no_border_for_readers() {
    let end = Simulation::new(SimOptions::seeded(1)).run(|env| {
        let model = Arc::new(Mutex::new(Model::default()));
        let world = open(&env, Path::new("/db"), small(), &model);
        let built = world.store.build((0..9000).map(|n| Ok((value(3), key(n)))), Timestamp(0)).unwrap();
        assert_eq!(built.entries, 9000);
        world.commit(|store, ts| store.attach(&built.files, ts).unwrap());
        world.run_jobs();
        assert!(world.store.statistics().ranges > 4, "{:?}", world.store.statistics());
        let found = collect(world.store.lookup(&value(3)).unwrap());
        assert!(found.iter().map(|((_, key), _)| key).eq((0..9000).map(key).collect::<Vec<_>>().iter()));
        assert!(collect(world.store.lookup(&value(4)).unwrap()).is_empty());
        assert!(found.iter().all(|&(_, ts)| ts == Timestamp(1)), "entries are as old as the attachment");
    });
    assert_eq!(end, RunEnd::Finished);
}
