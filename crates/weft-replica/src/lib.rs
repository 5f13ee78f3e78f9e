//! Read nodes: processes that follow a database which another process writes, over a directory that both see.
//!
//! ```text
//!   writer                      DIR/nodes                       node (any number)
//!   Herald ── each block ──▶ announced: log durable up to 81920 ──▶ Node ── follow ──▶ an engine that is read
//!      ▲                                                              │
//!      └──── Retention ◀── berlin.node: needs the log from 77824, edit 41 ◀── each 100 ms
//! ```
//!
//! | module | what |
//! |---|---|
//! | `announcement`, `registration`, `sealed` | bytes of the two kinds of files |
//! | `place` | where they are; writing and reading them |
//! | `herald` | the writer's side: announces, and looks after what nodes need |
//! | `seen`, `company` | nodes as the writer sees them; what an engine knows of who is beside it |
//! | `retention` | what the writer keeps for them, and up to which bounds |
//! | `node`, `standing` | a node: joins, follows, joins anew; what is known of it, and waiting for that |
//! | `follow_on` | one step of a node |
//! | `bell` | a thread that works in rounds until it is told to end |
//! | `listening` | whether a writer is heard, before somebody else takes its directory |
//! | `archive` | the log, a moment after it is durable, in a store of objects |
//! | `survey` | who is there, for somebody who sees the directory alone |
//! | `faults` | deliberate bugs |
//!
//! 1. A node reads nothing of the log beyond what was announced, and what is announced is durable: what a node shows no
//!    crash of the writer takes back.
//! 2. What was acknowledged was announced before. So a node that has read the announcement at a moment, and followed to
//!    it, shows every commit that was acknowledged before that moment.
//! 3. No node holds the writer: what it needs is kept up to a bound of bytes and of time, then it joins anew.
//! 4. The writer pays one write of 64 bytes into memory for each block of the log, whoever follows.
//!
//! Both sides use files alone, so that they work over whatever file system both see; it must show a process what
//! another one has written when that one's call has returned, as local ones do. Object stores and a stream over TCP
//! have their place in `place`.
//!
//! Source: PolarDB-IMCI sections 5.1 and 7: the writer broadcasts how far its log is durable, nodes read the log from
//! shared storage. DESIGN section 8.

mod announcement;
mod archive;
mod bell;
mod company;
pub mod faults;
mod follow_on;
mod herald;
mod listening;
mod node;
mod place;
mod registration;
mod retention;
mod sealed;
mod seen;
mod standing;
mod survey;

pub use announcement::Announcement;
pub use archive::{
    Archive, ArchiveOptions, ArchivePhase, ArchiveRestored, ArchiveStatus, ArchiveSummary, Connect, FEED_VERSION,
    FeedOptions, Link, MIRROR_FILE, Mirror, MirrorOptions, NOTE_FILE, Transit, feed, is_archive, is_mirror,
    restore_archive, survey_archive,
};
pub use company::Company;
pub use follow_on::Replaced;
pub use herald::{Herald, HeraldOptions};
pub use listening::listen;
pub use node::{Node, NodeOptions, Promoted};
pub use place::{NODES_DIR, withdraw};
pub use seen::NodeSeen;
pub use standing::{NodeStatus, Phase, Waited};
pub use survey::{NodeSurveyed, Survey, WriterSurveyed, survey};

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and look at real files"
)]
mod tests;
