//! What is known of a node, and waiting until it shows what somebody asks for.
//!
//! ```text
//!   10:00:00.000   reads: announced up to 81920     follows ─▶ .003: shows all that was acknowledged by 10:00:00.000
//!   10:00:00.004   reads: announced up to 90112     follows ─▶ ...
//!   10:00:00.005   somebody asks for the latest: waits for an announcement that is read after .005, and for its end
//! ```
//!
//! 1. What a node shows is as old as the announcement is that it followed last, since that was read: so its age is
//!    counted by the clock of the node alone. While the writer is not heard of it is as old as the last word of it.
//! 2. What was shown stays shown: timestamps of the same engine go up, and an engine that takes the place of another
//!    one shows at least as much.
//! 3. Who waits waits for an engine, by the number of its join: of one whose place another has taken nothing comes any
//!    more (57P01), and what is known of the one before says nothing of the next.
//! 4. A writer that has closed vouches for nothing: another one may have opened its directory.
//! 5. Who follows an archive is as old as what was shipped: from when the writer asked what was durable, by its clock
//!    and the node's. It does not know the latest.
//!
//! Concurrency: one mutex, held for memory work only; who waits looks around now and then for its cancellation.

use std::sync::Arc;
use std::time::Duration;

use weft_env::Clock;
use weft_env::sync::{Condvar, Mutex};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::{CancelToken, Engine};

use crate::announcement::Announcement;
use crate::faults;

/// How often who waits looks around.
const LOOK_AROUND: Duration = Duration::from_millis(20);
/// A writer that has given no sign for so long is not there, or its files cannot be seen.
const SILENCE_NANOS: u64 = 2_000_000_000;

/// What a node does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It looks for a writer.
    #[default]
    Waiting,
    /// It reads the manifest and the log up to what is announced.
    Joining,
    /// It follows.
    Following,
    /// It could not go on, and joins anew; what it has is shown meanwhile.
    Lost,
}

impl Phase {
    /// Its name in views.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Joining => "joining",
            Phase::Following => "following",
            Phase::Lost => "lost",
        }
    }

    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_number(number: u8) -> Option<Phase> {
        [Phase::Waiting, Phase::Joining, Phase::Following, Phase::Lost].get(usize::from(number)).copied()
    }
}

/// A node at one moment.
#[derive(Clone, Debug)]
pub struct NodeStatus {
    /// What it is called.
    pub name: String,
    /// What it does.
    pub phase: Phase,
    /// How often it has joined.
    pub joins: u64,
    /// How far it has read the log.
    pub position: Lsn,
    /// How far the writer's log is durable.
    pub announced: Lsn,
    /// The last commit that it shows.
    pub published: Timestamp,
    /// The writer's last durable commit.
    pub last: Timestamp,
    /// What it shows was everything so long ago; none before it has joined.
    pub age: Option<Duration>,
    /// When it heard of the writer last; none: never.
    pub writer_heard: Option<Duration>,
    /// The writer has closed.
    pub writer_is_closed: bool,
    /// The opening of the writer that is heard.
    pub opening: u64,
    /// The epoch of its log.
    pub epoch: u32,
    /// Why it could not go on last.
    pub lost: Option<Error>,
}

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The node shows it.
    Shown,
    /// The time ran out.
    TimedOut,
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// A commit.
    Shows(Timestamp),
    /// Everything that was acknowledged so long ago.
    Within(Duration),
    /// Everything that is acknowledged by now.
    Latest,
}

#[derive(Default)]
struct State {
    phase: Phase,
    engine: Option<Arc<Engine>>,
    joins: u64,
    position: Lsn,
    published: Timestamp,
    announced: Announcement,
    /// When the announcement was read to whose end it has followed; none: to none yet.
    confirmed: Option<u64>,
    /// When the beat of the writer changed last.
    heard: Option<u64>,
    lost: Option<Error>,
    /// It follows no more: it writes.
    is_over: bool,
    waiters: usize,
}

/// What the thread of a node and its readers share.
pub(crate) struct Standing {
    name: String,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    advanced: Condvar,
}

impl Standing {
    pub(crate) fn new(name: String, clock: Arc<dyn Clock>) -> Standing {
        Standing { name, clock, state: Mutex::default(), advanced: Condvar::new() }
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.monotonic_nanos()
    }

    /// What shows the database.
    pub(crate) fn engine(&self) -> Option<Arc<Engine>> {
        self.state.lock().engine.clone()
    }

    /// An announcement was read.
    pub(crate) fn note_announcement(&self, announced: Announcement) {
        let now = self.now();
        let mut state = self.state.lock();
        let before = (state.announced.opening, state.announced.beat);
        if (announced.opening, announced.beat) != before {
            state.heard = Some(now);
        }
        state.announced = announced;
    }

    /// It does something else.
    pub(crate) fn note_phase(&self, phase: Phase) {
        self.state.lock().phase = phase;
    }

