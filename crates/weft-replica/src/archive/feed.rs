//! The writer's end of a connection over which a node is fed: an archive that the node has, and that is emptied as it
//! takes what comes.
//!
//! ```text
//!   node ─▶ connects, says its name ─▶ feed: claims the node's archive ─ ships, each millisecond ─▶ node
//!                                      berlin.node: its log up to 81920 ─▶ herald: keeps log and files for it
//! ```
//!
//! 1. Beside what is shipped nothing is written for it but its registration: as of a node that sees this directory,
//!    what it needs is kept when its connection ends, up to the same bounds.
//! 2. A node that does not answer is given up, in the time limit of its connection: the log is not kept for it alone.
//!
//! 3. A base that travels keeps pages from being written and the log from being cut, as every backup does: when as much
//!    was written meanwhile as is kept for nodes, the connection is given up.
//!
//! Concurrency: the thread of the connection waits here; one of its own ships, another one watches that it does.

use std::sync::Arc;
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_env::{File, ObjectStore};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::Engine;

use super::claim::Failed;
use super::remote::{Farewell, Link, RemoteStore};
use super::shipper::{Aim, Archive, ArchiveOptions};
use super::standing::ArchivePhase;
use crate::bell::{Bell, Worker};
use crate::place::{Place, check_name};
use crate::registration::Registration;
use crate::standing::Phase;

/// How often it is looked whether more of the log is durable.
const INTERVAL: Duration = Duration::from_millis(1);
/// How often a node is registered.
const TELL: Duration = Duration::from_millis(100);
/// So long one exchange may take.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// So long a node may take until it is known from where on it is fed.
const CLAIM_TIME: Duration = Duration::from_secs(300);
/// So long what is durable may take to reach the node when the server ends.
const ENDING_TIME: Duration = Duration::from_secs(5);

/// Whom a feed is for.
#[derive(Clone, Debug)]
pub struct FeedOptions {
    /// What the node is called.
    pub name: String,
    /// Where it listens; may be empty.
    pub address: String,
    /// So many bytes of log that were not sent are kept while it is connected, and while a base is sent so many may be
    /// written; none: no node is served.
    pub keep_bytes: Option<u64>,
    /// A base is made when the log behind the last one has so many bytes, or a quarter of that one's.
    pub base_log_bytes: u64,
}

impl Default for FeedOptions {
    fn default() -> FeedOptions {
        let ArchiveOptions { base_log_bytes, .. } = ArchiveOptions::default();
        FeedOptions { name: String::new(), address: String::new(), keep_bytes: Some(1 << 30), base_log_bytes }
    }
}

/// Feeds a node until its connection ends, or `goes_on` says no. Fails when it could not begin, and tells the node.
///
/// # Errors
///
/// 55000 when it keeps nothing for nodes; 25006 when the engine follows another one; 42602 when the node cannot be
/// called so; 22023 when it has another database, or what this one's log has not; those of reading the log.
pub fn feed(
    engine: &Arc<Engine>,
    link: Box<dyn Link>,
    options: &FeedOptions,
    goes_on: &dyn Fn() -> bool,
) -> Result<()> {
    let remote = Arc::new(RemoteStore::new(engine.env(), link, &options.name));
    let (farewell, error) = match try_feed(engine, &remote, options, goes_on) {
        Ok(()) => {
            remote.end(Farewell::Again, &Error::new(Code::ShuttingDown, "the server ends"));
            return Ok(());
        }
        Err(Failed::Gone(error)) => (Farewell::Anew, error),
        Err(Failed::Ahead(error)) => (Farewell::Keep, error),
        Err(Failed::Again(error) | Failed::Lost(error)) => (Farewell::Again, error),
    };
    remote.end(farewell, &error);
    Err(error)
}

