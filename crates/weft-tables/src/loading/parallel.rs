//! Files that are written side by side, one at a time by each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weft_env::Env;
use weft_env::sync::Mutex;
use weft_format::{Error, Result};

/// Writes the file of a number.
type Write<T> = dyn Fn(usize) -> Result<T> + Send + Sync;

struct Load<T> {
    write: Box<Write<T>>,
    count: usize,
    next: AtomicUsize,
    written: Mutex<Vec<(usize, Result<T>)>>,
}

impl<T> Load<T> {
    fn run(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.count {
                return;
            }
            let file = (self.write)(number);
            self.written.lock().push((number, file));
        }
    }
}

/// Writes so many files with as many threads as there are cores. Returns those that were written, in order, and the
/// first failure: what to do with the others is the caller's.
pub(crate) fn in_parallel<T: Send + 'static>(env: &Env, count: usize, write: Box<Write<T>>) -> (Vec<T>, Result<()>) {
    let (next, written) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
    let load = Arc::new(Load { write, count, next, written });
    let mut handles = Vec::new();
    for number in 1..env.spawn.parallelism().min(count) {
        let shared = load.clone();
        // A thread that does not start leaves its files to the others.
        handles.extend(env.spawn.spawn(&format!("weft-load-{number}"), Box::new(move || shared.run())));
    }
    load.run();
    let mut failure = Ok(());
    for handle in handles {
        if let Err(text) = handle.join() {
            failure = Err(Error::internal(format!("a thread that loads rows panicked: {text}")));
        }
    }
    let mut results = std::mem::take(&mut *load.written.lock());
    results.sort_by_key(|&(number, _)| number);
    let mut files = Vec::with_capacity(count);
    for (_, result) in results {
        match result {
            Ok(file) => files.push(file),
            Err(error) => failure = failure.and(Err(error)),
        }
    }
    assert!(failure.is_err() || files.len() == count, "every file was written");
    (files, failure)
}
