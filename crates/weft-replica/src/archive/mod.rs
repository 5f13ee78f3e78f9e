//! An archive: backups in a store of objects, and the log that came after them, a moment after it is durable.
//!
//! ```text
//!   archive                        which database it is of, and a random number
//!   fence-7, fence-8               one for each opening that ships; created, never removed
//!   backup-3, 3-5e0a21bc/...       a base, as any backup
//!   piece-8-00000001, ...          the log, in order: where it lies, its bytes, which base it goes on from
//!   files-8-00000001/t5-12-...     data files that its commits attach; for nodes, too, those that edits name
//!   beat-8                         for nodes: nothing was committed until then
//! ```
//!
//! | module | what |
//! |---|---|
//! | `names`, `piece`, `note` | names and bytes of objects; the note beside the database |
//! | `claim` | whether a directory may go on with an archive, and the fence |
//! | `acks` | commits that wait until the archive has them |
//! | `shipper`, `span`, `base` | rounds that ship the log, one span of it, bases, and what goes |
//! | `beat` | what nodes hear while nothing is committed |
//! | `standing` | how it stands, for views |
//! | `chain`, `restore` | which pieces follow each other; a database made of a base and them |
//! | `counted`, `mirror`, `mirror_note` | which come next and count; a directory that is kept as the writer's is |
//! | `feed`, `fed`, `remote`, `transit` | an archive at the other end of a connection, emptied as its node takes it |
//!
//! 1. What counts as shipped is restored by whoever restores after that.
//! 2. Two openings never both go on: who ships creates a fence first, and then reads how far the one before it came; a
//!    round counts only if no later fence is there after its last piece was created.
//! 3. A directory goes on with an archive only when its own log has, byte for byte, what was shipped last, or its note
//!    names it: one that was copied or put back is refused.
//! 4. Files that a commit attaches are in the store before the log that has the commit.
//! 5. Nothing of it is in the way of a commit, unless that is asked for (`acks`); what it keeps of log and files is
//!    bounded. Beyond that it begins again with a new base, and the pieces have a gap.
//!
//! Concurrency: one thread ships, one at a time makes bases; no lock is held while the store is asked.
//!
//! Crash: whatever was created counts or not by 2; the note is written behind it, and the log is kept from there.
//!
//! The bytes: docs/format/archive.md. Design: docs/decisions/2026-11-29-object-stores.md.

mod acks;
mod base;
mod beat;
mod chain;
mod claim;
mod counted;
mod fed;
mod feed;
mod mirror;
mod mirror_note;
mod names;
mod note;
mod piece;
mod remote;
mod restore;
mod shipper;
mod span;
mod standing;
mod transit;

pub use fed::Connect;
pub use feed::{FeedOptions, feed};
pub use mirror::{Mirror, MirrorOptions, is_mirror};
pub use mirror_note::MIRROR_FILE;
pub use names::is_archive;
pub use note::NOTE_FILE;
pub use remote::{FEED_VERSION, Link};
pub use restore::{ArchiveRestored, ArchiveSummary, restore_archive, survey_archive};
pub use shipper::{Archive, ArchiveOptions};
pub use standing::{ArchivePhase, ArchiveStatus};
pub use transit::Transit;

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run on real threads and look at real files"
)]
mod tests;
