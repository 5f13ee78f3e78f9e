//! Tests of the simulation: its threads, its disk, its crashes.

mod crashes;
mod disk;
mod threads;

use std::path::Path;
use std::sync::Arc;

use crate::sim::{RunEnd, SimOptions, Simulation};
use crate::{Env, File, OpenMode};

fn simulation(seed: u64) -> Simulation {
    Simulation::new(SimOptions::seeded(seed))
}

fn finish(simulation: &Simulation, main: impl FnOnce(Env) + Send + 'static) {
    assert_eq!(simulation.run(main), RunEnd::Finished);
}

fn create(env: &Env, path: &str) -> Arc<dyn File> {
    env.fs.open(Path::new(path), OpenMode::CreateNew).unwrap()
}

fn content(env: &Env, path: &str) -> Option<Vec<u8>> {
    let file = env.fs.open(Path::new(path), OpenMode::Read).ok()?;
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    Some(bytes)
}

/// A new file "f" whose name and `bytes` are durable.
fn durable_file(env: &Env, bytes: &[u8]) -> Arc<dyn File> {
    let file = create(env, "f");
    file.write_at(bytes, 0).unwrap();
    file.sync_data().unwrap();
    env.fs.sync_dir(Path::new("")).unwrap();
    file
}
