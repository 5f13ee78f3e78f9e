//! How an archive stands.

use std::sync::{Arc, Weak};
use std::time::Duration;

use weft_env::sync::Mutex;
use weft_format::{Error, Lsn, Timestamp};
use weft_kernel::Engine;

/// What an archive does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchivePhase {
    /// It looks whether the directory may go on with it.
    #[default]
    Starting,
    /// It has what was durable a moment ago.
    Shipping,
    /// It is not shipped to, but followed: this is a node's.
    Following,
    /// The store cannot be asked, or something else is in the way: it tries again.
    Waiting,
    /// Another has taken it over, or the directory may not go on with it: for good.
    Lost,
    /// It was ended.
    Stopped,
}

impl ArchivePhase {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            ArchivePhase::Starting => "starting",
            ArchivePhase::Shipping => "shipping",
            ArchivePhase::Following => "following",
            ArchivePhase::Waiting => "waiting",
            ArchivePhase::Lost => "lost",
            ArchivePhase::Stopped => "stopped",
        }
    }
}

/// What is known of an archive by who ships to it.
#[derive(Clone, Debug, Default)]
pub struct ArchiveStatus {
    /// Where it is.
    pub place: String,
    /// What it does.
    pub phase: ArchivePhase,
    /// The number of the opening among those that have shipped to it; 0: none yet.
    pub fence: u64,
    /// The log is in it up to here.
    pub shipped: Lsn,
    /// The last commit in it, as far as this opening knows.
    pub commit: Timestamp,
    /// Durable log that it lacks, bytes.
    pub lag_bytes: u64,
    /// It had everything that was durable so long ago; none: not since the opening.
    pub age: Option<Duration>,
    /// The newest backup that the log in it goes on from; none: it cannot be restored yet.
    pub base: Option<u64>,
    /// Pieces that were made since the opening.
    pub pieces: u64,
    /// Bytes of log in them.
    pub bytes: u64,
    /// Rounds that failed since the opening.
    pub failures: u64,
    /// Why the last one of them did, or why it is lost.
    pub error: Option<Error>,
}

/// Who knows how an archive stands.
pub(super) trait Stands: Send + Sync {
    /// As an engine has it.
    fn status_with(&self, engine: &Engine) -> ArchiveStatus;
}

/// The archive of an engine, for who has the engine alone.
struct Seen(Mutex<Weak<dyn Stands>>);

/// An engine's archive stands so from now on.
pub(super) fn accompany(engine: &Engine, stands: &Arc<dyn Stands>) {
    match engine.company::<Seen>() {
        Some(seen) => *seen.0.lock() = Arc::downgrade(stands),
        None => engine.keep_company(Seen(Mutex::new(Arc::downgrade(stands)))),
    }
}

/// How the archive of an engine stands; none when it has none.
pub(super) fn status_of(engine: &Engine) -> Option<ArchiveStatus> {
    let stands = engine.company::<Seen>()?.0.lock().upgrade();
    stands.map(|stands| stands.status_with(engine))
}
