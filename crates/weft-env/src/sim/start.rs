//! Starting and joining simulated threads.
//!
//! ```text
//!   spawn("writer") ── an operating system thread that waits for its baton ── body ── end: the baton goes on
//! ```
//!
//! 1. Nothing of the program runs on a simulated thread before it first has the baton or after it ended (thread
//!    locals of the program are dropped after that: they must not use the environment).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::baton::{Baton, Seat, Wait};
use super::current::{Current, is_current_of, with_current};
use super::machine::Machine;
use super::op::Op;
use super::scheduler::is_stop;
use super::threads::End;
use crate::JoinHandle;
use crate::spawn::panic_text;

impl Machine {
    /// Adds a thread that runs `body` once the seed chooses it.
    pub(super) fn start_thread(
        self: &Arc<Machine>,
        name: &str,
        body: Box<dyn FnOnce() + Send>,
    ) -> io::Result<JoinHandle> {
        let baton = Arc::new(Baton::default());
        let (id, run) = {
            let state = self.scheduler.state();
            (state.threads.next_id(), state.threads.run)
        };
        let seat = Seat { id, baton: Arc::clone(&baton) };
        let current = Current { scheduler: Arc::clone(&self.scheduler), seat };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || live(&current, body))?;
        baton.belongs_to(thread.thread().clone());
        self.scheduler.state().threads.add(name, baton);
        self.os_threads.lock().push(thread);
        let machine = Arc::clone(self);
        Ok(JoinHandle { join: Box::new(move || machine.join(run, id)) })
    }

    fn join(self: &Arc<Machine>, run: u64, id: usize) -> Result<(), String> {
        let simulated = is_current_of(&self.scheduler);
        if simulated {
            with_current(|current| current.point(Op { name: "join", detail: "", a: id as u64, b: 0 }));
        }
        loop {
            let end = {
                let state = self.scheduler.state();
                if state.threads.run == run { state.threads.end_of(id) } else { Some(End::Stopped) }
            };
            match end {
                Some(End::Returned) => return Ok(()),
                Some(End::Panicked(message)) => return Err(message),
                Some(End::Stopped) => return Err("the simulated process was stopped".to_owned()),
                None if simulated => {
                    with_current(|current| current.block(Wait::Join(id), None));
                }
                None => return Err("only threads of a simulation join simulated threads while it runs".to_owned()),
            }
        }
    }
}

/// The life of a simulated thread.
fn live(current: &Current, body: Box<dyn FnOnce() + Send>) {
    current.seat.baton.wait();
    let end = current.enter(|| {
        let result = catch_unwind(AssertUnwindSafe(move || {
            current.point(Op::plain("start"));
            body();
        }));
        match result {
            Ok(()) => End::Returned,
            Err(payload) if is_stop(&*payload) => End::Stopped,
            Err(payload) => End::Panicked(panic_text(&*payload)),
        }
    });
    current.scheduler.end(&current.seat, end);
}
