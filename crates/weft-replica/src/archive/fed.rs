//! The node's end of a connection over which it is fed: connects, answers what the writer asks, connects again.
//!
//! ```text
//!   connect ─▶ answer, answer, ... ─▶ ended ─▶ pause, longer and longer ─▶ connect
//!                 │                      └─ "begin anew": what has come goes first
//!                 └─▶ transit ─▶ mirror ─▶ DIR ─▶ Node
//! ```
//!
//! 1. One connection at a time: what has come goes while nobody is connected.
//! 2. Whatever becomes of connections, what the node has it shows.
//!
//! Concurrency: one thread.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use weft_env::Env;
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result};

use super::remote::{Answered, Farewell, Link, answer};
use super::transit::Transit;
use crate::bell::{Bell, Worker};

/// The first pause before it connects again, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// How a node reaches its writer.
pub trait Connect: Send + Sync {
    /// Connects to a server that feeds from then on.
    fn connect(&self) -> Result<Box<dyn Link>>;
    /// Where that is, for messages; no secrets.
    fn place(&self) -> String;
}

struct Shared {
    transit: Arc<Transit>,
    connect: Arc<dyn Connect>,
    bell: Arc<Bell>,
    /// Ends the connection that there is.
    cut: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
}

/// Has a node fed, until it is stopped or dropped.
pub(super) struct Fed {
    shared: Arc<Shared>,
    worker: Worker,
}

impl Fed {
    /// Begins to connect; what comes is put into `transit`.
    pub(super) fn start(env: &Env, connect: Arc<dyn Connect>, transit: &Arc<Transit>) -> Result<Fed> {
        let shared =
            Arc::new(Shared { transit: transit.clone(), connect, bell: Arc::new(Bell::new()), cut: Mutex::new(None) });
        let running = Running(shared.clone());
        let worker = Worker::start(env, ("weft-fed", "is fed"), &shared.bell, move || running.0.run())?;
        Ok(Fed { shared, worker })
    }

    /// Ends.
    pub(super) fn stop(&self) {
        self.worker.stop_and(|| {
            if let Some(cut) = &*self.shared.cut.lock() {
                cut();
            }
        });
    }
}

impl Drop for Fed {
    fn drop(&mut self) {
        // Bell 2.
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// Tells of a panic.
struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = Error::internal("the thread by which this node is fed has panicked: start this server again");
            self.0.transit.note_trouble(Some(why));
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut pause = PAUSE_MIN;
        while !self.bell.has_rung() {
            let before = self.transit.taken();
            let why = match self.serve() {
                Ok(why) | Err(why) => why,
            };
            let was_worth_it = self.transit.taken() > before;
            pause = if was_worth_it { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
            self.transit.note_trouble(Some(why));
            self.bell.pause(pause);
        }
    }

    /// Serves one connection to its end; why it has ended.
    fn serve(&self) -> Result<Error> {
        if self.transit.is_lost() {
            let why = Error::new(Code::UndefinedFile, "what has come did not go on from what this node has");
            self.transit.empty(&why)?;
        }
        self.transit.sweep()?;
        let mut link = self.connect.connect()?;
        *self.cut.lock() = Some(link.cutter());
        let ended = self.answer_all(&mut *link);
        *self.cut.lock() = None;
        link.cutter()();
        ended
    }

    fn answer_all(&self, link: &mut dyn Link) -> Result<Error> {
        let mut before = self.transit.came();
        let place = self.connect.place();
        let failed = |error: &io::Error| Error::io(format!("the connection to {place}"), error);
        while !self.bell.has_rung() && !self.transit.is_lost() {
            let Some(message) = link.receive().map_err(|error| failed(&error))? else {
                return Ok(Error::new(Code::Io, format!("{place} has ended the connection")));
            };
            match answer(&self.transit, &message).map_err(|error| failed(&error))? {
                Answered::Answer(answer) => {
                    // What begins a connection may still be refused.
                    if self.transit.came() > before {
                        before = self.transit.came();
                        self.transit.note_trouble(None);
                    }
                    link.send(&answer).map_err(|error| failed(&error))?;
                }
                Answered::Failed(answer, why) => {
                    self.transit.note_trouble(Some(why));
                    link.send(&answer).map_err(|error| failed(&error))?;
                }
                Answered::Ended(farewell, why) => return self.ended(farewell, &why),
            }
        }
        Ok(Error::new(Code::CannotConnectNow, "what this node lacks does not come: it begins anew"))
    }

    /// Who feeds has ended: why, for whoever looks.
    fn ended(&self, farewell: Farewell, why: &Error) -> Result<Error> {
        let told = Error::new(why.code(), format!("{}: {}", self.connect.place(), why.message()));
        match farewell {
            Farewell::Again => {}
            Farewell::Keep => self.transit.refuse()?,
            Farewell::Anew if self.transit.is_refused()? => {
                let hint = "it had what the log of this server had not: give the node a new directory to follow it";
                return Ok(told.hint(hint));
            }
            Farewell::Anew => self.transit.empty(why)?,
        }
        Ok(told)
    }
}
