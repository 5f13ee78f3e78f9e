//! What one session does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use weft_env::sync::Mutex;

use super::counters::{EngineUsed, Tallies};
use crate::binding::CancelToken;

/// Where a session's client is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The role.
    pub user: String,
    /// The client's address; none on the unix socket, and for sessions of this process.
    pub address: Option<SocketAddr>,
    /// Whether a client of the server is there.
    pub is_client: bool,
    /// What it calls itself.
    pub application_name: String,
}

/// What a session is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Between two transactions.
    Idle,
    /// A statement runs.
    Active,
    /// Between two statements of a transaction.
    IdleInTransaction,
    /// The same, and the transaction has failed.
    Aborted,
}

impl State {
    /// PostgreSQL's words.
    pub fn name(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Active => "active",
            State::IdleInTransaction => "idle in transaction",
            State::Aborted => "idle in transaction (aborted)",
        }
    }

    fn of(number: u8) -> State {
        match number {
            1 => State::Active,
            2 => State::IdleInTransaction,
            3 => State::Aborted,
            _ => State::Idle,
        }
    }
}

/// What ends a session's connection.
type Terminate = Box<dyn Fn() + Send + Sync>;

/// One session. Its own thread writes, others read.
pub struct Activity {
    pub(super) begun_nanos: u64,
    pid: AtomicU64,
    origin: Mutex<Origin>,
    text: Mutex<Arc<str>>,
    state: AtomicU8,
    engine: AtomicU8,
    state_nanos: AtomicU64,
    query_nanos: AtomicU64,
    /// 0: no transaction is open.
    transaction_nanos: AtomicU64,
    /// The kernel's number of the open transaction, or of the last.
    transaction: AtomicU64,
    pub(super) cancel: CancelToken,
    terminate: Mutex<Option<Terminate>>,
    terminated: AtomicBool,
    pub(super) tallies: Tallies,
}

/// One session at one moment. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its number.
    pub pid: u64,
    /// Who.
    pub origin: Origin,
    /// The text that runs, or ran last; empty before the first.
    pub text: Arc<str>,
    /// What it is at.
    pub state: State,
    /// When it began.
    pub begun_nanos: u64,
    /// When it came to be in this state.
    pub state_nanos: u64,
    /// When the text began; 0: never.
    pub query_nanos: u64,
    /// When its transaction began; 0: none is open.
    pub transaction_nanos: u64,
    /// The kernel's number of that transaction.
    pub transaction: u64,
}

impl Activity {
    pub(super) fn new(begun_nanos: u64, cancel: CancelToken, empty: &Arc<str>) -> Activity {
        Activity {
            begun_nanos,
            pid: AtomicU64::new(0),
            origin: Mutex::new(Origin::default()),
            text: Mutex::new(Arc::clone(empty)),
            state: AtomicU8::new(0),
            engine: AtomicU8::new(EngineUsed::Utility as u8),
            state_nanos: AtomicU64::new(begun_nanos),
            query_nanos: AtomicU64::new(0),
            transaction_nanos: AtomicU64::new(0),
            transaction: AtomicU64::new(0),
            cancel,
            terminate: Mutex::new(None),
            terminated: AtomicBool::new(false),
            tallies: Tallies::default(),
        }
    }

    /// A statement begins.
    pub(crate) fn begin(&self, text: &Arc<str>, now_nanos: u64) {
        let before = {
            let mut shown = self.text.lock();
            if Arc::ptr_eq(&shown, text) { None } else { Some(std::mem::replace(&mut *shown, Arc::clone(text))) }
        };
        drop(before);
        self.engine.store(EngineUsed::Utility as u8, Ordering::Relaxed);
        self.query_nanos.store(now_nanos, Ordering::Relaxed);
        self.enter(State::Active, now_nanos);
    }

    /// The engine that runs it.
    pub(crate) fn uses(&self, engine: EngineUsed) {
        self.engine.store(engine as u8, Ordering::Relaxed);
    }

    /// It has ended.
    pub(crate) fn end(&self, state: State, now_nanos: u64) -> (EngineUsed, u64) {
        let engine = EngineUsed::of(self.engine.load(Ordering::Relaxed));
        let nanos = now_nanos.saturating_sub(self.query_nanos.load(Ordering::Relaxed));
        self.tallies.note(engine, nanos);
        self.enter(state, now_nanos);
        (engine, nanos)
    }

    /// Where the session is between two statements.
    pub(crate) fn enter(&self, state: State, now_nanos: u64) {
        self.state.store(state as u8, Ordering::Relaxed);
        self.state_nanos.store(now_nanos, Ordering::Relaxed);
        if state == State::Idle {
            self.transaction_nanos.store(0, Ordering::Relaxed);
        } else if self.transaction_nanos.load(Ordering::Relaxed) == 0 {
            self.transaction_nanos.store(now_nanos, Ordering::Relaxed);
        }
    }

    /// The transaction that statements run in.
    pub(crate) fn is_in(&self, transaction: u64) {
        self.transaction.store(transaction, Ordering::Relaxed);
    }

    /// A transaction has ended.
    pub(crate) fn note_transaction(&self, committed: bool) {
        if committed { &self.tallies.commits } else { &self.tallies.rollbacks }.add(1);
    }

    /// Says who the client is.
    pub fn set_origin(&self, pid: u64, origin: Origin) {
        *self.origin.lock() = origin;
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// The client's new name for itself.
    pub(crate) fn rename(&self, application_name: &str) {
        let mut origin = self.origin.lock();
        if origin.application_name != application_name {
            application_name.clone_into(&mut origin.application_name);
        }
    }

    /// Says what ends the session's connection.
    pub fn set_terminate(&self, terminate: impl Fn() + Send + Sync + 'static) {
        *self.terminate.lock() = Some(Box::new(terminate));
    }

    /// Whether somebody has asked for the connection's end.
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::SeqCst)
    }

    /// The session's number; 0 for one of this process.
    pub fn pid(&self) -> u64 {
        self.pid.load(Ordering::Relaxed)
    }

    /// The text that runs, or ran last.
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.text.lock())
    }

    /// Who the client is.
    pub fn origin(&self) -> Origin {
        self.origin.lock().clone()
    }

    pub(super) fn terminate(&self) {
        self.terminated.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        if let Some(terminate) = &*self.terminate.lock() {
            terminate();
        }
    }

    pub(super) fn show(&self) -> Shown {
        Shown {
            pid: self.pid(),
            origin: self.origin(),
            text: self.text(),
            state: State::of(self.state.load(Ordering::Relaxed)),
            begun_nanos: self.begun_nanos,
            state_nanos: self.state_nanos.load(Ordering::Relaxed),
            query_nanos: self.query_nanos.load(Ordering::Relaxed),
            transaction_nanos: self.transaction_nanos.load(Ordering::Relaxed),
            transaction: self.transaction.load(Ordering::Relaxed),
        }
    }
}
