//! Puts objects from several threads.
//!
//! ```text
//!   put ─▶ queue (as many as there are threads; who has more waits) ─▶ threads ─▶ store
//!   flush: all have arrived, or the first error
//! ```
//!
//! Concurrency: one mutex over the queue, held for memory work only.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::{Condvar, Mutex};
use weft_env::{Env, JoinHandle, ObjectStore};
use weft_format::{Error, Result};

use super::shelf::GoOn;

/// How often who waits looks around.
const LOOK_AROUND: Duration = Duration::from_millis(100);

struct State {
    waiting: VecDeque<(String, Vec<u8>)>,
    /// How many are on their way.
    travelling: usize,
    /// What went wrong first; nothing is put after it.
    failed: Option<Error>,
    has_ended: bool,
}

struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

/// Threads that put objects.
pub(super) struct Uploads {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle>,
}

impl Uploads {
    pub(super) fn start(env: &Env, store: &Arc<dyn ObjectStore>, threads: usize) -> Result<Uploads> {
        let state = State { waiting: VecDeque::new(), travelling: 0, failed: None, has_ended: false };
        let queue = Arc::new(Queue { state: Mutex::new(state), changed: Condvar::new() });
        let mut uploads = Uploads { queue: queue.clone(), threads: Vec::new() };
        for _ in 0..threads {
            let (queue, store) = (queue.clone(), store.clone());
            let thread = env.spawn.spawn("weft-upload", Box::new(move || queue.work(&*store)));
            uploads.threads.push(thread.map_err(|error| Error::io("starting a thread that puts objects", &error))?);
        }
        Ok(uploads)
    }

    /// Puts an object, now or soon.
    ///
    /// # Errors
    ///
    /// What became of an earlier one, or what `go_on` says.
    pub(super) fn put(&self, name: String, bytes: Vec<u8>, go_on: GoOn<'_>) -> Result<()> {
        let mut state = self.queue.state.lock();
        while state.failed.is_none() && state.waiting.len() >= self.threads.len() {
            self.queue.changed.wait_timeout(&mut state, LOOK_AROUND);
            go_on()?;
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.waiting.push_back((name, bytes));
        self.queue.changed.notify_all();
        Ok(())
    }

    /// Puts no more, and waits for what is on its way.
    pub(super) fn end(&mut self) {
        self.queue.state.lock().has_ended = true;
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// Waits until all have arrived; the first error.
    pub(super) fn flush(&self, go_on: GoOn<'_>) -> Result<()> {
        let mut state = self.queue.state.lock();
        while state.failed.is_none() && (!state.waiting.is_empty() || state.travelling > 0) {
            self.queue.changed.wait_timeout(&mut state, LOOK_AROUND);
            go_on()?;
        }
        let is_over = state.failed.is_some() || state.waiting.is_empty() && state.travelling == 0;
        assert!(is_over, "a list is created when all that it names has arrived");
        state.failed.clone().map_or(Ok(()), Err)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The machine may be gone (a simulated crash): nobody is waited for.
            self.queue.state.lock().has_ended = true;
            self.queue.changed.notify_all();
        } else {
            self.end();
        }
    }
}

/// Counts an object as arrived, also when putting it panics.
struct Travelling<'a>(&'a Queue, io::Result<()>, &'a str, &'a str);

impl Drop for Travelling<'_> {
    fn drop(&mut self) {
        let Travelling(queue, put, name, place) = self;
        let mut state = queue.state.lock();
        assert!(state.travelling > 0, "what arrives was on its way");
        state.travelling -= 1;
        if let Err(error) = put
            && state.failed.is_none()
        {
            state.failed = Some(Error::io(format!("putting {name} into {place}"), error));
        }
        queue.changed.notify_all();
    }
}

impl Queue {
    fn work(&self, store: &dyn ObjectStore) {
        loop {
            let (name, bytes) = {
                let mut state = self.state.lock();
                loop {
                    if state.has_ended || state.failed.is_some() {
                        return;
                    }
                    if let Some(next) = state.waiting.pop_front() {
                        state.travelling += 1;
                        break next;
                    }
                    self.changed.wait(&mut state);
                }
            };
            self.changed.notify_all();
            let panicked = Err(io::Error::other("the thread that put it panicked"));
            let mut travelling = Travelling(self, panicked, &name, store.place());
            travelling.1 = store.put(&name, &bytes);
        }
    }
}
