//! One step of a node: it hears what is announced, and follows to there.
//!
//! ```text
//!   register (what is needed: everything) ─▶ join ─▶ follow, follow, follow ─▶ lost ─▶ register ─▶ join ─▶ ...
//! ```
//!
//! 1. A node registers before it joins, so that nothing goes that it begins with; and tells what it needs before what
//!    it does not need any more can go.
//! 2. One that could not go on joins anew by itself, after pauses that grow.
//! 3. An announcement counts when its writer has the directory after it was read (announcement 2): so nothing was
//!    acknowledged by a successor before that.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weft_env::{Env, File};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::fault::active;
use weft_kernel::method::Method;
use weft_kernel::{Engine, EngineOptions, Follower, writer_is_present};

use crate::announcement::Announcement;
use crate::company::Company;
use crate::faults;
use crate::place::{Place, read_announcement};
use crate::registration::Registration;
use crate::standing::{Phase, Standing};

/// How often a node tells its writer where it is.
const TELL_NANOS: u64 = 100_000_000;
/// A writer that gives no sign for so long may have another file by now.
const STALE_NANOS: u64 = 1_000_000_000;
/// The first pause after a join that failed, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// So many commits are followed before others hear of it.
const COMMITS_AT_ONCE: usize = 64;

/// Told of an engine that takes the place of another one; none: it is the first.
pub type Replaced = Box<dyn Fn(&Arc<Engine>, Option<Arc<Engine>>) + Send + Sync>;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Look again after the usual time.
    Poll,
    /// Look again at once: there is more.
    Go,
    /// Look again after a pause.
    Pause(Duration),
}

/// Where a node listens to its writer.
struct Ear {
    file: Option<Arc<dyn File>>,
    /// The beat that was heard last, and when it changed.
    beat: (u64, u64),
    changed: u64,
}

/// What a node has.
pub(crate) struct Follow {
    pub(crate) env: Env,
    pub(crate) dir: PathBuf,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) methods: Vec<Arc<dyn Method>>,
    pub(crate) engine: EngineOptions,
    pub(crate) standing: Arc<Standing>,
    pub(crate) place: Place,
    follower: Option<Follower>,
    ear: Ear,
    register: Option<Arc<dyn File>>,
    life: u64,
    beat: u64,
    told: u64,
    failures: u32,
}

/// What a node is made of.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) env: Env,
    pub(crate) dir: PathBuf,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) methods: Vec<Arc<dyn Method>>,
    pub(crate) engine: EngineOptions,
}

impl Follow {
    pub(crate) fn new(parts: Parts, standing: Arc<Standing>) -> Follow {
        let Parts { env, dir, name, address, methods, engine } = parts;
        Follow {
            place: Place::of(&env, &dir),
            life: env.rng.next_u64(),
            env,
            dir,
            name,
            address,
            methods,
            engine,
            standing,
            follower: None,
            ear: Ear { file: None, beat: (0, 0), changed: 0 },
            register: None,
            beat: 0,
            told: 0,
            failures: 0,
        }
    }

    /// One step. What took the place of another engine is given to `replaced`, with that one.
    pub(crate) fn step(&mut self, replaced: &Replaced, stop: &dyn Fn() -> bool) -> Next {
        let read = self.standing.now();
        let Some(announced) = self.hear(read) else {
            self.standing.note_phase(if self.follower.is_some() { Phase::Following } else { Phase::Waiting });
            return self.pause();
        };
        self.standing.note_announcement(announced);
        let stepped = match self.follower.is_some() {
            true => self.follow(announced, read),
            false => self.join(announced, read, replaced, stop),
        };
        match stepped {
            Ok(next) => {
                self.failures = 0;
                next
            }
            Err(error) => {
                self.follower = None;
                self.standing.note_lost(&error);
                self.pause()
            }
        }
    }

    /// Leaves: nothing is kept for it any more.
    pub(crate) fn leave(&mut self) {
        self.follower = None;
        self.place.leave(&self.name);
    }

    fn pause(&mut self) -> Next {
        let pause = PAUSE_MIN.saturating_mul(1 << self.failures.min(10)).min(PAUSE_MAX);
        self.failures += 1;
        Next::Pause(pause)
    }

