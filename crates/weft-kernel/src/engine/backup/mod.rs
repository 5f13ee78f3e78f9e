//! Backups of a database that runs, and directories made from them.
//!
//! ```text
//!   database             destination, after two backups              restore
//!   MANIFEST-7   ──▶     backup-1    manifest-1  ─┐                   MANIFEST-1, CURRENT
//!   t5-12.data    ──▶     t5-12-4194304-5e0a21bc.data │ shared by both   t5-12.data
//!   t5-19.data    ──▶     backup-2    manifest-2  ─┤                   t5-19.data
//!   log-0, -ff8  ──▶     log-...0-9c01f2aa-16777216 ┘                  log-0, log-ff8
//! ```
//!
//! A backup is what a crash could have left: the manifest at a moment, the log up to a later moment, and the files that
//! the two name. So opening what was restored is ordinary recovery, and a backup needs no checkpoint.
//!
//! ```text
//!   keep log and files ─▶ manifest S ─▶ flush the log, E = its end ─▶ copy the log up to E ─▶ let the log go
//!   ─▶ copy S's files and those the log attaches, letting each go ─▶ manifest-n ─▶ backup-n.tmp ─▶ rename: it is good
//! ```
//!
//! | module | what |
//! |---|---|
//! | `list` | what a backup consists of: names, sizes, checksums |
//! | `place`, `shelf` | where backups are, and what they need of it |
//! | `directory` | a directory: its lock, what is left of unfinished ones |
//! | `objects`, `uploads` | a store of objects, and the threads that put them |
//! | `destination` | which backups are good, and what they share with the next |
//! | `copy` | copies a file, with its checksum |
//! | `source` | which files belong to a moment, and their tests |
//! | `take`, `restore` | both ways |
//! | `restoring` | log and files that came after a backup, added while it is restored |
//! | `mirroring` | a directory that goes on being restored |
//!
//! 1. What was acknowledged before a backup began is in it; it holds exactly the commits up to its timestamp.
//! 2. A backup counts when `backup-n` is there, which is made last; nothing that a good one names is written or
//!    removed.
//! 3. The source is only read. Files wait for their removal while a backup needs them, in memory: a crash lets them go.
//! 4. A restored directory becomes a database with its last file, CURRENT, after every checksum fitted.
//!
//! Concurrency: no lock is held while bytes are copied. Several backups may run, each into a destination of its own.
//!
//! Crash: of the destination what no `backup-n` names is removed by the next backup; a half-restored directory has no
//! CURRENT and is refused.
//!
//! The bytes: docs/format/backup.md.

mod copy;
mod destination;
mod directory;
mod list;
mod mirroring;
mod objects;
mod place;
mod restore;
mod restoring;
mod shelf;
mod source;
mod take;
mod uploads;

pub use list::{Backup, Entry as StoredFile};
pub use mirroring::Mirroring;
pub use place::BackupPlace;
pub use restore::{backups, check_backup, restore, restore_then};
pub use restoring::Restoring;
pub use take::{BackupSummary, GoesOn};

pub(super) use objects::put_data_file;
pub(super) use take::backup;

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests look at real files")]
mod tests;
