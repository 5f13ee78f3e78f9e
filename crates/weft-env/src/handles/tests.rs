//! The cache of handles in the simulation, where open files are counted.

use super::*;
use crate::Env;
use crate::sim::{RunEnd, SimOptions, Simulation};

fn path(n: u64) -> PathBuf {
    PathBuf::from(format!("f{n}"))
}

fn write(env: &Env, n: u64) -> Arc<dyn File> {
    let file = env.fs.open(&path(n), OpenMode::CreateNew).unwrap();
    file.write_at(&n.to_le_bytes(), 0).unwrap();
    file
}

fn read(file: &dyn File) -> u64 {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 0).unwrap();
    u64::from_le_bytes(bytes)
}

fn run(seed: u64, body: impl FnOnce(&Simulation, Env) + Send + 'static) {
    let simulation = Arc::new(Simulation::new(SimOptions::seeded(seed)));
    let inner = simulation.clone();
    assert_eq!(simulation.run(move |env| body(&inner, env)), RunEnd::Finished, "seed {seed}");
}

#[test]
fn a_thousand_files_need_eight_handles() {
    run(1, |simulation, env| {
        simulation.faults().set_open_files_max(Some(10));
        let handles = Handles::new(env.fs.clone(), 8);
        let files: Vec<_> = (0..1000).map(|n| handles.adopt(&path(n), write(&env, n))).collect();
        for n in (0..1000).chain((0..1000).rev()) {
            assert_eq!(read(&*files[n as usize]), n);
        }
        assert!(handles.counters().open <= 8 && simulation.faults().open_files().1 <= 9, "{:?}", handles.counters());
        let opened = handles.counters().opened;
        (0..100).for_each(|_| assert_eq!(read(&*files[3]) + read(&*files[4]), 7));
        assert!(handles.counters().opened <= opened + 2, "what is read again and again stays open");
        drop(files);
        assert_eq!((handles.counters().open, simulation.faults().open_files().0), (0, 0));
    });
}

#[test]
fn handles_are_given_back_when_others_have_taken_the_rest() {
    run(2, |simulation, env| {
        let handles = Handles::new(env.fs.clone(), 100);
        let files: Vec<_> = (0..50).map(|n| handles.adopt(&path(n), write(&env, n))).collect();
        simulation.faults().set_open_files_max(Some(51));
        let other = env.fs.open(&path(0), OpenMode::Read).unwrap();
        let late = handles.open(&path(1)).unwrap();
        assert_eq!((read(&*late), handles.counters().refused), (1, 1));
        (0..50).for_each(|n| assert_eq!(read(&*files[n as usize]), n));
        // None is left at all: the error is the system's.
        drop((files, late, other));
        simulation.faults().set_open_files_max(Some(0));
        let error = handles.open(&path(1)).err().unwrap();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        simulation.faults().set_open_files_max(None);
        assert_eq!(handles.counters().open, 0);
        assert_eq!(read(&*handles.open(&path(1)).unwrap()), 1, "a failure keeps no room");
    });
}

#[test]
fn threads_read_right_while_others_close() {
    for seed in 0..30 {
        run(seed, |simulation, env| {
            let handles = Handles::new(env.fs.clone(), 4);
            let files: Arc<Vec<_>> = Arc::new((0..12).map(|n| handles.adopt(&path(n), write(&env, n))).collect());
            let readers: Vec<_> = (0..4u64)
                .map(|reader| {
                    let files = files.clone();
                    let body = move || {
                        (0..40).for_each(|i| {
                            let n = (i * (reader + 3)) % 12;
                            assert_eq!(read(&*files[n as usize]), n);
                        })
                    };
                    env.spawn.spawn("reader", Box::new(body)).unwrap()
                })
                .collect();
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            let (open, most) = simulation.faults().open_files();
            assert!(open <= 4 && most <= 4 + 4 * 2, "{open} are open, {most} were at once (handles 1)");
        });
    }
}