    /// What is announced now; none: nothing is.
    fn hear(&mut self, now: u64) -> Option<Announcement> {
        if now.saturating_sub(self.ear.changed) > STALE_NANOS {
            (self.ear.file, self.ear.changed) = (None, now);
        }
        if self.ear.file.is_none() {
            self.ear.file = self.place.announced_from().ok()?;
        }
        let announced = read_announcement(&**self.ear.file.as_ref()?)?;
        let is_present = writer_is_present(&self.env, &self.dir, announced.epoch).ok()?;
        if !is_present && !active(faults::HEAR_OVERTAKEN) {
            return None;
        }
        let beat = (announced.opening, announced.beat);
        if beat != self.ear.beat {
            (self.ear.beat, self.ear.changed) = (beat, now);
        }
        Some(announced)
    }

    fn follow(&mut self, announced: Announcement, read: u64) -> Result<Next> {
        let mut count = 0;
        let follower = self.follower.as_mut().expect("who follows has joined");
        if announced.lsn < follower.position() {
            let what = format!("the log ends at {}, before {}", announced.lsn, follower.position());
            return Err(Error::new(Code::CannotConnectNow, what).hint("another database is there now: it joins anew"));
        }
        while count < COMMITS_AT_ONCE && follower.follow_one(announced.lsn)?.is_some() {
            count += 1;
        }
        let is_there = count < COMMITS_AT_ONCE;
        let (position, published) = (follower.position(), follower.engine().published());
        let vouched_for = announced.vouches_for(read, self.env.clock.wall_micros()).filter(|_| is_there);
        self.standing.note_followed(position, published, vouched_for);
        if read.saturating_sub(self.told) >= TELL_NANOS {
            self.tell(Phase::Following);
        }
        Ok(if is_there { Next::Poll } else { Next::Go })
    }

    fn join(
        &mut self,
        announced: Announcement,
        read: u64,
        replaced: &Replaced,
        stop: &dyn Fn() -> bool,
    ) -> Result<Next> {
        self.standing.note_phase(Phase::Joining);
        self.tell(Phase::Joining);
        let file = self.ear.file.clone().expect("an announcement was read from it");
        // One that is torn is none, and what was announced before holds.
        let heard = || read_announcement(&*file).map_or(Lsn(0), |announced| announced.lsn);
        let (env, methods, options) = (self.env.clone(), self.methods.clone(), self.engine.clone());
        let follower = Follower::join_unless((env, &self.dir), methods, options, &heard, stop)?;
        let (engine, position) = (follower.engine().clone(), follower.position());
        if engine.published() < self.standing.published() {
            let what = format!("what was joined ends at commit {}", engine.published());
            return Err(Error::new(Code::CannotConnectNow, what).hint("the node has shown more and waits for it"));
        }
        engine.keep_company(Company::node_of(&self.standing, self.standing.next_join()));
        self.follower = Some(follower);
        self.tell(Phase::Following);
        // First, so that who waits for this finds what was made of the engine.
        replaced(&engine, self.standing.engine());
        let vouched_for = announced.vouches_for(read, self.env.clock.wall_micros());
        self.standing.note_joined(&engine, position, vouched_for);
        Ok(Next::Go)
    }

    /// Tells the writer what is needed. A writer that cannot be told keeps what it wants: it is read all the same.
    fn tell(&mut self, phase: Phase) {
        if self.register.is_none() {
            self.register = self.place.registered_to(&self.name).ok();
        }
        let Some(file) = &self.register else { return };
        self.beat += 1;
        self.told = self.standing.now();
        let (needs_from, edits, position, published) = match &self.follower {
            Some(follower) => {
                (follower.needs_from(), follower.edits(), follower.position(), follower.engine().published())
            }
            None => (Lsn(0), 0, Lsn(0), Timestamp(0)),
        };
        let told = Registration {
            life: self.life,
            beat: self.beat,
            needs_from,
            edits,
            position,
            published,
            wall_micros: self.env.clock.wall_micros(),
            phase,
            address: self.address.clone(),
        };
        // The writer may have forgotten it, and removed its file.
        if self.beat.is_multiple_of(10) || file.write_at(&told.encode(), 0).is_err() {
            self.register = self.place.registered_to(&self.name).ok();
            if let Some(file) = &self.register {
                let _ = file.write_at(&told.encode(), 0);
            }
        }
    }
}
