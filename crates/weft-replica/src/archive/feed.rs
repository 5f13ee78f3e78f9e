//! The writer's end of a connection over which a node is fed: an archive that the node has, and that is emptied as it
//! takes what comes.
//!
//! ```text
//!   node ─▶ connects, says its name ─▶ feed: claims the node's archive ─ ships, each millisecond ─▶ node
//!                                      berlin.node: its log up to 81920 ─▶ herald: keeps log and files for it
//! ```
//!
//! 1. Beside what is shipped nothing is written for it but its registration: as of a node that sees this directory, what
//!    it needs is kept when its connection ends, up to the same bounds.
//! 2. A node that does not answer is given up, in the time limit of its connection: the log is not kept for it alone.
//!
//! Concurrency: the thread of the connection waits here; one of its own ships.

use std::sync::Arc;
use std::time::Duration;

use weft_env::{File, ObjectStore};
use weft_format::{Code, Error, Lsn, Result, Timestamp};
use weft_kernel::Engine;

use super::claim::Failed;
use super::remote::{Link, RemoteStore};
use super::shipper::{Aim, Archive, ArchiveOptions};
use super::standing::ArchivePhase;
use crate::place::{Place, check_name};
use crate::registration::Registration;
use crate::standing::Phase;

/// How often it is looked whether more of the log is durable.
const INTERVAL: Duration = Duration::from_millis(1);
/// How often a node is registered.
const TELL: Duration = Duration::from_millis(100);

/// Whom a feed is for.
#[derive(Clone, Debug)]
pub struct FeedOptions {
    /// What the node is called.
    pub name: String,
    /// Where it listens; may be empty.
    pub address: String,
    /// So many bytes of log that the node has not taken are kept while it is connected, and as many of files.
    pub keep_bytes: u64,
}

/// Feeds a node until its connection ends, or `goes_on` says no. Fails when it could not begin, and says so to the node.
///
/// # Errors
///
/// 25006 when the engine follows another one; 42602 when the node cannot be called so; 22023 when it has another
/// database; those of reading the log.
pub fn feed(
    engine: &Arc<Engine>,
    link: Box<dyn Link>,
    options: &FeedOptions,
    goes_on: &dyn Fn() -> bool,
) -> Result<()> {
    let remote = Arc::new(RemoteStore::new(link, &options.name));
    let fed = try_feed(engine, &remote, options, goes_on);
    match fed {
        Ok(()) => {
            remote.end(false, &Error::new(Code::ShuttingDown, "the server ends"));
            Ok(())
        }
        Err(Failed::Gone(error)) => {
            remote.end(true, &error);
            Ok(())
        }
        Err(Failed::Again(error) | Failed::Lost(error)) => {
            remote.end(false, &error);
            Err(error)
        }
    }
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
    let store: Arc<dyn ObjectStore> = remote.clone();
    let keep_time = Duration::ZERO;
    let shipping = ArchiveOptions {
        interval: INTERVAL,
        keep_bytes: options.keep_bytes,
        keep_time,
        nodes: true,
        ..ArchiveOptions::default()
    };
    let aim = Aim::Feed(engine.env().rng.next_u64());
    // Everything that is there, until it is known from where on the node needs it.
    let archive = Archive::begin(engine, store, shipping, (aim, Some(Lsn(0))))?;
    let mut registered = Registered::new(engine, options)?;
    while goes_on() && !remote.has_failed() {
        let status = archive.status();
        if status.phase == ArchivePhase::Lost {
            archive.stop();
            return Err(Failed::Lost(status.error.unwrap_or_else(|| Error::internal("a feed is lost for a reason"))));
        }
        registered.tell(status.base.is_some(), archive.told(), remote.told());
        engine.env().clock.sleep(TELL);
    }
    // What is durable by now is shipped, if it can be.
    archive.stop();
    let status = archive.status();
    registered.tell(status.base.is_some(), archive.told(), remote.told());
    Ok(())
}

/// A node that is fed, as the herald knows it (feed 1).
struct Registered {
    file: Arc<dyn File>,
    told: Registration,
    wall: Box<dyn Fn() -> i64>,
}

impl Registered {
    fn new(engine: &Arc<Engine>, options: &FeedOptions) -> Result<Registered> {
        let env = engine.env().clone();
        let file = Place::of(&env, engine.dir()).registered_to(&options.name)?;
        let told =
            Registration { life: env.rng.next_u64(), address: options.address.clone(), ..Registration::default() };
        let wall = Box::new(move || env.clock.wall_micros());
        Ok(Registered { file, told, wall })
    }

    fn tell(&mut self, has_base: bool, edits: u64, (position, published): (Lsn, Timestamp)) {
        self.told.beat += 1;
        self.told.phase = if has_base && position > Lsn(0) { Phase::Following } else { Phase::Joining };
        self.told.wall_micros = (self.wall)();
        if position > Lsn(0) {
            (self.told.needs_from, self.told.position, self.told.published) = (position, position, published);
            self.told.edits = edits;
        }
        // A folder that is full or away keeps nobody from being fed.
        let _ = self.file.write_at(&self.told.encode(), 0);
    }
}