fn try_feed(
    engine: &Arc<Engine>,
    remote: &Arc<RemoteStore>,
    options: &FeedOptions,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Failed> {
    check_name(&options.name).map_err(Failed::Lost)?;
    if engine.is_follower() {
        let what = "this server follows another one, and feeds nobody";
        let error = Error::new(Code::ReadOnlyTransaction, what).hint("connect to the server that writes");
        return Err(Failed::Lost(error));
    }
    let keep_bytes = options.keep_bytes.ok_or_else(|| {
        let error = Error::new(Code::NotInPrerequisiteState, "this server keeps nothing for nodes");
        Failed::Lost(error.hint("start it with nodes = on"))
    })?;
    let store: Arc<dyn ObjectStore> = remote.clone();
    let shipping = ArchiveOptions {
        interval: INTERVAL,
        keep_bytes,
        base_log_bytes: options.base_log_bytes,
        nodes: true,
        ..ArchiveOptions::default()
    };
    let aim = Aim::Feed(engine.env().rng.next_u64());
    let watch = Watch::start(engine, remote)?;
    // Lets go of the log last, whatever becomes of the rest.
    let _kept = Kept { engine, aim };
    // Everything that is there, until it is known from where on the node needs it.
    let archive = Archive::begin(engine, store, shipping, (aim, Some(Lsn(0))))?;
    watch.limits.lock().claim = None;
    let mut registered = Registered::new(engine, options)?;
    while goes_on() && !remote.has_failed() {
        let status = archive.status();
        if status.phase == ArchivePhase::Lost || archive.has_panicked() {
            archive.stop();
            return Err(Failed::Lost(status.error.unwrap_or_else(|| Error::internal("a feed is lost for a reason"))));
        }
        registered.tell(status.base.is_some(), archive.told(), remote.told());
        engine.env().clock.sleep(TELL);
    }
    // What is durable by now is sent, if it can be.
    watch.limits.lock().end = Some(engine.env().clock.monotonic_nanos());
    archive.stop();
    let status = archive.status();
    registered.tell(status.base.is_some(), archive.told(), remote.told());
    match status.error.filter(|_| remote.has_failed()) {
        Some(error) => Err(Failed::Again(error)),
        None => Ok(()),
    }
}

/// The log that is kept for a connection.
struct Kept<'a> {
    engine: &'a Engine,
    aim: Aim,
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.engine.keep_log_from(self.aim.keeper(), None);
    }
}

/// Ends a connection whose node takes too long (feed 2).
struct Watch {
    limits: Arc<Mutex<Limits>>,
    _worker: Worker,
}

/// When what must be done in time has begun; none: it is done, or not yet begun.
struct Limits {
    claim: Option<u64>,
    end: Option<u64>,
}

impl Watch {
    fn start(engine: &Arc<Engine>, remote: &Arc<RemoteStore>) -> Result<Watch> {
        let env = engine.env().clone();
        let limits = Arc::new(Mutex::new(Limits { claim: Some(env.clock.monotonic_nanos()), end: None }));
        let bell = Arc::new(Bell::new());
        let (watched, remote, rung) = (limits.clone(), remote.clone(), bell.clone());
        let clock = env.clock.clone();
        let watch = move || {
            while !rung.has_rung() {
                rung.pause(TELL);
                let now = clock.monotonic_nanos();
                let is_over = |since: Option<u64>, limit: Duration| {
                    since.is_some_and(|since| now.saturating_sub(since) > limit.as_nanos() as u64)
                };
                let Limits { claim, end } = *watched.lock();
                if is_over(claim, CLAIM_TIME) || is_over(end, ENDING_TIME) || remote.busy_for() > ANSWER_TIME {
                    remote.cut();
                }
            }
        };
        let worker = Worker::start(&env, ("weft-feed-watch", "watches a feed"), &bell, watch)?;
        Ok(Watch { limits, _worker: worker })
    }
}

/// A node that is fed, as the herald knows it (feed 1).
struct Registered {
    place: Place,
    name: String,
    file: Arc<dyn File>,
    told: Registration,
    wall: Box<dyn Fn() -> i64>,
}

impl Registered {
    fn new(engine: &Arc<Engine>, options: &FeedOptions) -> Result<Registered> {
        let env = engine.env().clone();
        let (place, name) = (Place::of(&env, engine.dir()), options.name.clone());
        let file = place.registered_to(&name)?;
        let told =
            Registration { life: env.rng.next_u64(), address: options.address.clone(), ..Registration::default() };
        let wall = Box::new(move || env.clock.wall_micros());
        Ok(Registered { place, name, file, told, wall })
    }

    fn tell(&mut self, has_base: bool, edits: u64, (position, published): (Lsn, Timestamp)) {
        self.told.beat += 1;
        self.told.phase = if has_base && position > Lsn(0) { Phase::Following } else { Phase::Joining };
        self.told.wall_micros = (self.wall)();
        if position > Lsn(0) {
            (self.told.needs_from, self.told.position, self.told.published) = (position, position, published);
            self.told.edits = edits;
        }
        // The herald may have forgotten it, and removed its file.
        if self.told.beat.is_multiple_of(10)
            && let Ok(file) = self.place.registered_to(&self.name)
        {
            self.file = file;
        }
        // A folder that is full or away keeps nobody from being fed.
        let _ = self.file.write_at(&self.told.encode(), 0);
    }
}