    /// It has joined, with everything that was acknowledged then (none: nobody knows).
    pub(crate) fn note_joined(&self, engine: &Arc<Engine>, position: Lsn, vouched_for: Option<u64>) {
        let published = engine.published();
        let mut state = self.state.lock();
        assert!(published >= state.published, "what was shown stays shown (standing 2)");
        state.joins += 1;
        (state.phase, state.position, state.published) = (Phase::Following, position, published);
        state.confirmed = state.confirmed.max(vouched_for);
        state.engine = Some(engine.clone());
        self.wake(&state);
    }

    /// It has come so far, and shows everything that was acknowledged then (none: nobody knows).
    pub(crate) fn note_followed(&self, position: Lsn, published: Timestamp, vouched_for: Option<u64>) {
        let mut state = self.state.lock();
        assert!(position >= state.position && published >= state.published, "a node goes on (standing 2)");
        (state.position, state.published) = (position, published);
        state.confirmed = state.confirmed.max(vouched_for);
        self.wake(&state);
    }

    /// It cannot go on.
    pub(crate) fn note_lost(&self, error: &Error) {
        let mut state = self.state.lock();
        state.phase = if state.engine.is_some() { Phase::Lost } else { Phase::Waiting };
        state.lost = Some(error.clone());
    }

    /// It follows no more: who waits is told so (standing 3).
    pub(crate) fn note_over(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        self.wake(&state);
    }

    /// Whether it follows an archive (standing 5).
    pub(crate) fn follows_archive(&self) -> bool {
        self.state.lock().announced.is_shipped
    }

    /// The last commit that is shown, and may not be shown no more.
    pub(crate) fn published(&self) -> Timestamp {
        self.state.lock().published
    }

    fn wake(&self, state: &State) {
        if state.waiters > 0 {
            self.advanced.notify_all();
        }
    }

    pub(crate) fn status(&self) -> NodeStatus {
        let now = self.now();
        let state = self.state.lock();
        let since = |nanos: u64| Duration::from_nanos(now.saturating_sub(nanos));
        NodeStatus {
            name: self.name.clone(),
            phase: state.phase,
            joins: state.joins,
            position: state.position,
            announced: state.announced.lsn,
            published: state.published,
            last: state.announced.last,
            age: state.fresh_at(now).map(since),
            writer_heard: state.heard.map(since),
            writer_is_closed: state.announced.is_closed,
            opening: state.announced.opening,
            epoch: state.announced.epoch,
            lost: state.lost.clone(),
        }
    }

    /// The number of the join that comes next.
    pub(crate) fn next_join(&self) -> u64 {
        self.state.lock().joins + 1
    }

    /// Waits until the engine of a join, or whichever there is, shows what is asked for (standing 3).
    pub(crate) fn wait(
        &self,
        (goal, join): (Goal, Option<u64>),
        limit: Duration,
        cancel: Option<&CancelToken>,
    ) -> Result<Waited> {
        let asked = self.now();
        let limit = asked.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        let mut state = self.state.lock();
        if goal == Goal::Latest && state.announced.is_shipped && !active(faults::SHIPPED_IS_FRESH) {
            let what = "this node follows an archive: what its writer has acknowledged by now nobody can tell here";
            let hint =
                "read the latest from the writer; here SET freshness to a time, or wait for a commit by its token";
            return Err(Error::new(Code::FeatureNotSupported, what).hint(hint));
        }
        state.waiters += 1;
        let waited = loop {
            let now = self.now();
            if state.is_over {
                let what = "this node has become the writer: another engine shows the database";
                break Err(Error::new(Code::ShuttingDown, what).hint("connect again"));
            }
            if join.is_some_and(|join| state.joins > join) {
                let what = "this node has joined anew: another engine shows the database";
                break Err(Error::new(Code::ShuttingDown, what).hint("connect again"));
            }
            if join.is_none_or(|join| state.joins == join) && state.has_reached(goal, asked, now) {
                break Ok(Waited::Shown);
            }
            if let Some(Err(stopped)) = cancel.map(|cancel| cancel.check(|| now)) {
                break Err(stopped);
            }
            if now >= limit {
                break Ok(Waited::TimedOut);
            }
            let left = Duration::from_nanos(limit - now).min(LOOK_AROUND);
            self.advanced.wait_timeout(&mut state, left);
        };
        state.waiters -= 1;
        waited
    }
}

impl State {
    /// Everything that was acknowledged by then is shown; none: nobody knows (standing 1).
    fn fresh_at(&self, now: u64) -> Option<u64> {
        let confirmed = self.confirmed?;
        let heard = self.heard?;
        let is_silent = now.saturating_sub(heard) > SILENCE_NANOS;
        Some(if is_silent { confirmed.min(heard) } else { confirmed })
    }

    fn has_reached(&self, goal: Goal, asked: u64, now: u64) -> bool {
        let is_fresh = |since: u64| self.fresh_at(now).is_some_and(|fresh| fresh >= since);
        match goal {
            Goal::Shows(ts) => self.engine.is_some() && self.published >= ts,
            // Of the moment at which it was asked: who waits does not wait longer for what it waits.
            Goal::Within(age) => is_fresh(asked.saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX))),
            Goal::Latest if active(faults::FRESH_BEFORE_READ) => self.confirmed.is_some(),
            Goal::Latest => is_fresh(asked + 1),
        }
    }
}
