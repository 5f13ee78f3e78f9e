//! How far a log is durable, and who is told.

use weft_format::{Lsn, Timestamp};

/// How far a log is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// Everything before this is on disk.
    pub lsn: Lsn,
    /// The last commit before it.
    pub last: Timestamp,
}

/// Who is told how far the log is durable: by the thread that has written a block, while those wait whose commits are
/// in it, so it takes a moment and no more. Two threads never call it at once.
pub type Announce = Box<dyn Fn(Durable) + Send + Sync>;
