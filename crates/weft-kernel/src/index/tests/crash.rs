//! A machine that crashes at any operation and after each named step: what was logged is there again afterwards.

use weft_env::sim::{RunEnd, SimOptions, Simulation};

use super::model::step;
use super::*;
use crate::step::Step;

fn index_steps() -> Vec<&'static str> {
    let names = Step::KERNEL.iter().map(|step| step.name());
    names.filter(|name| name.starts_with("index")).collect()
}

/// Runs random steps until the machine crashes or the round is over; then opens again and compares.
fn round(simulation: &Simulation, model: &Arc<Mutex<Model>>, seed: u64) -> RunEnd {
    let for_work = model.clone();
    let end = simulation.run(move |env| {
        let mut rng = Prng(seed);
        let world = open(&env, Path::new("/db"), small(), &for_work);
        for _ in 0..80 {
            step(&world, &for_work, &mut rng);
        }
    });
    simulation.cancel_crash();
    assert!(!matches!(end, RunEnd::Panicked { .. }), "seed {seed}: {end:?}");
    let model = model.clone();
    let opened = simulation.run(move |env| {
        let world = open(&env, Path::new("/db"), small(), &model);
        verify(&world, &model.lock().unwrap(), &mut Prng(seed));
        let named: u64 = world.services.manifest.files().len() as u64;
        let attached = world.store.statistics().runs;
        assert!(named <= attached, "every listed file is a run");
    });
    assert_eq!(opened, RunEnd::Finished, "seed {seed} after {end:?}");
    end
}

#[test]
pub(super) fn what_was_logged_survives_a_crash_at_any_operation() {
    let mut crashes = 0;
    for seed in 0..40 {
        let simulation = Simulation::new(SimOptions::seeded(seed));
        let model = Arc::new(Mutex::new(Model::default()));
        let mut rng = Prng(seed);
        for number in 0..6 {
            if number > 0 {
                simulation.crash_after(1 + rng.below(120));
            }
            let end = round(&simulation, &model, seed * 100 + number);
            crashes += u64::from(matches!(end, RunEnd::Crashed { .. }));
        }
    }
    assert!(crashes > 150, "{crashes} crashes");
}

#[test]
pub(super) fn what_was_logged_survives_a_crash_after_each_step_of_each_job() {
    for (number, name) in index_steps().into_iter().enumerate() {
        let mut crashes = 0;
        for nth in 1..=4 {
            let simulation = Simulation::new(SimOptions::seeded(number as u64 * 10 + nth));
            let model = Arc::new(Mutex::new(Model::default()));
            for number in 0..3 {
                simulation.crash_at_step(name, nth);
                let end = round(&simulation, &model, nth * 100 + number);
                crashes += u64::from(matches!(&end, RunEnd::Crashed { operation, .. } if operation.contains(name)));
            }
        }
        assert!(crashes >= 4, "{name}: {crashes} crashes");
    }
}

#[test]
fn a_full_disk_fails_jobs_cleanly_and_space_lets_them_go_on() {
    let mut failed = 0;
    for seed in 0..12 {
        let simulation = Arc::new(Simulation::new(SimOptions::seeded(seed)));
        let machine = simulation.clone();
        let failures = Arc::new(AtomicU64::new(0));
        let counted = failures.clone();
        let end = simulation.run(move |env| {
            let model = Arc::new(Mutex::new(Model::default()));
            let world = open(&env, Path::new("/db"), small(), &model);
            let mut rng = Prng(seed);
            for _ in 0..60 {
                step(&world, &model, &mut rng);
            }
            world.store.freeze();
            let room = machine.faults().used_bytes() + rng.below(4) * 4096;
            machine.faults().set_capacity(Some(room));
            let names = |env: &Env| env.fs.list(Path::new("/db")).unwrap();
            while let Some(offer) = world.store.jobs().first() {
                let before = names(&env);
                let Err(error) = world.store.run(offer) else { continue };
                assert_eq!(error.code(), weft_format::Code::DiskFull, "{error}");
                assert_eq!(names(&env), before, "the failed attempt left no file");
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                break;
            }
            verify(&world, &model.lock().unwrap(), &mut rng);
            let entries = (0..4000).map(|n| Ok((value(n % VALUES), key(n))));
            let before = names(&env);
            if world.store.build(entries, Timestamp(0)).is_err() {
                assert_eq!(names(&env), before, "a failed build leaves no file");
            }
            machine.faults().set_capacity(None);
            world.run_jobs();
            assert_eq!(world.store.durable_cut(), Timestamp::MAX);
            verify(&world, &model.lock().unwrap(), &mut rng);
        });
        assert_eq!(end, RunEnd::Finished, "seed {seed}");
        failed += failures.load(std::sync::atomic::Ordering::Relaxed);
    }
    assert!(failed > 6, "{failed} failures");
}
