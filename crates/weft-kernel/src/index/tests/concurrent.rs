//! Committers, jobs and readers at the same time, every interleaving that the seeds decide.

use weft_env::sim::{RunEnd, SimOptions, Simulation};
use weft_env::sync;

use super::*;

type Body = Box<dyn FnOnce(&World, &Mutex<Model>) + Send>;

const WRITERS: u64 = 3;
const COMMITS: u64 = 25;

/// Commits in the kernel's order: a timestamp under a latch, then the adding, then publication in order.
fn write(world: &World, latch: &sync::Mutex<()>, model: &Mutex<Model>, seed: u64) {
    let mut rng = Prng(seed);
    for _ in 0..COMMITS {
        let entries: Vec<EntryBytes> = (0..1 + rng.below(30)).map(|_| random_entry(&mut rng)).collect();
        let timeline = &world.services.timeline;
        let ts = {
            let _latch = latch.lock();
            let ts = timeline.last_sequenced().next();
            let mut model = model.lock().unwrap();
            entries.iter().for_each(|entry| model.add(entry.clone(), ts));
            timeline.sequence(ts);
            ts
        };
        entries.iter().for_each(|(value, key)| world.store.add(value, key, ts));
        timeline.publish(ts).unwrap();
    }
}

/// Everything published before a scan begins is found by it.
fn read(world: &World, model: &Mutex<Model>, seed: u64) {
    let mut rng = Prng(seed);
    for _ in 0..12 {
        let snapshot = world.services.timeline.register();
        let way = if rng.below(2) == 0 { Direction::Forward } else { Direction::Backward };
        let found = scan(&world.store, Bound::Unbounded, Bound::Unbounded, way);
        world.services.timeline.release(snapshot);
        let found: BTreeMap<EntryBytes, Timestamp> = found.into_iter().collect();
        let log = model.lock().unwrap().log.clone();
        for logged in log {
            if let Logged::Add(entry, ts) = logged
                && ts <= snapshot
            {
                assert!(found.get(&entry).is_some_and(|&at| at >= ts), "{entry:?} @ {ts} is missing at {snapshot}");
            }
        }
    }
}

fn maintain(world: &World, seed: u64) {
    let mut rng = Prng(seed);
    for _ in 0..60 {
        match rng.below(8) {
            0 => world.store.freeze(),
            _ => {
                let offers = world.store.jobs();
                if !offers.is_empty() {
                    world.store.run(&offers[rng.below(offers.len() as u64) as usize]).unwrap();
                }
            }
        }
        world.store.durable_cut();
    }
}

/// Writers, a reader and two threads of jobs on one opening; then everything is compared.
fn live(env: &Env, model: &Arc<Mutex<Model>>, seed: u64) {
    let options = IndexOptions { memory_bytes: 1200, ..small() };
    let world = Arc::new(open(env, Path::new("/db"), options, model));
    let latch = Arc::new(sync::Mutex::new(()));
    let spawn = |name: &str, body: Body| {
        let (world, model) = (world.clone(), model.clone());
        env.spawn.spawn(name, Box::new(move || body(&world, &model))).unwrap()
    };
    let mut threads = Vec::new();
    for number in 0..WRITERS {
        let latch = latch.clone();
        let seed = seed * 10 + number;
        threads.push(spawn("writer", Box::new(move |world, model| write(world, &latch, model, seed))));
    }
    threads.push(spawn("reader", Box::new(move |world, model| read(world, model, seed))));
    for number in 0..2 {
        threads.push(spawn("jobs", Box::new(move |world, _| maintain(world, seed + number))));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    verify(&world, &model.lock().unwrap(), &mut Prng(seed));
}

/// Opens again and compares.
fn reopen(simulation: &Simulation, model: &Arc<Mutex<Model>>, seed: u64) {
    let model = model.clone();
    let end = simulation.run(move |env| {
        let world = open(&env, Path::new("/db"), small(), &model);
        verify(&world, &model.lock().unwrap(), &mut Prng(seed));
    });
    assert_eq!(end, RunEnd::Finished, "seed {seed}");
}

#[test]
pub(super) fn readers_find_what_was_published_while_writers_and_jobs_go_on() {
    let mut merges = 0;
    for seed in 0..30 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let model = Arc::new(Mutex::new(Model::default()));
        let inside = model.clone();
        assert_eq!(simulation.run(move |env| live(&env, &inside, seed)), RunEnd::Finished, "seed {seed}");
        reopen(&simulation, &model, seed);
        merges += simulation.step_counts().get("index merge: switched").copied().unwrap_or_default();
    }
    assert!(merges > 60, "{merges} merges");
}

#[test]
fn a_crash_among_writers_and_jobs_loses_nothing() {
    let mut crashes = 0;
    for seed in 100..140 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let model = Arc::new(Mutex::new(Model::default()));
        let mut rng = Prng(seed);
        for round in 0..3 {
            simulation.crash_after(20 + rng.below(250));
            let inside = model.clone();
            let end = simulation.run(move |env| live(&env, &inside, seed * 10 + round));
            simulation.cancel_crash();
            assert!(!matches!(end, RunEnd::Panicked { .. }), "seed {seed}: {end:?}");
            crashes += u64::from(matches!(end, RunEnd::Crashed { .. }));
            reopen(&simulation, &model, seed);
        }
    }
    assert!(crashes > 60, "{crashes} crashes");
}
