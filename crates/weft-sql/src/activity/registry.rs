//! All sessions of a database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use weft_env::sync::Mutex;
use weft_env::{Clock, Env};
use weft_format::{Code, Error};

use super::counters::{Counters, EngineUsed};
use super::session::{Activity, Shown, State};
use crate::binding::CancelToken;

/// A statement that took long.
pub struct Ended<'a> {
    /// Whose it was.
    pub activity: &'a Activity,
    /// How long it took, nanoseconds.
    pub nanos: u64,
    /// What ran it.
    pub engine: EngineUsed,
    /// Rows that it returned or changed.
    pub rows: u64,
    /// Whether it ended well.
    pub succeeded: bool,
}

/// Who is told of statements that took long.
pub type Observer = Box<dyn Fn(&Ended<'_>) + Send + Sync>;

/// What makes a node the writer.
type Promote = Arc<dyn Fn() -> Result<(), Error> + Send + Sync>;

/// The sessions there are, and what those that are gone have counted.
pub struct Activities {
    clock: Arc<dyn Clock>,
    empty: Arc<str>,
    sessions: Mutex<Sessions>,
    errors: Mutex<BTreeMap<String, u64>>,
    observer: OnceLock<Observer>,
    /// Statements that take as long are told; negative: none.
    observed_nanos: AtomicI64,
    reload: Mutex<Option<Box<dyn Fn() -> bool + Send + Sync>>>,
    promote: Mutex<Option<Promote>>,
}

#[derive(Default)]
struct Sessions {
    last: u64,
    by_number: BTreeMap<u64, Arc<Activity>>,
    gone: Counters,
}

impl Activities {
    pub(crate) fn new(env: &Env) -> Activities {
        Activities {
            clock: Arc::clone(&env.clock),
            empty: "".into(),
            sessions: Mutex::new(Sessions::default()),
            errors: Mutex::new(BTreeMap::new()),
            observer: OnceLock::new(),
            observed_nanos: AtomicI64::new(-1),
            reload: Mutex::new(None),
            promote: Mutex::new(None),
        }
    }

    /// A place for a new session.
    pub(crate) fn enter(&self, cancel: &CancelToken) -> (u64, Arc<Activity>) {
        let made = Arc::new(Activity::new(self.now_nanos(), cancel.clone(), &self.empty));
        let mut sessions = self.sessions.lock();
        sessions.last += 1;
        sessions.gone.sessions += 1;
        let number = sessions.last;
        sessions.by_number.insert(number, Arc::clone(&made));
        (number, made)
    }

    /// A session is over.
    pub(crate) fn leave(&self, number: u64) {
        let mut sessions = self.sessions.lock();
        if let Some(activity) = sessions.by_number.remove(&number) {
            activity.tallies.add_to(&mut sessions.gone);
        }
    }

    /// The monotonic clock.
    pub(crate) fn now_nanos(&self) -> u64 {
        self.clock.monotonic_nanos()
    }

    /// A statement has ended.
    pub(crate) fn end(&self, activity: &Activity, state: State, outcome: Result<u64, ()>) {
        let (engine, nanos) = activity.end(state, self.now_nanos());
        match outcome {
            Ok(rows) => activity.tallies.rows.add(rows),
            Err(()) => activity.tallies.failed.add(1),
        }
        let least = self.observed_nanos.load(Ordering::Relaxed);
        if least >= 0
            && nanos >= least as u64
            && let Some(observer) = self.observer.get()
        {
            let (rows, succeeded) = (outcome.unwrap_or(0), outcome.is_ok());
            observer(&Ended { activity, nanos, engine, rows, succeeded });
        }
    }

    /// Says who is told of statements that take long; the first one stays.
    pub fn observe(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    /// Statements that take as long are told from now on; none: no statement is.
    pub fn set_observed(&self, nanos: Option<u64>) {
        let nanos = nanos.map_or(-1, |nanos| i64::try_from(nanos).unwrap_or(i64::MAX));
        self.observed_nanos.store(nanos, Ordering::Relaxed);
    }

    /// Says what `pg_reload_conf()` does.
    pub fn set_reload(&self, reload: impl Fn() -> bool + Send + Sync + 'static) {
        *self.reload.lock() = Some(Box::new(reload));
    }

    /// Reads the configuration again; false when there is none to read, or it is wrong.
    pub fn reload(&self) -> bool {
        self.reload.lock().as_ref().is_some_and(|reload| reload())
    }

    /// Says what `pg_promote()` does.
    pub fn set_promote(&self, promote: impl Fn() -> Result<(), Error> + Send + Sync + 'static) {
        *self.promote.lock() = Some(Arc::new(promote));
    }

    /// Makes a node the writer of its directory.
    pub fn promote(&self) -> Result<(), Error> {
        let promote = self.promote.lock().clone();
        let nobody = || {
            let message = "recovery is not in progress";
            Err(Error::new(Code::NotInPrerequisiteState, message).hint("it can be called on a node that follows"))
        };
        promote.map_or_else(nobody, |promote| promote())
    }

    /// The clients that are connected.
    pub fn pids(&self) -> Vec<u64> {
        self.sessions.lock().by_number.values().map(|activity| activity.pid()).filter(|pid| *pid > 0).collect()
    }

    /// Ends the connections of those of these clients that do nothing and have no transaction.
    pub fn end_idle(&self, pids: &[u64]) {
        for pid in pids {
            self.with(*pid, |activity| {
                if activity.show().state == State::Idle {
                    activity.terminate();
                }
            });
        }
    }

    /// Counts an error that a client was told, by its SQLSTATE.
    pub fn note_error(&self, sqlstate: &str) {
        *self.errors.lock().entry(sqlstate.to_owned()).or_default() += 1;
    }

    /// Errors that clients were told, by SQLSTATE.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().clone()
    }

    /// The sums over all sessions that there were.
    pub fn counters(&self) -> Counters {
        let sessions = self.sessions.lock();
        let mut sum = sessions.gone.clone();
        for activity in sessions.by_number.values() {
            activity.tallies.add_to(&mut sum);
        }
        sum
    }

    /// The sessions, oldest first.
    pub fn all(&self) -> Vec<Shown> {
        let sessions: Vec<Arc<Activity>> = self.sessions.lock().by_number.values().map(Arc::clone).collect();
        sessions.iter().map(|activity| activity.show()).collect()
    }

    /// Asks a client's running statement to stop; false when there is no such client.
    pub fn cancel(&self, pid: u64) -> bool {
        self.with(pid, |activity| activity.cancel.cancel())
    }

    /// Ends a client's connection; false when there is no such client.
    pub fn terminate(&self, pid: u64) -> bool {
        self.with(pid, Activity::terminate)
    }

    fn with(&self, pid: u64, act: impl FnOnce(&Activity)) -> bool {
        let sessions = self.sessions.lock();
        let found = sessions.by_number.values().find(|activity| pid > 0 && activity.pid() == pid).map(Arc::clone);
        drop(sessions);
        found.is_some_and(|activity| {
            act(&activity);
            true
        })
    }

    /// How long ago a time of the monotonic clock was, nanoseconds.
    pub fn age_nanos(&self, nanos: u64) -> u64 {
        self.now_nanos().saturating_sub(nanos)
    }

    /// A time of the monotonic clock as microseconds since 1970 UTC.
    pub fn wall_micros(&self, nanos: u64) -> i64 {
        let ago_nanos = self.now_nanos().saturating_sub(nanos);
        self.clock.wall_micros() - i64::try_from(ago_nanos / 1000).unwrap_or(0)
    }
}
